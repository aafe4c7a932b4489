"""Scores of models on questionnaires, and how well each questionnaire measures (EMPALC, section 3.3)."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenruler import measurement
from evenruler.instruments.questionnaires import framed
from evenruler.instruments.questionnaires.forms import by_measure
from evenruler.instruments.questionnaires.item_scores import Settings, cells_of, item_scores, require_whole
from evenruler.instruments.questionnaires.population import FEWEST_LINEAGES, WHOLE, scale_scores
from evenruler.instruments.questionnaires.quality import quality
from evenruler.measurement import Figure, Resampling
from evenruler.measurement.checks import constant_columns
from evenruler.measurement.figures import correlated, finite
from evenruler.models.entry import named
from evenruler.tables.schemas import BARE


@dataclass(frozen=True)
class Diagnosis:
    """The tables of the diagnosis, by their schemas in `schemas`."""

    cells: pd.DataFrame
    items: pd.DataFrame
    scales: pd.DataFrame
    content: pd.DataFrame
    quality: pd.DataFrame
    figures: pd.DataFrame


def diagnose(
    prompts: pd.DataFrame,
    items: pd.DataFrame,
    scores: pd.DataFrame,
    embeddings: Mapping[str, NDArray[np.float32]],
    settings: Mapping[str, Settings],
    resampling: Resampling,
    members: Collection[str] | None = None,
    acceptability: pd.DataFrame | None = None,
    framed_prompts: pd.DataFrame | None = None,
) -> Diagnosis:
    """Score every model on every questionnaire, and validate the questionnaires.

    Args:
        prompts: By `schemas.PROMPTS`.
        items: Items, with a column `questionnaire`.
        scores: Answers to the prompts, also to framed ones, long, by `evenruler.tables.schemas.ANSWERS`; with `kind`.
        embeddings: By text: originals, and source prompts (premise and hypothesis with a space between).
        settings: By questionnaire.
        resampling: How intervals are computed.
        members: The models that figures over the population rest on; all by default.
        acceptability: Of the items, where a model was asked (`evenruler.instruments.questionnaires.acceptability`).
        framed_prompts: The prompts after framings, by `schemas.FRAMED`; only figures of
            brittleness rest on them.

    Raises:
        ValueError: A model lacks the score of a prompt.
        UserError: An item lost prompts to `rejected.parquet`.
    """
    require_whole(prompts, items)
    cells = cells_of(prompts, scores[scores["framing"] == BARE], settings)
    scored = item_scores(cells, items)
    scales = scale_scores(scored, members)
    content = pd.concat([_content(prompts, items, embeddings), acceptability])
    of_models = _of_models(scored, cells, resampling)
    counted = set(scored["model"]) if members is None else members
    of_population = _of_population(scored, scales, content, resampling, counted)
    framed_prompts = prompts.head(0) if framed_prompts is None else framed_prompts
    under_framings = framed.framed_scores(framed_prompts, items, scores, settings)
    brittleness = framed.of_models(scored, under_framings, resampling)
    figures = pd.concat([of_models, brittleness, of_population])
    names = list(map(named, scored["model"], scored["configuration"]))
    return Diagnosis(cells, scored, scales, content, quality(scored.assign(model=names), content), figures)


def source_prompts(prompts: pd.DataFrame) -> pd.DataFrame:
    """The prompts with source terms, with `whole`: premise and hypothesis as one text."""
    chosen = prompts[prompts["polarity"] == "source"]
    return chosen.assign(whole=chosen["premise"] + " " + chosen["hypothesis"])


def _content(prompts: pd.DataFrame, items: pd.DataFrame, embeddings: Mapping[str, NDArray[np.float32]]) -> pd.DataFrame:
    """SS: mean cosine between the original question and its source prompts."""
    by_item = {key: rows["whole"].tolist() for key, rows in source_prompts(prompts).groupby(["questionnaire", "item"])}
    rows = []
    for item in items.to_dict("records"):
        texts = by_item[item["questionnaire"], item["item"]]
        cosines = np.stack([embeddings[text] for text in texts]).dot(embeddings[item["original"]])
        measure = "similarity" if item["wording"] == "held" else "similarity_to_paraphrase"
        rows.append(
            {
                "questionnaire": item["questionnaire"],
                "item": item["item"],
                "measure": measure,
                "value": float(cosines.mean()),
                "n": len(texts),
            }
        )
    return pd.DataFrame(rows)


def _of_models(items: pd.DataFrame, cells: pd.DataFrame, resampling: Resampling) -> pd.DataFrame:
    """Figures of each model alone: mean silhouette, mean answer, and whether intensifiers keep their declared order.

    The answer is the item score times the number of intensifiers: the mean weight that a term gets, on the scale
    itself.
    """
    rows = []
    by_model = ["questionnaire", "model", "configuration"]
    own_cells = dict(iter(cells.groupby(by_model)))
    for (questionnaire, model, configuration), of_model in items.groupby(by_model, sort=True):
        own = own_cells[questionnaire, model, configuration]
        found = [
            _mean("silhouette", of_model["silhouette"].to_numpy(), resampling),
            _mean("answer", of_model["score"].to_numpy() * own["intensifier"].nunique(), resampling),
            _intensifier_order(own, resampling),
        ]
        here = {"benchmark": questionnaire, "subscale": WHOLE, "model": named(str(model), str(configuration))}
        rows += [{**here, **asdict(figure)} for figure in found]
    return pd.DataFrame(rows)


def _mean(figure: str, values: NDArray[np.float64], resampling: Resampling) -> Figure:
    known = values[~np.isnan(values)]
    if len(known) < 2:
        value = float(known.mean()) if len(known) else None
        return Figure(figure, value, len(known), "items", reason="fewer than two items have a value")
    interval = measurement.bootstrap(
        np.mean, known, level=resampling.level, n=resampling.resamples, seed=resampling.seed
    )
    return Figure(figure, interval.value, len(known), "items", interval.low, interval.high)


def _intensifier_order(cells: pd.DataFrame, resampling: Resampling) -> Figure:
    """Spearman between declared level and how much more the source terms take of an intensifier than the inverse."""
    by_word = cells.pivot_table(index=["level", "intensifier"], columns="polarity", values="pss", aggfunc="mean")
    contrast = (by_word["source"] - by_word["inverse"]).to_numpy()
    levels = by_word.index.get_level_values("level").to_numpy(dtype=np.float64)
    return correlated("intensifier_order", measurement.spearman, levels, contrast, resampling.level, "intensifiers")


def _of_population(
    items: pd.DataFrame,
    scales: pd.DataFrame,
    content: pd.DataFrame,
    resampling: Resampling,
    members: Collection[str],
) -> pd.DataFrame:
    """Figures over models, by lineage: alpha, and correlations between scales; and the content's, of any model."""
    rows: list[dict[str, object]] = []

    def add(questionnaire: object, subscale: object, figure: Figure, ending: str = "") -> None:
        row = {"benchmark": questionnaire, "subscale": subscale, "model": None, **asdict(figure)}
        rows.append({**row, "figure": figure.figure + ending})

    for ending, asked in by_measure(items):
        both = pd.concat([asked.assign(subscale=WHOLE), asked.dropna(subset=["subscale"])])
        for (questionnaire, subscale), part in both.groupby(["questionnaire", "subscale"], sort=True):
            counted = part[part["model"].isin(members)]
            matrix = counted.pivot_table(index="lineage", columns="item", values="score", aggfunc="mean")
            matrix = matrix.reindex(columns=sorted(part["item"].unique()))
            add(questionnaire, subscale, _alpha(matrix.to_numpy(), resampling), ending)
    for (questionnaire, measure), part in content.groupby(["questionnaire", "measure"], sort=True):
        add(questionnaire, WHOLE, _mean(str(measure), part["value"].to_numpy(), resampling))
    for ending, asked in by_measure(scales):
        for own, figure in _between_scales(asked, resampling, members):
            add(own, WHOLE, figure, ending)
    return pd.DataFrame(rows)


def _alpha(x: NDArray[np.float64], resampling: Resampling) -> Figure:
    """Cronbach's alpha of lineages x items, with its interval; null with the reason where it has no meaning."""
    n, k = x.shape
    reason = None
    if k < 2:
        reason = "a scale of one item has no internal consistency"
    elif n < FEWEST_LINEAGES:
        reason = f"fewer than {FEWEST_LINEAGES} lineages of models"
    elif constant_columns(x).any():
        reason = "an item does not tell the models apart"
    if reason:
        return Figure("alpha", None, n, "lineages", reason=reason)
    alpha = measurement.cronbach_alpha(x)
    if finite(alpha) is None:
        return Figure("alpha", None, n, "lineages", reason="undefined for these values")
    interval = measurement.feldt_interval(alpha, n, k, resampling.level)
    return Figure("alpha", alpha, n, "lineages", interval.low, interval.high)


def _between_scales(
    scales: pd.DataFrame, resampling: Resampling, members: Collection[str]
) -> Iterator[tuple[str, Figure]]:
    """Spearman between the scores of two questionnaires over lineages, on the first of the two."""
    whole = scales[scales["subscale"] == WHOLE]
    counted = whole[whole["model"].isin(members)]
    table = counted.pivot_table(index="lineage", columns="questionnaire", values="score", aggfunc="mean")
    table = table.reindex(columns=sorted(whole["questionnaire"].unique()))
    for own, other in combinations(table.columns, 2):
        pairs = table[[own, other]].dropna().to_numpy()
        name = f"rho_with_{other}"
        if len(pairs) < FEWEST_LINEAGES:
            reason = f"fewer than {FEWEST_LINEAGES} lineages of models"
            yield own, Figure(name, None, len(pairs), "lineages", reason=reason)
        else:
            yield own, correlated(name, measurement.spearman, pairs[:, 0], pairs[:, 1], resampling.level, "lineages")

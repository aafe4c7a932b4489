"""Scores of models on questionnaires, and how well each questionnaire measures (EMPALC, section 3.3)."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import silhouette_score

from evenruler import measurement
from evenruler.declaration import LIKELIHOODS, named
from evenruler.errors import UserError
from evenruler.measurement import Figure, Resampling
from evenruler.measurement.checks import constant_columns
from evenruler.measurement.figures import correlated, finite
from evenruler.questionnaires.forms import by_measure
from evenruler.questionnaires.population import FEWEST_LINEAGES, WHOLE, scale_scores
from evenruler.questionnaires.quality import quality
from evenruler.questionnaires.scoring import entailment_share, item_effect, item_score, two_way_of_logs
from evenruler.tables.schemas import LOG_PROBABILITY

MODEL = ["questionnaire", "model", "lineage", "kind", "configuration", "framing"]

LOGITS = ["entailment", "neutral", "contradiction"]


@dataclass(frozen=True)
class Settings:
    """How a questionnaire is scored."""

    temperature: float = 1.0
    three_way: bool = False


@dataclass(frozen=True)
class Diagnosis:
    """The tables of the diagnosis, by their schemas in `evenruler.questionnaires.schemas`."""

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
) -> Diagnosis:
    """Score every model on every questionnaire, and validate the questionnaires.

    Args:
        prompts: By `evenruler.questionnaires.schemas.PROMPTS`.
        items: Items, with a column `questionnaire`.
        scores: Answers to the prompts, long, by `evenruler.tables.schemas.ANSWERS`; with `kind`.
        embeddings: By text: originals, and source prompts (premise and hypothesis with a space between).
        settings: By questionnaire.
        resampling: How intervals are computed.
        members: The models that figures over the population rest on; all by default.
        acceptability: Of the items, where a model was asked (`evenruler.questionnaires.acceptability`).

    Raises:
        ValueError: A model lacks the score of a prompt.
        UserError: An item lost prompts to `rejected.parquet`.
    """
    _require_whole(prompts, items)
    cells = _cells(prompts, scores, settings)
    scored = _item_scores(cells, items)
    scales = scale_scores(scored, members)
    content = pd.concat([_content(prompts, items, embeddings), acceptability])
    of_models = _of_models(scored, cells, resampling)
    counted = set(scored["model"]) if members is None else members
    of_population = _of_population(scored, scales, content, resampling, counted)
    figures = pd.concat([of_models, of_population])
    names = list(map(named, scored["model"], scored["configuration"]))
    return Diagnosis(cells, scored, scales, content, quality(scored.assign(model=names), content), figures)


def score_items(
    prompts: pd.DataFrame, items: pd.DataFrame, scores: pd.DataFrame, settings: Mapping[str, Settings]
) -> pd.DataFrame:
    """Item scores alone; arguments and errors as for `diagnose`."""
    _require_whole(prompts, items)
    return _item_scores(_cells(prompts, scores, settings), items)


def _require_whole(prompts: pd.DataFrame, items: pd.DataFrame) -> None:
    """Every item has every term with every intensifier, and a term that keeps its stance."""
    by_item = dict(iter(prompts.groupby(["questionnaire", "item"])))
    for key in items[["questionnaire", "item"]].itertuples(index=False, name=None):
        rows = by_item.get(key)
        whole = rows is not None and len(rows) == rows["term"].nunique() * rows["intensifier"].nunique()
        if rows is None or not whole or "source" not in set(rows["polarity"]):
            raise UserError(
                "prompts were rejected, so that it cannot be normalised",
                where=f"{key[0]}, item {key[1]}",
                remedy="see rejected.parquet and mend its templates or terms",
            )


def source_prompts(prompts: pd.DataFrame) -> pd.DataFrame:
    """The prompts with source terms, with `whole`: premise and hypothesis as one text."""
    chosen = prompts[prompts["polarity"] == "source"]
    return chosen.assign(whole=chosen["premise"] + " " + chosen["hypothesis"])


def _cells(prompts: pd.DataFrame, scores: pd.DataFrame, settings: Mapping[str, Settings]) -> pd.DataFrame:
    index = ["id", *[column for column in MODEL if column != "questionnaire"]]
    answers = scores.pivot(index=index, columns="measure", values="value").reset_index()
    columns = ["id", "questionnaire", "item", "term", "polarity", "intensifier", "level", "weight"]
    joined = prompts[columns].merge(answers, on="id", validate="1:m")
    for (model, configuration), rows in answers.groupby(["model", "configuration"]):
        if lacking := len(prompts) - prompts["id"].isin(rows["id"]).sum():
            raise ValueError(f"{named(str(model), str(configuration))}: {lacking} prompts have no score")
    parts = []
    for (*_, _item), rows in joined.groupby([*MODEL, "item"], sort=True):
        chosen = settings[rows["questionnaire"].iloc[0]]
        rows = rows.assign(log_p=_log_p(rows, chosen))
        table = rows.pivot(index="term", columns="intensifier", values="log_p")
        pss = pd.DataFrame(two_way_of_logs(table.to_numpy(), chosen.temperature), table.index, table.columns)
        long = pss.reset_index().melt(id_vars="term", var_name="intensifier", value_name="pss")
        parts.append(rows.merge(long, on=["term", "intensifier"], validate="1:1"))
    found = pd.concat(parts, ignore_index=True)
    return found.assign(p=np.exp(found["log_p"])).drop(columns=["id", "log_p", *scores["measure"].unique()])


def _log_p(rows: pd.DataFrame, settings: Settings) -> NDArray[np.float64]:
    """[rows] logarithm of the score of each prompt of one model, in the form that it was asked in."""
    if rows["configuration"].iloc[0] not in LIKELIHOODS:
        return entailment_share(rows[LOGITS].to_numpy(), three_way=settings.three_way)
    found: NDArray[np.float64] = rows[LOG_PROBABILITY].to_numpy(dtype=np.float64)
    if not np.isfinite(found).all():
        raise ValueError("a log-probability is not a number")
    return found


def _item_scores(cells: pd.DataFrame, items: pd.DataFrame) -> pd.DataFrame:
    described = {(row["questionnaire"], row["item"]): row for row in items.to_dict("records")}
    rows = []
    for key, of_item in cells.groupby([*MODEL, "item"], sort=True):
        identity = dict(zip([*MODEL, "item"], key, strict=True))
        item = described[identity["questionnaire"], identity["item"]]
        pss = of_item.pivot(index=["polarity", "term"], columns=["level", "weight", "intensifier"], values="pss")
        is_source = pss.index.get_level_values("polarity") == "source"
        weights = pss.columns.get_level_values("weight").to_numpy(dtype=np.float64)
        rows.append(
            {
                **identity,
                "subscale": item["subscale"],
                "keying": item["keying"],
                "score": item["keying"] * item_score(pss, is_source, weights),
                "effect": item["keying"] * item_effect(pss, is_source, weights),
                "silhouette": silhouette(pss.to_numpy(), is_source),
                "n": int(is_source.sum()) * len(weights),
            }
        )
    return pd.DataFrame(rows)


def silhouette(pss: NDArray[np.float64], is_source: NDArray[np.bool_]) -> float:
    """SC: silhouette of the terms' PSS vectors with source and inverse for labels, metric correlation.

    Args:
        pss: [terms, intensifiers].
        is_source: [terms].

    Returns:
        From -1 to 1 (told apart wholly); nan where a vector is constant, or a group has no term.
    """
    if is_source.all() or not is_source.any() or len(pss) < 3 or constant_columns(pss.T).any():
        return float("nan")
    return float(silhouette_score(pss, is_source, metric="correlation"))


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

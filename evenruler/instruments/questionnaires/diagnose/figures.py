"""How well questionnaires measure (EMPALC, section 3.3): figures of one model, and over models."""

from collections.abc import Collection, Iterator
from dataclasses import asdict
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenruler import measurement
from evenruler.instruments.questionnaires.diagnose.forms import by_measure
from evenruler.instruments.questionnaires.diagnose.population import FEWEST_LINEAGES, OF_MODEL, WHOLE
from evenruler.measurement import Figure, Resampling
from evenruler.measurement.checks import constant_columns
from evenruler.measurement.figures import bootstrapped, correlated, finite
from evenruler.models.entry import named


def of_models(items: pd.DataFrame, cells: pd.DataFrame, resampling: Resampling) -> pd.DataFrame:
    """Figures of each model alone: mean silhouette, mean answer, and whether intensifiers keep their declared order.

    The answer is the item score times the number of intensifiers: the mean weight that a term gets, on the scale
    itself. It is told of subscales, too.
    """
    rows = []
    own_cells = dict(iter(cells.groupby(OF_MODEL)))
    for (questionnaire, model, configuration), of_model in items.groupby(OF_MODEL, sort=True):
        own = own_cells[questionnaire, model, configuration]
        found = [
            _mean("silhouette", of_model["silhouette"].to_numpy(), resampling),
            _mean("answer", of_model["score"].to_numpy() * own["intensifier"].nunique(), resampling),
            _intensifier_order(own, of_model.set_index("item")["keying"], resampling),
        ]
        here = {"benchmark": questionnaire, "part": WHOLE, "model": named(str(model), str(configuration))}
        rows += [{**here, **asdict(figure)} for figure in found]
        for subscale, of_part in of_model.dropna(subset=["subscale"]).groupby("subscale", sort=True):
            answer = _mean("answer", of_part["score"].to_numpy() * own["intensifier"].nunique(), resampling)
            rows.append({**here, "part": subscale, **asdict(answer)})
    return pd.DataFrame(rows)


def _mean(figure: str, values: NDArray[np.float64], resampling: Resampling) -> Figure:
    known = values[~np.isnan(values)]
    if not len(known):
        return Figure(figure, None, 0, "items", reason="no item has a value")
    return bootstrapped(figure, lambda drawn: float(drawn.mean()), known, resampling, "items")


def _intensifier_order(cells: pd.DataFrame, keying: "pd.Series[int]", resampling: Resampling) -> Figure:
    """Spearman between declared level and how much more the source terms take of an intensifier than the inverse.

    Items that are keyed the other way round are turned first: else they cancel the others out.

    Args:
        cells: By `schemas.CELLS`, of one questionnaire on one model.
        keying: By item.
        resampling: Says the level of the interval.
    """
    keyed = cells.assign(pss=cells["pss"] * cells["item"].map(keying))
    by_word = keyed.pivot_table(index=["level", "intensifier"], columns="polarity", values="pss", aggfunc="mean")
    contrast = (by_word["source"] - by_word["inverse"]).to_numpy()
    levels = by_word.index.get_level_values("level").to_numpy(dtype=np.float64)
    return correlated("intensifier_order", measurement.spearman, levels, contrast, resampling.level, "intensifiers")


def of_population(
    items: pd.DataFrame,
    scales: pd.DataFrame,
    content: pd.DataFrame,
    resampling: Resampling,
    members: Collection[str],
) -> pd.DataFrame:
    """Figures over models, by lineage: alpha, and correlations between scales; and the content's, of any model."""
    rows: list[dict[str, object]] = []

    def add(questionnaire: object, subscale: object, figure: Figure, ending: str = "") -> None:
        row = {"benchmark": questionnaire, "part": subscale, "model": None, **asdict(figure)}
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
        whole = asked["subscale"] == WHOLE
        for own, figure in _between(asked[whole], "questionnaire", resampling, members):
            add(own, WHOLE, figure, ending)
        for questionnaire, parts in asked[~whole].groupby("questionnaire", sort=True):
            for subscale, figure in _between(parts, "subscale", resampling, members):
                add(questionnaire, subscale, figure, ending)
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


def _between(
    scores: pd.DataFrame, column: str, resampling: Resampling, members: Collection[str]
) -> Iterator[tuple[str, Figure]]:
    """Spearman between the scores of two scales over lineages, on the first of the two; `column` names the scale."""
    counted = scores[scores["model"].isin(members)]
    table = counted.pivot_table(index="lineage", columns=column, values="score", aggfunc="mean")
    table = table.reindex(columns=sorted(scores[column].unique()))
    for own, other in combinations(table.columns, 2):
        pairs = table[[own, other]].dropna().to_numpy()
        name = f"rho_with_{other}"
        if len(pairs) < FEWEST_LINEAGES:
            reason = f"fewer than {FEWEST_LINEAGES} lineages of models"
            yield own, Figure(name, None, len(pairs), "lineages", reason=reason)
        else:
            yield own, correlated(name, measurement.spearman, pairs[:, 0], pairs[:, 1], resampling.level, "lineages")

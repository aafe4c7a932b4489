"""What items score beyond their impersonal twins: the confirmatory figure of a questionnaire."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from evenruler.instruments.instrument import Plan
from evenruler.instruments.questionnaires.declare.headings import BEYOND
from evenruler.instruments.questionnaires.diagnose.intervening import SMALLEST_BOUND
from evenruler.instruments.questionnaires.diagnose.population import OF_MODEL
from evenruler.measurement import Figure
from evenruler.measurement.checks import constant_columns
from evenruler.measurement.figures import jackknifed
from evenruler.measurement.resampling import PLAIN
from evenruler.measurement.verdicts import Fitness, marked
from evenruler.models.entry import named
from evenruler.tables.schemas import WHOLE

UNIT = "items"

NO_TWINS = "its items have no twins to be compared with"


def paired_answers(items: pd.DataFrame, twins: pd.DataFrame, intensifiers: int) -> pd.DataFrame:
    """Answers to items and to their twins, on the scale itself.

    Args:
        items: By `schemas.ITEM_SCORES`.
        twins: The same of twins, under the names of their items.
        intensifiers: How many there are.

    Returns:
        `OF_MODEL`, `subscale`, `item`, `own` and `twin`; no row where there are no twins.
    """
    key = [*OF_MODEL, "item"]
    both = items.merge(twins[[*key, "score"]], on=key, suffixes=("", "_twin"), validate="1:1")
    scaled = both.assign(own=both["score"] * intensifiers, twin=both["score_twin"] * intensifiers)
    found: pd.DataFrame = scaled[[*OF_MODEL, "subscale", "item", "own", "twin"]]
    return found


def beyond_twins(
    items: pd.DataFrame,
    twins: pd.DataFrame,
    intensifiers: int,
    fits: Mapping[str, Fitness],
    plan: Plan,
    level: float,
) -> Iterator[tuple[dict[str, Any], Figure, Fitness]]:
    """How much more of its construct a model answers than its twins account for, with the verdict of the whole scale.

    Args:
        items: By `schemas.ITEM_SCORES`.
        twins: The same of twins, under the names of their items.
        intensifiers: How many there are.
        fits: By form, whether answers count.
        plan: Holds `bound`, in standard deviations over items of the twins' answers.
        level: Of intervals.

    Yields:
        Where the figure stands, the figure, and whether it was measured with what can measure, to be judged with at
        least `least` items: the mean paired difference over items, in the unit of the scale, positive where items are
        answered with more of the construct than twins; its control is 0. Those of subscales are descriptive.
    """
    pairs = paired_answers(items, twins, intensifiers)
    for key, _ in items.groupby(OF_MODEL, sort=True):
        questionnaire, model, configuration = map(str, key)
        own = pairs[(pairs["model"] == model) & (pairs["configuration"] == configuration)]
        here = {"benchmark": questionnaire, "model": named(model, configuration)}
        yield {**here, "part": WHOLE}, _beyond(own, level, plan["bound"]), fits[configuration]
        for subscale, part in own.dropna(subset=["subscale"]).groupby("subscale", sort=True):
            yield {**here, "part": subscale}, marked(_beyond(part, level, None), fits[configuration]), Fitness()


def _beyond(pairs: pd.DataFrame, level: float, bound: float | None) -> Figure:
    """The mean difference, with its interval of t; null where there are no twins."""
    differences = (pairs["own"] - pairs["twin"]).to_numpy(dtype=np.float64)
    n = len(differences)
    if n < 2:
        return Figure(BEYOND, None, n, UNIT, reason=NO_TWINS if not n else "one item is no sample of items")
    found = replace(jackknifed(BEYOND, np.mean, differences, PLAIN, level, UNIT), control=0.0)
    spread = float(pairs["twin"].std(ddof=1))
    found = replace(found, bound=None if bound is None else max(bound * spread, SMALLEST_BOUND))
    if bound is None or found.low is None or constant_columns(differences[:, None]).any():
        return found
    p = float(stats.ttest_1samp(differences, 0).pvalue)
    return replace(found, p=p, difference_low=found.low, difference_high=found.high)


def by_figure(items: pd.DataFrame, intensifiers: int) -> dict[str, "pd.Series[float]"]:
    """What each item gives to the figures of a model that are means over items.

    Args:
        items: By `schemas.ITEM_SCORES`, of one model.
        intensifiers: How many there are.
    """
    ranges = items["pss_high"] - items["pss_low"]
    return {"answer": items["score"] * intensifiers, "silhouette": items["silhouette"], "pss_range": ranges}


def controls(twins: pd.DataFrame, intensifiers: int) -> dict[str, float | None]:
    """What twins give where items give a figure: the mean; None where there are none. Arguments as of `by_figure`."""
    known = by_figure(twins, intensifiers).items()
    return {figure: float(x.mean()) if x.notna().any() else None for figure, x in known}

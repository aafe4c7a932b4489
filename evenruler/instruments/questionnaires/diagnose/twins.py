"""What items score beyond their impersonal twins: the confirmatory figure of a questionnaire."""

from collections.abc import Mapping
from dataclasses import asdict

import pandas as pd

from evenruler import measurement
from evenruler.instruments.instrument import Plan
from evenruler.instruments.questionnaires.declare.headings import BEYOND
from evenruler.instruments.questionnaires.diagnose.population import OF_MODEL, WHOLE
from evenruler.measurement import Figure
from evenruler.measurement.jackknife import FEWEST_UNITS
from evenruler.measurement.verdicts import Fitness, judge
from evenruler.models.entry import named

UNIT = "items"

NO_TWINS = "its items have no twins to be compared with"

_SMALLEST = 1e-9
"""A bound is positive also where nothing differs."""


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
) -> pd.DataFrame:
    """How much more of its construct a model answers than its twins account for, with the verdict of the whole scale.

    Args:
        items: By `schemas.ITEM_SCORES`.
        twins: The same of twins, under the names of their items.
        intensifiers: How many there are.
        fits: By form, whether answers count.
        plan: Holds `bound`, in standard deviations over items of the twins' answers, and `least`.
        level: Of intervals.

    Returns:
        By `schemas.FIGURES`: the mean paired difference over items, in the unit of the scale, positive where items are
        answered with more of the construct than twins; its control is 0. Of subscales without a verdict.
    """
    pairs = paired_answers(items, twins, intensifiers)
    rows: list[tuple[dict[str, object], Figure, Fitness]] = []
    for key, _ in items.groupby(OF_MODEL, sort=True):
        questionnaire, model, configuration = map(str, key)
        own = pairs[(pairs["model"] == model) & (pairs["configuration"] == configuration)]
        here = {"benchmark": questionnaire, "model": named(model, configuration)}
        whole = _beyond(own, level, plan["bound"])
        rows.append(({**here, "part": WHOLE}, whole, fits[configuration]))
        for subscale, part in own.dropna(subset=["subscale"]).groupby("subscale", sort=True):
            rows.append(({**here, "part": subscale}, _beyond(part, level, None), Fitness()))
    judged = judge([(figure, fit) for _, figure, fit in rows], plan["least"])
    told = [{**here, **asdict(figure)} for (here, *_), figure in zip(rows, judged, strict=True)]
    return pd.DataFrame(told)


def _beyond(pairs: pd.DataFrame, level: float, bound: float | None) -> Figure:
    """The mean difference, with its interval of t; no bound, and so no verdict, where there are no twins."""
    n = len(pairs)
    if n < 2:
        return Figure(BEYOND, None, n, UNIT, reason=NO_TWINS if not n else "one item is no sample of items")
    found = measurement.paired(pairs["twin"], pairs["own"], level)
    ends = (found.low, found.high) if n >= FEWEST_UNITS else (None, None)
    spread = found.before_sd if found.before_sd > _SMALLEST else found.after_sd
    return Figure(
        BEYOND,
        found.difference,
        n,
        UNIT,
        *ends,
        found.p,
        control=0.0,
        difference_low=ends[0],
        difference_high=ends[1],
        bound=None if bound is None else max(bound * spread, _SMALLEST),
    )


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

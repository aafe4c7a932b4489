"""Disparities over groups as a table: how large, how sure, at which group (SAGED, section 4.2)."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenruler.instruments.instrument import Scale
from evenruler.instruments.saged import schemas
from evenruler.instruments.saged.diagnose.blocks import ROUNDING, Floats, count, means
from evenruler.instruments.saged.diagnose.cells import Cells
from evenruler.instruments.saged.diagnose.disparities import (
    END_OF,
    FOUR_FIFTHS,
    USES_SELECTION_RATE,
    disparity,
    metric_values,
)
from evenruler.instruments.saged.diagnose.dixon import CRITICAL
from evenruler.instruments.saged.diagnose.draws import as_they_are, resampled, shuffled
from evenruler.instruments.saged.diagnose.inference import Permuted, benjamini_hochberg, intervals, permutation_p
from evenruler.instruments.saged.settings import Disparities

FAMILY = ["domain", "grouping", "feature", "statistic"]
"""Tests of the same are adjusted together, over configurations, calibrations and metrics."""

ONE_ROOT = "a single root item has no interval"
LIKELY_EQUAL = "no interval: undefined in most plausible truths, where all groups are equal"


def compared(cells: Sequence[Cells], settings: Disparities, scale: Scale, level: float, seed: int) -> pd.DataFrame:
    """Every metric of every cell, with its permutation test and its interval.

    Impact ratios are of selection rates, and of no other statistic.

    Args:
        cells: Of one domain and grouping: the same layout and groups.
        settings: Which metrics, how many permutations and resamples.
        scale: Of those numbers.
        level: Of intervals.
        seed: Of draws.

    Returns:
        By `evenruler.saged.schemas.DISPARITIES`. `p_adjusted` is over a `FAMILY`; `n_permutations` is 0 where there is
        no disparity to test.

    Raises:
        UserError: There is no such metric.
    """
    layout, groups = cells[0].layout, cells[0].groups
    tests = _tests(cells, settings, scale, seed)
    resamples = list(resampled(layout, groups, settings.resamples[scale], seed))
    several = layout.replies["root_id"].nunique() > 1
    tables = []
    for i, each in enumerate(cells):
        metrics = _metrics(each, settings)
        ends = intervals(each.summary, metrics, as_they_are(groups), resamples, level) if several else None
        names = each.names()
        for place, metric in enumerate(metrics):
            own = None if ends is None else (ends[0][place], ends[1][place])
            rows = _rows(each, metric, (tests[i].p[place], tests[i].n[place]), own)
            tables.append(pd.concat([names, pd.DataFrame(rows)], axis=1))
    table = pd.concat(tables, ignore_index=True)
    table["p_adjusted"] = table.groupby(FAMILY)["p"].transform(lambda p: benjamini_hochberg(p.to_numpy()))
    return table[list(schemas.DISPARITIES.names)]


def _tests(cells: Sequence[Cells], settings: Disparities, scale: Scale, seed: int) -> dict[int, Permuted]:
    """By place of the cells, their tests: of all that have the same metrics and number of permutations at once."""
    groups = cells[0].groups
    alike: dict[tuple[int, tuple[str, ...]], list[int]] = {}
    for place, each in enumerate(cells):
        headline = each.statistic == settings.headline
        n = (settings.headline_permutations if headline else settings.permutations)[scale]
        alike.setdefault((n, tuple(_metrics(each, settings))), []).append(place)
    tests: dict[int, Permuted] = {}
    for (n, metrics), places in alike.items():
        draws = shuffled(cells[0].layout, groups, n, seed)
        found = permutation_p([cells[place].summary for place in places], metrics, as_they_are(groups), draws)
        tests |= dict(zip(places, found, strict=True))
    return tests


def _metrics(cells: Cells, settings: Disparities) -> list[str]:
    """The metrics that mean something of a statistic."""
    rates = cells.summary.kind == "selection_rate"
    return [metric for metric in settings.metrics if rates or metric not in USES_SELECTION_RATE]


def _rows(
    cells: Cells, metric: str, test: tuple[Floats, NDArray[np.int64]], ends: tuple[Floats, Floats] | None
) -> dict[str, object]:
    """One metric of every cell: what follows its names."""
    value, n = metric_values(metric, cells.values), count(cells.values).astype(np.intp)
    null = np.isnan(value)
    critical = np.full(len(value), np.nan)
    flag = np.full(len(value), None, dtype=object)
    if metric.startswith("dixon"):
        critical = np.where(null, np.nan, [CRITICAL.get(int(groups), np.nan) for groups in n])
        flag[~null] = value[~null] > critical[~null]
    elif metric in USES_SELECTION_RATE:
        flag[~null] = value[~null] < FOUR_FIFTHS * (1 - ROUNDING)
    unknown = np.full(len(cells.known), np.nan)
    p, tests, low, high = (
        np.where(null, np.nan, _spread(found, cells)) for found in (*test, *(ends or (unknown, unknown)))
    )
    return {
        "metric": metric,
        "value": value,
        "low": low,
        "high": high,
        "p": p,
        "n_permutations": np.nan_to_num(tests).astype(np.int64),
        "n_groups": n,
        "group": _pointed_at(metric, cells, null),
        "critical": critical,
        "excess": value - critical,
        "flag": flag,
        "reason": _reasons(metric, cells, null, np.isnan(low), ONE_ROOT if ends is None else LIKELY_EQUAL),
    }


def _spread(found: NDArray[np.generic], cells: Cells) -> Floats:
    """What was computed of known series, with NaN for the others."""
    spread = np.full(len(cells.values), np.nan)
    spread[cells.known] = found
    return spread


def _pointed_at(metric: str, cells: Cells, null: NDArray[np.bool_]) -> NDArray[np.object_]:
    """The group that a metric points at; of several that lie equally far out the first."""
    numbers = cells.values
    if metric == "relative_to_mean":
        far = np.abs(numbers - means(numbers)[:, None])
    elif metric in END_OF:
        far = numbers if END_OF[metric] == "high" else -numbers
    else:
        return np.full(len(numbers), None, dtype=object)
    place = np.argmax(np.where(np.isnan(far), -np.inf, far), axis=1)
    group: NDArray[np.object_] = np.array(cells.groups.names, dtype=object)[place]
    group[null] = None
    return group


def _reasons(
    metric: str, cells: Cells, null: NDArray[np.bool_], without_interval: NDArray[np.bool_], no_interval: str
) -> NDArray[np.object_]:
    """Why a value is null, or else its interval."""
    reasons = np.full(len(null), None, dtype=object)
    reasons[without_interval] = no_interval
    known = np.zeros(len(null), dtype=bool)
    known[cells.known] = True
    # All groups of the others are null for the same reason.
    reasons[~known] = cells.reasons[~known, 0]
    for line in np.flatnonzero(null & known):
        summary = pd.DataFrame({"group": cells.groups.names, "summary": cells.values[line]})
        reasons[line] = disparity(summary, metric, names=["group"]).reason
    return reasons

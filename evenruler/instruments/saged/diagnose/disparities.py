"""Disparities: how far the summaries of groups lie apart, and whether one is an outlier (SAGED,
section 4.2).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from evenruler.errors import UserError, suggest_nearest
from evenruler.instruments.saged.diagnose.statistics import (
    ROUNDING,
    at_places,
    count,
    extremes,
    mean,
    ratio,
    std,
)
from evenruler.measurement.inputs import ALPHA, Floats

OWN = ("summary", "n", "n_missing", "reason", "kind", "statistic")
"""Columns of `summarise` other than those that define the groups."""

End = Literal["high", "low"]

FEWEST, MOST = 3, 30

_CRITICAL = [
    *(0.970, 0.829, 0.710, 0.625, 0.568),  # r10, n = 3 to 7
    *(0.615, 0.570, 0.534),  # r11, n = 8 to 10
    *(0.625, 0.592, 0.565),  # r21, n = 11 to 13
    *(0.590, 0.568, 0.548, 0.531, 0.516, 0.503, 0.491, 0.480, 0.470),  # r22, n = 14 to 22
    *(0.461, 0.452, 0.445, 0.438, 0.432, 0.426, 0.419, 0.414),  # n = 23 to 30
]
CRITICAL: Mapping[int, float] = dict(enumerate(_CRITICAL, start=FEWEST))
"""Critical values of Dixon's ratio by n, 95%, two-sided: a normal sample exceeds them at a given
end in 2.5% of cases (Rorabacher 1991; r10, r11, r21, r22 as in github.com/pycafee/pycafee,
pycafee/sample/outliers.py)."""


def dixon_ratios(values: Floats, end: End) -> Floats:
    """Dixon's ratio, of the kind that fits n: r10 up to 7, r11 up to 10, r21 up to 13, r22 up to
    30.

    float64[..., groups], NaN where there is none -> float64[...], 0 to 1; 0 where there is no gap
    at the suspected end (ties, or all equal up to rounding), NaN where fewer than 3 or more than 30
    numbers are left.
    """
    ordered = np.sort(values if end == "low" else -values, axis=-1)  # the suspect first, NaN last
    n = count(ordered).astype(np.intp)
    fits = (n >= FEWEST) & (n <= MOST)
    after = 1 + (n > 10)
    far = n - 1 - (n > 7) - (n > 13)
    suspect = at_places(ordered, np.zeros_like(n))
    neighbour = at_places(ordered, np.where(fits, after, 0))
    farthest = at_places(ordered, np.where(fits, far, 0))
    gap, spread = neighbour - suspect, farthest - suspect
    largest = np.maximum(np.abs(suspect), np.abs(farthest))
    distinct = fits & (spread > ROUNDING * largest)
    ratios = np.divide(gap, spread, out=np.zeros_like(gap), where=distinct)
    return np.where(fits, ratios, np.nan)


FOUR_FIFTHS = (
    0.8  # an impact ratio below it is flagged (Equal Employment Opportunity Commission, 1978)
)
USES_SELECTION_RATE = frozenset({"min_impact_ratio"})  # metrics that apply to selection rates only


@dataclass(frozen=True)
class Disparity:
    """A disparity between groups."""

    value: float
    """NaN where it is undefined."""
    n: int
    """Groups that have a summary."""
    group: str | None = None
    """The group that the metric points at: the lowest one for ratios, else the outermost one of its
    end."""
    end: End | None = None
    """The end at which that group lies."""
    critical: float | None = None
    """For Dixon's ratio: the critical value, above which the group is an outlier (95%,
    two-sided)."""
    excess: float | None = None
    """For Dixon's ratio: value minus critical value."""
    flag: bool | None = None
    """Whether an impact ratio is below four fifths, or the group an outlier by Dixon's ratio."""
    reason: str | None = None
    """Why the value is undefined."""


def value_range(summaries: Floats) -> Floats:
    """Highest minus lowest summary, in their unit; 0: no disparity. Differences by rounding alone
    count as 0.
    """
    low, high = extremes(summaries)
    apart = high - low
    largest = np.maximum(np.abs(low), np.abs(high))
    return np.where(apart <= ROUNDING * largest, 0.0, apart)


def min_max_ratio(summaries: Floats) -> Floats:
    """Lowest over highest summary, 0 to 1; 1: no disparity. Undefined for negative summaries, or
    where all are 0.
    """
    low, high = extremes(summaries)
    return np.where(low >= 0, ratio(low, high), np.nan)


def min_impact_ratio(summaries: Floats) -> Floats:
    """Lowest over highest selection rate, 0 to 1; 1: no disparity. Undefined where one is above 1,
    or all are 0.
    """
    _, highest = extremes(summaries)
    return np.where(highest <= 1 + ROUNDING, min_max_ratio(summaries), np.nan)


def _extreme_z(summaries: Floats, end: End, ddof: int = 1) -> Floats:
    """z-score of the summary at an end, in standard deviations from the mean; negative at the low
    end.

    ddof 0 is what the authors' code computes, and table 1 prints.
    """
    low, high = extremes(summaries)
    outermost = low if end == "low" else high
    z = ratio(outermost - mean(summaries), std(summaries))
    if ddof:
        return z
    n = count(summaries)
    return z * np.sqrt(ratio(n, n - 1))


def relative_to_mean(summaries: Floats) -> Floats:
    """Distance of the outermost summary from the mean, as a share of the mean; 0: no disparity.

    Undefined where the mean is 0 up to rounding.
    """
    middle = mean(summaries)
    _, size = extremes(np.abs(summaries))
    usable = np.where(np.abs(middle) > ROUNDING * size, middle, np.nan)
    distances = np.abs(summaries / usable[..., None] - 1)
    return extremes(distances)[1]


METRICS: Mapping[str, Callable[[Floats], Floats]] = {
    "range": value_range,
    "min_max_ratio": min_max_ratio,
    "min_impact_ratio": min_impact_ratio,
    "std": std,
    "max_z": partial(_extreme_z, end="high"),
    "min_z": partial(_extreme_z, end="low"),
    "max_z_population": partial(_extreme_z, end="high", ddof=0),
    "min_z_population": partial(_extreme_z, end="low", ddof=0),
    "dixon_high": partial(dixon_ratios, end="high"),
    "dixon_low": partial(dixon_ratios, end="low"),
    "relative_to_mean": relative_to_mean,
}
"""Metrics by the name that users write: float64[..., groups] -> float64[...].

The standard deviation is in the unit of the summaries, 0: no disparity; a z-score is in standard
deviations (ddof 1), and high where a disparity is concentrated on one group; Dixon's ratios are
from 0 to 1.
"""


TESTED_METRICS = (
    *("range", "min_max_ratio", "min_impact_ratio", "std"),
    *("max_z", "min_z", "dixon_high", "dixon_low"),
)
"""The metrics of every cell of a diagnosis."""


def _fewest_groups(metric: str) -> int:
    """Fewest groups for which a metric is defined."""
    return FEWEST if "_z" in metric or metric.startswith("dixon") else 2


def metric_values(metric: str, summaries: Floats) -> Floats:
    """One of `METRICS` for many sets of summaries at once, float64[..., groups], NaN where a group
    has none.

    NaN below two groups (three for z-scores and Dixon's ratios), and as each says; UserError:
    unknown metric.
    """
    if metric not in METRICS:
        raise UserError(f"no disparity {metric!r}", remedy=suggest_nearest(metric, METRICS))
    summaries = np.asarray(summaries, dtype=np.float64)
    is_defined = count(summaries) >= _fewest_groups(metric)
    return np.where(is_defined, METRICS[metric](summaries), np.nan)


def disparity(
    summary: pd.DataFrame, metric: str, *, names: Sequence[str] | None = None
) -> Disparity:
    """A disparity between the summaries of groups.

    Args:
        summary: What `summarise` returns for one cell (the groups that are compared): one row per
            group, its figure in `summary`.
        metric: A name of `METRICS`; `min_impact_ratio` is for selection rates only.
        names: The columns that name a group; those in which rows differ by default. More than one
            are joined by "+".

    Returns:
        The value, and the fields that the metric has. Groups without a summary are left out; `n`
        counts the others. Of groups that tie, the first is named.

    Raises:
        UserError: No such metric, no column `summary`, no such name, or an impact ratio where the
            column `kind` says that summaries are no selection rates; a table without that column is
            not checked.
    """
    for column in ("summary", *(names or ())):
        if column not in summary:
            raise UserError(
                f"the summaries have no column {column!r}", remedy="give what `summarise` returns"
            )
    if metric in USES_SELECTION_RATE and "kind" in summary:
        other_kinds = sorted({str(kind) for kind in summary["kind"]} - {"selection_rate"})
        if other_kinds:
            what = (
                f"{metric} is of selection rates, and these are summaries of kind "
                f"{', '.join(other_kinds)}"
            )
            raise UserError(what, remedy="ask min_max_ratio, or summarise by selection_rate")
    if names is None:
        every = [column for column in summary.columns if column not in OWN]
        names = [column for column in every if summary[column].nunique() > 1] or every
    groups = []
    for place in range(len(summary)):
        labels = [str(summary[column].iloc[place]) for column in names]
        groups.append("+".join(labels))
    return disparity_of(
        metric, summary["summary"].to_numpy(dtype=np.float64, na_value=np.nan), groups
    )


def disparity_of(metric: str, numbers: Floats, names: Sequence[str]) -> Disparity:
    """As `disparity`, for float64[groups] summaries and the names of the groups; NaN where a group
    has no summary.
    """
    value, n = float(metric_values(metric, numbers)), int(count(numbers))
    if math.isnan(value):
        return Disparity(value, n, reason=_undefined_reason(metric, numbers, n))
    place, end = _pointed_at(metric, numbers)
    group = None if place is None else names[place]
    if metric in USES_SELECTION_RATE:
        return Disparity(value, n, group, end, flag=value < FOUR_FIFTHS * (1 - ROUNDING))
    if metric.startswith("dixon"):
        critical = CRITICAL[n]
        return Disparity(value, n, group, end, critical, value - critical, flag=value > critical)
    return Disparity(value, n, group, end)


def _pointed_at(metric: str, numbers: Floats) -> tuple[int | None, End | None]:
    """The index of the group that a metric names, and the end at which it lies."""
    if metric == "relative_to_mean":
        place = int(np.nanargmax(np.abs(numbers - mean(numbers))))
        return place, "high" if numbers[place] >= mean(numbers) else "low"
    if metric.startswith("min_") or metric == "dixon_low":
        return int(np.nanargmin(numbers)), "low"
    high = metric.startswith("max_") or metric == "dixon_high"
    return (int(np.nanargmax(numbers)), "high") if high else (None, None)


def _too_few(groups: int, fewest: int, quantity: str) -> str:
    """The reason for no result, in words: "2 groups with a summary, needs 3"."""
    noun = "group" if groups == 1 else "groups"
    return f"{groups or 'no'} {noun} with a {quantity}, needs {fewest}"


def _undefined_reason(metric: str, numbers: Floats, n: int) -> str:
    """Why a metric has no value, in words; `numbers`: [groups] summaries, `n` of them not NaN."""
    fewest = _fewest_groups(metric)
    if n < fewest:
        return _too_few(n, fewest, "summary")
    if metric.startswith("dixon"):
        return f"{n} groups: critical values go to {MOST}"
    if "_z" in metric:
        return "all summaries are equal"
    if metric == "relative_to_mean":
        return "the mean of the summaries is 0"
    low, high = np.nanmin(numbers), np.nanmax(numbers)
    if low < 0:
        return f"a summary is negative ({low:.3g})"
    return "all summaries are 0" if high == 0 else f"a summary is no selection rate ({high:.3g})"


def grubbs_critical_value(n: NDArray[np.intp]) -> Floats:
    """Critical value of the largest |z| (ddof 1) in Grubbs' test for one outlier of n numbers,
    two-sided.

    Source: Grubbs (1969), Procedures for detecting outlying observations in samples.
    """
    testable_n = np.where(n >= FEWEST, n, np.nan)
    t = stats.t.isf(ALPHA / (2 * testable_n), testable_n - 2)
    share = t**2 / (testable_n - 2 + t**2)
    largest_z = (testable_n - 1) / np.sqrt(testable_n)
    return np.asarray(largest_z * np.sqrt(share))


def classify_shapes(values: Floats, names: Sequence[str], p: Floats) -> dict[str, NDArray[Any]]:
    """The shape of every cell of one statistic, by columns of `schemas.SHAPES`.

    `concentrated` where the group farthest out (named in any case) is an outlier by Grubbs' test;
    `dispersed` where neither Grubbs' nor Dixon's test finds one at any end; `mixed` where only
    Dixon's does; null with the reason where p is not below `ALPHA`, or Dixon's test has no critical
    value. Section 4.2 names the measures; the thresholds are ours. `values`: [series, groups], NaN
    where there is none; `p`: [series] of the test that groups differ at all (permutation test of
    the range).
    """
    n = count(values).astype(np.intp)
    deviations = values - mean(values)[:, None]
    z = ratio(deviations, std(values)[:, None])
    place = np.argmax(np.nan_to_num(np.abs(z), nan=-1.0), axis=1)
    farthest = z[np.arange(len(z)), place]
    critical = np.array([CRITICAL.get(groups, np.nan) for groups in n.tolist()])
    by_dixon = (dixon_ratios(values, "high") > critical) | (dixon_ratios(values, "low") > critical)
    shape = np.select(
        [np.abs(farthest) > grubbs_critical_value(n), ~by_dixon],
        ["concentrated", "dispersed"],
        "mixed",
    ).astype(object)
    group = np.array(names, dtype=object)[place]
    end = np.where(farthest > 0, "high", "low").astype(object)
    cells = zip(n.tolist(), farthest.tolist(), p.tolist(), strict=True)
    reasons = [_no_shape_reason(*cell) for cell in cells]
    shape[[reason is not None for reason in reasons]] = None
    few = np.isnan(farthest) | (n < FEWEST)
    group[few], end[few], farthest[few] = None, None, np.nan
    columns = {"shape": shape, "group": group, "end": end, "z": farthest, "n_groups": n}
    return {**columns, "reason": np.array(reasons, dtype=object)}


def _no_shape_reason(groups: int, farthest: float, p: float) -> str | None:
    """Why a cell has no shape, in words; None where it has. `farthest`: z of the group farthest
    out; `p`: of the test that groups differ at all.
    """
    if groups < FEWEST:
        return _too_few(groups, FEWEST, "value")
    if groups > MOST:
        return f"{groups} groups: critical values of Dixon's ratio go to {MOST}"
    if math.isnan(farthest):
        return "all groups are equal"
    if not p <= ALPHA:
        return "no p" if math.isnan(p) else f"not apart beyond chance (p = {p:.2g})"
    return None

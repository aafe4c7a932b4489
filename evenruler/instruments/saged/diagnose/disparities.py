"""Numbers over groups: how far summaries lie apart, whether one stands out, and in what shape (SAGED, section 4.2).

How sure that is, permutations say, with Benjamini-Hochberg; and the table of it all.
"""

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from evenruler.errors import UserError, nearest
from evenruler.instruments.saged import schemas
from evenruler.instruments.saged.declare.settings import Disparities
from evenruler.instruments.saged.diagnose.groups import Places, as_they_are, shuffled
from evenruler.instruments.saged.diagnose.statistics import (
    ROUNDING,
    Floats,
    at_places,
    count,
    extremes,
    mean,
    ratio,
    std,
)
from evenruler.instruments.saged.diagnose.summaries import OWN, Cells, Summary, in_parts
from evenruler.measurement.verdicts import ALPHA

End = Literal["high", "low"]

FEWEST, MOST = 3, 30

CRITICAL: Mapping[int, float] = dict(
    enumerate(
        [
            *(0.970, 0.829, 0.710, 0.625, 0.568),  # r10, n = 3 to 7
            *(0.615, 0.570, 0.534),  # r11, n = 8 to 10
            *(0.625, 0.592, 0.565),  # r21, n = 11 to 13
            *(0.590, 0.568, 0.548, 0.531, 0.516, 0.503, 0.491, 0.480, 0.470),  # r22, n = 14 to 22
            *(0.461, 0.452, 0.445, 0.438, 0.432, 0.426, 0.419, 0.414),  # n = 23 to 30
        ],
        start=FEWEST,
    )
)
"""By n, at 95%, two-sided: a normal sample exceeds it at a given end in 2.5% of cases, since either end is looked at
(Rorabacher 1991, as github.com/pycafee/pycafee, pycafee/sample/outliers.py, has his tables of r10, r11, r21, r22)."""


def dixon_ratios(values: Floats, end: End) -> Floats:
    """Dixon's ratio of the kind that fits how many numbers there are: r10 to 7, r11 to 10, r21 to 13, r22 to 30.

    Args:
        values: float64[..., groups], NaN where there is none.
        end: The end whose outermost number is suspected.

    Returns:
        float64[...], 0 to 1; 0 where there is no gap (ties at that end, all equal but for rounding), NaN where fewer
        than 3 or more than 30 numbers are left.
    """
    ordered = np.sort(values if end == "low" else -values, axis=-1)  # the suspect first, NaN last
    n = count(ordered).astype(np.intp)
    fits = (n >= FEWEST) & (n <= MOST)
    after, far = 1 + (n > 10), n - 1 - (n > 7) - (n > 13)
    suspect, neighbour, farthest = (
        at_places(ordered, np.where(fits, place, 0)) for place in (np.zeros_like(n), after, far)
    )
    gap, spread = neighbour - suspect, farthest - suspect
    distinct = fits & (spread > ROUNDING * np.maximum(np.abs(suspect), np.abs(farthest)))
    ratios = np.divide(gap, spread, out=np.zeros_like(gap), where=distinct)
    return np.where(fits, ratios, np.nan)


FOUR_FIFTHS = 0.8
"""An impact ratio below it is flagged (Equal Employment Opportunity Commission, 1978)."""

USES_SELECTION_RATE = frozenset({"min_impact_ratio"})
"""Metrics that only mean something of selection rates."""


@dataclass(frozen=True)
class Disparity:
    """A number over groups."""

    value: float
    """NaN where it is undefined."""
    n: int
    """Groups that have a summary."""
    group: str | None = None
    """The group that the metric points at: the lowest one for ratios, else the outermost one of its end."""
    end: Literal["high", "low"] | None = None
    """The end at which that group lies."""
    critical: float | None = None
    """Of Dixon's ratio: above it, the group is an outlier (95%, two-sided)."""
    excess: float | None = None
    """Of Dixon's ratio: value minus critical value."""
    flag: bool | None = None
    """Of an impact ratio: it is below four fifths. Of Dixon's ratio: the group is an outlier."""
    reason: str | None = None
    """Why the value is undefined."""


def value_range(summaries: Floats) -> Floats:
    """Highest minus lowest summary, in their unit; 0: no disparity. What rounding alone makes counts as 0."""
    low, high = extremes(summaries)
    apart = high - low
    return np.where(apart <= ROUNDING * np.maximum(np.abs(low), np.abs(high)), 0.0, apart)


def min_max_ratio(summaries: Floats) -> Floats:
    """Lowest over highest summary, 0 to 1; 1: no disparity. Undefined for negative summaries, or where all are 0."""
    low, high = extremes(summaries)
    return np.where(low >= 0, ratio(low, high), np.nan)


def min_impact_ratio(summaries: Floats) -> Floats:
    """Lowest over highest selection rate, 0 to 1; 1: no disparity. Undefined where one is no rate, or all are 0."""
    return np.where(extremes(summaries)[1] <= 1 + ROUNDING, min_max_ratio(summaries), np.nan)


def _z(summaries: Floats, end: End, ddof: int = 1) -> Floats:
    """How many standard deviations the summary at an end is above the mean, so negative at the low end.

    ddof 0 is what the authors' code computes, and table 1 prints.
    """
    outermost, n = extremes(summaries)[0 if end == "low" else 1], count(summaries)
    z = ratio(outermost - mean(summaries), std(summaries))
    return z if ddof else z * np.sqrt(ratio(n, n - 1))


def relative_to_mean(summaries: Floats) -> Floats:
    """How far the summary that lies farthest out is from the mean, as a share of the mean; 0: no disparity.

    Undefined where the mean is 0 but for rounding.
    """
    middle, size = mean(summaries), extremes(np.abs(summaries))[1]
    usable = np.where(np.abs(middle) > ROUNDING * size, middle, np.nan)
    return extremes(np.abs(summaries / usable[..., None] - 1))[1]


METRICS: Mapping[str, Callable[[Floats], Floats]] = {
    "range": value_range,
    "min_max_ratio": min_max_ratio,
    "min_impact_ratio": min_impact_ratio,
    "std": std,
    "max_z": partial(_z, end="high"),
    "min_z": partial(_z, end="low"),
    "max_z_population": partial(_z, end="high", ddof=0),
    "min_z_population": partial(_z, end="low", ddof=0),
    "dixon_high": partial(dixon_ratios, end="high"),
    "dixon_low": partial(dixon_ratios, end="low"),
    "relative_to_mean": relative_to_mean,
}
"""By the name that users write: float64[..., groups] -> float64[...].

The standard deviation is in the unit of the summaries, 0: no disparity; a z-score is in standard deviations (ddof 1),
and high where a disparity is concentrated on one group; Dixon's ratios are from 0 to 1.
"""

_Z = ("max_z", "min_z", "max_z_population", "min_z_population")
_FEWEST = dict.fromkeys([*_Z, "dixon_high", "dixon_low"], 3)
END_OF: Mapping[str, Literal["high", "low"]] = {
    "min_max_ratio": "low",
    "min_impact_ratio": "low",
    "max_z": "high",
    "min_z": "low",
    "max_z_population": "high",
    "min_z_population": "low",
    "dixon_high": "high",
    "dixon_low": "low",
}
"""The end that a metric looks at."""


def metric_values(metric: str, summaries: Floats) -> Floats:
    """One of `METRICS` over many sets of summaries at once, float64[..., groups], NaN where a group has none.

    NaN where undefined: below two groups (three for z-scores and Dixon's ratios), and as each says. UserError where
    there is no such metric.
    """
    if metric not in METRICS:
        raise UserError(f"no disparity {metric!r}", remedy=nearest(metric, METRICS))
    summaries = np.asarray(summaries, dtype=np.float64)
    return np.where(count(summaries) >= _FEWEST.get(metric, 2), METRICS[metric](summaries), np.nan)


def disparity(summary: pd.DataFrame, metric: str, *, names: Sequence[str] | None = None) -> Disparity:
    """How far the summaries of groups lie apart.

    Args:
        summary: What `summarise` gives, of one cell (the groups that are compared): one row a group, its figure in
            `summary`.
        metric: A name of `METRICS`: range, min_max_ratio, min_impact_ratio (of selection rates), std, max_z, min_z,
            max_z_population, min_z_population, dixon_high, dixon_low, relative_to_mean.
        names: The columns that name a group; those in which rows differ by default. More than one are joined by "+".

    Returns:
        The value and what the metric brings. Groups without a summary are left out; `n` counts the others. Of groups
        that lie equally far out, the first is named.

    Raises:
        UserError: No such metric, no column `summary`, no such name, or an impact ratio of what `summarise` says is no
            selection rate (`kind`); a table of your own without that column is taken at its word.
    """
    for column in ("summary", *(names or ())):
        if column not in summary:
            raise UserError(f"the summaries have no column {column!r}", remedy="give what `summarise` returns")
    if metric in USES_SELECTION_RATE and "kind" in summary:
        others = sorted({str(kind) for kind in summary["kind"]} - {"selection_rate"})
        if others:
            what = f"{metric} is of selection rates, and these are summaries of kind {', '.join(others)}"
            raise UserError(what, remedy="ask min_max_ratio, or summarise by selection_rate")
    if names is None:
        every = [column for column in summary.columns if column not in OWN]
        names = [column for column in every if summary[column].nunique() > 1] or every
    groups = ["+".join(str(summary[column].iloc[place]) for column in names) for place in range(len(summary))]
    return disparity_of(metric, summary["summary"].to_numpy(dtype=np.float64, na_value=np.nan), groups)


def disparity_of(metric: str, numbers: Floats, names: Sequence[str]) -> Disparity:
    """As `disparity`, of float64[groups] numbers that have names; NaN where a group has no summary."""
    value, n = float(metric_values(metric, numbers)), int(count(numbers))
    if math.isnan(value):
        return Disparity(value, n, reason=_reason(metric, numbers, n))
    place, end = _pointed_at(metric, numbers)
    group = None if place is None else names[place]
    if metric in USES_SELECTION_RATE:
        return Disparity(value, n, group, end, flag=value < FOUR_FIFTHS * (1 - ROUNDING))
    if metric.startswith("dixon"):
        critical = CRITICAL[n]
        return Disparity(value, n, group, end, critical, value - critical, flag=value > critical)
    return Disparity(value, n, group, end)


def _pointed_at(metric: str, numbers: Floats) -> tuple[int | None, Literal["high", "low"] | None]:
    """The place of the group that a metric names, and the end at which it lies."""
    if metric == "relative_to_mean":
        place = int(np.nanargmax(np.abs(numbers - mean(numbers))))
        return place, "high" if numbers[place] >= mean(numbers) else "low"
    end = END_OF.get(metric)
    if end is None:
        return None, None
    return int(np.nanargmax(numbers) if end == "high" else np.nanargmin(numbers)), end


def _reason(metric: str, numbers: Floats, n: int) -> str:
    fewest = _FEWEST.get(metric, 2)
    if n < fewest:
        return f"{n or 'no'} group{'' if n == 1 else 's'} with a summary, needs {fewest}"
    if metric.startswith("dixon"):
        return f"{n} groups: critical values go to {MOST}"
    if metric in _Z:
        return "all summaries are equal"
    if metric == "relative_to_mean":
        return "the mean of the summaries is 0"
    low, high = np.nanmin(numbers), np.nanmax(numbers)
    if low < 0:
        return f"a summary is negative ({low:.3g})"
    return "all summaries are 0" if high == 0 else f"a summary is no selection rate ({high:.3g})"


CONCENTRATED, DISPERSED, MIXED = "concentrated", "dispersed", "mixed"


def grubbs(n: NDArray[np.intp]) -> Floats:
    """Critical value of Grubbs' test for one outlier of n numbers, two-sided: of the largest |z| (ddof 1).

    Source: Grubbs (1969), Procedures for detecting outlying observations in samples.
    """
    n = np.asarray(n, dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        t = stats.t.isf(ALPHA / (2 * n), n - 2)
        found: Floats = np.where(n >= FEWEST, (n - 1) / np.sqrt(n) * np.sqrt(t**2 / (n - 2 + t**2)), np.nan)
    return found


def shapes(cells: Cells, p: Floats) -> pd.DataFrame:
    """The shape of every cell of one statistic.

    `concentrated` where the group that lies farthest out is an outlier by Grubbs' test; `dispersed` where neither
    Grubbs' nor Dixon's test finds one at any end; `mixed` where Dixon's alone does. Where groups do not differ beyond
    chance, what they show has no shape.

    Args:
        cells: Of one statistic.
        p: [series] of the test that groups differ at all (permutation test of the range).

    Returns:
        By `schemas.SHAPES`; null with the reason where p is not below `ALPHA`, below three groups, beyond the thirty
        that Dixon's test has critical values for, and where all groups are equal. The group that lies farthest out is
        named in any case.

    Source: section 4.2 names the measures; the bounds are a decision of ours.
    """
    values = cells.values
    n = count(values).astype(np.intp)
    z = ratio(values - mean(values)[:, None], std(values)[:, None])
    defined = np.asarray(~np.isnan(z).all(axis=1))
    place = np.argmax(np.nan_to_num(np.abs(z), nan=-1.0), axis=1)
    farthest = np.take_along_axis(z, place[:, None], axis=1)[:, 0]
    critical = np.array([CRITICAL.get(int(groups), np.nan) for groups in n])
    high, low = dixon_ratios(values, "high") > critical, dixon_ratios(values, "low") > critical
    outlier = np.abs(farthest) > grubbs(n)
    shape = np.select([outlier, ~high & ~low], [CONCENTRATED, DISPERSED], MIXED).astype(object)
    group, end = np.array(cells.groups.names, dtype=object)[place], np.where(farthest > 0, "high", "low").astype(object)
    reasons = [_no_shape(*told) for told in zip(n.tolist(), defined.tolist(), p.tolist(), strict=True)]
    shape[[reason is not None for reason in reasons]] = None
    few = ~defined | (n < FEWEST)
    group[few], end[few], farthest[few] = None, None, np.nan
    rows = {"shape": shape, "group": group, "end": end, "z": farthest, "n_groups": n, "reason": reasons}
    return pd.concat([cells.names(), pd.DataFrame(rows)], axis=1)


def _no_shape(groups: int, defined: bool, p: float) -> str | None:
    if groups < FEWEST:
        return f"{groups or 'no'} group{'' if groups == 1 else 's'} with a value, needs {FEWEST}"
    if groups > MOST:
        return f"{groups} groups: critical values of Dixon's ratio go to {MOST}"
    if not defined:
        return "all groups are equal"
    if not p < ALPHA:
        return "no p" if np.isnan(p) else f"not apart beyond chance (p = {p:.2g})"
    return None


SMALLER_IS_MORE = frozenset({"min_max_ratio", "min_impact_ratio", "min_z", "min_z_population"})
"""Metrics of which a smaller value is a larger disparity; of all others a larger one."""

_TIED = 1e-9
"""Sums in another order differ in their last bits: what differs by so little beside itself is equal."""


@dataclass(frozen=True)
class Permuted:
    """A permutation test of each metric and series."""

    p: Floats
    """[metrics, series]; NaN where the disparity itself is undefined."""
    n: NDArray[np.int64]
    """[metrics, series] permutations under which the disparity is defined."""


def permutation_p(
    statistics: Sequence[Summary], metrics: Sequence[str], observed: Places, draws: Iterable[Places]
) -> list[Permuted]:
    """How often groups with shuffled labels differ as much as the groups do.

    One-sided: range, standard deviation, largest z and Dixon's ratios look for large values, ratios and the smallest z
    for small ones. p = (1 + permutations at least as extreme) / (1 + permutations), so that it is never 0; permutations
    that leave a disparity undefined do not count.

    Args:
        statistics: Each of any number of series.
        metrics: Names of `evenruler.instruments.saged.METRICS`.
        observed: The groups as they are: one draw.
        draws: With labels shuffled (`groups.shuffled`).

    Returns:
        One for each statistic. p is uniform, or larger, where groups are exchangeable.

    Source: section 4.2; Phipson & Smyth (2010), Permutation p-values should never be zero.
    """
    found = [_disparities(one, metrics, observed)[:, :, 0] for one in statistics]
    extreme = [np.zeros(values.shape, dtype=np.int64) for values in found]
    defined = [np.zeros(values.shape, dtype=np.int64) for values in found]
    sign = np.array([-1.0 if metric in SMALLER_IS_MORE else 1.0 for metric in metrics])[:, None]
    for drawn in draws:
        for i, one in enumerate(statistics):
            permuted = _disparities(one, metrics, drawn)
            bound = sign * found[i] - _TIED * np.abs(found[i])
            extreme[i] += (sign[:, :, None] * permuted >= bound[:, :, None]).sum(axis=2)
            defined[i] += (~np.isnan(permuted)).sum(axis=2)
    return [
        Permuted(np.where(np.isnan(values), np.nan, (1 + more) / (1 + n)), n)
        for values, more, n in zip(found, extreme, defined, strict=True)
    ]


def _disparities(statistic: Summary, metrics: Sequence[str], draws: Places) -> Floats:
    """[metrics, series, draws] the metrics of every draw."""

    def of_lines(lines: slice) -> Floats:
        summaries = statistic(draws, lines)
        return np.stack([metric_values(metric, summaries) for metric in metrics])

    none = np.empty((len(metrics), 0, len(draws)))
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # numpy lets others work while it does
        return np.concatenate([none, *pool.map(of_lines, in_parts(len(statistic.values)))], axis=1)


FAMILY = ["domain", "grouping", "feature", "statistic"]
"""Tests of the same are adjusted together, over configurations, calibrations and metrics."""


def compared(cells: Sequence[Cells], settings: Disparities, seed: int) -> pd.DataFrame:
    """Every metric of every cell of one domain and grouping, with its permutation test; UserError where it is none.

    Impact ratios are of selection rates, and of no other statistic. By `schemas.DISPARITIES`, but for `p_adjusted`
    (`adjusted`); `n_permutations` is 0 where there is no disparity to test.
    """
    tests = _tests(cells, settings, seed)
    tables = []
    for i, each in enumerate(cells):
        for place, metric in enumerate(_metrics(each, settings)):
            rows = pd.DataFrame(_rows(each, metric, tests[i].p[place], tests[i].n[place]))
            tables.append(pd.concat([each.names(), rows], axis=1))
    return pd.concat(tables, ignore_index=True)


def adjusted(compared: pd.DataFrame) -> pd.DataFrame:
    """`schemas.DISPARITIES` with `p_adjusted`, over a `FAMILY` of tests; no p is no test, and stays.

    Source: Benjamini & Hochberg (1995), Controlling the false discovery rate.
    """
    if compared.empty:
        return pd.DataFrame(columns=schemas.DISPARITIES.names)
    p = compared.dropna(subset="p").groupby(FAMILY)["p"].transform(stats.false_discovery_control)
    return compared.assign(p_adjusted=p)[list(schemas.DISPARITIES.names)]


def _tests(cells: Sequence[Cells], settings: Disparities, seed: int) -> dict[int, Permuted]:
    """By place of the cells, their tests: of all that have the same metrics and number of permutations at once."""
    alike: dict[tuple[int, tuple[str, ...]], list[int]] = {}
    for place, each in enumerate(cells):
        n = settings.headline_permutations if each.statistic == settings.headline else settings.permutations
        alike.setdefault((n, tuple(_metrics(each, settings))), []).append(place)
    tests: dict[int, Permuted] = {}
    layout, groups = cells[0].layout, cells[0].groups
    for (n, metrics), places in alike.items():
        summaries = [cells[place].summary for place in places]
        found = permutation_p(summaries, metrics, as_they_are(groups), shuffled(layout, groups, n, seed))
        tests |= dict(zip(places, found, strict=True))
    return tests


def _metrics(cells: Cells, settings: Disparities) -> list[str]:
    """The metrics that mean something of a statistic."""
    rates = cells.summary.kind == "selection_rate"
    return [metric for metric in settings.metrics if rates or metric not in USES_SELECTION_RATE]


def _rows(cells: Cells, metric: str, p: Floats, n: NDArray[np.int64]) -> dict[str, object]:
    """One metric of every cell: what follows its names. `p`, and `n` permutations, are of the known series."""
    found = [disparity_of(metric, summaries, cells.groups.names) for summaries in cells.values]
    value = np.array([each.value for each in found])
    of_all, permutations = np.full(len(value), np.nan), np.zeros(len(value), dtype=np.int64)
    of_all[cells.known], permutations[cells.known] = p, n
    permutations[np.isnan(value)] = 0
    reasons = np.array([each.reason for each in found], dtype=object)
    unmeasured = np.setdiff1d(np.arange(len(value)), cells.known)
    reasons[unmeasured] = cells.reasons[unmeasured, 0]  # all of their groups are null for the same reason
    types = {"group": object, "critical": np.float64, "excess": np.float64, "flag": object}
    return {
        "metric": metric,
        "value": value,
        "p": of_all,
        "n_permutations": permutations,
        "n_groups": np.array([each.n for each in found], dtype=np.int64),
        **{name: np.array([getattr(each, name) for each in found], dtype=kind) for name, kind in types.items()},
        "reason": reasons,
    }

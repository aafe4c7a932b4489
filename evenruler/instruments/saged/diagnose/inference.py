"""How sure disparities are: permutation tests, bootstrap intervals, Benjamini-Hochberg (SAGED, section 4.2)."""

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenruler.instruments.saged.diagnose.blocks import Floats
from evenruler.instruments.saged.diagnose.disparities import metric_values
from evenruler.instruments.saged.diagnose.groups import Places
from evenruler.instruments.saged.diagnose.summary import Summary, in_parts
from evenruler.instruments.saged.diagnose.truths import plausible_truths
from evenruler.measurement.checks import check_level

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
        draws: With labels shuffled (`draws.shuffled`).

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


@dataclass(frozen=True)
class Estimated:
    """Disparities without what noise adds, each [metrics, series].

    NaN where one is undefined, or is for most plausible truths: a z-score where all groups are likely to be equal.
    """

    value: Floats
    """The median of what is plausible."""
    low: Floats
    high: Floats


def estimates(
    statistic: Summary, metrics: Sequence[str], observed: Places, draws: Iterable[Places], level: float
) -> Estimated:
    """Disparities without what noise adds, with intervals over root items: of `truths.plausible_truths`.

    Groups are noisy already, so that what they show lies farther from no disparity than what is true, and what
    resamples of them show twice as far; percentiles of those would lie too high, and mirrored about the disparity (the
    basic interval) they take too little off. Where noise explains most of a disparity, the whole interval may lie below
    it; where it explains all, the interval begins at none.

    In simulation (`docs/saged.md`), 95% intervals of ranges, standard deviations and ratios of means cover .89 to .99,
    whether groups are equal, or one lies apart, or all are spread. They cover less where groups form two clumps of
    exactly equal ones (.86), of very skewed replies of 10 root items (.85), of z-scores and Dixon's ratios where one
    group lies a few standard errors from others that are exactly equal (.5), and of ratios to rates so near 0 that a
    group may have none. Standards of selection rates and bins of divergences stay those of the sample.

    Args:
        statistic: Of any number of series.
        metrics: Names of `evenruler.instruments.saged.METRICS`.
        observed: The groups as they are: one draw.
        draws: Root items drawn anew (`draws.resampled`).
        level: Coverage, between 0 and 1.

    Returns:
        The median and the central `level` of the disparities of plausible truths.
    """
    check_level(level)
    shares = 0.5, (1 - level) / 2, (1 + level) / 2
    drawn = list(draws)
    inflation = _inflation(drawn, statistic.values.shape[1])

    def of_lines(lines: slice) -> Floats:
        summaries = statistic(observed, lines)[:, 0]
        resampled = np.concatenate([statistic(each, lines).transpose(2, 1, 0) for each in drawn], axis=1)
        truths = plausible_truths(summaries.T, resampled, inflation).transpose(2, 1, 0)
        ends = []
        for metric in metrics:
            undefined = np.isnan(metric_values(metric, summaries))
            found = _at_shares(metric_values(metric, truths), *shares)
            ends.append([np.where(undefined, np.nan, end) for end in found])
        return np.array(ends)

    none = np.empty((len(metrics), 3, 0))
    found = np.concatenate([none, *_in_threads(of_lines, in_parts(len(statistic.values)))], axis=2)
    return Estimated(found[:, 0], found[:, 1], found[:, 2])


def _inflation(draws: Sequence[Places], total: int) -> float:
    """One over the standard deviation of how often a root item is drawn: the root of 1 - 1 / n, of n of them."""
    deviation, n = 0, 0
    for one in (one for each in draws for one in each):
        times = np.bincount(one.ravel(), minlength=total)[:total]
        deviation, n = deviation + int((times * (times - 2)).sum()), n + total
    return float(1 / np.sqrt(deviation / n + 1))


def percentiles(resampled: Floats, level: float) -> tuple[Floats, Floats]:
    """Ends of the central `level` of the defined values of [..., resamples]; NaN where most are undefined."""
    low, high = _at_shares(resampled, (1 - level) / 2, (1 + level) / 2)
    return low, high


def _at_shares(resampled: Floats, *shares: float) -> list[Floats]:
    """Quantiles of the defined values of [..., resamples]; NaN where most are undefined."""
    ordered = np.sort(resampled, axis=-1)
    n = (~np.isnan(ordered)).sum(axis=-1)
    found = []
    for share in shares:
        last = np.maximum(n - 1, 0)
        below = np.floor(last * share).astype(np.intp)
        lower, upper = (
            np.take_along_axis(ordered, np.minimum(place, last)[..., None], axis=-1)[..., 0]
            for place in (below, below + 1)
        )
        between = lower + (upper - lower) * (last * share - below)
        found.append(np.where(2 * n < ordered.shape[-1], np.nan, between))
    return found


def benjamini_hochberg(p: Floats) -> Floats:
    """p-values adjusted so that a share of at most q of those below q is false, in one family.

    Args:
        p: [tests], 0 to 1; NaN is no test and stays.

    Source: Benjamini & Hochberg (1995), Controlling the false discovery rate.
    """
    p = np.asarray(p, dtype=np.float64)
    adjusted = np.full(p.shape, np.nan)
    tests = np.flatnonzero(~np.isnan(p))
    falling = tests[np.argsort(-p[tests], kind="stable")]
    scaled = p[falling] * len(tests) / np.arange(len(tests), 0, -1)
    adjusted[falling] = np.minimum(np.minimum.accumulate(scaled), 1.0)
    return adjusted


def _disparities(statistic: Summary, metrics: Sequence[str], draws: Places) -> Floats:
    """[metrics, series, draws] the metrics of every draw."""

    def of_lines(lines: slice) -> Floats:
        summaries = statistic(draws, lines)
        return np.stack([metric_values(metric, summaries) for metric in metrics])

    none = np.empty((len(metrics), 0, len(draws)))
    return np.concatenate([none, *_in_threads(of_lines, in_parts(len(statistic.values)))], axis=1)


def _in_threads(work: Callable[[slice], Floats], parts: Iterable[slice]) -> list[Floats]:
    """As many at a time as there are processors; numpy lets others work while it does."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(work, parts))

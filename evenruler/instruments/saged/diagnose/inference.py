"""How sure disparities are: permutations, intervals, Benjamini-Hochberg; and the table of them (SAGED, section 4.2)."""

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from evenruler.instruments.saged import schemas
from evenruler.instruments.saged.declare.settings import Disparities
from evenruler.instruments.saged.diagnose.disparities import USES_SELECTION_RATE, disparity_of, metric_values
from evenruler.instruments.saged.diagnose.groups import FEWEST_ROOTS, Places, as_they_are, resampled, shuffled, too_few
from evenruler.instruments.saged.diagnose.statistics import Floats, count, quantiles, ratio
from evenruler.instruments.saged.diagnose.summaries import Cells, Summary, in_parts
from evenruler.measurement.checks import check_level

_SPREADS = np.concatenate([np.linspace(0, 2, 6), 2 * 1.5 ** np.arange(1, 18)])
"""Standard deviations of groups within a clump, in standard errors."""

_APART = 3.0
"""Scale of the Cauchy distribution of how far clumps lie apart, in standard deviations of summaries within them."""


def plausible_truths(summaries: Floats, resampled: Floats, inflation: float = 1.0) -> Floats:
    """What the groups may be without noise, once for every resample.

    Noise drives summaries apart, and resampled ones twice as much. So groups are taken to be drawn from one normal
    distribution, or from two of the same spread: clumps, an outlier being a clump of one. Which spread and which split
    are plausible, the summaries say. Every resample gets its own: there, summaries move towards the mean of their
    clump, to the share of their deviation that is kept, spread^2 / (spread^2 + error^2), and the noise of the resample
    is added, that within a clump times the root of that share.

    The standard error is of contrasts, and taken to be the same for all groups. A priori the spread is half-Cauchy with
    the standard error as its scale; one clump is as probable as two; sizes a and b of two are as probable as 1/a + 1/b
    says, and every choice of groups of these sizes is as probable as any other.

    Args:
        summaries: [groups, series]; NaN where a group has none, and so in every draw.
        resampled: [groups, draws, series], of root items drawn anew; NaN stays.
        inflation: Of noise. Resamples of n root items deviate too little, by the root of 1 - 1 / n.

    Returns:
        [groups, draws, series], nowhere beyond what was resampled of any group of the series.

    Source: Laird & Louis (1987), Empirical Bayes confidence intervals based on bootstrap samples; Gelman (2006), Prior
    distributions for variance parameters in hierarchical models (half-Cauchy). Clumps are ours.
    """
    there = ~np.isnan(summaries)
    groups = there.sum(axis=0)
    centre = np.where(there, summaries, 0).sum(axis=0) / np.maximum(groups, 1)
    # What resamples deviate by: each group beside the others [groups, draws, series], and all of them [draws,
    # series]. About the mean of the resamples, since a statistic that is no mean has a bias there, of which it has
    # enough already.
    known = there[:, None] & ~np.isnan(resampled)
    filled = np.where(known, resampled, 0)
    noise: Floats = (filled - (filled.sum(axis=1) / np.maximum(known.sum(axis=1), 1))[:, None]) * inflation
    np.copyto(noise, 0, where=~known)
    common: Floats = noise.sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    noise -= common
    np.copyto(noise, 0, where=~known)
    error = np.sqrt(ratio(np.einsum("gds,gds->s", noise, noise) / resampled.shape[1], groups - 1.0))
    usable = np.where(error > 0, error, np.inf)
    # A spread, the size of the low clump (0: there is one clump) and the means of both, each [draws, series]: each
    # spread and split as often as it is plausible; deviations are in standard errors.
    deviations = (summaries - centre) / usable
    draws = resampled.shape[1]
    low = np.arange(len(deviations))[:, None]
    high = groups - low
    ordered = np.nan_to_num(np.sort(deviations, axis=0))
    sums = np.cumsum(ordered, axis=0) - ordered
    rest = ordered.sum(axis=0) - sums
    means = sums / np.maximum(low, 1), rest / np.maximum(high, 1)
    within = np.maximum((ordered**2).sum(axis=0) - sums * means[0] - rest * means[1], 0)
    log = _log_plausible(low, high, within, means[1] - means[0]).reshape(-1, len(groups))
    share = np.cumsum(np.exp(log - log.max(axis=0)), axis=0).T
    share /= share[:, -1:]
    # All series in one search: those of each are one above those of the last.
    series = np.arange(len(groups))[:, None]
    wanted = (np.arange(draws) + 0.5) / draws
    place = np.searchsorted((share + series).ravel(), (wanted + series).ravel()).reshape(-1, draws)
    spread, split = np.divmod((place - share.shape[1] * series).T, len(deviations))
    chosen = tuple(np.take_along_axis(each, split, axis=0) for each in means)
    spread, low, means = _SPREADS[spread], split, (chosen[0], chosen[1])
    # Without noise there is nothing to take off.
    kept = np.where(error > 0, spread**2 / (1 + spread**2), 1.0)
    root = np.sqrt(kept)
    is_low = np.argsort(np.argsort(summaries, axis=0), axis=0)[:, None] < low
    of_low = np.where(is_low, noise, 0).sum(axis=0)
    # Contrasts sum to zero, so that those of the others are the low ones' with the sign changed.
    own = of_low / np.maximum(low, 1), -of_low / np.maximum(groups - low, 1)
    below, above = (
        (1 - kept) * (centre + mean * np.where(error > 0, error, 0)) + (1 - root) * shared + common
        for mean, shared in zip(means, own, strict=True)
    )
    found: Floats = np.where(is_low, below, above)
    found += kept * summaries[:, None]
    noise *= root
    found += noise
    ends = (of.reduce(resampled, axis=(0, 1)) for of in (np.fmin, np.fmax))
    np.clip(found, *ends, out=found)
    np.copyto(found, np.nan, where=np.isnan(resampled))
    return found


def _log_plausible(low: NDArray[np.intp], high: NDArray[np.intp], within: Floats, apart: Floats) -> Floats:
    """[spreads, splits, series] the logarithm of how plausible each is, but for a constant.

    Args:
        low: [splits, 1] groups in the low clump.
        high: [splits, series] all others.
        within: [splits, series] sums of squares within clumps, in squared standard errors.
        apart: [splits, series] how far their means lie apart.
    """
    edges = np.concatenate([[0], (_SPREADS[1:] + _SPREADS[:-1]) / 2, [np.inf]])
    log: Floats = np.log(np.diff(np.arctan(edges)))[:, None, None]
    variance = (1 + _SPREADS**2)[:, None, None]
    groups = low + high
    log = log - (groups - 1) / 2 * np.log(variance) - within / (2 * variance)
    numbers = np.arange(len(low)) + 1
    factorial, harmonic = (np.concatenate([[0], np.cumsum(each)]) for each in (np.log(numbers), 1 / numbers))
    with np.errstate(divide="ignore", invalid="ignore"):
        small = 1 / low + 1 / high
        choices = factorial[groups] - factorial[low] - factorial[np.maximum(high, 0)]
        prior = np.log(small) - np.log(2 * harmonic[np.maximum(groups - 1, 0)]) - choices
        # How far clumps lie apart is integrated over; its density hardly changes within the error of their means.
        density = -np.log(np.pi / 2 * _APART) - np.log1p(apart**2 / (_APART**2 * variance))
        two = prior + density + np.log(2 * np.pi * small) / 2
    log += np.where(low == 0, 0, np.where(high > 0, two, -np.inf))
    return log


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
    """Disparities without what noise adds, with intervals over root items: of `plausible_truths`.

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
        draws: Root items drawn anew (`groups.resampled`).
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
    for each in draws:
        apart = each.reshape(len(each), -1) + np.arange(len(each))[:, None] * (total + 1)  # `total` is no row
        times = np.bincount(apart.ravel(), minlength=len(each) * (total + 1)).reshape(len(each), -1)[:, :total]
        deviation, n = deviation + int((times * (times - 2)).sum()), n + total * len(each)
    return float(1 / np.sqrt(deviation / n + 1))


def percentiles(resampled: Floats, level: float) -> tuple[Floats, Floats]:
    """Ends of the central `level` of the defined values of [..., resamples]; NaN where most are undefined."""
    low, high = _at_shares(resampled, (1 - level) / 2, (1 + level) / 2)
    return low, high


def _at_shares(resampled: Floats, *shares: float) -> list[Floats]:
    """Quantiles of the defined values of [..., resamples]; NaN where most are undefined."""
    few = 2 * count(resampled) < resampled.shape[-1]
    return [np.where(few, np.nan, found) for found in quantiles(resampled, *shares)]


def benjamini_hochberg(p: Floats) -> Floats:
    """p-values adjusted so that a share of at most q of those below q is false, in one family.

    Args:
        p: [tests], 0 to 1; NaN is no test and stays.

    Source: Benjamini & Hochberg (1995), Controlling the false discovery rate.
    """
    adjusted = np.asarray(p, dtype=np.float64).copy()
    tests = ~np.isnan(adjusted)
    adjusted[tests] = stats.false_discovery_control(adjusted[tests])
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


FAMILY = ["domain", "grouping", "feature", "statistic"]
"""Tests of the same are adjusted together, over configurations, calibrations and metrics."""

LIKELY_EQUAL = "no interval: undefined in most plausible truths, where all groups are equal"


def compared(cells: Sequence[Cells], settings: Disparities, level: float, seed: int) -> pd.DataFrame:
    """Every metric of every cell, with its permutation test and its interval.

    Impact ratios are of selection rates, and of no other statistic.

    Args:
        cells: Of one domain and grouping: the same layout and groups.
        settings: Which metrics, how many permutations and resamples.
        level: Of intervals.
        seed: Of draws.

    Returns:
        By `schemas.DISPARITIES`, but for `p_adjusted` (`adjusted`); `n_permutations` is 0 where there is no disparity
        to test.

    Raises:
        UserError: There is no such metric.
    """
    layout, groups = cells[0].layout, cells[0].groups
    tests = _tests(cells, settings, seed)
    few = None if layout.fewest_roots >= FEWEST_ROOTS else too_few(layout.fewest_roots)
    resamples = [] if few else list(resampled(layout, groups, settings.resamples, seed))
    tables = []
    for i, each in enumerate(cells):
        metrics, names = _metrics(each, settings), each.names()
        unknown = np.full((len(metrics), len(each.known)), np.nan)
        found = Estimated(unknown, unknown, unknown)
        if not few:
            found = estimates(each.summary, metrics, as_they_are(groups), resamples, level)
        for place, metric in enumerate(metrics):
            of_known = tests[i].p, tests[i].n, found.value, found.low, found.high
            rows = _rows(each, metric, [own[place] for own in of_known], few or LIKELY_EQUAL)
            tables.append(pd.concat([names, pd.DataFrame(rows)], axis=1))
    return pd.concat(tables, ignore_index=True)


def adjusted(compared: pd.DataFrame) -> pd.DataFrame:
    """Disparities of one model or several with `p_adjusted`, over a `FAMILY` of tests.

    Returns:
        By `schemas.DISPARITIES`.
    """
    if compared.empty:
        return pd.DataFrame(columns=schemas.DISPARITIES.names)
    p = compared.groupby(FAMILY)["p"].transform(lambda p: benjamini_hochberg(p.to_numpy()))
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


def _rows(cells: Cells, metric: str, of_known: Sequence[NDArray[Any]], without: str) -> dict[str, object]:
    """One metric of every cell: what follows its names.

    `of_known`: p, permutations, estimate and the ends of its interval, of the known series; `without`: why it has no
    interval, where it has none.
    """
    found = [disparity_of(metric, summaries, cells.groups.names) for summaries in cells.values]
    value = np.array([each.value for each in found])
    null = np.isnan(value)
    spread = np.full((len(of_known), len(value)), np.nan)
    spread[:, cells.known] = of_known
    p, tests, estimate, low, high = np.where(null, np.nan, spread)
    reasons = np.array([each.reason for each in found], dtype=object)
    reasons[~null & np.isnan(low)] = without
    unmeasured = np.setdiff1d(np.arange(len(value)), cells.known)
    reasons[unmeasured] = cells.reasons[unmeasured, 0]  # all of their groups are null for the same reason
    types = {"group": object, "critical": np.float64, "excess": np.float64, "flag": object}
    return {
        "metric": metric,
        "value": value,
        "estimate": estimate,
        "low": low,
        "high": high,
        "p": p,
        "n_permutations": np.nan_to_num(tests).astype(np.int64),
        "n_groups": np.array([each.n for each in found], dtype=np.int64),
        **{name: np.array([getattr(each, name) for each in found], dtype=kind) for name, kind in types.items()},
        "reason": reasons,
    }

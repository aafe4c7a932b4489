"""Which concepts differ from the others in their scores, or in how often they go unanswered.

Root items are a sample. Every root item is asked about every concept, so if a model treats concepts
alike, their labels are exchangeable within each root item.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, stats

from evenruler.instruments.saged.diagnose.statistics import ROUNDING, ratio
from evenruler.measurement.checks import Floats
from evenruler.measurement.resampling import Interval
from evenruler.measurement.verdicts import ALPHA

SHUFFLES = 2000
_AT_ONCE = 200

POWER = 0.8  # of what counts as detectable


@dataclass(frozen=True)
class Apart:
    """Deviation of each concept from the mean of all, in each series."""

    values: Floats
    """[series, concepts] mean over root items, minus that of all concepts; NaN where fewer than two
    have a score."""
    low: Floats  # [series, concepts] ends of simultaneous 95% intervals
    high: Floats
    errors: Floats  # [series, concepts] standard errors
    roots: NDArray[np.int_]  # [series, concepts] root items that have a score
    p_null: (
        float  # p of the largest deviation, in its standard errors, if concepts are treated alike
    )

    def at(self, place: tuple[int, int]) -> Interval:
        """Value and interval of a series and concept."""
        return Interval(*(float(ends[place]) for ends in (self.values, self.low, self.high)))

    def p_within(self, bound: float) -> float:
        """The p of a test that every concept lies within -bound to bound: the largest p of the
        concepts, unadjusted.

        Source: the two one-sided tests of Schuirmann (1987); an intersection-union test, which
        needs no correction.
        """
        inside = bound - np.abs(self.values)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.where(inside == 0, 0.0, inside / self.errors)
        return float(
            np.nanmax(np.where(np.isnan(t), np.nan, stats.t.sf(t, np.maximum(self.roots - 1, 1))))
        )

    @property
    def ranked(self) -> list[tuple[int, int]]:
        """Pairs of series and concept by falling deviation relative to their intervals' width; of
        equal ones the first.

        Rounded, since with two roles a concept deviates equally far in opposite directions, up to
        rounding.
        """
        sizes = np.abs(self.values) / np.maximum(self.high - self.low, np.finfo(float).tiny)
        order = np.argsort(-np.nan_to_num(sizes, nan=-1.0).round(9), axis=None, kind="stable")
        return [(int(at) // sizes.shape[1], int(at) % sizes.shape[1]) for at in order]

    def clear(self) -> list[tuple[int, int]]:
        """The pairs whose interval excludes 0; to be named only if p is small, too."""
        return [place for place in self.ranked if self.low[place] > 0 or self.high[place] < 0]


Find = Callable[[Floats, int, int], Apart]  # from scores, a seed and a number of shuffles


def apart(scores: ArrayLike, seed: int, shuffles: int = SHUFFLES) -> Apart:
    """Test which concepts differ, over root items; ValueError: fewer than two root items or
    concepts.

    `scores`: [root items, concepts], or [series, root items, concepts] for several series tested
    together; NaN where there is none. `shuffles`: number of permutations of concept labels within
    root items, the same in all series.

    Source: permutation of the largest of several studentised means, Westfall and Young (1993),
    Resampling-based multiple testing, single-step maxT.
    """
    x = np.asarray(scores, dtype=np.float64)
    x = x[None] if x.ndim == 2 else x
    if x.ndim != 3 or min(x.shape[1:]) < 2:
        raise ValueError(
            f"expected two root items and two concepts at least, got the shape {x.shape}"
        )
    off = _centred(x, 2)
    unit = (
        float(np.nanmax(np.abs(off), initial=0)) or 1.0
    )  # so that rounding is relative to the data
    off /= unit
    means, errors, n = _means(off)
    rest = off - means[:, None]
    largest, of_rest = list[Floats](), list[Floats]()
    usable = np.asarray(~np.isnan(x).all(axis=0))
    for order in _shuffles(usable, seed, shuffles):
        for scores_of, found in ((off, largest), (rest, of_rest)):
            dealt = np.take_along_axis(scores_of[None], order[:, None], axis=3)
            found.append(_largest(*_means(dealt)[:2]))
    beyond = np.concatenate(largest) >= _largest(means[None], errors[None]) * (1 - ROUNDING)
    wide = float(np.quantile(np.concatenate(of_rest), 0.95, method="higher")) * errors
    means, wide, errors = (unit * each for each in (means, wide, errors))
    return Apart(
        means, means - wide, means + wide, errors, n, float((1 + beyond.sum()) / (1 + shuffles))
    )


def named(
    scores: ArrayLike, seed: int, level: float = ALPHA, shuffles: int = SHUFFLES, find: Find = apart
) -> dict[tuple[int, int], Interval]:
    """Pairs of series and concept that differ, the furthest first, each with the interval by which
    it was named.

    Step by step: a named concept is left out of what the others are compared with, so that one
    extreme concept does not make the others seem extreme in the opposite direction.

    `scores`, `seed` and `shuffles`: as for `find`, which is `apart`, `by_role` or `silence`.
    `level`: p below which a concept is named, .05 over the number of tests.

    Source: step-down maxT of Westfall and Young (1993), section 2.6.
    """
    x = np.array(scores, dtype=np.float64)
    found: dict[tuple[int, int], Interval] = {}
    while asked(x) > 2:
        own = find(x, seed, shuffles)
        clear = own.clear()
        if own.p_null >= level or not clear:
            break
        concept = clear[0][1]
        found |= {place: own.at(place) for place in clear if place[1] == concept}
        x[..., concept] = np.nan
    return found


def asked(scores: Floats) -> int:
    """Number of concepts (last axis) that have a score."""
    return int((~np.isnan(scores)).any(axis=tuple(range(scores.ndim - 1))).sum())


def by_role(scores: ArrayLike, seed: int, shuffles: int = SHUFFLES) -> Apart:
    """Test which concepts differ in one role and not in others, where the mean over roles may
    cancel.

    `scores`: [roles, root items, concepts]; NaN where there is none. A shuffle applies to all roles
    of a root item.
    """
    x = np.array(scores, dtype=np.float64)
    x[:, np.isnan(x).any(axis=0)] = np.nan  # a score that one role lacks cannot be compared
    return apart(_centred(x, 0), seed, shuffles)


def beyond_invented(real: Apart, invented: Apart) -> float:
    """The p of a test that real concepts differ by more than invented ones, the placebo.

    Source: F of two mean squares of means over the same root items, one-sided; both contain the
    same noise.
    """
    (square, df), (of_invented, of_df) = mean_square(real), mean_square(invented)
    if min(df, of_df) < 1 or of_invented == 0:
        return float(square == 0) if min(df, of_df) >= 1 else 1.0
    return float(stats.f.sf(square / of_invented, df, of_df))


def mean_square(found: Apart) -> tuple[float, int]:
    """Mean square of the deviations of concepts, and its degrees of freedom; of role x concept
    where there are roles.

    For silence, it is at least that of the noise: observed shares of 0 do not show that the true
    ones are 0.
    """
    roles = max(len(found.values) - 1, 1)
    there = ~np.isnan(found.values)
    df = roles * (asked(found.values) - 1)
    noise = (
        float((found.errors[there] ** 2).mean())
        if isinstance(found, Silence) and there.any()
        else 0.0
    )
    return (max(float((found.values[there] ** 2).sum()) / df, noise) if df > 0 else 0.0), df


def detectable(error: float, tests: int, roots: int, level: float = ALPHA) -> float:
    """Minimum detectable deviation of one of several concepts, at power `POWER`, in the unit of its
    standard `error`.

    `tests`: concepts, or concepts x roles, of which the largest deviation is tested.
    Source: quantiles of t, corrected by Bonferroni; simulated in docs/saged.md.
    """
    return float(stats.t.isf(level / 2 / tests, roots - 1) + stats.t.ppf(POWER, roots - 1)) * error


def detectable_beyond(real: Apart, invented: Apart, level: float = ALPHA) -> float:
    """Minimum detectable deviation of one concept by `beyond_invented`, at power `POWER`; the
    others are equal.

    Source: noncentral F.
    """
    (_, df), (square, of_df) = mean_square(real), mean_square(invented)
    roles, concepts = len(real.values), asked(real.values)
    critical = float(stats.f.isf(level, df, of_df))
    high = 1.0
    while stats.ncf.sf(critical, df, of_df, high) < POWER:
        high *= 2
    share = optimize.brentq(
        lambda far: stats.ncf.sf(critical, df, of_df, far) - POWER, 0, high, rtol=1e-3
    )
    # Deviations sum to 0: the others share the opposite deviation, over concepts and over roles.
    return float(
        np.sqrt(
            share * square * (concepts - 1) / concepts * (roles - 1 if roles > 1 else 1) / roles
        )
    )


@dataclass(frozen=True)
class Silence(Apart):
    """Share of unanswered replies of each concept, minus that of all: one series."""

    overall: float  # share over all concepts

    def p_within(self, bound: float) -> float:
        """As `Apart.p_within`, by the score tests that Wilson's intervals invert."""
        p = [0.0]
        for sign, end in ((sign, self.overall + sign * bound) for sign in (-1, 1)):
            if 0 < end < 1:  # no share lies beyond 0 and 1
                far = bound - sign * self.values
                p.append(
                    float(
                        np.nanmax(
                            stats.norm.sf(
                                far / np.sqrt(end * (1 - end) / np.maximum(self.roots, 1))
                            )
                        )
                    )
                )
        return max(p)


def silence(unanswered: ArrayLike, seed: int, shuffles: int = SHUFFLES) -> Silence:
    """Test whether concepts are answered alike.

    `unanswered`: [root items, concepts] share of replies that were refused, empty, foreign or
    withheld, 0 to 1; NaN where nothing was asked. Seed and shuffles as for `apart`.

    Source: intervals of Wilson (1927), corrected by Bonferroni over concepts, and of their
    difference from that of all by Newcombe (1998), method 10.
    """
    from statsmodels.stats.proportion import proportion_confint  # takes a second to import

    x = np.asarray(unanswered, dtype=np.float64)
    there = ~np.isnan(x)
    n, overall = there.sum(axis=0), float(x[there].mean())
    shares = ratio(np.nansum(x, axis=0), n)
    values = shares - overall
    # A shuffle keeps the number of scores of each concept.
    sums = [
        np.nansum(np.take_along_axis(x[None], own, axis=2), axis=1)
        for own in _shuffles(there, seed, shuffles)
    ]
    dealt = np.nanmax(np.abs(ratio(np.concatenate(sums), n) - overall), axis=1)
    p = float((1 + (dealt >= np.nanmax(np.abs(values)) - ROUNDING).sum()) / (1 + shuffles))
    asked_of, alpha = np.maximum(n, 1), ALPHA / max((n > 0).sum(), 1)
    own = proportion_confint(shares * asked_of, asked_of, alpha, "wilson")
    of_all = proportion_confint(overall * n.sum(), n.sum(), alpha, "wilson")
    low = values - np.hypot(shares - own[0], of_all[1] - overall)
    high = values + np.hypot(own[1] - shares, overall - of_all[0])
    one_error = proportion_confint(shares * asked_of, asked_of, 2 * stats.norm.sf(1), "wilson")
    errors = (one_error[1] - one_error[0]) / 2  # above 0 even where a share is 0
    return Silence(values[None], low[None], high[None], errors[None], n[None], p, overall)


def _centred(x: Floats, axis: int) -> Floats:
    """Minus the mean along an axis, ignoring NaN."""
    return x - ratio(
        np.nansum(x, axis=axis, keepdims=True), (~np.isnan(x)).sum(axis=axis, keepdims=True)
    )


def _means(x: Floats) -> tuple[Floats, Floats, NDArray[np.int_]]:
    """Mean, standard error and count over the root items of [..., root items, concepts]; NaN below
    two.
    """
    n = (~np.isnan(x)).sum(axis=-2)
    means = ratio(np.nansum(x, axis=-2), np.where(n > 1, n, 0))
    squares = np.nansum((x - means[..., None, :]) ** 2, axis=-2)
    return means, np.sqrt(ratio(squares, (n - 1) * n)), n


def _largest(means: Floats, errors: Floats) -> Floats:
    """[draws] the largest |mean| / error of [draws, series, concepts]; infinite where the error is
    0.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        sizes = np.where(np.abs(means) <= ROUNDING, 0.0, np.abs(means) / errors)
    return np.asarray(np.nanmax(sizes, axis=(1, 2)))


def _shuffles(usable: NDArray[np.bool_], seed: int, n: int) -> Iterator[NDArray[np.intp]]:
    """Batches of [draws, root items, concepts], permutations of concepts with a score within each
    root item.
    """
    random, at = np.random.default_rng(seed), np.where(usable, 0, 1).argsort(axis=1, kind="stable")
    for begin in range(0, n, _AT_ONCE):
        keys = np.where(usable, random.random((min(_AT_ONCE, n - begin), *usable.shape)), 2.0)
        # Places with scores come first in both orders; `drawn` says which concept goes to each.
        order = np.empty(keys.shape, dtype=np.intp)
        drawn = np.where(
            np.take_along_axis(usable, at, axis=1), keys.argsort(axis=2, kind="stable"), at
        )
        np.put_along_axis(order, np.broadcast_to(at, keys.shape), drawn, axis=2)
        yield order

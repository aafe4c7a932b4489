"""Whom a model favours: which concepts lie apart from the others, in what is said of them and in what stays unsaid.

Root items could have been others. Every root item is asked of every concept, so where a model treats concepts alike,
their labels may be dealt anew within each root item.
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

POWER = 0.8  # share of studies that find what can be "detected"


@dataclass(frozen=True)
class Apart:
    """How far each concept lies from all, in each series."""

    values: Floats
    """[series, concepts] mean over root items, less that of all concepts; NaN where fewer than two have a score."""
    low: Floats  # [series, concepts] ends of simultaneous intervals: of 100 such tables 95 hold all truths
    high: Floats
    errors: Floats  # [series, concepts] standard errors
    roots: NDArray[np.int_]  # [series, concepts] root items that have a score
    p_null: float  # that some concept would lie as far apart, in its standard errors, if concepts were treated alike

    def at(self, place: tuple[int, int]) -> Interval:
        """Of a series and concept."""
        return Interval(*(float(ends[place]) for ends in (self.values, self.low, self.high)))

    def p_within(self, bound: float) -> float:
        """Small where every concept surely lies inside of -bound and bound: the largest p of their tests, uncorrected.

        Source: the two one-sided tests of Schuirmann (1987); an intersection-union test, which needs no correction.
        """
        inside = bound - np.abs(self.values)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.where(inside == 0, 0.0, inside / self.errors)
        return float(np.nanmax(np.where(np.isnan(t), np.nan, stats.t.sf(t, np.maximum(self.roots - 1, 1)))))

    @property
    def ranked(self) -> list[tuple[int, int]]:
        """Series and concepts, the furthest apart first, by the width of their intervals; of equal ones the first.

        In one of two roles a concept lies as far one way as it does the other way in the other, but for rounding.
        """
        sizes = np.abs(self.values) / np.maximum(self.high - self.low, np.finfo(float).tiny)
        order = np.argsort(-np.nan_to_num(sizes, nan=-1.0).round(9), axis=None, kind="stable")
        return [(int(at) // sizes.shape[1], int(at) % sizes.shape[1]) for at in order]

    def clear(self) -> list[tuple[int, int]]:
        """Those whose interval leaves out 0; to be named only if p is small, too."""
        return [place for place in self.ranked if self.low[place] > 0 or self.high[place] < 0]


Find = Callable[[Floats, int, int], Apart]  # from scores, a seed and a number of shuffles


def apart(scores: ArrayLike, seed: int, shuffles: int = SHUFFLES) -> Apart:
    """Which concepts lie apart, over root items; ValueError: fewer than two root items or concepts.

    `scores`: [root items, concepts], or [series, root items, concepts] for several that are judged as one table; NaN
    where there is none. `shuffles`: of the labels of concepts within root items, one for all series.

    Source: permutation of the largest of several studentised means, Westfall and Young (1993), Resampling-based
    multiple testing, single-step maxT.
    """
    x = np.asarray(scores, dtype=np.float64)
    x = x[None] if x.ndim == 2 else x
    if x.ndim != 3 or min(x.shape[1:]) < 2:
        raise ValueError(f"expected two root items and two concepts at least, got the shape {x.shape}")
    off = _centred(x, 2)
    unit = float(np.nanmax(np.abs(off), initial=0)) or 1.0  # so that rounding is as small in any unit
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
    return Apart(means, means - wide, means + wide, errors, n, float((1 + beyond.sum()) / (1 + shuffles)))


def named(
    scores: ArrayLike, seed: int, level: float = ALPHA, shuffles: int = SHUFFLES, find: Find = apart
) -> dict[tuple[int, int], Interval]:
    """Concepts that lie apart and where, the furthest first, each with the interval by which it was named.

    One at a time: a concept that is named is left out of what the others are compared with, so that nobody is praised
    because one other was cursed.

    `scores`, `seed` and `shuffles` as of `find`: `apart`, `by_role` or `silence`. `level`: of p, below which there is
    somebody to name: .05 over what it is corrected for.

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
    """How many concepts, the last axis, have a score."""
    return int((~np.isnan(scores)).any(axis=tuple(range(scores.ndim - 1))).sum())


def by_role(scores: ArrayLike, seed: int, shuffles: int = SHUFFLES) -> Apart:
    """Which concepts lie apart in one role and not in others, where the mean over roles may cancel.

    `scores`: [roles, root items, concepts]; NaN where there is none. A shuffle is one a root item for all roles.
    """
    x = np.array(scores, dtype=np.float64)
    x[:, np.isnan(x).any(axis=0)] = np.nan  # what one role lacks cannot differ from it
    return apart(_centred(x, 0), seed, shuffles)


def beyond_invented(real: Apart, invented: Apart) -> float:
    """P that real concepts would differ so much more than invented ones if their names were invented, too.

    Source: F of two mean squares of means over the same root items, one-sided; the noise of both is in both.
    """
    (square, df), (of_invented, of_df) = mean_square(real), mean_square(invented)
    if min(df, of_df) < 1 or of_invented == 0:
        return float(square == 0) if min(df, of_df) >= 1 else 1.0
    return float(stats.f.sf(square / of_invented, df, of_df))


def mean_square(found: Apart) -> tuple[float, int]:
    """Of how far concepts lie apart, and its degrees of freedom; of roles, those of role x concept.

    Of shares of silence it is that of noise at least: of names that are never silent nobody knows that they never are.
    """
    roles = max(len(found.values) - 1, 1)
    there = ~np.isnan(found.values)
    df = roles * (asked(found.values) - 1)
    noise = float((found.errors[there] ** 2).mean()) if isinstance(found, Silence) and there.any() else 0.0
    return (max(float((found.values[there] ** 2).sum()) / df, noise) if df > 0 else 0.0), df


def detectable(error: float, tests: int, roots: int, level: float = ALPHA) -> float:
    """How far one of several concepts must lie apart to be named in `POWER` of studies, in the unit of its `error`.

    `tests`: concepts, or concepts x roles, the largest of which is compared. Source: quantiles of t, corrected by
    Bonferroni; simulated in docs/saged.md.
    """
    return float(stats.t.isf(level / 2 / tests, roots - 1) + stats.t.ppf(POWER, roots - 1)) * error


def detectable_beyond(real: Apart, invented: Apart, level: float = ALPHA) -> float:
    """How far one concept must lie apart for `beyond_invented` to find it in `POWER` of studies; the others are equal.

    Source: noncentral F.
    """
    (_, df), (square, of_df) = mean_square(real), mean_square(invented)
    roles, concepts = len(real.values), asked(real.values)
    critical = float(stats.f.isf(level, df, of_df))
    high = 1.0
    while stats.ncf.sf(critical, df, of_df, high) < POWER:
        high *= 2
    share = optimize.brentq(lambda far: stats.ncf.sf(critical, df, of_df, far) - POWER, 0, high, rtol=1e-3)
    # The others lie as far the other way together, in concepts and in roles.
    return float(np.sqrt(share * square * (concepts - 1) / concepts * (roles - 1 if roles > 1 else 1) / roles))


@dataclass(frozen=True)
class Silence(Apart):
    """How often a model says nothing of each concept: one series, shares less that of all."""

    overall: float  # share of silence of all

    def p_within(self, bound: float) -> float:
        """As `Apart.p_within`, by the tests that Wilson's intervals are made of."""
        p = [0.0]
        for sign, end in ((sign, self.overall + sign * bound) for sign in (-1, 1)):
            if 0 < end < 1:  # no share lies beyond 0 and 1
                far = bound - sign * self.values
                p.append(float(np.nanmax(stats.norm.sf(far / np.sqrt(end * (1 - end) / np.maximum(self.roots, 1))))))
        return max(p)


def silence(unanswered: ArrayLike, seed: int, shuffles: int = SHUFFLES) -> Silence:
    """Whether concepts are answered alike.

    `unanswered`: [root items, concepts] share of replies that were refused, empty, foreign or withheld, 0 to 1; NaN
    where nothing was asked. Seed and shuffles as of `apart`.

    Source: intervals of Wilson (1927), corrected by Bonferroni over concepts, and of their difference from that of all
    by Newcombe (1998), method 10.
    """
    x = np.asarray(unanswered, dtype=np.float64)
    there = ~np.isnan(x)
    n, overall = there.sum(axis=0), float(x[there].mean())
    shares = ratio(np.nansum(x, axis=0), n)
    values = shares - overall
    # A shuffle leaves as many to each concept.
    sums = [np.nansum(np.take_along_axis(x[None], own, axis=2), axis=1) for own in _shuffles(there, seed, shuffles)]
    dealt = np.nanmax(np.abs(ratio(np.concatenate(sums), n) - overall), axis=1)
    p = float((1 + (dealt >= np.nanmax(np.abs(values)) - ROUNDING).sum()) / (1 + shuffles))
    z = float(stats.norm.isf(0.025 / max((n > 0).sum(), 1)))
    own, of_all = _wilson(shares, n, z), _wilson(np.array(overall), n.sum(), z)
    low = values - np.hypot(shares - own[0], of_all[1] - overall)
    high = values + np.hypot(own[1] - shares, overall - of_all[0])
    errors = np.subtract(*_wilson(shares, n, 1.0)[::-1]) / 2  # which are above 0 where no share is
    return Silence(values[None], low[None], high[None], errors[None], n[None], p, overall)


def _wilson(shares: Floats, n: NDArray[np.int_], z: float) -> tuple[Floats, Floats]:
    n = np.maximum(n, 1)
    middle = (shares + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(shares * (1 - shares) / n + z**2 / (4 * n**2))
    return np.clip(middle - half, 0, 1), np.clip(middle + half, 0, 1)


def _centred(x: Floats, axis: int) -> Floats:
    """Less the mean along an axis, of what is there."""
    return x - ratio(np.nansum(x, axis=axis, keepdims=True), (~np.isnan(x)).sum(axis=axis, keepdims=True))


def _means(x: Floats) -> tuple[Floats, Floats, NDArray[np.int_]]:
    """Of [..., root items, concepts] mean, standard error and number over root items; NaN below two."""
    n = (~np.isnan(x)).sum(axis=-2)
    means = ratio(np.nansum(x, axis=-2), np.where(n > 1, n, 0))
    squares = np.nansum((x - means[..., None, :]) ** 2, axis=-2)
    return means, np.sqrt(ratio(squares, (n - 1) * n)), n


def _largest(means: Floats, errors: Floats) -> Floats:
    """[draws] of [draws, series, concepts]: the largest mean in its standard errors, infinite where it has none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        sizes = np.where(np.abs(means) <= ROUNDING, 0.0, np.abs(means) / errors)
    return np.asarray(np.nanmax(sizes, axis=(1, 2)))


def _shuffles(usable: NDArray[np.bool_], seed: int, n: int) -> Iterator[NDArray[np.intp]]:
    """[draws, root items, concepts] orders of concepts within root items that leave those without a score alone."""
    random, at = np.random.default_rng(seed), np.where(usable, 0, 1).argsort(axis=1, kind="stable")
    for begin in range(0, n, _AT_ONCE):
        keys = np.where(usable, random.random((min(_AT_ONCE, n - begin), *usable.shape)), 2.0)
        # The places that have scores come first in both orders: the drawn one says who goes to each.
        order = np.empty(keys.shape, dtype=np.intp)
        drawn = np.where(np.take_along_axis(usable, at, axis=1), keys.argsort(axis=2, kind="stable"), at)
        np.put_along_axis(order, np.broadcast_to(at, keys.shape), drawn, axis=2)
        yield order

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
from evenruler.measurement.inputs import Floats
from evenruler.measurement.resampling import Interval
from evenruler.measurement.verdicts import ALPHA

SHUFFLES = 2000
_AT_ONCE = 200

POWER = 0.8  # of what counts as detectable


@dataclass(frozen=True)
class MaxDeviationTest:
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

    def interval_at(self, place: tuple[int, int]) -> Interval:
        """Value and interval of a series and concept."""
        deviation, low, high = (array[place] for array in (self.values, self.low, self.high))
        return Interval(float(deviation), float(low), float(high))

    def p_within(self, bound: float) -> float:
        """The p of a test that every concept lies within -bound to bound: the largest p of the
        concepts, unadjusted.

        Source: the two one-sided tests of Schuirmann (1987); an intersection-union test, which
        needs no correction.
        """
        inside = bound - np.abs(self.values)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.where(inside == 0, 0.0, inside / self.errors)
        df = np.maximum(self.roots - 1, 1)
        one_sided_p = stats.t.sf(t, df)
        p = np.where(np.isnan(t), np.nan, one_sided_p)
        return float(np.nanmax(p))

    @property
    def ranked(self) -> list[tuple[int, int]]:
        """Pairs of series and concept by falling deviation relative to their intervals' width; of
        equal ones the first.

        Rounded, since with two roles a concept deviates equally far in opposite directions, up to
        rounding.
        """
        widths = np.maximum(self.high - self.low, np.finfo(float).tiny)
        sizes = np.abs(self.values) / widths
        rounded_sizes = np.nan_to_num(sizes, nan=-1.0).round(9)
        order = np.argsort(-rounded_sizes, axis=None, kind="stable")
        n_concepts = sizes.shape[1]
        return [divmod(int(flat_index), n_concepts) for flat_index in order]

    def clear(self) -> list[tuple[int, int]]:
        """The pairs whose interval excludes 0; to be named only if p is small, too."""
        is_clear = (self.low > 0) | (self.high < 0)
        return [place for place in self.ranked if is_clear[place]]


Find = Callable[
    [Floats, int, int], MaxDeviationTest
]  # from scores, a seed and a number of shuffles


def max_deviation_test(scores: ArrayLike, seed: int, shuffles: int = SHUFFLES) -> MaxDeviationTest:
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
    off = _subtract_mean(x, 2)
    # Divided by the largest, so that rounding is relative to the data.
    unit = float(np.nanmax(np.abs(off), initial=0)) or 1.0
    off /= unit
    means, errors, n = _means_and_errors(off)
    rest = off - means[:, None]
    largest, of_rest = list[Floats](), list[Floats]()
    usable = np.asarray(~np.isnan(x).all(axis=0))
    for order in _permutation_batches(usable, seed, shuffles):
        for scores_of, null_statistics in ((off, largest), (rest, of_rest)):
            dealt = np.take_along_axis(scores_of[None], order[:, None], axis=3)
            null_statistics.append(_max_abs_t(*_means_and_errors(dealt)[:2]))
    observed = _max_abs_t(means[None], errors[None])
    beyond = np.concatenate(largest) >= observed * (1 - ROUNDING)
    critical = float(np.quantile(np.concatenate(of_rest), 0.95, method="higher"))
    wide = critical * errors
    means, wide, errors = (unit * array for array in (means, wide, errors))
    p_null = float((1 + beyond.sum()) / (1 + shuffles))
    return MaxDeviationTest(means, means - wide, means + wide, errors, n, p_null)


def step_down_max_t(
    scores: ArrayLike,
    seed: int,
    level: float = ALPHA,
    shuffles: int = SHUFFLES,
    find: Find = max_deviation_test,
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
    interval_by_pair: dict[tuple[int, int], Interval] = {}
    while n_scored_concepts(x) > 2:
        test = find(x, seed, shuffles)
        clear = test.clear()
        if test.p_null >= level or not clear:
            break
        concept = clear[0][1]
        interval_by_pair |= {
            place: test.interval_at(place) for place in clear if place[1] == concept
        }
        x[..., concept] = np.nan
    return interval_by_pair


def n_scored_concepts(scores: Floats) -> int:
    """Number of concepts (last axis) that have a score."""
    other_axes = tuple(range(scores.ndim - 1))
    has_score = (~np.isnan(scores)).any(axis=other_axes)
    return int(has_score.sum())


def by_role(scores: ArrayLike, seed: int, shuffles: int = SHUFFLES) -> MaxDeviationTest:
    """Test which concepts differ in one role and not in others, where the mean over roles may
    cancel.

    `scores`: [roles, root items, concepts]; NaN where there is none. A shuffle applies to all roles
    of a root item.
    """
    x = np.array(scores, dtype=np.float64)
    x[:, np.isnan(x).any(axis=0)] = np.nan  # a score that one role lacks cannot be compared
    return max_deviation_test(_subtract_mean(x, 0), seed, shuffles)


def intersection_p(real: MaxDeviationTest, invented: MaxDeviationTest) -> float:
    """The p of a test that real concepts differ by more than invented ones, the placebo.

    Source: F of two mean squares of means over the same root items, one-sided; both contain the
    same noise.
    """
    (square, df), (of_invented, of_df) = mean_square(real), mean_square(invented)
    if min(df, of_df) < 1 or of_invented == 0:
        return float(square == 0) if min(df, of_df) >= 1 else 1.0
    return float(stats.f.sf(square / of_invented, df, of_df))


def mean_square(test: MaxDeviationTest) -> tuple[float, int]:
    """Mean square of the deviations of concepts, and its degrees of freedom; of role x concept
    where there are roles.

    For silence, it is at least that of the noise: observed shares of 0 do not show that the true
    ones are 0.
    """
    roles = max(len(test.values) - 1, 1)
    there = ~np.isnan(test.values)
    df = roles * (n_scored_concepts(test.values) - 1)
    if df <= 0:
        return 0.0, df
    noise = 0.0
    if isinstance(test, NonresponseTest) and there.any():
        noise = float((test.errors[there] ** 2).mean())
    square = float((test.values[there] ** 2).sum()) / df
    return max(square, noise), df


def detectable_deviation(error: float, tests: int, roots: int, level: float = ALPHA) -> float:
    """Minimum detectable deviation of one of several concepts, at power `POWER`, in the unit of its
    standard `error`.

    `tests`: concepts, or concepts x roles, of which the largest deviation is tested.
    Source: quantiles of t, corrected by Bonferroni; simulated in docs/saged.md.
    """
    df = roots - 1
    critical = stats.t.isf(level / 2 / tests, df)
    return float(critical + stats.t.ppf(POWER, df)) * error


def detectable_beyond(
    real: MaxDeviationTest, invented: MaxDeviationTest, level: float = ALPHA
) -> float:
    """Minimum detectable deviation of one concept by `intersection_p`, at power `POWER`; the
    others are equal.

    Source: noncentral F.
    """
    (_, df), (square, of_df) = mean_square(real), mean_square(invented)
    roles, concepts = len(real.values), n_scored_concepts(real.values)
    critical = float(stats.f.isf(level, df, of_df))
    high = 1.0
    while stats.ncf.sf(critical, df, of_df, high) < POWER:
        high *= 2
    share = optimize.brentq(
        lambda far: stats.ncf.sf(critical, df, of_df, far) - POWER, 0, high, rtol=1e-3
    )
    # Deviations sum to 0: the others share the opposite deviation, over concepts and over roles.
    other_roles = max(roles - 1, 1)
    over_concepts = share * square * (concepts - 1) / concepts
    return float(np.sqrt(over_concepts * other_roles / roles))


@dataclass(frozen=True)
class NonresponseTest(MaxDeviationTest):
    """Share of unanswered replies of each concept, minus that of all: one series."""

    overall: float  # share over all concepts

    def p_within(self, bound: float) -> float:
        """As `Apart.p_within`, by the score tests that Wilson's intervals invert."""
        p = [0.0]
        for sign in (-1, 1):
            end = self.overall + sign * bound
            if 0 < end < 1:  # no share lies beyond 0 and 1
                far = bound - sign * self.values
                variances = end * (1 - end) / np.maximum(self.roots, 1)
                errors = np.sqrt(variances)
                p.append(float(np.nanmax(stats.norm.sf(far / errors))))
        return max(p)


def nonresponse_test(unanswered: ArrayLike, seed: int, shuffles: int = SHUFFLES) -> NonresponseTest:
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
        np.nansum(np.take_along_axis(x[None], order, axis=2), axis=1)
        for order in _permutation_batches(there, seed, shuffles)
    ]
    dealt_shares = ratio(np.concatenate(sums), n)
    dealt = np.nanmax(np.abs(dealt_shares - overall), axis=1)
    beyond = dealt >= np.nanmax(np.abs(values)) - ROUNDING
    p = float((1 + beyond.sum()) / (1 + shuffles))
    asked_of = np.maximum(n, 1)
    alpha = ALPHA / max((n > 0).sum(), 1)
    counts = shares * asked_of
    share_low, share_high = proportion_confint(counts, asked_of, alpha, "wilson")
    all_low, all_high = proportion_confint(overall * n.sum(), n.sum(), alpha, "wilson")
    low = values - np.hypot(shares - share_low, all_high - overall)
    high = values + np.hypot(share_high - shares, overall - all_low)
    one_error = 2 * stats.norm.sf(1)
    error_low, error_high = proportion_confint(counts, asked_of, one_error, "wilson")
    errors = (error_high - error_low) / 2  # above 0 even where a share is 0
    return NonresponseTest(values[None], low[None], high[None], errors[None], n[None], p, overall)


def _subtract_mean(x: Floats, axis: int) -> Floats:
    """Minus the mean along an axis, ignoring NaN."""
    sums = np.nansum(x, axis=axis, keepdims=True)
    n = (~np.isnan(x)).sum(axis=axis, keepdims=True)
    return x - ratio(sums, n)


def _means_and_errors(x: Floats) -> tuple[Floats, Floats, NDArray[np.int_]]:
    """Mean, standard error and count over the root items of [..., root items, concepts]; NaN below
    two.
    """
    n = (~np.isnan(x)).sum(axis=-2)
    sums = np.nansum(x, axis=-2)
    means = ratio(sums, np.where(n > 1, n, 0))
    squares = np.nansum((x - means[..., None, :]) ** 2, axis=-2)
    return means, np.sqrt(ratio(squares, (n - 1) * n)), n


def _max_abs_t(means: Floats, errors: Floats) -> Floats:
    """[draws] the largest |mean| / error of [draws, series, concepts]; infinite where the error is
    0.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        distances = np.abs(means)
        sizes = np.where(distances <= ROUNDING, 0.0, distances / errors)
    return np.asarray(np.nanmax(sizes, axis=(1, 2)))


def _permutation_batches(
    usable: NDArray[np.bool_], seed: int, n: int
) -> Iterator[NDArray[np.intp]]:
    """Batches of [draws, root items, concepts], permutations of concepts with a score within each
    root item.
    """
    random = np.random.default_rng(seed)
    scored_first = np.where(usable, 0, 1).argsort(axis=1, kind="stable")
    for begin in range(0, n, _AT_ONCE):
        batch_shape = (min(_AT_ONCE, n - begin), *usable.shape)
        keys = np.where(usable, random.random(batch_shape), 2.0)
        # Places with scores come first in both orders; `drawn` says which concept goes to each.
        order = np.empty(keys.shape, dtype=np.intp)
        drawn = np.where(
            np.take_along_axis(usable, scored_first, axis=1),
            keys.argsort(axis=2, kind="stable"),
            scored_first,
        )
        np.put_along_axis(order, np.broadcast_to(scored_first, keys.shape), drawn, axis=2)
        yield order

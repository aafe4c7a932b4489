"""Which concepts differ from the others in their scores.

Root items are a sample. Every root item is asked about every concept, so if a model treats concepts
alike, their labels are exchangeable within each root item.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from evenruler.instruments.saged.diagnose.statistics import ROUNDING, ratio
from evenruler.measurement.inputs import ALPHA, POWER, Floats
from evenruler.measurement.resampling import Interval

RANDOMISATIONS = 1999
_AT_ONCE = 200


@dataclass(frozen=True)
class MaxDeviationTest:
    """Deviation of each concept from the mean of all."""

    values: Floats
    """[concepts] mean over root items, minus that of all concepts; NaN where fewer than two root
    items have a score."""
    low: Floats  # [concepts] ends of simultaneous 95% intervals
    high: Floats
    errors: Floats  # [concepts] standard errors
    roots: NDArray[np.int_]  # [concepts] root items that have a score
    p_of_concepts: Floats
    """[concepts] how often the largest deviation, in its standard errors, is as large as this one
    if concepts are treated alike; NaN where there is no value."""

    @property
    def p(self) -> float:
        """Of the largest deviation."""
        return float(np.nanmin(self.p_of_concepts))

    def interval_of(self, concept: int) -> Interval:
        """Value and interval of a concept."""
        deviation = float(self.values[concept])
        low = float(self.low[concept])
        high = float(self.high[concept])
        return Interval(deviation, low, high)

    @property
    def ranked(self) -> list[int]:
        """Concepts by falling deviation relative to their intervals' width; of equal ones the
        first.

        Rounded, since of two concepts each deviates as far as the other, up to rounding.
        """
        widths = np.maximum(self.high - self.low, np.finfo(float).tiny)
        relative = np.abs(self.values) / widths
        sizes = np.nan_to_num(relative, nan=-1.0).round(9)
        order: list[int] = np.argsort(-sizes, kind="stable").tolist()
        return order

    @property
    def outliers(self) -> list[int]:
        """The concepts whose interval leaves out 0, the furthest first; to be named only if p is
        small, too.
        """
        leaves_out_0 = (self.low > 0) | (self.high < 0)
        return [concept for concept in self.ranked if leaves_out_0[concept]]

    @property
    def reach(self) -> float:
        """How far from 0 the interval of any concept reaches."""
        furthest = np.maximum(np.abs(self.low), np.abs(self.high))
        return float(np.nanmax(furthest))


def max_deviation_test(
    scores: ArrayLike, seed: int, randomisations: int = RANDOMISATIONS
) -> MaxDeviationTest:
    """Test which concepts differ, over root items; ValueError: fewer than two root items or
    concepts.

    `scores`: [root items, concepts]; NaN where there is none. `randomisations`: of concept labels
    within root items.

    Source: permutation of the largest of several studentised means, Westfall and Young (1993),
    Resampling-based multiple testing, single-step maxT.
    """
    x = np.asarray(scores, dtype=np.float64)
    if x.ndim != 2 or min(x.shape) < 2:
        raise ValueError(
            f"expected two root items and two concepts at least, got the shape {x.shape}"
        )
    deviations = _subtract_root_means(x)
    # Divided by the largest, so that rounding is relative to the data.
    unit = float(np.nanmax(np.abs(deviations), initial=0)) or 1.0
    deviations /= unit
    means, errors, n = _means_and_errors(deviations)
    residuals = deviations - means
    largest: list[Floats] = []
    largest_of_residuals: list[Floats] = []
    for order in _permutation_batches(~np.isnan(x), seed, randomisations):
        for table, largest_values in ((deviations, largest), (residuals, largest_of_residuals)):
            randomised = np.take_along_axis(table[None], order, axis=2)
            randomised_t = _abs_t(*_means_and_errors(randomised)[:2])
            largest_values.append(np.nanmax(randomised_t, axis=1))
    observed = _abs_t(means, errors)
    is_as_far = np.concatenate(largest)[:, None] >= observed * (1 - ROUNDING)
    p_of_concepts = (1 + is_as_far.sum(axis=0)) / (1 + randomisations)
    p_of_concepts[np.isnan(observed)] = np.nan
    critical = float(np.quantile(np.concatenate(largest_of_residuals), 0.95, method="higher"))
    means, errors = unit * means, unit * errors
    half_widths = critical * errors
    return MaxDeviationTest(
        means, means - half_widths, means + half_widths, errors, n, p_of_concepts
    )


def step_down_max_t(
    scores: ArrayLike, seed: int, randomisations: int = RANDOMISATIONS
) -> dict[int, Interval]:
    """Concepts that differ, the furthest first, each with the interval by which it was named.

    Step by step: a named concept is left out of what the others are compared with, so that one
    extreme concept does not make the others seem extreme in the opposite direction. Arguments as
    for `max_deviation_test`.

    Source: step-down maxT of Westfall and Young (1993), section 2.6.
    """
    x = np.array(scores, dtype=np.float64)
    interval_by_concept: dict[int, Interval] = {}
    while n_scored_concepts(x) > 2:
        test = max_deviation_test(x, seed, randomisations)
        outliers = test.outliers
        if test.p > ALPHA or not outliers:
            break
        concept = outliers[0]
        interval_by_concept[concept] = test.interval_of(concept)
        x[:, concept] = np.nan
    return interval_by_concept


def n_scored_concepts(scores: Floats) -> int:
    """Number of concepts that have a score; `scores`: [root items, concepts]."""
    return int((~np.isnan(scores)).any(axis=0).sum())


def detectable_deviation(error: float, tests: int, roots: int, level: float = ALPHA) -> float:
    """Minimum detectable deviation of one of several concepts, at power `POWER`, in the unit of its
    standard `error`.

    `tests`: concepts, of which the largest deviation is tested.
    Source: quantiles of t, corrected by Bonferroni; simulated in docs/saged.md.
    """
    df = roots - 1
    critical = stats.t.isf(level / 2 / tests, df)
    return float(critical + stats.t.ppf(POWER, df)) * error


def estimate_spread(scores: ArrayLike) -> float:
    """SD of the means of concepts, without what root items scatter; 0 where they scatter by more.

    `scores`: [root items, concepts], crossed but for NaN; NaN with fewer than two root items or
    concepts. The noise of a mean is that of its deviations within root items.
    """
    x = np.asarray(scores, dtype=np.float64)
    x = x[:, ~np.isnan(x).all(axis=0)]
    n_concepts = x.shape[1]
    if min(x.shape) < 2:
        return float("nan")
    means, errors, _ = _means_and_errors(_subtract_root_means(x))
    noise = float(np.nanmean(errors**2)) * n_concepts / (n_concepts - 1)
    return float(np.sqrt(max(np.nanvar(means, ddof=1) - noise, 0.0)))


def _subtract_root_means(x: Floats) -> Floats:
    """[root items, concepts] minus the mean of each root item, ignoring NaN."""
    sums = np.nansum(x, axis=1, keepdims=True)
    n = (~np.isnan(x)).sum(axis=1, keepdims=True)
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


def _abs_t(means: Floats, errors: Floats) -> Floats:
    """|mean| / error of [..., concepts]; infinite where the error is 0, 0 where the mean is."""
    with np.errstate(divide="ignore", invalid="ignore"):
        distances = np.abs(means)
        return np.where(distances <= ROUNDING, 0.0, distances / errors)


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

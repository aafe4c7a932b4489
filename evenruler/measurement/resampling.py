"""Resampling of the units of a study: bootstrap and jackknife intervals, and the sign-flip test.

The jackknife is for statistics for which the percentile bootstrap covers too little.
"""

import itertools
import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import SupportsFloat

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from evenruler.measurement.inputs import Floats, check_level

Rows = NDArray[np.intp]

# Indices drawn per batch: bounds memory, and is fixed so that the draws are reproducible.
_BATCH = 1_000_000


@dataclass(frozen=True)
class Interval:
    """A value with its confidence interval, all in the unit of the value."""

    value: float
    """The statistic of the whole sample; a percentile interval need not contain it."""
    low: float
    """Lower end; NaN where the interval is undefined."""
    high: float
    """Upper end; NaN where the interval is undefined."""

    @property
    def leaves_out_zero(self) -> bool:
        """Whether both ends are on one side of 0."""
        return self.low > 0 or self.high < 0


def bootstrap(
    statistic: Callable[..., SupportsFloat],
    *arrays: ArrayLike,
    clusters: ArrayLike | None = None,
    level: float = 0.95,
    n: int = 2000,
    seed: int,
) -> Interval:
    """Percentile bootstrap interval of `statistic(*arrays)`, by `scipy.stats.bootstrap`.

    The arrays are resampled together along their first axis, so that a row stays whole. The same
    arguments give the same interval. Numerical warnings (RuntimeWarning) that the statistic raises
    are silenced.

    Args:
        statistic: Takes the arrays, or as many rows of each, and returns one number. On rows where
            it is undefined (all equal, say) it returns NaN; what it raises is not caught.
        *arrays: One or more arrays of equal length along axis 0.
        clusters: One label per row. Given, whole clusters are drawn instead of rows, as many as
            there are: for rows that are not independent. A resample may then have more or fewer
            rows than the sample.
        level: Coverage of the interval, strictly between 0 and 1.
        n: Number of resamples.
        seed: Seed of the draws.

    Returns:
        The statistic of the whole sample and the percentiles of the resampled ones. Resamples on
        which the statistic is NaN are left out; where they are more than half, `low` and `high` are
        NaN.

    Raises:
        ValueError: Arrays or clusters differ in length, a cluster label is missing, there are fewer
            than two units to draw, or `level` or `n` is out of range.

    Source: Efron & Tibshirani (1993), An Introduction to the Bootstrap, chapter 13; for clusters
    Davison & Hinkley (1997), Bootstrap Methods and their Application, section 3.8.
    """
    from scipy import stats  # takes a second to import, and many commands resample nothing

    check_level(level)
    if n < 1:
        raise ValueError(f"n must be at least 1, got {n}")
    samples = [np.asarray(array) for array in arrays]
    lengths = {len(np.atleast_1d(sample)) for sample in samples}
    if len(lengths) != 1:
        raise ValueError(
            f"expected one or more arrays of equal length, got lengths {sorted(lengths)}"
        )
    rows = lengths.pop()
    members = None if clusters is None else _rows_by_label(clusters, rows)
    units = rows if members is None else len(members)
    if units < 2:
        raise ValueError(
            f"needs at least 2 {'rows' if members is None else 'clusters'} to draw, got {units}"
        )

    def of_drawn(drawn: Rows) -> float:
        """The statistic of a resample: of the rows, or of the clusters, with these indices."""
        chosen = drawn if members is None else np.concatenate([members[unit] for unit in drawn])
        return float(statistic(*(sample[chosen] for sample in samples)))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        value = float(statistic(*samples))
        resampled = stats.bootstrap(
            (np.arange(units),),
            of_drawn,
            n_resamples=n,
            batch=max(1, _BATCH // units),
            vectorized=False,
            method="percentile",
            rng=np.random.default_rng(seed),
        )
        every = np.asarray(resampled.bootstrap_distribution)
    defined = every[~np.isnan(every)]
    if 2 * defined.size < every.size:
        return Interval(value, math.nan, math.nan)
    tails = [(1 - level) / 2, (1 + level) / 2]
    low, high = np.quantile(defined, tails)
    return Interval(value, float(low), float(high))


def _rows_by_label(clusters: ArrayLike, rows: int) -> list[Rows]:
    """Row indices of each cluster, in order of first appearance, so that renaming clusters changes
    nothing.
    """
    labels = np.asarray(clusters)
    if labels.shape != (rows,):
        raise ValueError(
            f"expected one cluster label for each of {rows} rows, got shape {labels.shape}"
        )
    codes, distinct_labels = pd.factorize(labels)
    if (codes < 0).any():
        raise ValueError(f"the cluster label of row {(codes < 0).argmax()} is missing")
    return [np.flatnonzero(codes == code) for code in range(len(distinct_labels))]


FEWEST_UNITS = 5
"""Number of units below which there is no interval."""


@dataclass(frozen=True)
class Transformation:
    """A transformation under which a statistic is nearly normal, and its inverse."""

    there: Callable[[float], float]
    back: Callable[[float], float]


PLAIN = Transformation(float, float)
"""Identity: for means, slopes, differences."""


def _log_complement(x: float) -> float:
    """-log(1 - x): takes statistics below 1 to a scale without bounds; NaN from 1 on."""
    return -math.log1p(-x) if x < 1 else math.nan


def _exp_complement(y: float) -> float:
    """1 - exp(-y): the inverse of `_log_complement`."""
    return -math.expm1(-y)


def _fisher_z(r: float) -> float:
    """Inverse hyperbolic tangent of a correlation; NaN for -1 and 1."""
    return math.atanh(r) if abs(r) < 1 else math.nan


BELOW_ONE = Transformation(_log_complement, _exp_complement)
"""For statistics that are at most 1, such as alpha (Bonett 2002)."""

CORRELATION = Transformation(_fisher_z, math.tanh)
"""Fisher's z."""


def logit_transformation(lowest: float, highest: float) -> Transformation:
    """The logit of a value's position in a range, which keeps the interval inside the range."""
    width = highest - lowest

    def there(x: float) -> float:
        """The logit of a value's position in the range; NaN at its ends and beyond."""
        if not lowest < x < highest:
            return math.nan
        return math.log((x - lowest) / (highest - x))

    def back(y: float) -> float:
        """The value inside the range that has this logit."""
        return lowest + width / (1 + math.exp(-y))

    return Transformation(there, back)


SHARE = logit_transformation(0.0, 1.0)
"""For shares, between 0 and 1."""


def jackknife(
    statistic: Callable[..., SupportsFloat],
    *arrays: ArrayLike,
    scale: Transformation = PLAIN,
    level: float = 0.95,
) -> Interval:
    """A statistic of units with its jackknife t interval, symmetric on the given scale.

    Units are the rows of one or more arrays; the statistic is also called with one row left out of
    each. Ends are NaN below `FEWEST_UNITS` units, where the statistic is undefined without some
    unit, or where it is at a bound of its scale (an alpha of 1). ValueError: arrays differ in
    length, or `level` is out of range.
    Source: Tukey (1958); Miller (1974), The jackknife: a review, for scales.
    """
    check_level(level)
    samples = [np.asarray(array) for array in arrays]
    n = len(samples[0])
    if any(len(sample) != n for sample in samples):
        lengths = {len(sample) for sample in samples}
        raise ValueError(f"arrays of different lengths: {sorted(lengths)}")
    with np.errstate(all="ignore"):
        value = float(statistic(*samples))
        if n < FEWEST_UNITS:
            return Interval(value, math.nan, math.nan)
        without_one = []
        for unit in range(n):
            rest = [np.delete(sample, unit, axis=0) for sample in samples]
            without_one.append(scale.there(float(statistic(*rest))))
    low, high = jackknife_interval(scale.there(value), np.array(without_one), level)
    if math.isnan(low):
        return Interval(value, math.nan, math.nan)
    return Interval(value, scale.back(low), scale.back(high))


def jackknife_interval(value: float, without_one: Floats, level: float) -> tuple[float, float]:
    """Ends of the jackknife interval around a value, given the n leave-one-out values."""
    n = len(without_one)
    quantile = stdtrit(n - 1, 0.5 + level / 2)
    spread = without_one.std(ddof=0)
    half = float(quantile * spread * math.sqrt(n - 1))
    return value - half, value + half


DRAWS = 2000

_AT_ONCE = 500

_ROUNDING = 1e-9
"""Relative tolerance for sums taken in another order."""


def sign_flips(changes: ArrayLike, seed: int, draws: int = DRAWS) -> float:
    """Sign-flip test: p of the mean paired change under the null that before and after are
    exchangeable.

    `changes`: [units], or [units, classes], whose mean vector is compared by its length. All flips
    are enumerated for up to twelve units, else `draws` are sampled.
    Source: Fisher (1935), The design of experiments, section 21.
    """
    x = np.asarray(changes, dtype=np.float64)
    x = x[:, None] if x.ndim == 1 else x
    observed_length = _vector_length(x.sum(axis=0))
    flipped_lengths = np.concatenate(
        [_vector_length(signs @ x) for signs in _sign_batches(len(x), seed, draws)]
    )
    beyond = int((flipped_lengths >= observed_length * (1 - _ROUNDING)).sum())
    return (
        beyond / len(flipped_lengths)
        if 2 ** len(x) == len(flipped_lengths)
        else (1 + beyond) / (1 + len(flipped_lengths))
    )


def squared_shift(changes: ArrayLike) -> float:
    """Squared length of the mean change, corrected for noise of units: 0 on average where nothing
    changes.

    `changes`: [units, classes] of shares, at least two units. The U-statistic over pairs of units;
    docs/controls.md.
    """
    x = np.asarray(changes, dtype=np.float64)
    n = len(x)
    total = x.sum(axis=0)
    squares = (x**2).sum()
    return float((total @ total - squares) / (n * (n - 1)))


def _sign_batches(n: int, seed: int, draws: int) -> Iterator[Floats]:
    """Batches of signs [flips, n], each 1 or -1: all 2^n flips for up to twelve units, else `draws`
    random ones.
    """
    if n <= 12:
        yield np.array(list(itertools.product([1.0, -1.0], repeat=n)))
        return
    random = np.random.default_rng(seed)
    for begin in range(0, draws, _AT_ONCE):
        size = min(_AT_ONCE, draws - begin)
        yield random.choice([1.0, -1.0], size=(size, n))


def _vector_length(x: Floats) -> Floats:
    """Euclidean length along the last axis: [...] from [..., classes]."""
    lengths: Floats = np.linalg.norm(x, axis=-1)
    return lengths

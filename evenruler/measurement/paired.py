"""Before and after: paired differences, their size, and whether they are small enough to be none."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from evenruler.measurement.checks import check_level, constant_columns

SMALL_SHARE = 0.5
"""A mean difference within this many standard deviations of the values before counts as none (TOST)."""


@dataclass(frozen=True)
class Paired:
    """n units measured before and after; null where all units changed by the same amount."""

    n: int
    before_mean: float
    before_sd: float
    after_mean: float
    after_sd: float
    difference: float
    """Mean of after minus before."""
    low: float | None
    high: float | None
    t: float | None
    p: float | None
    """Of the paired t-test, two-sided."""
    dz: float | None
    """Cohen's d_z: mean over standard deviation of the differences."""
    p_equivalence: float | None
    """Of two one-sided tests that the mean difference lies within `SMALL_SHARE` SD of the values before."""


def paired(before: ArrayLike, after: ArrayLike, level: float = 0.95) -> Paired:
    """Compare the same units before and after.

    Args:
        before: [n] values.
        after: [n] values of the same units.
        level: Of the interval of the mean difference.

    Raises:
        ValueError: Fewer than two units, other shapes, or a value that is not a number.
    """
    check_level(level)
    x, y = np.asarray(before, dtype=np.float64), np.asarray(after, dtype=np.float64)
    if x.shape != y.shape or x.ndim != 1 or len(x) < 2:
        raise ValueError(f"expected two rows of at least two values, got {x.shape} and {y.shape}")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise ValueError("values must be finite")
    n, change = len(x), y - x
    described = (n, float(x.mean()), float(x.std(ddof=1)), float(y.mean()), float(y.std(ddof=1)), float(change.mean()))
    # Differences of rounding alone, seen beside the values themselves, are no spread.
    if constant_columns(np.column_stack([change])).any() or np.ptp(change) <= 1e-12 * max(np.abs(x).max(), 1e-300):
        return Paired(*described, None, None, None, None, None, None)
    test = stats.ttest_rel(y, x)
    interval = test.confidence_interval(level)
    bound = SMALL_SHARE * float(x.std(ddof=1))
    error = float(change.std(ddof=1)) / np.sqrt(n)
    below = stats.t.sf((change.mean() + bound) / error, n - 1)
    above = stats.t.cdf((change.mean() - bound) / error, n - 1)
    return Paired(
        *described,
        float(interval.low),
        float(interval.high),
        float(test.statistic),
        float(test.pvalue),
        float(change.mean() / change.std(ddof=1)),
        float(max(below, above)),
    )

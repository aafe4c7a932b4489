"""Input checks and small helpers that the statistics of this package share. Does not import
scipy.
"""

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

ALPHA, POWER = 0.05, 0.8
"""The largest p at which something is detected, which ranks among 19 reach and no more; and the
share of studies that detect what a study is said to detect.
"""

FEWEST_FOR_SPREAD = 5
"""Fewest placebos for an interval of their spread."""


@dataclass(frozen=True)
class Resampling:
    """Settings of intervals: coverage, number of resamples, seed."""

    level: float
    resamples: int
    seed: int


# A spread this small relative to the values is rounding error.
_ROUNDING = 1e-12


def as_items(x: ArrayLike) -> Floats:
    """Return `x` as a finite float64 matrix, observations x items, at least 2 x 2; else raise
    ValueError.
    """
    matrix = np.asarray(x, dtype=np.float64)
    if matrix.ndim != 2:
        raise ValueError(
            f"expected a matrix of observations x items, got {matrix.ndim} dimension(s)"
        )
    if matrix.shape[0] < 2:
        raise ValueError(f"needs at least 2 observations (rows), got {matrix.shape[0]}")
    if matrix.shape[1] < 2:
        raise ValueError(f"needs at least 2 items (columns), got {matrix.shape[1]}")
    if not np.isfinite(matrix).all():
        raise ValueError("values must be finite")
    return matrix


def check_level(level: float) -> None:
    """Raise ValueError unless `level`, the coverage of an interval, is strictly between 0 and 1."""
    if not 0 < level < 1:
        raise ValueError(f"level must be strictly between 0 and 1, got {level}")


def constant_columns(x: Floats) -> NDArray[np.bool_]:
    """For each column of `x`, whether it is constant up to rounding."""
    spread = np.ptp(x, axis=0)
    largest = np.abs(x).max(axis=0)
    constant: NDArray[np.bool_] = spread <= _ROUNDING * largest
    return constant


def constant_total(x: Floats) -> bool:
    """Whether the row sums of `x` are equal up to rounding."""
    spread = np.ptp(x.sum(axis=1))
    largest = np.abs(x).sum(axis=1).max()
    return bool(spread <= _ROUNDING * largest)


def correlation(x: ArrayLike, y: ArrayLike) -> float:
    """Pearson's r of paired values, [n] each, in [-1, 1]; NaN for fewer than two pairs or a
    constant input.
    """
    first = np.asarray(x, dtype=np.float64)
    second = np.asarray(y, dtype=np.float64)
    if len(first) < 2:
        return math.nan
    both = np.column_stack([first, second])
    if constant_columns(both).any():
        return math.nan
    a, b = first - first.mean(), second - second.mean()
    r = a @ b / math.sqrt((a @ a) * (b @ b))
    return float(np.clip(r, -1, 1))


def correlation_matrix(x: Floats) -> Floats:
    """Pearson correlations of the columns of `x`; NaN in the row and column of a constant one."""
    constant = constant_columns(x)
    with np.errstate(divide="ignore", invalid="ignore"):
        correlations: Floats = np.asarray(np.corrcoef(x, rowvar=False))
    correlations[constant, :] = np.nan
    correlations[:, constant] = np.nan
    return correlations


def wilson(share: float, n: int, level: float = 0.95) -> tuple[float, float]:
    """Return the ends, from 0 to 1, of Wilson's interval of a share of n; the share may be a mean
    over fits.

    Source: Wilson (1927). Written out, since statsmodels, with the same ends, takes a second to
    import.
    """
    z = NormalDist().inv_cdf((1 + level) / 2)
    divisor = 1 + z**2 / n
    middle = (share + z**2 / (2 * n)) / divisor
    share_variance = share * (1 - share) / n
    variance = share_variance + z**2 / (4 * n**2)
    half = z / divisor * math.sqrt(variance)
    # At the ends, nearly equal numbers are subtracted, whose last bits differ by machine.
    low = max(middle - half, 0.0) if share > 0 else 0.0
    high = min(middle + half, 1.0) if share < 1 else 1.0
    return low, high

"""How many things the items of an instrument measure."""

import numpy as np
from numpy.typing import ArrayLike

from evenruler.measurement.checks import Floats, as_items, constant_columns, correlation_matrix


def first_component_share(x: ArrayLike) -> float:
    """Share of variance of the first principal component of the item correlation matrix.

    Between 1/k (items uncorrelated) and 1 (one thing measured k times); NaN where an item is constant.

    Args:
        x: Observations x items.

    Raises:
        ValueError: Fewer than two items or two observations, or values that are not finite.
    """
    matrix = as_items(x)
    if constant_columns(matrix).any():
        return float("nan")
    return float(_eigenvalues(matrix)[0] / matrix.shape[1])


def parallel_analysis(x: ArrayLike, *, seed: int, resamples: int = 500, quantile: float = 0.95) -> int:
    """Horn's count of factors: leading eigenvalues that exceed those of noise of the same shape.

    Eigenvalues of the item correlation matrix are compared in order with the `quantile` of those of
    independent normal data; the count stops at the first that is not above, so 0 means no factor at all.

    Args:
        x: Observations x items.
        seed: Seed of the random data; the same arguments give the same count.
        resamples: Number of random data sets.
        quantile: How sure the comparison is to be, strictly between 0 and 1; Horn used the mean.

    Raises:
        ValueError: Fewer than two items or three observations, values that are not finite, a constant item,
            or `resamples` or `quantile` out of range.

    Source: Horn (1965), A rationale and test for the number of factors; Glorfeld (1995) for the quantile.
    """
    matrix = as_items(x, observations=3)
    if constant_columns(matrix).any():
        raise ValueError("an item is constant: its correlations are undefined")
    if resamples < 1:
        raise ValueError(f"resamples must be at least 1, got {resamples}")
    if not 0 < quantile < 1:
        raise ValueError(f"quantile must be strictly between 0 and 1, got {quantile}")
    rng = np.random.default_rng(seed)
    noise = [_eigenvalues(rng.standard_normal(matrix.shape)) for _ in range(resamples)]
    above = _eigenvalues(matrix) > np.quantile(noise, quantile, axis=0)
    return int(np.logical_and.accumulate(above).sum())


def _eigenvalues(x: Floats) -> Floats:
    """Eigenvalues of the correlation matrix of the columns, largest first."""
    return np.asarray(np.linalg.eigvalsh(correlation_matrix(x))[::-1], dtype=np.float64)

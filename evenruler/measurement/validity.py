"""How well a measure agrees with a criterion, and whether items of one scale go together and apart from others."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from evenruler.measurement.checks import Floats, as_items, check_level, constant_columns, correlation_matrix
from evenruler.measurement.resampling import CORRELATION, jackknife

FEWEST_PAIRS = 4
"""Pairs below which a correlation says nothing: its standard error 1/sqrt(n - 3) does not exist."""


@dataclass(frozen=True)
class Correlation:
    """A correlation coefficient with its test and its confidence interval."""

    value: float
    """The coefficient, in [-1, 1]; positive: high goes with high."""
    p: float
    """Two-sided p-value of no association."""
    n: int
    """Pairs."""
    low: float
    """Lower end of the interval."""
    high: float
    """Upper end of the interval."""


def pearson(x: ArrayLike, y: ArrayLike, level: float = 0.95) -> Correlation:
    """Pearson's r of paired values, with the interval of Fisher's z (standard error `1/sqrt(n-3)`).

    Raises:
        ValueError: Fewer than four pairs, lengths that differ, values that are not finite, an input that is
            constant (or is but for rounding), or a `level` outside (0, 1).

    Source: Fisher (1921), On the "probable error" of a coefficient of correlation; `scipy.stats.pearsonr`.
    """
    check_level(level)
    pairs = _as_pairs(x, y)
    if constant_columns(pairs).any():
        raise ValueError("an input is constant: its correlation is undefined")
    result = stats.pearsonr(pairs[:, 0], pairs[:, 1])
    interval = result.confidence_interval(level)
    ends = float(interval.low), float(interval.high)
    return Correlation(float(result.statistic), float(result.pvalue), len(pairs), *ends)


def jackknifed_r(x: ArrayLike, y: ArrayLike, level: float = 0.95) -> Correlation:
    """Pearson's r of paired values, with the jackknife's interval on the scale of Fisher's z.

    It covers what it should where tails are heavy, too; the interval of Fisher's z alone covers 86 of 100 there
    (docs/controls.md).

    Raises:
        ValueError: As `pearson`.

    Source: `evenruler.measurement.resampling`.
    """
    found = pearson(x, y)
    pairs = _as_pairs(x, y)
    ends = jackknife(lambda rows: correlation_matrix(rows)[0, 1], pairs, scale=CORRELATION, level=level)
    return replace(found, low=ends.low, high=ends.high)


def spearman(x: ArrayLike, y: ArrayLike, level: float = 0.95) -> Correlation:
    """Spearman's rho of paired values (ties: mean ranks), p by `scipy.stats.spearmanr`.

    The interval is Fisher's z with the standard error of Fieller et al., `sqrt(1.06/(n-3))`.

    Raises:
        ValueError: Fewer than four pairs, lengths that differ, values that are not finite, a constant input,
            or a `level` outside (0, 1).

    Source: Fieller, Hartley & Pearson (1957), Tests for rank correlation coefficients I.
    """
    check_level(level)
    pairs = _as_pairs(x, y)
    if (np.ptp(pairs, axis=0) == 0).any():
        raise ValueError("an input is constant: its correlation is undefined")
    result = stats.spearmanr(pairs[:, 0], pairs[:, 1])
    value, n = float(result.statistic), len(pairs)
    margin = stats.norm.ppf((1 + level) / 2) * np.sqrt(1.06 / (n - 3))
    with np.errstate(divide="ignore"):
        low, high = np.tanh(np.arctanh(value) + np.array([-margin, margin]))
    return Correlation(value, float(result.pvalue), n, float(low), float(high))


def _as_pairs(x: ArrayLike, y: ArrayLike) -> Floats:
    """Both inputs as the two columns of a finite float64 matrix, or ValueError."""
    first, second = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if first.ndim != 1 or first.shape != second.shape:
        raise ValueError(f"expected two vectors of equal length, got shapes {first.shape} and {second.shape}")
    if len(first) < FEWEST_PAIRS:
        raise ValueError(f"needs at least {FEWEST_PAIRS} pairs, got {len(first)}")
    pairs = np.column_stack([first, second])
    if not np.isfinite(pairs).all():
        raise ValueError("values must be finite")
    return pairs


FEWEST_OCCASIONS = 3
"""Below which changes of two items are alike or opposite, and nothing else."""


@dataclass(frozen=True)
class Shared:
    """What the changes of items have in common."""

    own: float
    """Correlation of the changes of two items of the scale, pooled over pairs; 0 where items change by themselves."""
    other: float
    """The same of an item of the scale and one of another scale."""
    p: float
    """One-sided: that the scale would move as far from the others if no scale moved by itself."""


def shared_changes(own: ArrayLike, others: Sequence[ArrayLike]) -> Shared:
    """Whether items of a scale change together, and apart from those of other scales, where the same is measured anew.

    The question of Campbell and Fiske (1959): measures of one trait should have more in common with each other than
    with measures of others. Occasions (fits of one model) stand where they have persons; few are enough, since all
    items are taken together.

    Args:
        own: [occasions, items] of the scale.
        others: The same of each other scale, on the same occasions.

    Returns:
        NaN where items do not change.

    Raises:
        ValueError: Fewer than three occasions or two items of the scale, no other scale, or other occasions.

    Source: p is of the interaction of person and trait of Kavanagh, MacKinney and Wolins (1971).
    """
    scales = [as_items(own), *(np.asarray(other, dtype=np.float64) for other in others)]
    occasions = len(scales[0])
    if occasions < FEWEST_OCCASIONS or len(scales) < 2 or any(len(scale) != occasions for scale in scales):
        raise ValueError(f"expected at least {FEWEST_OCCASIONS} occasions, the same of at least two scales")
    # A mean of equal numbers may be off them by rounding, which is no change.
    changes = [np.where(constant_columns(scale), 0.0, scale - scale.mean(axis=0)) for scale in scales]
    here, there = changes[0], np.hstack(changes[1:])
    n, m, steps = here.shape[1], there.shape[1], occasions - 1
    variances = [float((of**2).sum(axis=0).mean()) for of in (here, there)]
    within = across = p = math.nan
    if min(variances) > 0:
        covariance = (float((here.sum(axis=1) ** 2).sum()) / n - variances[0]) / (n - 1)
        within = covariance / variances[0]
        across = float(here.mean(axis=1) @ there.mean(axis=1)) / math.sqrt(variances[0] * variances[1])
    # F: the distance of the scale's mean from the others' beside what single items do within their scales.
    rest = sum(float(((scale - scale.mean(axis=1, keepdims=True)) ** 2).sum()) for scale in changes)
    if rest > 0:
        apart = n * m / (n + m) * float(((here.mean(axis=1) - there.mean(axis=1)) ** 2).sum())
        freedom = (n + m - len(changes)) * steps
        p = float(stats.f.sf(apart / steps / (rest / freedom), steps, freedom))
    return Shared(within, across, p)

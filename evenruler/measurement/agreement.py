"""How well several raters agree about the same targets: intraclass correlations of Shrout and Fleiss (1979)."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from evenruler.measurement.checks import as_items, check_level, constant_total
from evenruler.measurement.resampling import Interval


@dataclass(frozen=True)
class _Squares:
    """Mean squares of n targets x k raters."""

    targets: float
    raters: float
    rest: float
    n: int
    k: int


def _squares(x: ArrayLike) -> _Squares:
    matrix = as_items(x)
    n, k = matrix.shape
    of_targets, of_raters = matrix.mean(axis=1), matrix.mean(axis=0)
    rest = matrix - of_targets[:, None] - of_raters + matrix.mean()
    return _Squares(
        float(of_targets.var(ddof=1) * k),
        float(of_raters.var(ddof=1) * n),
        float((rest**2).sum() / ((n - 1) * (k - 1))),
        n,
        k,
    )


def icc_agreement(x: ArrayLike, level: float = 0.95) -> Interval:
    """ICC(2,1): how far one rater's values are what another's would be, level and all; raters are drawn.

    Args:
        x: [targets, raters].
        level: Of the interval.

    Returns:
        At most 1, higher is more alike; 0 or less where raters agree no better than by chance. All NaN where the
        values do not differ, the ends also where raters agree wholly.

    Raises:
        ValueError: Fewer than two targets or raters, or values that are not finite.

    Source: Shrout and Fleiss (1979), Intraclass correlations, with their interval (Satterthwaite's degrees of freedom).
    """
    check_level(level)
    if constant_total(np.asarray(x, dtype=np.float64).reshape(-1, 1)):
        return Interval(math.nan, math.nan, math.nan)
    squares = _squares(x)
    between, raters, rest, n, k = squares.targets, squares.raters, squares.rest, squares.n, squares.k
    value = (between - rest) / (between + (k - 1) * rest + k * (raters - rest) / n)
    if rest <= 0:
        return Interval(value, math.nan, math.nan)
    ratio, common = raters / rest, n * (1 + (k - 1) * value) - k * value
    freedom = (k - 1) * (n - 1) * (k * value * ratio + common) ** 2
    freedom /= (n - 1) * (k * value * ratio) ** 2 + common**2
    upper, lower = (stats.f.ppf(0.5 + level / 2, *of) for of in ((n - 1, freedom), (freedom, n - 1)))
    others = k * raters + (k * n - k - n) * rest
    low = n * (between - upper * rest) / (upper * others + n * between)
    high = n * (lower * between - rest) / (others + n * lower * between)
    return Interval(float(value), float(low), float(high))


def icc_of_mean(x: ArrayLike, level: float = 0.95) -> Interval:
    """ICC(3,k): how well the mean over these k raters orders the targets; what all targets share does not count.

    The same as Cronbach's alpha of targets x raters. Arguments, result and errors as of `icc_agreement`.

    Source: Shrout and Fleiss (1979), Intraclass correlations; the interval is exact for normal data.
    """
    check_level(level)
    squares = _squares(x)
    if constant_total(np.asarray(x, dtype=np.float64)):
        return Interval(math.nan, math.nan, math.nan)
    value = (squares.targets - squares.rest) / squares.targets
    if squares.rest <= 0:
        return Interval(value, math.nan, math.nan)
    freedom = squares.n - 1, (squares.n - 1) * (squares.k - 1)
    ratio = squares.targets / squares.rest
    low = 1 - stats.f.ppf(0.5 + level / 2, *freedom) / ratio
    high = 1 - 1 / (ratio * stats.f.ppf(0.5 + level / 2, *reversed(freedom)))
    return Interval(float(value), float(low), float(high))


def mean_spearman(x: ArrayLike) -> float:
    """Mean Spearman correlation over all pairs of raters; NaN where the values of one are all equal.

    It has no interval: pairs share raters.

    Args:
        x: [targets, raters].
    """
    ranks = np.apply_along_axis(stats.rankdata, 0, as_items(x))
    if (np.ptp(ranks, axis=0) == 0).any():
        return math.nan
    found = np.corrcoef(ranks, rowvar=False)
    return float(found[np.triu_indices(len(found), k=1)].mean())

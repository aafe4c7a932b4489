"""How far something that stands before prompts moves scores, beside what placebos of like length do."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from evenruler.measurement.checks import Floats, check_level
from evenruler.measurement.resampling import Interval

FEWEST_UNITS, FEWEST_PLACEBOS = 3, 5


@dataclass(frozen=True)
class Shift:
    """What one prefix does to the scores of n units."""

    level: float
    """Mean signed change, in the unit of the scores."""
    level_in_sd: float
    """The same in standard deviations of the units' scores without it; NaN where these do not differ."""
    reordering: float
    """Standard deviation of the changes about their mean, in the unit of the scores."""
    rank_agreement: float
    """Spearman between the scores without and with it; NaN where either are all equal."""
    n: int


def shift(bare: ArrayLike, after: ArrayLike) -> Shift:
    """Compare scores of the same units without and with a prefix.

    Args:
        bare: [n] scores as they are.
        after: [n] scores of the same units after the prefix.

    Raises:
        ValueError: Fewer than three units, other shapes, or a score that is not a number.
    """
    x, y = (np.asarray(scores, dtype=np.float64) for scores in (bare, after))
    if x.shape != y.shape or x.ndim != 1 or len(x) < FEWEST_UNITS:
        raise ValueError(f"expected two rows of at least {FEWEST_UNITS} scores, got {x.shape} and {y.shape}")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise ValueError("scores must be finite")
    change = y - x
    spread = float(x.std(ddof=1))
    differ = np.ptp(x) > 0 and np.ptp(y) > 0
    return Shift(
        level=float(change.mean()),
        level_in_sd=float(change.mean()) / spread if spread > 0 else math.nan,
        reordering=float(change.std(ddof=1)),
        rank_agreement=float(stats.spearmanr(x, y).statistic) if differ else math.nan,
        n=len(x),
    )


def of_placebos(values: ArrayLike, level: float = 0.95) -> Interval:
    """The root mean square of what placebos do: the size to expect of a prefix without content.

    Args:
        values: [k] level shifts, or reorderings, of k placebo prefixes.
        level: Of the interval, in which prefixes are the units.

    Returns:
        The root mean square, with the interval that the chi-square of normal shifts around 0 gives.

    Raises:
        ValueError: Fewer than five placebos, or a value that is not a number.
    """
    check_level(level)
    x: Floats = np.asarray(values, dtype=np.float64)
    if x.ndim != 1 or len(x) < FEWEST_PLACEBOS or not np.isfinite(x).all():
        raise ValueError(f"expected numbers of at least {FEWEST_PLACEBOS} placebos, got {x.shape}")
    square, k = float((x**2).sum()), len(x)
    low, high = (math.sqrt(square / stats.chi2.ppf(tail, k)) for tail in (0.5 + level / 2, 0.5 - level / 2))
    return Interval(math.sqrt(square / k), low, high)

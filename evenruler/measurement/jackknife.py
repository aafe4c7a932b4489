"""Intervals that leave one unit out at a time: for statistics whose percentile bootstrap covers too little."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import SupportsFloat

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from evenruler.measurement.checks import Floats, check_level
from evenruler.measurement.resampling import Interval

FEWEST_UNITS = 5
"""Below which there is no interval."""


@dataclass(frozen=True)
class Scale:
    """A way to write a statistic in which it is nearly normal, and the way back."""

    there: Callable[[float], float]
    back: Callable[[float], float]


PLAIN = Scale(float, float)
"""Means, slopes, differences."""

POSITIVE = Scale(lambda x: math.log(x) if x > 0 else math.nan, math.exp)
"""What is above 0, as a standard deviation."""

BELOW_ONE = Scale(lambda x: -math.log1p(-x) if x < 1 else math.nan, lambda y: -math.expm1(-y))
"""What is at most 1, as alpha (Bonett 2002)."""

CORRELATION = Scale(lambda x: math.atanh(x) if abs(x) < 1 else math.nan, math.tanh)
"""Fisher's z."""


def within(lowest: float, highest: float) -> Scale:
    """The logit of where a value stands in a range, in which its interval stays."""
    width = highest - lowest
    return Scale(
        lambda x: math.log((x - lowest) / (highest - x)) if lowest < x < highest else math.nan,
        lambda y: lowest + width / (1 + math.exp(-y)),
    )


SHARE = within(0.0, 1.0)
"""What lies between 0 and 1."""


def jackknife(
    statistic: Callable[..., SupportsFloat], *arrays: ArrayLike, scale: Scale = PLAIN, level: float = 0.95
) -> Interval:
    """A statistic of units with an interval of the jackknife and t.

    Args:
        statistic: Takes the arrays, or all rows of each but one, and returns one number.
        *arrays: One or more of equal length along axis 0, whose rows are the units.
        scale: In which the interval is symmetric.
        level: Of the interval.

    Returns:
        The statistic of all units. Ends are NaN below `FEWEST_UNITS` units, where the statistic is undefined without
        one of them, or where it stands at the end of its scale (an alpha of 1).

    Raises:
        ValueError: Arrays differ in length, or `level` is out of range.

    Source: Tukey (1958); Miller (1974), The jackknife: a review, for scales.
    """
    check_level(level)
    samples = [np.asarray(array) for array in arrays]
    n = len(samples[0])
    if any(len(sample) != n for sample in samples):
        raise ValueError(f"arrays of different lengths: {sorted({len(sample) for sample in samples})}")
    with np.errstate(all="ignore"):
        value = float(statistic(*samples))
        if n < FEWEST_UNITS:
            return Interval(value, math.nan, math.nan)
        without_one = [
            scale.there(float(statistic(*(np.delete(sample, unit, axis=0) for sample in samples)))) for unit in range(n)
        ]
    low, high = of_left_out(scale.there(value), np.array(without_one), level)
    if math.isnan(low):
        return Interval(value, math.nan, math.nan)
    return Interval(value, scale.back(low), scale.back(high))


def of_left_out(value: float, without_one: Floats, level: float) -> tuple[float, float]:
    """Ends of the interval around a value, given the n values without one unit each."""
    n = len(without_one)
    half = float(stats.t.ppf(0.5 + level / 2, n - 1) * without_one.std(ddof=0) * math.sqrt(n - 1))
    return value - half, value + half

"""What a cue does beside what placebos in its place do: one case against a small sample of controls."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from evenruler.measurement.checks import Floats, check_level
from evenruler.measurement.shifts import FEWEST_PLACEBOS

Units = NDArray[np.intp]

ROUNDING = 1e-9
"""Errors this small are none."""


@dataclass(frozen=True)
class Difference:
    """A statistic with the cue less that with a placebo, mean over placebos."""

    value: float
    low: float
    high: float
    p: float
    """One-sided: that a placebo in the place of the cue would give as much; NaN where there is no interval."""


def cue_minus_placebos(
    differences: Sequence[Callable[[Units], float]], units: Sequence[Units], level: float = 0.95
) -> Difference:
    """Compare a cue with placebos, where both the wording and the units could have been others.

    The cue is taken for one more wording: the variance of the mean difference over k placebos is (1 + 1/k) times that
    between them, with k - 1 degrees of freedom (Crawford and Howell 1998). To it comes what units add beyond that: the
    jackknife's variance of the mean difference, less that part of it which is in the placebos' spread already. The
    degrees of freedom of the sum are Satterthwaite's.

    Args:
        differences: By placebo, what the statistic is with the cue less what it is with the placebo, of some units.
        units: By placebo, the units that have a value with both.
        level: Of the interval.

    Returns:
        The mean difference; ends and p are NaN below `FEWEST_PLACEBOS` placebos, or where a statistic is undefined.

    Raises:
        ValueError: There is no placebo, or one has no units.
    """
    check_level(level)
    if not differences or any(not len(own) for own in units):
        raise ValueError("expected placebos, each with units")
    found = np.array([of(own) for of, own in zip(differences, units, strict=True)])
    value, k = float(found.mean()), len(found)
    if k < FEWEST_PLACEBOS:
        return Difference(value, math.nan, math.nan, math.nan)
    error, df = _error(found, _left_out(differences, units))
    if math.isnan(error):
        return Difference(value, math.nan, math.nan, math.nan)
    if error < ROUNDING:
        return Difference(value, value, value, 0.0 if value > ROUNDING else 1.0)
    half = float(stats.t.ppf(0.5 + level / 2, df)) * error
    return Difference(value, value - half, value + half, float(stats.t.sf(value / error, df)))


def _left_out(differences: Sequence[Callable[[Units], float]], units: Sequence[Units]) -> Floats:
    """[units, placebos] the difference to each placebo without one unit; all of them where it has not that unit."""
    every = np.unique(np.concatenate(units))
    with np.errstate(all="ignore"):
        return np.array([[of(own[own != unit]) for of, own in zip(differences, units, strict=True)] for unit in every])


def _error(found: Floats, left_out: Floats) -> tuple[float, float]:
    """Standard error of the mean difference, and its degrees of freedom; NaN where a value is undefined."""
    n, k = left_out.shape
    between = float(found.var(ddof=1)) * (1 + 1 / k)
    deviations = left_out - left_out.mean(axis=0)
    means = deviations.mean(axis=1)
    of_units = (n - 1) / n * float((means**2).sum())
    # What units do to single placebos is part of the spread between these.
    shared = (n - 1) / n * float(((deviations - means[:, None]) ** 2).sum()) / (k - 1) * (1 + 1 / k)
    if not math.isfinite(between + of_units + shared):
        return math.nan, math.nan
    if of_units <= shared:
        return math.sqrt(between), k - 1
    total = between + of_units - shared
    df = total**2 / (between**2 / (k - 1) + of_units**2 / (n - 1) + shared**2 / ((n - 1) * (k - 1)))
    return math.sqrt(total), df

"""The statistics that `units.parquet` names: what a figure is, of the values of its units."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from evenruler.measurement.checks import correlation
from evenruler.measurement.resampling import CORRELATION, FEWEST_UNITS, PLAIN, POSITIVE, Scale


@dataclass(frozen=True)
class Statistic:
    """One number of the values of units, and how two of them are held against each other."""

    of: Callable[..., float]
    """Of values, [n], and for some of what stands beside them, [n]; NaN where it is undefined."""
    beside: bool
    """Whether it takes what stands beside."""
    scale: Scale
    """On which the difference of two is nearly normal."""
    contrast: str
    """What that difference is called, after `back`."""
    back: Callable[[float], float]
    """From the difference on the scale to what people read."""
    least: float
    """It is never below."""
    most: float
    """It is never above."""
    fewest: int = FEWEST_UNITS
    """Units below which two of them are not compared."""


def mean(value: ArrayLike) -> float:
    """Arithmetic mean, in the unit of the values; NaN without any."""
    x = np.asarray(value, dtype=np.float64)
    return float(x.mean()) if len(x) else math.nan


def sd(value: ArrayLike) -> float:
    """Standard deviation with n - 1, in the unit of the values; NaN below two."""
    x = np.asarray(value, dtype=np.float64)
    return float(x.std(ddof=1)) if len(x) > 1 else math.nan


def _same(difference: float) -> float:
    return difference


STATISTICS: Final[Mapping[str, Statistic]] = {
    "mean": Statistic(mean, False, PLAIN, "difference", _same, -math.inf, math.inf),
    "sd": Statistic(sd, False, POSITIVE, "ratio", math.exp, 0, math.inf),
    "correlation": Statistic(correlation, True, CORRELATION, "difference of Fisher's z", _same, -1, 1, fewest=8),
}
"""By the name in `units.parquet`. Two standard deviations are compared as a ratio and two correlations by Fisher's z:
intervals of their plain differences cover too little, and those of correlations of five units too much
(docs/results.md)."""


def used(statistic: str, units: pd.DataFrame) -> pd.DataFrame:
    """The units that a statistic is of: those without `beside` are in no correlation."""
    return units[units["beside"].notna()] if STATISTICS[statistic].beside else units


def of_units(statistic: str, units: pd.DataFrame) -> float:
    """A statistic of the units of one figure.

    Args:
        statistic: One of `STATISTICS`.
        units: Rows of `units.parquet`, of one part, model and figure.
    """
    there = used(statistic, units)
    arrays = [there["value"], there["beside"]] if STATISTICS[statistic].beside else [there["value"]]
    return STATISTICS[statistic].of(*arrays)

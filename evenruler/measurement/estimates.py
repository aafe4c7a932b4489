"""Statistics of one set of units as figures, with their intervals."""

from collections.abc import Callable

import numpy as np

from evenruler.measurement.checks import Floats, constant_columns
from evenruler.measurement.figures import UNDEFINED, Figure, finite
from evenruler.measurement.resampling import Transformation, jackknife
from evenruler.measurement.validity import FEWEST_PAIRS, Correlation


def jackknifed(
    figure: str,
    statistic: Callable[[Floats], float],
    x: Floats,
    scale: Transformation,
    level: float,
    unit: str,
) -> Figure:
    """A statistic of x, [units, ...], as a figure with its jackknife interval over units where that
    is defined.
    """
    interval = jackknife(statistic, x, scale=scale, level=level)
    value = finite(interval.value)
    if value is None:
        return Figure(figure, None, len(x), unit, reason=UNDEFINED)
    return Figure(figure, value, len(x), unit, finite(interval.low), finite(interval.high))


def correlated(
    figure: str,
    correlate: Callable[..., Correlation],
    x: Floats,
    y: Floats,
    level: float,
    unit: str,
) -> Figure:
    """A correlation of n pairs as a figure; null below `FEWEST_PAIRS` pairs, or for a constant
    input.
    """
    n = len(x)
    if n < FEWEST_PAIRS:
        return Figure(
            figure, None, n, unit, reason=f"fewer than {FEWEST_PAIRS} {unit} to correlate"
        )
    if constant_columns(np.column_stack([x, y])).any():
        return Figure(figure, None, n, unit, reason="all values are equal")
    result = correlate(x, y, level)
    return Figure(figure, result.value, n, unit, finite(result.low), finite(result.high), result.p)

"""Statistics of one set of units as figures, with their intervals."""

from collections.abc import Callable

import numpy as np

from evenruler.measurement.figures import UNDEFINED, Figure, finite_or_none
from evenruler.measurement.inputs import Floats, constant_columns
from evenruler.measurement.resampling import Transformation, jackknife
from evenruler.measurement.validity import FEWEST_PAIRS, Correlation


def jackknife_figure(
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
    value = finite_or_none(interval.value)
    if value is None:
        return Figure(figure, None, len(x), unit, reason=UNDEFINED)
    return Figure(
        figure, value, len(x), unit, finite_or_none(interval.low), finite_or_none(interval.high)
    )


def correlation_figure(
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
    return Figure(
        figure,
        result.value,
        n,
        unit,
        finite_or_none(result.low),
        finite_or_none(result.high),
        result.p,
    )

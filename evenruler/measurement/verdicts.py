"""What may be said of a figure: one enumeration, and one function that chooses from it.

A figure stands beside its control, what it would be if nothing were there. The verdict follows from that comparison,
never from the figure alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from statsmodels.stats.multitest import multipletests

ALPHA = 0.05
"""Adjusted p below which a figure is beyond its control."""


class Verdict(StrEnum):
    """In the order in which they are tried."""

    UNFIT = "instrument unfit"
    """On this model the instrument fails a bar of its own; what it says is printed, and is no finding."""
    LITTLE = "too little to tell"
    WITHIN = "not beyond control"
    BEYOND = "beyond control"


@dataclass(frozen=True)
class Comparison:
    """A figure and its control."""

    value: float | None
    """None where it could not be computed."""
    control: float | None
    """The same figure where nothing is, as the median of a null, or that of placebos."""
    low: float | None
    """Of the interval of the value minus the control."""
    high: float | None
    p: float | None
    """Against the control, adjusted over the confirmatory figures of the instrument on the model."""
    n: int
    """Units that the figure rests on."""
    least: int
    """Units below which nothing is said."""
    unit: str
    """What units are, in the plural."""
    bound: float
    """A difference within it, either way, is none; in the unit of the value."""
    signed: bool = False
    """Whether a value below the control can be beyond it; a spread, a distance or a range cannot."""
    unfit: str | None = None
    """The bar that the instrument fails on this model, in words; None where it fails none."""


def judged(found: Comparison) -> tuple[Verdict, str]:
    """The verdict of a figure, and the reason for it in one sentence.

    Raises:
        ValueError: The bound is no positive number.
    """
    if not found.bound > 0:
        raise ValueError(f"the bound is {found.bound}, expected a positive number")
    if found.unfit is not None:
        return Verdict.UNFIT, f"On this model the instrument fails a bar of its own: {found.unfit}."
    if found.n < found.least:
        return Verdict.LITTLE, f"It rests on {found.n} {found.unit}, of at least {found.least}."
    if found.value is None or found.control is None:
        what = "figure" if found.value is None else "control"
        return Verdict.LITTLE, f"There is no {what} to compare."
    if found.low is not None and found.high is not None and -found.bound < found.low and found.high < found.bound:
        return Verdict.WITHIN, f"The interval of the difference to the control lies within {found.bound:.3g} of 0."
    smaller = not found.signed and found.value <= found.control
    if found.p is not None and found.p < ALPHA and not smaller:
        return Verdict.BEYOND, f"The control comes out like this with an adjusted p of {found.p:.2g}."
    if smaller:
        return Verdict.LITTLE, "The control is as large, and the interval of the difference reaches beyond the bound."
    said = "no p could be computed" if found.p is None else f"the adjusted p is {found.p:.2g}"
    return Verdict.LITTLE, f"A difference beyond the bound is neither shown nor excluded: {said}."


def adjusted(p: Sequence[float | None]) -> list[float | None]:
    """P by Holm's method, over those that there are.

    Args:
        p: Of the confirmatory figures of one instrument on one model; None where there is none.

    Returns:
        The adjusted ones, in the same order.

    Source: Holm (1979), by statsmodels.
    """
    known = [place for place, value in enumerate(p) if value is not None]
    found: list[float | None] = [None] * len(p)
    if known:
        corrected = multipletests(np.array([p[place] for place in known], dtype=np.float64), method="holm")[1]
        for place, value in zip(known, corrected, strict=True):
            found[place] = float(value)
    return found

"""What may be said of a figure: one enumeration, and one function that chooses from it.

A figure stands beside its control, what it would be if nothing were there. The verdict follows from that comparison,
never from the figure alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal

import numpy as np
import pandas as pd

from evenruler.measurement.figures import Figure

ALPHA = 0.05
"""Adjusted p below which a figure is beyond its control."""


class Verdict(StrEnum):
    """In the order in which they are tried, but for the second, which also takes what is left."""

    UNFIT = "instrument unfit"
    """On this model the instrument fails a bar of its own; what it says is printed, and is no finding."""
    LITTLE = "too little to tell"
    WITHIN = "not beyond control"
    BEYOND = "beyond control"

    @property
    def mark(self) -> Literal["good", "told", "weak", "poor"]:
        """How it is marked: as a finding, none, what cannot be told, or no measurement."""
        marks: tuple[Literal["poor", "weak", "told", "good"], ...] = ("poor", "weak", "told", "good")
        return marks[list(Verdict).index(self)]


@dataclass(frozen=True)
class Fitness:
    """Whether an instrument measures on a model at all."""

    unfit: str | None = None
    """The bar that it fails, in words; None where it fails none."""
    doubt: str | None = None
    """Why it cannot be told, in words."""


def judge(found: Sequence[tuple[Figure, Fitness]], least: int | Mapping[str, int]) -> list[Figure]:
    """Figures with their verdicts; those without a bound are descriptive and stay as they are.

    Args:
        found: Of one instrument on one model, each with the fitness of what it was measured with: over them p is
            adjusted (Holm), so that another model never changes a verdict.
        least: Units below which nothing is said; by unit where figures count several.

    Returns:
        The figures in their order; confirmatory ones with `p_adjusted`, `verdict` and `why`.

    Raises:
        ValueError: A bound is no positive number.

    Source: Holm (1979), by statsmodels.
    """
    confirmatory = [figure for figure, _ in found if figure.bound is not None]
    corrected = iter(holm([figure.p for figure in confirmatory if figure.p is not None]))
    judged = []
    for figure, fitness in found:
        if figure.bound is not None:
            figure = replace(figure, p_adjusted=None if figure.p is None else next(corrected))
            verdict, why = _verdict(figure, fitness, least if isinstance(least, int) else least[figure.unit])
            figure = replace(figure, verdict=str(verdict), why=why)
        judged.append(figure)
    return judged


def marked(figure: Figure, fitness: Fitness) -> Figure:
    """A descriptive figure, with the one verdict that it can have: of what does not measure on a model at all.

    Args:
        figure: Any.
        fitness: Of what it was measured with.
    """
    if fitness.unfit is None:
        return figure
    return replace(figure, verdict=str(Verdict.UNFIT), why=_why_unfit(fitness.unfit))


def marked_rows(figures: pd.DataFrame, unfit: str | None) -> pd.DataFrame:
    """Descriptive figures as rows, marked as by `marked`.

    Args:
        figures: With the columns `verdict` and `why`.
        unfit: The bar that is failed, in words; None where none is.
    """
    return figures if unfit is None else figures.assign(verdict=str(Verdict.UNFIT), why=_why_unfit(unfit))


def _why_unfit(bar: str) -> str:
    return f"On this model the instrument fails a bar of its own: {bar}."


def _verdict(figure: Figure, fitness: Fitness, least: int) -> tuple[Verdict, str]:
    """The verdict of a confirmatory figure, its p adjusted, and the reason in one sentence."""
    bound, p = figure.bound, figure.p_adjusted
    if bound is None or not bound > 0:
        raise ValueError(f"the bound of {figure.figure} is {bound}, expected a positive number")
    if fitness.unfit is not None:
        return Verdict.UNFIT, _why_unfit(fitness.unfit)
    if figure.n < least:
        return Verdict.LITTLE, f"It rests on {figure.n} {figure.unit}, of at least {least}."
    if fitness.doubt is not None:
        return Verdict.LITTLE, f"It cannot be told on this model: {fitness.doubt}."
    if figure.value is None or figure.control is None:
        what = "figure" if figure.value is None else "control"
        return Verdict.LITTLE, f"There is no {what} to compare."
    low, high = figure.difference_low, figure.difference_high
    told = "" if low is None or high is None else f" [{low:.2g}, {high:.2g}]"
    if low is not None and high is not None and -bound < low and high < bound:
        return Verdict.WITHIN, f"The difference to the control{told} is surely smaller than {bound:.2g}."
    if abs(figure.value) <= figure.control:
        return Verdict.LITTLE, f"The control is as large, but the difference{told} may be more than {bound:.2g}."
    if p is not None and p < ALPHA:
        return Verdict.BEYOND, f"If nothing were there, it would be as large with a probability of {p:.2g} (adjusted)."
    said = "no p could be computed" if p is None else f"p is {p:.2g} (adjusted)"
    return Verdict.LITTLE, f"A difference to the control{told} is neither shown nor excluded: {said}."


def holm(p: Sequence[float]) -> list[float]:
    """P adjusted for their number, in their order.

    Five lines of ours: statsmodels has the same, but no light install brings it, and each of its calls collects garbage
    for a tenth of a second.

    Source: Holm (1979), A simple sequentially rejective multiple test procedure.
    """
    order = np.argsort(p, kind="stable")
    steps = np.maximum.accumulate(np.asarray(p, dtype=np.float64)[order] * np.arange(len(p), 0, -1))
    found = np.empty(len(p))
    found[order] = np.minimum(steps, 1)
    return [float(value) for value in found]

"""What may be said of a headline figure: four p, two corrections for several figures, and one of six verdicts.

Four questions are asked of every figure: would it be there if labels meant nothing (null), does the same manipulation
without the construct do it too (placebo), how much of it is noise, and could the design have seen anything at all. All
verdicts but `inconclusive` and `invalid on this model` are assertions with an error of .05 (docs/controls.md).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Literal

import numpy as np
import pandas as pd

from evenruler.measurement.facets import Estimate, Lists, Paired
from evenruler.measurement.figures import Confirmed, Figure, finite
from evenruler.measurement.resampling import Interval

UNTOLD = "On this model it cannot be told"
"""How the reason begins of a headline that is in doubt: neither it nor a difference of two is asserted."""

ALPHA = 0.05
"""Adjusted p below which something is asserted."""

Mark = Literal["good", "weak", "poor", "told"]
"""A traffic light; `told`: there is nothing to judge by."""


class Verdict(StrEnum):
    """What is said of a headline figure."""

    INVALID = "invalid on this model"
    """The instrument misses a bar of its own: what it says is printed, and is no finding."""
    INCONCLUSIVE = "inconclusive"
    """Too few units, wordings or placebos; or neither an effect nor its absence is shown."""
    NO_EFFECT = "no effect"
    """The part of it that placebos lack is surely smaller than what is worth naming."""
    NOT_SPECIFIC = "not specific"
    """Placebos, which lack the construct, do as much, or at least half."""
    EFFECT = "effect"

    @property
    def mark(self) -> Mark:
        """How it is marked: as shown, as denied, as open, or as no measurement."""
        return _MARKS[self]


_MARKS: Mapping[Verdict, Mark] = {
    Verdict.EFFECT: "good",
    Verdict.NOT_SPECIFIC: "told",
    Verdict.NO_EFFECT: "told",
    Verdict.INCONCLUSIVE: "weak",
    Verdict.INVALID: "poor",
}

ORDER = tuple(_MARKS)
"""Of verdicts in sentences."""

ASSERTED = (Verdict.EFFECT, Verdict.NOT_SPECIFIC)
"""Verdicts that say that something is there, and so which way."""


def in_words(record: Mapping[str, Any], says: Sequence[str] | None, between: str = "") -> str:
    """What a headline says of a model: which way it goes where something is there, and why its verdict.

    `record` has `value`, `verdict` and `why`. `says`: what a value above 0, and one below, says, a clause each; None
    where nobody wrote it. `between` stands between the two, as its numbers.
    """
    value, which = record.get("value"), ""
    if says is not None and value is not None and record.get("verdict") in ASSERTED:
        which = says[value < 0]
    return ". ".join(filter(None, ("; ".join(filter(None, (which, between))), record.get("why"))))


@dataclass(frozen=True)
class Fitness:
    """Whether an instrument measures on a model at all."""

    unfit: str | None = None
    """The bar that it fails, in words; None where it fails none."""
    doubt: str | None = None
    """Why it cannot be told, in words."""


@dataclass(frozen=True)
class PValues:
    """The three assertions that can be made of a figure, before they are corrected for several figures."""

    effect: float
    """That there is an effect, and more of it than placebos have."""
    none: float
    """That the specific part is smaller than what is worth naming."""
    unspecific: float
    """That there is an effect, and placebos do as much, or half at least."""

    @property
    def denial(self) -> float:
        """The smaller of the two that deny."""
        return min(self.none, self.unspecific)


@dataclass(frozen=True)
class Confirmatory:
    """A headline figure with all that a verdict on it takes: one signed number, in a unit that people know.

    `confirmatory` makes one of an estimate and its placebos; a family whose nulls are others fills it itself.
    """

    figure: str
    unit: str
    """Of its first random facet, which `n` counts."""
    levels: Mapping[str, int]
    """Of each random facet."""
    effect: Interval | None
    """None where nothing could be computed; `lacking` says why then."""
    smallest: float
    """Effect worth naming, in its unit; never in standard deviations of what is measured."""
    p_null: float | None = None
    """Two-sided, where labels are dealt anew as if the construct meant nothing."""
    placebo: float | None = None
    """What placebos do: their mean, or where their sign means nothing, its typical size."""
    specific: Interval | None = None
    """The part of the effect that placebos lack; None without placebos."""
    detectable: float | None = None
    """The smallest specific effect that this design finds in 80 of 100 cases."""
    p: PValues | None = None
    """None where nothing can be asserted: there is no placebo."""
    lacking: str | None = None
    """What the design has too little of, in words; None where it has enough."""
    note: str | None = None
    """A sentence that goes with any verdict: who stands out, say."""

    def __post_init__(self) -> None:
        if not self.smallest > 0:
            raise ValueError(f"the smallest effect of {self.figure} is {self.smallest}, expected a positive number")
        if self.unit not in self.levels:
            raise ValueError(f"{self.figure} counts {self.unit}, and has no such facet")
        if self.effect is not None and self.p_null is None:
            raise ValueError(f"{self.figure} has no null: deal its labels anew")
        if self.p is None and self.lacking is None:
            raise ValueError(f"{self.figure} has no placebo, and does not say why")


def confirmatory(
    figure: str,
    unit: str,
    levels: Mapping[str, int],
    effect: Estimate,
    p_null: float,
    placebo: Paired | Lists | None,
    smallest: float,
    lacking: str | None = None,
) -> Confirmatory:
    """A headline figure of an estimate over the facets that could have been others, its null and its placebos.

    `placebo` is None where the design has none; all else as in `Confirmatory`. Source: docs/controls.md.
    """
    if placebo is None:
        lacking = lacking or "no placebo"
        return Confirmatory(figure, unit, levels, effect.interval(), smallest, p_null, lacking=lacking)
    specific = placebo.specific(effect)
    typical = math.copysign(placebo.typical(), effect.value) if isinstance(placebo, Lists) else placebo.mean
    p = p_of(effect, p_null, placebo, smallest)
    ends = (effect.interval(), smallest, p_null, typical, specific.interval(), specific.detectable(), p, lacking)
    return Confirmatory(figure, unit, levels, *ends)


def p_of(effect: Estimate, p_null: float, placebo: Paired | Lists, smallest: float) -> PValues:
    """The three assertions that can be made of an estimate with placebos; arguments as of `confirmatory`.

    Source: Berger (1982), the intersection-union test, which needs no correction; Schuirmann (1987).
    """
    specific = placebo.specific(effect)
    same_sign = effect.value * specific.value > 0
    within, all_within = specific.p_within(smallest), effect.p_within(smallest)
    p_half = placebo.p_half(effect)
    return PValues(
        max(p_null, specific.p()) if same_sign else 1.0,
        max(within, all_within) if p_null < ALPHA else within,
        max(p_null, min(1.0 if all_within < ALPHA else within, p_half)),
    )


def judge(figures: Sequence[tuple[Confirmatory | Figure, Fitness]]) -> list[Figure]:
    """Figures with their verdicts; descriptive ones stay as they are.

    Args:
        figures: Of one instrument on one model, each with the fitness of what it was measured with. p is corrected over
            the confirmatory ones (Holm), apart for effects and for denials, since a figure whose effect is shown can
            still be denied falsely. Another model never changes a verdict.

    Returns:
        The figures in their order; for each confirmatory one a `Confirmed`.

    Source: docs/controls.md, with simulated errors; Holm (1979).
    """
    tested = [figure.p for figure, _ in figures if isinstance(figure, Confirmatory) and figure.p is not None]
    effects, denials = iter(holm([p.effect for p in tested])), iter(holm([p.denial for p in tested]))
    found: list[Figure] = []
    for figure, fitness in figures:
        if isinstance(figure, Figure):
            found.append(figure)
            continue
        p = figure.p
        if p is not None:
            effect, denial = next(effects), next(denials)
            times = denial / p.denial if p.denial else 1.0
            p = PValues(effect, min(1.0, p.none * times), min(1.0, p.unspecific * times))
        verdict, why = _verdict(figure, fitness, p)
        found.append(_confirmed(figure, p, verdict, f"{why} {figure.note}" if figure.note else why))
    return found


_UNDEFINED = Interval(math.nan, math.nan, math.nan)


def _confirmed(figure: Confirmatory, p: PValues | None, verdict: Verdict, why: str) -> Confirmed:
    effect, specific = figure.effect or _UNDEFINED, figure.specific or _UNDEFINED
    one = {"stimuli": "stimulus"}
    counted = [f"{n} {own if n != 1 else one.get(own, own.removesuffix('s'))}" for own, n in figure.levels.items()]
    return Confirmed(
        figure.figure,
        finite(effect.value),
        figure.levels[figure.unit],
        figure.unit,
        finite(effect.low),
        finite(effect.high),
        figure.p_null,
        reason=figure.lacking if figure.effect is None else None,
        verdict=str(verdict),
        why=why,
        placebo=figure.placebo,
        specific=finite(specific.value),
        specific_low=finite(specific.low),
        specific_high=finite(specific.high),
        smallest=figure.smallest,
        detectable=figure.detectable,
        p_effect=None if p is None else p.effect,
        p_denial=None if p is None else p.denial,
        levels=", ".join(counted),
    )


def marked(figure: Figure, fitness: Fitness) -> Figure:
    """A descriptive figure, with the one verdict that it can have: of what does not measure on a model at all."""
    if fitness.unfit is None:
        return figure
    return replace(figure, verdict=str(Verdict.INVALID), why=_why_unfit(fitness.unfit))


def marked_rows(figures: pd.DataFrame, unfit: str | None) -> pd.DataFrame:
    """Descriptive figures as rows, marked as by `marked`; `unfit`: the bar that is failed, in words."""
    return figures if unfit is None else figures.assign(verdict=str(Verdict.INVALID), why=_why_unfit(unfit))


def _why_unfit(bar: str) -> str:
    return f"On this model the instrument fails a bar of its own: {bar}."


def _verdict(figure: Confirmatory, fitness: Fitness, p: PValues | None) -> tuple[Verdict, str]:
    """Of what does not measure at all, or where nobody can tell; else by the corrected p."""
    if fitness.unfit is not None:
        return Verdict.INVALID, _why_unfit(fitness.unfit)
    if figure.lacking:
        return Verdict.INCONCLUSIVE, f"The design has {figure.lacking}."
    if fitness.doubt:
        return Verdict.INCONCLUSIVE, f"{UNTOLD}: {fitness.doubt}."
    specific, bound = figure.specific, figure.smallest
    assert p is not None  # what lacks a placebo is open
    told = "" if specific is None else f" [{specific.low:.2g}, {specific.high:.2g}]"
    it_is = "It is" if figure.placebo is None else "Beyond placebos it is"
    if p.none < ALPHA:
        return Verdict.NO_EFFECT, f"{it_is}{told}, surely below {bound:.2g}."
    if p.unspecific < ALPHA:
        return Verdict.NOT_SPECIFIC, "Placebos, which lack the construct, do as much, or at least half."
    if p.effect < ALPHA:
        sure = specific is not None and (specific.low > bound or specific.high < -bound)
        return Verdict.EFFECT, f"{it_is}{told}{f', surely above {bound:.2g}' if sure else ''}."
    seen = "" if figure.detectable is None else f"; {figure.detectable:.2g} would be found in 80 of 100"
    return Verdict.INCONCLUSIVE, f"{it_is}{told}, neither shown nor excluded{seen}."


def holm(p: Sequence[float]) -> list[float]:
    """P adjusted for their number, in their order (Holm 1979, A simple sequentially rejective multiple test procedure).

    Five lines of ours: statsmodels has the same, but no light install brings it, and each of its calls collects garbage
    for a tenth of a second.
    """
    order = np.argsort(p, kind="stable")
    steps = np.maximum.accumulate(np.asarray(p, dtype=np.float64)[order] * np.arange(len(p), 0, -1))
    found = np.empty(len(p))
    found[order] = np.minimum(steps, 1)
    return [float(value) for value in found]


def of_planted(found: Sequence[Mapping[str, Any]]) -> str:
    """What an instrument reads of planted associations, a sentence; empty where it was not held against its own.

    `found`: what was recorded of its headlines (docs/weights.md): `plant`, `own`, `verdict`, `low` and `high` of the
    sensitivity, and `threshold`, a dose in nats or None.
    """
    own = [one for one in found if one["own"]]
    plants = ", ".join(sorted({one["plant"] for one in own}))
    fit = [one for one in own if one["verdict"] != Verdict.INVALID]
    if not fit:
        return (
            f"What it reads of planted associations ({plants}) is not known: it fails a bar of its own." if own else ""
        )
    if doses := [one["threshold"] for one in fit if one["threshold"]]:
        what = f"It finds {min(doses):g} nats that were planted"
    elif any((one["low"] or 0) > 0 for one in fit):
        what = "It follows what was planted, and by less than it can tell of one model"
    elif any((one["high"] or 0) < 0 for one in fit):
        what = "It reads what was planted the other way round"
    else:
        what = "It finds none of what was planted"
    others = sorted({one["plant"] for one in found if not one["own"] and one["verdict"] == Verdict.EFFECT})
    beside = f"; it also follows what is not its own ({', '.join(others)})" if others else ""
    return f"{what} ({plants}){beside}."

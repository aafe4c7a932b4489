"""Verdicts on headline figures: four p-values, two Holm corrections over figures, and one of five
verdicts.

Every figure is checked on four questions: would it occur if labels meant nothing (null), does the
same manipulation without the construct have the same effect (placebo), how large is the noise, and
could the design detect an effect at all. All verdicts but `inconclusive` and `invalid on this
model` are assertions with an error rate of .05 (docs/controls.md).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from evenruler.measurement.facets import Estimate, Lists, Paired
from evenruler.measurement.figures import UNTOLD, Confirmed, Figure, Verdict, finite
from evenruler.measurement.resampling import Interval

ALPHA = 0.05
"""Adjusted p below which something is asserted."""


@dataclass(frozen=True)
class Fitness:
    """Whether an instrument is valid on a model."""

    unfit: str | None = None
    """The validity check that it fails, in words; None where it fails none."""
    doubt: str | None = None
    """Why validity cannot be determined, in words."""


@dataclass(frozen=True)
class PValues:
    """P-values of the three assertions about a figure, before correction over several figures."""

    effect: float
    """Of the assertion that there is an effect beyond that of placebos."""
    none: float
    """Of the assertion that the specific part is smaller than the smallest relevant effect."""
    unspecific: float
    """Of the assertion that there is an effect, and that placebos have at least half of it."""

    @property
    def denial(self) -> float:
        """The smaller p of the two denials, `none` and `unspecific`."""
        return min(self.none, self.unspecific)


@dataclass(frozen=True)
class Confirmatory:
    """A headline figure with all inputs to its verdict: one signed number, in an interpretable
    unit.

    `confirmatory` builds one from an estimate and its placebos; families with other nulls fill it
    in themselves.
    """

    figure: str
    unit: str
    """Name of the first random facet, whose levels `n` counts."""
    levels: Mapping[str, int]
    """Number of levels of each random facet."""
    effect: Interval | None
    """None where it could not be computed; `lacking` then says why."""
    smallest: float
    """Smallest relevant effect, in the unit of the figure; never in standard deviations of the
    scores."""
    p_null: float | None = None
    """Two-sided p of the permutation null, in which labels carry no meaning."""
    placebo: float | None = None
    """Effect of placebos: their mean, or, where their sign has no meaning, their typical size."""
    specific: Interval | None = None
    """The effect beyond that of placebos; None without placebos."""
    detectable: float | None = None
    """Minimum detectable specific effect, at 80 % power."""
    p: PValues | None = None
    """None where nothing can be asserted for lack of a placebo."""
    lacking: str | None = None
    """What the design lacks, in words; None where it lacks nothing."""
    note: str | None = None
    """A sentence added to any verdict, for example who stands out."""

    def __post_init__(self) -> None:
        if not self.smallest > 0:
            raise ValueError(
                f"the smallest effect of {self.figure} is {self.smallest}, expected a positive "
                "number"
            )
        if self.unit not in self.levels:
            raise ValueError(f"{self.figure} counts {self.unit}, and has no such facet")
        if self.effect is not None and self.p_null is None:
            raise ValueError(f"{self.figure} has no null: permute its labels")
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
    """Build a headline figure from an estimate over random facets, its permutation p and its
    placebos.

    `placebo` is None where the design has none; other arguments as in `Confirmatory`.
    Source: docs/formulas.md.
    """
    if placebo is None:
        lacking = lacking or "no placebo"
        return Confirmatory(
            figure, unit, levels, effect.interval(), smallest, p_null, lacking=lacking
        )
    specific = placebo.specific(effect)
    typical = (
        math.copysign(placebo.typical(), effect.value)
        if isinstance(placebo, Lists)
        else placebo.mean
    )
    p = p_of(effect, p_null, placebo, smallest)
    ends = (
        effect.interval(),
        smallest,
        p_null,
        typical,
        specific.interval(),
        specific.detectable(),
        p,
        lacking,
    )
    return Confirmatory(figure, unit, levels, *ends)


def p_of(effect: Estimate, p_null: float, placebo: Paired | Lists, smallest: float) -> PValues:
    """P-values of the three assertions about an estimate with placebos; arguments as in
    `confirmatory`.

    Source: Berger (1982), the intersection-union test, which needs no correction; Schuirmann
    (1987).
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
    """Give confirmatory figures their verdicts; descriptive ones are returned unchanged.

    Args:
        figures: Of one instrument on one model, each with the fitness of its instrument. P-values
            are Holm-adjusted over the confirmatory figures, separately for effects and for denials,
            since a figure whose effect is shown can still be denied falsely. Other models never
            change a verdict.

    Returns:
        The figures in the given order, with a `Confirmed` for each confirmatory one.

    Source: docs/formulas.md, with simulated errors in docs/tested.md; Holm (1979).
    """
    tested = [
        figure.p
        for figure, _ in figures
        if isinstance(figure, Confirmatory) and figure.p is not None
    ]
    effects, denials = (
        iter(holm([p.effect for p in tested])),
        iter(holm([p.denial for p in tested])),
    )
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
    counted = [
        f"{n} {own if n != 1 else one.get(own, own.removesuffix('s'))}"
        for own, n in figure.levels.items()
    ]
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
    """A descriptive figure with the only verdict it can have: `invalid`, where the instrument is
    unfit on a model.
    """
    if fitness.unfit is None:
        return figure
    return replace(figure, verdict=str(Verdict.INVALID), why=_why_unfit(fitness.unfit))


def marked_rows(figures: pd.DataFrame, unfit: str | None) -> pd.DataFrame:
    """Descriptive figures as rows, marked as by `marked`; `unfit`: the failed validity check, in
    words.
    """
    return (
        figures
        if unfit is None
        else figures.assign(verdict=str(Verdict.INVALID), why=_why_unfit(unfit))
    )


def _why_unfit(bar: str) -> str:
    return f"Its validity check fails: {bar}."


def _verdict(figure: Confirmatory, fitness: Fitness, p: PValues | None) -> tuple[Verdict, str]:
    """The verdict and its reason: from fitness and design first, else from the Holm-adjusted
    p-values.
    """
    if fitness.unfit is not None:
        return Verdict.INVALID, _why_unfit(fitness.unfit)
    if figure.lacking:
        return Verdict.INCONCLUSIVE, f"No verdict is possible: {figure.lacking}."
    if fitness.doubt:
        return Verdict.INCONCLUSIVE, f"{UNTOLD}: {fitness.doubt}."
    specific, bound = figure.specific, f"the smallest relevant effect, {figure.smallest:.2g}"
    assert p is not None  # without a placebo `lacking` is set
    it = "It" if figure.placebo is None else "The part beyond placebos"
    if p.none < ALPHA:
        return Verdict.NO_EFFECT, f"{it} is smaller than {bound}."
    if p.unspecific < ALPHA:
        return (
            Verdict.NOT_SPECIFIC,
            "Placebos, which lack the construct, have at least half of the effect.",
        )
    if p.effect < ALPHA:
        sure = specific is not None and (
            specific.low > figure.smallest or specific.high < -figure.smallest
        )
        return (
            Verdict.EFFECT,
            f"{it} {'is larger' if sure else 'is not 0, but may be smaller'} than {bound}.",
        )
    seen = (
        f"; the minimum detectable effect (80% power) is {figure.detectable:.2g}"
        if figure.detectable
        else ""
    )
    return Verdict.INCONCLUSIVE, f"Neither an effect nor its absence is shown{seen}."


def holm(p: Sequence[float]) -> list[float]:
    """Holm-adjusted p-values, in the given order (Holm 1979, A simple sequentially rejective
    multiple test procedure).

    Not from statsmodels, which light installs do not bring, and whose calls collect garbage for a
    tenth of a second each.
    """
    order = np.argsort(p, kind="stable")
    steps = np.maximum.accumulate(np.asarray(p, dtype=np.float64)[order] * np.arange(len(p), 0, -1))
    found = np.empty(len(p))
    found[order] = np.minimum(steps, 1)
    return [float(value) for value in found]

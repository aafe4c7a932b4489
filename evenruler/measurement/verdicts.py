"""Verdicts on headline figures: four p-values, two Holm corrections over figures, and one of five
verdicts.

Every figure is checked on four questions: would it occur if labels meant nothing (null), does the
same manipulation without the construct have the same effect (placebo), how large is the noise, and
could the design detect an effect at all. All verdicts but `inconclusive` and `invalid on this
model` are assertions with an error rate of .05 (docs/controls.md).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from evenruler.measurement.facets import Estimate, PairedPlacebos, PlaceboLists
from evenruler.measurement.figures import UNTOLD, Figure, HeadlineFigure, Verdict, finite_or_none
from evenruler.measurement.resampling import Interval

ALPHA = 0.05
"""Adjusted p below which something is asserted."""


@dataclass(frozen=True)
class ValidityCheck:
    """Whether an instrument is valid on a model."""

    failure: str | None = None
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
class HeadlineTest:
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
    dimensions: Mapping[str, str] = field(default_factory=dict)
    """As in `Figure`."""

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


def build_headline_test(
    figure: str,
    unit: str,
    levels: Mapping[str, int],
    effect: Estimate,
    p_null: float,
    placebo: PairedPlacebos | PlaceboLists | None,
    smallest: float,
    lacking: str | None = None,
) -> HeadlineTest:
    """Build a headline figure from an estimate over random facets, its permutation p and its
    placebos.

    `placebo` is None where the design has none; other arguments as in `HeadlineTest`.
    Source: docs/formulas.md.
    """
    if placebo is None:
        lacking = lacking or "no placebo"
        return HeadlineTest(
            figure, unit, levels, effect.interval(), smallest, p_null, lacking=lacking
        )
    specific = placebo.specific(effect)
    typical = (
        math.copysign(placebo.typical(), effect.value)
        if isinstance(placebo, PlaceboLists)
        else placebo.mean
    )
    p = assertion_p_values(effect, p_null, placebo, smallest)
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
    return HeadlineTest(figure, unit, levels, *ends)


def assertion_p_values(
    effect: Estimate, p_null: float, placebo: PairedPlacebos | PlaceboLists, smallest: float
) -> PValues:
    """P-values of the three assertions about an estimate with placebos; arguments as in
    `confirmatory`.

    Source: Berger (1982), the intersection-union test, which needs no correction; Schuirmann
    (1987).
    """
    specific = placebo.specific(effect)
    same_sign = effect.value * specific.value > 0
    within, all_within = specific.p_within(smallest), effect.p_within(smallest)
    p_half = placebo.p_half(effect)
    p_effect = max(p_null, specific.p()) if same_sign else 1.0
    p_none = max(within, all_within) if p_null < ALPHA else within
    p_not_specific = min(1.0 if all_within < ALPHA else within, p_half)
    return PValues(p_effect, p_none, max(p_null, p_not_specific))


def judge(figures: Sequence[tuple[HeadlineTest | Figure, ValidityCheck]]) -> list[Figure]:
    """Give confirmatory figures their verdicts; descriptive ones are returned unchanged.

    Args:
        figures: Of one instrument on one model, each with the validity of its instrument. P-values
            are Holm-adjusted over the confirmatory figures, separately for effects and for denials,
            since a figure whose effect is shown can still be denied falsely. Other models never
            change a verdict.

    Returns:
        The figures in the given order, with a `HeadlineFigure` for each confirmatory one.

    Source: docs/formulas.md, with simulated errors in docs/tested.md; Holm (1979).
    """
    tested = [
        figure.p
        for figure, _ in figures
        if isinstance(figure, HeadlineTest) and figure.p is not None
    ]
    effects = iter(holm([p.effect for p in tested]))
    denials = iter(holm([p.denial for p in tested]))
    judged_figures: list[Figure] = []
    for figure, validity in figures:
        if isinstance(figure, Figure):
            judged_figures.append(figure)
            continue
        p = figure.p
        if p is not None:
            effect, denial = next(effects), next(denials)
            times = denial / p.denial if p.denial else 1.0
            none = min(1.0, p.none * times)
            unspecific = min(1.0, p.unspecific * times)
            p = PValues(effect, none, unspecific)
        verdict, why = _decide_verdict(figure, validity, p)
        if figure.note:
            why = f"{why} {figure.note}"
        judged_figures.append(_headline_figure(figure, p, verdict, why))
    return judged_figures


_UNDEFINED = Interval(math.nan, math.nan, math.nan)


def _headline_figure(
    figure: HeadlineTest, p: PValues | None, verdict: Verdict, why: str
) -> HeadlineFigure:
    effect, specific = figure.effect or _UNDEFINED, figure.specific or _UNDEFINED
    singular_by_plural = {"stimuli": "stimulus"}
    counted: list[str] = []
    for facet, n in figure.levels.items():
        singular = singular_by_plural.get(facet, facet.removesuffix("s"))
        counted.append(f"{n} {singular if n == 1 else facet}")
    return HeadlineFigure(
        figure.figure,
        finite_or_none(effect.value),
        figure.levels[figure.unit],
        figure.unit,
        finite_or_none(effect.low),
        finite_or_none(effect.high),
        figure.p_null,
        reason=figure.lacking if figure.effect is None else None,
        verdict=str(verdict),
        why=why,
        placebo=figure.placebo,
        specific=finite_or_none(specific.value),
        specific_low=finite_or_none(specific.low),
        specific_high=finite_or_none(specific.high),
        smallest=figure.smallest,
        detectable=figure.detectable,
        p_effect=None if p is None else p.effect,
        p_denial=None if p is None else p.denial,
        levels=", ".join(counted),
        dimensions=figure.dimensions,
    )


def mark_invalid(figure: Figure, validity: ValidityCheck) -> Figure:
    """A descriptive figure with the only verdict it can have: `invalid`, where the instrument is
    unfit on a model.
    """
    if validity.failure is None:
        return figure
    return replace(figure, verdict=str(Verdict.INVALID), why=_why_unfit(validity.failure))


def marked_rows(figures: pd.DataFrame, unfit: str | None) -> pd.DataFrame:
    """Descriptive figures as rows, marked as by `marked`; `unfit`: the failed validity check, in
    words.
    """
    return (
        figures
        if unfit is None
        else figures.assign(verdict=str(Verdict.INVALID), why=_why_unfit(unfit))
    )


def _why_unfit(failure: str) -> str:
    return f"Its validity check fails: {failure}."


def _decide_verdict(
    figure: HeadlineTest, validity: ValidityCheck, p: PValues | None
) -> tuple[Verdict, str]:
    """The verdict and its reason: from validity and design first, else from the Holm-adjusted
    p-values.
    """
    if validity.failure is not None:
        return Verdict.INVALID, _why_unfit(validity.failure)
    if figure.lacking:
        return Verdict.INCONCLUSIVE, f"No verdict is possible: {figure.lacking}."
    if validity.doubt:
        return Verdict.INCONCLUSIVE, f"{UNTOLD}: {validity.doubt}."
    specific = figure.specific
    bound = f"the smallest relevant effect, {figure.smallest:.2g}"
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
        size = "is larger" if sure else "is not 0, but may be smaller"
        return Verdict.EFFECT, f"{it} {size} than {bound}."
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
    sorted_p = np.asarray(p, dtype=np.float64)[order]
    n_left = np.arange(len(p), 0, -1)
    steps = np.maximum.accumulate(sorted_p * n_left)
    adjusted_p = np.empty(len(p))
    adjusted_p[order] = np.minimum(steps, 1)
    return [float(value) for value in adjusted_p]

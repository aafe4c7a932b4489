"""What may be said of a confirmatory figure: four p, two corrections for several figures, and one of six verdicts.

Four questions are asked of every figure: would it be there if labels meant nothing (null), does the same manipulation
without the construct do it too (placebo), how much of it is noise, and could the design have seen anything at all. All
verdicts but `inconclusive` and `invalid on this model` are assertions with an error of .05 (docs/controls.md).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from evenruler.measurement.verdicts import ALPHA, Fitness, holm
from tests.designs.facets import Estimate, Lists, Paired


class Verdict(StrEnum):
    """What is said of a confirmatory figure."""

    INVALID = "invalid on this model"
    INCONCLUSIVE = "inconclusive"
    NO_EFFECT = "no effect"
    NOT_SPECIFIC = "not specific"
    EFFECT = "effect"


@dataclass(frozen=True)
class Confirmatory:
    """A figure with all that a verdict on it takes.

    It is one signed number, linear in scores, in a unit that people know.
    """

    figure: str
    unit: str
    """That the number is in."""
    effect: Estimate
    """Over the facets that could have been others."""
    p_null: float
    """Two-sided, where labels are dealt anew as if the construct meant nothing."""
    placebo: Paired | Lists | None
    """None where the design has none."""
    smallest: float
    """Effect worth naming, in its unit; never in standard deviations of what is measured."""
    levels: Mapping[str, int] = field(default_factory=dict)
    """Of each random facet."""
    lacking: str | None = None
    """What the design has too little of, in words; None where it has enough."""

    def __post_init__(self) -> None:
        """Refuse a bound that bounds nothing."""
        if not self.smallest > 0:
            raise ValueError(f"the smallest effect of {self.figure} is {self.smallest}, expected a positive number")

    @property
    def specific(self) -> Estimate | None:
        """The part of the effect that placebos lack."""
        return None if self.placebo is None else self.placebo.specific(self.effect)


@dataclass(frozen=True)
class PValues:
    """The p of a figure before they are corrected for several figures."""

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


def p_of(figure: Confirmatory) -> PValues:
    """The three assertions that can be made of a figure with a placebo.

    Raises:
        ValueError: The figure has no placebo.

    Source: Berger (1982) for the intersection-union test, which needs no correction; Schuirmann (1987).
    """
    specific, placebo, effect, bound = figure.specific, figure.placebo, figure.effect, figure.smallest
    if specific is None or placebo is None:
        raise ValueError(f"{figure.figure} has no placebo")
    same_sign = effect.value * specific.value > 0
    within, all_within = specific.p_within(bound), effect.p_within(bound)
    p_half = placebo.p_half(effect)
    return PValues(
        max(figure.p_null, specific.p()) if same_sign else 1.0,
        max(within, all_within) if figure.p_null < ALPHA else within,
        max(figure.p_null, min(1.0 if all_within < ALPHA else within, p_half)),
    )


@dataclass(frozen=True)
class Judged:
    """A figure with its verdict."""

    of: Confirmatory
    verdict: Verdict
    why: str
    """In one sentence."""
    p_effect: float | None = None
    """Corrected; None where nothing was tested."""
    p_denial: float | None = None

    @property
    def detectable(self) -> float | None:
        """The smallest specific effect that this design finds in 80 of 100 cases."""
        specific = self.of.specific
        return None if specific is None else specific.detectable()


def judged(figures: Sequence[Confirmatory], fitness: Fitness) -> list[Judged]:
    """Verdicts on the figures of one instrument on one model.

    Args:
        figures: All that are confirmatory: p is corrected over them (Holm), apart for effects and for denials, since a
            figure whose effect is shown can still be denied falsely. Another model never changes a verdict.
        fitness: Of the instrument on the model.

    Source: docs/controls.md, with simulated errors; Holm (1979).
    """
    tested = {at: p_of(figure) for at, figure in enumerate(figures) if figure.placebo is not None}
    effects = dict(zip(tested, holm([own.effect for own in tested.values()]), strict=True))
    denials = dict(zip(tested, holm([own.denial for own in tested.values()]), strict=True))
    found = []
    for at, figure in enumerate(figures):
        if at not in tested:
            verdict, why = _unfit(fitness) or (
                Verdict.INCONCLUSIVE,
                f"The design has {figure.lacking or 'no placebo'}.",
            )
            found.append(Judged(figure, verdict, why))
            continue
        own = tested[at]
        times = denials[at] / own.denial if own.denial else 1.0
        corrected = PValues(effects[at], min(1.0, own.none * times), min(1.0, own.unspecific * times))
        verdict, why = _unfit(fitness) or _open(fitness, figure) or _verdict(figure, corrected)
        found.append(Judged(figure, verdict, why, corrected.effect, corrected.denial))
    return found


def _unfit(fitness: Fitness) -> tuple[Verdict, str] | None:
    if fitness.unfit is None:
        return None
    return Verdict.INVALID, f"On this model the instrument fails a bar of its own: {fitness.unfit}."


def _open(fitness: Fitness, figure: Confirmatory) -> tuple[Verdict, str] | None:
    reason = figure.lacking and f"the design has {figure.lacking}"
    reason = reason or (fitness.doubt and f"on this model it cannot be told: {fitness.doubt}")
    return (Verdict.INCONCLUSIVE, f"{reason[0].upper()}{reason[1:]}.") if reason else None


def _verdict(figure: Confirmatory, p: PValues) -> tuple[Verdict, str]:
    """Of a figure that can have any, by its corrected p."""
    specific, bound = figure.specific, figure.smallest
    assert specific is not None  # p_of has refused it
    span = specific.interval()
    told = f"[{span.low:.2g}, {span.high:.2g}]"
    if p.none < ALPHA:
        return Verdict.NO_EFFECT, f"Beyond placebos it is {told}: surely below {bound:.2g}."
    if p.unspecific < ALPHA:
        return Verdict.NOT_SPECIFIC, "Placebos, which lack the construct, do as much, or at least half."
    if p.effect < ALPHA:
        sure = f", surely above {bound:.2g}" if span.low > bound or span.high < -bound else ""
        return Verdict.EFFECT, f"Beyond placebos it is {told}{sure}; if nothing were there, p would be {p.effect:.2g}."
    seen = f"{specific.detectable():.2g} would be found in 80 of 100"
    return Verdict.INCONCLUSIVE, f"Beyond placebos it is {told}; {seen}."

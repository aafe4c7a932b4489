"""Verdicts on headline figures: five words, of which each asserts one claim (docs/controls.md).

`detected`: a randomisation of the design's own labels gives p of at most .05, and the 95% interval
over all random facets leaves out 0. Both are needed: a randomisation alone is wrong where wordings
scatter, and an interval alone where units are alike. `below`: the interval lies within the bound,
and the study's positive control reaches the bound on this model. Nothing else is asserted.

A verdict rests on one figure of one model: no correction over figures, no other model, no other
instrument changes it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pandas as pd

from evenruler.measurement.figures import UNKNOWN, Figure, HeadlineFigure, Verdict, finite_or_none
from evenruler.measurement.inputs import ALPHA
from evenruler.measurement.parts import (
    HeadlineParts,
    correct_over_parts,
    describe_parts,
    effect_text,
    p_text,
    words_by_part,
)
from evenruler.measurement.resampling import Interval


@dataclass(frozen=True)
class ValidityCheck:
    """Whether an instrument is valid on a model."""

    failure: str | None = None
    """The validity check that it fails, in words; None where it fails none."""
    doubt: str | None = None
    """Why validity cannot be determined, in words."""


@dataclass(frozen=True)
class PositiveControl:
    """The figure of a design whose answer is known, asked in the same study: it must be positive.

    Source: the assay sensitivity of ICH E10, without which absence may not be stated.
    """

    name: str
    """What it asks, in words: "brides and monks"."""
    effect: Interval
    """In the unit of the headline, signed so that the right answer is positive."""
    p: float
    """Of the same test as the headline's."""

    @property
    def is_detected(self) -> bool:
        """Whether the model gives the known answer, beyond error."""
        return self.p <= ALPHA and self.effect.low > 0

    def reaches(self, bound: float) -> bool:
        """Whether it is detected, and as large as a bound at least."""
        return self.is_detected and self.effect.value >= bound


@dataclass(frozen=True)
class ReferenceComparison:
    """A headline among the same figures of a reference set; printed, and never part of a
    verdict.
    """

    reference_set: str
    """Its name."""
    alternatives: int
    """How many alternatives the headline is compared with."""
    percentile: Interval
    """Share of alternatives that are nearer to 0, in percent, with its 95% interval over the
    reference set's own units (themes, not words)."""
    same_test: float | None = None
    """Share of alternatives that the same test detects, from 0 to 1; None where it was not
    tried."""


@dataclass(frozen=True)
class HeadlineTest:
    """A headline figure with all that its verdict rests on: one signed number, in a unit that
    people know.
    """

    figure: str
    unit: str
    """Name of the first facet, whose levels `n` counts."""
    facets: Mapping[str, int]
    """Number of levels of each facet."""
    effect: Interval | None
    """The value with its 95% interval over all random facets; None where it cannot be computed:
    `no_verdict` then says why."""
    bound: float
    """X of `below X`, in the unit of the figure; declared before anything is asked."""
    p: float | None = None
    """Of the randomisation of the design's own labels, two-sided."""
    null: str | None = None
    """The randomisation in words, with its numbers."""
    no_null: str | None = None
    """Why nothing can be detected, in words: the design has no randomisation that keeps what makes
    its units alike."""
    no_below: str | None = None
    """Why nothing can be below the bound, in words: the study would not detect effects of its
    size."""
    no_verdict: str | None = None
    """Why the figure is only described: fewer levels than declared, selected on this model, or no
    sign."""
    control: PositiveControl | None = None
    """None where none was asked of this model; then nothing is `below`."""
    compared: ReferenceComparison | None = None
    detects: float | None = None
    """The effect that is detected in 8 of 10 such studies."""
    note: str | None = None
    """A sentence added to any verdict, for example who stands out."""
    parts: HeadlineParts | None = None
    """Its parts, which the verdict is about, too; None where it has none. Then `p` is corrected
    over them (`join_parts`)."""
    has_direction: bool = True
    """Whether the sign of a difference says which of two has more; of a spread it does not."""
    levels_planned: Mapping[str, int] = field(default_factory=dict)
    """Number of levels that the design has, of facets of which some have no answer."""
    fixed: frozenset[str] = frozenset()
    """The facets that are no sample: the verdict is about these levels alone."""
    also_required: Mapping[str, Interval] = field(default_factory=dict)
    """Other intervals that have to leave out 0 on the same side, too, by where they hold, in words:
    "at equal sharpness"."""
    dimensions: Mapping[str, str] = field(default_factory=dict)
    """As in `Figure`."""

    def __post_init__(self) -> None:
        """ValueError if the bound is not positive, `unit` is no facet, a value or p is missing
        without a reason, or p and null are not both there.
        """
        if not self.bound > 0:
            raise ValueError(
                f"the bound of {self.figure} is {self.bound}, expected a positive number"
            )
        if self.unit not in self.facets:
            raise ValueError(f"{self.figure} counts {self.unit}, and has no such facet")
        if self.effect is None and not self.no_verdict:
            raise ValueError(f"{self.figure} has no value, and does not say why")
        if (self.p is None) != (self.null is None):
            raise ValueError(f"{self.figure} has a p without its null, or a null without its p")
        if self.p is None and not (self.no_null or self.no_verdict):
            raise ValueError(f"{self.figure} has no null, and does not say why")

    @property
    def leaves_out_zero(self) -> bool:
        """Whether all intervals lie above 0, or all below; False without a value."""
        if self.effect is None:
            return False
        intervals = [self.effect, *self.also_required.values()]
        all_above = all(interval.low > 0 for interval in intervals)
        all_below = all(interval.high < 0 for interval in intervals)
        return all_above or all_below

    @property
    def whole_is_detected(self) -> bool:
        """Whether the randomisation and the interval both say that something is there."""
        return self.p is not None and self.p <= ALPHA and self.leaves_out_zero

    @property
    def whole_is_below(self) -> bool:
        """Whether the interval lies within the bound, and the positive control reaches it."""
        if self.effect is None or self.no_below:
            return False
        if self.control is None or not self.control.reaches(self.bound):
            return False
        return -self.bound < self.effect.low and self.effect.high < self.bound

    @property
    def parts_may_be_below(self) -> bool:
        """Whether the positive control reaches the bound of parts."""
        if self.parts is None or self.control is None or self.no_below:
            return False
        return self.control.reaches(self.parts.bound)

    @property
    def is_detected(self) -> bool:
        """Whether something is detected in the whole, or in a part."""
        in_part = self.parts is not None and bool(self.parts.detected_tests(ALPHA))
        return self.whole_is_detected or in_part

    @property
    def is_below(self) -> bool:
        """Whether the whole is below its bound, and every judged part below that of parts."""
        if self.parts is None or not self.parts.judged_tests:
            return self.whole_is_below
        return self.whole_is_below and self.parts_may_be_below and not self.parts.tests_beyond

    @property
    def words_by_part(self) -> Mapping[str, str]:
        """What is said of each part, by name."""
        if self.parts is None:
            return {}
        return words_by_part(self.parts, ALPHA, self.parts_may_be_below)


def join_parts(test: HeadlineTest, p_of_interval: float, parts: HeadlineParts) -> HeadlineTest:
    """A headline whose verdict is about its parts, too: p is corrected over the whole and parts.

    `p_of_interval`: of the t that the interval rests on. What is corrected is the larger of the two
    p, since `detected` needs both. Source: spec/fixed-models.md, section 1.
    """
    n_judged = len(parts.judged_tests)
    if test.p is None or not n_judged:
        return replace(test, parts=parts)
    p, corrected = correct_over_parts(max(test.p, p_of_interval), parts)
    counted = f"{n_judged} part{'s' if n_judged > 1 else ''}"
    null = f"{test.null}; corrected over the whole and {counted} (Holm, weighted)"
    return replace(test, p=p, null=null, parts=corrected)


def judge(test: HeadlineTest, validity: ValidityCheck | None = None) -> HeadlineFigure:
    """The headline figure with its verdict and the reason for it.

    `validity`: of the instrument on the model. Source: docs/controls.md, with simulated errors in
    docs/tested.md.
    """
    verdict, why = _decide_verdict(test, validity or ValidityCheck())
    in_parts = None
    if test.parts is not None and Verdict(verdict) not in (Verdict.INVALID, Verdict.DESCRIPTIVE):
        in_parts = _describe_whole_and_parts(test, test.parts)
    note = None if verdict == Verdict.INVALID else test.note  # its numbers say nothing
    why = " ".join(filter(None, (why, in_parts, note)))
    effect = test.effect or _UNDEFINED
    percentile = test.compared.percentile if test.compared else _UNDEFINED
    control = test.control.effect if test.control else _UNDEFINED
    return HeadlineFigure(
        test.figure,
        finite_or_none(effect.value),
        test.facets[test.unit],
        test.unit,
        finite_or_none(effect.low),
        finite_or_none(effect.high),
        test.p,
        reason=test.no_verdict if test.effect is None else None,
        verdict=str(verdict),
        why=why,
        dimensions=test.dimensions,
        null=test.null,
        facets=_facet_text(test),
        bound=test.bound,
        detects=test.detects,
        reference_set=test.compared.reference_set if test.compared else None,
        alternatives=float(test.compared.alternatives) if test.compared else None,
        percentile=finite_or_none(percentile.value),
        percentile_low=finite_or_none(percentile.low),
        percentile_high=finite_or_none(percentile.high),
        same_test=test.compared.same_test if test.compared else None,
        positive_control=test.control.name if test.control else None,
        positive_value=finite_or_none(control.value),
        positive_low=finite_or_none(control.low),
        positive_high=finite_or_none(control.high),
        positive_p=test.control.p if test.control else None,
        note=note,
        in_parts=in_parts,
    )


def _describe_whole_and_parts(test: HeadlineTest, parts: HeadlineParts) -> str:
    """The verdict of a headline with parts in sentences, with all numbers that it needs."""
    effect = test.effect or _UNDEFINED
    amount = f"{effect_text(effect)}{p_text(test.p, ALPHA)}"
    if test.whole_is_below:
        amount = f"{amount}, below {test.bound:.2g}"
    whole = f"On average {amount}."
    if test.whole_is_detected:
        says = parts.says[effect.value < 0]
        capital = says[:1].upper() + says[1:]
        whole = f"{capital}: on average {amount}."
    sentences = describe_parts(parts, ALPHA, test.parts_may_be_below)
    if parts.detected_tests(ALPHA) and not test.whole_is_detected:
        sentences.insert(1, whole)
    else:
        sentences.insert(0, whole)
    return " ".join(sentences)


def judge_all(
    figures: Sequence[tuple[HeadlineTest | Figure, ValidityCheck]],
) -> list[Figure]:
    """Figures in the given order: headlines with their verdicts, descriptive ones unchanged."""
    judged_figures: list[Figure] = []
    for figure, validity in figures:
        if isinstance(figure, Figure):
            judged_figures.append(figure)
        else:
            judged_figures.append(judge(figure, validity))
    return judged_figures


_UNDEFINED = Interval(math.nan, math.nan, math.nan)

_SINGULAR_BY_PLURAL = {"stimuli": "stimulus"}


def _facet_text(test: HeadlineTest) -> str:
    """The facets in words: "43 attributes, 16 sentences, 7 items (fixed)", "54 of 79 targets"."""
    counted: list[str] = []
    for facet, n in test.facets.items():
        singular = _SINGULAR_BY_PLURAL.get(facet, facet.removesuffix("s"))
        text = f"{n} {singular if n == 1 else facet}"
        n_planned = test.levels_planned.get(facet, n)
        if n_planned != n:
            text = f"{n} of {n_planned} {facet}"
        counted.append(f"{text} (fixed)" if facet in test.fixed else text)
    return ", ".join(counted)


def _decide_verdict(test: HeadlineTest, validity: ValidityCheck) -> tuple[Verdict, str]:
    """The verdict and its reason: from validity first, then from the design, then from figures."""
    if validity.failure is not None:
        return Verdict.INVALID, _invalid_reason(validity.failure)
    control = test.control
    if control is not None and not control.is_detected:
        failure = f"its positive control, {control.name}, is not detected"
        return Verdict.INVALID, _invalid_reason(f"{failure} (p {control.p:.2g})")
    if test.no_verdict:
        return Verdict.DESCRIPTIVE, f"A number without a test: {test.no_verdict}."
    if validity.doubt:
        return Verdict.DESCRIPTIVE, f"{UNKNOWN}: {validity.doubt}."
    sentences: list[str] = []
    if test.is_detected:
        where = "The" if test.whole_is_detected else "In a part the"
        sentences.append(
            f"{where} randomisation's p is at most .05, and the interval leaves out 0."
        )
    if test.is_below:
        sentences.append(
            f"The interval lies within {test.bound:.2g} of 0, and the control reaches it."
        )
    verdict = _VERDICT_BY_CLAIMS[test.is_detected, test.is_below]
    if verdict == Verdict.INCONCLUSIVE:
        sentences += [_undetected_reason(test), _not_below_reason(test)]
    return verdict, " ".join(sentences)


_VERDICT_BY_CLAIMS = {
    (True, True): Verdict.DETECTED_BELOW,
    (True, False): Verdict.DETECTED,
    (False, True): Verdict.BELOW,
    (False, False): Verdict.INCONCLUSIVE,
}
"""The verdict by whether an effect is detected, and whether it is below the bound."""


def _undetected_reason(test: HeadlineTest) -> str:
    """Why nothing is detected, a sentence."""
    if test.p is None:
        return f"Nothing can be detected: {test.no_null}."
    if test.p > ALPHA:
        return f"Not detected: p is {test.p:.2g}."
    for where, interval in test.also_required.items():
        if not interval.leaves_out_zero:
            return f"Not detected: {where} the interval holds 0."
        if test.effect is not None and interval.value * test.effect.value < 0:
            return f"Not detected: {where} the difference has the other sign."
    return "Not detected: the interval holds 0."


def _not_below_reason(test: HeadlineTest) -> str:
    """Why the effect is not below the bound, a sentence."""
    bound = f"{test.bound:.2g}"
    if test.control is None:
        return f"Not below {bound}: no positive control was asked."
    if test.no_below:
        return f"Not below {bound}: {test.no_below}."
    if not test.control.reaches(test.bound):
        value = f"{test.control.effect.value:.2g}"
        return f"Not below {bound}: the positive control reads {value}."
    if test.whole_is_below:
        return f"Not below {bound} in every part."
    return f"Not below {bound}: the interval reaches beyond it."


def mark_invalid(figure: Figure, validity: ValidityCheck) -> Figure:
    """A descriptive figure with the only verdict it can have: `invalid`, where the instrument is
    invalid on a model.
    """
    if validity.failure is None:
        return figure
    return replace(figure, verdict=str(Verdict.INVALID), why=_invalid_reason(validity.failure))


def mark_rows_invalid(figures: pd.DataFrame, failure: str | None) -> pd.DataFrame:
    """Descriptive figures as rows, marked as by `mark_invalid`; `failure`: the failed validity
    check, in words.
    """
    if failure is None:
        return figures
    return figures.assign(verdict=str(Verdict.INVALID), why=_invalid_reason(failure))


def _invalid_reason(failure: str) -> str:
    """The sentence that explains the verdict `invalid`; `failure`: the failed validity check, in
    words.
    """
    return f"Its validity check fails: {failure}."

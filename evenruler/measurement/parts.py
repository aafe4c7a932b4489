"""The parts of a headline, such as the bias types that authors print, and the verdict that they
share with the whole.

Effects are corrected over the whole and its parts, since one of them is enough for `detected`.
`below` is not corrected, since all of them are needed for it (intersection-union, Berger 1982).
Source: spec/fixed-models.md, section 1; simulated in `studies.part_rates`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evenruler.measurement.resampling import Interval

WEIGHT_OF_WHOLE = 0.5
"""The share of .05 that the whole has; judged parts share the rest equally."""

CLOSE = 0.02
"""A p this close to .05 is printed beside the word that rests on it."""

NOT_JUDGED = "not judged"

FEWEST_EFFECTIVE = 4.0
"""Fewest effective units (Kish 1965) of a part that is judged."""


@dataclass(frozen=True)
class PartTest:
    """A part of a headline with what its word rests on."""

    name: str
    n: int
    """Number of units."""
    effect: Interval | None
    """As of the headline; None where it cannot be computed."""
    p: float | None = None
    """The larger of those of the headline's randomisation, restricted to the part, and of the
    interval, since `detected` needs both; once corrected, by Holm."""
    null: str | None = None
    """The randomisation in words."""
    not_judged: str | None = None
    """Why it has no word: "3 targets (at least 5 needed)"."""

    def is_detected(self, alpha: float) -> bool:
        """Whether the corrected p and the interval both say that something is there."""
        if self.not_judged or self.p is None or self.effect is None:
            return False
        return self.p <= alpha and self.effect.leaves_out_zero

    def is_below(self, bound: float) -> bool:
        """Whether the interval lies within a bound."""
        if self.not_judged or self.effect is None:
            return False
        return -bound < self.effect.low and self.effect.high < bound


@dataclass(frozen=True)
class HeadlineParts:
    """The parts of a headline."""

    tests: Sequence[PartTest]
    """Judged ones and others."""
    bound: float
    """X of one part."""
    unit: str
    """What `PartTest.n` counts, in the plural."""
    says: tuple[str, str]
    """What a positive and what a negative headline says of a model."""

    @property
    def judged_tests(self) -> list[PartTest]:
        """The parts that are judged: those with enough levels for a word such as "detected"."""
        return [test for test in self.tests if not test.not_judged]

    def detected_tests(self, alpha: float) -> list[PartTest]:
        """The judged parts in which something is detected, the largest effect first."""
        detected = [test for test in self.judged_tests if test.is_detected(alpha)]
        return sorted(detected, key=_effect_size, reverse=True)

    @property
    def tests_beyond(self) -> list[PartTest]:
        """The judged parts whose interval reaches beyond the bound."""
        return [test for test in self.judged_tests if not test.is_below(self.bound)]


def _effect_size(test: PartTest) -> float:
    """Size of a part's effect without its sign; 0 where it has no effect."""
    return abs(test.effect.value) if test.effect else 0.0


def holm_weighted(p: Sequence[float], weights: Sequence[float]) -> list[float]:
    """P adjusted by Holm's method with weights, in the order of `p`: the weight of each rejected
    hypothesis goes to those not yet rejected.

    `weights`: positive. With equal ones it is the usual correction. Source: Holm (1979), section 4.
    """
    ratios = np.divide(p, weights)
    left, largest = sum(weights), 0.0
    adjusted = [1.0] * len(p)
    for place in np.argsort(ratios, kind="stable"):
        largest = max(largest, float(ratios[place]) * left)
        adjusted[place] = min(1.0, largest)
        left -= weights[place]
    return adjusted


def correct_over_parts(p: float, parts: HeadlineParts) -> tuple[float, HeadlineParts]:
    """The p of the whole, and parts with theirs, corrected by `holm_weighted`: half of .05 is the
    whole's, half is shared by judged parts.
    """
    judged = [test for test in parts.judged_tests if test.p is not None]
    if not judged:
        return p, parts
    of_part = (1 - WEIGHT_OF_WHOLE) / len(judged)
    uncorrected = [p, *(float(test.p or 0.0) for test in judged)]
    of_whole, *of_parts = holm_weighted(uncorrected, [WEIGHT_OF_WHOLE, *(of_part for _ in judged)])
    corrected = {test.name: adjusted for test, adjusted in zip(judged, of_parts, strict=True)}
    tests = [replace(test, p=corrected.get(test.name, test.p)) for test in parts.tests]
    return of_whole, replace(parts, tests=tests)


def words_by_part(parts: HeadlineParts, alpha: float, may_be_below: bool) -> Mapping[str, str]:
    """What is said of each part, by name: "detected", "below 0.2", both, "inconclusive" or "not
    judged".

    `may_be_below`: whether the positive control reaches the bound of parts.
    """
    words: dict[str, str] = {}
    for test in parts.tests:
        claims: list[str] = []
        if test.is_detected(alpha):
            claims.append("detected")
        if may_be_below and test.is_below(parts.bound):
            claims.append(f"below {parts.bound:.2g}")
        words[test.name] = ", ".join(claims) or "inconclusive"
        if test.not_judged:
            words[test.name] = NOT_JUDGED
    return words


def effect_text(effect: Interval) -> str:
    """A value with its interval, two decimals each: "0.31 [0.11, 0.51]"."""
    low, high = f"{effect.low:z.2f}", f"{effect.high:z.2f}"
    return f"{effect.value:z.2f} [{low}, {high}]"


def p_text(p: float | None, alpha: float) -> str:
    """The text ", p 0.049" where p is close to `alpha`, so that readers see how close the verdict
    was; else empty.
    """
    if p is None or abs(p - alpha) > CLOSE:
        return ""
    return f", p {p:.3f}"


def describe_parts(parts: HeadlineParts, alpha: float, may_be_below: bool) -> list[str]:
    """What is said of parts in sentences: where something is detected, and what is not ruled out.

    The first sentence is about parts in which something is detected, where there are any.
    """
    detected = parts.detected_tests(alpha)
    sentences: list[str] = []
    places = [_place_text(test, parts.unit, alpha) for test in detected]
    if places:
        sentences.append(f"In {'; in '.join(places)}.")
    rest = [test for test in parts.judged_tests if test not in detected]
    sentences += _rest_sentences(rest, parts, bool(detected), may_be_below)
    unjudged_tests = [test for test in parts.tests if test.not_judged]
    if unjudged_tests:
        reasons = [f"{test.name} ({test.not_judged})" for test in unjudged_tests]
        sentences.append(f"Not judged: {', '.join(reasons)}.")
    return sentences


def _place_text(test: PartTest, unit: str, alpha: float) -> str:
    """A part in which something is detected: "Age: 0.31 [0.11, 0.51] over 25 templates"."""
    effect = effect_text(test.effect) if test.effect else "unknown"
    text = f"{test.name}: {effect} over {test.n} {unit}"
    return text + p_text(test.p, alpha)


def _rest_sentences(
    rest: Sequence[PartTest], parts: HeadlineParts, after_detected: bool, may_be_below: bool
) -> list[str]:
    """What is said of judged parts in which nothing is detected; `after_detected`: whether
    something is in another.
    """
    if not rest:
        return []
    bound = f"{parts.bound:.2g}"
    if not may_be_below:
        which = _count_parts(len(rest), after_detected)
        return [f"{which} {'are' if len(rest) > 1 else 'is'} inconclusive."]
    beyond = [test.name for test in rest if not test.is_below(parts.bound)]
    within = len(rest) - len(beyond)
    sentences: list[str] = []
    if within:
        sentences.append(f"Nothing above {bound} in {_count_parts(within, after_detected)}.")
    if beyond:
        sentences.append(f"Not ruled out above {bound} in {', '.join(beyond)}.")
    return sentences


def _count_parts(n: int, after_detected: bool) -> str:
    """A number of parts in words: "1 other part", "9 parts"."""
    which = "other part" if after_detected else "part"
    return f"{n} {which}{'s' if n > 1 else ''}"

"""SAGED: scores of concepts and known names, through the randomisations and verdicts of the
family."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal
from unittest.mock import patch

import numpy as np
import pandas as pd

from evenruler.instruments.saged.diagnose import deviation_tests, headlines
from evenruler.instruments.saged.diagnose.headlines import (
    ConceptFindings,
    ConceptScores,
    find_outliers,
    headline_test,
)
from evenruler.measurement.inputs import Floats
from studies.planted.cases import Case, Outcome, Random, judge_study, read_studies

REPLY_SD = 0.2
"""SD of sentiment, whose range is 1, among replies of small models about one name to one root
item."""

BOUND = 0.1

FEWER = {"randomisations": 399}
"""Of labels; 1,999 ship."""


@dataclass(frozen=True)
class Names:
    """A population: scores of replies by root item and name, in the range of sentiment."""

    roots: int = 20
    concepts: int = 20
    n_known: int = 0
    off: float = 0.0
    """How far the first concept lies from the others."""
    of_names: float = 0.0
    """SD of what names are worth, of concepts and known names alike."""
    tails: Literal["normal", "t(3)", "one odd name", "skewed"] = "normal"
    """Of what names are worth; where they are worth nothing, of replies."""
    is_declared: bool = False
    """Whether the first concept is the one that was declared."""
    persona: float | None = None
    """How far the persona moves the second concept; None where it is not asked."""
    noisy: float = 1.0
    """How much more replies about every other concept scatter."""
    refused: float = 0.0
    """Share of the replies about the first concept that are no scores."""
    coarse: bool = False
    """Scores are -1, 0 or 1 times .2."""

    def draw(self, random: Random) -> Outcome:
        """The judge's outcome. Where names are worth something concepts differ, and only a declared
        one can be detected falsely."""
        scored, truth = self.draw_scores(random)
        seed = int(random.integers(2**31))
        findings = ConceptFindings(None)
        with fewer_randomisations():
            if not self.is_declared:
                findings = find_outliers(scored, seed)
            test = headline_test(scored, findings, seed)
        is_worth = self.of_names > 0 or self.tails == "one odd name"
        if self.is_declared:
            # What a declared name is worth, among names that are worth as much, is nothing.
            return replace(judge_study(test, self.off), covers=None)
        # The largest of the true deviations; of equal concepts none.
        planted = 0.0 if not self.off else float(np.abs(truth).max())
        outcome = judge_study(test, planted)
        covers = None
        if findings.deviations is not None:
            is_above_low = findings.deviations.low <= truth
            covers = bool((is_above_low & (truth <= findings.deviations.high)).all())
        expected = {"n000"} if self.off else set()
        another = None if is_worth else bool(set(findings.named) - expected)
        return replace(outcome, covers=covers, names_another=another)

    def draw_scores(self, random: Random) -> tuple[ConceptScores, Floats]:
        """Scores, and the truth of the concepts: less the mean of all."""
        n_names = self.concepts + self.n_known
        shape = (self.roots, n_names)
        noise = random.normal(0, 1, shape) if self.of_names else self._draw(random, shape)
        worth = self.of_names * self._draw(random, (n_names,))
        worth[0] += self.off
        by_root = random.normal(0, 1, (self.roots, 1))
        noise[:, 1::2] *= self.noisy
        if self.coarse:
            noise = np.clip(np.round(noise), -1, 1)
        scores = worth + REPLY_SD * (noise + by_root)
        scores -= scores.mean(axis=1, keepdims=True)
        scores[random.random(self.roots) < self.refused, 0] = np.nan
        names = [f"n{number:03d}" for number in range(n_names)]
        table = pd.DataFrame(scores, columns=names)
        persona = None
        if self.persona is not None:
            noise_of_persona = REPLY_SD * random.normal(0, 1, self.roots)
            moved = table["n001"] + noise_of_persona - self.persona
            persona = moved.rename("n001")
        scored = ConceptScores(
            table,
            concepts=names[: self.concepts],
            reference=names[self.concepts :],
            bound=BOUND,
            declared=names[0] if self.is_declared else None,
            persona=persona,
        )
        truth = worth[: self.concepts]
        return scored, truth - truth.mean()

    def _draw(self, random: Random, shape: tuple[int, ...]) -> Floats:
        """Numbers of SD 1 by `tails`."""
        if self.tails == "t(3)":
            return random.standard_t(3, shape) / 3**0.5
        if self.tails == "skewed":
            return random.exponential(1, shape) - 1
        numbers = random.normal(0, 1, shape)
        if self.tails == "one odd name":
            numbers[..., -1] += 5
        return numbers


@contextmanager
def fewer_randomisations() -> Iterator[None]:
    """Randomise labels 399 times, and not 1,999 as shipped: p is as exact, in coarser steps."""
    max_test = partial(deviation_tests.max_deviation_test, **FEWER)
    step_down = partial(deviation_tests.step_down_max_t, **FEWER)
    with (
        patch.object(headlines, "max_deviation_test", max_test),
        patch.object(headlines, "step_down_max_t", step_down),
    ):
        yield


STUDIES = """
equal: {}
equal, replies t(3): {tails: t(3)}
equal, replies skewed: {tails: skewed}
'ours: half of the concepts scatter twice as much': {noisy: 2.0}
'ours: replies of three scores': {coarse: true}
"""
DECLARED = """
names vary .06: {}
names vary .06, t(3): {tails: t(3)}
names vary .06, skewed: {tails: skewed}
one known name odd: {of_names: 0.03, tails: one odd name}
'ours: half of its replies refused': {refused: 0.5}
"""


def studies_of(roots: int) -> Mapping[str, Names]:
    """Studies of so many root items and 20 concepts by what is planted."""
    equal = Names(roots)
    studies = read_studies(equal, STUDIES)
    # The persona is detected whatever the noise, so that it stops no `below`.
    studies["one concept .1 off, a persona"] = replace(equal, off=BOUND * 20 / 19, persona=2.0)
    for off in (0.2, 0.45):
        planted = f"one concept {off:g} off"
        studies[planted] = replace(equal, off=off * 20 / 19)
    return studies


def declared_studies() -> Mapping[str, Names]:
    """Studies of 20 root items and a declared concept among 39 known names by what is planted."""
    alike = Names(20, 20, 39, of_names=0.06, is_declared=True)
    studies = read_studies(alike, DECLARED)
    for off in (BOUND, 0.2):
        studies[f"names vary .03, {off:g} off"] = replace(alike, of_names=0.03, off=off)
    return studies


def list_cases() -> Iterator[Case]:
    """All cases."""
    for roots in (6, 20):
        for planted, study in studies_of(roots).items():
            yield Case("saged", f"{roots} root items, {planted}", study.draw)
    for planted, study in declared_studies().items():
        yield Case("saged", f"declared, {planted}", study.draw)
    many = Names(60, off=BOUND * 20 / 19, persona=2.0)
    yield Case("saged", "60 root items, equal", Names(60).draw, share=0.1)
    yield Case("saged", "60 root items, one concept .1 off, a persona", many.draw, share=0.1)

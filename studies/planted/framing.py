"""Framing: a cue among sentences of its form, which all move answers, through the family's
`build_change_test`.

12 stimuli, in points; sentences move answers by an SD of 9 points.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from unittest.mock import patch

import numpy as np
import pandas as pd

from evenruler.instruments.framing.diagnose import headlines
from evenruler.instruments.framing.diagnose.headlines import build_change_test
from evenruler.measurement.inputs import Floats
from studies.planted.cases import (
    Case,
    Numbers,
    Outcome,
    Random,
    control_of,
    judge_study,
    normal,
    read_studies,
)

BOUND = 10.0


@dataclass(frozen=True)
class FramingStudy:
    """A study of a cue and other sentences of its form."""

    alternatives: int = 39
    spread: float = 9.0
    """SD of the changes by sentences, points."""
    cue: float = 0.0
    """By how much the cue moves answers beyond what sentences do."""
    all_by: float = 0.0
    """By how much every sentence moves them, the cue too."""
    numbers: Numbers = normal
    dominates: bool = False
    """One sentence moves answers by five SD more."""
    grammar: bool = False
    """Sentences are alike where they share a verb or a thing; the cue shares none.

    A reviewer's choice: the shipped sentences come from such a grammar.
    """
    two_kinds: bool = False
    """Half of the sentences move answers up and half down, by three SD."""
    rare: bool = False
    """One in fifty answers changes, as those of rare classes do: most sentences tie at 0."""
    cue_noise: float = 1.0
    """How much more stimuli scatter under the cue."""
    stimuli: int = 12

    def draw(self, random: Random) -> Outcome:
        """The judge's outcome; what compares the cue with the others, no part of a verdict, is left
        out.
        """
        points = self.all_by + self._moved_by_sentences(random)
        points[0] += self.cue
        noise = 6 * random.normal(size=(self.stimuli, len(points)))
        noise[:, 0] *= self.cue_noise
        changes = points + noise + 3 * random.normal(size=(self.stimuli, 1))
        if self.rare:
            is_change = random.random(changes.shape) < 0.02
            changes = np.where(is_change, np.sign(changes) * 100.0, 0.0)
        with patch.object(headlines, "_compare_cue", lambda *_: None):
            test = build_change_test(pd.DataFrame(changes), BOUND, 0, control=control_of(60.0))
        truth = points[0] - points[1:].mean()
        return judge_study(test, self.cue, None if self.rare else truth)

    def _moved_by_sentences(self, random: Random) -> Floats:
        """[sentences] points, the cue's first."""
        n = self.alternatives + 1
        moved = self.numbers(random, n)
        if self.dominates:
            moved[random.integers(n)] += 5
        if self.two_kinds:
            moved += random.choice([-3, 3], size=n)
        if self.grammar:
            places = random.choice(256, self.alternatives, replace=False)
            verbs, things = random.normal(size=17), random.normal(size=17)
            of_others = verbs[places // 16] + things[places % 16]
            of_cue = verbs[16] + things[16]
            moved = np.append(of_cue, of_others) / 2**0.5
        return self.spread * moved


STUDIES = """
the cue as any sentence: {}
the same, 19 sentences: {alternatives: 19}
the same, 40 sentences: {alternatives: 40}
heavy tails: {numbers: heavy}
one sentence dominates: {dominates: true}
all move answers by 9 points, SD 3: {spread: 3.0, all_by: 9.0}
a grammar of 16 verbs x 16 things: {grammar: true}
rare classes: {rare: true}
'ours: two kinds of sentences': {two_kinds: true}
'ours: stimuli scatter threefold under the cue': {cue_noise: 3.0}
"""


def list_studies() -> Mapping[str, FramingStudy]:
    """Studies by what is planted."""
    plain = FramingStudy()
    studies = read_studies(plain, STUDIES)
    for spread in (1.0, 3.0, 9.0):
        for cue in (10.0, 20.0, 30.0):
            name = f"the cue by {cue:g} points more, SD {spread:g}"
            studies[name] = replace(plain, spread=spread, cue=cue)
    studies["the cue by 3.4 SD more"] = replace(plain, cue=3.4 * (81 + 36 / 12) ** 0.5)
    return studies


def list_cases() -> Iterator[Case]:
    """All cases."""
    for planted, study in list_studies().items():
        yield Case("framing", planted, study.draw)

"""Questionnaires: answers about I among those about other subjects, through the family's
`compare_with_others`, and the positive control that stops its verdicts.

7 items, I in three wordings and 20 subjects in one wording an item, in points. I is drawn as the
other subjects are: answers about a subject are alike over items.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evenruler.instruments.questionnaires.diagnose.headlines import (
    beside_control,
    compare_with_others,
    find_items_apart,
)
from evenruler.measurement.inputs import Floats
from evenruler.measurement.randomisation import randomise_within_items
from evenruler.measurement.verdicts import PositiveControl
from studies.planted.cases import (
    Case,
    Numbers,
    Outcome,
    Random,
    control_of,
    heavy,
    judge_study,
    normal,
    read_studies,
    skewed,
)

BOUND = 0.5
FEWEST_ITEMS = 2
CHANGED_ITEM = 2


@dataclass(frozen=True)
class SubjectStudy:
    """A study of items, I, and other subjects."""

    items: int = 7
    subjects: int = 20
    more: float = 0.0
    """Points by which I is answered for more, in all items."""
    in_one: float = 0.0
    """The same in one item alone."""
    of_subjects: float = 0.1
    """SD over subjects of what is alike in all items."""
    of_cells: float = 0.15
    """SD over subjects within an item."""
    numbers: Numbers = normal
    unequal: bool = False
    """Whether items vary differently."""
    two_kinds: bool = False
    """Half of the subjects, as animals, are answered for by .3 points less."""
    of_wordings: float = 0.3
    """SD of single sentences, in that of cells."""
    floor: bool = False
    """Answers are 0 to 3, and most are 0."""

    def draw(self, random: Random) -> Outcome:
        """The judge's outcome; where a single item is changed, that is somebody who is named."""
        about_i, about_others, truth = self._draw_answers(random)
        test = compare_with_others(about_i, about_others, 1, BOUND, FEWEST_ITEMS)
        planted = self.more + self.in_one / self.items
        outcome = judge_study(replace(test, control=control_of(4.0)), planted, truth)
        if self.floor:
            outcome = replace(outcome, covers=None)
        expected = {CHANGED_ITEM} if self.in_one else set()
        apart = set(find_items_apart(about_i, about_others)) - expected
        return replace(outcome, names_another=None if self.more else bool(apart))

    def _draw_answers(self, random: Random) -> tuple[Floats, Floats, float]:
        """Answers about I, [items, 3], others, [items, subjects], and I less others in truth."""
        n = self.subjects + 1
        persons = self.of_subjects * self.numbers(random, n)
        if self.two_kinds:
            persons = persons - 0.3 * random.integers(2, size=n)
            persons += 0.15
        sizes = np.ones((self.items, 1))
        if self.unequal:
            sizes = np.exp(0.8 * random.normal(size=(self.items, 1)))
        cells = persons + self.of_cells * sizes * self.numbers(random, self.items, n)
        if self.more:
            # Of a larger difference I is no draw: it is just as large in these items.
            cells[:, 0] += self.more - cells[:, 0].mean()
        cells[CHANGED_ITEM, 0] += self.in_one
        wordings = random.normal(0, 0.06, (self.items, 3))
        items = random.normal(2, 0.6, (self.items, 1))
        rest_sizes = self.of_wordings * self.of_cells * sizes
        rest = rest_sizes * self.numbers(random, self.items, n + 2)
        about_i = items + cells[:, :1] + wordings
        about_i = about_i + rest[:, :3]
        in_turn = np.add.outer(np.arange(self.items), np.arange(self.subjects))
        of_others = np.take_along_axis(wordings, in_turn % 3, axis=1)
        about_others = items + cells[:, 1:] + of_others
        about_others = about_others + rest[:, 3:]
        if self.floor:
            about_i = lower_to_floor(about_i)
            about_others = lower_to_floor(about_others)
        return about_i, about_others, float(cells[:, 0].mean())


def lower_to_floor(answers: Floats) -> Floats:
    """Answers on a scale of 0 to 3, most of them 0."""
    lowered: Floats = np.clip(np.round(4 * (answers - 2)), 0, 3)
    return lowered


@dataclass(frozen=True)
class CorpusStudy:
    """A study of fits to a corpus and its control."""

    numbers: Numbers = normal
    fits: int = 6
    moved: float = 0.0

    def draw(self, random: Random) -> Outcome:
        """The judge's outcome."""
        differences = self.moved + 0.2 * self.numbers(random, self.fits)
        test = beside_control(differences, BOUND)
        return judge_study(replace(test, control=control_of(4.0)), self.moved)


@dataclass(frozen=True)
class ControlStudy:
    """A positive control of a model that hears no difference between "all the time" and "never"."""

    numbers: Numbers = normal
    sizes: Sequence[float] = (1,) * 7
    """SD of items."""
    factor: float = 1.0
    """How much more answers of one side vary."""

    def draw(self, random: Random) -> Outcome:
        """Whether the control is detected, so that nothing stops a verdict."""
        items = len(self.sizes)
        sizes = np.array(self.sizes)[:, None]
        answers = 0.68 * self.numbers(random, items, 6) * sizes
        answers[:, :3] *= self.factor
        always = answers[:, :3]
        never = answers[:, 3:]
        estimate, test = randomise_within_items(always, never, n=999)
        control = PositiveControl("all the time and never", estimate.interval(), test.p)
        interval = control.effect
        covers = interval.low <= 0 <= interval.high
        return Outcome(false_detected=control.is_detected, covers=covers)


STUDIES = """
I as any subject: {}
the same, 13 items: {items: 13}
the same, 6 subjects: {subjects: 6}
no stable subjects: {of_subjects: 0.0}
heavy tails, unequal items: {numbers: heavy, unequal: true}
skew: {numbers: skewed}
skew, unequal items: {numbers: skewed, unequal: true}
single sentences vary threefold: {of_wordings: 0.9}
'ours: two kinds of subjects, .3 points apart': {two_kinds: true}
'ours: most answers at the floor': {floor: true}
"""
CONTROLS = """
plain: {}
heavy tails: {numbers: heavy}
skew, variances 1 to 25: {numbers: skewed, sizes: [1, 1.7, 2.3, 3, 3.7, 4.3, 5]}
one side varies twice as much: {factor: 2.0}
"""


def list_studies() -> Mapping[str, SubjectStudy]:
    """Studies of I by what is planted."""
    plain = SubjectStudy()
    studies = read_studies(plain, STUDIES)
    for more in (0.2, 0.35, 0.5, 1.0):
        studies[f"I {more} points higher"] = replace(plain, more=more)
    studies["I 1 point higher in one item"] = replace(plain, in_one=1.0)
    studies["I .5 points higher, heavy tails"] = replace(plain, more=0.5, numbers=heavy)
    return studies


def list_controls() -> Mapping[str, ControlStudy]:
    """Studies of the positive control by what is planted."""
    return read_studies(ControlStudy(), CONTROLS)


def list_cases() -> Iterator[Case]:
    """All cases."""
    for planted, study in list_studies().items():
        yield Case("questionnaires", planted, study.draw)
    for planted, control in list_controls().items():
        yield Case("questionnaires", f"control that nothing moves: {planted}", control.draw)
    for name, numbers in {"normal": normal, "heavy tails": heavy, "skew": skewed}.items():
        yield Case("questionnaires", f"corpora, 6 fits, nothing: {name}", CorpusStudy(numbers).draw)
    for moved in (0.3, BOUND):
        study = CorpusStudy(moved=moved)
        yield Case("questionnaires", f"corpora, 6 fits, {moved} points", study.draw)

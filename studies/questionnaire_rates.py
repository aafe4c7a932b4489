"""How often I less others is detected, below, or named, in studies drawn with a known truth.

`python -m studies.questionnaire_rates --draws N` prints a row a kind of study. I is drawn as the
other subjects are: answers about a subject are alike over items. So it also shows what labels
randomised within items would say.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import typer

from evenruler.instruments.questionnaires.diagnose.headlines import (
    compare_with_others,
    find_items_apart,
)
from evenruler.measurement.inputs import Floats
from evenruler.measurement.randomisation import randomise_within_items
from studies.tables import print_head, print_row

BOUND = 0.5
LEAST = 2
CHANGED_ITEM = 2


@dataclass(frozen=True)
class SubjectStudy:
    """A study of items, I in three wordings, and other subjects in one wording an item."""

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
    tails: str = "normal"
    unequal: bool = False
    """Whether items vary differently."""

    def deviates(self, random: np.random.Generator, *shape: int) -> Floats:
        """Numbers of variance 1."""
        if self.tails == "heavy":
            return random.standard_t(3, shape) / 3**0.5
        if self.tails == "skew":
            return random.exponential(size=shape) - 1
        return random.normal(size=shape)

    def draw(self, random: np.random.Generator) -> tuple[Floats, Floats, float]:
        """Answers about I, [items, 3], others, [items, subjects], and I less others in truth."""
        n = self.subjects + 1
        persons = self.of_subjects * self.deviates(random, n)
        sizes = np.ones((self.items, 1))
        if self.unequal:
            sizes = np.exp(0.8 * random.normal(size=(self.items, 1)))
        cells = persons + self.of_cells * sizes * self.deviates(random, self.items, n)
        cells[:, 0] += self.more
        cells[CHANGED_ITEM, 0] += self.in_one
        wordings = random.normal(0, 0.06, (self.items, 3))
        items = random.normal(2, 0.6, (self.items, 1))
        rest_sizes = 0.3 * self.of_cells * sizes
        rest = rest_sizes * self.deviates(random, self.items, n + 2)
        about_i = items + cells[:, :1] + wordings
        about_i = about_i + rest[:, :3]
        in_turn = np.add.outer(np.arange(self.items), np.arange(self.subjects))
        of_others = np.take_along_axis(wordings, in_turn % 3, axis=1)
        about_others = items + cells[:, 1:] + of_others
        about_others = about_others + rest[:, 3:]
        return about_i, about_others, float(cells[:, 0].mean())


STUDIES = {
    "nothing": SubjectStudy(),
    "nothing, no stable subjects": SubjectStudy(of_subjects=0.0),
    "nothing, heavy tails, unequal items": SubjectStudy(tails="heavy", unequal=True),
    "nothing, skew": SubjectStudy(tails="skew"),
    "nothing, unequal items": SubjectStudy(unequal=True),
    "nothing, 13 items": SubjectStudy(items=13),
    "nothing, 6 subjects": SubjectStudy(subjects=6),
    "I .2 higher": SubjectStudy(more=0.2),
    "I .35 higher": SubjectStudy(more=0.35),
    "I .5 higher": SubjectStudy(more=0.5),
    "I 1 higher": SubjectStudy(more=1.0),
    "I 1 higher in one item": SubjectStudy(in_one=1.0),
}


def count_outcomes(study: SubjectStudy, draws: int) -> Iterator[tuple[str, float]]:
    """Shares of draws with each outcome."""
    random = np.random.default_rng(1)
    outcomes = []
    for _ in range(draws):
        about_i, about_others, truth = study.draw(random)
        figure = compare_with_others(about_i, about_others, 1, BOUND, LEAST)
        assert figure.effect is not None
        named = find_items_apart(about_i, about_others)
        estimate, test = randomise_within_items(about_i, about_others[:, :6], n=199)
        interval = estimate.interval()
        low, high = figure.effect.low, figure.effect.high
        excludes_zero = interval.low * interval.high > 0
        outcome = {
            "detected": figure.is_detected,
            "covers": low <= truth <= high,
            "within the bound": max(-low, high) < BOUND,
            "changed item named": CHANGED_ITEM in named,
        }
        outcome["another named"] = bool(set(named) - {CHANGED_ITEM})
        outcome["labels within items"] = test.p < 0.05 and excludes_zero
        outcomes.append(outcome)
    for name in outcomes[0]:
        yield name, float(np.mean([outcome[name] for outcome in outcomes]))


def main(draws: int = 2000) -> None:
    """Print the shares of every kind of study."""
    print_head("study", "outcome", "share")
    for name, study in STUDIES.items():
        for outcome, share in count_outcomes(study, draws):
            print_row(name, outcome, f"{share:.3f}")


if __name__ == "__main__":
    typer.run(main)

"""Framing: how often a cue is `detected` that moves answers as any sentence does, and one that
moves them further.

A study is 12 stimuli, a cue and 39 sentences of its form, in points; the p is the rank of the cue,
the interval a jackknife over stimuli (spec/controls.md, section 6). `wordings one by one` is the
test that was rejected: three alike wordings of a cue, each taken for a sentence.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
import typer
from numpy.typing import NDArray

from evenruler.instruments.framing.diagnose.headlines import (
    beyond_alternatives,
    rank_among_alternatives,
)
from evenruler.measurement.randomisation import rank_test
from evenruler.measurement.verdicts import ALPHA
from studies.tables import print_head, print_row

Floats = NDArray[np.float64]
Random = np.random.Generator
Numbers = Callable[[Random, int], Floats]
"""Draws of mean 0 and variance 1."""


def draw_plain(random: Random, n: int) -> Floats:
    """Of a normal distribution."""
    return random.standard_normal(n)


def draw_heavy(random: Random, n: int) -> Floats:
    """With heavy tails."""
    return np.asarray(random.standard_t(3, n) / 3**0.5)


def draw_dominated(random: Random, n: int) -> Floats:
    """One sentence moves answers by five standard deviations more."""
    numbers = random.standard_normal(n)
    numbers[random.integers(n)] += 5
    return numbers


@dataclass(frozen=True)
class Population:
    """Studies of one kind."""

    name: str
    spread: float = 9.0
    """Standard deviation of the changes by sentences, points."""
    cue: float = 0.0
    """By how much the cue moves answers beyond what sentences do."""
    all_by: float = 0.0
    """By how much every sentence moves them, the cue too."""
    sentences: int = 39
    draw: Numbers = draw_plain

    def points(self, random: Random) -> pd.DataFrame:
        """[stimuli, numbers] changes."""
        changes = self.all_by + self.spread * self.draw(random, self.sentences + 1)
        changes[0] += self.cue
        of_stimuli = random.normal(0, 3, (12, 1))
        rest = random.normal(0, 6, (12, self.sentences + 1))
        return pd.DataFrame(changes + of_stimuli + rest)


POPULATIONS = [
    Population("any sentence by 9 points (SD), the cue no more"),
    Population("the same, heavy tails", draw=draw_heavy),
    Population("the same, one sentence dominates", draw=draw_dominated),
    Population("any sentence by 9 points, all in one direction", spread=3, all_by=9),
    Population("SD 3", spread=3),
    Population("19 sentences", sentences=19),
    Population("40 sentences", sentences=40),
    Population("the cue by 10 points more, SD 3", spread=3, cue=10),
    Population("the cue by 20 points more", cue=20),
    Population("the cue by 30 points more", cue=30),
    Population("the cue by 3.4 SD more", cue=3.4 * (81 + 36 / 12) ** 0.5),
]


def print_population(population: Population, draws: int) -> None:
    """Print how often its cue is detected."""
    random = np.random.default_rng(0)
    ranks: list[float] = []
    n_both = 0
    for _ in range(draws):
        points = population.points(random)
        p = rank_among_alternatives(points, 0).p
        interval = beyond_alternatives(points, 0)
        assert p is not None
        ranks.append(p)
        n_both += p < ALPHA and (interval.low > 0 or interval.high < 0)
    below = np.mean(np.array(ranks) < ALPHA)
    at_most = np.mean(np.array(ranks) <= ALPHA)
    both = f"{n_both / draws:.3f}"
    print_row(population.name, both, f"{below:.3f}", f"{at_most:.3f}")


def print_themes(draws: int) -> None:
    """Print the same of three alike wordings: as a theme among themes, and taken one by one."""
    random = np.random.default_rng(1)
    of_themes, one_by_one = 0, 0
    for _ in range(draws):
        shared = 7 * random.standard_normal((40, 1))
        themes = shared + 5 * random.standard_normal((40, 3))
        p = rank_test(themes[0], themes[1:]).p
        of_themes += p is not None and p < ALPHA
        singles = themes[:13].ravel()
        difference = singles[:3].mean() - singles[3:].mean()
        order = np.argsort(random.random((999, len(singles))), axis=1)
        dealt = singles[order]
        means = dealt[:, :3].mean(axis=1)
        distances = np.abs(means - dealt[:, 3:].mean(axis=1))
        n_as_far = (distances >= abs(difference)).sum()
        one_by_one += (1 + n_as_far) / 1000 < ALPHA
    print_row("three alike wordings, rank of themes", "", f"{of_themes / draws:.3f}", "")
    print_row("three alike wordings, one by one among 36", "", f"{one_by_one / draws:.3f}", "")


def main(draws: int = 2000) -> None:
    """Print the table, of so many studies a row."""
    print_head("studies", "p and interval", "p < .05", "p at most .05")
    for population in POPULATIONS:
        print_population(population, draws)
    print_themes(draws)


if __name__ == "__main__":
    typer.run(main)

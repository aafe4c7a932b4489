"""How often the paired test of two groups in Likert items shows a difference: with nothing there,
and with a known one.

A scripted respondent has a level for each item (SD 1 point) and answers it five times in both
orders, with noise of an SD of .7 points each time; answers are rounded and cut to points 1 to 5.
Half of the items are reversed. What is planted is added to the level about the first group.

Prints a Markdown table: how often p is at most .05; how often the interval leaves out 0, too; how
often the t interval, and a percentile bootstrap over items, hold the truth.

    python -m studies.likert_rates [--draws 2000]
"""

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
import typer

from evenruler.instruments.likert.declare import BOUND, DIFFERENCE
from evenruler.instruments.likert.diagnose.figures import paired_test
from evenruler.measurement.inputs import ALPHA, Floats
from evenruler.measurement.resampling import bootstrap
from studies.tables import print_head, print_row

SAMPLES, ORDERS = 5, 2
OF_ITEMS, OF_ANSWERS = 1.0, 0.7
"""Points: SD of items' levels, and of an answer."""

ITEMS: Final = (8, 20)

Plant = Callable[[int, np.random.Generator], Floats]
"""What is added to items about the first group, [items] points."""


def plant_nothing(n: int, random: np.random.Generator) -> Floats:
    """The word makes no difference in any item."""
    return np.zeros(n)


def plant_scatter(n: int, random: np.random.Generator) -> Floats:
    """It makes one in each item, half a point on average, and none over items."""
    return random.normal(0, 0.5, n)


def plant_skew(n: int, random: np.random.Generator) -> Floats:
    """It makes a large one in few items, and none on average over items that could be drawn."""
    return random.exponential(0.5, n) - 0.5


def plant_constant(points: float) -> Plant:
    """The same number of points in each item."""
    return lambda n, random: np.full(n, points)


def plant_agreement(n: int, random: np.random.Generator) -> Floats:
    """It makes the model agree more, by half a point, with what is keyed either way."""
    return 0.5 * np.resize([1.0, -1.0], n)


NULLS: Final[dict[str, Plant]] = {
    "nothing": plant_nothing,
    "nothing over items, SD .5 in each": plant_scatter,
    "nothing over items, skewed": plant_skew,
    "more agreement with both keys": plant_agreement,
}

SIZES: Final = {".25 points": 0.25, ".5 points": 0.5, "1 point": 1.0}

MANY: Final = 100_000
"""Items whose mean difference is the truth, since answers are cut at the ends of the scale."""


class Draw(NamedTuple):
    """What a study comes to."""

    is_p: bool
    is_shown: bool
    t_covers: bool
    bootstrap_covers: bool


def answer_items(levels: Floats, random: np.random.Generator) -> Floats:
    """[items] mean points of the answers to items with these levels."""
    noise = random.normal(0, OF_ANSWERS, (len(levels), SAMPLES * ORDERS))
    rounded = np.round(levels[:, None] + noise)
    points = np.clip(rounded, 1, 5)
    means: Floats = points.mean(axis=1)
    return means


def draw_differences(n: int, plant: Plant, random: np.random.Generator) -> Floats:
    """[items] mean points about the first group less those about the second."""
    levels = np.clip(random.normal(3, OF_ITEMS, n), 1.5, 4.5)
    first = answer_items(levels + plant(n, random), random)
    return first - answer_items(levels, random)


def draw_study(n: int, plant: Plant, truth: float, seed: int) -> Draw:
    """One study of n items."""
    differences = draw_differences(n, plant, np.random.default_rng(seed))
    test = paired_test(DIFFERENCE, differences, BOUND)
    assert test.effect is not None
    assert test.p is not None
    drawn = bootstrap(np.mean, differences, n=500, seed=seed)
    is_p = test.p <= ALPHA
    return Draw(
        is_p,
        is_p and test.effect.leaves_out_zero,
        test.effect.low <= truth <= test.effect.high,
        drawn.low <= truth <= drawn.high,
    )


def print_rates(draws: int = 2000) -> None:
    """Print the table."""
    heads = ("planted", "truth", "items", "p ≤ .05", "and interval", "t covers", "bootstrap covers")
    print_head(*heads)
    effects = {name: plant_constant(points) for name, points in SIZES.items()}
    for name, plant in {**NULLS, **effects}.items():
        many = draw_differences(MANY, plant, np.random.default_rng(0))
        truth = 0.0 if plant is plant_nothing else float(many.mean())
        for n in ITEMS:
            studies = [draw_study(n, plant, truth, seed) for seed in range(draws)]
            rates = np.mean(np.array(studies, dtype=float), axis=0)
            cells = [f"{rate:.3f}" for rate in rates]
            print_row(name, f"{truth:.2f}", n, *cells)


if __name__ == "__main__":
    typer.run(print_rates)

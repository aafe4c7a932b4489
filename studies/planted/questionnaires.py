"""Questionnaires: answers with planted points beyond twins, through the variance and verdicts of
the family."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from evenruler.instruments.questionnaires.diagnose.headlines import placebo_contrast
from evenruler.measurement.figures import Verdict
from studies.planted.populations import (
    DENIALS,
    JUDGED,
    Case,
    Family,
    Random,
    Row,
    Truth,
    judge_figures,
)

Floats = NDArray[np.float64]

SMALLEST = 0.5
"""Points of the answer scale."""

TELLS = 0.001
"""P of terms dealt anew: ill is told from well, which is the worst case for a false effect beyond
twins."""

TWINS = 3


@dataclass(frozen=True)
class Answers:
    """A population of answers, in points; of the variance of GAD-7 on three fits (items .96, fits
    .10, rest .05)."""

    items: int = 7
    fits: int = 3
    beyond: float = 0.0
    """Points beyond twins."""
    level: float = 1.0
    """What twins are answered."""
    of_items: float = 0.95
    """SD of what an item is beyond its twins."""
    of_twins: float = 0.3
    """SD of a twin within its item."""
    of_fits: float = 0.3
    """SD of a fit for all items; a single fit is taken as it is."""
    noise: float = 0.2
    """SD of an answer of a fit."""

    def draw(self, random: Random) -> tuple[Floats, Floats]:
        """[fits, items] answers, and means over the twins of each item."""
        fits = random.normal(
            0,
            self.of_fits,
            (self.fits, 1),
        ) * (self.fits > 1)
        plain = self.level + random.normal(
            0,
            1,
            (1, self.items),
        )
        items = (
            plain
            + self.beyond
            + fits
            + random.normal(
                0,
                self.of_items,
                (1, self.items),
            )
        )
        twins = plain + random.normal(
            0,
            self.of_twins / TWINS**0.5,
            (1, self.items),
        )
        items = items + random.normal(
            0,
            self.noise,
            (self.fits, self.items),
        )
        noise = random.normal(
            0,
            self.noise / TWINS**0.5,
            (self.fits, self.items),
        )
        return items, twins + noise


def _judge_draw(population: Answers, truth: Truth, seed: int) -> Row:
    items, twins = population.draw(np.random.default_rng(seed))
    least = min(population.items, 6)
    return judge_figures(
        [
            (
                placebo_contrast(items, twins, TWINS, TELLS, SMALLEST, least),
                truth,
            )
        ]
    )


def _make_case(name: str, population: Answers, truth: Truth) -> Case:
    return Case(f"questionnaires, {name}", partial(_judge_draw, population, truth), share=2)


NOTHING = Truth(None, 0, Verdict.NOT_SPECIFIC, (Verdict.EFFECT,))
"""Twins are answered as much: with terms told apart that is `not specific`, and `no effect` is as
true."""


SIZES = ((7, 3), (13, 3), (20, 1))
"""Items and fits."""


def _list_cases() -> Iterable[Case]:
    for items, fits in SIZES:
        population = Answers(items, fits)
        name = f"{items} items, {fits} fit{'s' * (fits > 1)}"
        yield _make_case(f"{name}, nothing", population, NOTHING)
        for size in (0.5, 1.0):
            truth = Truth(None, size, Verdict.EFFECT, DENIALS)
            planted = replace(population, beyond=size, level=0.0)
            yield _make_case(
                f"{name}, {size:g} of a point",
                planted,
                truth,
            )
    odd = Answers(7, 3, of_items=0.3, of_twins=1.0)
    yield _make_case("7 items, twins vary thrice as much as items", odd, NOTHING)


QUESTIONNAIRES = Family("questionnaires", JUDGED, _list_cases)

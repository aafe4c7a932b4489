"""Questionnaires: answers with planted points beyond twins, through the variance and verdicts of the family."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from evenruler.instruments.questionnaires.diagnose.headlines import beyond
from evenruler.measurement.facets import Estimate, Facet, Kept, Paired, crossed
from evenruler.measurement.verdicts import Confirmatory, Verdict, confirmatory
from tests.performance.planted import DENIALS, JUDGED, Case, Family, Random, Row, Truth, told

Floats = NDArray[np.float64]

SMALLEST = 0.5
"""Points of the answer scale."""

TELLS = 0.001
"""P of terms dealt anew: ill is told from well, which is the worst case for a false effect beyond twins."""


@dataclass(frozen=True)
class Answers:
    """A population of answers, in points."""

    items: int = 7
    fits: int = 1
    wordings: int = 3
    """Of an item, and as many twins."""
    beyond: float = 0.0
    """Points beyond twins."""
    level: float = 1.0
    """What twins are answered."""
    of_wordings: float = 0.7
    """SD of a wording within its item, and of a twin."""
    of_twins: float = 0.7
    of_fits: float = 0.3
    """SD of a fit for all items; a single fit is taken as it is."""
    of_items: float = 0.0
    """SD of what an item is beyond its twins, where items could have been others."""
    noise: float = 0.2
    """SD of an answer of a fit."""

    def drawn(self, random: Random) -> tuple[Floats, Floats]:
        """[fits, items, wordings] answers, and those to twins."""
        shape = (self.fits, self.items, self.wordings)
        fit = random.normal(0, self.of_fits, (self.fits, 1, 1)) * (self.fits > 1)
        item = random.normal(0, 1, (1, self.items, 1))
        item = item - item.mean()  # so that twins of these items are answered `level`
        own = self.beyond + fit + random.normal(0, self.of_items, (1, self.items, 1))
        own = own + random.normal(0, self.of_wordings, (1, *shape[1:])) + random.normal(0, self.noise, shape)
        twins = random.normal(0, self.of_twins, (1, *shape[1:])) + random.normal(0, self.noise, shape)
        return self.level + item + own, self.level + item + twins


def _fixed(of: Answers, truth: Truth, seed: int) -> Row:
    """As the family has it: the items are the scale. Its figure is what is beyond twins, so that there is no other."""
    own, twins = of.drawn(np.random.default_rng(seed))
    figure = beyond(own, twins, TELLS, SMALLEST, min(of.items, 6))
    return told([(figure, truth)])


def _random(of: Answers, truth: Truth, seed: int) -> Row:
    """Items could have been others: what no verdict of the family says, by the variance of the scheme."""
    own, twins = (x.mean(axis=2) for x in of.drawn(np.random.default_rng(seed)))
    facets = [Facet.of(of.items), *[Facet.of(of.fits)] * (of.fits > 1)]

    def estimate(of_own: float, of_twins: float) -> Estimate:
        scores = of_own * own - of_twins * twins

        def mean(items: Kept, fits: Kept = np.ones(1, bool)) -> float:  # noqa: B008
            return float(scores[fits][:, items].mean())

        return crossed(mean, facets)

    beside = Paired(float(twins.mean()), estimate(1, 1), estimate(0.5, 1))
    figure: Confirmatory = confirmatory(
        "beyond twins", "items", {"items": of.items}, estimate(1, 0), TELLS, beside, SMALLEST
    )
    return told([(figure, truth)])


NOTHING = Truth(None, 0, Verdict.NOT_SPECIFIC, (Verdict.EFFECT,))
"""Twins are answered as much: with terms told apart that is `not specific`, and `no effect` is as true."""


def _there(size: float) -> Truth:
    """With twins that are answered nothing."""
    return Truth(None, size, Verdict.EFFECT, DENIALS)


def _case(name: str, judged: Callable[[Answers, Truth, int], Row], of: Answers, truth: Truth) -> Case:
    return Case(f"questionnaires, {name}", partial(judged, of, truth), share=2)


def _cases() -> Iterable[Case]:
    for items in (7, 13):
        for fits in (1, 3):
            of = Answers(items, fits)
            name = f"items fixed, {items} x 3 wordings x 3 twins, {fits} fit{'s' * (fits > 1)}"
            yield _case(f"{name}, nothing", _fixed, of, NOTHING)
            for size in (0.5, 1.0):
                yield _case(f"{name}, {size:g} points", _fixed, replace(of, beyond=size, level=0.0), _there(size))
    yield _case("items fixed, 7 x 6 x 6, 3 fits, nothing", _fixed, Answers(7, 3, wordings=6), NOTHING)
    twice = Answers(7, 1, of_wordings=1.0, of_twins=0.5)
    yield _case("items fixed, 7 x 3 x 3, 1 fit, wordings vary twice as much as twins, nothing", _fixed, twice, NOTHING)
    for items in (7, 9, 13):
        of = Answers(items, 3, of_wordings=0.3, of_twins=0.3, of_items=0.95)
        yield _case(f"items random, {items} x 3 fits, nothing", _random, of, NOTHING)
        yield _case(f"items random, {items} x 3 fits, 1 point", _random, replace(of, beyond=1, level=0), _there(1))
    few = Answers(7, 3, of_wordings=0.3, of_twins=0.3, of_items=0.95)
    yield _case("items random, 7 x 3 fits, judged as if they were fixed, nothing", _fixed, few, NOTHING)


QUESTIONNAIRES = Family("questionnaires", JUDGED, _cases)

"""SAGED: scores and silence of concepts, through the shuffles, names, invented names and verdicts
of the family."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from evenruler.instruments.saged.declare import ALIKE, BY_ROLE, FAVOUR
from evenruler.instruments.saged.declare.settings import Disparities
from evenruler.instruments.saged.design import smallest_difference
from evenruler.instruments.saged.diagnose.deviation_tests import (
    by_role,
    max_deviation_test,
    nonresponse_test,
)
from evenruler.instruments.saged.diagnose.headlines import (
    ALIKE_POINTS,
    _Found,
    _Headline,
    _test_headline,
    _verdict_input,
)
from evenruler.measurement.figures import Verdict
from evenruler.measurement.verdicts import ValidityCheck, judge
from studies.planted.populations import DENIALS, Case, Family, Kind, Row

Floats = NDArray[np.float64]

SMALLEST = 0.3
"""SD of a reply: .10 of VADER's scale, on which it was .30 to .33."""

COLUMNS: Sequence[tuple[str, Kind]] = (
    ("covers all", "covers"),
    ("p below .05, falsely", "false"),
    ("names another", "false"),
    ("false effect", "false"),
    ("false denial", "false"),
    ("names it", "power"),
    ("right verdict", "power"),
)

BASE = 0.05
"""Share of silence."""


@dataclass(frozen=True)
class Concepts:
    """A population: scores of replies by root item, concept and role, in SD of a reply."""

    roots: int = 20
    concepts: int = 6
    roles: int = 1
    kind: Literal["favour", "role", "silence"] = "favour"
    apart: float = 0.0
    """How far the first concept lies from the others; where it is of a role, in the first, and as
    far the other way in the second."""
    of_names: float = 0.0
    """SD of what names are worth, of real concepts."""
    of_invented: float = 0.0
    invented: int = 12
    silent: float = BASE
    """Share of silence of the first concept."""
    skewed: bool = False
    level: float = 0.05
    """Of p; .05 over the figures that it is corrected for."""
    shuffles: int = 199
    """Where `level` is low, few of them cost power; 2,000 ship."""

    @property
    def settings(self) -> Disparities:
        """Of a diagnosis."""
        return Disparities.model_validate(
            {"permutations": 9, "headline_permutations": self.shuffles}
        )

    def drawn(self, random: np.random.Generator) -> tuple[Floats, Floats, Floats]:
        """Scores of real and of invented concepts, and the truth of the real: less the mean of
        all."""
        if self.kind == "silence":
            share = np.where(np.arange(self.concepts) == 0, self.silent, BASE)
            real = (random.random((self.roots, self.concepts)) < share).astype(float)
            other = (random.random((self.roots, self.invented)) < BASE).astype(float)
            return real, other, (share - share.mean())[None]
        size = (self.roles, self.roots, self.concepts + self.invented)
        noise = random.exponential(1, size) if self.skewed else random.normal(0, 1, size)
        noise = noise + random.normal(0, 1, (1, self.roots, 1))
        truth = np.tile(random.normal(0, self.of_names, self.concepts), (self.roles, 1))
        truth[0, 0] += self.apart
        if self.kind == "role":
            truth[1, 0] -= self.apart
        real = noise[..., : self.concepts] + truth[:, None]
        other = noise[..., self.concepts :] + random.normal(0, self.of_invented, self.invented)
        truth = truth - truth.mean(axis=1, keepdims=True)
        if self.kind == "role":
            return real, other, truth - truth.mean(axis=0)
        return real.mean(axis=0), other.mean(axis=0), truth.mean(axis=0, keepdims=True)

    def headline(self, real: Floats, other: Floats) -> _Headline:
        """As the family makes it."""
        figure = FAVOUR, "vader", "higher", max_deviation_test
        smallest, roles = SMALLEST, []
        if self.kind == "role":
            figure, roles = (BY_ROLE, "vader", "higher", by_role), _numbers(self.roles)
        elif self.kind == "silence":
            figure, smallest = (ALIKE, "silence", "lower", nonresponse_test), ALIKE_POINTS
        names, roots = _numbers(self.concepts), _numbers(self.roots)
        return _Headline(
            *figure, real, names, other, _numbers(self.invented), roots, smallest, roles
        )

    def test_and_judge(self, real: Floats, other: Floats, seed: int) -> tuple[_Found, Verdict]:
        """What the test finds, and the verdict."""
        headline = self.headline(real, other)
        test = _test_headline(headline, self.settings, self.level, seed)
        figure = _verdict_input(headline, test, min(self.roots, 12))
        (judged,) = judge([(figure, ValidityCheck())])
        return test, Verdict(str(judged.verdict))


def _numbers(n: int) -> list[str]:
    return [str(number) for number in range(n)]


def _judge_draw(population: Concepts, right: Verdict | None, seed: int) -> Row:
    """By `COLUMNS`. Whoever is not planted is named falsely; with names of SD 0 others are
    alike."""
    real, other, truth = population.drawn(np.random.default_rng(seed))
    test, verdict = population.test_and_judge(real, other, seed)
    assert test.real is not None
    is_planted = population.apart or population.silent != BASE
    named = {concept for _, concept in test.named}
    differ = is_planted or population.of_names
    smallest = ALIKE_POINTS if population.kind == "silence" else SMALLEST
    is_far = float(np.abs(truth).max()) >= smallest - 1e-9
    beyond_names = is_planted or population.of_names > population.of_invented
    covered = (test.real.low <= truth) & (truth <= test.real.high)
    false_names = named - {0} if is_planted else named
    return (
        bool(covered.all()),
        None if differ else test.real.p_null < population.level,
        None if population.of_names else bool(false_names),
        None if beyond_names else verdict == Verdict.EFFECT,
        verdict in DENIALS if is_far else None,
        (0 in named) if is_planted else None,
        None if right is None else verdict == right,
    )


def _case(
    name: str, population: Concepts, right: Verdict | None = Verdict.EFFECT, share: float = 1.0
) -> Case:
    size = f"{population.roots} x {population.concepts}"
    return Case(f"saged, {size}, {name}", partial(_judge_draw, population, right), share)


def _cases() -> Iterable[Case]:
    sizes = ((20, 6, 1.5), (20, 21, 1.0), (75, 21, 0.5))
    for roots, concepts, share in sizes:
        equal = Concepts(roots, concepts)
        yield _case("equal", equal, Verdict.NO_EFFECT, share)
        for off in (0.5, 1.0):
            yield _case(f"one concept {off} SD off", replace(equal, apart=off), share=share)
        yield _case("equal, skewed replies", replace(equal, skewed=True), Verdict.NO_EFFECT, share)
    cancels = Concepts(20, 6, roles=3, kind="role")
    yield _case("three roles, nothing", cancels, Verdict.NO_EFFECT)
    yield _case("three roles, .8 SD that cancels: role x concept", replace(cancels, apart=0.8))
    yield Case("saged, 20 x 6, the same: favour", _main_effect)
    for roots, share in ((20, 1.0), (75, 0.25)):
        for k in (12, 20):
            as_much = Concepts(roots, 21, of_names=0.3, of_invented=0.3, invented=k)
            yield _case(f"{k} invented names vary as much (.3 SD)", as_much, None, share)
            less = replace(as_much, of_invented=0.1)
            yield _case(f"real names vary .3 SD, {k} invented .1", less, share=share)
    for roots, share in ((20, 1.5), (75, 0.5)):
        quiet = Concepts(roots, 21, kind="silence")
        yield _case("silence of .05 of all", quiet, Verdict.NO_EFFECT, share)
        yield _case("one always silent", replace(quiet, silent=1.0), share=share)
        yield _case("one silent in .30, others in .05", replace(quiet, silent=0.30), share=share)
        bound = BASE + ALIKE_POINTS * 21 / 20
        yield _case("one silent at the bound of alike", replace(quiet, silent=bound), share=share)
    for roots, concepts, share in sizes:
        level = 0.05 / 3
        size = smallest_difference(roots, concepts, 1, level)  # from the mean of all
        apart = size * concepts / (concepts - 1)
        planned = Concepts(roots, concepts, apart=apart, level=level, shuffles=999)
        name = f"what the plan detects ({size:.2f} SD, of three figures)"
        yield _case(name, planned, None, share)


def _main_effect(seed: int) -> Row:
    """What cancels over roles, judged by the mean over roles."""
    planted = Concepts(20, 6, roles=3, kind="role", apart=0.8)
    real, other, _ = planted.drawn(np.random.default_rng(seed))
    mean = replace(planted, kind="favour", apart=0.0)
    test, verdict = mean.test_and_judge(real.mean(axis=0), other.mean(axis=0), seed)
    assert test.real is not None
    is_found = test.real.p_null < 0.05
    return None, is_found, bool(test.named), verdict == Verdict.EFFECT, None, None, None


SAGED = Family("saged", COLUMNS, _cases)

"""SAGED: scores and silence of concepts, through the shuffles, names, invented names and verdicts
of the family."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from evenruler.instruments.saged.declare import FAVOUR, FAVOUR_BY_ROLE, NONRESPONSE
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


HEADLINES = {
    "favour": (FAVOUR, "vader", "higher", max_deviation_test),
    "role": (FAVOUR_BY_ROLE, "vader", "higher", by_role),
    "silence": (NONRESPONSE, "silence", "lower", nonresponse_test),
}
"""By kind: figure, feature, which end is better, and the family's test."""


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

    def draw(self, random: np.random.Generator) -> tuple[Floats, Floats, Floats]:
        """Scores of real and of invented concepts, and the truth of the real: less the mean of
        all."""
        if self.kind == "silence":
            return self._draw_silence(random)
        size = (self.roles, self.roots, self.concepts + self.invented)
        noise = random.exponential(1, size) if self.skewed else random.normal(0, 1, size)
        noise = noise + random.normal(
            0,
            1,
            (1, self.roots, 1),
        )
        truth = np.tile(
            random.normal(0, self.of_names, self.concepts),
            (self.roles, 1),
        )
        truth[0, 0] += self.apart
        if self.kind == "role":
            truth[1, 0] -= self.apart
        real = noise[..., : self.concepts] + truth[:, None]
        invented = noise[..., self.concepts :]
        invented = invented + random.normal(0, self.of_invented, self.invented)
        truth = truth - truth.mean(axis=1, keepdims=True)
        if self.kind == "role":
            return real, invented, truth - truth.mean(axis=0)
        return real.mean(axis=0), invented.mean(axis=0), truth.mean(axis=0, keepdims=True)

    def _draw_silence(self, random: np.random.Generator) -> tuple[Floats, Floats, Floats]:
        share = np.full(self.concepts, BASE)
        share[0] = self.silent
        is_silent = random.random((self.roots, self.concepts)) < share
        is_invented_silent = random.random((self.roots, self.invented)) < BASE
        truth = (share - share.mean())[None]
        return is_silent.astype(float), is_invented_silent.astype(float), truth

    def judge_scores(self, real: Floats, invented: Floats, seed: int) -> tuple[_Found, Verdict]:
        """What the family's test finds, and the verdict."""
        smallest = ALIKE_POINTS if self.kind == "silence" else SMALLEST
        headline = _Headline(
            *HEADLINES[self.kind],
            scores=real,
            concepts=_number_names(self.concepts),
            invented=invented,
            names=_number_names(self.invented),
            roots=_number_names(self.roots),
            smallest=smallest,
            roles=_number_names(self.roles) if self.kind == "role" else [],
        )
        settings = {"permutations": 9, "headline_permutations": self.shuffles}
        disparities = Disparities.model_validate(settings)
        test = _test_headline(headline, disparities, self.level, seed)
        figure = _verdict_input(headline, test, min(self.roots, 12))
        (judged,) = judge([(figure, ValidityCheck())])
        return test, Verdict(str(judged.verdict))


def _number_names(n: int) -> list[str]:
    return [str(number) for number in range(n)]


def _judge_draw(population: Concepts, right: Verdict | None, seed: int) -> Row:
    """By `COLUMNS`. Whoever is not planted is named falsely; with names of SD 0 others are
    alike."""
    real, invented, truth = population.draw(np.random.default_rng(seed))
    test, verdict = population.judge_scores(real, invented, seed)
    assert test.real is not None
    is_planted = bool(population.apart) or population.silent != BASE
    named = {concept for _, concept in test.named}
    false_names = named - {0} if is_planted else named
    smallest = ALIKE_POINTS if population.kind == "silence" else SMALLEST
    is_far = float(np.abs(truth).max()) >= smallest - 1e-9
    differ = is_planted or population.of_names
    beyond_names = is_planted or population.of_names > population.of_invented
    covered = (test.real.low <= truth) & (truth <= test.real.high)
    return (
        bool(covered.all()),
        None if differ else test.real.p_null < population.level,
        None if population.of_names else bool(false_names),
        None if beyond_names else verdict == Verdict.EFFECT,
        verdict in DENIALS if is_far else None,
        (0 in named) if is_planted else None,
        None if right is None else verdict == right,
    )


def _make_case(
    name: str, population: Concepts, right: Verdict | None = Verdict.EFFECT, share: float = 1.0
) -> Case:
    size = f"{population.roots} x {population.concepts}"
    return Case(
        f"saged, {size}, {name}",
        partial(_judge_draw, population, right),
        share,
    )


SIZES = ((20, 6, 1.5), (75, 21, 0.5))
"""Root items, concepts, and the share of the draws."""


def _list_cases() -> Iterable[Case]:
    for roots, concepts, share in SIZES:
        equal = Concepts(roots, concepts)
        yield _make_case("equal", equal, Verdict.NO_EFFECT, share)
        yield _make_case("one concept 1 SD off", replace(equal, apart=1.0), share=share)
        # What the plan detects, of three figures; from the mean of all.
        level = 0.05 / 3
        size = smallest_difference(roots, concepts, 1, level)
        apart = size * concepts / (concepts - 1)
        planned = replace(equal, apart=apart, level=level, shuffles=999)
        yield _make_case(
            f"what the plan detects ({size:.2f} SD)",
            planned,
            None,
            share,
        )
    skewed = Concepts(20, 6, skewed=True)
    yield _make_case("equal, skewed replies", skewed, Verdict.NO_EFFECT)
    cancels = Concepts(20, 6, roles=3, kind="role")
    yield _make_case("three roles, nothing", cancels, Verdict.NO_EFFECT)
    yield _make_case("three roles, .8 SD that cancels", replace(cancels, apart=0.8))
    as_much = Concepts(20, 21, of_names=0.3, of_invented=0.3)
    yield _make_case("invented names vary as much (.3 SD)", as_much, None)
    yield _make_case("invented names vary less (.1 SD)", replace(as_much, of_invented=0.1))
    quiet = Concepts(20, 21, kind="silence")
    yield _make_case("silence of .05 of all", quiet, Verdict.NO_EFFECT)
    yield _make_case("one silent in .30, others in .05", replace(quiet, silent=0.30))
    bound = BASE + ALIKE_POINTS * 21 / 20
    yield _make_case("one silent at the bound of alike", replace(quiet, silent=bound))


SAGED = Family("saged", COLUMNS, _list_cases)

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
    _Headline,
    _test_headline,
    _verdict_input,
)
from evenruler.measurement.figures import Verdict
from evenruler.measurement.verdicts import ValidityCheck, judge
from tests.performance.planted import DENIALS, Case, Family, Kind, Row

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
    kind: Literal["favour", "role", "nonresponse_test"] = "favour"
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
        truth = np.zeros((self.roles, self.concepts)) + random.normal(
            0, self.of_names, self.concepts
        )
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
        names, invented, roots = (
            [str(number) for number in range(n)] for n in (self.concepts, self.invented, self.roots)
        )
        if self.kind == "silence":
            return _Headline(
                ALIKE,
                "silence",
                "lower",
                nonresponse_test,
                real,
                names,
                other,
                invented,
                roots,
                ALIKE_POINTS,
            )
        roles = [str(number) for number in range(self.roles)] if self.kind == "role" else []
        figure, find = (BY_ROLE, by_role) if roles else (FAVOUR, max_deviation_test)
        return _Headline(
            figure, "vader", "higher", find, real, names, other, invented, roots, SMALLEST, roles
        )


def _told(of: Concepts, right: Verdict | None, seed: int) -> Row:
    """By `COLUMNS`. Whoever is not planted is named falsely; with names of SD 0 others are
    alike."""
    real, other, truth = of.drawn(np.random.default_rng(seed))
    found = _test_headline(of.headline(real, other), of.settings, of.level, seed)
    assert found.real is not None
    (figure,) = judge(
        [(_verdict_input(of.headline(real, other), found, min(of.roots, 12)), ValidityCheck())]
    )
    verdict = Verdict(str(figure.verdict))
    there, whom = of.apart or of.silent != BASE, {concept for _, concept in found.named}
    some = there or of.of_names
    far = float(np.abs(truth).max()) >= (ALIKE_POINTS if of.kind == "silence" else SMALLEST) - 1e-9
    beyond_names = there or of.of_names > of.of_invented
    return (
        bool(((found.real.low <= truth) & (truth <= found.real.high)).all()),
        None if some else found.real.p_null < of.level,
        None if of.of_names else bool(whom - {0} if there else whom),
        None if beyond_names else verdict == Verdict.EFFECT,
        verdict in DENIALS if far else None,
        (0 in whom) if there else None,
        None if right is None else verdict == right,
    )


def _case(
    name: str, of: Concepts, right: Verdict | None = Verdict.EFFECT, share: float = 1.0
) -> Case:
    return Case(f"saged, {of.roots} x {of.concepts}, {name}", partial(_told, of, right), share)


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
        of = Concepts(
            roots, concepts, apart=size * concepts / (concepts - 1), level=level, shuffles=999
        )
        yield _case(f"what the plan detects ({size:.2f} SD, of three figures)", of, None, share)


def _main_effect(seed: int) -> Row:
    """What cancels over roles, judged by the mean over roles."""
    of = Concepts(20, 6, roles=3, kind="role", apart=0.8)
    real, other, _ = of.drawn(np.random.default_rng(seed))
    mean = replace(of, kind="favour", apart=0.0)
    one = mean.headline(real.mean(axis=0), other.mean(axis=0))
    found = _test_headline(one, of.settings, 0.05, seed)
    assert found.real is not None
    (figure,) = judge([(_verdict_input(one, found, 12), ValidityCheck())])
    return (
        None,
        found.real.p_null < 0.05,
        bool(found.named),
        figure.verdict == Verdict.EFFECT,
        None,
        None,
        None,
    )


SAGED = Family("saged", COLUMNS, _cases)

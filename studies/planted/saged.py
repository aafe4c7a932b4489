"""SAGED: scores of concepts and known names, through the randomisations and verdicts of the
family."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal
from unittest.mock import patch

import numpy as np
import pandas as pd

from evenruler.instruments.saged.diagnose import deviation_tests, headlines
from evenruler.instruments.saged.diagnose.headlines import (
    ConceptFindings,
    ConceptScores,
    find_outliers,
    headline_test,
)
from evenruler.measurement.figures import Verdict
from evenruler.measurement.inputs import Floats
from evenruler.measurement.verdicts import judge
from studies.planted.populations import Case, Family, Kind, Row

REPLY_SD = 0.2
"""SD of sentiment, whose range is 1, among replies of small models about one name to one root
item."""

BOUND = 0.1

FEWER = {"randomisations": 399}
"""Of labels; 1,999 ship."""

COLUMNS: tuple[tuple[str, Kind], ...] = (
    ("covers all", "covers"),
    ("p below .05, falsely", "false"),
    ("false detected", "false"),
    ("names another", "false"),
    ("false below", "false"),
    ("detected", "power"),
    ("below", "power"),
)


@dataclass(frozen=True)
class Names:
    """A population: scores of replies by root item and name, in the range of sentiment."""

    roots: int = 20
    concepts: int = 20
    n_known: int = 0
    off: float = 0.0
    """How far the first concept lies from the others."""
    of_names: float = 0.0
    """SD of what names are worth, of concepts and known names alike."""
    tails: Literal["normal", "t(3)", "one odd name", "skewed"] = "normal"
    """Of what names are worth; where they are worth nothing, of replies."""
    is_declared: bool = False
    """Whether the first concept is the one that was declared."""
    persona: float | None = None
    """How far the persona moves the second concept."""

    def draw(self, random: np.random.Generator) -> tuple[ConceptScores, Floats]:
        """Scores, and the truth of the concepts: less the mean of all."""
        n_names = self.concepts + self.n_known
        shape = (self.roots, n_names)
        noise = random.normal(0, 1, shape) if self.of_names else self._draw(random, shape)
        worth = self.of_names * self._draw(random, (n_names,))
        worth[0] += self.off
        by_root = random.normal(0, 1, (self.roots, 1))
        scores = worth + REPLY_SD * (noise + by_root)
        scores -= scores.mean(axis=1, keepdims=True)
        names = [f"n{number:03d}" for number in range(n_names)]
        table = pd.DataFrame(scores, columns=names)
        persona = None
        if self.persona is not None:
            noise_of_persona = REPLY_SD * random.normal(0, 1, self.roots)
            moved = table["n001"] + noise_of_persona - self.persona
            persona = moved.rename("n001")
        scored = ConceptScores(
            table,
            concepts=names[: self.concepts],
            reference=names[self.concepts :],
            bound=BOUND,
            declared=names[0] if self.is_declared else None,
            persona=persona,
        )
        truth = worth[: self.concepts]
        return scored, truth - truth.mean()

    def _draw(self, random: np.random.Generator, shape: tuple[int, ...]) -> Floats:
        """Numbers of SD 1 by `tails`."""
        if self.tails == "t(3)":
            return random.standard_t(3, shape) / 3**0.5
        if self.tails == "skewed":
            return random.exponential(1, shape) - 1
        numbers = random.normal(0, 1, shape)
        if self.tails == "one odd name":
            numbers[..., -1] += 5
        return numbers


def _judge_draw(population: Names, seed: int) -> Row:
    """By `COLUMNS`. Where names are worth something, concepts differ, and only a declared one can
    be detected falsely."""
    scored, truth = population.draw(np.random.default_rng(seed))
    findings = ConceptFindings(None)
    max_test = partial(deviation_tests.max_deviation_test, **FEWER)
    step_down = partial(deviation_tests.step_down_max_t, **FEWER)
    with (
        patch.object(headlines, "max_deviation_test", max_test),
        patch.object(headlines, "step_down_max_t", step_down),
    ):
        if not population.is_declared:
            findings = find_outliers(scored, seed)
        test = headline_test(scored, findings, seed)
    verdict = Verdict(str(judge(test).verdict))
    assert test.p is not None
    is_worth = population.of_names > 0 or population.tails == "one odd name"
    is_null = population.off == 0 and (population.is_declared or not is_worth)
    is_covered = None
    if findings.deviations is not None:
        is_above_low = findings.deviations.low <= truth
        is_covered = bool((is_above_low & (truth <= findings.deviations.high)).all())
    differing = set(findings.named) - {"n000"} if population.off else set(findings.named)
    is_far = float(np.abs(truth).max()) >= BOUND - 1e-9
    false_detected = verdict.is_detected if is_null else None
    false_below = verdict.is_below if is_far else None
    below = None if is_far or population.persona is None else verdict.is_below
    return (
        is_covered,
        test.p < 0.05 if is_null else None,
        false_detected,
        None if is_worth else bool(differing),
        false_below,
        None if is_null else verdict.is_detected,
        below,
    )


def _list_cases() -> Iterable[Case]:
    for roots, share in ((6, 1.0), (20, 1.0), (60, 1.0)):
        equal = Names(roots)
        cases = {
            "equal": equal,
            "equal, replies t(3)": replace(equal, tails="t(3)"),
            "equal, replies skewed": replace(equal, tails="skewed"),
            "equal, a persona moves .3": replace(equal, persona=0.3),
            "one concept .1 off": replace(equal, off=0.1 * 20 / 19),
            "one concept .2 off": replace(equal, off=0.2 * 20 / 19),
            "one concept .45 off": replace(equal, off=0.45 * 20 / 19),
            "one concept at the bound, a persona": replace(equal, off=BOUND * 20 / 19, persona=0.3),
        }
        for name, population in cases.items():
            is_power = population.off > 0 or population.persona is not None
            yield _make_case(name, population, share / 4 if is_power else share)
    yield _make_case("equal, a persona moves .3", Names(150, persona=0.3), 0.05)
    for tails in ("normal", "t(3)", "skewed"):
        ranked = Names(20, 20, 39, of_names=0.06, tails=tails, is_declared=True)
        yield _make_case(f"declared, names vary .06, {tails}", ranked)
    ranked = Names(20, 20, 39, of_names=0.03, is_declared=True)
    for off in (0.1, 0.2):
        yield _make_case(f"declared, names vary .03, {off} off", replace(ranked, off=off))
    yield _make_case("declared, one known name odd", replace(ranked, tails="one odd name"))


def _make_case(name: str, population: Names, share: float = 1.0) -> Case:
    size = f"{population.roots} x {population.concepts}"
    if population.is_declared:
        size = f"{population.roots} x 1 of {population.n_known + 1}"
    return Case(f"saged, {size}, {name}", partial(_judge_draw, population), share)


SAGED = Family("saged", COLUMNS, _list_cases)

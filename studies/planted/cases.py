"""Studies with a planted truth, and what the judge makes of them."""

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

import numpy as np

from evenruler.measurement.figures import Verdict
from evenruler.measurement.inputs import Floats
from evenruler.measurement.resampling import Interval
from evenruler.measurement.verdicts import HeadlineTest, PositiveControl, judge
from tests.text_tables import yaml_of_text

Random = np.random.Generator

Numbers = Callable[..., Floats]
"""Draws of mean 0 and variance 1: from a generator and a shape."""


def normal(random: Random, *shape: int) -> Floats:
    return random.normal(size=shape)


def heavy(random: Random, *shape: int) -> Floats:
    """Student's t with 3 degrees of freedom."""
    return random.standard_t(3, size=shape) / 3**0.5


def skewed(random: Random, *shape: int) -> Floats:
    """Exponential."""
    return random.exponential(size=shape) - 1


DISTRIBUTIONS: dict[str, Numbers] = {"heavy": heavy, "skewed": skewed}
Study = TypeVar("Study", bound=Any)


def read_studies(plain: Study, table: str) -> dict[str, Study]:
    """Return studies by what is planted: a line each of YAML says what they have other than a plain
    one."""
    studies = {}
    for planted, changes in yaml_of_text(table).items():
        if "numbers" in changes:
            changes["numbers"] = DISTRIBUTIONS[changes["numbers"]]
        studies[planted] = replace(plain, **changes)
    return studies


@dataclass(frozen=True)
class Outcome:
    """What the verdict on one study came to; None where a question does not apply."""

    false_detected: bool | None = None
    """`detected`, and nothing is there."""
    false_below: bool | None = None
    """`below`, and the truth is at the bound or beyond."""
    detected: bool | None = None
    """`detected`, and something is there."""
    covers: bool | None = None
    """The interval holds the truth."""
    names_another: bool | None = None
    """Somebody is named who is not apart."""


OUTCOMES = [field.name for field in fields(Outcome)]


@dataclass(frozen=True)
class Case:
    """Studies of one kind."""

    family: str
    planted: str
    draw: Callable[[Random], Outcome]
    model: str = ""
    """Whose variances they have."""
    share: float = 1.0
    """Of the draws: what takes long is drawn less often."""

    @property
    def name(self) -> str:
        """All of its name."""
        return " ".join(filter(None, (self.family, self.model, self.planted)))

    def draw_studies(self, first: int, n: int) -> list[Outcome]:
        """The studies of this case from the `first`-th on: the same whenever they are drawn."""
        seed = zlib.crc32(self.name.encode())
        seeds = [[seed, place] for place in range(first, first + n)]
        return [self.draw(np.random.default_rng(of_study)) for of_study in seeds]


def share_of(outcomes: Sequence[Outcome], name: str) -> float:
    """The share of outcomes, of those that have it."""
    stated = [getattr(outcome, name) for outcome in outcomes]
    return float(np.mean([outcome for outcome in stated if outcome is not None]))


def judge_study(test: HeadlineTest, planted: float, truth: float | None = None) -> Outcome:
    """What the judge says of a study.

    `planted`: the effect that was planted, in the unit of the figure; `truth`: what the interval
    should hold, where that is another number, as where a drawn subject is itself the truth.
    """
    verdict = Verdict(str(judge(test).verdict))
    held = planted if truth is None else truth
    covers = test.effect is not None and test.effect.low <= held <= test.effect.high
    is_beyond = abs(planted) >= test.bound * (1 - 1e-9)
    return Outcome(
        false_detected=verdict.is_detected if planted == 0 else None,
        false_below=verdict.is_below if is_beyond else None,
        detected=verdict.is_detected if planted else None,
        covers=covers,
    )


def control_of(size: float) -> PositiveControl:
    """A positive control of some size that is detected, so that it stops no `below`."""
    interval = Interval(size, 0.8 * size, 1.2 * size)
    return PositiveControl("a planted control", interval, 0.001)

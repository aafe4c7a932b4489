"""What populations of a family are judged by: a row of outcomes a draw, and what becomes of them in
a table."""

import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import stats

from evenruler.measurement.figures import Verdict
from evenruler.measurement.resampling import Interval
from evenruler.measurement.verdicts import HeadlineTest, ValidityCheck, judge

Random = np.random.Generator

Kind = Literal["covers", "false", "power"]

LEAST, MOST = 0.92, 0.98
"""Of intervals of nominally .95, the share that may hold the truth."""

ALPHA = 0.05

SEEDS = 1_000_000
"""Of a case; its first is a multiple."""

Row = tuple[float | None, ...]
"""What one draw says under each column, 1 where it holds or the share of headlines of which it
does; None where that says nothing of this case."""


@dataclass(frozen=True)
class Case:
    """A population, and what one draw of it comes to."""

    name: str
    drawn: Callable[[int], Row]
    """From a seed."""
    share: float = 1.0
    """Of the draws: what takes long is drawn less often."""


@dataclass(frozen=True)
class Family:
    """A table."""

    name: str
    columns: Sequence[tuple[str, Kind]]
    cases: Callable[[], Iterable[Case]]

    def head(self) -> str:
        """Of the table."""
        heads = ["planted", *(heading for heading, _ in self.columns), "draws"]
        return f"| {' | '.join(heads)} |\n|{' --- |' * len(heads)}"

    def row(self, case: Case, draws: int) -> str:
        """A case in shares of draws."""
        n = max(1, round(draws * case.share))
        begin = SEEDS * zlib.crc32(case.name.encode())  # so that rows err each by itself
        outcomes = zip(*map(case.drawn, range(begin, begin + n)), strict=True)
        kinds = [kind for _, kind in self.columns]
        cells = map(_cell, outcomes, kinds)
        return f"| {case.name} | {' | '.join(cells)} | {n} |"


def _cell(outcomes: Row, kind: Kind) -> str:
    stated = [outcome for outcome in outcomes if outcome is not None]
    if not stated:
        return ""
    share = sum(stated) / len(stated)
    if kind == "covers":
        return _marked(f"{share:.3f}", not LEAST <= share <= MOST)
    if kind == "power":
        return f"{share:.3f}"
    interval = stats.binomtest(int(sum(stated)), len(stated)).proportion_ci(method="wilson")
    low = float(interval.low)
    return _marked(f"{share:.3f} ({low:.3f})", low > ALPHA)


def _marked(cell: str, fails: bool) -> str:
    return f"**{cell} FAILS**" if fails else cell


JUDGED: Sequence[tuple[str, Kind]] = (
    ("covers θ", "covers"),
    ("covers S", "covers"),
    ("false effect", "false"),
    ("false denial", "false"),
    ("right verdict", "power"),
)
"""Columns of `judge_figures`."""

DENIALS = (Verdict.NO_EFFECT, Verdict.NOT_SPECIFIC)


@dataclass(frozen=True)
class Truth:
    """What is true of a figure that was drawn."""

    effect: float | None
    """None where it has no one value."""
    specific: float | None
    right: Verdict | None
    """The verdict that it is to get; None where nothing is to be found."""
    wrong: tuple[Verdict, ...] = ()


def nothing(specific: float | None = 0.0, effect: float | None = 0.0) -> Truth:
    """There is no effect at all."""
    return Truth(effect, specific, Verdict.NO_EFFECT, (Verdict.EFFECT, Verdict.NOT_SPECIFIC))


def judge_figures(figures: Sequence[tuple[HeadlineTest, Truth]]) -> Row:
    """Of figures that are judged together, by `JUDGED`: coverage and verdict of the first, a false
    one of any.

    Args:
        figures: Of one instrument on one model, each with its truth.
    """
    judged = judge([(figure, ValidityCheck()) for figure, _ in figures])
    verdicts = [Verdict(str(figure.verdict)) for figure in judged]
    false: set[Verdict] = set()
    may_be: set[Verdict] = set()
    for verdict, (_, truth) in zip(verdicts, figures, strict=True):
        may_be |= {*truth.wrong}
        false |= {*truth.wrong} & {verdict}
    first, truth = figures[0]
    is_false_effect = Verdict.EFFECT in false if Verdict.EFFECT in may_be else None
    is_false_denial = bool(false & {*DENIALS}) if may_be & {*DENIALS} else None
    is_right = None if truth.right is None else verdicts[0] == truth.right
    coverage = holds(first.effect, truth.effect), holds(first.specific, truth.specific)
    return *coverage, is_false_effect, is_false_denial, is_right


def holds(span: Interval | None, truth: float | None) -> bool | None:
    """Whether an interval holds what is true."""
    return None if truth is None or span is None else span.low <= truth <= span.high

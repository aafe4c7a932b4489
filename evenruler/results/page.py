"""One self-contained page of results side by side: pictures are SVG in the page, no script, no network."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import jinja2
import pandas as pd

from evenruler.measurement.verdicts import Verdict
from evenruler.results.comparing import DIFFER, comparable
from evenruler.results.headlines import Cell, Headline, headlines
from evenruler.results.showing import HEAD, NO_VERDICT, difference_row, rows_of, title, warnings_of
from evenruler.results.store import Stored

MARGIN: Final = 3.0
"""Percent of the width that stay free beside the outermost tick."""

TICKS: Final = 5
"""Of an axis, at most one more."""


@dataclass(frozen=True)
class Drawn:
    """A figure of one result as it is drawn; places in percent of the width, None where there is no such thing."""

    name: str
    verdict: str
    why: str
    light: str
    said: str
    at: float | None
    low: float | None
    high: float | None
    control: float | None

    @property
    def described(self) -> str:
        """The picture in words."""
        return f"{self.name}: {self.said}"


@dataclass(frozen=True)
class Panel:
    """One figure of all results, on one axis."""

    heading: str
    part: str
    meaning: str
    rows: list[Drawn]
    ticks: list[tuple[float, str]]
    """Place in percent, and number."""


@dataclass(frozen=True)
class Row:
    """A comparison of two results."""

    cells: list[str]
    light: str


@dataclass(frozen=True)
class Shown:
    """One benchmark on the page."""

    title: str
    heading: str
    panels: list[Panel]
    rows: list[Row]
    warnings: list[str]
    """What speaks against the benchmark on a model."""
    notes: list[str]


def render(results: Sequence[Stored], comparisons: pd.DataFrame) -> str:
    """The page as HTML that opens from disk.

    Args:
        results: What was compared.
        comparisons: As `compare` gives them.
    """
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("evenruler.results", "."),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=True,
    )
    shown = [
        _shown(group, comparisons[comparisons["benchmark"] == group[0].result.benchmark.name])
        for group in comparable(results)
    ]
    return environment.get_template("page.html.j2").render(benchmarks=shown, head=HEAD, no_verdict=NO_VERDICT)


def _shown(group: Sequence[Stored], comparisons: pd.DataFrame) -> Shown:
    rows = rows_of(comparisons)
    return Shown(
        group[0].result.benchmark.title,
        title(group),
        [_panel(headline) for headline in headlines(group)],
        [Row(difference_row(row), _light_of(row)) for row in rows],
        warnings_of(group),
        sorted({row["note"] for row in rows if row["note"]}),
    )


def _light_of(row: dict[str, Any]) -> str:
    if row["verdict"] is None:
        return "told"
    if row["verdict"] == DIFFER:
        return "good"
    return "poor" if row["verdict"].startswith("unfit") else "weak"


def _panel(headline: Headline) -> Panel:
    axis = Axis.over([value for cell in headline.cells for value in _numbers(cell) if value is not None])
    rows = [_drawn(cell, axis) for cell in headline.cells]
    ticks = [(axis.place(tick), f"{tick:g}") for tick in axis.ticks]
    return Panel(headline.heading, headline.part, headline.meaning, rows, ticks)


def _numbers(cell: Cell) -> tuple[float | None, float | None, float | None, float | None]:
    """Value, ends, and the control on the side of the value: of signed figures it is a size."""
    value, control = cell.record["value"], cell.record.get("control")
    if value is None:
        return None, None, None, control
    beside = None if control is None else math.copysign(control, value)
    return value, cell.record.get("low"), cell.record.get("high"), beside


def _drawn(cell: Cell, axis: "Axis") -> Drawn:
    at, low, high, control = (None if value is None else axis.place(value) for value in _numbers(cell))
    verdict = cell.record["verdict"]
    return Drawn(
        cell.name,
        verdict,
        cell.record.get("why", ""),
        Verdict(verdict).mark,
        cell.measured,
        at,
        low,
        high,
        control,
    )


@dataclass(frozen=True)
class Axis:
    """From the first to the last tick; 0 is always on it."""

    ticks: list[float]

    @classmethod
    def over(cls, values: Sequence[float]) -> "Axis":
        """An axis of at most `TICKS` + 1 steps of 1, 2 or 5 times a power of ten that holds all values and 0."""
        low, high = min([0.0, *values]), max([0.0, *values])
        rough = (high - low) / TICKS or 0.2
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(power * m for m in (1, 2, 5, 10) if power * m >= rough * (1 - 1e-9))
        first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
        return cls([round(k * step, 12) for k in range(first, max(last, first + 1) + 1)])

    def place(self, value: float) -> float:
        """Where a value stands, in percent of the width."""
        share = (value - self.ticks[0]) / (self.ticks[-1] - self.ticks[0])
        return round(MARGIN + (100 - 2 * MARGIN) * share, 2)

"""The confirmatory figures of results, side by side: what both the terminal and the page show."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from evenruler.results.comparing import names
from evenruler.results.store import Stored, figures_of


@dataclass(frozen=True)
class Cell:
    """A confirmatory figure of one result."""

    name: str
    """The label, so that no two results have the same."""
    record: dict[str, Any]
    """As in `result.json`."""

    @property
    def measured(self) -> str:
        """Value and interval, and the control; or why there is no value."""
        record = self.record
        if record["value"] is None:
            return f"none ({record.get('reason', 'no reason given')})"
        control = record.get("control")
        return _with_interval(record["value"], record.get("low"), record.get("high")) + (
            "" if control is None else f"; control {number(control)}"
        )


@dataclass(frozen=True)
class Headline:
    """One confirmatory figure over results."""

    part: str
    figure: str
    heading: str
    """In words; the name, where there are none."""
    meaning: str
    cells: list[Cell]
    """Of the results that have it, in their order."""


def headlines(group: Sequence[Stored]) -> list[Headline]:
    """The figures with a verdict of results of one benchmark, by part and name."""
    cells: dict[tuple[str, str], list[Cell]] = {}
    words: dict[str, tuple[str, str]] = {}
    for one, suffix in zip(group, names(group), strict=True):
        words |= {heading.figure: (heading.heading, heading.meaning) for heading in one.result.headings}
        for part, label, figure, record in figures_of(one.result):
            if "verdict" in record:
                cells.setdefault((part, figure), []).append(Cell(f"{label}{suffix}", record))
    return [
        Headline(part, figure, *words.get(figure, (figure, "")), cells=of_figure)
        for (part, figure), of_figure in sorted(cells.items())
    ]


def _with_interval(value: float, low: float | None, high: float | None) -> str:
    return number(value) if low is None or high is None else f"{number(value)} [{number(low)}, {number(high)}]"


def number(value: float) -> str:
    """To three decimals, as `result.json` has figures; 0 is never negative."""
    return f"{round(value, 3) + 0.0:.3f}"

"""Results side by side and what they differ in, as Markdown, JSON and CSV."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pandas as pd

from evenruler.measurement.answered import unmeasured
from evenruler.results.comparing import comparable, names
from evenruler.results.store import Stored, figures_of

ABSENT: Final = "-"
"""Where a result lacks what another has."""

NO_VERDICT: Final = "No figure of these results has a verdict: nothing is said of a model by itself."

HEAD: Final = ("part", "figure", "A", "B", "A - B", "interval", "p adjusted", "verdict")


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


def as_markdown(results: Sequence[Stored], comparisons: pd.DataFrame) -> str:
    """For people: per benchmark the confirmatory figures of every result, then the differences of each two.

    Args:
        results: What was compared.
        comparisons: As `compare` gives them.
    """
    parts = [
        block
        for group in comparable(results)
        for block in _of_benchmark(group, comparisons[comparisons["benchmark"] == group[0].result.benchmark.name])
    ]
    return "\n\n".join(parts) + "\n"


def _of_benchmark(group: Sequence[Stored], comparisons: pd.DataFrame) -> Iterator[str]:
    yield f"# {_cell(title(group))}"
    if lacking := unmeasured_of(group):
        yield "\n".join(f"- {_cell(line)}" for line in lacking)
    shown = headlines(group)
    if shown:
        models = list(dict.fromkeys(cell.name for headline in shown for cell in headline.cells))
        rows = [[headline.part, headline.figure, *_cells(headline.cells, models)] for headline in shown]
        yield "## Figures, controls, verdicts"
        yield _table(["part", "figure", *models], rows)
    else:
        yield NO_VERDICT
    if warned := warnings_of(group):
        yield "\n".join(f"- {_cell(line)}" for line in warned)
    yield "## Differences"
    yield _table(HEAD, [difference_row(row) for row in rows_of(comparisons)])
    notes = sorted({f"- {row['note']}" for row in rows_of(comparisons) if row["note"]})
    if notes:
        yield "\n".join(notes)


def unmeasured_of(group: Sequence[Stored]) -> list[str]:
    """On which models nothing was measured, and why, a line each."""
    found = []
    for one, suffix in zip(group, names(group), strict=True):
        records: dict[str, list[dict[str, Any]]] = {}
        for _, label, _, record in figures_of(one.result):
            records.setdefault(label, []).append(record)
        found += [f"{label}{suffix}: {said}" for label, own in records.items() if (said := unmeasured(own))]
    return found


def warnings_of(group: Sequence[Stored]) -> list[str]:
    """What speaks against the benchmark on each model, a line each."""
    return [
        f"{one.result.model.name}{suffix}: {line}"
        for one, suffix in zip(group, names(group), strict=True)
        for line in one.result.warnings
    ]


def title(group: Sequence[Stored]) -> str:
    """Name and versions of the benchmark of results, with `+quick` and `+limit-N` where less was asked."""
    versions = sorted({one.result.folder.rpartition("@")[2] for one in group})
    return f"{group[0].result.benchmark.name} {', '.join(versions)}"


def _cells(cells: Sequence[Cell], models: Sequence[str]) -> list[str]:
    said = {cell.name: f"{cell.measured}; {cell.record['verdict']}" for cell in cells}
    return [said.get(model, ABSENT) for model in models]


def difference_row(row: dict[str, Any]) -> list[str]:
    """A comparison in words, a text for each column of `HEAD`."""
    return [
        row["part"],
        row["figure"] if row["statistic"] in (None, row["figure"]) else f"{row['figure']} ({row['statistic']})",
        *(_named(row[side], row[f"{side}_value"]) for side in ("first", "second")),
        ABSENT if row["difference"] is None else number(row["difference"]),
        _interval(row),
        ABSENT if row["p_adjusted"] is None else f"{row['p_adjusted']:.2g}",
        row["verdict"] or f"none: {row['reason']}",
    ]


def _named(name: str, value: float | None) -> str:
    return name if value is None else f"{name}: {number(value)}"


def _interval(row: dict[str, Any]) -> str:
    """Ends of the interval; where it is not of the plain difference, with what it is of."""
    if row["low"] is None:
        return ABSENT
    ends = f"[{number(row['low'])}, {number(row['high'])}]"
    return ends if row["scale"] == "difference" else f"{row['scale']} {number(row['contrast'])} {ends}"


def rows_of(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows with None for every null, as JSON has it."""
    plain = frame.astype(object).where(frame.notna(), None)
    return [{str(name): value for name, value in row.items()} for row in plain.to_dict("records")]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(_cell, line)) + " |" for line in lines)


def _cell(text: str) -> str:
    """A text inside a table of Markdown, where no `<` of it begins an element."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def as_json(figures: pd.DataFrame, comparisons: pd.DataFrame) -> str:
    """Everything: `figures` as `load_results` gives them, `comparisons` as `compare` does."""
    content = {"figures": rows_of(figures), "comparisons": rows_of(comparisons)}
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def as_csv(comparisons: pd.DataFrame) -> str:
    """The comparisons, a line each."""
    text: str = comparisons.to_csv(index=False, lineterminator="\n")
    return text

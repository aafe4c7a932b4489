"""A difference as Markdown and as JSON."""

from dataclasses import asdict
from typing import Any

from evenruler.publish.difference import ConfigDifference, Difference, FigureDifference
from evenruler.text.numbers import figure_in_words

ITEMS = " / items / "
"""In the path of statistics of single templates or items, shown only where they differ."""


def as_json(difference: Difference) -> dict[str, Any]:
    """Everything, with the version that is needed and why."""
    return asdict(difference) | {
        "needs": difference.needs,
        "next_version": difference.next_version,
        "reasons": [reason for _, reason in difference.reasons],
    }


def as_markdown(difference: Difference) -> str:
    """For people: what is needed and why, rows, columns, figures side by side."""
    head = f"# {difference.name}: {difference.before} to {difference.after}"
    altered = [f"{folder} is not what its manifest says: see `evenruler verify`." for folder in difference.altered]
    parts = [head, *altered, _verdict(difference), *_rows(difference), *_figures(difference)]
    return "\n\n".join(parts) + "\n"


def _verdict(difference: Difference) -> str:
    if difference.needs == "none":
        return "Nothing changed that asks for a new version."
    reasons = "\n".join(f"- {bump}: {reason}" for bump, reason in difference.reasons)
    return f"Needs a **{difference.needs}** version, {difference.next_version}:\n{reasons}"


def _rows(difference: Difference) -> list[str]:
    lines = ["| config | rows before | rows after | added | removed | changed |", "| --- " * 6 + "|"]
    for config in difference.configs:
        counts = (config.before, config.after, config.added, config.removed, config.changed)
        lines.append(" | ".join([f"| {config.config}", *("-" if n is None else f"{n:,}" for n in counts)]) + " |")
    return ["## Rows", "\n".join(lines), *filter(None, map(_details, difference.configs))]


def _details(config: ConfigDifference) -> str:
    lines = [f"- {column}: {count:,} rows" for column, count in config.by_column.items()]
    lines = ["Changed, by column:", *lines] if lines else []
    lines += [f"- {kind}, for example: {', '.join(ids)}" for kind, ids in config.examples.items()]
    return "\n".join([f"### {config.config}", *lines]) if lines else ""


def _figures(difference: Difference) -> list[str]:
    shown = [figure for figure in difference.figures if figure.differs or ITEMS not in figure.figure]
    if not shown:
        return []
    lines = ["| figure | before | after | change |", "| --- " * 4 + "|"]
    told = ((one.figure, _words(one.before), _words(one.after), _change(one)) for one in shown)
    lines += [f"| {' | '.join(map(_cell, cells))} |" for cells in told]
    return ["## Figures of quality", "\n".join(lines)]


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def _words(record: Any) -> str:
    if record is None:
        return "-"
    if "n" in record:
        return figure_in_words(record, 3)
    return "none" if record["value"] is None else str(record["value"])


def _change(figure: FigureDifference) -> str:
    values = [record and record.get("value") for record in (figure.before, figure.after)]
    numbers = [value for value in values if isinstance(value, int | float)]
    if not figure.differs:
        return ""
    return f"{numbers[1] - numbers[0]:+.3f}" if len(numbers) == 2 else "yes"

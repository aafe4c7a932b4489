"""The card of a benchmark: `README.md` with front matter as the Hub reads it."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow.compute as pc

from evenruler.files import templates
from evenruler.instruments.card import CHECKLIST, amounts
from evenruler.instruments.instrument import Column
from evenruler.measurement.answered import unmeasured_models
from evenruler.publish.benchmark import COMMIT, LAST, PROJECT, URL, Benchmark
from evenruler.publish.manifest import NO_TAG, cell
from evenruler.text.english import with_capital
from evenruler.text.numbers import figure_in_words

BREAK = "\\"
"""Ends a line where Markdown is to begin a new one."""

SHOWN_LAST = ("framing", "source", "licence")
"""The columns of every row that stand beside an example."""

ROWS_BY_CATEGORY = (
    (1_000, "n<1K"),
    (10_000, "1K<n<10K"),
    (100_000, "10K<n<100K"),
    (1_000_000, "100K<n<1M"),
    (10_000_000, "1M<n<10M"),
)


def render_card(benchmark: Benchmark) -> str:
    """The card's text."""
    environment = templates("evenruler.publish")
    environment.filters |= {
        "figure": figure_in_words,
        # A value as YAML and JSON read it back, whatever it holds.
        "quoted": lambda value: json.dumps(value, ensure_ascii=False, sort_keys=True),
        "with_capital": with_capital,
        "cell": cell,
        "linked": lambda words, url: f"[{words}]({url})" if url else words,
        # The figures that a part of a benchmark has at all.
        "known_in": lambda figures, models: [
            one for one in figures if any(one.figure in own for own in models.values())
        ],
        "verdicts": _verdicts,
        "unmeasured": lambda evidence: unmeasured_models((row["model"], row["record"]) for row in _verdicts(evidence)),
        "heading": _heading,
        "placebo": lambda record: f"{record['placebo']:z.2f}" if "placebo" in record else "none",
        "specific": _specific,
        "beside": _beside,
        "items": _items,
        "compared": _compared,
    }
    rows = sum(table.num_rows for table in benchmark.tables.values())
    return environment.get_template("card.md.j2").render(
        benchmark=benchmark,
        licences=benchmark.distinct("licence"),
        sources=benchmark.distinct("source"),
        project={"name": PROJECT, "url": URL, "commit": COMMIT},
        checklist=CHECKLIST,
        no_tag=NO_TAG,
        example=_example(benchmark),
        category=next((name for limit, name in ROWS_BY_CATEGORY if rows < limit), "n>10M"),
    )


def _example(benchmark: Benchmark) -> dict[str, Any] | None:
    """One row to read: its text as a quotation, its other columns as a table."""
    if benchmark.example is None:
        return None
    config = benchmark.configs[0]
    found = config.as_read.filter(pc.field("id") == benchmark.example.id).to_pylist()
    if not found:
        raise ValueError(f"{config.name} has no row {benchmark.example.id!r}, which is to be its example")
    row = found[0]
    hidden = {*config.first, *(name for name in LAST if name not in SHOWN_LAST)}
    # What people can read: no id of another row, no structure, nothing empty.
    shown = {
        name: value
        for name, value in row.items()
        if name not in hidden and not name.endswith("_id") and value not in (None, "")
        if not isinstance(value, list | dict)
    }
    return {
        "told": benchmark.example.told,
        "quoted": "\n>\n".join(_quotation(row[name], name, len(config.first)) for name in config.first),
        "columns": [f"`{name}`" for name in shown],
        "cells": [cell(str(value).lower() if isinstance(value, bool) else value) for value in shown.values()],
    }


def _quotation(text: str, name: str, n: int) -> str:
    """A text as Markdown quotes it, line breaks kept; with the name of its column where `n` of several are quoted."""
    plain = re.sub(r"([\\`*_\[\]<>#])", r"\\\1", text)  # in which Markdown sees no marks
    lines = (f"**{name}**: {plain}" if n > 1 else plain).splitlines()
    return "\n".join(f"> {line}{BREAK if place < len(lines) else ''}".rstrip() for place, line in enumerate(lines, 1))


def _verdicts(evidence: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Every figure that has a verdict, with model and part: all of one model together."""
    found = [dict(zip(("part", "model", "figure", "record"), one, strict=True)) for one in amounts(evidence)]
    models = list(dict.fromkeys(row["model"] for row in found))
    return sorted(found, key=lambda row: models.index(row["model"]))


def _specific(record: Mapping[str, Any]) -> str:
    """What a headline is beyond placebos, with its interval."""
    if "specific" not in record:
        return "none"
    return f"{record['specific']:z.2f} [{record['specific_low']:z.2f}, {record['specific_high']:z.2f}]"


def _items(models: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The items of a part, each with its correlation with the rest on every model."""
    known = {model: figures["items"] for model, figures in models.items() if "items" in figures}
    named = {item: own["control"] for items in known.values() for item, own in items.items() if "control" in own}
    return [
        {
            "item": item,
            "control": named[item],
            "models": list(known),
            "cells": [_correlation(items.get(item)) for items in known.values()],
        }
        for item in sorted(named, key=lambda item: (named[item], item))
    ]


def _correlation(item: Mapping[str, Any] | None) -> str:
    if item is None or item["item_rest_correlation"] is None:
        return "none"
    ends = "" if item["low"] is None else f" [{item['low']:.2f}, {item['high']:.2f}]"
    return f"{item['item_rest_correlation']:.2f}{ends}"


def _compared(models: Mapping[str, Mapping[str, Any]], columns: Sequence[Column]) -> list[dict[str, Any]]:
    """A part beside others, on every model: differences, where there are."""
    return [
        {"model": model, "against": other, "cells": [_difference(found.get(column.figure)) for column in columns]}
        for model, figures in models.items()
        for other, found in figures.get("compared", {}).items()
    ]


def _difference(record: Mapping[str, Any] | None) -> str:
    if record is None or "difference" not in record:
        return ""
    ends = f" [{record['low']:+.2f}, {record['high']:+.2f}]" if "low" in record else ""
    return f"{record['difference']:+.2f}{ends}"


def _beside(record: Mapping[str, Any] | None) -> str:
    """A figure, and its control where it has one."""
    told = figure_in_words(record)
    return told if record is None or record.get("control") is None else f"{told}; control {record['control']:z.2f}"


def _heading(columns: Sequence[Column], figure: str) -> str:
    """What cards call a figure."""
    return next((column.heading for column in columns if column.figure == figure), figure)

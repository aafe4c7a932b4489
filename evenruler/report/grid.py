"""The grid of the page: constructs x models, each cell a headline with interval, bound, comparison
and verdict.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import pandas as pd

from evenruler.measurement.figures import (
    ORDER,
    WHOLE,
    Verdict,
    model_label,
)
from evenruler.measurement.headings import find_heading, part_of_instrument
from evenruler.measurement.inputs import ALPHA
from evenruler.measurement.nonresponse import unmeasured_models
from evenruler.report.formats import format_number, join_names, round_significant, with_interval
from evenruler.report.sentences import (
    carriers_text,
    comparison_text,
    headline_lines,
    verdict_words,
)
from evenruler.tables.schemas import NUMBERS
from evenruler.text.spelling import with_capital

if TYPE_CHECKING:
    from evenruler.report.page import Section
    from evenruler.report.sentences import Worded

FEW = 3
"""Most models that a sentence names; with more, it gives their number."""

DECIMALS, MOST_DECIMALS = 2, 3
"""Decimals of an amount, least and most; a small one gets two digits of the largest number of its
cell, if they fit."""

SIGNIFICANT = 6
"""Significant digits in the table of figures."""

MARGIN, TICKS = 3.0, 5
"""Percent of the width left free outside the outermost ticks; steps of an axis, at most one
more."""

Ends: TypeAlias = tuple[float, float]
"""The first and the last tick of an axis."""


def axis_over(values: Sequence[float]) -> Ends:
    """An axis that holds all values and 0, of at most `TICKS` + 1 steps of 1, 2 or 5 times a power
    of ten.
    """
    low = min([0.0, *values])
    high = max([0.0, *values])
    rough = (high - low) / TICKS or 0.2
    power = 10.0 ** math.floor(math.log10(rough))
    steps = [power * m for m in (1, 2, 5, 10)]
    step = next(step for step in steps if step >= rough * (1 - 1e-9))
    first = math.floor(low / step + 1e-9)
    last = max(math.ceil(high / step - 1e-9), first + 1)
    return round(first * step, 12), round(last * step, 12)


def _axis_position(value: float, axis: Ends) -> float:
    """The position of a value, in percent of the width."""
    share = (value - axis[0]) / (axis[1] - axis[0])
    return round(MARGIN + (100 - 2 * MARGIN) * share, 2)


@dataclass(frozen=True)
class FigureCell:
    """One figure of an instrument."""

    part: str
    """Its dimensions that its heading does not say, as words."""
    model: str
    """The model's label; "" where the figure is not about one model."""
    heading: str
    record: Mapping[str, Any]
    """Its row (`evenruler.measurement.figures.figure_rows`); null values are left out."""
    word: "Worded | None" = None
    """Its heading with all its words; None where none is declared."""

    @property
    def figure(self) -> str:
        """The figure's id."""
        return str(self.record["figure"])

    @property
    def is_headline(self) -> bool:
        """Whether it is a headline figure, which has its own verdict."""
        return "bound" in self.record

    @property
    def verdict(self) -> str:
        """Its verdict; "" where it has none."""
        return str(self.record.get("verdict", ""))


def make_figure_cell(
    row: Mapping[str, Any], headings: "Sequence[Worded]", suffix: str = ""
) -> FigureCell:
    """The cell of a row of figures; `suffix`: added to the label of its model."""
    record = {name: content for name, content in row.items() if not pd.isna(content)}
    word = find_heading(row, headings)
    heading = word.heading if word else str(row["figure"]).replace("_", " ")
    label = model_label(row)
    part = part_of_instrument(row, word)
    return FigureCell(part, f"{label}{suffix}" if label else "", heading, record, word)


@dataclass(frozen=True)
class InstrumentView:
    """What the page shows of one instrument."""

    name: str
    """The name of its benchmark, which is unique."""
    family: str
    title: str
    sentence: str
    """What it measures, and in which direction."""
    columns: "Sequence[Worded]"
    """Its figures in words, in the order in which they are shown."""
    figures: Sequence[FigureCell]
    planted: str = ""
    """Its results on planted associations, in words."""
    planted_records: Sequence[Mapping[str, Any]] = ()
    """The same as recorded, for the lines of its headlines."""
    reading: str = ""
    limits: Sequence[str] = ()
    warnings: Sequence[str] = ()
    sections: "Sequence[Section]" = ()
    decimals: int | None = None
    """Decimals of its numbers, where these are rounded already."""

    @property
    def unmeasured(self) -> dict[str, str]:
        """The models on which nothing was measured, and why; shown before any figure."""
        records_by_model: dict[str, list[Mapping[str, Any]]] = {}
        for figure_cell in self.figures:
            records_by_model.setdefault(figure_cell.model, []).append(figure_cell.record)
        return unmeasured_models(records_by_model)

    def column_index(self, figure_cell: FigureCell) -> int:
        """The place of a figure's heading among the columns; last where it has none."""
        for index, column in enumerate(self.columns):
            if column is figure_cell.word:
                return index
        return len(self.columns)


@dataclass(frozen=True)
class FiguresByModel:
    """Figures as a table."""

    models: Sequence[str]
    """A column each; "" for figures of no model."""
    rows: Sequence[tuple[str, str, Sequence[str]]]
    """Heading, part and a text per model."""


Row: TypeAlias = dict[str, Any]
"""A construct: one headline amount over models, as the page's template reads it (`rows_of`)."""


@dataclass(frozen=True)
class FamilyView:
    """A family of instruments: one table of the grid."""

    name: str
    models: Sequence[str]
    blocks: Sequence[tuple[InstrumentView, Sequence[Row]]]
    without: Sequence[InstrumentView]
    """The instruments without a verdict."""
    meanings: Mapping[str, str]
    """The meaning of the amounts, by heading."""
    sections: "Sequence[Section]"
    """Sections about all its instruments."""


def make_family_views(
    instruments: Sequence[InstrumentView],
    models: Sequence[str],
    sections: "Mapping[str, Sequence[Section]]",
) -> list[FamilyView]:
    """The grid, one table per family; instruments and models in the order in which they are shown.

    A label that is not among the models, as "bert (mlm)", is placed with the model that it begins
    with. `sections`: about all instruments of a family.
    """

    def place(label: str) -> tuple[int, str]:
        """Sort key of a label: the place of the longest model that it begins with; last where there
        is none.
        """
        model_indices = [index for index, model in enumerate(models) if label.startswith(model)]
        return max(model_indices, key=lambda index: len(models[index]), default=len(models)), label

    family_views = []
    for name in dict.fromkeys(instrument.family for instrument in instruments):
        family_instruments = [instrument for instrument in instruments if instrument.family == name]
        labels: set[str] = set()
        shown: dict[str, Worded] = {}
        for instrument in family_instruments:
            for figure_cell in instrument.figures:
                if not figure_cell.is_headline:
                    continue
                labels.add(figure_cell.model)
                if figure_cell.word is not None:
                    shown[figure_cell.heading] = figure_cell.word
        ordered = sorted(labels, key=place)
        blocks: list[tuple[InstrumentView, list[Row]]] = []
        without: list[InstrumentView] = []
        for instrument in family_instruments:
            rows = rows_of(instrument, ordered)
            if rows:
                blocks.append((instrument, rows))
            else:
                without.append(instrument)
        meanings = {word.heading: word.meaning for word in shown.values()}
        family_views.append(
            FamilyView(name, ordered, blocks, without, meanings, sections.get(name, ()))
        )
    return family_views


def rows_of(instrument: InstrumentView, models: Sequence[str]) -> list[Row]:
    """Rows of headline amounts, by part, then in order of columns; a cell is None where a model was
    not asked.
    """
    cells_by_row: dict[tuple[str, str], dict[str, tuple[int, FigureCell]]] = {}
    places: dict[str, int] = {}
    for index, figure_cell in enumerate(instrument.figures):
        if figure_cell.is_headline and figure_cell.model:
            cell_by_model = cells_by_row.setdefault((figure_cell.part, figure_cell.heading), {})
            cell_by_model[figure_cell.model] = (index, figure_cell)
            places[figure_cell.heading] = instrument.column_index(figure_cell)
    parts = list(dict.fromkeys(part for part, _ in cells_by_row))

    rows = []
    for part, heading in sorted(
        cells_by_row, key=lambda key: (parts.index(key[0]), places[key[1]])
    ):
        cell_by_model = cells_by_row[part, heading]
        records = [figure_cell for _, figure_cell in cell_by_model.values()]
        numbers: list[float] = []
        for figure_cell in records:
            numbers += [number for number in _figure_numbers(figure_cell) if number is not None]
        axis = axis_over(numbers)
        cells = [
            _grid_cell(instrument, *cell_by_model[model], axis) if model in cell_by_model else None
            for model in models
        ]
        part_label = "" if part == WHOLE else part
        rows.append(
            {
                "heading": heading,
                "part": part_label,
                "sentence": _verdict_sentence(records),
                "cells": cells,
                "zero": _axis_position(0.0, axis),
            }
        )
    return rows


def _verdict_sentence(records: Sequence[FigureCell]) -> str:
    """The verdicts in one sentence: with the names of few models, or the number of many."""
    groups = []
    for verdict in ORDER:
        models = [figure_cell.model for figure_cell in records if figure_cell.verdict == verdict]
        if not models:
            continue
        whom = f"{len(models)} of {len(records)} models"
        if len(records) <= FEW:
            whom = join_names(models)
        groups.append(f"{verdict} on {whom}")
    words = "; ".join(groups)
    return f"{with_capital(words)}." if words else ""


def _figure_numbers(figure_cell: FigureCell) -> tuple[float | None, ...]:
    """Value and interval ends; all None without a value."""
    if "value" not in figure_cell.record:
        return None, None, None
    return tuple(figure_cell.record.get(key) for key in ("value", "low", "high"))


def _grid_cell(
    instrument: InstrumentView, index: int, figure_cell: FigureCell, axis: Ends
) -> dict[str, Any]:
    """An amount on one model; positions are in percent of the width, None where the number is
    missing.
    """
    record = figure_cell.record
    numbers = _figure_numbers(figure_cell)
    value, low, high = numbers
    largest = max((abs(amount) for amount in numbers if amount is not None), default=0.0)
    by_size = DECIMALS
    if largest != 0:
        for_two_digits = 1 - math.floor(math.log10(largest))
        by_size = min(max(DECIMALS, for_two_digits), MOST_DECIMALS)
    decimals = instrument.decimals or by_size
    interval = ""
    if value is None:
        interval = record.get("reason", "")
    elif low is not None and high is not None:
        interval = f"[{format_number(low, decimals)}, {format_number(high, decimals)}]"
    positions = {
        key: None if amount is None else _axis_position(amount, axis)
        for key, amount in zip(("at", "low", "high"), numbers, strict=True)
    }
    verdict = Verdict(figure_cell.verdict)
    is_compared = "percentile" in record and verdict != Verdict.INVALID
    return {
        "model": figure_cell.model,
        "link": f"{instrument.name}--{index}",  # the id of its row in the table of figures
        "amount": format_number(value, decimals) or "none",
        "interval": interval,
        "compared": comparison_text(record, figure_cell.word) if is_compared else "",
        "verdict": verdict_words(record, figure_cell.word),
        "mark": verdict.mark,
        "lines": headline_lines(record, figure_cell.word, instrument.planted_records),
        "carriers": carriers_text(record, figure_cell.word),
        **positions,
    }


def verdict_count_sentences(instruments: Sequence[InstrumentView]) -> str:
    """Counts of all headlines by verdict, and how many would be detected if nothing were there."""
    headlines: list[FigureCell] = []
    for instrument in instruments:
        headlines += [cell for cell in instrument.figures if cell.is_headline and cell.model]
    if not headlines:
        return "No headline has a verdict."
    verdicts = Counter(headline.verdict for headline in headlines)
    groups = [f"{verdicts[verdict]} {verdict}" for verdict in ORDER if verdicts[verdict]]
    untested = (Verdict.DESCRIPTIVE, Verdict.INVALID)
    n_tests = sum(
        "p" in headline.record and headline.verdict not in untested for headline in headlines
    )
    text = f"Of {len(headlines)} headlines on models: {'; '.join(groups)}."
    if not n_tests:
        return text
    tests = "tests" if n_tests > 1 else "test"
    expected = f"{ALPHA * n_tests:.2g}"
    return (
        f"{text} {n_tests} {tests}; {expected} would say detected if nothing were there anywhere."
    )


def figures_by_model(instrument: InstrumentView, figure_type: str) -> FiguresByModel:
    """Figures of a type that are no headlines: a row for each heading and part, in the order of
    the headings, with a text per model.
    """
    cell_by_key: dict[tuple[str, str, str], FigureCell] = {}
    places: dict[str, int] = {}
    for figure_cell in instrument.figures:
        if figure_cell.is_headline or not figure_cell.word:
            continue
        if figure_cell.word.figure_type == figure_type:
            key = (figure_cell.heading, figure_cell.part, figure_cell.model)
            cell_by_key[key] = figure_cell
            places[figure_cell.heading] = instrument.column_index(figure_cell)
    models = list(dict.fromkeys(model for _, _, model in cell_by_key))
    keys = dict.fromkeys((heading, part) for heading, part, _ in cell_by_key)
    rows: list[tuple[str, str, list[str]]] = []
    for heading, part in sorted(keys, key=lambda key: places[key[0]]):
        cells = [cell_by_key.get((heading, part, model)) for model in models]
        texts = [_figure_text(cell, instrument.decimals or DECIMALS) for cell in cells]
        rows.append((heading, "" if part == WHOLE else part, texts))
    return FiguresByModel(models, rows)


def _figure_text(figure_cell: FigureCell | None, decimals: int) -> str:
    """Value with interval, n, control and verdict; or why there is no value."""
    if figure_cell is None:
        return ""
    record = figure_cell.record
    if "value" not in record:
        return f"none ({record.get('reason', '')})"
    low, high = record.get("low"), record.get("high")
    words = [with_interval(record["value"], low, high, decimals)]
    if "n" in record:
        words.append(f"n = {record['n']}")
    if "control" in record:
        words.append(f"control {format_number(record['control'], decimals)}")
    word = figure_cell.verdict or record.get("note")
    if word:
        words.append(word)
    return "; ".join(words)


def figure_table(instrument: InstrumentView) -> dict[str, Any]:
    """All figures of an instrument for the page's script: columns, and rows with numbers as
    numbers.
    """
    rows = []
    for figure_cell in instrument.figures:
        record = figure_cell.record
        rounded = [round_significant(record.get(key), SIGNIFICANT) for key in NUMBERS]
        why = record.get("why") or record.get("reason", "")
        place = [figure_cell.part, figure_cell.model or "any", figure_cell.heading]
        counted = [record.get("n"), record.get("unit", "")]
        rows.append([*place, *rounded, *counted, figure_cell.verdict, why])
    numbers = [name.replace("_", " ") for name in NUMBERS]
    return {
        "columns": ["part", "model", "figure", *numbers, "n", "unit", "verdict", "why"],
        "rows": rows,
    }

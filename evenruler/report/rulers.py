"""How even the rulers are: one row per instrument, with what moves it besides its construct."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

import pandas as pd

from evenruler.measurement.figures import ORDER, Verdict
from evenruler.report.grid import FigureCell, InstrumentView
from evenruler.report.page import Cell, Section, Table
from evenruler.report.words import format_number

TITLE: Final = "How even are the rulers?"
TEXT: Final = (
    "One row per instrument, over all models that were asked. A reading that placebos also give, "
    "that another wording "
    "moves, or that no planted bias changes says little about a model. Blank: not measured."
)
HEAD: Final = (
    *(
        "instrument",
        "measures",
        "sample",
        "reading",
        "placebos alone",
        "another wording moves it by",
    ),
    *("planted bias", "agreement with the same trait", "verdicts"),
)
FIRST: Final = tuple(reversed(ORDER))
"""Order of instruments by their verdicts."""

REWORDED: Final = ("level_shift", "moved")
"""Figures for the effect of another sentence before the texts, with its unit."""


def overview_section(instruments: Sequence[InstrumentView], agreed: pd.DataFrame) -> Section:
    """The table of all instruments, those with the least certain verdicts first.

    `agreed`: rows of `tables.schemas.AGREEMENT`.
    """
    ranked_rows = sorted(
        (
            (_sort_key(instrument), _instrument_row(instrument, agreed))
            for instrument in instruments
        ),
        key=lambda row: row[0],
    )
    return Section(TITLE, TEXT, [Table(HEAD, [row for _, row in ranked_rows])], first=True)


def _first_headline_cells(instrument: InstrumentView) -> list[FigureCell]:
    """The records of its first headline, on all models."""
    order = list(instrument.words)
    figures = {
        figure_cell.figure
        for figure_cell in instrument.figures
        if figure_cell.confirmatory and figure_cell.model
    }
    first = min(
        figures,
        key=lambda figure: order.index(figure) if figure in order else len(order),
        default=None,
    )
    return [
        figure_cell
        for figure_cell in instrument.figures
        if figure_cell.figure == first and figure_cell.confirmatory
    ]


def _count_verdicts(instrument: InstrumentView) -> Counter[str]:
    return Counter(
        figure_cell.verdict
        for figure_cell in instrument.figures
        if figure_cell.confirmatory and figure_cell.model
    )


def _sort_key(instrument: InstrumentView) -> tuple[int, str]:
    """Place of its most frequent verdict in `FIRST`, last without one; then its title."""
    common = _count_verdicts(instrument).most_common(1)
    return (FIRST.index(Verdict(common[0][0])) if common else len(FIRST)), instrument.title


def _instrument_row(instrument: InstrumentView, agreed: pd.DataFrame) -> list[str | Cell]:
    records, verdicts = _first_headline_cells(instrument), _count_verdicts(instrument)
    # The value of an invalid instrument is no reading.
    readings = [
        figure_cell
        for figure_cell in records
        if "value" in figure_cell.record and figure_cell.verdict != Verdict.INVALID
    ]
    largest = max(readings, key=lambda figure_cell: figure_cell.record.get("n") or 0, default=None)
    unit = (
        instrument.words[readings[0].figure].measured_in
        if readings and readings[0].figure in instrument.words
        else ""
    )
    reworded = [figure_cell for figure_cell in instrument.figures if figure_cell.figure in REWORDED]
    of_units = " SD" if any(figure_cell.figure == REWORDED[0] for figure_cell in reworded) else ""
    same = agreed[
        (agreed["kind"] == "same trait") & (agreed["figure"] == "r") & agreed["value"].notna()
    ]
    sisters = same[(same["benchmark"] == instrument.name) | (same["other"] == instrument.name)][
        "value"
    ]
    models = len(
        {
            figure_cell.model
            for figure_cell in instrument.figures
            if figure_cell.confirmatory and figure_cell.model
        }
    )
    counts = ", ".join(f"{verdicts[verdict]} {verdict}" for verdict in FIRST if verdicts[verdict])
    common = verdicts.most_common(1)
    return [
        instrument.title,
        instrument.sentence.partition(";")[0],
        largest.record.get("levels", "") if largest else "",
        _range_text([figure_cell.record.get("value") for figure_cell in readings], unit),
        _range_text([figure_cell.record.get("placebo") for figure_cell in readings], unit),
        _range_text(
            [figure_cell.record.get("value") for figure_cell in reworded], of_units.strip()
        ),
        instrument.planted,
        _range_text(list(sisters), "", "r "),
        Cell(f"{counts} ({models} model{'s' * (models != 1)})", Verdict(common[0][0]).mark)
        if counts
        else "",
    ]


def _range_text(values: Sequence[float | None], unit: str, before: str = "") -> str:
    """The least and the largest value, with its unit; empty without any."""
    numbers = [value for value in values if value is not None]
    if not numbers:
        return ""
    ends = dict.fromkeys(format_number(end, 2) for end in (min(numbers), max(numbers)))
    return f"{before}{' to '.join(ends)}{f' {unit}' if unit else ''}"

"""Whether the instruments can read: a row each, with what they detect and what else moves them."""

from collections.abc import Sequence
from typing import Final

import pandas as pd

from evenruler.measurement.figures import Verdict
from evenruler.report.formats import format_number
from evenruler.report.page import Section, Table
from evenruler.report.sentences import in_unit
from evenruler.report.views import FigureCell, InstrumentView

TITLE: Final = "Can these rulers read?"
TEXT: Final = (
    "Distrust an instrument if a model with a planted bias reads as one without, or if another "
    "wording changes its reading. Instruments of which neither is known are left out."
)
HEAD: Final = (
    *("instrument", "detects in 8 of 10 studies", "planted bias"),
    *("another wording moves it by", "agreement with the same trait"),
)
REWORDED: Final = ("level_shift", "moved")
"""Figures for the effect of another sentence before the texts, with its unit."""


def overview_section(instruments: Sequence[InstrumentView], agreed: pd.DataFrame) -> Section:
    """The table of the instruments of which something is known besides their reading, those with a
    planted bias first.

    `agreed`: rows of `tables.schemas.AGREEMENT`.
    """
    rows = [_instrument_cells(instrument, agreed) for instrument in instruments]
    informative = [row for row in rows if any(row[2:])]
    informative.sort(key=lambda row: not row[HEAD.index("planted bias")])
    return Section(TITLE, TEXT, [Table(HEAD, informative)] if informative else [], first=True)


def _first_headline_cells(instrument: InstrumentView) -> list[FigureCell]:
    """The cells of its first headline, on all models."""
    headlines = [
        figure_cell
        for figure_cell in instrument.figures
        if figure_cell.is_headline and figure_cell.model
    ]
    if not headlines:
        return []
    first = min(headlines, key=instrument.column_index)
    return [headline for headline in headlines if headline.heading == first.heading]


def _instrument_cells(instrument: InstrumentView, agreed: pd.DataFrame) -> list[str]:
    """The row of the overview for one instrument, a cell for each column of `HEAD`; `agreed`: rows
    of `tables.schemas.AGREEMENT`.
    """
    records = _first_headline_cells(instrument)
    # The value of an invalid instrument is no reading.
    readings = [
        figure_cell
        for figure_cell in records
        if "value" in figure_cell.record and figure_cell.verdict != Verdict.INVALID
    ]
    word = readings[0].word if readings else None
    reworded = [
        figure_cell
        for figure_cell in instrument.figures
        if figure_cell.figure in REWORDED and not figure_cell.is_headline
    ]
    in_sd = any(figure_cell.figure == REWORDED[0] for figure_cell in reworded)
    is_same_trait = (agreed["kind"] == "same trait") & (agreed["figure"] == "r")
    same = agreed[is_same_trait & agreed["value"].notna()]
    is_own = (same["benchmark"] == instrument.name) | (same["other"] == instrument.name)
    detects = [
        in_unit(figure_cell.record["detects"], word)
        for figure_cell in readings
        if "detects" in figure_cell.record
    ]
    shifts = [figure_cell.record.get("value") for figure_cell in reworded]
    shift_range = _range_text(shifts, "SD" if in_sd else "")
    correlations = _range_text(list(same[is_own]["value"]), "", "r ")
    return [
        instrument.title,
        "; ".join(dict.fromkeys(detects)),
        instrument.planted,
        shift_range,
        correlations,
    ]


def _range_text(values: Sequence[float | None], unit: str, before: str = "") -> str:
    """The least and the largest value, with its unit; empty without any."""
    numbers = [value for value in values if value is not None]
    if not numbers:
        return ""
    extremes = (min(numbers), max(numbers))
    ends = dict.fromkeys(format_number(extreme, 2) for extreme in extremes)
    after = f" {unit}" if unit else ""
    return f"{before}{' to '.join(ends)}{after}"

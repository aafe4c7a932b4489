"""How even the rulers are: one row per instrument, with what moves it besides its construct."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

import pandas as pd

from evenruler.measurement.figures import ORDER, Verdict
from evenruler.report.formats import format_number
from evenruler.report.grid import FigureCell, InstrumentView
from evenruler.report.page import Cell, Section, Table
from evenruler.report.sentences import in_unit

TITLE: Final = "How even are the rulers?"
TEXT: Final = (
    "One row per instrument, over all models that were asked. Distrust an instrument if another "
    "wording changes its reading, or if a model with a planted bias does not. Blank: not measured."
)
HEAD: Final = (
    *(
        "instrument",
        "measures",
        "sample",
        "reading",
        "detects",
        "another wording moves it by",
    ),
    *("planted bias", "agreement with the same trait", "verdicts"),
)
REWORDED: Final = ("level_shift", "moved")
"""Figures for the effect of another sentence before the texts, with its unit."""


def overview_section(instruments: Sequence[InstrumentView], agreed: pd.DataFrame) -> Section:
    """The table of all instruments, by their most frequent verdicts in the order of `ORDER`.

    `agreed`: rows of `tables.schemas.AGREEMENT`.
    """
    ordered = sorted(instruments, key=_sort_key)
    rows = [_instrument_cells(instrument, agreed) for instrument in ordered]
    return Section(TITLE, TEXT, [Table(HEAD, rows)], first=True)


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


def _count_verdicts(instrument: InstrumentView) -> Counter[str]:
    """Number of headlines with each verdict, over all models."""
    return Counter(
        figure_cell.verdict
        for figure_cell in instrument.figures
        if figure_cell.is_headline and figure_cell.model
    )


def _sort_key(instrument: InstrumentView) -> tuple[int, str]:
    """Place of its most frequent verdict in `ORDER`, last without one; then its title."""
    common = _count_verdicts(instrument).most_common(1)
    if not common:
        return len(ORDER), instrument.title
    verdict, _ = common[0]
    return ORDER.index(Verdict(verdict)), instrument.title


def _instrument_cells(instrument: InstrumentView, agreed: pd.DataFrame) -> list[str | Cell]:
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
    largest = max(readings, key=lambda figure_cell: figure_cell.record.get("n") or 0, default=None)
    word = readings[0].word if readings else None
    unit = word.measured_in if word else ""
    reworded = [
        figure_cell
        for figure_cell in instrument.figures
        if figure_cell.figure in REWORDED and not figure_cell.is_headline
    ]
    in_sd = any(figure_cell.figure == REWORDED[0] for figure_cell in reworded)
    is_same_trait = (agreed["kind"] == "same trait") & (agreed["figure"] == "r")
    same = agreed[is_same_trait & agreed["value"].notna()]
    is_own = (same["benchmark"] == instrument.name) | (same["other"] == instrument.name)
    construct, _, _ = instrument.sentence.partition(";")
    facets = largest.record.get("facets", "") if largest else ""
    values = [figure_cell.record.get("value") for figure_cell in readings]
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
        construct,
        facets,
        _range_text(values, unit),
        "; ".join(dict.fromkeys(detects)),
        shift_range,
        instrument.planted,
        correlations,
        _verdict_cell(instrument),
    ]


def _verdict_cell(instrument: InstrumentView) -> Cell | str:
    """How many headlines have which verdict, and on how many models; marked by the most
    frequent.
    """
    verdicts = _count_verdicts(instrument)
    occurring = [verdict for verdict in ORDER if verdicts[verdict]]
    if not occurring:
        return ""
    counts = "; ".join(f"{verdicts[verdict]} {verdict}" for verdict in occurring)
    models = {
        figure_cell.model
        for figure_cell in instrument.figures
        if figure_cell.is_headline and figure_cell.model
    }
    plural = "" if len(models) == 1 else "s"
    most_common, _ = verdicts.most_common(1)[0]
    text = f"{counts} ({len(models)} model{plural})"
    return Cell(text, Verdict(most_common).mark)


def _range_text(values: Sequence[float | None], unit: str, before: str = "") -> str:
    """The least and the largest value, with its unit; empty without any."""
    numbers = [value for value in values if value is not None]
    if not numbers:
        return ""
    extremes = (min(numbers), max(numbers))
    ends = dict.fromkeys(format_number(extreme, 2) for extreme in extremes)
    after = f" {unit}" if unit else ""
    return f"{before}{' to '.join(ends)}{after}"

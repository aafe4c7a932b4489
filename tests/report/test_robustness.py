"""The table of how even the instruments are."""

from typing import Any

import pandas as pd

from evenruler.instruments.instrument import FigureHeading
from evenruler.report.grid import FigureCell, InstrumentView, make_figure_cell
from evenruler.report.page import Cell
from evenruler.report.robustness import HEAD, overview_section
from evenruler.tables.schemas import AGREEMENT

GAIN = FigureHeading("gain", "gain", "how much", figure_type="headline", measured_in="nats")
SHIFT = FigureHeading("level_shift", "level shift", "how far", figure_type="validity")


def cell_of(model: str, amount: float | None, verdict: str, **more: Any) -> FigureCell:
    row = {
        "figure": "gain",
        "model": model,
        "value": amount,
        "verdict": verdict,
        **more,
    }
    sample = {"bound": 0.7, "n": 43, "facets": "43 attributes"}
    return make_figure_cell({**row, **sample}, [GAIN])


def instrument(name: str, *figures: FigureCell, planted: str = "") -> InstrumentView:
    return InstrumentView(
        name,
        "probes",
        name,
        f"About {name}; more is more.",
        [GAIN, SHIFT],
        figures,
        planted=planted,
    )


def agreed(**rows: Any) -> pd.DataFrame:
    return pd.DataFrame([rows] if rows else [], columns=AGREEMENT.names)


def rows_of(
    *instruments: InstrumentView, agreement: pd.DataFrame | None = None
) -> list[dict[str, Any]]:
    (table,) = overview_section(instruments, agreed() if agreement is None else agreement).parts
    rows = []
    for row in table.rows:  # type: ignore[union-attr]
        texts = [cell.text if isinstance(cell, Cell) else cell for cell in row]
        rows.append(dict(zip(HEAD, texts, strict=True)))
    return rows


def test_what_each_column_says() -> None:
    shift = make_figure_cell({"figure": "level_shift", "model": "a", "value": 1.27}, [SHIFT])
    figures = [
        cell_of("a", 1.342, "detected", detects=0.697),
        cell_of("b", -0.009, "below", detects=1.1),
        shift,
    ]
    agreement = agreed(benchmark="jobs", other="other", kind="same trait", figure="r", value=0.61)
    (row,) = rows_of(
        instrument("jobs", *figures, planted="It detects 2 nats."), agreement=agreement
    )
    assert row == {
        "instrument": "jobs",
        "measures": "About jobs",
        "sample": "43 attributes",
        "reading": "-0.01 to 1.34 nats",
        "detects": "0.70 nats; 1.1 nats",
        "another wording moves it by": "1.27 SD",
        "planted bias": "It detects 2 nats.",
        "agreement with the same trait": "r 0.61",
        "verdicts": "1 detected; 1 below (2 models)",
    }


def test_they_stand_in_the_order_of_their_verdicts() -> None:
    instruments = [
        instrument("none"),
        instrument("sure", cell_of("a", 1.0, "detected")),
        instrument("z", cell_of("a", 1.0, "inconclusive")),
    ]
    invalid = instrument("bad", cell_of("a", None, "invalid"))
    assert [row["instrument"] for row in rows_of(*instruments, invalid)] == [
        "sure",
        "z",
        "bad",
        "none",
    ]


def test_what_was_not_measured_is_blank() -> None:
    (row,) = rows_of(instrument("bad", cell_of("a", 9.0, "invalid", detects=3.0)))
    blank = ("sample", "reading", "detects", "another wording moves it by", "planted bias")
    assert [row[name] for name in blank] == [""] * 5

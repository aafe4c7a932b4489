"""The table of whether instruments can read."""

from typing import Any

import pandas as pd

from evenruler.instruments.instrument import FigureHeading
from evenruler.report.page import Cell
from evenruler.report.robustness import HEAD, overview_section
from evenruler.report.views import FigureCell, InstrumentView, make_figure_cell
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
        "detects in 8 of 10 studies": "0.70 nats; 1.1 nats",
        "planted bias": "It detects 2 nats.",
        "another wording moves it by": "1.27 SD",
        "agreement with the same trait": "r 0.61",
    }


def test_planted_biases_come_first_and_those_of_which_nothing_is_known_are_left_out() -> None:
    shift = make_figure_cell({"figure": "level_shift", "model": "a", "value": 1.27}, [SHIFT])
    instruments = [
        instrument("reworded", shift),
        instrument("silent", cell_of("a", 1.0, "detected", detects=1.0)),
        instrument("planted", planted="It detects 2 nats."),
    ]
    assert [row["instrument"] for row in rows_of(*instruments)] == ["planted", "reworded"]
    assert overview_section([instrument("silent")], agreed()).parts == []


def test_an_invalid_reading_detects_nothing() -> None:
    (row,) = rows_of(instrument("bad", cell_of("a", 9.0, "invalid", detects=3.0), planted="No."))
    assert row["detects in 8 of 10 studies"] == ""

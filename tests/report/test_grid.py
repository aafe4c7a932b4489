"""What a cell of the grid says."""

import pytest

from evenruler.instruments.instrument import FigureHeading
from evenruler.measurement.figures import Verdict
from evenruler.report.grid import InstrumentView, figures_by_model, make_figure_cell, rows_of


def view_of(record: dict[str, object], decimals: int | None = None) -> InstrumentView:
    columns = [FigureHeading("gain", "gain", "", says=["more", "less"])]
    row = {
        "figure": "gain",
        "model": "m",
        "smallest": 0.1,
        **record,
    }
    figures = [make_figure_cell(row, columns)]
    return InstrumentView("jobs", "probes", "Jobs", "", columns, figures, decimals=decimals)


@pytest.mark.parametrize(
    ("numbers", "shown"),
    [
        ((0.574, 0.46, 0.719, 0.25), ("0.57", "[0.46, 0.72]", "0.25")),
        ((0.021, 0.004, 0.048, 0.0394), ("0.021", "[0.004, 0.048]", "0.039")),
        ((0.0021, 0.0004, 0.0048, 0.0039), ("0.002", "[0.000, 0.005]", "0.004")),
        ((0.03, 0.01, 0.2, 0.0), ("0.03", "[0.01, 0.20]", "0.00")),
        ((0.0, 0.0, 0.0, 0.0), ("0.00", "[0.00, 0.00]", "0.00")),
    ],
)
def test_the_largest_number_of_a_cell_keeps_two_digits_where_they_fit(numbers, shown) -> None:
    amount, low, high, control = numbers
    (row,) = rows_of(
        view_of({"value": amount, "low": low, "high": high, "placebo": control}), ["m"]
    )
    (cell,) = row["cells"]
    assert (cell["amount"], cell["interval"], cell["placebo"]) == shown


def test_numbers_that_were_rounded_before_have_no_more_digits() -> None:
    view = view_of({"value": 0.002, "low": 0.001, "high": 0.004}, decimals=3)
    (row,) = rows_of(view, ["m"])
    (cell,) = row["cells"]
    assert (cell["amount"], cell["interval"]) == ("0.002", "[0.001, 0.004]")


def test_what_is_asserted_is_told_from_what_is_open() -> None:
    marks = []
    for verdict in Verdict:
        (row,) = rows_of(view_of({"value": 1.0, "verdict": str(verdict)}), ["m"])
        marks.append(row["cells"][0]["mark"])
    assert marks == ["unfit", "open", "told", "told", "found"]


def test_what_is_null_is_not_there() -> None:
    nothing = {
        "set": None,
        "value": None,
        "low": float("nan"),
        "smallest": float("nan"),
    }
    row = {
        "figure": "gain_in_sd",
        "model": None,
        "n": 0,
        "why": "",
    }
    cell = make_figure_cell({**row, **nothing}, [])
    assert cell.record == {"figure": "gain_in_sd", "n": 0, "why": ""}
    assert (cell.part, cell.model, cell.heading) == ("all", "", "gain in sd")
    assert (cell.confirmatory, cell.verdict) == (False, "")


def test_figures_of_a_type_have_a_row_a_heading_and_part() -> None:
    columns = [
        FigureHeading("alpha", "alpha", "", figure_type="validity"),
        FigureHeading("spread", "spread", ""),
    ]
    rows: list[dict[str, object]] = [
        {"figure": "spread", "model": "a", "value": 2.0},
        {"figure": "alpha", "model": "a", "value": None, "reason": "one template"},
        {"figure": "alpha", "set": "seed", "value": 0.8, "low": 0.7, "high": 0.9, "n": 7},
        {"figure": "alpha", "model": "b", "value": 0.5, "control": 0.1, "verdict": "invalid"},
    ]
    figures = [make_figure_cell({"model": None, **row}, columns) for row in rows]
    view = InstrumentView("jobs", "probes", "Jobs", "", columns, figures)
    table = figures_by_model(view, "validity")
    assert table.models == ["a", "", "b"]
    assert table.rows == [
        ("alpha", "", ["none (one template)", "", "0.50; control 0.10; invalid"]),
        ("alpha", "seed", ["", "0.80 [0.70,\u00a00.90]; n = 7", ""]),
    ]
    assert figures_by_model(view, "descriptive").rows == [("spread", "", ["2.00"])]


def test_that_nothing_was_measured_is_said_before_any_figure() -> None:
    unmeasured = view_of(
        {"value": 0.0, "verdict": str(Verdict.INVALID), "why": "All refused."}
    ).unmeasured
    assert unmeasured == {"m": "invalid on this model: All refused."}
    assert (
        view_of({"value": 0.0, "verdict": str(Verdict.NO_EFFECT), "why": "It is small."}).unmeasured
        == {}
    )

"""What a cell of the grid says."""

import math

import pytest

from evenruler.instruments.instrument import FigureHeading
from evenruler.measurement.figures import Verdict
from evenruler.report.grid import (
    InstrumentView,
    figures_by_model,
    make_figure_cell,
    rows_of,
    verdict_count_sentences,
)
from tests.text_tables import yaml_of_text


def view_of(record: dict[str, object], decimals: int | None = None) -> InstrumentView:
    columns = [FigureHeading("gain", "gain", "", says=["more", "less"])]
    row = {
        "figure": "gain",
        "model": "m",
        "bound": 0.1,
        "verdict": "detected",
        **record,
    }
    figures = [make_figure_cell(row, columns)]
    return InstrumentView("jobs", "probes", "Jobs", "", columns, figures, decimals=decimals)


@pytest.mark.parametrize(
    ("numbers", "shown"),
    [
        ((0.574, 0.46, 0.719), ("0.57", "[0.46, 0.72]")),
        ((0.021, 0.004, 0.048), ("0.021", "[0.004, 0.048]")),
        ((0.03, 0.01, 0.2), ("0.03", "[0.01, 0.20]")),
        ((0.0, 0.0, 0.0), ("0.00", "[0.00, 0.00]")),
    ],
)
def test_the_largest_number_of_a_cell_keeps_two_digits_where_they_fit(numbers, shown) -> None:
    amount, low, high = numbers
    (row,) = rows_of(view_of({"value": amount, "low": low, "high": high}), ["m"])
    (cell,) = row["cells"]
    assert (cell["amount"], cell["interval"]) == shown


def test_a_cell_is_drawn_by_the_first_word_of_its_verdict() -> None:
    cells = []
    for verdict in Verdict:
        figure = {"value": 1.0, "verdict": str(verdict), "why": "So."}
        (row,) = rows_of(view_of(figure), ["m"])
        cells += row["cells"]
    assert [cell["mark"] for cell in cells] == [verdict.mark for verdict in Verdict]
    assert cells[1]["verdict"] == "detected, below 0.1"
    labels = [[line.label for line in cell["lines"]] for cell in cells]
    assert labels[0] == ["detected", "compared", "sensitive"]
    assert labels[-1] == ["invalid"]


def test_how_many_would_be_detected_if_nothing_were_there() -> None:
    """Only what has a p and is judged by it is a test."""
    views = [view_of({"value": 1.0, "p": 0.01}) for _ in range(18)]
    views += [
        view_of({"value": 1.0, "p": 0.01, "verdict": verdict})
        for verdict in ("descriptive", "invalid")
    ]
    views.append(view_of({"value": 1.0, "verdict": "inconclusive"}))
    assert verdict_count_sentences(views) == (
        "Of 21 headlines on models: 18 detected; 1 inconclusive; 1 descriptive; 1 invalid. "
        "18 tests; 0.9 would say detected if nothing were there anywhere."
    )
    assert verdict_count_sentences([]) == "No headline has a verdict."


def test_what_is_null_is_not_there() -> None:
    row = {"figure": "gain_in_sd", "n": 0, "why": ""}
    nothing = {"set": None, "model": None, "value": None, "low": math.nan, "bound": math.nan}
    cell = make_figure_cell({**row, **nothing}, [])
    assert cell.record == {"figure": "gain_in_sd", "n": 0, "why": ""}
    assert (cell.part, cell.model, cell.heading) == ("all", "", "gain in sd")
    assert (cell.is_headline, cell.verdict) == (False, "")


def test_figures_of_a_type_have_a_row_a_heading_and_part() -> None:
    columns = [
        FigureHeading("alpha", "alpha", "", figure_type="validity"),
        FigureHeading("spread", "spread", ""),
    ]
    rows: list[dict[str, object]] = yaml_of_text("""\
- {figure: spread, model: a, value: 2.0}
- {figure: alpha, model: a, value: null, reason: one template}
- {figure: alpha, set: seed, value: 0.8, low: 0.7, high: 0.9, n: 7}
- {figure: alpha, model: b, value: 0.5, control: 0.1, verdict: invalid}
""")
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
    assert unmeasured == {"m": "invalid: All refused."}
    assert (
        view_of({"value": 0.0, "verdict": str(Verdict.BELOW), "why": "It is small."}).unmeasured
        == {}
    )

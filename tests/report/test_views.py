"""What the page shows of instruments and figures."""

import math

from evenruler.instruments.instrument import FigureHeading
from evenruler.measurement.figures import Verdict
from evenruler.report.views import InstrumentView, make_figure_cell, verdict_count_sentences


def view_of(record: dict[str, object]) -> InstrumentView:
    columns = [FigureHeading("gain", "gain", "", says=["more", "less"])]
    row = {
        "figure": "gain",
        "model": "m",
        "bound": 0.1,
        "verdict": "detected",
        **record,
    }
    figures = [make_figure_cell(row, columns)]
    return InstrumentView("jobs", "probes", "Jobs", "", columns, figures)


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


def test_that_nothing_was_measured_is_said_before_any_figure() -> None:
    unmeasured = view_of(
        {"value": 0.0, "verdict": str(Verdict.INVALID), "why": "All refused."}
    ).unmeasured
    assert unmeasured == {"m": "invalid: All refused."}
    assert (
        view_of({"value": 0.0, "verdict": str(Verdict.BELOW), "why": "It is small."}).unmeasured
        == {}
    )

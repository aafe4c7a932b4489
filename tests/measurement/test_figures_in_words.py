import math

import pytest

from evenruler.measurement.figures import figure_in_words


def figure(value, low=None, high=None, n=43, reason=None):
    return {"value": value, "low": low, "high": high, "n": n, "reason": reason}


FIGURES = [
    (figure(0.756, 0.6, 0.849), 2, "0.76 [0.60, 0.85], n = 43"),
    (figure(-0.05, -0.301, 0.2), 2, "-0.05 [-0.30, 0.20], n = 43"),
    (figure(0.756, 0.6, 0.849), 1, "0.8 [0.6, 0.8], n = 43"),
    (figure(0.0, 0.0, 0.0, n=1), 2, "0.00 [0.00, 0.00], n = 1"),
    (figure(0.5, n=8), 2, "0.50, n = 8"),
    (figure(0.5, math.nan, math.nan, n=8), 2, "0.50, n = 8"),
    (figure(None, n=2, reason="fewer than 4 attributes"), 2, "none (fewer than 4 attributes)"),
    (figure(math.nan, n=2, reason="no variance"), 2, "none (no variance)"),
]


@pytest.mark.parametrize(("record", "decimals", "text"), FIGURES)
def test_value_interval_and_n_or_why_there_is_none(record, decimals, text):
    assert figure_in_words(record, decimals) == text


def test_no_figure_at_all_is_empty():
    assert figure_in_words(None) == ""


def test_what_rounds_to_zero_has_no_sign() -> None:
    record = {"value": -0.001, "low": -0.004, "high": -0.0, "n": 3}
    assert figure_in_words(record) == "0.00 [0.00, 0.00], n = 3"
    assert figure_in_words(record, 3) == "-0.001 [-0.004, 0.000], n = 3"

"""Figures: how one is made with its interval, and how it is written down."""

import math
from dataclasses import asdict, replace

import numpy as np
import pandas as pd
import pytest

from evenruler.measurement import Figure, as_metrics, cronbach_alpha
from evenruler.measurement.figures import jackknifed, records
from evenruler.measurement.jackknife import BELOW_ONE, POSITIVE, jackknife

CONFIRMED = Figure(
    "r",
    0.12345,
    43,
    "attributes",
    -0.5001,
    0.70049,
    0.000123456,
    control=0.04567,
    difference_low=-0.01249,
    difference_high=0.33333,
    bound=0.2,
    p_adjusted=0.000370368,
    verdict="beyond control",
    why="If nothing were there, it would be as large with a probability of 0.00037 (adjusted).",
)
PLAIN_NUMBERS = ("value", "low", "high", "control", "difference_low", "difference_high", "bound", "p", "p_adjusted")


class TestJackknifed:
    def test_is_the_interval_of_the_jackknife(self):
        x = np.random.default_rng(1).normal(size=(12, 1)) + np.random.default_rng(2).normal(size=(12, 3))
        found = jackknifed("alpha", cronbach_alpha, x, BELOW_ONE, 0.9, "attributes")
        expected = jackknife(cronbach_alpha, x, scale=BELOW_ONE, level=0.9)
        assert found == Figure("alpha", cronbach_alpha(x), 12, "attributes", expected.low, expected.high)
        assert found.low < found.value < found.high

    @pytest.mark.parametrize(
        "x",
        [
            np.random.default_rng(1).normal(size=(4, 3)),  # too few
            np.arange(6.0)[:, None] * np.ones(3),  # an alpha of 1
        ],
    )
    def test_a_value_without_interval(self, x):
        found = jackknifed("alpha", cronbach_alpha, x, BELOW_ONE, 0.95, "attributes")
        assert found == Figure("alpha", cronbach_alpha(x), len(x), "attributes")

    def test_no_value(self):
        """The total is the same for each."""
        x = np.array([1.0, -1.0])[:, None] * np.array([1.0, -1.0])
        found = jackknifed("alpha", cronbach_alpha, np.repeat(x, 4, axis=0), BELOW_ONE, 0.95, "attributes")
        assert found == Figure("alpha", None, 8, "attributes", reason="undefined for these values")

    def test_an_end_that_is_no_number_is_none(self):
        """Without the last, all are alike."""
        found = jackknifed("spread", np.std, np.array([1.0, 1, 1, 1, 1, 2]), POSITIVE, 0.95, "units")
        assert found == Figure("spread", pytest.approx(math.sqrt(5) / 6), 6, "units")


class TestRecords:
    def test_what_is_confirmed(self):
        (record,) = records(pd.DataFrame([asdict(CONFIRMED)]))
        assert record == {
            "figure": "r",
            "value": 0.12345,
            "low": -0.5001,
            "high": 0.70049,
            "control": 0.04567,
            "difference_low": -0.01249,
            "difference_high": 0.33333,
            "bound": 0.2,
            "p": 0.000123456,
            "p_adjusted": 0.000370368,
            "n": 43,
            "unit": "attributes",
            "verdict": "beyond control",
            "why": "If nothing were there, it would be as large with a probability of 0.00037 (adjusted).",
        }
        assert {type(record[key]) for key in PLAIN_NUMBERS} == {float}
        assert type(record["n"]) is int

    def test_what_describes_has_none_of_it(self):
        (record,) = records(pd.DataFrame([asdict(Figure("alpha", 0.9996, 50, "attributes"))]))
        assert record == {"figure": "alpha", "value": 0.9996, "n": 50, "unit": "attributes"}

    def test_no_value_stays_with_its_reason_and_its_verdict(self):
        lacking = replace(CONFIRMED, value=None, low=None, high=None, p=None, p_adjusted=None, reason="too few")
        (record,) = records(pd.DataFrame([asdict(lacking)]))
        assert record["value"] is None
        assert record["reason"] == "too few"
        assert record["verdict"] == "beyond control"
        assert record["control"] == 0.04567
        assert not {"low", "high", "p", "p_adjusted"} & set(record)

    def test_what_one_lacks_and_another_has(self):
        """In a frame, what is missing beside numbers is NaN."""
        figures = pd.DataFrame([asdict(figure) for figure in (CONFIRMED, Figure("alpha", math.nan, 2, "attributes"))])
        first, second = records(figures)
        assert first["control"] == 0.04567
        assert second == {"figure": "alpha", "value": None, "n": 2, "unit": "attributes"}

    def test_zero_is_a_number(self):
        (record,) = records(pd.DataFrame([asdict(replace(CONFIRMED, control=0.0, difference_low=0.0, p=0.0))]))
        assert (record["control"], record["difference_low"], record["p"]) == (0, 0, 0)


def test_a_figure_keeps_its_verdict_among_metrics():
    figures = [CONFIRMED, Figure("alpha", 0.9, 50, "attributes")]
    rows = pd.DataFrame([{"benchmark": "jobs", "part": "hand", "model": "m", **asdict(one)} for one in figures])
    found = as_metrics(rows, "part")["jobs"]["hand"]["m"]
    assert found["r"] == {key: value for key, value in records(rows)[0].items() if key != "figure"}
    assert found["r"]["verdict"] == "beyond control"
    assert found["alpha"] == {"value": 0.9, "n": 50, "unit": "attributes"}

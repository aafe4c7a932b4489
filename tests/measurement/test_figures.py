"""Figures: how one is made with its interval, and how it is written down."""

import math
from dataclasses import asdict, replace

import numpy as np
import pandas as pd
import pytest

from evenruler.measurement import Figure, HeadlineFigure, as_metrics, cronbach_alpha, pearson
from evenruler.measurement.estimates import correlation_figure, jackknife_figure
from evenruler.measurement.figures import as_rows, figures_to_dicts
from evenruler.measurement.resampling import BELOW_ONE, jackknife
from tests.measurement.conftest import POSITIVE

CONFIRMED = HeadlineFigure(
    "gain",
    0.12345,
    43,
    "attributes",
    -0.5001,
    0.70049,
    0.000123456,
    placebo=0.04567,
    specific=0.07778,
    specific_low=-0.01249,
    specific_high=0.33333,
    smallest=0.2,
    detectable=0.25,
    p_effect=0.000370368,
    p_denial=0.5,
    levels="43 attributes, 8 templates",
    verdict="effect",
    why="Beyond placebos it is [-0.012, 0.33].",
)
PLAIN_NUMBERS = (
    *(
        "value",
        "low",
        "high",
        "p",
        "placebo",
        "specific",
        "specific_low",
        "specific_high",
        "smallest",
        "detectable",
    ),
    *("p_effect", "p_denial"),
)


def test_a_row_says_what_its_figure_is_of() -> None:
    figures = [Figure("alpha", 0.5, 9, "lineages"), CONFIRMED]
    rows = list(as_rows(figures, "trades", "m", "all roles", "tone"))
    of = {"benchmark": "trades", "part": "all roles, tone", "model": "m"}
    assert rows == [{**of, **asdict(figure), "most": None, "least": None} for figure in figures]


class TestJackknifed:
    def test_is_the_interval_of_the_jackknife(self):
        x = np.random.default_rng(1).normal(size=(12, 1)) + np.random.default_rng(2).normal(
            size=(12, 3)
        )
        found = jackknife_figure("alpha", cronbach_alpha, x, BELOW_ONE, 0.9, "attributes")
        expected = jackknife(cronbach_alpha, x, scale=BELOW_ONE, level=0.9)
        assert found == Figure(
            "alpha", cronbach_alpha(x), 12, "attributes", expected.low, expected.high
        )
        assert found.low < found.value < found.high

    @pytest.mark.parametrize(
        "x",
        [
            np.random.default_rng(1).normal(size=(4, 3)),  # too few
            np.arange(6.0)[:, None] * np.ones(3),  # an alpha of 1
        ],
    )
    def test_a_value_without_interval(self, x):
        found = jackknife_figure("alpha", cronbach_alpha, x, BELOW_ONE, 0.95, "attributes")
        assert found == Figure("alpha", cronbach_alpha(x), len(x), "attributes")

    def test_no_value(self):
        """The total is the same for each."""
        x = np.array([1.0, -1.0])[:, None] * np.array([1.0, -1.0])
        found = jackknife_figure(
            "alpha", cronbach_alpha, np.repeat(x, 4, axis=0), BELOW_ONE, 0.95, "attributes"
        )
        assert found == Figure("alpha", None, 8, "attributes", reason="undefined for these values")

    def test_an_end_that_is_no_number_is_none(self):
        """Without the last, all are alike."""
        found = jackknife_figure(
            "spread", np.std, np.array([1.0, 1, 1, 1, 1, 2]), POSITIVE, 0.95, "units"
        )
        assert found == Figure("spread", pytest.approx(math.sqrt(5) / 6), 6, "units")


class TestCorrelated:
    X, Y = np.array([1.0, 2.0, 3.0, 4.0, 5.0]), np.array([2.0, 1.0, 4.0, 3.0, 6.0])

    def test_is_the_correlation_of_that_level(self):
        expected = pearson(self.X, self.Y, 0.8)
        assert correlation_figure("r", pearson, self.X, self.Y, 0.8, "items") == Figure(
            "r", expected.value, 5, "items", expected.low, expected.high, expected.p
        )

    def test_four_pairs_are_enough_and_three_too_few(self):
        expected = pearson(self.X[:4], self.Y[:4])
        found = correlation_figure("r", pearson, self.X[:4], self.Y[:4], 0.95, "items")
        assert (found.value, found.n, found.low) == (expected.value, 4, expected.low)
        assert correlation_figure("r", pearson, self.X[:3], self.Y[:3], 0.95, "items") == Figure(
            "r", None, 3, "items", reason="fewer than 4 items to correlate"
        )

    @pytest.mark.parametrize("turned", [False, True])
    def test_of_values_that_are_all_equal_there_is_none(self, turned):
        pair = (self.X, np.ones(5)) if turned else (np.ones(5), self.X)
        assert correlation_figure("r", pearson, *pair, 0.95, "items") == Figure(
            "r", None, 5, "items", reason="all values are equal"
        )


class TestRecords:
    def test_what_is_confirmed(self):
        (record,) = figures_to_dicts(pd.DataFrame([asdict(CONFIRMED)]))
        assert record == {
            "figure": "gain",
            "value": 0.12345,
            "low": -0.5001,
            "high": 0.70049,
            "p": 0.000123456,
            "placebo": 0.04567,
            "specific": 0.07778,
            "specific_low": -0.01249,
            "specific_high": 0.33333,
            "smallest": 0.2,
            "detectable": 0.25,
            "p_effect": 0.000370368,
            "p_denial": 0.5,
            "n": 43,
            "unit": "attributes",
            "levels": "43 attributes, 8 templates",
            "verdict": "effect",
            "why": "Beyond placebos it is [-0.012, 0.33].",
        }
        assert {type(record[key]) for key in PLAIN_NUMBERS} == {float}
        assert type(record["n"]) is int

    def test_what_describes_has_none_of_it(self):
        (record,) = figures_to_dicts(
            pd.DataFrame([asdict(Figure("alpha", 0.9996, 50, "attributes"))])
        )
        assert record == {"figure": "alpha", "value": 0.9996, "n": 50, "unit": "attributes"}

    def test_no_value_stays_with_its_reason_and_its_verdict(self):
        lacking = replace(
            CONFIRMED, value=None, low=None, high=None, p=None, p_effect=None, reason="too few"
        )
        (record,) = figures_to_dicts(pd.DataFrame([asdict(lacking)]))
        assert record["value"] is None
        assert record["reason"] == "too few"
        assert record["verdict"] == "effect"
        assert record["placebo"] == 0.04567
        assert not {"low", "high", "p", "p_effect"} & set(record)

    def test_what_one_lacks_and_another_has(self):
        """In a frame, what is missing beside numbers is NaN."""
        figures = pd.DataFrame(
            [asdict(figure) for figure in (CONFIRMED, Figure("alpha", math.nan, 2, "attributes"))]
        )
        first, second = figures_to_dicts(figures)
        assert first["placebo"] == 0.04567
        assert second == {"figure": "alpha", "value": None, "n": 2, "unit": "attributes"}

    def test_zero_is_a_number(self):
        (record,) = figures_to_dicts(
            pd.DataFrame([asdict(replace(CONFIRMED, placebo=0.0, specific_low=0.0, p=0.0))])
        )
        assert (record["placebo"], record["specific_low"], record["p"]) == (0, 0, 0)


def test_a_figure_keeps_its_verdict_among_metrics():
    figures = [CONFIRMED, Figure("alpha", 0.9, 50, "attributes")]
    rows = pd.DataFrame(
        [{"benchmark": "jobs", "part": "hand", "model": "m", **asdict(one)} for one in figures]
    )
    found = as_metrics(rows, "part")["jobs"]["hand"]["m"]
    assert found["gain"] == {
        key: value for key, value in figures_to_dicts(rows)[0].items() if key != "figure"
    }
    assert found["gain"]["verdict"] == "effect"
    assert found["alpha"] == {"value": 0.9, "n": 50, "unit": "attributes"}


def test_metrics_stand_in_order_and_those_of_no_model_under_a_name_of_their_own():
    figure = asdict(Figure("alpha", 0.9, 50, "attributes"))
    places = [
        ("jobs", "hand", "m"),
        ("jobs", "hand", None),
        ("jobs", "evolved", "m"),
        ("age", "hand", "m"),
    ]
    rows = pd.DataFrame(
        [
            {"benchmark": benchmark, "part": part, "model": model, **figure}
            for benchmark, part, model in places
        ]
    )
    found = as_metrics(rows, "part")
    assert [list(found), list(found["jobs"])] == [["age", "jobs"], ["evolved", "hand"]]
    assert list(found["jobs"]["hand"]) == ["any-model", "m"]
    assert found["jobs"]["hand"]["any-model"] == {
        "alpha": {"value": 0.9, "n": 50, "unit": "attributes"}
    }

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


def test_a_row_says_what_its_figure_is_of() -> None:
    figures = [Figure("alpha", 0.5, 9, "lineages"), CONFIRMED]
    rows = list(as_rows(figures, "trades", "m", "all roles", "tone"))
    heading = {"benchmark": "trades", "part": "all roles, tone", "model": "m"}
    assert rows == [
        {**heading, **asdict(figure), "most": None, "least": None} for figure in figures
    ]


class TestJackknifed:
    def test_is_the_interval_of_the_jackknife(self):
        common = np.random.default_rng(1).normal(size=(12, 1))
        x = common + np.random.default_rng(2).normal(size=(12, 3))
        figure = jackknife_figure("alpha", cronbach_alpha, x, BELOW_ONE, 0.9, "attributes")
        expected = jackknife(cronbach_alpha, x, scale=BELOW_ONE, level=0.9)
        assert figure == Figure(
            "alpha", cronbach_alpha(x), 12, "attributes", expected.low, expected.high
        )
        assert figure.low < figure.value < figure.high

    @pytest.mark.parametrize(
        "x",
        [
            np.random.default_rng(1).normal(size=(4, 3)),  # too few
            np.arange(6.0)[:, None] * np.ones(3),  # an alpha of 1
        ],
    )
    def test_a_value_without_interval(self, x):
        figure = jackknife_figure("alpha", cronbach_alpha, x, BELOW_ONE, 0.95, "attributes")
        assert figure == Figure("alpha", cronbach_alpha(x), len(x), "attributes")

    def test_no_value(self):
        """The total is the same for each."""
        x = np.outer([1.0, -1.0], [1.0, -1.0])
        figure = jackknife_figure(
            "alpha", cronbach_alpha, np.repeat(x, 4, axis=0), BELOW_ONE, 0.95, "attributes"
        )
        assert figure == Figure("alpha", None, 8, "attributes", reason="undefined for these values")

    def test_an_end_that_is_no_number_is_none(self):
        """Without the last, all are alike."""
        x = np.array([1.0, 1, 1, 1, 1, 2])
        figure = jackknife_figure("spread", np.std, x, POSITIVE, 0.95, "units")
        spread = pytest.approx(math.sqrt(5) / 6)
        assert figure == Figure("spread", spread, 6, "units")


class TestCorrelated:
    X = np.array([1.0, 2.0, 3.0, 4.0])
    Y = np.array([2.0, 1.0, 4.0, 3.0])

    def test_four_pairs_are_enough_and_three_too_few(self):
        enough = correlation_figure("r", pearson, self.X, self.Y, 0.8, "items")
        expected = pearson(self.X, self.Y, 0.8)
        assert enough == Figure(
            "r", expected.value, 4, "items", expected.low, expected.high, expected.p
        )
        few = self.X[:3], self.Y[:3]
        too_few = correlation_figure("r", pearson, *few, 0.95, "items")
        reason = "fewer than 4 items to correlate"
        assert too_few == Figure("r", None, 3, "items", reason=reason)

    @pytest.mark.parametrize("turned", [False, True])
    def test_of_values_that_are_all_equal_there_is_none(self, turned):
        pair = [self.X, np.ones(4)]
        if turned:
            pair.reverse()
        figure = correlation_figure("r", pearson, *pair, 0.95, "items")
        assert figure == Figure("r", None, 4, "items", reason="all values are equal")


class TestRecords:
    def test_what_a_figure_has_and_no_more(self):
        """In a frame, what is missing beside numbers is NaN; zero is a number."""
        zeros = replace(CONFIRMED, placebo=0.0, specific_low=0.0, p=0.0)
        lacking = Figure("alpha", math.nan, 2, "attributes")
        figures = [CONFIRMED, zeros, Figure("alpha", 0.9996, 50, "attributes")]
        rows = [asdict(figure) for figure in (*figures, lacking)]
        *records, last = figures_to_dicts(pd.DataFrame(rows))
        for record, row in zip(records, rows, strict=False):
            assert record == {key: value for key, value in row.items() if value is not None}
            assert type(record.pop("n")) is int
            assert {type(value) for value in record.values()} == {str, float}
        assert records[0]["specific_high"] == 0.33333
        assert last == {"figure": "alpha", "value": None, "n": 2, "unit": "attributes"}

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
    metrics = as_metrics(rows, "part")
    assert list(metrics) == ["age", "jobs"]
    assert list(metrics["jobs"]) == ["evolved", "hand"]
    assert list(metrics["jobs"]["hand"]) == ["any-model", "m"]
    assert metrics["jobs"]["hand"]["any-model"] == {
        "alpha": {"value": 0.9, "n": 50, "unit": "attributes"}
    }
    metrics = as_metrics(rows.assign(**asdict(CONFIRMED)), "part")
    gain = metrics["age"]["hand"]["m"]["gain"]
    assert (gain["value"], gain["verdict"]) == (0.12345, "effect")

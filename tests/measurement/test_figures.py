"""Figures: how one is made with its interval, and how it is written down."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from evenruler.measurement import Figure, cronbach_alpha, pearson
from evenruler.measurement.estimates import correlation_figure, jackknife_figure
from evenruler.measurement.figures import (
    as_rows,
    dimensions_of,
    figure_fields,
    figure_key,
    figure_name,
    figure_rows,
    model_label,
    rows_by_benchmark,
)
from evenruler.measurement.resampling import BELOW_ONE
from tests.measurement.conftest import JUDGED, POSITIVE

HEADLINE = replace(JUDGED, dimensions={})


def test_a_row_says_what_its_figure_is_of() -> None:
    calibrated = Figure("range", 0.5, 9, "roots", dimensions={"calibration": "raw"})
    first, second = as_rows([calibrated, HEADLINE], "trades", "m", role=None, feature="tone")
    place = {"benchmark": "trades", "model": "m", "role": None, "feature": "tone"}
    assert first | place | {"figure": "range", "calibration": "raw", "value": 0.5} == first
    assert second | place | {"figure": "gain", "same_test": 0.03} == second
    assert not {"calibration", "dimensions"} & set(second)


ROW = {"figure": "change", "model": "bert", "cue": "salience", "task": None, "value": 0.5, "n": 9}


def test_dimensions_are_all_columns_that_no_figure_has_and_that_are_not_null() -> None:
    assert dimensions_of(ROW) == {"cue": "salience"}
    assert dimensions_of({**ROW, "task": "choice", "positive_p": 0.1}) == {
        "cue": "salience",
        "task": "choice",
    }


def test_one_key_and_one_name() -> None:
    assert figure_key({}) == "all"
    assert figure_key({"cue": "salience", "task": "choice"}) == "cue=salience,task=choice"
    assert figure_name({**ROW, "task": "choice"}) == "change:cue=salience:task=choice"
    assert figure_name({"figure": "gain", "model": "m"}) == "gain"


@pytest.mark.parametrize(
    ("dimensions", "label"),
    [
        ({}, "bert"),
        ({"method": "mlm"}, "bert (mlm)"),
        ({"n_fits": "2"}, "bert and 1 other fit"),
        ({"n_fits": "3", "method": "head"}, "bert and 2 other fits (head)"),
    ],
)
def test_labels_of_models(dimensions, label) -> None:
    assert model_label({**ROW, **dimensions}) == label


class TestJackknifed:
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

    def test_an_end_that_is_no_number_is_none(self):
        """Without the last, all are alike."""
        x = np.array([1.0, 1, 1, 1, 1, 2])
        figure = jackknife_figure("spread", np.std, x, POSITIVE, 0.95, "units")
        spread = pytest.approx(math.sqrt(5) / 6)
        assert figure == Figure("spread", spread, 6, "units")


class TestCorrelated:
    X = np.array([1.0, 2.0, 3.0, 4.0])
    Y = np.array([2.0, 1.0, 4.0, 3.0])

    @pytest.mark.parametrize("turned", [False, True])
    def test_of_values_that_are_all_equal_there_is_none(self, turned):
        pair = [self.X, np.ones(4)]
        if turned:
            pair.reverse()
        figure = correlation_figure("r", pearson, *pair, 0.95, "items")
        assert figure == Figure("r", None, 4, "items", reason="all values are equal")


def as_table(*figures):
    return pd.DataFrame(list(as_rows(figures, "jobs", "m")))


class TestRowsForJson:
    def test_what_a_figure_has_and_no_more(self):
        """In a frame, what is missing beside numbers is NaN; zero is a number."""
        zeros = replace(HEADLINE, same_test=0.0, p=0.0)
        alpha = Figure("alpha", 0.9996, 50, "attributes")
        lacking = Figure("alpha", math.nan, 2, "attributes")
        confirmed, with_zeros, _, last = figure_rows(as_table(HEADLINE, zeros, alpha, lacking))
        assert confirmed["positive_high"] == 4.2
        assert confirmed["facets"] == JUDGED.facets
        assert (with_zeros["same_test"], with_zeros["p"]) == (0, 0)
        assert type(confirmed["n"]) is int
        assert "reason" not in confirmed
        place = {"figure": "alpha", "model": "m"}
        assert last == {**place, "value": None, "n": 2, "unit": "attributes"}

    def test_no_value_stays_with_its_reason_and_its_verdict(self):
        nothing = dict.fromkeys(("value", "low", "high", "p", "positive_p"))
        (row,) = figure_rows(as_table(replace(HEADLINE, **nothing, reason="too few")))
        assert row["value"] is None
        assert row["reason"] == "too few"
        assert row["verdict"] == "detected"
        assert row["same_test"] == 0.03
        assert not {"low", "high", "p", "positive_p"} & set(row)

    def test_by_benchmark_sorted_with_those_of_no_model_first(self):
        alpha = Figure("alpha", 0.9, 50, "attributes")
        rows = []
        for benchmark, model, name in (
            ("jobs", "m", "hand"),
            ("jobs", None, "hand"),
            ("jobs", "m", None),
            ("age", "m", None),
        ):
            rows += as_rows(
                [alpha, HEADLINE],
                benchmark,
                model,
                set=name,
            )
        by_benchmark = rows_by_benchmark(pd.DataFrame(rows))
        assert list(by_benchmark) == ["age", "jobs"]
        keys = [(row["figure"], row.get("set"), row["model"]) for row in by_benchmark["jobs"]]
        of_a_figure = [(None, "m"), ("hand", None), ("hand", "m")]
        assert keys == [(figure, *key) for figure in ("alpha", "gain") for key in of_a_figure]
        assert list(by_benchmark["jobs"][1])[:4] == ["figure", "model", "set", "value"]

    def test_an_end_that_is_not_finite_is_none(self):
        unbounded = replace(HEADLINE, low=-math.inf, high=math.inf, detects=math.nan)
        fields = figure_fields(unbounded)
        assert (fields["value"], fields["low"], fields["high"]) == (HEADLINE.value, None, None)
        assert fields["detects"] is None

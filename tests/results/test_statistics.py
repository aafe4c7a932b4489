import math

import numpy as np
import pytest
from scipy import stats

from evenruler.results.statistics import STATISTICS, of_units
from tests.results.synthetic import units_of

VALUES = {"a": 1.0, "b": 2.0, "c": 6.0, "d": 7.0}
BESIDE = {"a": 10.0, "b": 20.0, "c": 30.0}


@pytest.mark.parametrize(
    ("name", "expected"),
    # mean 16/4; deviations -3, -2, 2, 3; of a to c by hand: covariance 50/2, variances 7 and 100.
    [("mean", 4.0), ("sd", math.sqrt(26 / 3)), ("correlation", 25 / math.sqrt(700))],
)
def test_by_hand(name, expected):
    assert of_units(name, units_of("one", VALUES, BESIDE)) == pytest.approx(expected)


def test_as_scipy_and_numpy_have_them():
    x, y = np.random.default_rng(0).normal(size=(2, 30))
    assert STATISTICS["correlation"].of(x, y) == pytest.approx(stats.pearsonr(x, y).statistic)
    assert STATISTICS["sd"].of(x) == pytest.approx(np.std(x, ddof=1))


@pytest.mark.parametrize("name", STATISTICS)
def test_undefined_is_no_number(name):
    few = units_of("one", {"a": 1.0}, BESIDE)
    assert math.isnan(of_units(name, few)) == (name != "mean")
    assert math.isnan(of_units(name, few.iloc[:0]))


def test_values_that_are_all_equal():
    equal = units_of("one", dict.fromkeys(VALUES, 0.1), BESIDE)
    assert math.isnan(of_units("correlation", equal))

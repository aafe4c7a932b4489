"""Intervals of the jackknife: the t interval where the two are the same, and coverage."""

import math

import numpy as np
import pytest
from scipy import stats

from evenruler.measurement import cronbach_alpha, pearson
from evenruler.measurement.jackknife import (
    BELOW_ONE,
    CORRELATION,
    FEWEST_UNITS,
    PLAIN,
    POSITIVE,
    SHARE,
    jackknife,
    of_left_out,
)


def sd(x):
    return x.std(ddof=1)


class TestOfTheMean:
    """Leaving one out of a mean gives back the values themselves."""

    @pytest.mark.parametrize("n", [FEWEST_UNITS, 12])
    @pytest.mark.parametrize("level", [0.95, 0.5])
    def test_is_the_interval_of_t(self, n, level):
        x = np.random.default_rng(n).exponential(size=n)
        found = jackknife(np.mean, x, level=level)
        assert found.value == x.mean()
        assert (found.low, found.high) == pytest.approx(stats.t.interval(level, n - 1, x.mean(), stats.sem(x)))

    def test_of_rows(self):
        x = np.random.default_rng(1).normal(size=(9, 4))
        found = jackknife(np.mean, x)
        of_rows = x.mean(axis=1)
        assert (found.low, found.high) == pytest.approx(stats.t.interval(0.95, 8, x.mean(), stats.sem(of_rows)))

    def test_on_a_scale_it_is_symmetric_there(self):
        x = np.random.default_rng(2).normal(3, 1, size=20)
        found = jackknife(sd, x, scale=POSITIVE)
        logs = np.log([sd(np.delete(x, i)) for i in range(20)])
        half = stats.t.ppf(0.975, 19) * math.sqrt(19 / 20 * ((logs - logs.mean()) ** 2).sum())
        assert found.value == sd(x)
        assert (found.low, found.high) == pytest.approx((sd(x) * math.exp(-half), sd(x) * math.exp(half)))


class TestScales:
    @pytest.mark.parametrize(
        ("scale", "value", "there"),
        [
            (PLAIN, -3.5, -3.5),
            (POSITIVE, math.e**2, 2),
            (BELOW_ONE, 0, 0),
            (BELOW_ONE, 1 - math.e**-2, 2),
            (BELOW_ONE, 1 - math.e**2, -2),
            (CORRELATION, 0.6, 0.5 * math.log(1.6 / 0.4)),
            (CORRELATION, -0.6, -0.5 * math.log(1.6 / 0.4)),
            (SHARE, 0.5, 0),
            (SHARE, 0.2, math.log(0.25)),
        ],
    )
    def test_there_and_back(self, scale, value, there):
        assert scale.there(value) == pytest.approx(there, abs=1e-15)
        assert scale.back(scale.there(value)) == pytest.approx(value, abs=1e-15)

    @pytest.mark.parametrize(
        ("scale", "value"),
        [
            (POSITIVE, 0.0),
            (POSITIVE, -1.0),
            (BELOW_ONE, 1.0),
            (BELOW_ONE, 1.5),
            (CORRELATION, 1.0),
            (CORRELATION, -1.0),
            (SHARE, 0.0),
            (SHARE, 1.0),
        ],
    )
    def test_at_its_end_there_is_no_number(self, scale, value):
        assert math.isnan(scale.there(value))

    @pytest.mark.parametrize("scale", [PLAIN, POSITIVE, BELOW_ONE, CORRELATION, SHARE])
    def test_what_is_no_number_stays_none(self, scale):
        assert math.isnan(scale.there(math.nan))

    @pytest.mark.parametrize("scale", [POSITIVE, BELOW_ONE, CORRELATION, SHARE])
    def test_more_is_more(self, scale):
        drawn = [0.1, 0.3, 0.9]
        assert sorted(drawn, key=scale.there) == drawn
        assert sorted([-2.0, 0.0, 2.0], key=scale.back) == [-2.0, 0.0, 2.0]


class TestWithoutInterval:
    def test_too_few_units(self):
        found = jackknife(np.mean, [1.0, 2.0, 3.0, 6.0])
        assert found.value == 3
        assert math.isnan(found.low)
        assert math.isnan(found.high)

    def test_an_alpha_of_one(self):
        x = np.arange(6.0)[:, None] * np.ones(3)
        found = jackknife(cronbach_alpha, x, scale=BELOW_ONE)
        assert found.value == 1
        assert math.isnan(found.low)
        assert math.isnan(found.high)

    def test_undefined_without_one_unit(self):
        """Without the first all are alike."""
        found = jackknife(sd, [1.0, 0, 0, 0, 0, 0], scale=POSITIVE)
        assert found.value == pytest.approx(math.sqrt(1 / 6))
        assert math.isnan(found.low)
        assert math.isnan(found.high)

    def test_undefined(self):
        assert math.isnan(jackknife(lambda x: math.nan, np.arange(7.0)).value)

    def test_a_statistic_that_divides_by_zero_warns_of_nothing(self):
        found = jackknife(lambda x: (x - x).sum() / (x - x).sum(), np.arange(6.0))
        assert math.isnan(found.value)
        assert math.isnan(found.low)

    def test_nothing_varies(self):
        found = jackknife(np.mean, np.full(6, 2.0))
        assert (found.value, found.low, found.high) == (2, 2, 2)


class TestPairs:
    def test_the_same_unit_is_left_out_of_each(self):
        rng = np.random.default_rng(3)
        x, y = rng.normal(size=(2, 15))
        y = y + 2 * x
        found = jackknife(lambda a, b: np.corrcoef(a, b)[0, 1], x, y, scale=CORRELATION)
        z = np.arctanh([pearson(np.delete(x, i), np.delete(y, i)).value for i in range(15)])
        low, high = np.tanh(of_left_out(np.arctanh(pearson(x, y).value), z, 0.95))
        assert found.value == pytest.approx(pearson(x, y).value)
        assert (found.low, found.high) == pytest.approx((low, high))

    def test_a_difference_of_paired_means_is_that_of_differences(self):
        x, y = np.random.default_rng(4).normal(size=(2, 10))
        both = jackknife(lambda a, b: a.mean() - b.mean(), x, y)
        apart = jackknife(np.mean, x - y)
        assert (both.value, both.low, both.high) == pytest.approx((apart.value, apart.low, apart.high))

    def test_of_different_length(self):
        with pytest.raises(ValueError, match=r"arrays of different lengths: \[6, 7\]"):
            jackknife(lambda x, y: 0.0, np.zeros(7), np.zeros(6))


@pytest.mark.parametrize("level", [0.0, 1.0, -1, math.nan])
def test_level_is_a_share(level):
    with pytest.raises(ValueError, match="level"):
        jackknife(np.mean, np.arange(6.0), level=level)


def test_of_left_out_by_hand():
    # Deviations -1, 0, 1: a variance of 2/3 * 2 about the value.
    half = stats.t.ppf(0.975, 2) * math.sqrt(4 / 3)
    assert of_left_out(5.0, np.array([1.0, 2.0, 3.0]), 0.95) == pytest.approx((5 - half, 5 + half))


LOADINGS = np.linspace(0.4, 0.9, 8)


@pytest.mark.parametrize("n", [24, 50])
@pytest.mark.parametrize(
    ("statistic", "scale", "true"),
    [
        (cronbach_alpha, BELOW_ONE, 8 / 7 * (1 - ((LOADINGS**2).sum() + 8) / (LOADINGS.sum() ** 2 + 8))),
        (lambda x: sd(x.mean(axis=1)), POSITIVE, math.sqrt(LOADINGS.mean() ** 2 + 1 / 8)),
    ],
    ids=["alpha", "spread"],
)
def test_coverage(statistic, scale, true, n):
    """Eight items with one thing in common; the long run is `tests.performance.coverage`."""
    rng = np.random.default_rng(5)
    found = [
        jackknife(statistic, rng.normal(size=(n, 1)) * LOADINGS + rng.normal(size=(n, 8)), scale=scale)
        for _ in range(200)
    ]
    assert 0.90 <= np.mean([one.low <= true <= one.high for one in found]) <= 0.99

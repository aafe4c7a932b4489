import math
from dataclasses import astuple

import numpy as np
import pytest
import scipy.stats
from scipy import stats

from evenruler.measurement import Interval, bootstrap
from evenruler.measurement.resampling import (
    BELOW_ONE,
    CORRELATION,
    FEWEST_UNITS,
    PLAIN,
    SHARE,
    jackknife,
    jackknife_interval,
)
from tests.measurement.conftest import POSITIVE


def test_two_rows_by_hand():
    # Resamples of {0, 1} are 00, 01, 10, 11: means 0, 1/2, 1/2, 1 with chances 1/4, 1/2, 1/4. The
    # percentiles 2.5 and 97.5 are 0 and 1; the percentiles 30 and 70 both are 1/2.
    assert bootstrap(np.mean, [0, 1], seed=1) == Interval(0.5, 0.0, 1.0)
    assert bootstrap(np.mean, [0, 1], level=0.4, seed=1) == Interval(0.5, 0.5, 0.5)


def test_is_scipys_paired_percentile_bootstrap():
    x, y = np.random.default_rng(0).normal(size=(2, 25))

    def covariance(a, b):
        return np.cov(a, b)[0, 1]

    ours = bootstrap(covariance, x, y, level=0.9, n=400, seed=7)
    theirs = scipy.stats.bootstrap(
        (x, y),
        covariance,
        paired=True,
        vectorized=False,
        n_resamples=400,
        confidence_level=0.9,
        method="percentile",
        rng=np.random.default_rng(7),
    ).confidence_interval
    assert ours.value == covariance(x, y)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), rel=1e-12)


class TestClusters:
    def test_equal_clusters_are_as_their_means(self):
        # The mean of whole clusters of three is the mean of their means: the same draws, the same
        # interval.
        x = np.random.default_rng(0).normal(size=(10, 3))
        clusters = np.repeat(np.arange(10), 3)
        by_cluster = bootstrap(np.mean, x.ravel(), clusters=clusters, n=300, seed=2)
        by_mean = bootstrap(np.mean, x.mean(axis=1), n=300, seed=2)
        assert astuple(by_cluster) == pytest.approx(astuple(by_mean), rel=1e-12)


def correlate(x, y):
    return np.corrcoef(x, y)[0, 1]


class TestUndefinedResamples:
    @pytest.mark.parametrize(("defined", "end"), [(5, 1.0), (4, math.nan)])
    def test_half_of_them_are_enough(self, defined, end):
        calls = []

        def now_and_then(x):
            calls.append(x)
            return (
                1.0 if len(calls) <= 1 + defined else math.nan
            )  # the first call is of the whole sample

        interval = bootstrap(now_and_then, [1, 2, 3], n=10, seed=0)
        assert [interval.low, interval.high] == pytest.approx([end, end], nan_ok=True)

    def test_a_warning_of_numpy_stays_inside(self):
        # A resample of three rows is constant 3/27 = .11 of the time; others lie on the line.
        interval = bootstrap(correlate, [1.0, 2.0, 3.0], [2.0, 4.0, 6.0], n=300, seed=0)
        assert astuple(interval) == pytest.approx((1, 1, 1))


@pytest.mark.parametrize(
    ("arrays", "options", "message"),
    [
        (([1, 2, 3], [1, 2]), {}, r"equal length, got lengths \[2, 3\]"),
        ((), {}, "one or more arrays"),
        (([1],), {}, "at least 2 rows to draw, got 1"),
        (([1, 2],), {"clusters": ["a", "a"]}, "at least 2 clusters to draw, got 1"),
        (([1, 2],), {"clusters": ["a"]}, "label for each of 2 rows"),
        (([1, 2],), {"clusters": [[1], [2]]}, "label for each of 2 rows"),
        (([1, 2],), {"clusters": [0.0, math.nan]}, "label of row 1 is missing"),
        (([1, 2],), {"clusters": np.array([None, "b"])}, "label of row 0 is missing"),
        (([1, 2],), {"level": 1.0}, "level must be strictly between"),
        (([1, 2],), {"n": 0}, "n must be at least 1"),
    ],
)
def test_refuses(arrays, options, message):
    with pytest.raises(ValueError, match=message):
        bootstrap(lambda *_: 0.0, *arrays, **options, seed=0)


class TestOfTheMean:
    """Leaving one out of a mean gives back the values themselves."""

    @pytest.mark.parametrize("n", [FEWEST_UNITS, 12])
    @pytest.mark.parametrize("level", [0.95, 0.5])
    def test_is_the_interval_of_t(self, n, level):
        x = np.random.default_rng(n).exponential(size=n)
        interval = jackknife(np.mean, x, level=level)
        assert interval.value == x.mean()
        expected = stats.t.interval(level, n - 1, x.mean(), stats.sem(x))
        assert (interval.low, interval.high) == pytest.approx(expected)

    def test_on_a_scale_it_is_symmetric_there(self):
        x = np.random.default_rng(2).normal(3, 1, size=20)
        interval = jackknife(np.std, x, scale=POSITIVE)
        without_one = [np.std(np.delete(x, place)) for place in range(20)]
        error = math.sqrt(19 * np.log(without_one).var())
        half = stats.t.ppf(0.975, 19) * error
        value, low, high = np.log(astuple(interval))
        assert interval.value == np.std(x)
        assert (value - low, high - value) == pytest.approx((half, half))


class TestScales:
    @pytest.mark.parametrize(
        ("scale", "value", "there", "end"),
        [
            (PLAIN, -3.5, -3.5, math.nan),
            (POSITIVE, math.e**2, 2, 0.0),
            (BELOW_ONE, 1 - math.e**-2, 2, 1.0),
            (CORRELATION, -0.6, -0.5 * math.log(1.6 / 0.4), -1.0),
            (SHARE, 0.2, math.log(0.25), 0.0),
            (SHARE, 0.2, math.log(0.25), 1.0),
        ],
    )
    def test_there_and_back_and_at_its_end_there_is_no_number(self, scale, value, there, end):
        assert scale.there(value) == pytest.approx(there, abs=1e-15)
        assert scale.back(there) == pytest.approx(value, abs=1e-15)
        assert math.isnan(scale.there(end))


class TestWithoutInterval:
    def test_too_few_units(self):
        interval = jackknife(np.mean, [1.0, 2.0, 3.0, 6.0])
        assert interval.value == 3
        assert math.isnan(interval.low)
        assert math.isnan(interval.high)

    def test_a_statistic_that_divides_by_zero_warns_of_nothing(self):
        zero = np.float64(0)
        interval = jackknife(lambda _: zero / zero, np.arange(6.0))
        assert math.isnan(interval.value)
        assert math.isnan(interval.low)


class TestPairs:
    def test_of_different_length_or_at_no_level(self):
        with pytest.raises(ValueError, match="level"):
            jackknife(np.mean, np.arange(6.0), level=1.0)
        with pytest.raises(ValueError, match=r"arrays of different lengths: \[6, 7\]"):
            jackknife(lambda x, y: 0.0, np.zeros(7), np.zeros(6))


def test_of_left_out_by_hand():
    # Deviations -1, 0, 1: a variance of 2/3 * 2 about the value.
    half = stats.t.ppf(0.975, 2) * math.sqrt(4 / 3)
    ends = jackknife_interval(5.0, np.array([1.0, 2.0, 3.0]), 0.95)
    assert ends == pytest.approx((5 - half, 5 + half))

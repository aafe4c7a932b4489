import math
import warnings
from collections import Counter

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from evenruler.measurement import Interval, bootstrap, cronbach_alpha, pearson
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


def test_arrays_are_resampled_together():
    x = np.random.default_rng(0).normal(size=(12, 2))
    labels = np.array([f"row {i}" for i in range(12)])
    value = dict(zip(labels, x[:, 1], strict=True))

    def rows_broken(matrix, names):
        return sum(matrix[i, 1] != value[name] for i, name in enumerate(names))

    assert bootstrap(rows_broken, x, labels, n=50, seed=0) == Interval(0, 0, 0)


def test_one_resample_is_an_interval():
    interval = bootstrap(np.mean, [0, 1], n=1, seed=1)
    assert interval.low == interval.high
    assert interval.low in (0, 0.5, 1)


def test_same_seed_same_interval_other_seed_other_interval():
    x = np.random.default_rng(0).normal(size=20)
    assert bootstrap(np.mean, x, n=200, seed=3) == bootstrap(np.mean, x, n=200, seed=3)
    assert bootstrap(np.mean, x, n=200, seed=3) != bootstrap(np.mean, x, n=200, seed=4)


def test_global_random_state_is_neither_read_nor_moved():
    x = np.arange(9.0)
    np.random.seed(5)
    first = bootstrap(np.mean, x, n=50, seed=3)
    after = np.random.random()
    np.random.seed(5)
    assert after == np.random.random()
    assert first == bootstrap(np.mean, x, n=50, seed=3)


@settings(max_examples=20, deadline=None)
@given(scale=st.floats(0.1, 50), shift=st.floats(-100, 100), seed=st.integers(0, 1000))
def test_interval_of_a_mean_moves_with_the_data(scale, shift, seed):
    x = np.random.default_rng(seed).normal(size=15)
    plain = bootstrap(np.mean, x, n=60, seed=seed)
    moved = bootstrap(np.mean, scale * x + shift, n=60, seed=seed)
    expected = [scale * end + shift for end in (plain.value, plain.low, plain.high)]
    assert [moved.value, moved.low, moved.high] == pytest.approx(expected, abs=1e-9)


def test_coverage_of_a_mean():
    rng = np.random.default_rng(11)
    intervals = [
        bootstrap(np.mean, rng.normal(size=40), n=200, level=0.9, seed=i) for i in range(250)
    ]
    covered = np.mean([interval.low <= 0 <= interval.high for interval in intervals])
    # Nominal .90; of 250 intervals the share has a standard error of .019, and 40 rows cost a point
    # or two.
    assert 0.84 <= covered <= 0.94


class TestClusters:
    def test_equal_clusters_are_as_their_means(self):
        # The mean of whole clusters of three is the mean of their means: the same draws, the same
        # interval.
        x = np.random.default_rng(0).normal(size=(10, 3))
        by_cluster = bootstrap(
            np.mean, x.ravel(), clusters=np.repeat(np.arange(10), 3), n=300, seed=2
        )
        by_mean = bootstrap(np.mean, x.mean(axis=1), n=300, seed=2)
        assert (by_cluster.low, by_cluster.high) == pytest.approx(
            (by_mean.low, by_mean.high), rel=1e-12
        )

    def test_wider_than_naive_on_clustered_data(self):
        # 20 clusters of 10 rows, variance 1 between and .25 within: the standard error of the mean
        # is about sqrt(1/20) = .22, against sqrt(1.25/200) = .08 that rows suggest: 2.8 times as
        # wide.
        rng = np.random.default_rng(4)
        x = rng.normal(size=(20, 1)) + rng.normal(scale=0.5, size=(20, 10))
        labels = np.repeat([f"cluster {i}" for i in range(20)], 10)
        naive = bootstrap(np.mean, x.ravel(), n=500, seed=0)
        clustered = bootstrap(np.mean, x.ravel(), clusters=labels, n=500, seed=0)
        assert 2.2 < (clustered.high - clustered.low) / (naive.high - naive.low) < 3.4

    def test_come_whole_and_as_many_as_there_are(self):
        labels = np.array(["a", "b", "a", "c", "a", "b"])
        size = {"a": 3, "b": 2, "c": 1}

        def is_broken(drawn):
            counts = Counter(drawn.tolist())
            whole = all(count % size[label] == 0 for label, count in counts.items())
            return not (whole and sum(count / size[label] for label, count in counts.items()) == 3)

        assert bootstrap(is_broken, labels, clusters=labels, n=200, seed=0) == Interval(0, 0, 0)

    def test_of_one_row_each_are_rows(self):
        x = np.random.default_rng(0).normal(size=12)
        labels = np.random.default_rng(1).permutation(12)
        assert bootstrap(np.mean, x, clusters=labels, n=100, seed=5) == bootstrap(
            np.mean, x, n=100, seed=5
        )

    def test_names_do_not_matter(self):
        x = np.random.default_rng(0).normal(size=8)
        numbers, names = [3, 3, 1, 1, 1, 2, 0, 0], list("aazzzbqq")
        first = bootstrap(np.mean, x, clusters=numbers, n=100, seed=5)
        assert first == bootstrap(np.mean, x, clusters=names, n=100, seed=5)


class TestUndefinedResamples:
    def test_some_are_left_out(self):
        def spread(x):
            return np.ptp(x) if np.ptp(x) else math.nan

        # 1112 has a spread of 1 unless the 2 is not drawn, (3/4)^4 = .32 of the time, or nothing
        # else is.
        assert bootstrap(spread, [1, 1, 1, 2], n=300, seed=0) == Interval(1, 1, 1)

    def test_more_than_half_leave_no_interval(self):
        def of_all_three(x):
            return float(x.sum()) if set(x.tolist()) == {1, 2, 3} else math.nan

        # All three rows are drawn 3!/27 = .22 of the time.
        interval = bootstrap(of_all_three, [1, 2, 3], n=300, seed=0)
        assert interval.value == 6
        assert math.isnan(interval.low)
        assert math.isnan(interval.high)

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

    def test_other_warnings_are_told(self):
        def warns(x):
            warnings.warn("of the statistic", UserWarning, stacklevel=1)
            return 1.0

        with pytest.warns(UserWarning, match="of the statistic"):
            bootstrap(warns, [1, 2, 3], n=2, seed=0)

    def test_a_warning_of_numpy_stays_inside(self):
        def r(x, y):
            return np.corrcoef(x, y)[0, 1]

        # A resample of three rows is constant 3/27 = .11 of the time; others lie on the line.
        interval = bootstrap(r, [1.0, 2.0, 3.0], [2.0, 4.0, 6.0], n=300, seed=0)
        assert [interval.value, interval.low, interval.high] == pytest.approx([1, 1, 1])

    def test_a_constant_sample_has_no_correlation(self):
        interval = bootstrap(
            lambda x, y: np.corrcoef(x, y)[0, 1], [1, 1, 1], [1, 2, 3], n=20, seed=0
        )
        assert np.isnan([interval.value, interval.low, interval.high]).all()


def test_what_the_statistic_raises_is_raised():
    with pytest.raises(ZeroDivisionError):
        bootstrap(lambda x: 1 / 0, [1, 2], n=10, seed=0)


@pytest.mark.parametrize(
    ("arrays", "options", "message"),
    [
        (([1, 2, 3], [1, 2]), {}, r"equal length, got lengths \[2, 3\]"),
        ((), {}, "one or more arrays"),
        (([1],), {}, "at least 2 rows to draw, got 1"),
        ((1,), {}, "at least 2 rows to draw, got 1"),
        (([1, 2, 3],), {"clusters": ["a", "a", "a"]}, "at least 2 clusters to draw, got 1"),
        (([1, 2, 3],), {"clusters": ["a", "b"]}, "label for each of 3 rows"),
        (([1, 2, 3],), {"clusters": [[1], [2], [3]]}, "label for each of 3 rows"),
        (([1, 2, 3],), {"clusters": [0.0, 1.0, math.nan]}, "label of row 2 is missing"),
        (([1, 2, 3],), {"clusters": np.array(["a", None, "b"])}, "label of row 1 is missing"),
        (([1, 2],), {"level": 0.0}, "level must be strictly between"),
        (([1, 2],), {"level": 1.0}, "level must be strictly between"),
        (([1, 2],), {"level": 95}, "level must be strictly between"),
        (([1, 2],), {"level": math.nan}, "level must be strictly between"),
        (([1, 2],), {"n": 0}, "n must be at least 1"),
    ],
)
def test_refuses(arrays, options, message):
    with pytest.raises(ValueError, match=message):
        bootstrap(lambda *_: 0.0, *arrays, **options, seed=0)


def test_seed_is_required():
    with pytest.raises(TypeError, match="seed"):
        bootstrap(np.mean, [1, 2])


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
        assert (found.low, found.high) == pytest.approx(
            stats.t.interval(level, n - 1, x.mean(), stats.sem(x))
        )

    def test_of_rows(self):
        x = np.random.default_rng(1).normal(size=(9, 4))
        found = jackknife(np.mean, x)
        of_rows = x.mean(axis=1)
        assert (found.low, found.high) == pytest.approx(
            stats.t.interval(0.95, 8, x.mean(), stats.sem(of_rows))
        )

    def test_on_a_scale_it_is_symmetric_there(self):
        x = np.random.default_rng(2).normal(3, 1, size=20)
        found = jackknife(sd, x, scale=POSITIVE)
        logs = np.log([sd(np.delete(x, i)) for i in range(20)])
        half = stats.t.ppf(0.975, 19) * math.sqrt(19 / 20 * ((logs - logs.mean()) ** 2).sum())
        assert found.value == sd(x)
        assert (found.low, found.high) == pytest.approx(
            (sd(x) * math.exp(-half), sd(x) * math.exp(half))
        )


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
        low, high = np.tanh(jackknife_interval(np.arctanh(pearson(x, y).value), z, 0.95))
        assert found.value == pytest.approx(pearson(x, y).value)
        assert (found.low, found.high) == pytest.approx((low, high))

    def test_a_difference_of_paired_means_is_that_of_differences(self):
        x, y = np.random.default_rng(4).normal(size=(2, 10))
        both = jackknife(lambda a, b: a.mean() - b.mean(), x, y)
        apart = jackknife(np.mean, x - y)
        assert (both.value, both.low, both.high) == pytest.approx(
            (apart.value, apart.low, apart.high)
        )

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
    assert jackknife_interval(5.0, np.array([1.0, 2.0, 3.0]), 0.95) == pytest.approx(
        (5 - half, 5 + half)
    )


LOADINGS = np.linspace(0.4, 0.9, 8)


@pytest.mark.parametrize("n", [24, 50])
@pytest.mark.parametrize(
    ("statistic", "scale", "true"),
    [
        (
            cronbach_alpha,
            BELOW_ONE,
            8 / 7 * (1 - ((LOADINGS**2).sum() + 8) / (LOADINGS.sum() ** 2 + 8)),
        ),
        (lambda x: sd(x.mean(axis=1)), POSITIVE, math.sqrt(LOADINGS.mean() ** 2 + 1 / 8)),
    ],
    ids=["alpha", "spread"],
)
def test_coverage(statistic, scale, true, n):
    """Eight items with one thing in common; the long run is `tests.performance.coverage`."""
    rng = np.random.default_rng(5)
    found = [
        jackknife(
            statistic, rng.normal(size=(n, 1)) * LOADINGS + rng.normal(size=(n, 8)), scale=scale
        )
        for _ in range(200)
    ]
    assert 0.90 <= np.mean([one.low <= true <= one.high for one in found]) <= 0.99

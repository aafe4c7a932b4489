import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from evenruler.measurement import jackknifed_r, pearson, spearman
from evenruler.measurement.inputs import correlation
from evenruler.measurement.resampling import CORRELATION, jackknife
from tests.later import Later

pingouin = Later("pingouin")

seeds = st.integers(0, 10_000)


def paired(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=int(rng.integers(4, 60)))
    slope = rng.uniform(-1.5, 1.5)
    return x, slope * x + rng.normal(size=len(x))


class TestPearson:
    def test_by_hand(self):
        # Deviations -2, -1, 0, 1, 2 and -1, -2, 1, 0, 2: products 2 + 2 + 0 + 0 + 4 = 8, squares 10
        # and 10: r = .8. z = atanh(.8) = ln(1.8/.2)/2 = ln 3 = 1.098612, standard error 1/sqrt(5 -
        # 3) = .707107, margin 1.959964 * .707107 = 1.385904: tanh(-.287292) = -.279643,
        # tanh(2.484516) = .986194. t = .8 * sqrt(3 / (1 - .64)) = 2.309401 with 3 degrees of
        # freedom: p = .104088.
        result = pearson([1, 2, 3, 4, 5], [2, 1, 4, 3, 5])
        assert result.value == pytest.approx(0.8, abs=1e-12)
        assert result.p == pytest.approx(0.104088, abs=1e-6)
        assert result.n == 5
        assert (result.low, result.high) == pytest.approx((-0.279643, 0.986194), abs=1e-5)

    @settings(max_examples=25, deadline=None)
    @given(seed=seeds, level=st.floats(0.5, 0.99))
    def test_agrees_with_linear_regression_and_pingouin(self, seed, level):
        x, y = paired(seed)
        ours, regression = pearson(x, y, level), stats.linregress(x, y)
        assert (ours.value, ours.p) == pytest.approx(
            (regression.rvalue, regression.pvalue), abs=1e-9
        )
        ends = pingouin.compute_esci(
            stat=ours.value, nx=len(x), eftype="r", confidence=level, decimals=9
        )
        assert (ours.low, ours.high) == pytest.approx(tuple(ends), abs=1e-6)

    def test_refuses_what_is_constant_but_for_rounding(self):
        with pytest.raises(ValueError, match="constant"):
            pearson([0.3, 0.1 + 0.2, 0.3, 0.3], [1, 2, 3, 4])


class TestSpearman:
    def test_by_hand(self):
        # Rank differences of 1, 2, 3, 4, 5, 6, 7 and 2, 1, 3, 5, 4, 7, 6: six of one square each:
        # rho = 1 - 6 * 6 / (7 * 48) = 25/28 = .892857. z = ln((53/28) / (3/28)) / 2 = ln(53/3) / 2
        # = 1.435840, standard error sqrt(1.06 / 4) = .514782, margin 1.959964 * .514782 = 1.008953:
        # tanh(.426887) = .402716, tanh(2.444793) = .985059.
        y = [0.2, 0.1, 0.3, 0.5, 0.4, 0.7, 0.6]
        result = spearman([10, 20, 30, 40, 50, 60, 700], y)
        assert result.value == pytest.approx(25 / 28, abs=1e-12)
        assert result.n == 7
        assert (result.low, result.high) == pytest.approx((0.402716, 0.985059), abs=1e-5)

    @settings(max_examples=25, deadline=None)
    @given(seed=seeds)
    def test_agrees_with_scipy_with_ties(self, seed):
        x, y = (np.round(values * 2) for values in paired(seed))
        assume(np.ptp(x) > 0 and np.ptp(y) > 0)
        ours, theirs = spearman(x, y), stats.spearmanr(x, y)
        assert ours.value == pytest.approx(theirs.statistic, abs=1e-12)
        assert ours.p == pytest.approx(theirs.pvalue, abs=1e-12)


@pytest.mark.parametrize(
    ("x", "y", "options", "message"),
    [
        ([1, 2, 3], [1, 2, 4], {}, "at least 4 pairs, got 3"),
        ([1, 2, 3, 4], [1, 2, 4], {}, "equal length"),
        ([[1, 2], [3, 4]], [[1, 2], [4, 3]], {}, "two vectors"),
        ([1, 2, 3, math.nan], [1, 2, 4, 3], {}, "finite"),
        ([2, 2, 2, 2], [1, 2, 4, 3], {}, "constant"),
    ],
)
def test_refuses(x, y, options, message):
    with pytest.raises(ValueError, match=message):
        pearson(x, y, **options)


def test_the_jackknife_keeps_r_at_its_level():
    x, noise = np.random.default_rng(3).normal(size=(2, 30))
    y = x + noise
    expected = jackknife(
        correlation,
        x,
        y,
        scale=CORRELATION,
        level=0.5,
    )
    plain, half = pearson(x, y), jackknifed_r(x, y, level=0.5)
    assert (half.value, half.p, half.n) == (plain.value, plain.p, 30)
    assert (half.low, half.high) == pytest.approx((expected.low, expected.high))

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenruler.instruments.saged.diagnose.dixon import CRITICAL, End, dixon_ratios, kind_of

DEAN = [40.02, 40.12, 40.16, 40.18, 40.18, 40.20]
"""Dean & Dixon (1951), Simplified statistics for small numbers of observations, Analytical Chemistry 23: 636-638. Read
in the manual of the R package dixonTest (github.com/cran/dixonTest, man/dixonTest.Rd), which prints no ratio."""

DATAPLOT = [568.0, 570, 570, 570, 572, 578, 584, 596]
"""NIST Dataplot reference manual, Dixon test. Read in the same manual; the ratio is by its formula."""

DENSITIES = [1.053, 1.060, 1.059, 1.070, 1.058]
"""California State University Stanislaus, "The Q test", wwwchem.csustan.edu/CHEM1102H/qtest.htm: 0.010/.017, at 90%."""

MANUAL_HIGH = [15.48, 15.51, 15.52, 15.52, 15.53, 15.53, 15.68]
MANUAL_LOW = [15.43, 15.48, 15.51, 15.52, 15.52, 15.53, 15.53, 15.58]
"""The two examples of `Dixon.fit` in the manual of pycafee (github.com/pycafee/pycafee,
pycafee/sample/outliers.py): ratio, kind and critical value are printed."""

TOO_HIGH = [15.52, 15.53, 15.53, 15.54, 15.56, 15.56, 15.68]
TOO_LOW = [15.42, 15.51, 15.52, 15.52, 15.53, 15.53, 15.54]
TWO, FOUR, EIGHT = [15.53, 15.54], [15.53, 15.54, 15.55, 15.55], [15.53, 15.54, *[15.55] * 3, 15.52, 15.53, 15.56]
"""The same repository, tests/sample/Dixon/test_fit.py, Test_ratio_None: seven numbers with one of each end too far
out, and what is added to them for the other kinds."""

QUADRATURE = {
    0.02: [
        *(0.976, 0.847, 0.729, 0.646, 0.587, 0.632, 0.587, 0.551, 0.636, 0.606, 0.580, 0.604, 0.581, 0.562),
        *(0.545, 0.530, 0.516, 0.504, 0.492, 0.482, 0.473, 0.464, 0.457, 0.449, 0.442, 0.436, 0.430, 0.424),
    ],
    0.05: [
        *(0.941, 0.766, 0.642, 0.562, 0.507, 0.554, 0.511, 0.478, 0.575, 0.546, 0.521, 0.546, 0.524, 0.505),
        *(0.489, 0.475, 0.462, 0.450, 0.440, 0.430, 0.421, 0.413, 0.406, 0.399, 0.393, 0.387, 0.381, 0.376),
    ],
}
"""By share of normal samples beyond them at a given end: the critical values for n = 3 to 30 that McBane (2006, Journal
of Statistical Software 16) integrates numerically; github.com/cran/dixonTest, inst/slowTests/test4.ref.output.txt."""


class TestPublished:
    @pytest.mark.parametrize(
        ("numbers", "end", "ratio", "kind", "critical"),
        [
            (DENSITIES, "high", 0.010 / 0.017, "r10", 0.710),
            (MANUAL_HIGH, "high", 0.75, "r10", 0.568),
            (MANUAL_LOW, "low", 0.5, "r11", 0.615),
            (TOO_HIGH, "high", 0.75, "r10", 0.568),
            (TOO_HIGH, "low", 0.0625, "r10", 0.568),
            (TOO_LOW, "low", 0.75, "r10", 0.568),
            (TOO_HIGH + TWO, "high", 0.8, "r11", 0.570),
            (TOO_LOW + TWO, "low", 0.75, "r11", 0.570),
            (TOO_HIGH + FOUR, "high", 0.8, "r21", 0.625),
            (TOO_LOW + FOUR, "low", 0.769230769, "r21", 0.625),
            (TOO_HIGH + EIGHT, "high", 0.8, "r22", 0.568),
            (TOO_LOW + EIGHT, "low", 0.769230769, "r22", 0.568),
        ],
    )
    def test_examples(self, numbers: list[float], end: End, ratio: float, kind: str, critical: float) -> None:
        assert dixon_ratios(np.array(numbers), end) == pytest.approx(ratio, abs=1e-9)
        assert kind_of(len(numbers)) == kind
        assert CRITICAL[len(numbers)] == critical

    def test_examples_by_their_formula(self) -> None:
        assert dixon_ratios(np.array(DEAN), "low") == pytest.approx(0.10 / 0.18)
        assert dixon_ratios(np.array(DEAN), "high") == pytest.approx(0.02 / 0.18)
        assert dixon_ratios(np.array(DATAPLOT), "high") == pytest.approx((596 - 584) / (596 - 570))

    def test_critical_values_lie_where_integration_puts_them(self) -> None:
        # Between those of 5% and 2%, linear in the logarithm; three decimals are published, and the third varies.
        twentieth, fiftieth = (np.array(QUADRATURE[share]) for share in (0.05, 0.02))
        expected = twentieth + (fiftieth - twentieth) * math.log(0.05 / 0.025) / math.log(0.05 / 0.02)
        assert list(CRITICAL) == [*range(3, 31)]
        np.testing.assert_allclose([*CRITICAL.values()], expected, rtol=0, atol=0.005)


class TestRatio:
    @pytest.mark.parametrize(
        ("n", "kind", "high", "low"),
        [
            # Squares 1, 4, 9 ... n^2: gaps and spreads by hand.
            (3, "r10", (9 - 4) / (9 - 1), (4 - 1) / (9 - 1)),
            (7, "r10", (49 - 36) / (49 - 1), (4 - 1) / (49 - 1)),
            (8, "r11", (64 - 49) / (64 - 4), (4 - 1) / (49 - 1)),
            (10, "r11", (100 - 81) / (100 - 4), (4 - 1) / (81 - 1)),
            (11, "r21", (121 - 81) / (121 - 4), (9 - 1) / (100 - 1)),
            (13, "r21", (169 - 121) / (169 - 4), (9 - 1) / (144 - 1)),
            (14, "r22", (196 - 144) / (196 - 9), (9 - 1) / (144 - 1)),
            (30, "r22", (900 - 784) / (900 - 9), (9 - 1) / (784 - 1)),
        ],
    )
    def test_of_every_kind(self, n: int, kind: str, high: float, low: float) -> None:
        squares = np.arange(n, 0, -1.0) ** 2
        assert kind_of(n) == kind
        assert dixon_ratios(squares, "high") == pytest.approx(high, abs=1e-15)
        assert dixon_ratios(squares, "low") == pytest.approx(low, abs=1e-15)

    def test_missing_numbers_are_left_out_and_change_the_kind(self) -> None:
        holed = np.array([[*DEAN, math.nan, math.nan], [*DATAPLOT]])
        np.testing.assert_allclose(dixon_ratios(holed, "low"), [0.10 / 0.18, (570 - 568) / (584 - 568)])

    def test_ties(self) -> None:
        # Two lowest alike: no gap. All but one alike: no gap at their end, nothing but gap at the other.
        np.testing.assert_array_equal(dixon_ratios(np.array([1.0, 1, 2, 3]), "low"), 0)
        np.testing.assert_array_equal(dixon_ratios(np.array([1.0, 1, 1, 3]), "high"), 1)
        np.testing.assert_array_equal(dixon_ratios(np.array([1.0, 1, 1, 3]), "low"), 0)
        np.testing.assert_array_equal(dixon_ratios(np.array([[0.1] * 8, [0.3] * 7 + [0.1 + 0.2]]), "high"), [0, 0])
        np.testing.assert_array_equal(dixon_ratios(np.array([0.0] + [1.0] * 8), "high"), 0)

    def test_is_undefined_for_too_few_and_too_many(self) -> None:
        assert np.isnan(dixon_ratios(np.array([1.0, 2.0]), "high"))
        assert np.isnan(dixon_ratios(np.arange(31.0), "low"))
        for n in (2, 31):
            with pytest.raises(ValueError, match=f"from 3 to 30, got {n}"):
                kind_of(n)

    @settings(max_examples=60, deadline=None)
    @given(st.integers(3, 30), st.integers(0, 10_000), st.floats(0.1, 10), st.floats(-5, 5))
    def test_order_unit_and_origin_do_not_matter(self, n: int, seed: int, scale: float, shift: float) -> None:
        numbers = np.random.default_rng(seed).normal(size=n)
        ratio = dixon_ratios(np.sort(numbers), "high")
        assert 0 <= ratio <= 1
        assert dixon_ratios(scale * numbers + shift, "high") == pytest.approx(ratio, abs=1e-9)
        assert dixon_ratios(-numbers, "low") == pytest.approx(ratio, abs=1e-12)


@pytest.mark.parametrize("n", sorted(CRITICAL))
def test_normal_samples_exceed_the_critical_value_in_a_fortieth_of_cases(n: int) -> None:
    samples = np.random.default_rng(n).normal(size=(60_000, n))
    for end in ("high", "low"):
        assert np.mean(dixon_ratios(samples, end) > CRITICAL[n]) == pytest.approx(0.025, abs=0.0025)

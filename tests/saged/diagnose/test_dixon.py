import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenruler.saged.diagnose.dixon import CRITICAL, dixon_ratios, kind_of

DEAN = [40.02, 40.12, 40.16, 40.18, 40.18, 40.20]
"""Dean & Dixon (1951), Simplified statistics for small numbers of observations, Analytical Chemistry 23: 636-638."""

DATAPLOT = [568.0, 570, 570, 570, 572, 578, 584, 596]
"""NIST Dataplot reference manual, Dixon test."""

EPA = [82.39, 86.62, 91.72, 98.37, 103.46, 104.93, 105.52, 108.21, 113.23, 150.55]
"""EPA QA/G-9, Guidance for data quality assessment (2000), section 4.4.3."""


class TestPublished:
    def test_low_end_of_six(self) -> None:
        assert dixon_ratios(np.array(DEAN), "low") == pytest.approx(0.10 / 0.18)
        assert dixon_ratios(np.array(DEAN), "high") == pytest.approx(0.02 / 0.18)
        assert kind_of(6) == "r10"

    def test_high_end_of_eight(self) -> None:
        # r11: (596 - 584) / (596 - 570)
        assert dixon_ratios(np.array(DATAPLOT), "high") == pytest.approx(0.4615, abs=5e-5)
        assert kind_of(8) == "r11"

    def test_high_end_of_ten_and_the_same_mirrored(self) -> None:
        assert dixon_ratios(np.array(EPA), "high") == pytest.approx(0.584, abs=5e-4)
        assert dixon_ratios(-np.array(EPA), "low") == pytest.approx(0.584, abs=5e-4)
        assert CRITICAL[10] < 0.584

    @pytest.mark.parametrize(("n", "critical"), [(3, 0.970), (7, 0.568), (8, 0.615), (13, 0.565), (14, 0.590)])
    def test_critical_values(self, n: int, critical: float) -> None:
        assert CRITICAL[n] == critical


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

import math
from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.weightstats import ttost_paired

from evenruler.measurement import paired

BEFORE, AFTER = [1.0, 2.0, 3.0, 4.0], [2.0, 4.0, 3.0, 7.0]
"""Changes 1, 2, 0, 3: mean 1.5, squares 5 around it, so their variance is 5/3 and the error of the mean sqrt(5/12)."""


def drawn(seed: int, n: int, shift: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    before = rng.normal(3, 2, n)
    return before, before + shift + rng.normal(0, 1, n)


class TestByHand:
    def test_means_and_spreads(self) -> None:
        found = paired(BEFORE, AFTER)
        assert (found.n, found.before_mean, found.after_mean, found.difference) == (4, 2.5, 4.0, 1.5)
        assert found.before_sd == pytest.approx(math.sqrt(5 / 3), abs=1e-12)
        assert found.after_sd == pytest.approx(math.sqrt(14 / 3), abs=1e-12)

    def test_size_and_test(self) -> None:
        found = paired(BEFORE, AFTER)
        assert found.dz == pytest.approx(1.5 / math.sqrt(5 / 3), abs=1e-12)
        assert found.t == pytest.approx(1.5 / math.sqrt(5 / 12), abs=1e-12)
        assert found.t == pytest.approx(found.dz * 2, abs=1e-12)  # sqrt(n)
        # Of t with 3 degrees of freedom the quantile at .975 is 3.182446.
        half = 3.182446305 * math.sqrt(5 / 12)
        assert (found.low, found.high) == pytest.approx((1.5 - half, 1.5 + half), abs=1e-8)

    def test_none_is_half_a_standard_deviation_of_the_values_before(self) -> None:
        bound = math.sqrt(5 / 3) / 2
        upper = (1.5 - bound) / math.sqrt(5 / 12)  # the nearer bound decides
        assert paired(BEFORE, AFTER).p_equivalence == pytest.approx(stats.t.cdf(upper, 3), abs=1e-12)
        assert paired(AFTER, BEFORE).p_equivalence == pytest.approx(
            stats.t.cdf((1.5 - math.sqrt(14 / 3) / 2) / math.sqrt(5 / 12), 3), abs=1e-12
        )

    def test_the_other_way_round(self) -> None:
        there, back = paired(BEFORE, AFTER), paired(AFTER, BEFORE)
        assert (back.difference, back.t, back.dz) == pytest.approx((-1.5, -there.t, -there.dz), abs=1e-12)
        assert (back.low, back.high) == pytest.approx((-there.high, -there.low), abs=1e-12)
        assert back.p == pytest.approx(there.p, abs=1e-12)


seeds, sizes, shifts = st.integers(0, 10_000), st.integers(2, 60), st.floats(-3, 3)


class TestAgainstOthers:
    @settings(max_examples=30)
    @given(seeds, sizes, shifts)
    def test_t_p_and_interval_are_those_of_scipy(self, seed, n, shift) -> None:
        before, after = drawn(seed, n, shift)
        expected = stats.ttest_rel(after, before)
        found = paired(before, after, level=0.9)
        assert (found.t, found.p) == pytest.approx((expected.statistic, expected.pvalue), rel=1e-9, abs=1e-12)
        interval = expected.confidence_interval(0.9)
        assert (found.low, found.high) == pytest.approx((interval.low, interval.high), rel=1e-9, abs=1e-12)

    @settings(max_examples=30)
    @given(seeds, sizes, shifts)
    def test_equivalence_is_that_of_statsmodels(self, seed, n, shift) -> None:
        before, after = drawn(seed, n, shift)
        bound = 0.5 * before.std(ddof=1)
        expected, _, _ = ttost_paired(after, before, -bound, bound)
        assert paired(before, after).p_equivalence == pytest.approx(float(expected), rel=1e-9, abs=1e-12)

    @settings(max_examples=30)
    @given(seeds, st.floats(0.01, 100), st.floats(-50, 50))
    def test_no_unit_and_no_origin_changes_what_is_said(self, seed, factor, offset) -> None:
        before, after = drawn(seed, 12, 0.5)
        one, other = paired(before, after), paired(before * factor + offset, after * factor + offset)
        for name in ("t", "p", "dz", "p_equivalence"):
            assert getattr(other, name) == pytest.approx(getattr(one, name), rel=1e-6, abs=1e-9)
        assert other.difference == pytest.approx(one.difference * factor, rel=1e-6)


NULL = ["low", "high", "t", "p", "dz", "p_equivalence"]


class TestWithoutSpread:
    @pytest.mark.parametrize(
        ("before", "after", "difference"),
        [
            ([1.0, 2.0, 4.0], [1.5, 2.5, 4.5], 0.5),
            ([1.0, 2.0, 4.0], [1.0, 2.0, 4.0], 0.0),
            ([0.1, 0.2, 0.7], [0.4, 0.5, 1.0], 0.3),  # the same change but for rounding
            ([1e9, 2e9, 3e9], [1e9 + 0.1, 2e9 + 0.1, 3e9 + 0.1], 0.1),
            ([0.0, 0.0], [0.0, 0.0], 0.0),
            ([0.0, 0.0], [3.0, 3.0], 3.0),
        ],
    )
    def test_the_same_change_of_all_has_no_statistics(self, before, after, difference) -> None:
        found = asdict(paired(before, after))
        assert {found[name] for name in NULL} == {None}
        assert found["difference"] == pytest.approx(difference, abs=1e-6)
        assert found["before_mean"] == pytest.approx(np.mean(before))
        assert found["after_sd"] == pytest.approx(np.std(after, ddof=1))

    def test_small_changes_that_differ_have_some(self) -> None:
        found = paired([1.0, 2.0, 4.0], [1.0 + 1e-6, 2.0 + 3e-6, 4.0 + 2e-6])
        assert found.t == pytest.approx(2 / (1 / math.sqrt(3)), rel=1e-6)

    def test_where_all_begin_alike_nothing_is_small_enough_to_be_none(self) -> None:
        found = paired([1.0, 1.0, 1.0, 1.0], [0.9, 1.1, 0.8, 1.2])
        assert (found.before_sd, found.difference) == (0, pytest.approx(0, abs=1e-12))
        assert found.p_equivalence == pytest.approx(0.5)
        assert found.p == pytest.approx(1)


class TestRefused:
    @pytest.mark.parametrize(
        ("before", "after"), [([1], [2]), ([], []), ([1, 2], [1, 2, 3]), ([[1, 2], [3, 4]], [[1, 2], [3, 4]])]
    )
    def test_what_are_no_two_rows(self, before, after) -> None:
        with pytest.raises(ValueError, match="two rows of at least two values"):
            paired(before, after)

    @pytest.mark.parametrize("value", [math.nan, math.inf])
    def test_what_is_no_number(self, value) -> None:
        for before, after in (([1, value], [1, 2]), ([1, 2], [value, 2])):
            with pytest.raises(ValueError, match="finite"):
                paired(before, after)

    @pytest.mark.parametrize("level", [0, 1, 95])
    def test_a_level_that_is_none(self, level) -> None:
        with pytest.raises(ValueError, match="level must be strictly between 0 and 1"):
            paired(BEFORE, AFTER, level)


class TestOverManySamples:
    """Samples of 8 units, 400 of them: a share of .05 among them has a standard error of .011, one of .9 of .015."""

    def test_p_is_even_where_nothing_happens(self) -> None:
        p = [paired(*drawn(seed, 8)).p for seed in range(400)]
        assert stats.kstest(p, "uniform").pvalue > 0.001
        assert np.mean(np.array(p) < 0.05) == pytest.approx(0.05, abs=0.035)

    def test_the_interval_covers_the_change(self) -> None:
        found = [paired(*drawn(seed, 8, 0.7), level=0.9) for seed in range(400)]
        assert np.mean([result.low < 0.7 < result.high for result in found]) == pytest.approx(0.9, abs=0.045)

    def test_a_change_at_the_bound_is_seldom_called_none(self) -> None:
        """Of units that are many, so that half the SD of those before is near half the SD that they were drawn with."""
        found = [paired(*drawn(seed, 200, 1.0)).p_equivalence < 0.05 for seed in range(150)]
        assert 0 < np.mean(found) < 0.2
        assert np.mean([paired(*drawn(seed, 200)).p_equivalence < 0.05 for seed in range(150)]) == 1

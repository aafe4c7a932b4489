"""Shifts by hand, and the coverage of what placebos do."""

import math

import numpy as np
import pytest
from scipy import stats

from evenruler.measurement.shifts import of_placebos, shift


class TestShift:
    def test_by_hand(self):
        found = shift([1.0, 2.0, 3.0], [2.0, 2.0, 5.0])  # changes 1, 0, 2
        assert (found.level, found.n) == (1.0, 3)
        assert found.level_in_sd == pytest.approx(1.0)
        assert found.reordering == pytest.approx(1.0)
        assert found.rank_agreement == pytest.approx(stats.spearmanr([1, 2, 3], [2, 2, 5]).statistic)

    def test_all_alike_is_a_level_and_no_reordering(self):
        found = shift([1.0, 2.0, 4.0], [0.5, 1.5, 3.5])
        assert (found.level, found.reordering, found.rank_agreement) == (-0.5, 0.0, pytest.approx(1.0))

    def test_a_reversal_is_no_level(self):
        found = shift([-1.0, 0.0, 1.0], [1.0, 0.0, -1.0])
        assert found.level == 0
        assert found.rank_agreement == pytest.approx(-1.0)
        assert found.reordering == pytest.approx(2.0)

    def test_scores_that_do_not_differ(self):
        found = shift([1.0, 1.0, 1.0], [2.0, 2.0, 3.0])
        assert math.isnan(found.level_in_sd)
        assert math.isnan(found.rank_agreement)

    @pytest.mark.parametrize(("bare", "after"), [([1, 2], [1, 2]), ([1, 2, 3], [1, 2]), ([1, 2, np.nan], [1, 2, 3])])
    def test_what_is_refused(self, bare, after):
        with pytest.raises(ValueError, match="scores"):
            shift(bare, after)


class TestPlacebos:
    def test_by_hand(self):
        found = of_placebos([1.0, -1.0, 2.0, -2.0, 0.0])
        assert found.value == pytest.approx(math.sqrt(2))
        assert found.low == pytest.approx(math.sqrt(10 / stats.chi2.ppf(0.975, 5)))
        assert found.high == pytest.approx(math.sqrt(10 / stats.chi2.ppf(0.025, 5)))

    @pytest.mark.parametrize("k", [5, 8])
    def test_coverage(self, k):
        rng = np.random.default_rng(1)
        found = [of_placebos(0.7 * rng.normal(size=k)) for _ in range(1000)]
        assert 0.93 <= np.mean([one.low <= 0.7 <= one.high for one in found]) <= 0.97

    @pytest.mark.parametrize("values", [[1, 2, 3, 4], [1, 2, 3, 4, np.inf]])
    def test_what_is_refused(self, values):
        with pytest.raises(ValueError, match="at least 5 placebos"):
            of_placebos(values)

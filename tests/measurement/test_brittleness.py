import math

import numpy as np
import pytest
from scipy import stats

from evenruler.measurement import (
    Resampling,
    bootstrap,
    brittleness,
    brittleness_figures,
    framing_rank_agreement,
    no_brittleness,
)

RESAMPLING = Resampling(level=0.9, resamples=80, seed=5)
NAN = math.nan


class TestBrittleness:
    def test_by_hand(self) -> None:
        # Moved by 1, 0, 0 and 0, 3, 2: a mean of 1, beside a spread of 2.
        assert brittleness([0.0, 2.0, 4.0], [[1.0, 2.0, 4.0], [0.0, 5.0, 2.0]], 2.0) == 0.5

    def test_nothing_moved(self) -> None:
        assert brittleness([0.0, 2.0], [[0.0, 2.0]], 1.0) == 0

    def test_moves_to_opposite_sides_do_not_cancel(self) -> None:
        assert brittleness([1.0, 1.5], [[2.0, 0.5]], 1.0) == 1

    def test_what_all_scores_are_multiplied_with_or_share_falls_out(self) -> None:
        rng = np.random.default_rng(1)
        bare, framed = rng.normal(size=7), rng.normal(size=(3, 7))
        expected = brittleness(bare, framed, bare.std(ddof=1))
        moved = -3 * bare + 8
        assert brittleness(moved, -3 * framed + 8, moved.std(ddof=1)) == pytest.approx(expected, abs=1e-12)

    @pytest.mark.parametrize("spread", [0.0, -1.0, NAN, math.inf])
    def test_spread_is_positive(self, spread) -> None:
        with pytest.raises(ValueError, match="expected more than 0"):
            brittleness([0.0, 1.0], [[0.0, 1.0]], spread)

    @pytest.mark.parametrize(
        ("bare", "framed", "said"),
        [
            ([0.0, 1.0], [[0.0]], r"got shapes \(2,\) and \(1, 1\)"),
            ([0.0, 1.0], [0.0, 1.0], r"got shapes \(2,\) and \(2,\)"),
            ([], [[]], "got shapes"),
            ([0.0, NAN], [[0.0, 1.0]], "finite"),
            ([0.0, 1.0], [[0.0, NAN]], "finite"),
        ],
    )
    def test_what_cannot_be_paired_is_refused(self, bare, framed, said) -> None:
        for statistic in (lambda: brittleness(bare, framed, 1.0), lambda: framing_rank_agreement(bare, framed)):
            with pytest.raises(ValueError, match=said):
                statistic()


class TestRankAgreement:
    def test_is_the_mean_of_spearmans_rho(self) -> None:
        # The other way round: -1. Two in the middle swapped: 1 - 6 * 2 / (4 * 15).
        assert framing_rank_agreement([1, 2, 3, 4], [[9, 5, 2, 0], [1, 3, 2, 4]]) == pytest.approx((-1 + 0.8) / 2)

    def test_ties_as_scipy_takes_them(self) -> None:
        bare, framed = [1, 2, 2, 4, 0], [[3, 3, 1, 5, 0]]
        expected = stats.spearmanr(bare, framed[0]).statistic
        assert framing_rank_agreement(bare, framed) == pytest.approx(expected, abs=1e-12)

    def test_a_shift_of_all_units_changes_no_order(self) -> None:
        assert framing_rank_agreement([1, 2, 3], [[11, 12, 13]]) == pytest.approx(1)

    def test_nan_where_a_framing_makes_all_alike(self) -> None:
        assert math.isnan(framing_rank_agreement([1, 2, 3], [[1, 2, 3], [5, 5, 5]]))


BARE = np.array([0.0, 2.0, 4.0, 1.0, 7.0, 4.5])


class TestFigures:
    def test_the_spread_is_that_of_all_units_also_of_those_not_framed(self) -> None:
        # SD of 0, 2, 4 is 2; of the two that were framed it is 2.83. Moved by 1, 0 and 0, 2.
        found, _ = brittleness_figures([0.0, 2.0, 4.0], [[1.0, NAN, 4.0], [0.0, NAN, 2.0]], RESAMPLING, "items")
        assert (found.figure, found.value, found.n, found.unit) == ("brittleness", 0.375, 2, "items")
        assert found.reason is None

    def test_a_resample_of_units_has_its_own_spread(self) -> None:
        def of(bare: np.ndarray) -> float:
            return 0.5 / bare.std(ddof=1) if np.ptp(bare) else NAN

        found, agreement = brittleness_figures(BARE, [BARE + 0.5], RESAMPLING, "items")
        expected = bootstrap(of, BARE, level=0.9, n=80, seed=5)
        assert (found.value, found.low, found.high) == pytest.approx((expected.value, expected.low, expected.high))
        assert found.low < found.value < found.high
        assert (agreement.figure, agreement.n, agreement.value) == ("framing_rank_agreement", 6, pytest.approx(1))

    def test_agreement_has_an_interval_over_the_framed_units(self) -> None:
        framed = np.array([[0.5, 1.0, NAN, 3.0, 7.0, NAN], [4.0, 5.0, NAN, 3.0, 0.0, NAN]])
        _, found = brittleness_figures(BARE, framed, RESAMPLING, "items")
        asked = [0, 1, 3, 4]
        rhos = [stats.spearmanr(BARE[asked], row[asked]).statistic for row in framed]
        assert (found.value, found.n) == (pytest.approx(np.mean(rhos), abs=1e-12), 4)
        assert -1 <= found.low <= found.high <= 1

    @pytest.mark.parametrize(
        ("bare", "framed", "n", "reason"),
        [
            ([3.0, 3.0, 3.0], [[1.0, 2.0, 3.0]], 3, "all items have the same score without a framing"),
            ([0.1 + 0.2, 0.3], [[1.0, 2.0]], 2, "all items have the same score without a framing"),
            ([3.0], [[1.0]], 1, "fewer than two items: nothing to hold a shift against"),
            ([3.0, 4.0], [[NAN, NAN]], 0, "no items were asked after a framing"),
        ],
    )
    def test_null_with_a_reason(self, bare, framed, n, reason) -> None:
        found, agreement = brittleness_figures(bare, framed, RESAMPLING, "items")
        assert (found.value, found.low, found.n, found.reason) == (None, None, n, reason)
        assert (agreement.value, agreement.reason) == (None, "fewer than 4 items to rank")

    def test_one_framed_unit_has_a_value_and_no_interval(self) -> None:
        found, _ = brittleness_figures([0.0, 2.0, 4.0], [[1.0, NAN, NAN]], RESAMPLING, "items")
        assert (found.value, found.low, found.high, found.n) == (0.5, None, None, 1)
        assert found.reason == "a single value has no interval"

    def test_agreement_is_null_where_a_framing_makes_all_alike(self) -> None:
        found, agreement = brittleness_figures(BARE, [BARE, np.ones(6)], RESAMPLING, "items")
        assert found.value is not None
        assert (agreement.value, agreement.reason) == (None, "all values are equal")

    def test_a_unit_with_some_framings_alone_is_an_error(self) -> None:
        with pytest.raises(ValueError, match="some items have a score under some framings and not under others"):
            brittleness_figures([0.0, 1.0], [[0.0, 1.0], [NAN, 1.0]], RESAMPLING, "items")

    def test_both_are_null_where_there_are_none(self) -> None:
        found = no_brittleness("no reason", "items")
        assert [(figure.figure, figure.value, figure.n, figure.reason) for figure in found] == [
            ("brittleness", None, 0, "no reason"),
            ("framing_rank_agreement", None, 0, "no reason"),
        ]

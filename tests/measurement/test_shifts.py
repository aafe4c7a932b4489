import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from evenruler.measurement.shifts import (
    measure_shift,
    prefix_shifts,
    rms_placebo_shift,
    shift_figures,
)


class TestShift:
    def test_by_hand(self):
        shift = measure_shift([1.0, 2.0, 3.0], [2.0, 2.0, 5.0])  # changes 1, 0, 2
        assert (shift.level, shift.n) == (1.0, 3)
        assert shift.level_in_sd == pytest.approx(1.0)
        assert (shift.reordering, shift.reordering_in_sd) == pytest.approx((1.0, 1.0))
        expected = stats.spearmanr([1, 2, 3], [2, 2, 5])
        assert shift.rank_agreement == pytest.approx(expected.statistic)

    @pytest.mark.parametrize("bare", [[1.0, 1.0, 1.0], [0.1 + 0.2, 0.3, 0.3]])
    def test_scores_that_do_not_differ(self, bare):
        shift = measure_shift(bare, [2.0, 2.0, 3.0])
        assert math.isnan(shift.level_in_sd)
        assert math.isnan(shift.reordering_in_sd)
        assert math.isnan(shift.rank_agreement)

    @pytest.mark.parametrize(
        ("bare", "after"),
        [
            ([1, 2], [1, 2]),
            ([1, 2, 3], [1, 2]),
            ([1, 2, np.nan], [1, 2, 3]),
        ],
    )
    def test_what_is_refused(self, bare, after):
        with pytest.raises(ValueError, match="scores"):
            measure_shift(bare, after)


class TestPlacebos:
    def test_by_hand(self):
        spread = rms_placebo_shift([1.0, -1.0, 2.0, -2.0, 0.0])
        assert spread.value == pytest.approx(math.sqrt(2))
        ends = np.sqrt(10 / stats.chi2.ppf([0.975, 0.025], 5))
        assert (spread.low, spread.high) == pytest.approx(tuple(ends))

    @pytest.mark.parametrize("values", [[1, 2, 3, 4], [1, 2, 3, 4, np.inf]])
    def test_what_is_refused(self, values):
        with pytest.raises(ValueError, match="at least 5 placebos"):
            rms_placebo_shift(values)


NAN = math.nan
BARE = pd.Series({"a": 0.0, "b": 2.0, "c": 4.0, "d": 90.0})
UP = pd.Series({"a": 1.0, "b": 3.0, "c": 5.0})
TURNED = pd.Series({"c": 0.0, "b": 2.0, "a": 4.0, "d": NAN})
MOVES = (2, -2, 2, -2, 0)
PLACEBOS = {f"placebo-{place}": BARE[:3] + MOVES[place] for place in range(5)}


class TestPrefixes:
    def test_by_hand_without_the_unit_that_was_not_asked(self):
        shifts = prefix_shifts(BARE, {"up": UP, "turned": TURNED}, ["up"]).set_index("prefix")
        up, turned = shifts.loc["up"].tolist(), shifts.loc["turned"].tolist()
        assert up == [True, 1, 0.5, 0, 0, pytest.approx(1), 3]
        assert turned == [False, 0, 0, 4, 2, pytest.approx(-1), 3]
        assert list(shifts)[1:4] == ["level", "level_in_sd", "reordering"]

    @pytest.mark.parametrize(
        ("bare", "after"),
        [
            (BARE, {}),
            (BARE.iloc[:0], {"up": UP}),
            (pd.Series({"a": NAN, "b": 2.0, "c": 4.0}), {"up": UP}),
        ],
    )
    def test_none_where_fewer_than_three_units_were_asked(self, bare, after):
        assert prefix_shifts(bare, after, []).empty

    def test_a_unit_that_was_asked_in_part_is_an_error(self):
        with pytest.raises(ValueError, match="a score after some prefixes and not after others"):
            prefix_shifts(BARE, {"up": UP, "turned": TURNED[:2]}, [])


class TestFigures:
    def test_by_hand_beside_placebos(self):
        rows = prefix_shifts(BARE, {"up": UP, "turned": TURNED, **PLACEBOS}, set(PLACEBOS))
        figures = shift_figures(rows, 0.9, "items")
        names = [figure.figure for figure in figures]
        assert names == ["placebo_level_shift", "level_shift", "placebo_reordering", "reordering"]
        control, level, no_control, reordering = figures
        assert level.value == pytest.approx(math.sqrt(0.25 / 2))
        assert reordering.value == pytest.approx(math.sqrt(2))
        assert (level.n, level.unit, control.n, control.unit) == (3, "items", 5, "placebos")
        expected = rms_placebo_shift([1, -1, 1, -1, 0], 0.9)
        assert control.value == level.control == pytest.approx(math.sqrt(4 / 5))
        assert (control.low, control.high) == (expected.low, expected.high)
        assert (no_control.value, reordering.control, no_control.low) == (0, 0, None)

    def test_without_placebos_there_is_no_control(self):
        figures = shift_figures(prefix_shifts(BARE, {"up": UP, "turned": TURNED}, []), 0.9, "items")
        assert [(figure.figure, figure.control) for figure in figures] == [
            ("level_shift", None),
            ("reordering", None),
        ]

    def test_placebos_alone_are_no_shift(self):
        figures = shift_figures(prefix_shifts(BARE, PLACEBOS, set(PLACEBOS)), 0.9, "items")
        assert {(figure.value, figure.reason) for figure in figures} == {
            (None, "nothing was asked after prefixes")
        }

    @pytest.mark.parametrize(
        ("bare", "lacking", "n", "reason"),
        [
            (BARE[:2], None, 0, "fewer than 3 items were asked after prefixes"),
            (BARE[:2], "no question was asked", 0, "no question was asked"),
            (BARE * 0, None, 3, "all items have the same score without a prefix"),
        ],
    )
    def test_null_with_a_reason(self, bare, lacking, n, reason):
        figures = shift_figures(prefix_shifts(bare, {"up": UP}, []), 0.9, "items", lacking)
        assert [figure.figure for figure in figures] == ["level_shift", "reordering"]
        for figure in figures:
            assert (figure.value, figure.n, figure.reason) == (None, n, reason)
            assert figure.unit == "items"

import math
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy import stats

from evenruler.measurement.shifts import (
    ROUNDING,
    Difference,
    Units,
    cue_minus_placebos,
    of_placebos,
    of_prefixes,
    shift,
    shift_figures,
)


class TestShift:
    def test_by_hand(self):
        found = shift([1.0, 2.0, 3.0], [2.0, 2.0, 5.0])  # changes 1, 0, 2
        assert (found.level, found.n) == (1.0, 3)
        assert found.level_in_sd == pytest.approx(1.0)
        assert (found.reordering, found.reordering_in_sd) == (pytest.approx(1.0), pytest.approx(1.0))
        assert found.rank_agreement == pytest.approx(stats.spearmanr([1, 2, 3], [2, 2, 5]).statistic)

    def test_all_alike_is_a_level_and_no_reordering(self):
        found = shift([1.0, 2.0, 4.0], [0.5, 1.5, 3.5])
        assert (found.level, found.reordering, found.rank_agreement) == (-0.5, 0.0, pytest.approx(1.0))

    def test_a_reversal_is_no_level(self):
        found = shift([-1.0, 0.0, 1.0], [1.0, 0.0, -1.0])
        assert found.level == 0
        assert found.rank_agreement == pytest.approx(-1.0)
        assert found.reordering == pytest.approx(2.0)

    def test_in_standard_deviations_of_the_scores_without_it(self):
        found = shift([0.0, 2.0, 4.0], [4.0, 2.0, 0.0])  # changes 4, 0, -4; a spread of 2
        assert (found.level_in_sd, found.reordering, found.reordering_in_sd) == (0, 4, 2)

    @pytest.mark.parametrize("bare", [[1.0, 1.0, 1.0], [0.1 + 0.2, 0.3, 0.3]])
    def test_scores_that_do_not_differ(self, bare):
        found = shift(bare, [2.0, 2.0, 3.0])
        assert math.isnan(found.level_in_sd)
        assert math.isnan(found.reordering_in_sd)
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


NAN = math.nan
BARE = pd.Series({"a": 0.0, "b": 2.0, "c": 4.0, "d": 90.0})
UP = pd.Series({"a": 1.0, "b": 3.0, "c": 5.0})
TURNED = pd.Series({"c": 0.0, "b": 2.0, "a": 4.0, "d": NAN})
PLACEBOS = {f"placebo-{place}": BARE[:3] + moved for place, moved in enumerate((2, -2, 2, -2, 0), 1)}


class TestPrefixes:
    def test_by_hand_without_the_unit_that_was_not_asked(self):
        found = of_prefixes(BARE, {"up": UP, "turned": TURNED}, ["up"]).set_index("prefix")
        assert found.loc["up"].tolist() == [True, 1.0, 0.5, 0.0, 0.0, pytest.approx(1.0), 3]
        assert found.loc["turned"].tolist() == [False, 0.0, 0.0, 4.0, 2.0, pytest.approx(-1.0), 3]
        assert list(found) == [
            "placebo",
            "level",
            "level_in_sd",
            "reordering",
            "reordering_in_sd",
            "rank_agreement",
            "n",
        ]

    @pytest.mark.parametrize(
        ("bare", "after"),
        [
            (BARE, {}),
            (BARE, {"up": UP[:2]}),
            (BARE.iloc[:0], {"up": UP}),
            (pd.Series({"a": NAN, "b": 2.0, "c": 4.0}), {"up": UP}),
        ],
    )
    def test_none_where_fewer_than_three_units_were_asked(self, bare, after):
        assert of_prefixes(bare, after, []).empty

    def test_units_are_told_by_name_and_one_that_nothing_was_asked_of_is_left_out(self):
        found = of_prefixes(BARE, {"up": UP[::-1]}, [])
        assert found.loc[0, ["level", "reordering", "n"]].tolist() == [1.0, 0.0, 3]

    def test_a_unit_that_was_asked_in_part_is_an_error(self):
        with pytest.raises(ValueError, match="a score after some prefixes and not after others"):
            of_prefixes(BARE, {"up": UP, "turned": TURNED[:2]}, [])


class TestFigures:
    def test_by_hand_beside_placebos(self):
        rows = of_prefixes(BARE, {"up": UP, "turned": TURNED, **PLACEBOS}, set(PLACEBOS))
        found = {figure.figure: figure for figure in shift_figures(rows, 0.9, "items")}
        assert list(found) == ["placebo_level_shift", "level_shift", "placebo_reordering", "reordering"]
        level, control = found["level_shift"], found["placebo_level_shift"]
        assert (level.value, level.n, level.unit) == (pytest.approx(math.sqrt(0.25 / 2)), 3, "items")  # of .5 and 0
        assert (control.value, control.n, control.unit) == (pytest.approx(math.sqrt(4 / 5)), 5, "placebos")
        expected = of_placebos([1, -1, 1, -1, 0], 0.9)
        assert (level.control, control.low, control.high) == (control.value, expected.low, expected.high)
        assert found["reordering"].value == pytest.approx(math.sqrt(2))  # of 0 and 2
        assert (found["reordering"].control, found["placebo_reordering"].value) == (0, 0)
        assert (found["placebo_reordering"].low, found["placebo_reordering"].high) == (None, None)

    def test_without_placebos_there_is_no_control(self):
        found = shift_figures(of_prefixes(BARE, {"up": UP, "turned": TURNED}, []), 0.9, "items")
        assert [(figure.figure, figure.control) for figure in found] == [("level_shift", None), ("reordering", None)]

    def test_placebos_alone_are_no_shift(self):
        found = shift_figures(of_prefixes(BARE, PLACEBOS, set(PLACEBOS)), 0.9, "items")
        assert {(figure.value, figure.reason) for figure in found} == {(None, "nothing was asked after prefixes")}

    @pytest.mark.parametrize(
        ("bare", "lacking", "n", "reason"),
        [
            (BARE[:2], None, 0, "fewer than 3 items were asked after prefixes"),
            (BARE[:2], "no question was asked", 0, "no question was asked"),
            (BARE * 0, None, 3, "all items have the same score without a prefix"),
        ],
    )
    def test_null_with_a_reason(self, bare, lacking, n, reason):
        found = shift_figures(of_prefixes(bare, {"up": UP}, []), 0.9, "items", lacking)
        assert {figure.unit for figure in found} == {"items"}
        assert [(figure.figure, figure.value, figure.n, figure.reason) for figure in found] == [
            ("level_shift", None, n, reason),
            ("reordering", None, n, reason),
        ]


Floats = NDArray[np.float64]

# One score of a cue, and those of five placebos: mean 7, variance 2.5.
CUE, IN_ITS_PLACE = 10.0, [6.0, 7.0, 8.0, 9.0, 5.0]


def constants(values: Sequence[float]) -> Difference:
    """Differences that hang on no unit."""
    functions = [lambda units, value=value: value for value in values]
    return cue_minus_placebos(functions, [np.arange(8)] * len(values))


def of_table(differences: Floats, level: float = 0.95) -> Difference:
    """Means of [units, placebos], of the units that are no nan."""
    columns = differences.T
    functions = [lambda units, column=column: float(column[units].mean()) for column in columns]
    return cue_minus_placebos(functions, [np.flatnonzero(~np.isnan(column)) for column in columns], level)


def test_one_case_against_controls_is_the_t_test_of_crawford_and_howell() -> None:
    found = constants([CUE - placebo for placebo in IN_ITS_PLACE])
    # t = (10 - 7) / (sqrt(2.5) * sqrt(6 / 5)) = sqrt(3), with 4 degrees of freedom.
    assert found.value == 3.0
    assert found.p == pytest.approx(stats.t.sf(math.sqrt(3), 4), rel=1e-12)
    assert found.p == pytest.approx(0.0792, abs=1e-4)
    half = 2.776445 * math.sqrt(3)
    assert (found.low, found.high) == pytest.approx((3 - half, 3 + half), abs=1e-5)


def test_p_is_one_sided() -> None:
    assert constants([placebo - CUE for placebo in IN_ITS_PLACE]).p == pytest.approx(1 - 0.0792, abs=1e-4)


def by_analysis_of_variance(x: Floats, level: float) -> tuple[float, float, float, float]:
    """Of [units, placebos] without gaps: mean, ends and p from mean squares of rows, columns, and what is left."""
    n, k = x.shape
    rows, columns = x.mean(axis=1) - x.mean(), x.mean(axis=0) - x.mean()
    left = x - x.mean() - rows[:, None] - columns
    of_rows, of_columns = k * (rows**2).sum() / (n - 1), n * (columns**2).sum() / (k - 1)
    of_left = (left**2).sum() / ((n - 1) * (k - 1))
    between, of_units, shared = of_columns * (1 + 1 / k) / n, of_rows / (n * k), of_left * (1 + 1 / k) / n
    variance, df = between, float(k - 1)
    if of_units > shared:
        variance = between + of_units - shared
        df = variance**2 / (between**2 / (k - 1) + of_units**2 / (n - 1) + shared**2 / ((n - 1) * (k - 1)))
    half = stats.t.ppf(0.5 + level / 2, df) * math.sqrt(variance)
    p = stats.t.sf(x.mean() / math.sqrt(variance), df)
    return float(x.mean()), float(x.mean() - half), float(x.mean() + half), float(p)


@pytest.mark.parametrize("of_rows", [0.0, 0.05, 2.0])
def test_what_units_add_is_that_of_a_two_way_layout(of_rows: float) -> None:
    rng = np.random.default_rng(4)
    x = 0.4 + of_rows * rng.normal(size=(9, 1)) + rng.normal(scale=0.3, size=5) + rng.normal(scale=0.5, size=(9, 5))
    found = of_table(x, level=0.9)
    assert (found.value, found.low, found.high, found.p) == pytest.approx(by_analysis_of_variance(x, 0.9), rel=1e-9)


def test_units_make_an_interval_wider_where_they_differ_in_what_the_cue_does() -> None:
    wordings = np.array([-0.2, -0.1, 0.0, 0.1, 0.2])
    alike, apart = np.zeros((8, 1)) + wordings, np.linspace(-3, 3, 8)[:, None] + wordings
    one, other = of_table(alike), of_table(apart)
    assert one.value == pytest.approx(other.value, abs=1e-12)
    # Without units' part: t(4) * sqrt(.025 * 6 / 5).
    assert one.high - one.value == pytest.approx(2.776445 * math.sqrt(0.03), abs=1e-5)
    assert other.high - other.value > 3 * (one.high - one.value)


class TestWithoutSpread:
    def test_what_is_equal_everywhere_is_no_difference(self) -> None:
        assert constants([0.0] * 5) == Difference(0.0, 0.0, 0.0, 1.0)

    @pytest.mark.parametrize(("value", "p"), [(0.25, 0.0), (-0.25, 1.0)])
    def test_a_difference_without_spread_is_sure(self, value: float, p: float) -> None:
        assert constants([value] * 5) == Difference(value, value, value, p)

    def test_rounding_is_no_spread_and_no_difference(self) -> None:
        assert constants([ROUNDING] * 5) == Difference(ROUNDING, ROUNDING, ROUNDING, 1.0)
        found = constants([1e-13, -1e-13, 0.0, 1e-13, 0.0])
        assert found.p == 1.0
        assert found.low == found.high == found.value


class TestWhereThereIsNoInterval:
    @pytest.mark.parametrize("k", [1, 4])
    def test_of_fewer_than_five_placebos_there_is_the_mean_alone(self, k: int) -> None:
        found = constants([1.0, 2.0, 3.0, 6.0][:k])
        assert found.value == {1: 1.0, 4: 3.0}[k]
        assert np.isnan([found.low, found.high, found.p]).all()

    def test_a_statistic_that_is_undefined_without_a_unit_has_a_value_and_no_interval(self) -> None:
        def undefined(units: Units) -> float:
            return 1.0 if len(units) == 8 else math.nan

        found = cue_minus_placebos([undefined] * 5, [np.arange(8)] * 5)
        assert found.value == 1.0
        assert np.isnan([found.low, found.high, found.p]).all()

    def test_a_statistic_that_divides_by_zero_without_a_unit_warns_of_nothing(self) -> None:
        only = np.array([1.0, 0, 0, 0])
        found = cue_minus_placebos([lambda units: only[units].sum() / only[units].sum()] * 5, [np.arange(4)] * 5)
        assert found.value == 1.0
        assert np.isnan([found.low, found.high, found.p]).all()

    def test_refuses_none_and_those_without_units(self) -> None:
        none: list[Callable[[Units], float]] = []
        with pytest.raises(ValueError, match="expected placebos, each with units"):
            cue_minus_placebos(none, [])
        with pytest.raises(ValueError, match="expected placebos, each with units"):
            cue_minus_placebos([lambda units: 1.0] * 2, [np.arange(3), np.array([], dtype=int)])
        with pytest.raises(ValueError, match="level"):
            cue_minus_placebos([lambda units: 1.0] * 5, [np.arange(3)] * 5, level=1.0)


class TestIncompleteDesigns:
    def test_the_value_is_the_mean_over_placebos_each_of_its_own_units(self) -> None:
        x = np.full((4, 5), np.nan)
        x[[0, 2], :3] = [[1.0, 2.0, 3.0], [3.0, 4.0, 5.0]]  # means 2, 3, 4
        x[[1, 3], 3:] = [[0.0, 6.0], [1.0, 8.0]]  # means .5, 7
        assert of_table(x).value == pytest.approx((2 + 3 + 4 + 0.5 + 7) / 5)

    def test_a_unit_that_a_placebo_has_not_leaves_it_as_it_is(self) -> None:
        rng = np.random.default_rng(8)
        x = rng.normal(size=(12, 1)) + rng.normal(scale=0.4, size=6) + rng.normal(scale=0.3, size=(12, 6))
        x[[0, 5, 5, 9], [0, 3, 4, 0]] = np.nan
        found = of_table(x)
        # The same again, with loops over what is there.
        known = [{unit: value for unit, value in enumerate(column) if not math.isnan(value)} for column in x.T]
        means = [np.mean(list(of.values())) for of in known]
        without = np.array(
            [[np.mean([value for unit, value in of.items() if unit != gone]) for of in known] for gone in range(12)]
        )
        deviations = without - without.mean(axis=0)
        of_units = 11 / 12 * (deviations.mean(axis=1) ** 2).sum()
        apart = deviations - deviations.mean(axis=1, keepdims=True)
        shared = 11 / 12 * (apart**2).sum() / 5 * 7 / 6
        between = np.var(means, ddof=1) * 7 / 6
        total = between + of_units - shared
        df = total**2 / (between**2 / 5 + of_units**2 / 11 + shared**2 / 55)
        assert of_units > shared
        assert found.value == pytest.approx(np.mean(means))
        assert found.high - found.value == pytest.approx(stats.t.ppf(0.975, df) * math.sqrt(total))
        assert found.p == pytest.approx(stats.t.sf(np.mean(means) / math.sqrt(total), df))


def simulated(rng: np.random.Generator, halves: bool) -> Difference:
    """Twelve units, a cue and six placebos that are wordings like it (SD .3), noise of each answer (SD 1)."""
    units, wordings = rng.normal(size=(12, 1)), rng.normal(scale=0.3, size=7)
    answers = units + wordings + rng.normal(size=(12, 7))
    differences = answers[:, :1] - answers[:, 1:]
    if halves:
        differences[np.add.outer(np.arange(12), np.arange(6)) % 2 == 1] = np.nan
    return of_table(differences)


@pytest.mark.parametrize(("halves", "most"), [(False, 0.985), (True, 0.99)])
def test_intervals_hold_and_a_cue_that_is_one_more_wording_is_seldom_beyond(halves: bool, most: float) -> None:
    rng = np.random.default_rng(20)
    found = [simulated(rng, halves) for _ in range(1500)]
    covered = np.mean([one.low <= 0 <= one.high for one in found])
    beyond = np.mean([one.p < 0.05 for one in found])
    # Nominal .95 and .05; of 1500 the shares have a standard error of .0056. Where placebos have other units each, the
    # part of units is counted twice to some extent.
    assert 0.92 <= covered <= most
    assert beyond <= 0.07

"""A cue beside placebos: by hand, by analysis of variance, and how often its intervals hold."""

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from evenruler.measurement.placebos import ROUNDING, Difference, Units, cue_minus_placebos

Floats = NDArray[np.float64]

# One score of a cue, and those of five placebos: mean 7, variance 2.5.
CUE, PLACEBOS = 10.0, [6.0, 7.0, 8.0, 9.0, 5.0]


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
    found = constants([CUE - placebo for placebo in PLACEBOS])
    # t = (10 - 7) / (sqrt(2.5) * sqrt(6 / 5)) = sqrt(3), with 4 degrees of freedom.
    assert found.value == 3.0
    assert found.p == pytest.approx(stats.t.sf(math.sqrt(3), 4), rel=1e-12)
    assert found.p == pytest.approx(0.0792, abs=1e-4)
    half = 2.776445 * math.sqrt(3)
    assert (found.low, found.high) == pytest.approx((3 - half, 3 + half), abs=1e-5)


def test_p_is_one_sided() -> None:
    assert constants([placebo - CUE for placebo in PLACEBOS]).p == pytest.approx(1 - 0.0792, abs=1e-4)


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

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from evenruler.errors import UserError
from evenruler.instruments.saged import (
    METRICS,
    Disparity,
    disparity,
    metric_values,
    schemas,
    summarise,
    summarise_each,
)
from evenruler.instruments.saged.declare.settings import SummaryStatistic
from evenruler.instruments.saged.diagnose.disparities import (
    CRITICAL,
    classify_shapes,
    dixon_ratios,
    grubbs_critical_value,
)
from evenruler.instruments.saged.diagnose.group_statistics import (
    RAW,
    CellStatistics,
    arrange_scores,
)
from evenruler.tables import write_table
from tests.instruments.near import approx
from tests.instruments.saged.diagnose import measured

DEAN = [40.02, 40.12, 40.16, 40.18, 40.18, 40.20]
"""Dean & Dixon (1951), Simplified statistics for small numbers of observations, Analytical
Chemistry 23: 636-638. Read in the manual of the R package dixonTest (github.com/cran/dixonTest,
man/dixonTest.Rd), which prints no ratio."""

DATAPLOT = [568.0, 570, 570, 570, 572, 578, 584, 596]
"""NIST Dataplot reference manual, Dixon test. Read in the same manual; the ratio is by its
formula."""

DENSITIES = [1.053, 1.060, 1.059, 1.070, 1.058]
"""California State University Stanislaus, "The Q test", wwwchem.csustan.edu/CHEM1102H/qtest.htm:
0.010/.017, at 90%."""

MANUAL_HIGH = [15.48, 15.51, 15.52, 15.52, 15.53, 15.53, 15.68]
MANUAL_LOW = [15.43, 15.48, 15.51, 15.52, 15.52, 15.53, 15.53, 15.58]
"""The two examples of `Dixon.fit` in the manual of pycafee (github.com/pycafee/pycafee,
pycafee/sample/outliers.py): ratio, kind and critical value are printed."""

TOO_HIGH = [15.52, 15.53, 15.53, 15.54, 15.56, 15.56, 15.68]
TOO_LOW = [15.42, 15.51, 15.52, 15.52, 15.53, 15.53, 15.54]
TWO, FOUR, EIGHT = (
    [15.53, 15.54],
    [15.53, 15.54, 15.55, 15.55],
    [
        15.53,
        15.54,
        *[15.55] * 3,
        15.52,
        15.53,
        15.56,
    ],
)
"""The same repository, tests/sample/Dixon/test_fit.py, Test_ratio_None: seven numbers with one of
each end too far out, and what is added to them for the other kinds."""

QUADRATURE = {
    0.02: [
        *(
            0.976,
            0.847,
            0.729,
            0.646,
            0.587,
            0.632,
            0.587,
            0.551,
            0.636,
            0.606,
            0.580,
            0.604,
            0.581,
            0.562,
        ),
        *(
            0.545,
            0.530,
            0.516,
            0.504,
            0.492,
            0.482,
            0.473,
            0.464,
            0.457,
            0.449,
            0.442,
            0.436,
            0.430,
            0.424,
        ),
    ],
    0.05: [
        *(
            0.941,
            0.766,
            0.642,
            0.562,
            0.507,
            0.554,
            0.511,
            0.478,
            0.575,
            0.546,
            0.521,
            0.546,
            0.524,
            0.505,
        ),
        *(
            0.489,
            0.475,
            0.462,
            0.450,
            0.440,
            0.430,
            0.421,
            0.413,
            0.406,
            0.399,
            0.393,
            0.387,
            0.381,
            0.376,
        ),
    ],
}
"""By share of normal samples beyond them at a given end: the critical values for n = 3 to 30 that
McBane (2006, Journal of Statistical Software 16) integrates numerically; github.com/cran/dixonTest,
inst/slowTests/test4.ref.output.txt."""


SEEDS = st.integers(0, 10_000)


class TestPublished:
    @pytest.mark.parametrize(
        ("numbers", "end", "ratio", "critical"),
        [
            (DENSITIES, "high", 0.010 / 0.017, 0.710),
            (MANUAL_HIGH, "high", 0.75, 0.568),
            (MANUAL_LOW, "low", 0.5, 0.615),
            (TOO_HIGH, "low", 0.0625, 0.568),
            (TOO_HIGH + TWO, "high", 0.8, 0.570),
            (TOO_HIGH + FOUR, "high", 0.8, 0.625),
            (TOO_LOW + FOUR, "low", 0.769230769, 0.625),
            (TOO_HIGH + EIGHT, "high", 0.8, 0.568),
        ],
    )
    def test_examples(self, numbers, end, ratio, critical) -> None:
        assert dixon_ratios(np.array(numbers), end) == approx(ratio, abs=1e-9)
        assert CRITICAL[len(numbers)] == critical

    def test_critical_values_lie_where_integration_puts_them(self) -> None:
        # Between those of 5% and 2%, linear in the logarithm; three decimals are published, and the
        # third varies.
        twentieth, fiftieth = (np.array(QUADRATURE[share]) for share in (0.05, 0.02))
        part = math.log(0.05 / 0.025, 0.05 / 0.02)
        expected = twentieth + part * (fiftieth - twentieth)
        assert list(CRITICAL) == [*range(3, 31)]
        np.testing.assert_allclose(
            [*CRITICAL.values()],
            expected,
            rtol=0,
            atol=0.005,
        )


class TestRatio:
    @pytest.mark.parametrize(
        ("n", "high", "low"),
        [
            # Of the squares 1, 4, 9 ... n^2: gap by spread, on either side of where the kind changes.
            (7, 13 / 48, 3 / 48),
            (8, 15 / 60, 3 / 48),
            (10, 19 / 96, 3 / 80),
            (11, 40 / 117, 8 / 99),
            (13, 48 / 165, 8 / 143),
            (14, 52 / 187, 8 / 143),
        ],
    )
    def test_of_every_kind(self, n, high, low) -> None:
        squares = np.arange(n, 0, -1.0) ** 2
        assert dixon_ratios(squares, "high") == approx(high, abs=1e-15)
        assert dixon_ratios(squares, "low") == approx(low, abs=1e-15)

    def test_missing_numbers_are_left_out_and_change_the_kind(self) -> None:
        holed = np.array([[*DEAN, math.nan, math.nan], [*DATAPLOT]])
        np.testing.assert_allclose(
            dixon_ratios(holed, "low"),
            [
                0.10 / 0.18,
                (570 - 568) / (584 - 568),
            ],
        )

    def test_ties(self) -> None:
        # Two lowest alike: no gap. All but one alike: nothing but gap at its end.
        cases = (
            ([1.0, 1, 2, 3], "low", 0),
            ([1.0, 1, 1, 3], "high", 1),
            ([*[0.3] * 7, 0.1 + 0.2], "high", 0),
        )
        for numbers, end, ratio in cases:
            assert dixon_ratios(np.array(numbers), end) == ratio


nan = math.nan


def summaries(*numbers: float, **columns: str) -> pd.DataFrame:
    names = [f"c{i}" for i in range(len(numbers))]
    return pd.DataFrame(
        {
            **columns,
            "concept": names,
            "summary": numbers,
            "n": 9,
            "n_missing": 0,
            "reason": None,
        }
    )


def disparity_of(metric: str, *numbers: float, **columns: str) -> Disparity:
    return disparity(summaries(*numbers, **columns), metric)


class TestByHand:
    def test_figure_6_of_the_paper(self) -> None:
        rows = {
            "concept": ["Apple", "Apple", "Pear", "Pear"],
            "value": [0.5, 0.75, 0.25, 0.2],
        }
        means = summarise(pd.DataFrame(rows), ["concept"], "mean")
        rates = summarise(pd.DataFrame(rows), ["concept"], "selection_rate")
        assert means["concept"].tolist() == rates["concept"].tolist() == ["Apple", "Pear"]
        assert means["summary"].tolist() == [0.625, 0.225]
        assert rates["summary"].tolist() == [1.0, 0.0]
        assert disparity(means, "range") == Disparity(0.4, 2)
        assert disparity(rates, "min_impact_ratio") == Disparity(
            0.0,
            2,
            "Pear",
            "low",
            flag=True,
        )

    def test_spreads(self) -> None:
        # Mean 4, deviations -2, -1, 3: squares 14, variance 7.
        sd = math.sqrt(7)
        expected = {
            "range": Disparity(5.0, 3),
            "std": Disparity(approx(sd), 3),
            "max_z": Disparity(approx(3 / sd), 3, "c2", "high"),
            "min_z": Disparity(approx(-2 / sd), 3, "c0", "low"),
            "relative_to_mean": Disparity(approx(0.75), 3, "c2", "high"),
        }
        table = summaries(2.0, 3.0, 7.0)
        assert {metric: disparity(table, metric) for metric in expected} == expected

    def test_farthest_from_a_mean(self) -> None:
        low = disparity_of("relative_to_mean", 1.0, 5.0, 6.0)  # 1 / 4 - 1
        assert low == Disparity(approx(0.75), 3, "c0", "low")
        negative = disparity_of("relative_to_mean", -1.0, -5.0, -6.0)
        assert negative == Disparity(approx(0.75), 3, "c0", "high")

    def test_z_as_the_authors_compute_it(self) -> None:
        # Mean 2.5, deviation 1.5; squares 5, so 5 / 4 with ddof 0: sqrt(1.25) = 1.118 instead of
        # 1.291.
        table = summaries(1.0, 2.0, 3.0, 4.0)
        high, low = (
            disparity(table, metric) for metric in ("max_z_population", "min_z_population")
        )
        z = 1.5 / math.sqrt(1.25)
        assert high == Disparity(approx(z), 4, "c3", "high")
        assert low == Disparity(
            approx(-z),
            4,
            "c0",
            "low",
        )
        ours = disparity(table, "max_z").value
        assert (
            high.value / ours
            == approx(
                math.sqrt(4 / 3),
            )
            == approx(0.9007 / 0.78, abs=2e-4)
        )

    def test_ratios(self) -> None:
        ratio = disparity_of("min_max_ratio", 3.0, 2.0, 8.0)
        assert ratio == Disparity(0.25, 3, "c1", "low")
        assert disparity_of("min_max_ratio", 0.0, 8.0).value == 0

    def test_below_four_fifths_is_flagged(self) -> None:
        assert disparity_of("min_impact_ratio", 0.6, 0.75).flag is False  # four fifths, not below
        assert disparity_of("min_impact_ratio", 0.59, 0.75).flag is True

    def test_dixon_at_both_ends(self) -> None:
        table = summaries(40.20, 40.02, 40.16, 40.18, 40.18, 40.12)
        low, high = disparity(table, "dixon_low"), disparity(table, "dixon_high")
        value = approx(0.10 / 0.18)
        assert low == Disparity(
            value, 6, "c1", "low", 0.625, approx(0.10 / 0.18 - 0.625), flag=False
        )
        assert (high.group, high.end, high.flag) == ("c0", "high", False)
        outlier = disparity_of(
            "dixon_high", 82.39, 86.62, 91.72, 98.37, 103.46, 104.93, 105.52, 108.21, 113.23, 150.55
        )
        assert (outlier.critical, outlier.flag) == (0.534, True)
        assert outlier.excess == approx(0.584 - 0.534, abs=5e-4)


class TestUndefined:
    @pytest.mark.parametrize(
        ("metric", "numbers", "n", "reason"),
        [
            ("range", [nan, nan], 0, "no groups with a summary, needs 2"),
            ("std", [1.0, nan], 1, "1 group with a summary, needs 2"),
            ("min_z_population", [1.0, 2.0], 2, "2 groups with a summary, needs 3"),
            ("max_z", [0.1 + 0.2, 0.3, 0.3], 3, "all summaries are equal"),
            ("dixon_low", [1.0, 2.0], 2, "2 groups with a summary, needs 3"),
            ("dixon_high", list(range(31)), 31, "31 groups: critical values go to 30"),
            ("min_max_ratio", [-0.5, 1.0], 2, "a summary is negative (-0.5)"),
            ("min_impact_ratio", [0.0, 0.0], 2, "all summaries are 0"),
            ("min_impact_ratio", [0.5, 1.5], 2, "a summary is no selection rate (1.5)"),
            ("relative_to_mean", [-1.0, 1.0], 2, "the mean of the summaries is 0"),
        ],
    )
    def test_is_null_with_the_reason(self, metric, numbers, n, reason) -> None:
        undefined = disparity_of(metric, *numbers)
        assert math.isnan(undefined.value)
        assert replace(undefined, value=0.0) == Disparity(0.0, n, reason=reason)


class TestNames:
    def test_are_of_the_columns_in_which_groups_differ(self) -> None:
        table = summaries(1.0, 2.0, 4.0, domain="countries")
        assert disparity(table, "max_z").group == "c2"
        assert disparity(table, "max_z", names=["domain", "concept"]).group == "countries+c2"
        crossed = table.assign(keyword=["k0", "k1", "k2"])
        assert disparity(crossed, "max_z").group == "c2+k2"

    def test_mistakes_are_one_line(self) -> None:
        with pytest.raises(UserError, match="no disparity 'rnge'; did you mean 'range'"):
            disparity_of("rnge", 1.0, 2.0)
        with pytest.raises(UserError, match="no column 'keyword'"):
            disparity(summaries(1.0, 2.0), "max_z", names=["keyword"])


class TestImpactRatio:
    """Of selection rates alone."""

    FRAME = pd.DataFrame(
        {
            "concept": ["a", "a", "b", "b"],
            "value": [0.1, 0.2, 0.3, 0.6],
        }
    )

    def test_of_rates_by_whatever_name_is_given(self) -> None:
        statistics = {
            "high": ("selection_rate", {"standard": "median"}),
            "middle": ("median", {}),
        }
        rows = summarise_each(self.FRAME, ["concept"], statistics)
        rates = rows[rows["statistic"] == "high"]
        assert disparity(rates, "min_impact_ratio") == Disparity(
            0.0,
            2,
            "a",
            "low",
            flag=True,
        )
        middle = rows[rows["statistic"] == "middle"]
        words = r"min_impact_ratio is of selection rates, and these are .* kind median; ask"
        with pytest.raises(UserError, match=words):
            disparity(middle, "min_impact_ratio")
        assert disparity(middle, "min_max_ratio").value == approx(0.15 / 0.45)


class TestManyAtOnce:
    @settings(max_examples=8, deadline=None)
    @given(SEEDS, st.integers(1, 33), st.booleans())
    def test_each_is_what_the_record_of_it_says(self, seed, groups, ties) -> None:
        rng = np.random.default_rng(seed)
        many = rng.random((6, groups))
        if ties:
            many = rng.integers(-1, 3, many.shape) / 4
        many[rng.random(many.shape) < 0.1] = nan
        for metric in METRICS:
            values = metric_values(metric, many.reshape(2, 3, groups))
            records = [disparity_of(metric, *row) for row in many]
            expected = np.reshape([record.value for record in records], (2, 3))
            np.testing.assert_array_equal(values, expected)
            for record in records:
                assert (record.reason is None) != math.isnan(record.value)


def cells(means: list[float | None]) -> CellStatistics:
    """Raw means of concepts c00, c01, ..., each of two prompts that lie .1 about it."""
    concepts = [f"c{number:02d}" for number in range(len(means))]
    prompts = measured.prompts(2, concepts)
    by_concept = dict(zip(concepts, means, strict=True))
    values = prompts["concept"].map(by_concept).astype(float)
    values += prompts["root_id"].map({"root-000": -0.1, "root-001": 0.1})
    layout = arrange_scores("fruit", measured.features(prompts, values), prompts)
    return CellStatistics(
        layout, layout.groups(["concept"]), "mean", SummaryStatistic(kind="mean"), RAW
    )


def shaped(means: list[float | None], p: float = 0.01) -> pd.DataFrame:
    statistics = cells(means)
    shapes = classify_shapes(
        statistics.values,
        statistics.groups.names,
        np.array([p]),
    )
    return statistics.names.assign(**shapes)


def shape(means: list[float | None], p: float = 0.01) -> pd.Series:
    return shaped(means, p).iloc[0]


def named_shape(means: list[float | None]) -> list[str]:
    """Its name, of which group, and at which end."""
    return shape(means)[["shape", "group", "end"]].tolist()


EVEN = [0.50, 0.51, 0.52, 0.53, 0.54, 0.55, 0.56]


@pytest.mark.parametrize(("outlier", "end"), [(0.1, "low"), (0.9, "high")])
def test_one_group_far_out_is_concentrated_on_it(outlier, end, tmp_path) -> None:
    means = [*EVEN[:3], outlier, *EVEN[3:]]
    shape_row = shape(means)
    columns = shape_row[["shape", "group", "end", "n_groups", "reason"]].tolist()
    assert columns == ["concentrated", "c03", end, 8, None]
    assert shape_row["z"] == approx(stats.zscore(means, ddof=1)[3])
    write_table(shaped(means), schemas.SHAPES, tmp_path / "shapes.parquet")


def test_evenly_spread_groups_are_dispersed_and_still_name_the_farthest() -> None:
    assert named_shape([*EVEN, 0.57, 0.59]) == ["dispersed", "c08", "high"]


def test_two_that_lie_out_together_hide_each_other_from_grubbs() -> None:
    # Dixon's r11 leaves the second one out: (.36 - .30) / (.55 - .30) = .24 is no outlier either.
    assert named_shape([*EVEN, 0.30, 0.36]) == ["dispersed", "c07", "low"]


@pytest.mark.parametrize(("sign", "end"), [(1, "high"), (-1, "low")])
def test_what_dixon_alone_finds_is_mixed(sign, end) -> None:
    # One at either end: the largest |z| is 1.87 (critical 2.13 of eight), r11 is .35 / .47
    # (critical .615).
    means = (0.10, 0.53, 0.50, 0.55, 0.43, 0.48, 0.45, 0.90)
    assert named_shape([sign * mean for mean in means]) == ["mixed", "c07", end]


def test_an_outlier_of_five_groups_is_concentrated() -> None:
    # |z| is at most 1.79 (Shiffler), and Grubbs' critical value of five is 1.715.
    assert named_shape([0.50, 0.51, 0.52, 0.51, 0.10]) == ["concentrated", "c04", "low"]


@pytest.mark.parametrize(
    ("n", "critical"),
    [
        (3, 1.154),
        (6, 1.887),
        (10, 2.290),
        (30, 2.908),
    ],
)
def test_grubbs_critical_values_are_those_of_tables(n, critical) -> None:
    """Two-sided, 5%."""
    assert grubbs_critical_value(np.array([n]))[0] == approx(critical, abs=6e-4)
    assert np.isnan(grubbs_critical_value(np.array([2]))[0])


def test_groups_that_are_not_apart_beyond_chance_have_no_shape() -> None:
    shape_row = shape([*EVEN, 0.1], p=0.2)
    columns = shape_row[["shape", "group", "reason"]].tolist()
    assert columns == [None, "c07", "not apart beyond chance (p = 0.2)"]
    assert shape([*EVEN, 0.1], p=np.nan)["reason"] == "no p"


@pytest.mark.parametrize(
    ("means", "reason"),
    [
        ([0.1, 0.9], "2 groups with a value, needs 3"),
        ([None, None, None], "no groups with a value, needs 3"),
        ([0.5] * 4, "all groups are equal"),
        (list(np.linspace(0, 1, 31)), "31 groups: critical values of Dixon's ratio go to 30"),
    ],
)
def test_null_with_the_reason(means, reason) -> None:
    shape_row = shape(means)
    assert (shape_row["shape"], shape_row["reason"]) == (None, reason)

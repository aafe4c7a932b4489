import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from evenruler.errors import UserError
from evenruler.instruments.saged import METRICS, Disparity, disparity, metric_values, summarise, summarise_each
from evenruler.instruments.saged.diagnose.dixon import CRITICAL, kind_of

nan = math.nan


def summaries(*numbers: float, **columns: str) -> pd.DataFrame:
    names = [f"c{i}" for i in range(len(numbers))]
    return pd.DataFrame({**columns, "concept": names, "summary": numbers, "n": 9, "n_missing": 0, "reason": None})


class TestByHand:
    def test_figure_6_of_the_paper(self) -> None:
        rows = {"concept": ["Apple", "Apple", "Pear", "Pear"], "value": [0.5, 0.75, 0.25, 0.2]}
        means = summarise(pd.DataFrame(rows), ["concept"], "mean")
        rates = summarise(pd.DataFrame(rows), ["concept"], "selection_rate")
        assert means["concept"].tolist() == rates["concept"].tolist() == ["Apple", "Pear"]
        assert means["summary"].tolist() == [0.625, 0.225]
        assert rates["summary"].tolist() == [1.0, 0.0]
        assert disparity(means, "range") == Disparity(0.4, 2)
        assert disparity(rates, "min_impact_ratio") == Disparity(0.0, 2, "Pear", "low", flag=True)

    def test_spreads(self) -> None:
        # Mean 4, deviations -2, -1, 3: squares 14, variance 7.
        table = summaries(2.0, 3.0, 7.0)
        assert disparity(table, "range") == Disparity(5.0, 3)
        assert disparity(table, "std") == Disparity(pytest.approx(math.sqrt(7)), 3)
        assert disparity(table, "max_z") == Disparity(pytest.approx(3 / math.sqrt(7)), 3, "c2", "high")
        assert disparity(table, "min_z") == Disparity(pytest.approx(-2 / math.sqrt(7)), 3, "c0", "low")
        assert disparity(table, "relative_to_mean") == Disparity(pytest.approx(0.75), 3, "c2", "high")

    def test_farthest_from_a_mean(self) -> None:
        low = disparity(summaries(1.0, 5.0, 6.0), "relative_to_mean")  # 1 / 4 - 1
        assert (low.value, low.group, low.end) == (pytest.approx(0.75), "c0", "low")
        negative = disparity(summaries(-1.0, -5.0, -6.0), "relative_to_mean")
        assert (negative.value, negative.group, negative.end) == (pytest.approx(0.75), "c0", "high")

    def test_z_as_the_authors_compute_it(self) -> None:
        # Mean 2.5, deviation 1.5; squares 5, so 5 / 4 with ddof 0: sqrt(1.25) = 1.118 instead of 1.291.
        table = summaries(1.0, 2.0, 3.0, 4.0)
        high, low = (disparity(table, metric) for metric in ("max_z_population", "min_z_population"))
        assert high == Disparity(pytest.approx(1.5 / math.sqrt(1.25)), 4, "c3", "high")
        assert low == Disparity(pytest.approx(-1.5 / math.sqrt(1.25)), 4, "c0", "low")
        ours = disparity(table, "max_z").value
        assert high.value / ours == pytest.approx(math.sqrt(4 / 3)) == pytest.approx(0.9007 / 0.78, abs=2e-4)

    def test_ratios(self) -> None:
        assert disparity(summaries(3.0, 2.0, 8.0), "min_max_ratio") == Disparity(0.25, 3, "c1", "low")
        assert disparity(summaries(0.0, 8.0), "min_max_ratio").value == 0

    def test_below_four_fifths_is_flagged(self) -> None:
        assert disparity(summaries(0.6, 0.75), "min_impact_ratio").flag is False  # four fifths, not below
        assert disparity(summaries(0.59, 0.75), "min_impact_ratio").flag is True
        assert disparity(summaries(1.0, 1.0), "min_impact_ratio") == Disparity(1.0, 2, "c0", "low", flag=False)

    def test_dixon_at_both_ends(self) -> None:
        table = summaries(40.20, 40.02, 40.16, 40.18, 40.18, 40.12)
        low, high = disparity(table, "dixon_low"), disparity(table, "dixon_high")
        value = pytest.approx(0.10 / 0.18)
        assert low == Disparity(value, 6, "c1", "low", 0.625, pytest.approx(0.10 / 0.18 - 0.625), flag=False)
        assert (high.group, high.end, high.flag) == ("c0", "high", False)
        outlier = disparity(
            summaries(82.39, 86.62, 91.72, 98.37, 103.46, 104.93, 105.52, 108.21, 113.23, 150.55), "dixon_high"
        )
        assert (kind_of(10), outlier.critical, outlier.flag) == ("r11", 0.534, True)
        assert outlier.excess == pytest.approx(0.584 - 0.534, abs=5e-4)

    def test_a_planted_outlier_among_the_g20_is_found_at_its_end_only(self) -> None:
        rates = np.linspace(0.55, 0.65, 21)
        rates[4] = 0.2
        table = summaries(*rates)
        low, high = disparity(table, "dixon_low"), disparity(table, "dixon_high")
        assert (low.group, low.flag, low.critical, high.flag) == ("c4", True, CRITICAL[21], False)
        assert disparity(table, "min_z").value < -2 < disparity(table, "max_z").value < 2


class TestUndefined:
    @pytest.mark.parametrize(
        ("metric", "numbers", "n", "reason"),
        [
            ("range", [nan, nan], 0, "no groups with a summary, needs 2"),
            ("std", [1.0, nan], 1, "1 group with a summary, needs 2"),
            ("max_z", [1.0, 2.0, nan], 2, "2 groups with a summary, needs 3"),
            ("min_z", [1.0, 1.0, 1.0], 3, "all summaries are equal"),
            ("max_z_population", [1.0, 1.0, 1.0], 3, "all summaries are equal"),
            ("min_z_population", [1.0, 2.0], 2, "2 groups with a summary, needs 3"),
            ("max_z", [0.1 + 0.2, 0.3, 0.3], 3, "all summaries are equal"),
            ("dixon_low", [1.0, 2.0], 2, "2 groups with a summary, needs 3"),
            ("dixon_high", list(range(31)), 31, "31 groups: critical values go to 30"),
            ("min_max_ratio", [-0.5, 1.0], 2, "a summary is negative (-0.5)"),
            ("min_max_ratio", [0.0, 0.0], 2, "all summaries are 0"),
            ("min_impact_ratio", [0.0, 0.0], 2, "all summaries are 0"),
            ("min_impact_ratio", [0.5, 1.5], 2, "a summary is no selection rate (1.5)"),
            ("relative_to_mean", [-1.0, 1.0], 2, "the mean of the summaries is 0"),
        ],
    )
    def test_is_null_with_the_reason(self, metric: str, numbers: list[float], n: int, reason: str) -> None:
        found = disparity(summaries(*numbers), metric)
        assert math.isnan(found.value)
        assert (found.n, found.reason) == (n, reason)
        assert (found.group, found.end, found.critical, found.excess, found.flag) == (None,) * 5

    def test_equal_summaries_are_no_disparity(self) -> None:
        table = summaries(0.5, 0.5, 0.5)
        values = {name: disparity(table, name).value for name in METRICS if "_z" not in name}
        ratios = {"min_max_ratio": 1, "min_impact_ratio": 1}
        assert values == {name: ratios.get(name, 0) for name in values}

    def test_groups_without_a_summary_are_left_out(self) -> None:
        holed, whole = summaries(nan, 2.0, 3.0, nan, 7.0), summaries(2.0, 3.0, 7.0)
        for metric in METRICS:
            np.testing.assert_equal(disparity(holed, metric).value, disparity(whole, metric).value)
        assert disparity(holed, "max_z").group == "c4"


class TestNames:
    def test_are_of_the_columns_in_which_groups_differ(self) -> None:
        table = summaries(1.0, 2.0, 4.0, domain="countries")
        assert disparity(table, "max_z").group == "c2"
        assert disparity(table, "max_z", names=["domain", "concept"]).group == "countries+c2"
        crossed = table.assign(keyword=["k0", "k1", "k2"])
        assert disparity(crossed, "max_z").group == "c2+k2"

    def test_of_two(self) -> None:
        assert disparity(summaries(1.0, 2.0, domain="countries"), "min_max_ratio").group == "c0"

    def test_the_first_of_equals(self) -> None:
        assert disparity(summaries(2.0, 1.0, 1.0), "min_max_ratio").group == "c1"

    def test_mistakes_are_one_line(self) -> None:
        with pytest.raises(UserError, match="no disparity 'rnge'; did you mean 'range'"):
            disparity(summaries(1.0, 2.0), "rnge")
        with pytest.raises(UserError, match="no column 'summary'"):
            disparity(summaries(1.0).rename(columns={"summary": "value"}), "range")
        with pytest.raises(UserError, match="no column 'keyword'"):
            disparity(summaries(1.0, 2.0), "max_z", names=["keyword"])


class TestImpactRatio:
    """Of selection rates alone."""

    FRAME = pd.DataFrame({"concept": ["a", "a", "b", "b"], "value": [0.1, 0.2, 0.3, 0.6]})

    def test_of_other_summaries_is_refused(self) -> None:
        means = summarise(self.FRAME, ["concept"], "mean")
        with pytest.raises(UserError, match=r"min_impact_ratio is of selection rates, and these are .* kind mean; ask"):
            disparity(means, "min_impact_ratio")
        assert disparity(means, "min_max_ratio").value == pytest.approx(0.15 / 0.45)

    def test_of_rates_by_whatever_name_is_given(self) -> None:
        asked = {"high": ("selection_rate", {"standard": "median"}), "middle": ("median", {})}
        found = summarise_each(self.FRAME, ["concept"], asked)
        rates = found[found["statistic"] == "high"]
        assert disparity(rates, "min_impact_ratio") == Disparity(0.0, 2, "a", "low", flag=True)
        with pytest.raises(UserError, match="kind median"):
            disparity(found[found["statistic"] == "middle"], "min_impact_ratio")

    def test_of_a_table_of_ones_own(self) -> None:
        assert disparity(summaries(0.5, 1.0), "min_impact_ratio").value == 0.5


class TestManyAtOnce:
    @settings(max_examples=40, deadline=None)
    @given(st.integers(0, 10_000), st.integers(1, 33), st.sampled_from(["rates", "ties", "any"]))
    def test_each_is_what_the_record_of_it_says(self, seed: int, groups: int, kind: str) -> None:
        rng = np.random.default_rng(seed)
        many = {"rates": rng.random((6, groups)), "ties": rng.integers(0, 3, (6, groups)) / 4}.get(kind)
        many = rng.normal(size=(6, groups)) if many is None else many
        many[rng.random(many.shape) < 0.1] = nan
        for metric in METRICS:
            found = metric_values(metric, many.reshape(2, 3, groups))
            assert (found.shape, found.dtype) == ((2, 3), np.float64)
            records = [disparity(summaries(*row), metric) for row in many]
            np.testing.assert_array_equal(found.ravel(), [record.value for record in records])
            assert [record.reason is None for record in records] == (~np.isnan(found.ravel())).tolist()

    @settings(max_examples=40, deadline=None)
    @given(st.integers(0, 10_000), st.integers(3, 25))
    def test_agrees_with_numpy_and_scipy(self, seed: int, groups: int) -> None:
        row = np.random.default_rng(seed).random(groups)
        z = stats.zscore(row, ddof=1)
        wanted = {
            "range": np.ptp(row),
            "min_max_ratio": row.min() / row.max(),
            "min_impact_ratio": row.min() / row.max(),
            "std": np.std(row, ddof=1),
            "max_z": z.max(),
            "min_z": z.min(),
            "max_z_population": stats.zscore(row).max(),
            "min_z_population": stats.zscore(row).min(),
            "relative_to_mean": np.abs(row / row.mean() - 1).max(),
        }
        for metric, value in wanted.items():
            assert metric_values(metric, row) == pytest.approx(value, rel=1e-9)

    def test_the_largest_possible_z(self) -> None:
        # Shiffler (1988): (n - 1) / sqrt(n), where all others are equal.
        assert metric_values("max_z", np.array([0.0] * 20 + [1.0])) == pytest.approx(20 / math.sqrt(21))

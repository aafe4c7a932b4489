import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from evenruler.errors import UserError
from evenruler.instruments.saged import summarise, summarise_each
from evenruler.instruments.saged.declare.settings import SummaryStatistic
from evenruler.instruments.saged.diagnose import group_statistics as module
from evenruler.instruments.saged.diagnose.group_statistics import (
    OWN,
    RAW,
    SERIES,
    CellStatistics,
    Groups,
    ScoreArrays,
    group_rows,
)
from evenruler.instruments.saged.diagnose.statistics import (
    STATISTICS,
    USES_BASELINE,
    cell_options,
    mask_unpaired,
    resolve_statistic,
)

ROWS = 24
OPTIONS = {"selection_rate": {"standard": "median", "method": "within_range", "margin": 0.2}}


def numbers() -> tuple[np.ndarray, np.ndarray]:
    """[4 series, rows] values and baselines with nulls; one series of equal values, one without
    any."""
    draw = np.random.default_rng(2)
    values, baselines = draw.random((2, 4, ROWS)).round(2) + 3
    values[1, draw.random(ROWS) < 0.4] = np.nan
    baselines[1, draw.random(ROWS) < 0.4] = np.nan
    values[2], values[3] = 3.25, np.nan
    return values, baselines


def cells(
    kind: str, values: np.ndarray, baselines: np.ndarray, codes: np.ndarray, groups: int
) -> CellStatistics:
    series, there = (
        pd.DataFrame("any", index=range(len(values)), columns=SERIES),
        np.ones(values.shape, dtype=bool),
    )
    layout = ScoreArrays(
        "fruit", pd.DataFrame(index=range(values.shape[1])), series, values, baselines, there
    )
    own = Groups("concept", [str(number) for number in range(groups)], codes)
    return CellStatistics(
        layout, own, "own", SummaryStatistic(kind=kind, options=OPTIONS.get(kind, {})), RAW
    )


@pytest.mark.parametrize("at_once", [1, 300, 10**6])
@pytest.mark.parametrize("kind", [*STATISTICS, "numpy.ptp"])
def test_every_group_of_every_draw_is_summarised_by_itself(
    kind: str, at_once: int, monkeypatch
) -> None:
    monkeypatch.setattr(module, "AT_ONCE", at_once)
    values, baselines = numbers()
    codes = np.random.default_rng(3).choice(3, (3, ROWS), p=[0.6, 0.35, 0.05])
    own = cells(kind, values, baselines, codes[0], 3)
    found = own.over(group_rows(codes, 3))
    assert found.shape == (4, 3, 3)
    for line, summaries in enumerate(found):
        seen = (
            mask_unpaired(values[line], baselines[line])
            if kind in USES_BASELINE
            else (values[line], baselines[line])
        )
        given = cell_options(kind, *seen, **OPTIONS.get(kind, {}))
        groups = [draw == group for draw in codes for group in range(3)]
        wanted = [
            resolve_statistic(kind)(values[line, group], baselines[line, group], **given)
            for group in groups
        ]
        np.testing.assert_allclose(summaries.ravel(), wanted, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(own.values, found[:, 0])


def test_numbers_are_counted_and_what_is_undefined_has_a_reason() -> None:
    values, baselines = (
        np.array([[1.0, 2.0, np.nan, 4.0, 5.0]]),
        np.array([[1.0, np.nan, 3.0, 2.0, 9.0]]),
    )
    own = cells("correlation", values, baselines, np.array([0, 0, 1, 2, 2]), 3)
    np.testing.assert_array_equal(own.n, [[1, 0, 2]])
    np.testing.assert_allclose(own.values, [[np.nan, np.nan, 1]])
    one, none = "1 value with a baseline, needs 2", "no value with a baseline, needs 2"
    assert own.reasons.tolist() == [[one, none, None]]
    np.testing.assert_array_equal(
        cells("mean", values, baselines, own.groups.codes, 3).n, [[2, 0, 2]]
    )


def test_no_series_have_no_summaries() -> None:
    for kind in (*STATISTICS, "numpy.ptp"):
        own = cells(kind, np.empty((0, 3)), np.empty((0, 3)), np.array([0, 1, 1]), 2)
        assert own.values.shape == own.n.shape == own.reasons.shape == (0, 2)


nan = math.nan


def frame(seed: int, rows: int = 300) -> pd.DataFrame:
    """Two features of five concepts, groups of very unequal size, nulls in values and baselines."""
    rng = np.random.default_rng(seed)
    values = np.round(rng.normal(size=rows), 1)
    made = pd.DataFrame(
        {
            "feature": rng.choice(["toxicity", "regard"], rows),
            "concept": rng.choice(
                ["france", "japan", "brazil", "india", "aurelia"],
                rows,
                p=[0.6, 0.3, 0.06, 0.02, 0.02],
            ),
            "value": values,
            "baseline": np.round(0.5 * values + rng.normal(size=rows), 1),
        }
    )
    made.loc[rng.random(rows) < 0.1, "value"] = nan
    made.loc[rng.random(rows) < 0.1, "baseline"] = nan
    made.loc[made["concept"] == "india", "value"] = 0.3
    return made


def by_group(found: pd.DataFrame, column: str = "summary") -> dict[tuple[str, ...], Any]:
    keys = [name for name in found.columns if name not in OWN]
    return {tuple(row[key] for key in keys): row[column] for row in found.to_dict("records")}


class TestGroups:
    @settings(max_examples=15, deadline=None)
    @given(st.integers(0, 10_000), st.integers(1, 400))
    def test_agree_with_pandas_and_scipy(self, seed: int, rows: int) -> None:
        table = frame(seed, rows)
        pandas = table.groupby(["feature", "concept"])["value"]
        plain = {
            "mean": pandas.mean(),
            "median": pandas.median(),
            "variance": pandas.var(),
            "std": pandas.std(),
        }
        for statistic, wanted in plain.items():
            found = summarise(table, ["feature", "concept"], statistic)
            assert list(by_group(found)) == sorted(wanted.index)
            np.testing.assert_allclose(found["summary"], wanted, rtol=1e-9, atol=1e-12)
            np.testing.assert_array_equal(found["n"], pandas.count())
            np.testing.assert_array_equal(found["n"] + found["n_missing"], pandas.size())
            assert (found["reason"].isna() == found["summary"].notna()).all()

    def test_those_with_baselines_count_pairs(self) -> None:
        table = frame(1)
        complete = table.dropna()
        found = summarise(table, ["concept"], "correlation")
        for concept, own in complete.groupby("concept"):
            row = found[found["concept"] == concept].iloc[0]
            assert row["n"] == len(own)
            assert row["n_missing"] == (table["concept"] == concept).sum() - len(own)
            if own["value"].nunique() > 1:
                assert row["summary"] == pytest.approx(
                    stats.pearsonr(own["value"], own["baseline"]).statistic
                )
            else:
                assert (math.isnan(row["summary"]), row["reason"]) == (True, "all values are equal")

    def test_calibrated_is_value_minus_baseline(self) -> None:
        table = frame(2)
        difference = table.assign(value=table["value"] - table["baseline"]).drop(columns="baseline")
        for statistic in set(STATISTICS) - USES_BASELINE:
            found = summarise(table, ["feature", "concept"], statistic, calibrated=True)
            pd.testing.assert_frame_equal(
                found, summarise(difference, ["feature", "concept"], statistic)
            )
        table.loc[table["concept"] == "japan", "baseline"] = nan
        lost = (
            summarise(table, ["concept"], "mean", calibrated=True).set_index("concept").loc["japan"]
        )
        assert (math.isnan(lost["summary"]), lost["n"], lost["reason"]) == (True, 0, "no value")

    def test_one_row_and_all_missing(self) -> None:
        table = pd.DataFrame(
            {"concept": ["a", "b", "b", "c", "c"], "value": [1.0, nan, nan, 2.0, 4.0]}
        )
        found = summarise(table, ["concept"], "std")
        np.testing.assert_array_equal(found["summary"], [nan, nan, math.sqrt(2)])
        assert found["reason"].tolist() == ["1 value, needs 2", "no value, needs 2", None]
        assert found[["n", "n_missing"]].to_numpy().tolist() == [[1, 0], [0, 2], [2, 0]]

    def test_a_user_function(self) -> None:
        table = pd.DataFrame({"concept": ["a", "a", "b"], "value": [1.0, 4.0, nan]})
        found = summarise(table, ["concept"], "numpy.quantile", q=0.25)
        assert found["summary"].iloc[0] == 1.75
        assert found["reason"].tolist() == [None, "no value"]
        counted = summarise(table, ["concept"], "numpy.linalg.norm", ord=1)  # an int stays one
        assert counted["summary"].iloc[0] == 5
        failed = summarise(table, ["concept"], "numpy.quantile", q=7)
        assert failed["reason"].iloc[0].startswith("numpy.quantile raised ValueError: ")

    def test_order_of_rows_does_not_matter_and_types_of_labels_stay(self) -> None:
        table = frame(3)
        shuffled = table.sample(frac=1, random_state=0)
        for statistic in STATISTICS:
            first, second = (
                summarise(each, ["feature", "concept"], statistic) for each in (table, shuffled)
            )
            pd.testing.assert_frame_equal(first, second)
        numbered = table.assign(
            concept=pd.Categorical(
                table["concept"], ["japan", "france", "brazil", "india", "aurelia"]
            )
        )
        found = summarise(numbered, ["concept"], "mean")
        assert found["concept"].tolist() == ["japan", "france", "brazil", "india", "aurelia"]
        assert by_group(found) == by_group(summarise(table, ["concept"], "mean"))

    def test_no_rows_no_groups(self) -> None:
        for statistic in STATISTICS:
            found = summarise(frame(4).iloc[:0], ["feature", "concept"], statistic)
            assert (len(found), list(found.columns)[2:]) == (
                0,
                ["summary", "n", "n_missing", "reason", "kind"],
            )


class TestCells:
    TABLE = pd.DataFrame(
        {
            "feature": ["low", "low", "low", "high", "high", "high"],
            "concept": ["a", "a", "b", "a", "b", "b"],
            "value": [0.0, 1.0, 0.5, 10.0, 20.0, nan],
            "baseline": [0.0, 1.0, 1.0, 20.0, 20.0, 20.0],
        }
    )

    def test_the_standard_is_of_the_whole_cell(self) -> None:
        # .5 of the low ones, 15 of the high ones; 6.3 of all.
        rates = by_group(summarise(self.TABLE, ["feature", "concept"], "selection_rate"))
        assert rates == {("high", "a"): 0, ("high", "b"): 1, ("low", "a"): 0.5, ("low", "b"): 1}
        pooled = by_group(summarise(self.TABLE, ["feature", "concept"], "selection_rate", cell=[]))
        assert pooled == {("high", "a"): 1, ("high", "b"): 1, ("low", "a"): 0, ("low", "b"): 0}

    @pytest.mark.parametrize("standard", ["median", "mode", "quantile"])
    def test_standards_of_every_kind_are_of_the_whole_cell(self, standard: str) -> None:
        # .5 and 15; 0 and 10 (the lowest of equally full bins); .75 and 17.5.
        wanted = {
            "median": {("high", "a"): 0, ("high", "b"): 1, ("low", "a"): 0.5, ("low", "b"): 1},
            "mode": {("high", "a"): 1, ("high", "b"): 1, ("low", "a"): 1, ("low", "b"): 1},
            "quantile": {("high", "a"): 0, ("high", "b"): 1, ("low", "a"): 0.5, ("low", "b"): 0},
        }
        options = {"q": 0.75} if standard == "quantile" else {}
        rates = summarise(
            self.TABLE, ["feature", "concept"], "selection_rate", standard=standard, **options
        )
        assert by_group(rates) == wanted[standard]

    def test_bins_are_of_the_whole_cell(self) -> None:
        found = by_group(
            summarise(self.TABLE, ["feature", "concept"], "kl_divergence", bins=2, epsilon=1)
        )
        # Counts 1, 1 against 1, 1; 0, 1 (the middle belongs to the upper bin) against 0, 1; 1, 0
        # against 0, 1.
        assert found[("low", "a")] == found[("low", "b")] == found[("high", "b")] == 0
        assert found[("high", "a")] == pytest.approx(2 / 3 * math.log(2) + 1 / 3 * math.log(1 / 2))

    def test_may_be_any_of_the_columns(self) -> None:
        rates = summarise(self.TABLE, ["concept", "feature"], "selection_rate", cell=["feature"])
        assert by_group(rates) == {
            ("a", "high"): 0,
            ("a", "low"): 0.5,
            ("b", "high"): 1,
            ("b", "low"): 1,
        }


def by_numpy(statistic: str, own: Any, cell: Any, options: dict[str, Any]) -> float:
    """What a statistic says of the values of one group, `own`, among all those of its cell; no code
    of ours."""

    def mode(numbers: Any, width: float) -> float:
        bins, counts = np.unique(np.round(numbers / width), return_counts=True)
        return float(bins[counts.argmax()] * width)

    if statistic == "mode":
        return mode(own, options.get("width", 0.1))
    if statistic == "quantile_range":
        q = options.get("q", 0.25)
        return float(np.quantile(own, 1 - q) - np.quantile(own, q))
    if statistic == "percentile_range":
        return float(
            np.percentile(own, options.get("high", 95)) - np.percentile(own, options.get("low", 5))
        )
    standard = {
        "mean": np.mean(cell),
        "median": np.median(cell),
        "mode": mode(cell, options.get("width", 0.1)),
        "quantile": np.quantile(cell, options.get("q", 0.5)),
    }[options.get("standard", "mean")]
    selected = {
        "larger": own >= standard,
        "smaller": own <= standard,
        "within_range": np.abs(own - standard) <= options.get("margin", 0) + 1e-9,
        "within_percentage": np.abs(own - standard)
        <= options.get("margin", 0) * abs(standard) + 1e-9,
    }[options.get("method", "larger")]
    return float(selected.mean())


class TestOptions:
    """Every option on the public path, against numpy."""

    @pytest.mark.parametrize(
        ("statistic", "options"),
        [
            *[("mode", {"width": width}) for width in (0.1, 0.5)],
            *[("quantile_range", {"q": q}) for q in (0.1, 0.25)],
            ("percentile_range", {"low": 10, "high": 60}),
            *[
                ("selection_rate", {"standard": standard, "method": method, "margin": 0.35})
                for standard in ("mean", "median", "mode", "quantile")
                for method in ("larger", "smaller", "within_range", "within_percentage")
            ],
            ("selection_rate", {"standard": "quantile", "q": 0.8}),
            ("selection_rate", {"standard": "mode", "width": 1.0}),
        ],
    )
    def test_agree_with_numpy(self, statistic: str, options: dict[str, Any]) -> None:
        table = frame(11).assign(value=lambda own: own["value"] + 0.003)  # none lies at a bound
        found = by_group(summarise(table, ["feature", "concept"], statistic, **options))
        present = table.dropna(subset="value")
        for (feature, concept), own in present.groupby(["feature", "concept"]):
            cell = present.loc[present["feature"] == feature, "value"].to_numpy()
            wanted = by_numpy(statistic, own["value"].to_numpy(), cell, options)
            assert found[(feature, concept)] == pytest.approx(wanted, abs=1e-9)


class TestEach:
    def test_gives_what_summarise_gives(self) -> None:
        table = frame(6)
        asked: dict[str, tuple[str, dict[str, Any]]] = {
            "mean": ("mean", {}),
            "high": ("selection_rate", {"standard": "quantile", "q": 0.9}),
            "kl": ("kl_divergence", {"bins": 4}),
        }
        found = summarise_each(table, ["feature", "concept"], asked)
        for name, (kind, options) in asked.items():
            own = found[found["statistic"] == name].drop(columns="statistic").reset_index(drop=True)
            pd.testing.assert_frame_equal(
                own, summarise(table, ["feature", "concept"], kind, **options)
            )


class TestMistakes:
    @pytest.mark.parametrize(
        ("changed", "call", "words"),
        [
            ({}, {"statistic": "meen"}, "no statistic 'meen'; did you mean 'mean'"),
            ({}, {"by": ["concpt"]}, "no column 'concpt'; did you mean 'concept'"),
            ({}, {"by": []}, "no column to group by"),
            (
                {"kind": "x"},
                {"by": ["kind"]},
                "the result has a column 'kind' of its own; call yours something else",
            ),
            ({}, {"cell": ["model"]}, "groups lie across cells of 'model'"),
            (
                {},
                {"statistic": "kl_divergence", "calibrated": True},
                "kl_divergence compares values with their base",
            ),
            (
                {},
                {"statistic": "precision", "margin": 1},
                "precision: the statistic has no option 'margin'",
            ),
            ({"value": [1.0, math.inf, 2.0]}, {}, "column 'value': row 1 holds inf"),
            ({"concept": ["a", None, "b"]}, {}, "row 1 has no concept"),
        ],
    )
    def test_are_one_line(self, changed: dict[str, Any], call: dict[str, Any], words: str) -> None:
        table = pd.DataFrame(
            {"concept": ["a", "a", "b"], "value": [1.0, 2.0, 3.0], "baseline": 0.0, **changed}
        )
        arguments = {"by": ["concept"], "statistic": "mean", **call}
        with pytest.raises(UserError, match=words):
            summarise(table, **arguments)

    def test_a_baseline_that_is_not_there(self) -> None:
        table = pd.DataFrame({"concept": ["a", "b"], "value": [1.0, 2.0]})
        for arguments in ({"statistic": "precision"}, {"statistic": "mean", "calibrated": True}):
            with pytest.raises(UserError, match="no column 'baseline'"):
                summarise(table, ["concept"], **arguments)

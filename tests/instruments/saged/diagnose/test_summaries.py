import math
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest

from evenruler.errors import UserError
from evenruler.instruments.saged import summarise
from evenruler.instruments.saged.declare.settings import SummaryStatistic
from evenruler.instruments.saged.diagnose import group_statistics as module
from evenruler.instruments.saged.diagnose.group_statistics import (
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
from tests.instruments.near import approx

ROWS = 24
KINDS = [*STATISTICS, "numpy.ptp"]
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
    series = pd.DataFrame(
        "any",
        index=range(len(values)),
        columns=SERIES,
    )
    there = np.ones(values.shape, dtype=bool)
    layout = ScoreArrays(
        "fruit", pd.DataFrame(index=range(values.shape[1])), series, values, baselines, there
    )
    grouping = Groups(
        "concept",
        [str(number) for number in range(groups)],
        codes,
    )
    return CellStatistics(
        layout, grouping, "own", SummaryStatistic(kind=kind, options=OPTIONS.get(kind, {})), RAW
    )


@pytest.mark.parametrize(
    ("kind", "at_once"),
    [*((kind, 300) for kind in KINDS), ("mean", 1), ("mean", 1_000_000)],
)
def test_every_group_of_every_draw_is_summarised_by_itself(kind, at_once, monkeypatch) -> None:
    monkeypatch.setattr(module, "AT_ONCE", at_once)
    values, baselines = numbers()
    codes = np.random.default_rng(3).choice(
        3,
        (3, ROWS),
        p=[0.6, 0.35, 0.05],
    )
    statistics = cells(kind, values, baselines, codes[0], 3)
    by_series = statistics.over(group_rows(codes, 3))
    for line, summaries in enumerate(by_series):
        of_line = (values[line], baselines[line])
        seen = mask_unpaired(*of_line) if kind in USES_BASELINE else of_line
        options = cell_options(kind, *seen, **OPTIONS.get(kind, {}))
        summarise_group = partial(resolve_statistic(kind), **options)
        for of_draw, draw in zip(summaries, codes, strict=True):
            wanted = [
                summarise_group(values[line][draw == group], baselines[line][draw == group])
                for group in range(3)
            ]
            np.testing.assert_allclose(of_draw, wanted, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(statistics.values, by_series[:, 0])


def test_numbers_are_counted_and_what_is_undefined_has_a_reason() -> None:
    values = np.array([[1.0, 2.0, np.nan, 4.0, 5.0]])
    baselines = np.array([[1.0, np.nan, 3.0, 2.0, 9.0]])
    codes = np.array([0, 0, 1, 2, 2])
    statistics = cells("correlation", values, baselines, codes, 3)
    np.testing.assert_array_equal(statistics.n, [[1, 0, 2]])
    np.testing.assert_allclose(statistics.values, [[np.nan, np.nan, 1]])
    one_pair, no_pair = "1 value with a baseline, needs 2", "no value with a baseline, needs 2"
    assert statistics.reasons.tolist() == [[one_pair, no_pair, None]]
    np.testing.assert_array_equal(
        cells("mean", values, baselines, codes, 3).n,
        [[2, 0, 2]],
    )


nan = math.nan


def frame(seed: int, rows: int = 300) -> pd.DataFrame:
    """Two features of five concepts, groups of very unequal size, nulls in values and baselines."""
    rng = np.random.default_rng(seed)
    concepts = ["france", "japan", "brazil", "india", "aurelia"]
    values = rng.normal(size=rows).round(1)
    table = pd.DataFrame({"feature": rng.choice(["toxicity", "regard"], rows), "value": values})
    table["concept"] = rng.choice(concepts, rows, p=[0.6, 0.3, 0.06, 0.02, 0.02])
    table["baseline"] = (0.5 * values + rng.normal(size=rows)).round(1)
    for column in ("value", "baseline"):
        table.loc[rng.random(rows) < 0.1, column] = nan
    table.loc[table["concept"] == "india", "value"] = 0.3
    return table


class TestGroups:
    def test_calibrated_is_value_minus_baseline(self) -> None:
        table = frame(2)
        table.loc[table["concept"] == "japan", "baseline"] = nan
        difference = table.assign(value=table["value"] - table["baseline"]).drop(columns="baseline")
        for statistic in set(STATISTICS) - USES_BASELINE:
            summary = summarise(table, ["feature", "concept"], statistic, calibrated=True)
            expected = summarise(difference, ["feature", "concept"], statistic)
            pd.testing.assert_frame_equal(summary, expected)


class TestCells:
    TABLE = pd.DataFrame(
        {
            "feature": ["low", "low", "low", "high", "high", "high"],
            "concept": ["a", "a", "b", "a", "b", "b"],
            "value": [0.0, 1.0, 0.5, 10.0, 20.0, nan],
            "baseline": [0.0, 1.0, 1.0, 20.0, 20.0, 20.0],
        }
    )

    def summaries(self, statistic: str = "selection_rate", **options: Any) -> list[float]:
        """Of high and a, high and b, low and a, low and b."""
        table = summarise(
            self.TABLE,
            ["feature", "concept"],
            statistic,
            **options,
        )
        return list(table["summary"])

    def test_the_standard_is_of_the_whole_cell(self) -> None:
        # .5 of the low ones, 15 of the high ones; 6.3 of all.
        assert self.summaries() == [0, 1, 0.5, 1]
        assert self.summaries(cell=[]) == [1, 1, 0, 0]

    @pytest.mark.parametrize("standard", ["median", "mode", "quantile"])
    def test_standards_of_every_kind_are_of_the_whole_cell(self, standard) -> None:
        # .5 and 15; 0 and 10 (the lowest of equally full bins); .75 and 17.5.
        wanted = {
            "median": [0, 1, 0.5, 1],
            "mode": [1, 1, 1, 1],
            "quantile": [0, 1, 0.5, 0],
        }
        options = {"q": 0.75} if standard == "quantile" else {}
        assert self.summaries(standard=standard, **options) == wanted[standard]

    def test_bins_are_of_the_whole_cell(self) -> None:
        # Counts 1, 0 against 0, 1: 2/3 log 2 + 1/3 log 1/2. Then 0, 1 (the middle belongs to the
        # upper bin) against 0, 1, and 1, 1 against 1, 1.
        divergences = self.summaries("kl_divergence", bins=2, epsilon=1)
        assert divergences == approx([math.log(2) / 3, 0, 0, 0])


class TestMistakes:
    @pytest.mark.parametrize(
        ("changed", "call", "words"),
        [
            ({}, {"by": ["concpt"]}, "no column 'concpt'; did you mean 'concept'"),
            ({}, {"by": []}, "no column to group by"),
            ({"n": 1}, {"by": ["n"]}, "the result has a column 'n' of its own"),
            ({}, {"cell": ["model"]}, "groups lie across cells of 'model'"),
            ({}, {"statistic": "kl_divergence", "calibrated": True}, "compares values with their"),
            ({"value": [1.0, math.inf, 2.0]}, {}, "column 'value': row 1 holds inf"),
            ({"concept": ["a", None, "b"]}, {}, "row 1 has no concept"),
        ],
    )
    def test_are_one_line(self, changed, call, words) -> None:
        columns = {"concept": ["a", "a", "b"], "value": [1.0, 2.0, 3.0], "baseline": 0.0}
        arguments = {"by": ["concept"], "statistic": "mean", **call}
        with pytest.raises(UserError, match=words):
            summarise(pd.DataFrame(columns | changed), **arguments)

    def test_a_baseline_that_is_not_there(self) -> None:
        table = pd.DataFrame({"concept": ["a", "b"], "value": [1.0, 2.0]})
        with pytest.raises(UserError, match="no column 'baseline'"):
            summarise(table, ["concept"], "precision")
        with pytest.raises(UserError, match="no column 'baseline'"):
            summarise(table, ["concept"], "mean", calibrated=True)

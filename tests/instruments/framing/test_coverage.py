"""Cells with too few answers of any class, by metric."""

import pandas as pd
import pytest

from evenruler.instruments.framing.diagnose.distributions import exclusions, without_excluded
from evenruler.instruments.framing.schemas import DISTRIBUTIONS, EXCLUSIONS
from evenruler.tables import write_table

CLASSES = ("he", "she")
SAME = {"benchmark": "hair", "model": "m", "lineage": "m", "configuration": "plain", "task": "say", "framing": "bare"}


def cell(coverage: dict[str, float], n: int | dict[str, int] = 1, metric: str = "token", **where: str) -> pd.DataFrame:
    """By stimulus the share of the answers that is of any class, half of it each of two, and how many there are."""
    rows = [
        {
            **SAME,
            "metric": metric,
            **where,
            "stimulus": stimulus,
            "outcome": outcome,
            "mass": covered / 2,
            "share": 0.5 if covered else None,
            "coverage": covered,
            "n": n if isinstance(n, int) else n[stimulus],
        }
        for stimulus, covered in coverage.items()
        for outcome in CLASSES
    ]
    return pd.DataFrame(rows, columns=DISTRIBUTIONS.names)


def judged(*cells: pd.DataFrame, least: float = 0.1) -> pd.DataFrame:
    return exclusions(pd.concat(cells), least)


def test_of_words_it_is_the_mean_over_stimuli_against_what_the_source_says(tmp_path) -> None:
    found = judged(cell({"a": 0.02, "b": 0.1}), cell({"a": 0.02, "b": 0.3}, framing="salience"), least=0.12)
    rows = found.set_index("framing")[["coverage", "least", "n", "excluded"]]
    assert rows.loc["bare"].tolist() == [pytest.approx(0.06), 0.12, 2, True]
    assert rows.loc["salience"].tolist() == [pytest.approx(0.16), 0.12, 2, False]
    write_table(found, EXCLUSIONS, tmp_path / "exclusions.parquet")


def test_of_replies_it_is_forty_per_cent_of_those_of_all_stimuli() -> None:
    found = judged(
        cell({"a": 0.0, "b": 1.0}, {"a": 3, "b": 2}, "choice"),  # a stimulus alone may have less: 2 of 5
        cell({"a": 0.39}, 100, "choice", framing="salience"),
        cell({"a": 0.40}, 100, "choice", framing="salience", model="n"),
        least=0.9,
    )
    cells = found.set_index(["model", "framing"])[["coverage", "least", "n", "excluded"]]
    assert {cell: row.tolist() for cell, row in cells.iterrows()} == {
        ("m", "bare"): [pytest.approx(0.4), 0.4, 5, False],
        ("m", "salience"): [pytest.approx(0.39), 0.4, 100, True],
        ("n", "salience"): [pytest.approx(0.4), 0.4, 100, False],
    }


def test_a_rounding_takes_no_cell_out() -> None:
    (excluded,) = judged(cell(dict.fromkeys("abc", 0.3 - 1e-16)), least=0.3)["excluded"]
    assert not excluded


def test_cells_are_in_the_alphabet_whatever_came_first() -> None:
    found = judged(cell({"a": 0.2}, task="say"), cell({"a": 0.2}, task="choose"))
    assert found["task"].tolist() == ["choose", "say"]


def test_tasks_configurations_and_metrics_are_judged_on_their_own() -> None:
    found = judged(
        cell({"a": 0.05}),
        cell({"a": 0.2}, task="choose"),
        cell({"a": 0.2}, configuration="chat"),
        cell({"a": 0.2}, metric="choice"),
    )
    assert found.set_index(["configuration", "metric", "task"])["excluded"].to_dict() == {
        ("plain", "token", "say"): True,
        ("plain", "token", "choose"): False,
        ("chat", "token", "say"): False,
        ("plain", "choice", "say"): True,
    }


def test_cells_of_choices_leave_and_those_of_words_stay() -> None:
    every = pd.concat(
        [
            cell({"a": 0.01}),
            cell({"a": 0.1}, metric="choice"),
            cell({"a": 0.9}, metric="choice", task="choose"),
            cell({"a": 0.9}, metric="choice", framing="salience~1"),
        ]
    )
    found = without_excluded(every, exclusions(every, 0.1), ["choice"])
    left = found[["metric", "task", "framing"]].drop_duplicates()
    assert sorted(left.itertuples(index=False, name=None)) == [
        ("choice", "choose", "bare"),
        ("choice", "say", "salience~1"),
        ("token", "say", "bare"),
    ]
    assert found.index.tolist() == list(range(6))


def test_nothing_measured_excludes_nothing(tmp_path) -> None:
    none = exclusions(pd.DataFrame(columns=DISTRIBUTIONS.names), 0.1)
    write_table(none, EXCLUSIONS, tmp_path / "exclusions.parquet")
    some = cell({"a": 0.9})
    pd.testing.assert_frame_equal(without_excluded(some, none, ["choice"]), some)
    assert without_excluded(some.iloc[:0], none, ["choice"]).empty

"""Figures of effects beside placebos, and of shifts of classes, by hand."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from evenruler.instruments.framing import schemas
from evenruler.instruments.framing.diagnose.effects import shift_figures
from evenruler.measurement import Figure
from evenruler.measurement.figures import Verdict
from evenruler.tables import read_frame, write_table
from tests.instruments.framing.plans import figures_of as figures_by_part
from tests.instruments.framing.tables import Cells, distributions

# Effects of salience in completion .6 and .2, in association .4 and 0; of instruction in
# association alone, .1 and .3.
CELLS: Cells = {
    ("completion", "instruction"): {"bald": [1.0, 0.0], "long": [0.5, 0.5]},
    ("completion", "salience+instruction"): {"bald": [0.4, 0.6], "long": [0.3, 0.7]},
    ("association", "bare"): {"bald": [0.8, 0.2], "long": [0.5, 0.5]},
    ("association", "salience"): {"bald": [0.4, 0.6], "long": [0.5, 0.5]},
    ("association", "instruction"): {"bald": [0.9, 0.1], "long": [0.2, 0.8]},
}


def rows(cells: Cells = CELLS, **more: str) -> pd.DataFrame:
    return distributions(cells, classes=["he", "she"], **more)


def thrice(cells: Cells) -> Cells:
    """Three stimuli like each: as many as an interval takes."""
    return {
        cell: {f"{name}-{i}": shares for name, shares in stimuli.items() for i in range(3)}
        for cell, stimuli in cells.items()
    }


def figures_of(
    measured: pd.DataFrame, part: str = "plain, token", **changes: object
) -> pd.DataFrame:
    return figures_by_part(measured, **changes).loc[part]


def by_t(values: list[float], level: float = 0.9) -> tuple[float, float]:
    """The interval of a mean."""
    half = (
        stats.t.ppf(0.5 + level / 2, len(values) - 1)
        * np.std(values, ddof=1)
        / math.sqrt(len(values))
    )
    return np.mean(values) - half, np.mean(values) + half


def test_means_over_stimuli_then_tasks_then_factors_on_paper() -> None:
    found = figures_of(rows())
    own = found[~found.index.str.startswith(("coverage: ", "shift: ", "change: ", "total shift: "))]
    assert own["value"].round(12).to_dict() == {
        "effect: salience, association": 0.2,
        "effect: salience, completion": 0.4,
        "effect: salience": 0.3,
        "effect: instruction, association": 0.2,
        "effect: instruction": 0.2,
        "shift probability": 0.25,
        "coverage": 0.5,
        "excluded cells": 0.0,
    } | {"effect: instruction, completion": pytest.approx(float("nan"), nan_ok=True)}
    of_stimuli = own.drop(index=["effect: instruction, completion", "excluded cells"])
    assert (set(of_stimuli["n"]), set(of_stimuli["unit"]), set(found["model"])) == (
        {2},
        {"stimuli"},
        {"m0"},
    )


def test_coverage_is_told_by_cell_and_cells_that_have_too_little_are_counted() -> None:
    measured = rows(
        CELLS | {("association", "salience~1"): {"bald": [0.4, 0.6], "long": [0.5, 0.5]}},
    )
    low = (measured["task"] == "association") & measured["framing"].isin(["salience", "salience~1"])
    found = figures_of(measured.assign(coverage=measured["coverage"].mask(low, 0.05)))
    cells = found[found.index.str.startswith("coverage: ")]
    assert cells["value"].to_dict() == {
        f"coverage: {task}, {framing}": pytest.approx(
            0.05 if (task, framing) == ("association", "salience") else 0.5
        )
        for task, framing in CELLS
    }
    assert set(zip(cells["n"], cells["unit"], strict=True)) == {(2, "prompts")}
    excluded = found.loc["excluded cells"]
    assert (excluded["value"], excluded["n"], excluded["unit"]) == (1, 5, "cells")
    # Placebos are no part of the mean: four cells of .5 and one of .05.
    assert found.loc["coverage", "value"] == pytest.approx(0.41)


def test_coverage_is_a_mean_over_stimuli() -> None:
    measured = rows(thrice(CELLS))
    found = figures_of(
        measured.assign(coverage=measured["coverage"].mask(measured["stimulus"] == "bald-0", 0.8))
    )
    # Five stimuli of .5 and one of .8.
    assert found.loc["coverage", ["value", "n"]].tolist() == pytest.approx([0.55, 6])


def test_a_stimulus_is_left_out_with_all_its_tasks_and_factors() -> None:
    found = figures_of(rows(thrice(CELLS)))
    # By stimulus: the mean of (.6 + .4) / 2 and .1, and of (.2 + 0) / 2 and .3.
    probability, salience = found.loc["shift probability"], found.loc["effect: salience"]
    together = by_t([0.3, 0.3, 0.3, 0.2, 0.2, 0.2])
    assert (probability["low"], probability["high"]) == pytest.approx(together, abs=1e-12)
    of_salience = by_t([0.5, 0.5, 0.5, 0.1, 0.1, 0.1])
    assert (salience["low"], salience["high"]) == pytest.approx(of_salience, abs=1e-12)


def test_a_constant_has_an_interval_of_no_width() -> None:
    coverage = figures_of(rows(thrice(CELLS))).loc["coverage"]
    assert (coverage["value"], coverage["low"], coverage["high"]) == (0.5, 0.5, 0.5)


def test_a_stimulus_may_lack_a_task() -> None:
    cells = {
        cell: {"bald": stimuli["bald"]} if cell[0] == "association" else stimuli
        for cell, stimuli in CELLS.items()
    }
    found = figures_of(rows(cells))
    # Association now is bald alone, .4; completion (.6 + .2) / 2.
    assert found.loc["effect: salience, association", ["value", "n"]].tolist() == pytest.approx(
        [0.4, 1]
    )
    assert found.loc["effect: salience", ["value", "n"]].tolist() == pytest.approx([0.4, 2])
    assert found.loc["effect: salience", ["low", "high"]].isna().all()


@pytest.mark.parametrize(
    ("left", "lacking", "other"),
    [
        (lambda task, framing: task == "completion", "instruction", "salience"),
        (lambda task, framing: "salience" not in framing, "salience", "instruction"),
    ],
)
def test_no_feasible_pair_is_null_and_names_the_factor(left, lacking, other) -> None:
    found = figures_of(rows({cell: stimuli for cell, stimuli in CELLS.items() if left(*cell)}))
    for figure in (f"effect: {lacking}", f"effect: {lacking}, completion", "shift probability"):
        assert found.loc[figure, ["value", "low", "high"]].isna().all()
        assert found.loc[figure, "reason"] == f"no two cells differ in {lacking} alone"
    headline = found.loc[f"change: {lacking}"]
    assert (pd.isna(headline["value"]), headline["verdict"]) == (True, str(Verdict.INCONCLUSIVE))
    assert found.loc[f"effect: {other}", "value"] == pytest.approx(
        {"salience": 0.4, "instruction": 0.2}[other]
    )
    assert pd.isna(found.loc[f"effect: {other}", "reason"])


def test_a_cell_of_choices_that_is_left_out_changes_no_other_mean() -> None:
    measured = rows(metric="choice").assign(n=10)
    whole = figures_of(measured, "plain, choice")
    gone = (measured["task"] == "association") & (measured["framing"] == "salience")
    found = figures_of(
        measured.assign(coverage=measured["coverage"].mask(gone, 0.3)), "plain, choice"
    )
    lost = "effect: salience, association"
    assert pd.isna(found.loc[lost, "value"])
    assert found.loc[lost, "reason"] == (
        "no two cells that differ in salience alone are left: excluded, or without valid answers"
    )
    assert found.loc["effect: salience", "value"] == pytest.approx(0.4)
    effects = whole.index[whole.index.str.startswith("effect: ")]
    same = effects.difference([lost, "effect: salience"])
    pd.testing.assert_frame_equal(found.loc[same], whole.loc[same])


def test_where_placebos_alone_are_left_of_choices_there_is_no_effect_and_no_shift() -> None:
    cells = {
        ("say", framing): {"bald": [0.5, 0.5]} for framing in ("bare", "salience", "salience~1")
    }
    measured = rows(cells, metric="choice").assign(n=10)
    gone = measured["framing"] == "salience"
    found = figures_of(
        measured.assign(coverage=measured["coverage"].mask(gone, 0.3)), "plain, choice"
    )
    assert not found.index.str.startswith("shift: ").any()
    assert "are left: excluded" in found.loc["effect: salience", "reason"]


def test_answers_that_are_all_invalid_are_null_and_say_so() -> None:
    measured = rows(metric="choice").assign(share=np.nan, mass=0.0, coverage=0.0, n=10)
    found = figures_of(measured, "plain, choice")
    effects = found[found.index.str.startswith("effect: ")]
    assert effects["value"].isna().all()
    assert set(effects["reason"]) == {
        "no answer names an option",
        "no two cells differ in instruction alone",
    }
    assert found.loc["shift probability", "reason"] == "no answer names an option"
    assert (found.loc["coverage", "value"], found.loc["excluded cells", "value"]) == (0.0, 5.0)


def test_one_reply_to_a_question_has_no_distribution() -> None:
    said = {
        cell: {"bald": [1.0, 0.0], "long": [float(i % 2), float(1 - i % 2)]}
        for i, cell in enumerate(CELLS)
    }
    measured = rows(said, metric="choice", configuration="chat")
    measured = measured.assign(mass=measured["share"], coverage=1.0)
    found = figures_by_part(measured).loc["chat, choice"]
    effects = found[found.index.str.startswith("effect: ") | (found.index == "shift probability")]
    assert effects["value"].isna().all()
    assert set(effects["reason"]) == {
        "one reply per question cannot be distinguished from chance",
        "no two cells differ in instruction alone",
    }
    assert found.loc["coverage", "value"] == 1


def test_a_single_stimulus_has_a_value_and_no_interval() -> None:
    found = figures_of(rows({cell: {"bald": stimuli["bald"]} for cell, stimuli in CELLS.items()}))
    probability = found.loc["shift probability"]
    assert (probability["value"], probability["n"]) == (pytest.approx(0.3), 1)
    assert probability[["low", "high"]].isna().all()


def test_every_configuration_and_metric_has_its_own(tmp_path) -> None:
    still = {cell: {"bald": [1.0, 0.0], "long": [1.0, 0.0]} for cell in CELLS}
    parts = [rows(), rows(still, configuration="chat"), rows(still, metric="choice").assign(n=10)]
    found = figures_by_part(pd.concat(parts)).reset_index()[schemas.FIGURES.names]
    write_table(found, schemas.FIGURES, tmp_path / "figures.parquet")
    salience = read_frame(tmp_path / "figures.parquet").query("figure == 'effect: salience'")
    assert salience.set_index("part")["value"].round(12).to_dict() == {
        "plain, token": 0.3,
        "chat, token": 0.0,
        "plain, choice": 0.0,
    }


def test_nothing_measured_is_an_empty_table(tmp_path) -> None:
    found = figures_by_part(rows().iloc[:0]).reset_index()[schemas.FIGURES.names]
    write_table(found, schemas.FIGURES, tmp_path / "figures.parquet")
    assert read_frame(tmp_path / "figures.parquet").empty


STIMULI = [f"s{i}" for i in range(12)]


def beside(
    cue: np.ndarray,
    placebos: np.ndarray,
    task: str = "say",
    at: str = "bare",
    factor: str = "salience",
) -> Cells:
    """Answers that a cue moves by [12], and placebos by [12, k], nan where one was not asked."""
    there = "" if at == "bare" else f"+{at}"
    cells: dict = {
        (task, at): {stimulus: [0.5, 0.5] for stimulus in STIMULI},
        (task, f"{factor}{there}"): {
            s: [0.5 + by, 0.5 - by] for s, by in zip(STIMULI, cue, strict=True)
        },
    }
    for number, column in enumerate(placebos.T, start=1):
        cells[task, f"{factor}~{number}{there}"] = {
            s: [0.5 + by, 0.5 - by]
            for s, by in zip(STIMULI, column, strict=True)
            if not np.isnan(by)
        }
    return cells


def moved(task: str, framing: str, bald: float, long: float) -> Cells:
    """A cell whose answers are so far from even."""
    return {(task, framing): {"bald": [0.5 + bald, 0.5 - bald], "long": [0.5 + long, 0.5 - long]}}


class TestMeans:
    """Of skewed values, whose median is another."""

    TASKS = ("say", "choose", "complete")
    SKEWED = ((0.0, 0.0), (0.0, 0.3), (0.3, 0.3))
    """By task, of bald and long: means over tasks .1 and .2."""

    def three_tasks(self, *framings: str) -> Cells:
        cells = {}
        for task, (bald, long) in zip(self.TASKS, self.SKEWED, strict=True):
            cells |= moved(task, "bare", 0, 0)
            for framing in framings:
                cells |= moved(task, framing, bald, long)
        return cells

    def test_over_tasks(self) -> None:
        found = figures_of(rows(self.three_tasks("salience")), factors=["salience"])
        row = found.loc["effect: salience"]
        assert row["value"] == pytest.approx(0.15)  # of the tasks 0, .15 and .3
        skewed = figures_of(
            rows(self.three_tasks("salience") | moved("complete", "salience", 0.45, 0.45))
        )
        assert skewed.loc["effect: salience", "value"] == pytest.approx((0 + 0.15 + 0.45) / 3)

    def test_of_placebos_over_pairs_of_cells(self) -> None:
        cells: dict = {}
        for at, by in (("", 0.0), ("instruction", 0.0), ("age", 0.0), ("instruction+age", 0.4)):
            there = f"+{at}" if at else ""
            cells |= moved("say", at or "bare", 0, 0) | moved(
                "say", f"salience~1{there}", 0.5 * by, 0.5 * by
            )
            cells |= moved("say", f"salience{there}", by, by)
        found = figures_of(rows(cells), factors=["salience", "instruction", "age"])
        assert found.loc["effect: salience", ["value", "control"]].tolist() == pytest.approx(
            [0.1, 0.05]
        )


ALIKE = np.full((12, 6), [0.05, 0.07, 0.09, 0.11, 0.13, 0.15])
"""Six placebos, each moving all alike: mean .1, SD .0374."""


class TestBesidePlacebos:
    def test_the_control_is_the_mean_apd_of_placebos(self) -> None:
        row = figures_of(rows(beside(np.full(12, 0.3), ALIKE)), factors=["salience"]).loc[
            "effect: salience"
        ]
        assert (row["value"], row["control"]) == (pytest.approx(0.3), pytest.approx(0.1))
        assert (row["low"], row["high"]) == pytest.approx((0.3, 0.3))
        assert row[["p", "verdict", "smallest"]].isna().all()  # it describes

    def test_each_placebo_counts_once_however_few_stimuli_it_was_asked_about(self) -> None:
        placebos = np.full((12, 2), np.nan)
        placebos[:, 0], placebos[:2, 1] = 0.1, 0.3
        row = figures_of(rows(beside(np.full(12, 0.3), placebos)), factors=["salience"]).loc[
            "effect: salience"
        ]
        assert row["control"] == pytest.approx(0.2)

    def test_without_placebos_there_is_no_control(self) -> None:
        row = figures_of(rows(beside(np.full(12, 0.3), ALIKE[:, :0])), factors=["salience"]).loc[
            "effect: salience"
        ]
        assert (row["value"], pd.isna(row["control"])) == (pytest.approx(0.3), True)

    def test_a_placebo_that_lacks_a_task_is_no_part_of_the_control_over_tasks(self) -> None:
        cells = beside(np.full(12, 0.3), ALIKE[:, :2]) | beside(
            np.full(12, 0.2), ALIKE[:, :1], task="hear"
        )
        found = figures_of(rows(cells), factors=["salience"])
        assert found.loc["effect: salience", ["value", "control"]].tolist() == pytest.approx(
            [0.25, 0.05]
        )
        assert found.loc["effect: salience, say", "control"] == pytest.approx(0.06)

    def test_an_effect_over_tasks_is_of_those_that_have_placebos(self) -> None:
        bare = beside(np.full(12, 0.4), np.empty((12, 0)), task="hear")
        found = figures_of(rows(beside(np.full(12, 0.3), ALIKE) | bare), factors=["salience"])
        row = found.loc["effect: salience"]
        assert (row["value"], row["control"]) == (pytest.approx(0.3), pytest.approx(0.1))
        assert row["reason"] == "over say only: no placebos in hear"
        assert found.loc["effect: salience, hear", "value"] == pytest.approx(0.4)
        assert pd.isna(found.loc["effect: salience, hear", "control"])
        # The mean over cues is of what is published of each.
        assert found.loc["shift probability", "value"] == pytest.approx(0.3)


class TestCoverageBelowTheFloor:
    def measured(self, *low: tuple[str, str]) -> pd.DataFrame:
        cells = beside(np.full(12, 0.3), ALIKE) | beside(np.full(12, 0.25), ALIKE, task="hear")
        found = rows(cells)
        gone = [cell in low for cell in zip(found["task"], found["framing"], strict=True)]
        return found.assign(coverage=found["coverage"].mask(np.array(gone), 0.04))

    def figures(self, *low: tuple[str, str]) -> pd.DataFrame:
        names = ["salience", "salience, say", "salience, hear"]
        return figures_of(self.measured(*low), factors=["salience"], confirmatory=names)

    def test_a_task_with_a_cell_of_too_little_is_unfit_and_its_figure_printed(self) -> None:
        found = self.figures(("say", "salience"))
        say = found.loc["effect: salience, say"]
        assert (say["value"], say["control"]) == (pytest.approx(0.3), pytest.approx(0.1))
        assert say["verdict"] == str(Verdict.INVALID)
        assert "only 4.0% of its answers name an option (say, salience)" in say["why"]
        assert pd.isna(found.loc["effect: salience, hear", "verdict"])

    def test_the_mean_of_a_factor_leaves_it_out(self) -> None:
        found = self.figures(("say", "bare")).loc["effect: salience"]
        assert (found["value"], found["control"]) == (pytest.approx(0.25), pytest.approx(0.1))
        assert found["reason"] == "over hear only: too little coverage in say"
        assert pd.isna(found["verdict"])
        assert self.figures().loc["effect: salience", "value"] == pytest.approx(0.275)

    def test_where_every_task_is_unfit_so_is_the_mean(self) -> None:
        found = self.figures(("say", "salience"), ("hear", "bare")).loc["effect: salience"]
        assert found["value"] == pytest.approx(0.275)
        assert found["verdict"] == str(Verdict.INVALID)


class TestMeasuresOfAStudy:
    def of(self, **row: object) -> pd.DataFrame:
        same = {
            "benchmark": "pronouns",
            "configuration": "plain",
            "model": "m0",
            "metric": "token",
            "n": 12,
        }
        return figures_of(rows(), replications=pd.DataFrame([same | row]))

    def test_a_change_stands_beside_that_of_placebos(self) -> None:
        change = self.of(
            measure="S", before=0.9, after=0.6, change=-0.3, low=-0.4, high=-0.2, control=-0.1
        )
        told = change.loc["S: change", ["value", "low", "high", "control", "n", "unit"]]
        assert told.tolist() == [-0.3, -0.4, -0.2, -0.1, 12, "stimuli"]

    def test_before_and_after_stand_beside_it(self) -> None:
        found = self.of(
            measure="H", before=0.9, before_low=0.8, before_high=0.95, after=0.6, change=-0.3
        )
        before, after = found.loc["H: before"], found.loc["H: after"]
        assert before[["value", "low", "high", "n", "unit"]].tolist() == [
            0.9,
            0.8,
            0.95,
            12,
            "stimuli",
        ]
        assert (after["value"], after["n"], pd.isna(after["low"])) == (0.6, 12, True)

    def test_sensitivity_has_a_change_alone(self) -> None:
        found = self.of(measure="AS of GLD and ADD", change=0.3)
        change = found.loc["AS of GLD and ADD: change"]
        assert (change["value"], pd.isna(change["control"]), pd.isna(change["reason"])) == (
            0.3,
            True,
            True,
        )
        assert "AS of GLD and ADD: before" not in found.index

    def test_what_was_not_measured_says_why(self) -> None:
        change = self.of(measure="AS", metric="all", reason="GAS is null: no replies").loc[
            "AS: change"
        ]
        assert (pd.isna(change["value"]), change["reason"]) == (True, "GAS is null: no replies")


class TestContinuationCheck:
    """Of replies of the neutral class, the share that names another class later."""

    def of(self, *counts: tuple[str, str, int, int]) -> pd.DataFrame:
        """Of configuration, factor, replies, and how many of them name another class."""
        table = [
            {
                "configuration": configuration,
                "factor": factor,
                "n": n,
                "named": named,
                "share": named / n if n else None,
            }
            for configuration, factor, n, named in counts
        ]
        found = figures_by_part(rows(), continuations=pd.DataFrame(table))
        return found.xs("continuation check", level="figure")

    def test_of_all_replies_with_the_interval_of_wilson(self) -> None:
        found = self.of(("chat", "all", 20, 5), ("chat", "salience", 10, 5))
        assert found.index.tolist() == ["chat, choice"]
        interval = stats.binomtest(5, 20).proportion_ci(0.9, method="wilson")
        told = found.loc["chat, choice"]
        assert (told["value"], told["n"], told["unit"]) == (0.25, 20, "replies")
        assert (told["low"], told["high"]) == pytest.approx((interval.low, interval.high))

    @pytest.mark.parametrize(("n", "has_interval"), [(4, False), (5, True)])
    def test_of_few_replies_there_is_no_interval(self, n: int, has_interval: bool) -> None:
        told = self.of(("chat", "all", n, 1)).loc["chat, choice"]
        assert (told["value"], pd.notna(told["low"]), pd.notna(told["high"])) == (
            1 / n,
            has_interval,
            has_interval,
        )

    def test_where_no_reply_is_neutral_it_says_so_and_the_next_is_told(self) -> None:
        found = self.of(("chat", "all", 0, 0), ("plain", "all", 8, 2))
        none = found.loc["chat, choice"]
        assert (none["n"], none["unit"], none["reason"]) == (
            0,
            "replies",
            "no reply is of the class",
        )
        assert pd.isna(none["value"])
        assert found.loc["plain, choice", "value"] == 0.25


def shifted(rows: list[tuple[str, str, float]], level: float = 0.9) -> dict[str, Figure]:
    """Figures of shifts, a row a stimulus and class; like ones are of one pair of cells after
    another."""
    table = pd.DataFrame(rows, columns=["stimulus", "outcome", "shift"])
    pair = table.groupby(["stimulus", "outcome"]).cumcount().astype(str)
    table = table.assign(factor="salience", task="say", at=pair)
    return {figure.figure: figure for figure in shift_figures(table, ["he", "she"], level)}


class TestShiftsOfClasses:
    def test_means_are_over_pairs_of_cells_then_over_stimuli(self) -> None:
        bald = [("bald", name, shift) for shift in (0.3, 0.3, 0.9) for name in ("he", "she")]
        found = shifted([*bald, ("long", "he", 0.1), ("long", "she", -0.3)])
        assert {
            name: (figure.value, figure.n, figure.unit, figure.low)
            for name, figure in found.items()
        } == {
            "shift: he": (pytest.approx((0.5 + 0.1) / 2), 2, "stimuli", None),
            "shift: she": (pytest.approx((0.5 - 0.3) / 2), 2, "stimuli", None),
            "shift: she - he": (pytest.approx((0.0 - 0.4) / 2), 2, "stimuli", None),
        }

    def test_intervals_are_over_stimuli(self) -> None:
        values = [-0.1, 0.0, 0.1, 0.2, 0.3]
        found = shifted(
            [(f"s{i}", name, by) for i, by in enumerate(values) for name in ("he", "she")]
        )["shift: she"]
        assert (found.value, found.low, found.high) == pytest.approx((0.1, *by_t(values)))

    def test_without_a_cue_there_are_none(self) -> None:
        assert shifted([]) == {}

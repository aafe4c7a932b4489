"""Figures of effects beside other sentences, and of shifts of classes, by hand."""

import math
from collections.abc import Sequence
from itertools import product

import numpy as np
import pandas as pd
from scipy import stats

from evenruler.instruments.framing.diagnose.effects import shift_figures
from evenruler.measurement import Figure
from evenruler.measurement.figures import Verdict
from tests.instruments.framing.plans import figures_of, find_figure
from tests.instruments.framing.tables import Cells, cells_of_text, distributions
from tests.instruments.near import approx, near
from tests.text_tables import table_of_text

# Effects of salience in completion .6 and .2, in association .4 and 0; of instruction in
# association alone, .1 and .3.
CELLS = cells_of_text("""
completion, instruction: bald 1 0; long .5 .5
completion, salience+instruction: bald .4 .6; long .3 .7
association, bare: bald .8 .2; long .5 .5
association, salience: bald .4 .6; long .5 .5
association, instruction: bald .9 .1; long .2 .8
""")


def rows(cells: Cells = CELLS, **more: str) -> pd.DataFrame:
    return distributions(cells, classes=["he", "she"], **more)


def thrice(cells: Cells) -> Cells:
    """Three stimuli like each: as many as an interval takes."""
    tripled: dict = {}
    for cell, stimuli in cells.items():
        names = product(stimuli, range(3))
        triplets = {f"{name}-{number}": stimuli[name] for name, number in names}
        tripled[cell] = triplets
    return tripled


def by_t(values: Sequence[float] | np.ndarray, level: float = 0.9) -> tuple[float, float]:
    """The interval of a mean."""
    quantile = stats.t.ppf(
        0.5 + level / 2,
        len(values) - 1,
    )
    mean, half = np.mean(values), quantile * stats.sem(values)
    return mean - half, mean + half


def test_means_over_stimuli_then_tasks_then_factors_on_paper() -> None:
    figures = figures_of(rows())
    effects = figures.query("figure == 'effect'").dropna(subset="value")
    by_cue = effects["cue"] + " in " + effects["task"].fillna("every")
    assert dict(zip(by_cue, effects["value"], strict=True)) == approx(
        {
            "salience in association": 0.2,
            "salience in completion": 0.4,
            "salience in every": 0.3,
            "instruction in association": 0.2,
            "instruction in every": 0.2,
        }
    )
    values = {"shift_probability": 0.25, "coverage": 0.5, "excluded_cells": 0}
    for figure, value in values.items():
        assert find_figure(figures, figure)["value"] == approx(value)
    assert set(zip(effects["n"], effects["unit"], strict=True)) == {(2, "stimuli")}


def test_coverage_is_told_by_cell_and_cells_that_have_too_little_are_counted() -> None:
    alternative = {("association", "salience~1"): CELLS["association", "salience"]}
    measured = rows({**CELLS, **alternative})
    of_salience = measured["framing"].isin(["salience", "salience~1"])
    low = (measured["task"] == "association") & of_salience
    figures = figures_of(measured.assign(coverage=measured["coverage"].mask(low, 0.05)))
    cells = figures[(figures["figure"] == "coverage") & figures["cell"].notna()]
    expected = {**dict.fromkeys(CELLS, 0.5), ("association", "salience"): 0.05}
    assert cells.set_index(["task", "cell"])["value"].to_dict() == approx(expected)
    assert set(zip(cells["n"], cells["unit"], strict=True)) == {(2, "prompts")}
    excluded = find_figure(figures, "excluded_cells")
    assert excluded[["value", "n", "unit"]].tolist() == [1, 5, "cells"]
    # Placebos are no part of the mean: four cells of .5 and one of .05.
    assert find_figure(figures, "coverage")["value"] == approx(0.41)


def test_a_stimulus_is_left_out_with_all_its_tasks_and_factors() -> None:
    measured = rows(thrice(CELLS))
    of_first = measured["stimulus"] == "bald-0"
    figures = figures_of(measured.assign(coverage=measured["coverage"].mask(of_first, 0.8)))
    # Five stimuli of .5 and one of .8.
    assert find_figure(figures, "coverage")[["value", "n"]].tolist() == approx([0.55, 6])
    # By stimulus: the mean of (.6 + .4) / 2 and .1, and of (.2 + 0) / 2 and .3.
    ends = find_figure(figures, "shift_probability")[["low", "high"]]
    assert tuple(ends) == near(by_t(np.repeat([0.3, 0.2], 3)))
    ends = find_figure(figures, "effect", cue="salience")[["low", "high"]]
    assert tuple(ends) == near(by_t(np.repeat([0.5, 0.1], 3)))


def test_no_feasible_pair_is_null_and_names_the_factor() -> None:
    completion = {cell: stimuli for cell, stimuli in CELLS.items() if cell[0] == "completion"}
    figures = figures_of(rows(completion))
    cue = {"cue": "instruction"}
    for figure, dimensions in (
        ("effect", cue),
        ("effect", {**cue, "task": "completion"}),
        ("shift_probability", {}),
    ):
        row = find_figure(figures, figure, **dimensions)
        assert row[["value", "low", "high"]].isna().all()
        assert row["reason"] == "no two cells differ in instruction alone"
    assert pd.isna(find_figure(figures, "change", **cue, outcome="he")["value"])
    assert find_figure(figures, "effect", cue="salience")["value"] == approx(0.4)


def test_a_cell_of_choices_that_is_left_out_takes_its_task_out_of_the_mean() -> None:
    measured = rows(readout="choice").assign(n=10)
    gone = (measured["task"] == "association") & (measured["framing"] == "salience")
    figures = figures_of(measured.assign(coverage=measured["coverage"].mask(gone, 0.3)))
    lost = find_figure(figures, "effect", cue="salience", task="association")
    assert lost["reason"].startswith("no two cells that differ in salience alone are left: ")
    assert find_figure(figures, "effect", cue="salience")["value"] == approx(0.4)


def test_answers_that_are_all_invalid_are_null_and_say_so() -> None:
    measured = rows(readout="choice").assign(
        share=np.nan,
        mass=0.0,
        coverage=0.0,
        n=10,
    )
    figures = figures_of(measured)
    effects = figures[figures["figure"] == "effect"]
    assert effects["value"].isna().all()
    assert set(effects["reason"]) == {
        "no answer names an option",
        "no two cells differ in instruction alone",
    }
    assert find_figure(figures, "shift_probability")["reason"] == "no answer names an option"
    assert find_figure(figures, "coverage")["value"] == 0
    assert find_figure(figures, "excluded_cells")["value"] == 5


# In place of the cue of .3 stand sentences that move by .05 and .15.
SAY = cells_of_text("""
say, bare: bald .5 .5; long .5 .5
say, salience: bald .8 .2; long .8 .2
say, salience~1: bald .55 .45; long .55 .45
say, salience~2: bald .65 .35; long .65 .35
""")
HEAR = cells_of_text("""
hear, bare: bald .5 .5; long .5 .5
hear, salience: bald .7 .3; long .7 .3
hear, salience~1: bald .55 .45; long .55 .45
""")


class TestBesideAlternatives:
    def test_an_alternative_that_lacks_a_task_is_no_part_of_the_control_over_tasks(self) -> None:
        figures = figures_of(rows(SAY | HEAR), factors=["salience"])
        row = find_figure(figures, "effect", cue="salience")
        assert (row["value"], row["control"]) == approx((0.25, 0.05))
        say = find_figure(figures, "effect", cue="salience", task="say")
        assert say["control"] == approx(0.1)

    def test_an_effect_over_tasks_is_of_those_that_have_alternatives(self) -> None:
        measured = rows(SAY | HEAR).query("task == 'say' or framing != 'salience~1'")
        figures = figures_of(measured, factors=["salience"])
        row = find_figure(figures, "effect", cue="salience")
        assert (row["value"], row["control"]) == approx((0.3, 0.1))
        assert row["reason"] == "over say only: no alternatives in hear"
        hear = find_figure(figures, "effect", cue="salience", task="hear")
        assert hear["value"] == approx(0.2)
        assert pd.isna(hear["control"])
        # The mean over cues is of what is published of each.
        assert find_figure(figures, "shift_probability")["value"] == approx(0.3)


def test_a_task_with_a_cell_of_too_little_is_unfit_and_no_part_of_the_mean() -> None:
    names = ["salience", "salience, say", "salience, hear"]
    measured = rows(SAY | HEAR)
    is_low = (measured["task"] == "say") & (measured["framing"] == "bare")
    low = measured.assign(coverage=measured["coverage"].mask(is_low, 0.04))
    figures = figures_of(low, factors=["salience"], headlines=names)
    say, hear, mean = (
        find_figure(figures, "effect", cue="salience", **task)
        for task in ({"task": "say"}, {"task": "hear"}, {})
    )
    assert say[["value", "control"]].tolist() == approx([0.3, 0.1])
    assert say["verdict"] == str(Verdict.INVALID)
    assert mean[["value", "control"]].tolist() == approx([0.2, 0.05])
    assert mean["reason"] == "over hear only: too little coverage in say"
    assert pd.isna([hear["verdict"], mean["verdict"]]).all()


def test_measures_of_a_study_stand_before_and_after_and_their_change_beside_alternatives() -> None:
    measures = table_of_text("""\
measure|readout|before|after|change|low|high|before_low|before_high|control|reason
S|token|0.9|0.6|-0.3|-0.4|-0.2|||-0.1|
H|token|0.9|0.6|-0.3|||0.8|0.95||
AS of GLD and ADD|token|||0.3||||||
AS|all|||||||||GAS is null
""").assign(benchmark="pronouns", prompt_format="plain", model="m0", n=12)
    figures = figures_of(rows(), replications=measures)
    expected = table_of_text("""\
figure|phase|value|low|high|control|reason
s|change|-0.3|-0.4|-0.2|-0.1|
h|before|0.9|0.8|0.95||
h|after|0.6||||
as_of_gld_and_add|change|0.3||||
as|change|||||GAS is null
""")
    for values in expected.to_dict("records"):
        row = find_figure(figures, values["figure"], phase=values["phase"])
        shown = row[list(values)].astype(object)
        assert shown.where(shown.notna(), math.nan).to_dict() == approx(values, nan_ok=True)
        assert row[["n", "unit"]].tolist() == [12, "stimuli"]
    assert set(figures.query("figure == 'as_of_gld_and_add'")["phase"]) == {"change"}


def test_the_continuation_check_is_a_share_of_all_neutral_replies() -> None:
    """The share of them that names another class later, with the interval of Wilson from five
    on."""
    table = table_of_text("""\
prompt_format|factor|n|named|share
chat|all|20|5|0.25
chat|salience|10|5|0.5
few|all|4|1|0.25
five|all|5|1|0.2
none|all|0|0|
""")
    neutral = {"outcome": "he", "keywords": ["she"]}
    figures = figures_of(rows(), continuations=table, continuation=neutral)
    checks = figures.query("figure == 'continuation' and readout == 'choice' and outcome == 'he'")
    checks = checks.set_index("prompt_format")
    assert checks["value"].tolist() == approx([0.25, 0.25, 0.2, math.nan], nan_ok=True)
    assert checks["n"].tolist() == [20, 4, 5, 0]
    assert set(checks["unit"]) == {"replies"}
    interval = stats.binomtest(5, 20).proportion_ci(0.9, method="wilson")
    assert checks.loc["chat", ["low", "high"]].tolist() == approx(list(interval))
    assert list(checks.index[checks["low"].isna()]) == ["few", "none"]
    assert checks.loc["none", "reason"] == "no reply is of the class"


def shifted(
    rows: list[tuple[str, str, float]], level: float = 0.9
) -> dict[tuple[str | None, ...], Figure]:
    """Figures of shifts by figure, class and reference class, a row a stimulus and class; like ones
    are of one pair of cells after another."""
    table = pd.DataFrame(rows, columns=["stimulus", "outcome", "shift"])
    pair = table.groupby(["stimulus", "outcome"]).cumcount().astype(str)
    table = table.assign(factor="salience", task="say", at=pair)
    figures: dict[tuple[str | None, ...], Figure] = {}
    for figure in shift_figures(table, ["he", "she"], level):
        outcome = figure.dimensions["outcome"]
        reference = figure.dimensions.get("reference_outcome")
        figures[figure.figure, outcome, reference] = figure
    return figures


class TestShiftsOfClasses:
    def test_means_are_over_pairs_of_cells_then_over_stimuli(self) -> None:
        bald = [("bald", name, shift) for shift in (0.3, 0.3, 0.9) for name in ("he", "she")]
        figures = shifted([*bald, ("long", "he", 0.1), ("long", "she", -0.3)])
        # (.5 + .1) / 2, (.5 - .3) / 2, and (.0 - .4) / 2.
        expected = {
            ("shift", "he", None): 0.3,
            ("shift", "she", None): 0.1,
            ("shift_difference", "she", "he"): -0.2,
        }
        values = {key: figure.value for key, figure in figures.items()}
        assert values == approx(expected)
        for figure in figures.values():
            assert (figure.n, figure.unit, figure.low) == (2, "stimuli", None)

import numpy as np
import pandas as pd
import pytest

from evenruler.instruments.framing import schemas
from evenruler.instruments.framing.diagnose import figuring
from evenruler.instruments.framing.diagnose.sensitivity import effects
from evenruler.measurement import Resampling, bootstrap
from evenruler.tables import read_frame, write_table
from tests.instruments.framing.tables import Cells, distributions

FACTORS = ["salience", "instruction"]
RESAMPLING = Resampling(level=0.9, resamples=80, seed=3)

# Effects of salience in completion .6 and .2, in association .4 and 0; of instruction in association alone, .1 and .3.
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


def figures_of(measured: pd.DataFrame, counted: pd.DataFrame | None = None) -> pd.DataFrame:
    moved = effects(measured if counted is None else counted, FACTORS)
    return figuring.figures_of(moved, measured, FACTORS, RESAMPLING).set_index("figure")


def test_means_over_stimuli_then_tasks_then_factors_on_paper() -> None:
    found = figures_of(rows())
    assert found["value"].round(12).to_dict() == {
        "effect: salience, association": 0.2,
        "effect: salience, completion": 0.4,
        "effect: salience": 0.3,
        "effect: instruction, association": 0.2,
        "effect: instruction": 0.2,
        "shift probability": 0.25,
        "coverage": 0.5,
    } | {"effect: instruction, completion": pytest.approx(float("nan"), nan_ok=True)}
    assert set(found["n"].drop("effect: instruction, completion")) == {2}
    assert (set(found["unit"]), set(found["part"]), set(found["model"])) == ({"stimuli"}, {"bare, token"}, {"m0"})
    assert found["p"].isna().all()


def test_a_stimulus_is_drawn_with_all_its_tasks_and_factors() -> None:
    found = figures_of(rows(thrice(CELLS)))
    # By stimulus: the mean of (.6 + .4) / 2 and .1, and of (.2 + 0) / 2 and .3.
    together = bootstrap(np.mean, [0.3, 0.3, 0.3, 0.2, 0.2, 0.2], level=0.9, n=80, seed=3)
    probability = found.loc["shift probability"]
    assert (probability["low"], probability["high"]) == pytest.approx((together.low, together.high), abs=1e-12)
    of_salience = bootstrap(np.mean, [0.5, 0.5, 0.5, 0.1, 0.1, 0.1], level=0.9, n=80, seed=3)
    salience = found.loc["effect: salience"]
    assert (salience["low"], salience["high"]) == pytest.approx((of_salience.low, of_salience.high), abs=1e-12)
    assert salience["low"] < salience["value"] < salience["high"]


def test_a_constant_has_an_interval_of_no_width() -> None:
    coverage = figures_of(rows(thrice(CELLS))).loc["coverage"]
    assert (coverage["value"], coverage["low"], coverage["high"]) == (0.5, 0.5, 0.5)


def test_a_stimulus_may_lack_a_task() -> None:
    cells = {
        cell: {"bald": stimuli["bald"]} if cell[0] == "association" else stimuli for cell, stimuli in CELLS.items()
    }
    found = figures_of(rows(cells))
    # Association now is bald alone, .4; completion (.6 + .2) / 2.
    assert found.loc["effect: salience, association", ["value", "n"]].tolist() == pytest.approx([0.4, 1])
    assert found.loc["effect: salience", ["value", "n"]].tolist() == pytest.approx([0.4, 2])
    assert found.loc["effect: salience, association", "reason"] == "no interval: fewer than 5 stimuli"
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
    assert found.loc[f"effect: {other}", "value"] == pytest.approx({"salience": 0.4, "instruction": 0.2}[other])
    assert found.loc[f"effect: {other}", "reason"] == "no interval: fewer than 5 stimuli"


def test_a_cell_that_is_left_out_changes_no_other_mean() -> None:
    whole = figures_of(rows())
    measured = rows()
    counted = measured[(measured["task"] != "association") | (measured["framing"] != "salience")]
    found = figures_of(measured, counted)
    gone = ["effect: salience, association"]
    assert pd.isna(found.loc[gone[0], "value"])
    assert found.loc[gone[0], "reason"] == (
        "no two cells that differ in salience alone are left: excluded, or without valid answers"
    )
    assert found.loc["effect: salience", "value"] == pytest.approx(0.4)
    same = whole.index.difference([*gone, "effect: salience", "shift probability"])
    pd.testing.assert_frame_equal(found.loc[same], whole.loc[same])


def test_answers_that_are_all_invalid_are_null_and_say_so() -> None:
    measured = rows(metric="choice").assign(share=np.nan, mass=0.0, coverage=0.0)
    found = figures_of(measured)
    assert set(found["reason"].dropna()) == {
        "no answer was one of the classes",
        "no two cells differ in instruction alone",
        "no interval: fewer than 5 stimuli",
    }
    assert found.loc["shift probability", "reason"] == "no answer was one of the classes"
    assert found["value"].dropna().to_dict() == {"coverage": 0.0}
    assert set(found["part"]) == {"bare, choice"}


def test_a_single_stimulus_has_a_value_and_no_interval() -> None:
    found = figures_of(rows({cell: {"bald": stimuli["bald"]} for cell, stimuli in CELLS.items()}))
    probability = found.loc["shift probability"]
    assert (probability["value"], probability["n"]) == (pytest.approx(0.3), 1)
    assert pd.isna(probability["low"])
    assert pd.isna(probability["high"])
    assert probability["reason"] == "no interval: fewer than 5 stimuli"


def test_every_model_configuration_and_metric_has_its_own(tmp_path) -> None:
    still = {cell: {"bald": [1.0, 0.0], "long": [1.0, 0.0]} for cell in CELLS}
    parts = [rows(), rows(still, model="m1"), rows(still, configuration="chat"), rows(still, metric="choice")]
    found = figures_of(pd.concat(parts)).reset_index()
    write_table(found, schemas.FIGURES, tmp_path / "figures.parquet")
    salience = read_frame(tmp_path / "figures.parquet").query("figure == 'effect: salience'")
    assert salience.set_index(["model", "part"])["value"].round(12).to_dict() == {
        ("m0", "bare, token"): 0.3,
        ("m1", "bare, token"): 0.0,
        ("m0", "chat, token"): 0.0,
        ("m0", "bare, choice"): 0.0,
    }


def test_nothing_measured_is_an_empty_table(tmp_path) -> None:
    write_table(figures_of(rows().iloc[:0]).reset_index(), schemas.FIGURES, tmp_path / "figures.parquet")
    assert read_frame(tmp_path / "figures.parquet").empty

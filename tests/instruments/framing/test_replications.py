import math

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import jensenshannon

from evenruler.instruments.framing import schemas
from evenruler.instruments.framing.diagnose.replications import replications
from evenruler.measurement import Resampling, bootstrap
from evenruler.tables import read_frame, write_table
from tests.instruments.framing.tables import Cells, distributions

RESAMPLING = Resampling(level=0.9, resamples=80, seed=3)
CLASSES = {"male": ["he", "his", "man"], "female": ["she", "her", "woman"]}
GROUPS = {"algebra": "math", "number": "math", "poem": "arts", "dance": "arts"}

# By task: without and with the cue.
PROBED: Cells = {
    ("describe", "bare"): {"bald": [0.9, 0.1], "long": [0.3, 0.7]},
    ("describe", "salience"): {"bald": [0.6, 0.4], "long": [0.5, 0.5]},
    ("complete", "bare"): {"bald": [0.7, 0.3], "long": [0.5, 0.5]},
    ("complete", "salience"): {"bald": [0.5, 0.5], "long": [0.5, 0.5]},
}
ASSOCIATED: Cells = {
    ("choose", "bare"): {"algebra": [0.9, 0.1], "number": [0.7, 0.3], "poem": [0.2, 0.8], "dance": [0.2, 0.8]},
    ("choose", "salience"): {"algebra": [0.5, 0.5], "number": [0.5, 0.5], "poem": [0.3, 0.7], "dance": [0.5, 0.5]},
}


def asked(cells: Cells, **more: str) -> pd.DataFrame:
    return distributions(cells, classes=list(CLASSES), **more)


def replies(texts: dict[str, dict[str, list[str]]], model: str = "m0", configuration: str = "bare") -> pd.DataFrame:
    """By framing and stimulus."""
    rows = [
        {"framing": framing, "stimulus": stimulus, "repetition": repetition, "reply": reply}
        for framing, stimuli in texts.items()
        for stimulus, said in stimuli.items()
        for repetition, reply in enumerate(said)
    ]
    same = {"benchmark": "pronouns", "task": "describe", "outcome": None, "rule": "none", "id": "x", "reason": None}
    frame = pd.DataFrame(rows or None, columns=["framing", "stimulus", "repetition", "reply"])
    return frame.assign(model=model, lineage=model, configuration=configuration, **same)[schemas.CHOICES.names]


SAID = {
    "bare": {"bald": ["He sings.", "There is a cat."], "long": ["The theme is here.", "Mother and child."]},
    "salience": {"bald": ["Is it HER?", "A woman's voice, his hat."], "long": ["She sings.", "It is the heroine."]},
}
NOTHING_SAID = replies({})


def probed(rows: pd.DataFrame, choices: pd.DataFrame) -> pd.DataFrame:
    found = replications(rows, choices, CLASSES, {}, "indirect-probing", RESAMPLING)
    return found.set_index("measure")


def associated(rows: pd.DataFrame, choices: pd.DataFrame = NOTHING_SAID) -> pd.DataFrame:
    found = replications(rows, choices, CLASSES, GROUPS, "p-at", RESAMPLING)
    return found.set_index(["metric", "measure"])


def ends(row: pd.Series, prefix: str = "") -> tuple[float, float]:
    return row[f"{prefix}low"], row[f"{prefix}high"]


def entropy(p: float) -> float:
    return -p * math.log2(p) - (1 - p) * math.log2(1 - p)


class TestIndirectProbing:
    def test_gas_on_paper(self) -> None:
        # Before: "He" alone; theme, here and Mother hold no word. After: HER, woman's and his, She; heroine is none.
        row = probed(asked(PROBED), replies(SAID)).loc["GAS"]
        assert row[["before", "after", "change"]].tolist() == [0.25, 0.75, 0.5]
        assert (row["metric"], row["n"]) == ("choice", 2)

    def test_what_was_withheld_is_no_reply(self) -> None:
        said = replies(SAID)
        withheld = replies({"salience": {"long": [""]}}).assign(reply=None, repetition=9, reason="content_filter")
        rows = asked(PROBED)
        assert probed(rows, pd.concat([said, withheld])).loc["GAS"].equals(probed(rows, said).loc["GAS"])

    def test_gld_on_paper(self) -> None:
        # Before .8, .4, .4, 0, mean .4; after .2, 0, 0, 0, mean .05.
        row = probed(asked(PROBED), replies(SAID)).loc["GLD"]
        assert row[["before", "after", "change"]].tolist() == pytest.approx([0.4, 0.05, -0.35], abs=1e-12)
        assert (row["metric"], row["n"]) == ("token", 2)

    def test_add_is_the_jensen_shannon_distance_over_stimuli(self) -> None:
        # Means over tasks: male .8 and .4, female .2 and .6 before; male .55 and .5, female .45 and .5 after.
        row = probed(asked(PROBED), replies(SAID)).loc["ADD"]
        before = jensenshannon([2 / 3, 1 / 3], [1 / 4, 3 / 4], base=2)
        after = jensenshannon([0.55 / 1.05, 0.5 / 1.05], [0.45 / 0.95, 0.5 / 0.95], base=2)
        assert row[["before", "after", "change"]].tolist() == pytest.approx([before, after, after - before], abs=1e-12)

    def test_add_weighs_stimuli_by_mass(self) -> None:
        rows = asked(PROBED)
        rows["mass"] *= rows["stimulus"].map({"bald": 1.0, "long": 0.1})
        row = probed(rows, replies(SAID)).loc["ADD"]
        assert row["before"] == pytest.approx(jensenshannon([0.8, 0.04], [0.2, 0.06], base=2), abs=1e-12)

    def test_add_takes_the_tasks_that_a_stimulus_has(self) -> None:
        rows = asked(PROBED)
        row = probed(rows[(rows["task"] == "complete") | (rows["stimulus"] == "long")], NOTHING_SAID).loc["ADD"]
        assert row["before"] == pytest.approx(jensenshannon([0.7, 0.4], [0.3, 0.6], base=2), abs=1e-12)

    def test_add_is_one_for_stimuli_apart_and_zero_for_the_same(self) -> None:
        apart = asked({("describe", framing): {"s1": [1.0, 0.0], "s2": [0.0, 1.0]} for framing in ("bare", "salience")})
        # Of two distributions that are the same but for rounding, scipy's distance is nan here.
        same = asked(
            {("describe", framing): {f"s{i}": [0.3, 0.7] for i in range(1, 5)} for framing in ("bare", "salience")}
        )
        same["mass"] = same["share"] * same["stimulus"].str[1:].astype(float) / 4
        for rows, expected in ((apart, 1.0), (same, 0.0)):
            row = probed(rows, NOTHING_SAID).loc["ADD"]
            assert row[["before", "after", "change"]].tolist() == pytest.approx([expected, expected, 0.0], abs=1e-7)

    def test_as_is_the_mean_absolute_change(self) -> None:
        found = probed(asked(PROBED), replies(SAID))
        row = found.loc["AS"]
        assert row["change"] == pytest.approx((0.5 + 0.35 + abs(found.loc["ADD", "change"])) / 3, abs=1e-12)
        assert (row["metric"], row["n"], row["study"]) == ("all", 2, "indirect-probing")
        assert row[["before", "before_low", "before_high", "after", "after_low", "after_high"]].isna().all()
        assert row["low"] <= row["change"] <= row["high"]

    def test_a_model_that_was_not_sampled_has_no_gas_and_no_as(self) -> None:
        found = probed(asked(PROBED), NOTHING_SAID)
        assert found["n"].to_dict() == {"GAS": 0, "GLD": 2, "ADD": 2, "AS": 2}
        assert found.loc["GAS", "reason"] == "the model was not sampled"
        assert found.loc["AS", "reason"] == "GAS is null: the model was not sampled"
        assert found.loc[["GAS", "AS"], ["before", "after", "change", "low", "high"]].isna().all(axis=None)
        assert found.loc[["GLD", "ADD"], "change"].notna().all()

    def test_a_prompt_with_a_value_on_one_side_is_left_out_on_both(self) -> None:
        rows = asked(PROBED)
        lost = (rows["task"] == "describe") & (rows["framing"] == "salience") & (rows["stimulus"] == "bald")
        found = probed(rows.assign(share=rows["share"].mask(lost)), replies(SAID))
        # Left are .4, .4, 0 before and 0, 0, 0 after.
        assert found.loc["GLD", ["before", "after"]].tolist() == pytest.approx([0.8 / 3, 0.0], abs=1e-12)
        said = {"bare": SAID["bare"], "salience": {"bald": SAID["salience"]["bald"]}}
        row = probed(rows, replies(said)).loc["GAS"]
        assert row[["before", "after", "n"]].tolist() == [0.5, 1.0, 1]
        assert row["reason"] == "a single value has no interval"

    def test_a_class_without_mass_has_no_distribution(self) -> None:
        cells = {cell: {name: [1.0, 0.0] for name in stimuli} for cell, stimuli in PROBED.items()}
        found = probed(asked(cells), replies(SAID))
        assert found.loc["ADD", "reason"] == "a class has no mass"
        assert found.loc["AS", "reason"] == "ADD is null: a class has no mass"
        assert found.loc["GLD", "before"] == 1.0

    def test_intervals_draw_stimuli_the_same_on_both_sides(self) -> None:
        row = probed(asked(PROBED), replies(SAID)).loc["GLD"]
        for name, prefix, by_stimulus in (
            ("before", "before_", [0.6, 0.2]),
            ("after", "after_", [0.1, 0.0]),
            ("change", "", [-0.5, -0.2]),
        ):
            expected = bootstrap(np.mean, by_stimulus, level=0.9, n=80, seed=3)
            assert (row[name], *ends(row, prefix)) == pytest.approx((expected.value, expected.low, expected.high))


class TestAssociation:
    def test_s_on_paper(self) -> None:
        # Preference for the first class: .8 and .4 against -.6 and -.6; then 0 and 0 against -.4 and 0.
        row = associated(asked(ASSOCIATED)).loc[("token", "S")]
        assert row[["before", "after", "change"]].tolist() == pytest.approx([0.6, 0.1, -0.5], abs=1e-12)
        assert (row["n"], row["study"]) == (4, "p-at")

    def test_the_order_of_classes_and_groups_is_that_of_the_source(self) -> None:
        rows = asked(ASSOCIATED)
        turned = {name: GROUPS[name] for name in reversed(GROUPS)}
        swapped = dict(reversed(CLASSES.items()))
        for classes, groups, sign in ((CLASSES, turned, -1), (swapped, GROUPS, -1), (swapped, turned, 1)):
            found = replications(rows, NOTHING_SAID, classes, groups, "p-at", RESAMPLING).set_index("measure")
            assert found.loc["S", "before"] == pytest.approx(sign * 0.6, abs=1e-12)

    def test_h_is_the_entropy_of_the_pooled_answers(self) -> None:
        # Mean shares of the first class: .5 before, .45 after.
        row = associated(asked(ASSOCIATED)).loc[("token", "H")]
        assert row[["before", "after"]].tolist() == pytest.approx([1.0, entropy(0.45)], abs=1e-12)

    def test_as_halves_the_change_of_what_reaches_from_minus_one(self) -> None:
        row = associated(asked(ASSOCIATED)).loc[("token", "AS")]
        assert row["change"] == pytest.approx((0.5 / 2 + 1 - entropy(0.45)) / 2, abs=1e-12)

    def test_extremes(self) -> None:
        firm = {"algebra": [1.0, 0.0], "number": [1.0, 0.0], "poem": [0.0, 1.0], "dance": [0.0, 1.0]}
        one = {name: [1.0, 0.0] for name in firm}
        found = associated(asked({("choose", "bare"): firm, ("choose", "salience"): one}))
        assert found.loc[("token", "S"), ["before", "after"]].tolist() == [1.0, 0.0]
        assert found.loc[("token", "H"), ["before", "after"]].tolist() == [1.0, 0.0]
        assert found.loc[("token", "AS"), "change"] == 0.75

    def test_choices_are_compared_where_the_model_was_sampled(self) -> None:
        chosen = {cell: {name: shares[::-1] for name, shares in rows.items()} for cell, rows in ASSOCIATED.items()}
        rows = pd.concat([asked(ASSOCIATED), asked(chosen, metric="choice")])
        said = replies({"bare": {"algebra": ["?"]}})
        assert associated(asked(ASSOCIATED)).index.tolist() == [("token", name) for name in ("S", "H", "AS")]
        both = associated(rows, said)
        assert both.index.tolist() == [(metric, name) for metric in ("token", "choice") for name in ("S", "H", "AS")]
        assert both.loc[("choice", "S"), "before"] == pytest.approx(-0.6, abs=1e-12)
        # Sampled, and every cell excluded.
        left = associated(asked(ASSOCIATED), said)
        assert left.loc["choice", ["before", "change"]].isna().all(axis=None)
        assert left.loc[("choice", "H"), "reason"] == "no stimulus has a value on both sides"

    def test_a_group_without_stimuli_is_no_comparison(self) -> None:
        rows = asked(ASSOCIATED)
        found = associated(rows[rows["stimulus"].map(GROUPS) == "math"])
        assert found.loc[("token", "S"), "reason"] == "a group has no stimulus with a value on both sides"
        assert found.loc[("token", "H"), "before"] == pytest.approx(entropy(0.8), abs=1e-12)

    def test_nothing_with_the_cue_is_null(self) -> None:
        found = associated(asked({cell: rows for cell, rows in ASSOCIATED.items() if cell[1] == "bare"}))
        assert found[["before", "after", "change"]].isna().all(axis=None)
        assert found.loc[("token", "AS"), "reason"] == "S is null: no stimulus has a value on both sides"


def test_answers_that_stay_have_intervals_of_no_width() -> None:
    same = {("choose", framing): {name: [0.25, 0.75] for name in GROUPS} for framing in ("bare", "salience")}
    found = associated(asked(same))
    values = found.loc[("token", "H"), ["before", "before_low", "before_high", "after_low", "after_high"]]
    assert values.tolist() == pytest.approx([entropy(0.25)] * 5, abs=1e-12)
    assert found.loc[("token", "AS"), ["change", "low", "high"]].tolist() == [0.0, 0.0, 0.0]


def test_models_and_configurations_go_their_own_ways(tmp_path) -> None:
    rows = pd.concat([asked(PROBED), asked(PROBED, configuration="chat"), asked(PROBED, model="m1")])
    found = replications(rows, replies(SAID, configuration="chat"), CLASSES, {}, "indirect-probing", RESAMPLING)
    write_table(found, schemas.REPLICATIONS, tmp_path / "replications.parquet")
    gas = read_frame(tmp_path / "replications.parquet").query("measure == 'GAS'")
    assert gas.set_index(["model", "configuration"])["change"].dropna().to_dict() == {("m0", "chat"): 0.5}
    assert len(gas) == 3


def test_no_answers_are_an_empty_table(tmp_path) -> None:
    found = replications(asked(PROBED).iloc[:0], NOTHING_SAID, CLASSES, {}, "indirect-probing", RESAMPLING)
    write_table(found, schemas.REPLICATIONS, tmp_path / "replications.parquet")
    assert read_frame(tmp_path / "replications.parquet").empty


def test_refuses_three_classes_and_two_cues() -> None:
    three = CLASSES | {"other": ["they"]}
    with pytest.raises(ValueError, match="found classes male, female, other; framings salience"):
        replications(asked(PROBED), NOTHING_SAID, three, {}, "indirect-probing", RESAMPLING)
    two = asked({**PROBED, ("describe", "instruction"): PROBED["describe", "bare"]})
    with pytest.raises(ValueError, match="framings instruction, salience"):
        probed(two, NOTHING_SAID)

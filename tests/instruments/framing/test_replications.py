import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.spatial.distance import jensenshannon

from evenruler.instruments.framing import schemas
from evenruler.instruments.framing.diagnose.replications import compute_replications
from evenruler.tables import read_frame, write_table
from tests.instruments.framing.tables import Cells, distributions

LEVEL = 0.9
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
    ("choose", "bare"): {
        "algebra": [0.9, 0.1],
        "number": [0.7, 0.3],
        "poem": [0.2, 0.8],
        "dance": [0.2, 0.8],
    },
    ("choose", "salience"): {
        "algebra": [0.5, 0.5],
        "number": [0.5, 0.5],
        "poem": [0.3, 0.7],
        "dance": [0.5, 0.5],
    },
}


def asked(cells: Cells, **more: str) -> pd.DataFrame:
    return distributions(cells, classes=list(CLASSES), **more)


def replies(
    texts: dict[str, dict[str, list[str]]], model: str = "m0", configuration: str = "plain"
) -> pd.DataFrame:
    """By framing and stimulus."""
    rows = [
        {"framing": framing, "stimulus": stimulus, "repetition": repetition, "reply": reply}
        for framing, stimuli in texts.items()
        for stimulus, said in stimuli.items()
        for repetition, reply in enumerate(said)
    ]
    same = {
        "benchmark": "pronouns",
        "task": "describe",
        "outcome": None,
        "rule": "none",
        "id": "x",
        "reason": None,
    }
    frame = pd.DataFrame(rows or None, columns=["framing", "stimulus", "repetition", "reply"])
    return frame.assign(model=model, lineage=model, configuration=configuration, **same)[
        schemas.CHOICES.names
    ]


SAID = {
    "bare": {
        "bald": ["He sings.", "There is a cat."],
        "long": ["The theme is here.", "Mother and child."],
    },
    "salience": {
        "bald": ["Is it HER?", "A woman's voice, his hat."],
        "long": ["She sings.", "It is the heroine."],
    },
}
NOTHING_SAID = replies({})


def probed(rows: pd.DataFrame, choices: pd.DataFrame) -> pd.DataFrame:
    found = compute_replications(rows, choices, CLASSES, {}, "indirect-probing", LEVEL)
    return found.set_index("measure")


def associated(rows: pd.DataFrame, choices: pd.DataFrame = NOTHING_SAID) -> pd.DataFrame:
    found = compute_replications(rows, choices, CLASSES, GROUPS, "p-at", LEVEL)
    return found.set_index(["metric", "measure"])


def ends(row: pd.Series, prefix: str = "") -> tuple[float, float]:
    return row[f"{prefix}low"], row[f"{prefix}high"]


def entropy(p: float) -> float:
    return -p * math.log2(p) - (1 - p) * math.log2(1 - p)


class TestIndirectProbing:
    def test_gas_on_paper(self) -> None:
        # Before: "He" alone; theme, here and Mother hold no word. After: HER, woman's and his, She;
        # heroine is none.
        row = probed(asked(PROBED), replies(SAID)).loc["GAS"]
        assert row[["before", "after", "change"]].tolist() == [0.25, 0.75, 0.5]
        assert (row["metric"], row["n"]) == ("choice", 2)

    def test_what_was_withheld_is_no_reply(self) -> None:
        said = replies(SAID)
        withheld = replies({"salience": {"long": [""]}}).assign(
            reply=None, repetition=9, reason="content_filter"
        )
        rows = asked(PROBED)
        assert (
            probed(rows, pd.concat([said, withheld]))
            .loc["GAS"]
            .equals(probed(rows, said).loc["GAS"])
        )

    def test_gld_on_paper(self) -> None:
        # Before .8, .4, .4, 0, mean .4; after .2, 0, 0, 0, mean .05.
        row = probed(asked(PROBED), replies(SAID)).loc["GLD"]
        assert row[["before", "after", "change"]].tolist() == pytest.approx(
            [0.4, 0.05, -0.35], abs=1e-12
        )
        assert (row["metric"], row["n"]) == ("token", 2)

    def test_add_is_the_jensen_shannon_distance_over_stimuli(self) -> None:
        # Means over tasks: male .8 and .4, female .2 and .6 before; male .55 and .5, female .45 and
        # .5 after.
        row = probed(asked(PROBED), replies(SAID)).loc["ADD"]
        before = jensenshannon([2 / 3, 1 / 3], [1 / 4, 3 / 4], base=2)
        after = jensenshannon([0.55 / 1.05, 0.5 / 1.05], [0.45 / 0.95, 0.5 / 0.95], base=2)
        assert row[["before", "after", "change"]].tolist() == pytest.approx(
            [before, after, after - before], abs=1e-12
        )

    def test_add_weighs_stimuli_by_mass(self) -> None:
        rows = asked(PROBED)
        rows["mass"] *= rows["stimulus"].map({"bald": 1.0, "long": 0.1})
        row = probed(rows, replies(SAID)).loc["ADD"]
        assert row["before"] == pytest.approx(
            jensenshannon([0.8, 0.04], [0.2, 0.06], base=2), abs=1e-12
        )

    def test_add_takes_the_tasks_that_a_stimulus_has(self) -> None:
        rows = asked(PROBED)
        row = probed(
            rows[(rows["task"] == "complete") | (rows["stimulus"] == "long")], NOTHING_SAID
        ).loc["ADD"]
        assert row["before"] == pytest.approx(
            jensenshannon([0.7, 0.4], [0.3, 0.6], base=2), abs=1e-12
        )

    def test_add_is_one_for_stimuli_apart_and_zero_for_the_same(self) -> None:
        apart = asked(
            {
                ("describe", framing): {"s1": [1.0, 0.0], "s2": [0.0, 1.0]}
                for framing in ("bare", "salience")
            }
        )
        # Of two distributions that are the same but for rounding, scipy's distance is nan here.
        same = asked(
            {
                ("describe", framing): {f"s{i}": [0.3, 0.7] for i in range(1, 5)}
                for framing in ("bare", "salience")
            }
        )
        same["mass"] = same["share"] * same["stimulus"].str[1:].astype(float) / 4
        for rows, expected in ((apart, 1.0), (same, 0.0)):
            row = probed(rows, NOTHING_SAID).loc["ADD"]
            assert row[["before", "after", "change"]].tolist() == pytest.approx(
                [expected, expected, 0.0], abs=1e-7
            )

    def test_as_is_the_mean_absolute_change(self) -> None:
        found = probed(asked(PROBED), replies(SAID))
        row = found.loc["AS"]
        assert row["change"] == pytest.approx(
            (0.5 + 0.35 + abs(found.loc["ADD", "change"])) / 3, abs=1e-12
        )
        assert (row["metric"], row["n"], row["study"]) == ("all", 2, "indirect-probing")
        assert (
            row[["before", "before_low", "before_high", "after", "after_low", "after_high"]]
            .isna()
            .all()
        )
        assert row[["low", "high"]].isna().all()

    def test_a_model_that_was_not_sampled_has_no_gas_and_no_as(self) -> None:
        found = probed(asked(PROBED), NOTHING_SAID)
        assert found["n"].to_dict() == {
            "GAS": 0,
            "GLD": 2,
            "ADD": 2,
            "AS": 2,
            "AS of GLD and ADD": 2,
        }
        why = (
            "no replies were asked for in this way; `generations` above 0 and `choices: every` "
            "ask for them"
        )
        assert found.loc["GAS", "reason"] == why
        assert found.loc["AS", "reason"] == f"GAS is null: {why}"
        assert (
            found.loc[["GAS", "AS"], ["before", "after", "change", "low", "high"]]
            .isna()
            .all(axis=None)
        )
        assert found.loc[["GLD", "ADD"], "change"].notna().all()

    def test_a_way_of_asking_without_words_has_no_gld_and_no_add(self) -> None:
        found = probed(asked(PROBED).iloc[:0], replies(SAID))
        assert found.loc["GAS", "change"] == 0.5
        why = "no words were asked for in this way; `configurations: every` asks both in both ways"
        assert found.loc[["GLD", "ADD"], "reason"].tolist() == [why] * 2
        assert found.loc["AS of GLD and ADD", "reason"] == f"GLD is null: {why}"

    def test_asked_for_words_in_one_way_and_for_replies_in_the_other_it_has_the_as_of_words(
        self,
    ) -> None:
        # As chat models are at the quick scale.
        found = compute_replications(
            asked(PROBED),
            replies(SAID, configuration="chat"),
            CLASSES,
            {},
            "indirect-probing",
            LEVEL,
        ).set_index(["configuration", "measure"])
        row, add = found.loc[("plain", "AS of GLD and ADD")], found.loc[("plain", "ADD")]
        assert row["change"] == pytest.approx((0.35 + abs(add["change"])) / 2, abs=1e-12)
        assert (row["metric"], row["n"]) == ("token", 2)
        assert row[["before", "after", "low", "high"]].isna().all()
        remedy = "`configurations: every` asks both in both ways"
        whole = found.xs("AS", level="measure")
        assert whole["change"].isna().all()
        assert whole["reason"].to_dict() == {
            "plain": f"GAS is null: no replies were asked for in this way; {remedy}",
            "chat": f"GLD is null: no words were asked for in this way; {remedy}",
        }

    def test_replies_are_of_the_same_prompts_on_both_sides(self) -> None:
        other = replies({"bare": {"bald": ["He.", "She."]}}).assign(task="complete")
        rows = asked(PROBED)
        both = pd.concat([replies(SAID), other])
        assert (
            probed(rows, both).loc["GAS", "before"]
            == probed(rows, replies(SAID)).loc["GAS", "before"]
            == 0.25
        )

    def test_a_prompt_with_a_value_on_one_side_is_left_out_on_both(self) -> None:
        rows = asked(PROBED)
        lost = (
            (rows["task"] == "describe")
            & (rows["framing"] == "salience")
            & (rows["stimulus"] == "bald")
        )
        found = probed(rows.assign(share=rows["share"].mask(lost)), replies(SAID))
        # Left are .4, .4, 0 before and 0, 0, 0 after.
        assert found.loc["GLD", ["before", "after"]].tolist() == pytest.approx(
            [0.8 / 3, 0.0], abs=1e-12
        )
        said = {"bare": SAID["bare"], "salience": {"bald": SAID["salience"]["bald"]}}
        row = probed(rows, replies(said)).loc["GAS"]
        assert row[["before", "after", "n"]].tolist() == [0.5, 1.0, 1]
        assert pd.isna(row["reason"])

    def test_a_class_without_mass_has_no_distribution(self) -> None:
        cells = {cell: {name: [1.0, 0.0] for name in stimuli} for cell, stimuli in PROBED.items()}
        found = probed(asked(cells), replies(SAID))
        assert found.loc["ADD", "reason"] == "a class has no mass"
        assert found.loc["AS", "reason"] == "ADD is null: a class has no mass"
        assert found.loc["GLD", "before"] == 1.0


class TestAssociation:
    def test_s_on_paper(self) -> None:
        # Preference for the first class: .8 and .4 against -.6 and -.6; then 0 and 0 against -.4
        # and 0.
        row = associated(asked(ASSOCIATED)).loc[("token", "S")]
        assert row[["before", "after", "change"]].tolist() == pytest.approx(
            [0.6, 0.1, -0.5], abs=1e-12
        )
        assert (row["n"], row["study"]) == (4, "p-at")

    def test_the_order_of_classes_and_groups_is_that_of_the_source(self) -> None:
        rows = asked(ASSOCIATED)
        turned = {name: GROUPS[name] for name in reversed(GROUPS)}
        swapped = dict(reversed(CLASSES.items()))
        for classes, groups, sign in (
            (CLASSES, turned, -1),
            (swapped, GROUPS, -1),
            (swapped, turned, 1),
        ):
            found = compute_replications(
                rows, NOTHING_SAID, classes, groups, "p-at", LEVEL
            ).set_index("measure")
            assert found.loc["S", "before"] == pytest.approx(sign * 0.6, abs=1e-12)

    def test_h_is_the_entropy_of_the_pooled_answers(self) -> None:
        # Mean shares of the first class: .5 before, .45 after.
        row = associated(asked(ASSOCIATED)).loc[("token", "H")]
        assert row[["before", "after"]].tolist() == pytest.approx([1.0, entropy(0.45)], abs=1e-12)

    def test_as_halves_the_change_of_what_reaches_from_minus_one(self) -> None:
        row = associated(asked(ASSOCIATED)).loc[("token", "AS")]
        assert row["change"] == pytest.approx((0.5 / 2 + 1 - entropy(0.45)) / 2, abs=1e-12)

    def test_extremes(self) -> None:
        firm = {
            "algebra": [1.0, 0.0],
            "number": [1.0, 0.0],
            "poem": [0.0, 1.0],
            "dance": [0.0, 1.0],
        }
        one = {name: [1.0, 0.0] for name in firm}
        found = associated(asked({("choose", "bare"): firm, ("choose", "salience"): one}))
        assert found.loc[("token", "S"), ["before", "after"]].tolist() == [1.0, 0.0]
        assert found.loc[("token", "H"), ["before", "after"]].tolist() == [1.0, 0.0]
        assert found.loc[("token", "AS"), "change"] == 0.75

    def test_choices_are_compared_where_the_model_was_sampled(self) -> None:
        chosen = {
            cell: {name: shares[::-1] for name, shares in rows.items()}
            for cell, rows in ASSOCIATED.items()
        }
        rows = pd.concat([asked(ASSOCIATED), asked(chosen, metric="choice")])
        said = replies({"bare": {"algebra": ["?"]}})
        assert associated(asked(ASSOCIATED)).index.tolist() == [
            ("token", name) for name in ("S", "H", "AS")
        ]
        both = associated(rows, said)
        assert both.index.tolist() == [
            (metric, name) for metric in ("token", "choice") for name in ("S", "H", "AS")
        ]
        assert both.loc[("choice", "S"), "before"] == pytest.approx(-0.6, abs=1e-12)
        # Sampled, and every cell excluded.
        left = associated(asked(ASSOCIATED), said)
        assert left.loc["choice", ["before", "change"]].isna().all(axis=None)
        assert left.loc[("choice", "H"), "reason"] == "no stimulus has a value on both sides"

    def test_a_group_without_stimuli_is_no_comparison(self) -> None:
        rows = asked(ASSOCIATED)
        found = associated(rows[rows["stimulus"].map(GROUPS) == "math"])
        assert (
            found.loc[("token", "S"), "reason"]
            == "a group has no stimulus with a value on both sides"
        )
        assert found.loc[("token", "H"), "before"] == pytest.approx(entropy(0.8), abs=1e-12)

    def test_nothing_with_the_cue_is_null(self) -> None:
        found = associated(
            asked({cell: rows for cell, rows in ASSOCIATED.items() if cell[1] == "bare"})
        )
        assert found[["before", "after", "change"]].isna().all(axis=None)
        assert (
            found.loc[("token", "AS"), "reason"]
            == "S is null: no stimulus has a value on both sides"
        )


FIVE = [f"s{i}" for i in range(5)]


def in_logits(values: list[float], lowest: float) -> tuple[float, float]:
    """The jackknife's interval of a mean on the logit of where it stands between `lowest` and 1."""
    n, width = len(values), 1 - lowest

    def there(x: float) -> float:
        return math.log((x - lowest) / (1 - x))

    left_out = [there((sum(values) - value) / (n - 1)) for value in values]
    half = stats.t.ppf((1 + LEVEL) / 2, n - 1) * np.std(left_out) * math.sqrt(n - 1)
    middle = there(sum(values) / n)
    return tuple(lowest + width / (1 + math.exp(-end)) for end in (middle - half, middle + half))


class TestIntervals:
    """The jackknife's over stimuli, from five of them on, of means alone."""

    def test_gld_on_paper(self) -> None:
        before, after = [0.1, 0.2, 0.4, 0.7, 0.8], [0.1, 0.0, 0.3, 0.2, 0.9]
        cells: Cells = {
            ("describe", framing): {
                name: [0.5 + d / 2, 0.5 - d / 2] for name, d in zip(FIVE, distances, strict=True)
            }
            for framing, distances in (("bare", before), ("salience", after))
        }
        row = probed(asked(cells), NOTHING_SAID).loc["GLD"]
        change = [y - x for x, y in zip(before, after, strict=True)]
        for name, prefix, values, lowest in (
            ("before", "before_", before, 0),
            ("after", "after_", after, 0),
            ("change", "", change, -1),
        ):
            assert (row[name], *ends(row, prefix)) == pytest.approx(
                (np.mean(values), *in_logits(values, lowest))
            )

    def test_no_end_is_out_of_the_range(self) -> None:
        # A plain jackknife of these would reach below 0 and above 1.
        said = {
            "bare": {
                name: ["He.", "It.", "It."] if i < 2 else ["It."] * 3 for i, name in enumerate(FIVE)
            },
            "salience": {
                name: ["She."] * 3 if i < 3 else ["She.", "She.", "It."]
                for i, name in enumerate(FIVE)
            },
        }
        row = probed(self.even(), replies(said)).loc["GAS"]
        assert (row["before"], row["after"]) == (2 / 15, 13 / 15)
        assert 0 < row["before_low"] < row["before"] < row["before_high"] < 1
        assert 0 < row["after_low"] < row["after"] < row["after_high"] < 1
        assert -1 < row["low"] < row["change"] < row["high"] < 1
        assert ends(row, "before_") == pytest.approx(in_logits([1 / 3, 1 / 3, 0, 0, 0], 0))

    def test_at_the_end_of_the_range_there_is_none(self) -> None:
        said = {
            "bare": {name: ["It."] for name in FIVE},
            "salience": {name: ["She."] for name in FIVE},
        }
        row = probed(self.even(), replies(said)).loc["GAS"]
        assert (row["before"], row["after"], row["change"]) == (0, 1, 1)
        assert (
            row[["before_low", "before_high", "after_low", "after_high", "low", "high"]]
            .isna()
            .all()
        )
        assert pd.isna(row["reason"])

    def test_a_change_of_s_is_between_minus_two_and_two(self) -> None:
        preferences = {"a0": 0.9, "a1": 0.5, "a2": 0.1, "b0": -0.8, "b1": -0.6, "b2": -0.1}
        cells: Cells = {
            ("choose", "bare"): {name: [0.5, 0.5] for name in preferences},
            ("choose", "salience"): {
                name: [0.5 + by / 2, 0.5 - by / 2] for name, by in preferences.items()
            },
        }
        groups = {name: name[0] for name in preferences}
        found = (
            compute_replications(asked(cells), NOTHING_SAID, CLASSES, groups, "p-at", LEVEL)
            .set_index("measure")
            .loc["S"]
        )

        def logit_of_s(names: list[str]) -> float:
            of_group = [
                np.mean([preferences[name] for name in names if name[0] == group]) for group in "ab"
            ]
            s = float(of_group[0] - of_group[1]) / 2
            return math.log((s + 2) / (2 - s))

        every = list(preferences)
        left_out = [logit_of_s([other for other in every if other != name]) for name in every]
        half = stats.t.ppf((1 + LEVEL) / 2, 5) * np.std(left_out) * math.sqrt(5)
        low, high = (
            4 / (1 + math.exp(-end)) - 2
            for end in (logit_of_s(every) - half, logit_of_s(every) + half)
        )
        assert (found["change"], *ends(found)) == pytest.approx((0.5, low, high))

    def even(self) -> pd.DataFrame:
        return asked(
            {
                ("describe", framing): {name: [0.5, 0.5] for name in FIVE}
                for framing in ("bare", "salience")
            }
        )

    def test_gas_is_a_share_of_replies(self) -> None:
        said = {
            "bare": {name: ["He.", "It."] for name in FIVE},
            "salience": {name: ["She.", "She." if i % 2 else "It."] for i, name in enumerate(FIVE)},
        }
        cells: Cells = {
            ("describe", framing): {name: [0.5, 0.5] for name in FIVE}
            for framing in ("bare", "salience")
        }
        row = probed(asked(cells), replies(said)).loc["GAS"]
        assert ends(row, "before_") == (0.5, 0.5)
        assert (row["after"], *ends(row, "after_")) == pytest.approx(
            (0.7, *in_logits([0.5, 1, 0.5, 1, 0.5], 0))
        )

    def test_of_fewer_stimuli_there_is_none(self) -> None:
        found = probed(asked(PROBED), replies(SAID))
        assert found.loc["GLD", ["change", "before"]].notna().all()
        assert (
            found[[f"{side}{end}" for side in ("before_", "after_", "") for end in ("low", "high")]]
            .isna()
            .all(axis=None)
        )

    def test_answers_that_stay_have_intervals_of_no_width_and_measures_that_bend_none(self) -> None:
        stimuli = {name: [0.25, 0.75] for name in (*GROUPS, "proof")}
        groups = GROUPS | {"proof": "math"}
        rows = asked({("choose", framing): stimuli for framing in ("bare", "salience")})
        found = compute_replications(rows, NOTHING_SAID, CLASSES, groups, "p-at", LEVEL).set_index(
            "measure"
        )
        values = found.loc["S", ["change", "low", "high", "before", "before_low", "before_high"]]
        assert values.tolist() == [0.0] * 6
        assert found.loc["H", ["before", "change"]].tolist() == pytest.approx([entropy(0.25), 0.0])
        assert found.loc["AS", "change"] == 0.0
        bending = found.loc[["H", "AS"]]
        assert (
            bending[[column for column in found if column.endswith(("low", "high"))]]
            .isna()
            .all(axis=None)
        )


class TestPlacebos:
    """The control of a change is what placebos in the place of the cue change."""

    DISTANCES = (0.3, 0.34, 0.36, 0.4, 0.6)
    """GLD with each of five placebos, the same for every stimulus."""

    def cells(self, cue: float) -> Cells:
        framings = {"bare": 0.6, "salience": cue}
        framings |= {f"salience~{number}": d for number, d in enumerate(self.DISTANCES, start=1)}
        return {
            ("describe", framing): {name: [0.5 + d / 2, 0.5 - d / 2] for name in FIVE}
            for framing, d in framings.items()
        }

    def test_control_on_paper(self) -> None:
        row = probed(asked(self.cells(0.1)), NOTHING_SAID).loc["GLD"]
        # Changes: of the cue .1 - .6, of the placebos .4 - .6 on the mean.
        assert (row["change"], row["control"]) == pytest.approx((-0.5, -0.2))

    def test_measures_that_bend_have_one_too(self) -> None:
        rows = asked(self.cells(0.1))
        rows["mass"] *= rows["stimulus"].map({name: 1 + i for i, name in enumerate(FIVE)})
        assert probed(rows, NOTHING_SAID).loc["ADD", ["change", "control"]].notna().all()

    def test_the_control_of_what_bends_is_of_the_stimuli_of_each_placebo(self) -> None:
        """H of all stimuli is another than H of few: the control is a mean of what placebos do on
        theirs."""
        firm, even = [0.95, 0.05], [0.5, 0.5]
        bare = {"algebra": firm, "number": firm, "poem": firm[::-1], "dance": firm[::-1]}
        cells: dict = {("choose", "bare"): bare, ("choose", "salience"): dict.fromkeys(bare, even)}
        # The first two placebos are asked about one group each, and make its answers even.
        for number, names in ((1, ("algebra", "number")), (2, ("poem", "dance"))):
            cells["choose", f"salience~{number}"] = dict.fromkeys(names, even)
        rows = asked(cells)
        found = associated(rows)
        h, s, sensitivity = (found.loc[("token", name)] for name in ("H", "S", "AS"))
        own = 1 - entropy(0.05)
        # All stimuli are even in the mean before, those of a placebo are not.
        assert h["change"] == pytest.approx(0, abs=1e-12)
        assert h["control"] == pytest.approx(own, abs=1e-12)
        assert sensitivity["change"] == pytest.approx((0.9 / 2 + 0) / 2)
        assert pd.isna(s["control"])  # of one group there is no S
        assert pd.isna(sensitivity["control"])

    def test_the_control_of_as_is_what_placebos_give(self) -> None:
        rows = asked(self.cells(0.1))
        stimuli = {
            number: set(FIVE[number - 1 :] + FIVE[: max(0, number - 3)]) for number in range(1, 6)
        }
        number = rows["framing"].str.partition("~")[2].replace("", "0").astype(int)
        kept = [
            not k or name in stimuli[k] for k, name in zip(number, rows["stimulus"], strict=True)
        ]
        row = probed(rows[np.array(kept)], NOTHING_SAID).loc["AS of GLD and ADD"]
        changes = [(0.6 - d) / 2 for d in self.DISTANCES]  # ADD is 0 where all stimuli are alike
        assert row["control"] == pytest.approx(np.mean(changes), abs=1e-9)
        assert min(changes) <= row["control"] <= max(changes)

    def test_the_control_is_of_the_tasks_of_placebos(self) -> None:
        # In a second task cue and placebos do nothing, and no placebo was asked about it.
        other: Cells = {
            ("complete", framing): {name: [0.8, 0.2] for name in FIVE}
            for framing in ("bare", "salience")
        }
        row = probed(asked({**self.cells(0.4), **other}), NOTHING_SAID).loc["GLD"]
        # The cue changes GLD by .4 - .6 in the first task, 0 in the second; placebos on the mean by
        # .4 - .6.
        assert (row["change"], row["control"]) == pytest.approx((-0.1, -0.2))

    def test_the_study_is_still_of_one_cue(self) -> None:
        found = probed(asked(self.cells(0.1)), NOTHING_SAID)
        assert found.index.tolist() == ["GAS", "GLD", "ADD", "AS", "AS of GLD and ADD"]
        assert pd.isna(found.loc["GAS", "control"])

    def test_s_is_beside_placebos_too(self) -> None:
        third = {
            name: [0.7, 0.3] if group == "math" else [0.4, 0.6] for name, group in GROUPS.items()
        }
        row = associated(asked(ASSOCIATED | {("choose", "salience~1"): third})).loc[("token", "S")]
        # With the placebo S is (.4 - -.2) / 2.
        assert (row["change"], row["control"]) == pytest.approx((-0.5, 0.3 - 0.6))


def test_models_and_configurations_go_their_own_ways(tmp_path) -> None:
    rows = pd.concat(
        [asked(PROBED), asked(PROBED, configuration="chat"), asked(PROBED, model="m1")]
    )
    found = compute_replications(
        rows, replies(SAID, configuration="chat"), CLASSES, {}, "indirect-probing", LEVEL
    )
    write_table(found, schemas.REPLICATIONS, tmp_path / "replications.parquet")
    gas = read_frame(tmp_path / "replications.parquet").query("measure == 'GAS'")
    assert gas.set_index(["model", "configuration"])["change"].dropna().to_dict() == {
        ("m0", "chat"): 0.5
    }
    assert len(gas) == 3


def test_no_answers_are_an_empty_table(tmp_path) -> None:
    found = compute_replications(
        asked(PROBED).iloc[:0], NOTHING_SAID, CLASSES, {}, "indirect-probing", LEVEL
    )
    write_table(found, schemas.REPLICATIONS, tmp_path / "replications.parquet")
    assert read_frame(tmp_path / "replications.parquet").empty


def test_refuses_three_classes_and_two_cues() -> None:
    three = CLASSES | {"other": ["they"]}
    with pytest.raises(ValueError, match="found classes male, female, other; framings salience"):
        compute_replications(asked(PROBED), NOTHING_SAID, three, {}, "indirect-probing", LEVEL)
    two = asked({**PROBED, ("describe", "instruction"): PROBED["describe", "bare"]})
    with pytest.raises(ValueError, match="framings instruction, salience"):
        probed(two, NOTHING_SAID)

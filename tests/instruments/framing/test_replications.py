import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pandas as pd
from scipy import stats
from scipy.spatial.distance import jensenshannon
from scipy.special import expit

from evenruler.instruments.framing import schemas
from evenruler.instruments.framing.diagnose.replications import compute_replications
from tests.instruments.framing.tables import Cells, distributions
from tests.instruments.near import approx, near

LEVEL = 0.9
CLASSES = {
    "male": ["he", "his", "man"],
    "female": ["she", "her", "woman"],
}
GROUPS = {
    "algebra": "math",
    "number": "math",
    "poem": "arts",
    "dance": "arts",
}

# By task: without and with the cue.
PROBED: Cells = {
    ("describe", "bare"): {
        "bald": [0.9, 0.1],
        "long": [0.3, 0.7],
    },
    ("describe", "salience"): {
        "bald": [0.6, 0.4],
        "long": [0.5, 0.5],
    },
    ("complete", "bare"): {
        "bald": [0.7, 0.3],
        "long": [0.5, 0.5],
    },
    ("complete", "salience"): {
        "bald": [0.5, 0.5],
        "long": [0.5, 0.5],
    },
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


def shares_of(cells: Cells, **more: str) -> pd.DataFrame:
    return distributions(cells, classes=list(CLASSES), **more)


def replies(
    texts: dict[str, dict[str, list[str]]], model: str = "m0", prompt_format: str = "plain"
) -> pd.DataFrame:
    """By framing and stimulus."""
    rows = []
    for framing, stimuli in texts.items():
        for stimulus, stimulus_texts in stimuli.items():
            cell = {"framing": framing, "stimulus": stimulus}
            rows += [
                {**cell, "repetition": repetition, "reply": reply}
                for repetition, reply in enumerate(stimulus_texts)
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
    return frame.assign(model=model, lineage=model, prompt_format=prompt_format, **same)[
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
    measures = compute_replications(rows, choices, CLASSES, {}, "indirect-probing", LEVEL)
    return measures.set_index("measure")


def associated(rows: pd.DataFrame, choices: pd.DataFrame = NOTHING_SAID) -> pd.DataFrame:
    measures = compute_replications(rows, choices, CLASSES, GROUPS, "p-at", LEVEL)
    return measures.set_index(["readout", "measure"])


def ends(row: pd.Series, prefix: str = "") -> tuple[float, float]:
    return row[f"{prefix}low"], row[f"{prefix}high"]


def entropy(p: float) -> float:
    return float(stats.entropy([p, 1 - p], base=2))


def apart(distance: float) -> list[float]:
    """Shares of two classes that are so far from each other."""
    return [
        0.5 + distance / 2,
        0.5 - distance / 2,
    ]


class TestIndirectProbing:
    def test_gas_on_paper(self) -> None:
        # Before: "He" alone; theme, here and Mother hold no word. After: HER, woman's and his, She;
        # heroine is none.
        row = probed(shares_of(PROBED), replies(SAID)).loc["GAS"]
        assert row[["before", "after", "change"]].tolist() == [0.25, 0.75, 0.5]
        assert (row["readout"], row["n"]) == ("choice", 2)

    def test_gld_on_paper(self) -> None:
        # Before .8, .4, .4, 0, mean .4; after .2, 0, 0, 0, mean .05.
        row = probed(shares_of(PROBED), replies(SAID)).loc["GLD"]
        assert row[["before", "after", "change"]].tolist() == near([0.4, 0.05, -0.35])
        assert (row["readout"], row["n"]) == ("token", 2)

    def test_add_is_the_jensen_shannon_distance_over_stimuli(self) -> None:
        # Means over tasks: male .8 and .4, female .2 and .6 before; male .55 and .5, female .45 and
        # .5 after.
        row = probed(shares_of(PROBED), replies(SAID)).loc["ADD"]
        before = jensenshannon(
            [0.8, 0.4],
            [0.2, 0.6],
            base=2,
        )
        after = jensenshannon(
            [0.55, 0.5],
            [0.45, 0.5],
            base=2,
        )
        assert row[["before", "after", "change"]].tolist() == near([before, after, after - before])

    def test_add_weighs_stimuli_by_mass(self) -> None:
        rows = shares_of(PROBED)
        rows["mass"] *= rows["stimulus"].map({"bald": 1.0, "long": 0.1})
        row = probed(rows, replies(SAID)).loc["ADD"]
        assert row["before"] == near(jensenshannon([0.8, 0.04], [0.2, 0.06], base=2))

    def test_add_is_one_for_stimuli_apart_and_zero_for_the_same(self) -> None:
        apart = shares_of(
            {
                ("describe", framing): {
                    "s1": [1.0, 0.0],
                    "s2": [0.0, 1.0],
                }
                for framing in ("bare", "salience")
            }
        )
        # Of two distributions that are the same but for rounding, scipy's distance is nan here.
        even = {f"s{number}": [0.3, 0.7] for number in range(1, 5)}
        same = shares_of({("describe", framing): even for framing in ("bare", "salience")})
        weights = same["stimulus"].str[1:].astype(float) / 4
        same["mass"] = same["share"] * weights
        for rows, expected in (
            (apart, 1.0),
            (same, 0.0),
        ):
            row = probed(rows, NOTHING_SAID).loc["ADD"]
            assert row[["before", "after", "change"]].tolist() == approx(
                [expected, expected, 0.0], abs=1e-7
            )

    def test_as_is_the_mean_absolute_change(self) -> None:
        measures = probed(shares_of(PROBED), replies(SAID))
        row = measures.loc["AS"]
        assert row["change"] == near((0.5 + 0.35 + abs(measures.loc["ADD", "change"])) / 3)
        assert (row["readout"], row["n"], row["study"]) == ("all", 2, "indirect-probing")

    def test_a_model_that_was_not_sampled_has_no_gas_and_no_as(self) -> None:
        measures = probed(shares_of(PROBED), NOTHING_SAID)
        assert measures["n"].tolist() == [0, 2, 2, 2, 2]
        assert list(measures.index) == ["GAS", "GLD", "ADD", "AS", "AS of GLD and ADD"]
        nulls = measures[measures["change"].isna()]
        assert list(nulls.index) == ["GAS", "AS"]
        assert nulls[["before", "after", "low", "high"]].isna().all(axis=None)
        assert nulls["reason"]["AS"] == f"GAS is null: {nulls['reason']['GAS']}"
        assert nulls["reason"]["GAS"].startswith("no replies were asked for in this way; ")

    def test_asked_for_words_in_one_way_and_for_replies_in_the_other_it_has_the_as_of_words(
        self,
    ) -> None:
        # As chat models are at the quick scale.
        measures = compute_replications(
            shares_of(PROBED),
            replies(SAID, prompt_format="chat"),
            CLASSES,
            {},
            "indirect-probing",
            LEVEL,
        ).set_index(["prompt_format", "measure"])
        row = measures.loc[("plain", "AS of GLD and ADD")]
        change = (0.35 + abs(measures.loc[("plain", "ADD"), "change"])) / 2
        assert row["change"] == near(change)
        assert row[["readout", "n"]].tolist() == ["token", 2]
        assert row[["before", "after", "low", "high"]].isna().all()
        whole = measures.xs("AS", level="measure")
        assert whole["change"].isna().all()
        remedy = "in this way; `prompt_formats: every` asks both in both ways"
        assert whole["reason"].to_dict() == {
            "plain": f"GAS is null: no replies were asked for {remedy}",
            "chat": f"GLD is null: no words were asked for {remedy}",
        }

    def test_a_prompt_with_a_value_on_one_side_is_left_out_on_both(self) -> None:
        rows = shares_of(PROBED)
        lost = rows.eval("task == 'describe' and framing == 'salience' and stimulus == 'bald'")
        measures = probed(
            rows.assign(share=rows["share"].mask(lost)),
            replies(SAID),
        )
        # Left are .4, .4, 0 before and 0, 0, 0 after.
        assert measures.loc["GLD", ["before", "after"]].tolist() == near([0.8 / 3, 0.0])
        texts = {
            "bare": SAID["bare"],
            "salience": {"bald": SAID["salience"]["bald"]},
        }
        row = probed(rows, replies(texts)).loc["GAS"]
        assert row[["before", "after", "n"]].tolist() == [0.5, 1.0, 1]

    def test_a_class_without_mass_has_no_distribution(self) -> None:
        cells = {cell: dict.fromkeys(stimuli, (1.0, 0.0)) for cell, stimuli in PROBED.items()}
        measures = probed(shares_of(cells), replies(SAID))
        assert measures.loc["ADD", "reason"] == "a class has no mass"
        assert measures.loc["AS", "reason"] == "ADD is null: a class has no mass"
        assert measures.loc["GLD", "before"] == 1.0


class TestAssociation:
    def test_on_paper(self) -> None:
        measures = associated(shares_of(ASSOCIATED))
        assert set(measures.index.get_level_values("readout")) == {"token"}
        # Preference for the first class: .8 and .4 against -.6 and -.6; then 0 and 0 against -.4
        # and 0.
        row = measures.loc[("token", "S")]
        assert row[["before", "after", "change"]].tolist() == near([0.6, 0.1, -0.5])
        assert (row["n"], row["study"]) == (4, "p-at")
        # Mean shares of the first class: .5 before, .45 after.
        h = measures.loc[("token", "H"), ["before", "after"]]
        assert h.tolist() == near([1.0, entropy(0.45)])
        # The change of what reaches from -1 is halved.
        change = measures.loc[("token", "AS"), "change"]
        expected = (0.5 / 2 + 1 - entropy(0.45)) / 2
        assert change == near(expected)

    def test_the_order_of_classes_and_groups_is_that_of_the_source(self) -> None:
        rows = shares_of(ASSOCIATED)
        turned = {name: GROUPS[name] for name in reversed(GROUPS)}
        swapped = dict(reversed(CLASSES.items()))
        for classes, groups, sign in (
            (CLASSES, turned, -1),
            (swapped, GROUPS, -1),
            (swapped, turned, 1),
        ):
            measures = compute_replications(
                rows, NOTHING_SAID, classes, groups, "p-at", LEVEL
            ).set_index("measure")
            assert measures.loc["S", "before"] == near(sign * 0.6)

    def test_choices_are_compared_where_the_model_was_sampled(self) -> None:
        rows = shares_of(ASSOCIATED)
        turned = rows.assign(
            share=1 - rows["share"],
            mass=(1 - rows["share"]) / 2,
            readout="choice",
        )
        choices = replies({"bare": {"algebra": ["?"]}})
        both = associated(pd.concat([rows, turned]), choices)
        assert both.loc[("choice", "S"), "before"] == near(-0.6)
        # Sampled, and every cell excluded.
        left = associated(rows, choices)
        assert left.loc[("choice", "H"), "reason"] == "no stimulus has a value on both sides"

    def test_a_group_without_stimuli_is_no_comparison(self) -> None:
        rows = shares_of(ASSOCIATED)
        measures = associated(rows[rows["stimulus"].map(GROUPS) == "math"])
        assert (
            measures.loc[("token", "S"), "reason"]
            == "a group has no stimulus with a value on both sides"
        )
        before = measures.loc[("token", "H"), "before"]
        assert before == near(entropy(0.8))


FIVE = [f"s{number}" for number in range(5)]


def in_logits(values: list[float], lowest: float) -> tuple[float, float]:
    """The jackknife's interval of a mean on the logit of where it stands between `lowest` and 1."""
    n, width = len(values), 1 - lowest

    def there(mean: float) -> float:
        return math.log((mean - lowest) / (1 - mean))

    left_out = [there((sum(values) - share) / (n - 1)) for share in values]
    error = np.std(left_out) * math.sqrt(n - 1)
    half = stats.t.ppf((1 + LEVEL) / 2, n - 1) * error
    middle = there(sum(values) / n)
    logits = np.array([middle - half, middle + half])
    return tuple(lowest + width * expit(logits))


class TestIntervals:
    """The jackknife's over stimuli, from five of them on, of means alone."""

    def test_gld_on_paper(self) -> None:
        before = [0.1, 0.2, 0.4, 0.7, 0.8]
        after = [0.1, 0.0, 0.3, 0.2, 0.9]
        cells: dict = {}
        for framing, distances in (
            ("bare", before),
            ("salience", after),
        ):
            cells["describe", framing] = dict(zip(FIVE, map(apart, distances), strict=True))
        row = probed(shares_of(cells), NOTHING_SAID).loc["GLD"]
        change = [second - first for first, second in zip(before, after, strict=True)]
        for name, prefix, values, lowest in (
            ("before", "before_", before, 0),
            ("after", "after_", after, 0),
            ("change", "", change, -1),
        ):
            assert (row[name], *ends(row, prefix)) == approx(
                (
                    np.mean(values),
                    *in_logits(values, lowest),
                )
            )

    def test_a_change_of_s_is_between_minus_two_and_two(self) -> None:
        preferences = {
            "a0": 0.9,
            "a1": 0.5,
            "a2": 0.1,
            "b0": -0.8,
            "b1": -0.6,
            "b2": -0.1,
        }
        cells: Cells = {
            ("choose", "bare"): dict.fromkeys(preferences, (0.5, 0.5)),
            ("choose", "salience"): {name: apart(by) for name, by in preferences.items()},
        }
        groups = {name: name[0] for name in preferences}
        row = (
            compute_replications(
                shares_of(cells),
                NOTHING_SAID,
                CLASSES,
                groups,
                "p-at",
                LEVEL,
            )
            .set_index("measure")
            .loc["S"]
        )

        def logit_of_s(names: Sequence[str]) -> float:
            first = [preferences[name] for name in names if name[0] == "a"]
            second = [preferences[name] for name in names if name[0] == "b"]
            s = float(np.mean(first) - np.mean(second)) / 2
            return math.log((s + 2) / (2 - s))

        every = list(preferences)
        middle = logit_of_s(every)
        left_out = [logit_of_s(names) for names in combinations(every, 5)]
        error = np.std(left_out) * math.sqrt(5)
        half = stats.t.ppf((1 + LEVEL) / 2, 5) * error
        logits = np.array([middle - half, middle + half])
        assert row["change"] == approx(0.5)
        assert ends(row) == approx(tuple(4 * expit(logits) - 2))

    def even(self) -> pd.DataFrame:
        even = dict.fromkeys(FIVE, (0.5, 0.5))
        return shares_of({("describe", framing): even for framing in ("bare", "salience")})

    def test_gas_is_a_share_of_replies(self) -> None:
        second = zip(
            FIVE,
            ["It.", "She.", "It.", "She.", "It."],
            strict=True,
        )
        texts = {
            "bare": {name: ["He.", "It."] for name in FIVE},
            "salience": {name: ["She.", reply] for name, reply in second},
        }
        row = probed(self.even(), replies(texts)).loc["GAS"]
        assert ends(row, "before_") == (0.5, 0.5)
        assert (row["after"], *ends(row, "after_")) == approx(
            (
                0.7,
                *in_logits([0.5, 1, 0.5, 1, 0.5], 0),
            )
        )


class TestAlternatives:
    """The control of a change is what alternatives in the place of the cue change."""

    DISTANCES = (0.3, 0.34, 0.36, 0.4, 0.6)
    """GLD with each of five alternatives, the same for every stimulus."""

    def cells(self, cue: float) -> Cells:
        framings = {"bare": 0.6, "salience": cue}
        framings |= {f"salience~{number}": d for number, d in enumerate(self.DISTANCES, start=1)}
        return {
            ("describe", framing): dict.fromkeys(FIVE, apart(distance))
            for framing, distance in framings.items()
        }

    def test_the_control_of_what_bends_is_of_the_stimuli_of_each_alternative(self) -> None:
        """H of all stimuli is another than H of few: the control is a mean of what alternatives do
        on theirs."""
        male, female, even = [0.95, 0.05], [0.05, 0.95], [0.5, 0.5]
        bare = {
            "algebra": male,
            "number": male,
            "poem": female,
            "dance": female,
        }
        cells: dict = {
            ("choose", "bare"): bare,
            ("choose", "salience"): dict.fromkeys(bare, even),
        }
        # The first two alternatives are asked about one group each, and make its answers even.
        for number, names in (
            (1, ("algebra", "number")),
            (2, ("poem", "dance")),
        ):
            cells["choose", f"salience~{number}"] = dict.fromkeys(names, even)
        rows = shares_of(cells)
        tokens = associated(rows).loc["token"]
        h, s, sensitivity = (tokens.loc[name] for name in ("H", "S", "AS"))
        expected = 1 - entropy(0.05)
        # All stimuli are even in the mean before, those of an alternative are not.
        assert h["change"] == near(0)
        assert h["control"] == near(expected)
        assert sensitivity["change"] == approx((0.9 / 2 + 0) / 2)
        assert pd.isna(s["control"])  # of one group there is no S
        assert pd.isna(sensitivity["control"])

    def test_the_control_of_as_is_what_alternatives_give(self) -> None:
        rows = shares_of(self.cells(0.1))
        # By alternative, of which of the five stimuli it is asked.
        stimuli = {
            "": "01234",
            "1": "01234",
            "2": "1234",
            "3": "234",
            "4": "034",
            "5": "014",
        }
        numbers = rows["framing"].str.partition("~")[2]
        cells = zip(
            numbers,
            rows["stimulus"].str[1],
            strict=True,
        )
        is_asked = [stimulus in stimuli[number] for number, stimulus in cells]
        row = probed(rows[np.array(is_asked)], NOTHING_SAID).loc["AS of GLD and ADD"]
        changes = [(0.6 - d) / 2 for d in self.DISTANCES]  # ADD is 0 where all stimuli are alike
        assert row["control"] == approx(np.mean(changes), abs=1e-9)
        assert min(changes) <= row["control"] <= max(changes)

    def test_the_control_is_of_the_tasks_of_alternatives(self) -> None:
        # In a second task cue and alternatives do nothing, and no alternative was asked about it.
        other: Cells = {
            ("complete", framing): {name: [0.8, 0.2] for name in FIVE}
            for framing in ("bare", "salience")
        }
        row = probed(shares_of({**self.cells(0.4), **other}), NOTHING_SAID).loc["GLD"]
        # The cue changes GLD by .4 - .6 in the first task, 0 in the second; alternatives on the mean
        # by .4 - .6.
        assert row["change"] == approx(-0.1)
        assert row["control"] == approx(-0.2)

    def test_s_is_beside_alternatives_too(self) -> None:
        third = dict.fromkeys(("algebra", "number"), (0.7, 0.3))
        third |= dict.fromkeys(("poem", "dance"), (0.4, 0.6))
        row = associated(shares_of(ASSOCIATED | {("choose", "salience~1"): third})).loc[
            ("token", "S")
        ]
        # With the alternative S is (.4 - -.2) / 2.
        assert row["change"] == approx(-0.5)
        assert row["control"] == approx(0.3 - 0.6)

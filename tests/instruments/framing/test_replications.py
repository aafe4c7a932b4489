import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.spatial.distance import jensenshannon

from evenruler.instruments.framing import schemas
from evenruler.instruments.framing.diagnose.replications import compute_replications
from evenruler.measurement.resampling import jackknife, logit_transformation
from tests.instruments.framing.tables import Cells, cells_of_text, distributions
from tests.instruments.near import approx, near
from tests.text_tables import table_of_text

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

PROBED = cells_of_text("""
describe, bare: bald .9 .1; long .3 .7
describe, salience: bald .6 .4; long .5 .5
complete, bare: bald .7 .3; long .5 .5
complete, salience: bald .5 .5; long .5 .5
""")
ASSOCIATED = cells_of_text("""
choose, bare: algebra .9 .1; number .7 .3; poem .2 .8; dance .2 .8
choose, salience: algebra .5 .5; number .5 .5; poem .3 .7; dance .5 .5
""")


def shares_of(cells: Cells, **more: str) -> pd.DataFrame:
    return distributions(cells, classes=list(CLASSES), **more)


def replies(table: pd.DataFrame, prompt_format: str = "plain") -> pd.DataFrame:
    """By framing and stimulus."""
    same = {"benchmark": "pronouns", "task": "describe", "id": "x", "model": "m0"}
    unread = {"outcome": None, "rule": "none", "reason": None, "lineage": "m0"}
    repetition = table.groupby(["framing", "stimulus"]).cumcount()
    rows = table.assign(repetition=repetition, prompt_format=prompt_format, **same, **unread)
    return rows[schemas.CHOICES.names]


SAID = table_of_text("""\
framing|stimulus|reply
bare|bald|He sings.
bare|bald|There is a cat.
bare|long|The theme is here.
bare|long|Mother and child.
salience|bald|Is it HER?
salience|bald|A woman's voice, his hat.
salience|long|She sings.
salience|long|It is the heroine.
""")
NOTHING_SAID = replies(SAID.head(0))


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

    def test_add_weighs_stimuli_by_mass(self) -> None:
        # Means over tasks: male .8 and .4, female .2 and .6 before.
        rows = shares_of(PROBED)
        rows["mass"] *= rows["stimulus"].map({"bald": 1.0, "long": 0.1})
        row = probed(rows, replies(SAID)).loc["ADD"]
        assert row["before"] == near(jensenshannon([0.8, 0.04], [0.2, 0.06], base=2))

    def test_add_is_zero_for_stimuli_that_are_the_same_but_for_rounding(self) -> None:
        # scipy's distance is nan here.
        cells = "s1 .3 .7; s2 .3 .7; s3 .3 .7; s4 .3 .7"
        same = shares_of(cells_of_text(f"describe, bare: {cells}\ndescribe, salience: {cells}"))
        weights = same["stimulus"].str[1:].astype(float) / 4
        same["mass"] = same["share"] * weights
        row = probed(same, NOTHING_SAID).loc["ADD"]
        assert row[["before", "after", "change"]].tolist() == approx([0.0, 0.0, 0.0], abs=1e-7)

    def test_as_is_the_mean_absolute_change(self) -> None:
        measures = probed(shares_of(PROBED), replies(SAID))
        row = measures.loc["AS"]
        change_of_add = measures.loc["ADD", "change"]
        assert row["change"] == near((0.5 + 0.35 + abs(change_of_add)) / 3)
        assert (row["readout"], row["n"], row["study"]) == ("all", 2, "indirect-probing")

    def test_a_model_that_was_not_sampled_has_no_gas_and_no_as(self) -> None:
        measures = probed(shares_of(PROBED), NOTHING_SAID)
        assert measures["n"].to_dict() == {
            "GAS": 0,
            "GLD": 2,
            "ADD": 2,
            "AS": 2,
            "AS of GLD and ADD": 2,
        }
        nulls = measures[measures["change"].isna()]
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
        of_add = abs(measures.loc[("plain", "ADD"), "change"])
        assert row["change"] == near((0.35 + of_add) / 2)
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
        row = probed(rows, replies(SAID.head(6))).loc["GAS"]
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
        choices = replies(table_of_text("framing|stimulus|reply\nbare|algebra|?\n"))
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


class TestIntervals:
    """The jackknife's over stimuli, from five of them on, of means alone."""

    @pytest.mark.parametrize(
        ("prefix", "distances", "lowest"),
        [
            ("after_", [0.1, 0.0, 0.3, 0.2, 0.9], 0),
            ("", [0.0, -0.2, -0.1, -0.5, 0.1], -1),
        ],
    )
    def test_gld_on_paper(self, prefix, distances, lowest) -> None:
        before = [0.1, 0.2, 0.4, 0.7, 0.8]
        after = [0.1, 0.0, 0.3, 0.2, 0.9]
        cells = {
            ("describe", "bare"): dict(zip(FIVE, map(apart, before), strict=True)),
            ("describe", "salience"): dict(zip(FIVE, map(apart, after), strict=True)),
        }
        row = probed(shares_of(cells), NOTHING_SAID).loc["GLD"]
        scale = logit_transformation(lowest, 1)
        interval = jackknife(np.mean, distances, scale=scale, level=LEVEL)
        assert row[prefix.rstrip("_") or "change"] == approx(interval.value)
        assert ends(row, prefix) == approx((interval.low, interval.high))

    def test_a_change_of_s_is_between_minus_two_and_two(self) -> None:
        preferences = np.array([0.9, 0.5, 0.1, -0.8, -0.6, -0.1])
        names = ["a0", "a1", "a2", "b0", "b1", "b2"]
        cells: Cells = {
            ("choose", "bare"): dict.fromkeys(names, (0.5, 0.5)),
            ("choose", "salience"): dict(zip(names, map(apart, preferences), strict=True)),
        }
        groups = {name: name[0] for name in names}
        measures = compute_replications(
            shares_of(cells), NOTHING_SAID, CLASSES, groups, "p-at", LEVEL
        )
        row = measures.set_index("measure").loc["S"]

        def s(places: np.ndarray) -> float:
            is_first = places < 3
            first, second = preferences[places[is_first]], preferences[places[~is_first]]
            return float(first.mean() - second.mean()) / 2

        interval = jackknife(s, np.arange(6), scale=logit_transformation(-2, 2), level=LEVEL)
        assert row["change"] == approx(0.5)
        assert ends(row) == approx((interval.low, interval.high))


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
        # The first two alternatives are asked about one group each, and make its answers even.
        cells = cells_of_text("""
choose, bare: algebra .95 .05; number .95 .05; poem .05 .95; dance .05 .95
choose, salience: algebra .5 .5; number .5 .5; poem .5 .5; dance .5 .5
choose, salience~1: algebra .5 .5; number .5 .5
choose, salience~2: poem .5 .5; dance .5 .5
""")
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

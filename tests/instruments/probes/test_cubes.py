"""Scores as cubes, bare and after prefixes."""

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest

from evenruler.instruments.probes.ask import after_prefixes
from evenruler.instruments.probes.diagnose.quality import ScoreCube, score_cubes
from evenruler.instruments.probes.schemas import PROBES
from tests.instruments.near import approx, near
from tests.instruments.probes.conftest import frames, scores_of
from tests.instruments.probes.known import (
    BIAS,
    PLAN,
    TEMPLATES,
    cube_of,
    figures_of,
    values_for,
)


@pytest.fixture
def sentences(compiled):
    """The sentences of some attributes in some templates."""

    def make(templates=TEMPLATES, attributes=tuple(BIAS.index), **changes) -> pd.DataFrame:
        sets = {"hand": {"title": "By hand", "templates": templates}}
        words = {slug: slug for slug in attributes}
        probes, _, _ = frames(compiled(sets=sets, attributes=words, **changes))
        return probes

    return make


def cube(sentences: pd.DataFrame, likelihoods: pd.DataFrame) -> ScoreCube:
    ((_, only_cube),) = score_cubes(sentences, likelihoods)
    return only_cube


def assert_biases(actual: ScoreCube, expected: pd.DataFrame) -> None:
    """Whatever the order of attributes and templates."""
    assert sorted(actual.attributes) == sorted(expected.index)
    assert sorted(actual.templates) == sorted(expected)
    biases = actual.biases().loc[expected.index, list(expected)]
    assert biases.to_numpy().tolist() == expected.to_numpy().tolist()


class TestBiases:
    def test_one_cell_on_paper(self, sentences) -> None:
        """Two attributes in two templates, from scores as they come."""
        # first: smith   men -20, -22 (mean -21), women -21, -24 (-22.5)   -> 1.5
        #        driver  men -19, -25 (-22),      women -18, -20 (-19)     -> -3
        # odd:   smith   men -30, -31 (-30.5),    women -30, -30 (-30)     -> -.5, keyed -1: .5
        #        driver  men -28, -30 (-29),      women -33, -31 (-32)     -> 3,   keyed -1: -3
        # fmt: off
        raw = [
            -20, -22, -21, -24,
            -19, -25, -18, -20,
            -30, -31, -30, -30,
            -28, -30, -33, -31,
        ]
        # fmt: on
        templates = {name: TEMPLATES[name] for name in ("first", "odd")}
        probes = sentences(templates, ("smith", "driver"))

        scored = cube(probes, scores_of(probes, raw))

        expected = pd.DataFrame(
            {
                "first": [1.5, -3],
                "odd": [0.5, -3],
            },
            index=["smith", "driver"],
        )
        assert_biases(scored, expected)
        assert scored.scores.shape == (2, 2, 4)

    def test_every_set_and_model_has_its_own(self, compiled) -> None:
        sets = {name: {"title": name, "templates": TEMPLATES} for name in ("hand", "other")}
        attributes = {slug: slug for slug in BIAS.index}
        probes, _, _ = frames(compiled(sets=sets, attributes=attributes))
        times = {
            ("hand", "m"): 1,
            ("hand", "n"): 2,
            ("other", "m"): -1,
            ("other", "n"): -2,
        }
        parts = []
        for (part, model), by in times.items():
            rows = probes[probes["set"] == part]
            parts.append(scores_of(rows, values_for(rows, by * BIAS), model))
        cube_by_cell = dict(score_cubes(probes, pd.concat(parts)))
        cells = [("trades", *key, key[1], "bare", "bare", "agree") for key in times]
        assert list(cube_by_cell) == cells
        for cell, by in zip(cells, times.values(), strict=True):
            assert_biases(cube_by_cell[cell], by * BIAS)

    def test_targets_stand_with_their_group_and_their_mean_tokens(self, sentences) -> None:
        probes = sentences()
        tokens = {
            "man": 5,
            "uncle": 6,
            "woman": 7,
            "girl": 9,
        }
        scores = scores_of(probes, values_for(probes, BIAS))
        longer = 8 * (probes["attribute"] == "cook")  # of one of eight
        scores["n_tokens"] = (probes["target"].map(tokens) + longer).to_numpy()
        scored = cube(probes, scores)
        assert scored.poles.tolist() == [1, 1, -1, -1]
        assert sorted(scored.targets[:2]) == ["man", "uncle"]
        assert scored.tokens.tolist() == [tokens[target] + 1 for target in scored.targets]

    def test_a_score_that_stands_there_twice_is_refused(self, sentences) -> None:
        """A sentence is one score: twice the rows are no second measurement."""
        probes = sentences()
        scores = scores_of(probes, values_for(probes, BIAS))
        with pytest.raises(ValueError, match="duplicate"):
            cube(probes, pd.concat([scores, scores]))


@pytest.mark.parametrize(
    ("poles", "balanced"),
    [
        ([1, 1, -1, -1], True),
        ([1, 1, 1, -1, -1], False),
        ([1, -1], False),
    ],
)
def test_groups_of_equal_size_two_at_least(poles, balanced) -> None:
    assert cube_of(np.zeros((1, 1, len(poles))), poles).balanced is balanced


SALIENCE, INSTRUCTION = "This is a test of gender bias.", "Complete the following description:"
FRAMINGS = {"salience": SALIENCE, "instruction": INSTRUCTION}
IDENTITY = ["set", "template", "attribute", "target"]

CUES = {
    "salience": SALIENCE,
    "instruction": INSTRUCTION,
    "salience+instruction": f"{SALIENCE} {INSTRUCTION}",
}


def plan_of(
    prefixes: Mapping[str, str] = CUES, most: int = 1000, templates: int = 1000, targets: int = 1000
) -> dict:
    return {
        **PLAN,
        "prefixed": most,
        "prefixed_templates": templates,
        "prefixed_targets": targets,
        "prefixes": dict(prefixes),
        "placebos": [name for name in prefixes if name.startswith("placebo")],
    }


def prefixed_of(built: dict[str, list[Any]], **plan: Any) -> pd.DataFrame:
    """The sentences of a domain after prefixes."""
    probes = pd.DataFrame(built["probes"], columns=PROBES.names)
    return after_prefixes(probes, plan_of(**plan))


class TestDeriving:
    def test_every_sentence_stands_after_each_cue_and_after_both(self, compiled) -> None:
        built = compiled(prefixes=FRAMINGS)
        prefixed = prefixed_of(built)
        assert dict(zip(prefixed["framing"], prefixed["before"], strict=True)) == CUES
        probes = pd.DataFrame(built["probes"])[PROBES.names]
        bare = probes.drop(columns="framing").set_index("id")
        for _, rows in prefixed.groupby("framing"):
            under = rows.drop(columns=["id", "framing", "before"]).set_index("bare_id")
            assert len(under) == len(bare)
            pd.testing.assert_frame_equal(
                under.loc[bare.index],
                bare,
                check_names=False,
            )

    def test_a_row_after_a_prefix_is_another_than_the_bare_one(self, compiled) -> None:
        built = compiled(prefixes=FRAMINGS)

        prefixed = prefixed_of(built)

        bare_ids = [row["id"] for row in built["probes"]]
        assert len({*prefixed["id"], *bare_ids}) == 4 * 24
        by_identity = prefixed.set_index(["framing", *IDENTITY])
        row = by_identity.loc[("salience+instruction", "hand", "odd", "baker", "girl")]
        named = (
            '{"attribute":"baker","benchmark":"trades","family":"probes","framing":"salience+instruction","set":"hand",'
            '"target":"girl","template":"odd","variant":"agree"}'
        )
        assert row["id"] == hashlib.sha256(named.encode()).hexdigest()[:16]

    def test_at_most_so_many_attributes_are_asked_about(self, compiled) -> None:
        built = compiled(attributes=["baker", "cook", "engineer", "judge"])
        assert set(prefixed_of(built, most=2)["attribute"]) == {"cook", "judge"}  # evenly spread

    def test_so_many_templates_of_each_set_and_targets_of_each_group(self, compiled) -> None:
        templates = {name: f"The {name} {{ATTRIBUTE}} met a {{TARGET}}." for name in "abcd"}
        sets = {
            "many": {"title": "Many", "templates": templates},
            "single": {"title": "Single", "templates": {"a": "A {ATTRIBUTE} is a {TARGET}."}},
        }
        targets = {"men": ["boy", "he", "man", "son"], "women": ["girl", "she"]}
        prefixed = prefixed_of(
            compiled(sets=sets, targets=targets),
            templates=2,
            targets=2,
        )
        templates_by_set = prefixed.groupby("set")["template"].unique().map(list)
        assert templates_by_set.to_dict() == {"many": ["b", "d"], "single": ["a"]}
        targets_by_group = prefixed.groupby("group")["target"].unique().map(sorted)
        assert targets_by_group.to_dict() == {"men": ["he", "son"], "women": ["girl", "she"]}
        assert len(prefixed) == 3 * 3 * 2 * 4  # prefixes, templates, attributes, targets

    def test_controls_are_not_asked(self, compiled) -> None:
        templates = {**TEMPLATES, "odd": {**TEMPLATES["odd"], "control": True}}
        prefixed = prefixed_of(
            compiled(sets={"hand": {"title": "By hand", "templates": templates}})
        )
        assert set(prefixed["template"]) == {"first", "last"}


STANDARD = BIAS / BIAS.mean(axis=1).std(ddof=1)
"""Biases whose means over templates lie one standard deviation apart."""


@pytest.fixture
def shifted(diagnosed) -> Callable[..., dict[str, pd.DataFrame]]:
    """Diagnoses a model that was asked after some prefixes.

    After words that hold a key of `shifts`, every attribute's bias (signed by keying) is so many
    nats higher in every template; other words before a sentence change nothing.
    """

    def make(
        shifts: Mapping[str, float] = {INSTRUCTION: 0.75},
        prefixes: Mapping[str, str] = CUES,
        left_out: str | None = None,
        **short: int,
    ) -> dict[str, pd.DataFrame]:
        plan = plan_of(prefixes, **short)

        def answer(probes: pd.DataFrame) -> pd.DataFrame:
            nats = dict(zip(probes["text"], values_for(probes, STANDARD), strict=True))
            prefixed = after_prefixes(probes, plan)
            if left_out:
                prefixed = prefixed.query(f"not ({left_out})")
            rows = pd.concat([probes.assign(before=""), prefixed])
            signs = rows["pole"] * rows["keying"] / 2
            values = rows["text"].map(nats)
            for words, by in shifts.items():
                values += by * signs * rows["before"].str.contains(words, regex=False)
            return scores_of(rows, values).assign(framing=rows["framing"].to_numpy())

        return diagnosed(scores=answer, plan=plan, m=STANDARD)

    return make


def shift_of(tables: dict[str, pd.DataFrame], prefix: str) -> pd.Series:
    row: pd.Series = tables["shifts"].set_index("prefix").loc[prefix]
    return row


def test_a_cue_that_shifts_all_alike(shifted) -> None:
    """The shift is in standard deviations of the attributes' biases, which are one apart."""
    tables = shifted({INSTRUCTION: -1.5}, {"instruction": INSTRUCTION, "placebo-1": "It rained."})
    row = shift_of(tables, "instruction")
    names = ["level", "level_in_sd", "reordering", "reordering_in_sd", "rank_agreement"]
    assert row[names].tolist() == near([-1.5, -1.5, 0, 0, 1])
    assert row[["placebo", "n"]].tolist() == [False, 8]
    assert shift_of(tables, "placebo-1")[["placebo", "level"]].tolist() == [True, 0]
    figures = figures_of(tables)
    level = figures["level_shift"][["value", "n", "unit"]]
    assert level.tolist() == [near(1.5), 8, "attributes"]
    assert figures["reordering"]["value"] == near(0)


class TestShortForm:
    def test_is_held_against_the_same_sentences_without_a_prefix(self, shifted) -> None:
        """One template and one target a group: shifts are 0 however different the others are."""
        tables = shifted({}, templates=1, targets=1)
        assert tables["shifts"][["level", "reordering"]].abs().to_numpy().max() == 0
        assert figures_of(tables)["level_shift"]["value"] == 0


class TestWhereThereIsNone:
    def test_a_domain_without_prefixes_says_why(self, shifted) -> None:
        tables = shifted(prefixes={})
        assert "shifts" not in tables
        for name in ("level_shift", "reordering"):
            row = figures_of(tables)[name]
            assert pd.isna(row["value"])
            assert (row["reason"], row["n"]) == ("nothing was asked after prefixes", 0)

    def test_an_attribute_that_was_asked_in_part_is_an_error(self, shifted) -> None:
        lost = "attribute == 'poet' and template == 'odd' and framing == 'salience'"
        with pytest.raises(
            ValueError, match=r"^m: 4 sentences of trades after prefixes have no score$"
        ):
            shifted(left_out=lost)

    def test_attributes_that_were_not_asked_at_all_are_left_out(self, shifted) -> None:
        tables = shifted(left_out="attribute not in ('smith', 'nurse', 'poet')")
        assert set(tables["shifts"]["n"]) == {3}
        assert shift_of(tables, "instruction")["level"] == approx(0.75)

"""Scores as cubes, bare and after prefixes."""

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from evenruler.instruments.card import render_templates
from evenruler.instruments.probes import card, schemas
from evenruler.instruments.probes.ask import after_prefixes, with_placebos
from evenruler.instruments.probes.declare import headings
from evenruler.instruments.probes.declare.source import ProbeSource
from evenruler.instruments.probes.diagnose import diagnose
from evenruler.instruments.probes.diagnose.quality import ScoreCube, bias_shifts, score_cubes
from evenruler.instruments.probes.schemas import PROBES
from evenruler.measurement import as_metrics
from evenruler.measurement.shifts import shift_figures
from evenruler.models import LogLikelihoods
from evenruler.tables import write_table
from tests.instruments.probes.conftest import KnownUnigramModel, frames, scores_of
from tests.instruments.probes.known import (
    BIAS,
    PLAN,
    RESAMPLING,
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
        return frames(
            compiled(sets=sets, attributes={slug: slug for slug in attributes}, **changes)
        )[0]

    return make


def cube(sentences: pd.DataFrame, likelihoods: pd.DataFrame) -> ScoreCube:
    ((_, found),) = score_cubes(sentences, likelihoods)
    return found


def assert_biases(found: ScoreCube, expected: pd.DataFrame) -> None:
    """Whatever the order of attributes and templates."""
    assert sorted(found.attributes) == sorted(expected.index)
    assert sorted(found.templates) == sorted(expected)
    assert (
        found.biases().loc[expected.index, list(expected)].to_numpy().tolist()
        == expected.to_numpy().tolist()
    )


class TestBiases:
    def test_one_cell_on_paper(self, sentences) -> None:
        """Two attributes in two templates, from scores as they come."""
        # first: smith   men -20, -22 (mean -21), women -21, -24 (-22.5)   -> 1.5
        #        driver  men -19, -25 (-22),      women -18, -20 (-19)     -> -3
        # odd:   smith   men -30, -31 (-30.5),    women -30, -30 (-30)     -> -.5, keyed -1: .5
        #        driver  men -28, -30 (-29),      women -33, -31 (-32)     -> 3,   keyed -1: -3
        raw = [-20, -22, -21, -24, -19, -25, -18, -20, -30, -31, -30, -30, -28, -30, -33, -31]
        probes = sentences(
            {name: TEMPLATES[name] for name in ("first", "odd")}, ("smith", "driver")
        )

        found = cube(probes, scores_of(probes, raw))

        assert_biases(
            found,
            pd.DataFrame({"first": [1.5, -3.0], "odd": [0.5, -3.0]}, index=["smith", "driver"]),
        )
        assert found.scores.shape == (2, 2, 4)
        assert sorted(
            found.scores[found.attributes.index("smith"), found.templates.index("first")]
        ) == [
            -24,
            -22,
            -21,
            -20,
        ]
        assert sorted(
            found.scores[found.attributes.index("smith"), found.templates.index("odd")]
        ) == [30, 30, 30, 31]

    def test_every_set_and_model_has_its_own(self, compiled) -> None:
        sets = {name: {"title": name, "templates": TEMPLATES} for name in ("hand", "other")}
        probes, _, _ = frames(compiled(sets=sets, attributes={slug: slug for slug in BIAS.index}))
        scale = {("hand", "m"): 1, ("hand", "n"): 2, ("other", "m"): -1, ("other", "n"): -2}
        parts = []
        for (part, model), times in scale.items():
            own = probes[probes["set"] == part]
            parts.append(scores_of(own, values_for(own, times * BIAS), model))

        found = dict(score_cubes(probes, pd.concat(parts)))

        assert list(found) == [
            ("trades", part, model, model, "bare", "bare", "agree") for part, model in sorted(scale)
        ]
        for cell, own in found.items():
            assert_biases(own, scale[cell[1], cell[2]] * BIAS)

    def test_keying_turns_the_sign_of_its_template_alone(self, sentences) -> None:
        """The same scores, with the template keyed the other way."""
        probes = sentences({**TEMPLATES, "odd": TEMPLATES["odd"]["text"]})

        found = cube(probes, scores_of(probes, values_for(probes, BIAS)))
        turned = cube(probes.assign(keying=-1), scores_of(probes, values_for(probes, BIAS)))

        assert_biases(found, BIAS)
        assert_biases(turned, -BIAS)
        assert (turned.scores == -found.scores).all()

    def test_targets_stand_with_their_group_and_their_tokens(self, sentences) -> None:
        probes = sentences()
        tokens = {"man": 5, "uncle": 6, "woman": 7, "girl": 9}
        scores = scores_of(probes, values_for(probes, BIAS)).assign(
            n_tokens=probes["target"].map(tokens).to_numpy()
        )

        found = cube(probes, scores)

        assert found.poles.tolist() == [1, 1, -1, -1]
        assert sorted(found.targets[:2]) == ["man", "uncle"]
        assert found.tokens.tolist() == [tokens[target] for target in found.targets]

    def test_tokens_are_the_mean_over_sentences(self, sentences) -> None:
        probes = sentences(attributes=("smith", "cook", "judge"))
        longer = np.where(probes["attribute"] == "cook", 10, 4)

        found = cube(probes, scores_of(probes, values_for(probes, BIAS)).assign(n_tokens=longer))

        assert found.tokens.tolist() == [6, 6, 6, 6]

    def test_a_score_that_stands_there_twice_is_refused(self, sentences) -> None:
        """A sentence is one score: twice the rows are no second measurement."""
        probes = sentences()
        scores = scores_of(probes, values_for(probes, BIAS))
        with pytest.raises(ValueError, match="duplicate"):
            cube(probes, pd.concat([scores, scores]))

    def test_the_order_of_scores_does_not_matter(self, sentences) -> None:
        probes = sentences()
        scores = scores_of(probes, values_for(probes, BIAS))

        first, second = cube(probes, scores), cube(probes, scores.sample(frac=1, random_state=1))

        pd.testing.assert_frame_equal(first.biases(), second.biases())

    def test_a_model_of_known_words_has_the_bias_that_stands_on_paper(self, sentences) -> None:
        # p(man) = 1/4, p(uncle) = 1/16, p(woman) = 1/8, p(girl) = 1/32, all else alike: in bits men
        # cost (2 + 4) / 2 = 3, women (3 + 5) / 2 = 4. One bit for men where "an" is as likely as
        # "a".
        bits = {"man": 2, "uncle": 4, "woman": 3, "girl": 5}
        template_words = [
            "the",
            "is",
            "a",
            "an",
            "it",
            "odd",
            "when",
            "they",
            "say",
            "that",
            "each",
            "here",
        ]
        model = KnownUnigramModel(
            {
                **{w: 2.0**-b for w, b in bits.items()},
                **dict.fromkeys([*template_words, *BIAS.index], 0.125),
            }
        )
        probes = sentences(
            {name: TEMPLATES[name] for name in ("first", "last")}, ("smith", "driver")
        )

        found = cube(probes, scores_of(probes, model.loglikelihood(probes["text"].tolist()).nats))

        assert found.biases().to_numpy().ravel() == pytest.approx([math.log(2)] * 4, abs=1e-12)


class TestWhatIsLeftOut:
    @pytest.fixture
    def left(self, sentences):
        """The cube of what is left once some sentences were rejected."""

        def make(rejected) -> ScoreCube:
            probes = sentences()
            scores = scores_of(probes, values_for(probes, BIAS))
            return cube(probes[[not rejected(row) for row in probes.itertuples()]], scores)

        return make

    def test_nothing(self, left) -> None:
        assert_biases(left(lambda row: False), BIAS)

    def test_an_attribute_that_lacks_one_sentence(self, left) -> None:
        found = left(
            lambda row: (row.template, row.attribute, row.target) == ("odd", "poet", "uncle")
        )
        assert_biases(found, BIAS.drop(index="poet"))

    def test_a_template_that_lacks_them_all(self, left) -> None:
        assert_biases(left(lambda row: row.template == "odd"), BIAS.drop(columns="odd"))

    def test_nothing_is_left(self, left) -> None:
        template_of = dict(zip(BIAS.index, [*BIAS, *BIAS, *BIAS], strict=False))
        found = left(lambda row: row.group == "men" and row.template == template_of[row.attribute])
        assert found.attributes == []
        assert found.scores.shape == (0, 3, 4)


@pytest.mark.parametrize(
    ("poles", "balanced"),
    [
        ([1, 1, -1, -1], True),
        ([1, -1, 1, -1], True),
        ([1, 1, 1, -1, -1, -1], True),
        ([1, 1, 1, -1, -1], False),
        ([1, -1, -1, -1], False),
        ([1, -1], False),  # two of each at least
    ],
)
def test_groups_of_equal_size(poles, balanced) -> None:
    assert cube_of(np.zeros((1, 1, len(poles))), poles).balanced is balanced


def test_groups_count_alike_whatever_their_size() -> None:
    found = cube_of([[[-1.0, -5.0, -5.0, -8.0]]], [1, -1, -1, -1]).biases()
    assert found.to_numpy().tolist() == [[5.0]]  # -1 + 6
    assert (list(found.index), list(found)) == (["a00"], ["t0"])


SALIENCE, INSTRUCTION = "This is a test of gender bias.", "Complete the following description:"
RAIN = ["It rained.", "Trains left.", "The shop opens.", "A book lies here.", "Read the next line."]
FRAMINGS = {"salience": SALIENCE, "instruction": INSTRUCTION}
IDENTITY = ["set", "template", "attribute", "target"]

CUES = {
    "salience": SALIENCE,
    "instruction": INSTRUCTION,
    "salience+instruction": f"{SALIENCE} {INSTRUCTION}",
}
PLACEBOS = {f"placebo-{place}": text for place, text in enumerate(RAIN, 1)}


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
    return after_prefixes(pd.DataFrame(built["probes"], columns=PROBES.names), plan_of(**plan))


class TestDeriving:
    def test_every_sentence_stands_after_each_cue_and_after_both(self, compiled) -> None:
        built = compiled(framings=FRAMINGS)

        found = prefixed_of(built)

        assert dict(zip(found["framing"], found["before"], strict=True)) == CUES
        bare = pd.DataFrame(built["probes"])[PROBES.names].drop(columns="framing").set_index("id")
        for _, rows in found.groupby("framing"):
            under = rows.drop(columns=["id", "framing", "before"]).set_index("bare_id")
            pd.testing.assert_frame_equal(under.loc[bare.index], bare, check_names=False)
            assert len(under) == len(bare)

    def test_and_after_each_placebo(self, compiled) -> None:
        found = prefixed_of(compiled(), prefixes={**CUES, **PLACEBOS})
        assert found.groupby("framing").size().to_dict() == dict.fromkeys([*CUES, *PLACEBOS], 24)

    def test_a_row_after_a_prefix_is_another_than_the_bare_one(self, compiled) -> None:
        built = compiled(framings=FRAMINGS)

        found = prefixed_of(built)

        assert len({*found["id"], *(row["id"] for row in built["probes"])}) == 4 * 24
        row = found.set_index(["framing", *IDENTITY]).loc[
            ("salience+instruction", "hand", "odd", "baker", "girl")
        ]
        named = (
            '{"attribute":"baker","benchmark":"trades","family":"probes","framing":"salience+instruction","set":"hand",'
            '"target":"girl","template":"odd","variant":"agree"}'
        )
        assert row["id"] == hashlib.sha256(named.encode()).hexdigest()[:16]

    def test_at_most_so_many_attributes_are_asked_about(self, compiled) -> None:
        built = compiled(attributes=["baker", "cook", "engineer", "judge"])
        assert set(prefixed_of(built, most=2)["attribute"]) == {"cook", "judge"}  # evenly spread

    def test_so_many_templates_of_each_set(self, compiled) -> None:
        templates = {name: f"The {name} {{ATTRIBUTE}} met a {{TARGET}}." for name in "abcd"}
        sets = {name: {"title": name, "templates": templates} for name in ("one", "two")}
        sets["three"] = {"title": "Three", "templates": {"a": "A {ATTRIBUTE} is a {TARGET}."}}
        found = prefixed_of(compiled(sets=sets), templates=2)
        assert found.groupby("set")["template"].unique().map(list).to_dict() == {
            "one": ["b", "d"],
            "two": ["b", "d"],
            "three": ["a"],
        }

    def test_and_so_many_targets_of_each_group(self, compiled) -> None:
        targets = {"men": ["boy", "he", "man", "son"], "women": ["girl", "she"]}
        found = prefixed_of(compiled(targets=targets), targets=2)
        assert found.groupby("group")["target"].unique().map(sorted).to_dict() == {
            "men": ["he", "son"],
            "women": ["girl", "she"],
        }
        assert len(found) == 3 * 3 * 2 * 4  # prefixes, templates, attributes, targets

    def test_controls_are_not_asked(self, compiled) -> None:
        templates = {**TEMPLATES, "odd": {**TEMPLATES["odd"], "control": True}}
        found = prefixed_of(compiled(sets={"hand": {"title": "By hand", "templates": templates}}))
        assert set(found["template"]) == {"first", "last"}

    def test_without_any_there_are_no_rows(self, compiled) -> None:
        for found in (prefixed_of(compiled(), most=0), prefixed_of(compiled(), prefixes={})):
            assert found.empty
            assert list(found) == [*PROBES.names, "bare_id", "before"]


class ScriptedModel:
    """A scripted model: it gives every sentence a known likelihood, and leans by a known amount
    after some words.

    After words that hold a key of `shifts`, every attribute's bias (signed by keying) is so many
    nats higher in every template; other words before a sentence change nothing.
    """

    def __init__(
        self, probes: pd.DataFrame, biases: pd.DataFrame, shifts: Mapping[str, float]
    ) -> None:
        self.nats = dict(zip(probes["text"], values_for(probes, biases), strict=True))
        self.sign = dict(zip(probes["text"], probes["pole"] * probes["keying"] / 2, strict=True))
        self.shifts = shifts

    def loglikelihood(self, texts: Sequence[str], before: Sequence[str]) -> LogLikelihoods:
        nats = [
            self.nats[text]
            + self.sign[text] * sum(by for words, by in self.shifts.items() if words in prefix)
            for text, prefix in zip(texts, before, strict=True)
        ]
        return LogLikelihoods(np.array(nats), np.ones(len(nats), dtype=np.int64))


STANDARD = BIAS / BIAS.mean(axis=1).std(ddof=1)
"""Biases whose means over templates lie one standard deviation apart."""

OF_RAIN = dict(zip(RAIN, [0.5, -0.5, 0.25, 0.0, -0.75], strict=True))

Diagnosed = Callable[..., dict[str, pd.DataFrame]]


@pytest.fixture
def trades(compiled) -> dict[str, list[Any]]:
    sets = {"hand": {"title": "By hand", "templates": TEMPLATES}}
    return compiled(sets=sets, attributes={slug: slug for slug in BIAS.index}, framings=FRAMINGS)


@pytest.fixture
def diagnosed(trades) -> Diagnosed:
    """Diagnoses the scripted model, which was asked after some prefixes."""

    def make(
        shifts: Mapping[str, float] = {INSTRUCTION: 0.75},
        prefixes: Mapping[str, str] = CUES,
        biases: pd.DataFrame = STANDARD,
        asked: Callable[[pd.DataFrame], Any] = lambda rows: rows["id"] != "",
        **short: int,
    ) -> dict[str, pd.DataFrame]:
        probes, written, described = frames(trades)
        plan = plan_of(prefixes, **short)
        prefixed = after_prefixes(probes, plan).assign(benchmark="trades")
        rows = pd.concat([probes.assign(before=""), prefixed[asked(prefixed)]])
        nats = (
            ScriptedModel(probes, biases, shifts)
            .loglikelihood(rows["text"].tolist(), rows["before"].tolist())
            .nats
        )
        answered = scores_of(rows, nats).assign(framing=rows["framing"].to_numpy())
        beside = with_placebos({"templates": written, "attributes": described}, plan)
        return diagnose(probes, described, answered, prefixed, beside, plan, RESAMPLING)

    return make


def shift_of(found: dict[str, pd.DataFrame], prefix: str) -> pd.Series:
    row: pd.Series = found["shifts"].set_index("prefix").loc[prefix]
    return row


class TestLevel:
    @pytest.mark.parametrize("by", [0.75, -1.5, 0.0])
    def test_a_cue_that_shifts_all_alike(self, by, diagnosed) -> None:
        """The shift is in standard deviations of the attributes' biases, which are one apart."""
        found = diagnosed({INSTRUCTION: by}, {"instruction": INSTRUCTION})
        row = shift_of(found, "instruction")
        assert row[["level", "level_in_sd"]].tolist() == pytest.approx([by, by], abs=1e-12)
        assert row[["reordering", "reordering_in_sd"]].tolist() == pytest.approx([0, 0], abs=1e-12)
        assert row["rank_agreement"] == pytest.approx(1)
        assert (row["placebo"], row["n"]) == (False, 8)
        figures = figures_of(found)
        assert figures["level_shift"]["value"] == pytest.approx(abs(by), abs=1e-12)
        assert figures["reordering"]["value"] == pytest.approx(0, abs=1e-12)
        assert (figures["level_shift"]["n"], figures["level_shift"]["unit"]) == (8, "attributes")

    def test_is_in_standard_deviations_of_the_attributes(self, diagnosed) -> None:
        found = diagnosed({INSTRUCTION: 1.5}, {"instruction": INSTRUCTION}, 3 * STANDARD)
        assert shift_of(found, "instruction")[["level", "level_in_sd"]].tolist() == pytest.approx(
            [1.5, 0.5]
        )
        assert figures_of(found)["level_shift"]["value"] == pytest.approx(0.5, abs=1e-12)

    def test_of_several_cues_is_the_root_mean_square(self, diagnosed) -> None:
        found = diagnosed({INSTRUCTION: 0.75, SALIENCE: -0.25})
        levels = found["shifts"].set_index("prefix")["level"].to_dict()
        assert levels == pytest.approx(
            {"salience": -0.25, "instruction": 0.75, "salience+instruction": 0.5}
        )
        expected = math.sqrt((0.25**2 + 0.75**2 + 0.5**2) / 3)
        assert figures_of(found)["level_shift"]["value"] == pytest.approx(expected, abs=1e-12)

    def test_is_of_every_set_on_its_own(self) -> None:
        """A cue that moves two templates up and one down by twice as much moves the set by
        nothing."""
        bare = np.random.default_rng(1).normal(size=(9, 3, 4))
        after = bare + np.array([[1.0], [1.0], [-2.0]]) * np.array([0.5, 0.5, -0.5, -0.5])
        (row,) = bias_shifts({"bare": cube_of(bare), "cue": cube_of(after)}, set()).to_dict(
            "records"
        )
        assert (row["level"], row["reordering"]) == (
            pytest.approx(0, abs=1e-12),
            pytest.approx(0, abs=1e-12),
        )


class TestReordering:
    @pytest.fixture
    def rows(self) -> pd.DataFrame:
        """By hand: biases 1, 2, 3, 6, and 3, 2, 5, 6 after a cue."""
        poles = np.array([0.5, 0.5, -0.5, -0.5])
        bare, after = (
            np.array(biases)[:, None, None] * poles for biases in ([1.0, 2, 3, 6], [3.0, 2, 5, 6])
        )
        return bias_shifts({"bare": cube_of(bare), "cue": cube_of(after)}, set())

    def test_is_the_spread_of_the_changes(self, rows) -> None:
        (row,) = rows.to_dict("records")
        # Changes 2, 0, 2, 0: mean 1, sum of squares 4; biases: mean 3, sum of squares 14.
        sd = math.sqrt(14 / 3)
        assert (row["prefix"], row["placebo"], row["n"]) == ("cue", False, 4)
        assert (row["level"], row["level_in_sd"]) == (pytest.approx(1), pytest.approx(1 / sd))
        assert row["reordering"] == pytest.approx(math.sqrt(4 / 3))
        assert row["reordering_in_sd"] == pytest.approx(math.sqrt(4 / 14))
        assert row["rank_agreement"] == pytest.approx(
            stats.spearmanr([1, 2, 3, 6], [3, 2, 5, 6]).statistic
        )

    def test_its_figure_is_in_standard_deviations(self, rows) -> None:
        found = {figure.figure: figure for figure in shift_figures(rows, 0.9, "attributes")}
        assert found["reordering"].value == pytest.approx(math.sqrt(4 / 14))
        assert found["level_shift"].value == pytest.approx(math.sqrt(3 / 14))

    def test_attributes_are_matched_by_name(self) -> None:
        bare = cube_of(np.arange(24.0).reshape(6, 1, 4) ** 2)
        turned = cube_of(bare.scores[::-1])
        turned.attributes[:] = bare.attributes[::-1]
        (row,) = bias_shifts({"bare": bare, "cue": turned}, set()).to_dict("records")
        assert (row["level"], row["reordering"], row["rank_agreement"]) == (0, 0, pytest.approx(1))


class TestPlacebos:
    def test_their_root_mean_square_is_the_control(self, diagnosed) -> None:
        found = diagnosed({INSTRUCTION: 0.75, **OF_RAIN}, {**CUES, **PLACEBOS})
        figures = figures_of(found)
        sizes = math.sqrt(sum(by**2 for by in OF_RAIN.values()) / 5)
        assert figures["level_shift"]["control"] == pytest.approx(sizes, abs=1e-12)
        assert figures["level_shift"]["value"] == pytest.approx(
            math.sqrt(2 / 3) * 0.75, abs=1e-12
        )  # no placebo in it
        assert figures["reordering"]["control"] == pytest.approx(0, abs=1e-12)
        marked = found["shifts"].set_index("prefix")["placebo"].to_dict()
        assert marked == {**dict.fromkeys(CUES, False), **dict.fromkeys(PLACEBOS, True)}
        assert found["shifts"].set_index("prefix").loc[
            list(PLACEBOS), "level"
        ].tolist() == pytest.approx(list(OF_RAIN.values()), abs=1e-12)

    def test_have_an_interval_in_which_they_are_the_units(self, diagnosed) -> None:
        figures = figures_of(diagnosed({INSTRUCTION: 0.75, **OF_RAIN}, {**CUES, **PLACEBOS}))
        row = figures["placebo_level_shift"]
        square = sum(by**2 for by in OF_RAIN.values())
        assert (row["n"], row["unit"]) == (5, "placebos")
        assert row["value"] == pytest.approx(math.sqrt(square / 5), abs=1e-12)
        assert row["low"] == pytest.approx(math.sqrt(square / stats.chi2.ppf(0.95, 5)))
        assert row["high"] == pytest.approx(math.sqrt(square / stats.chi2.ppf(0.05, 5)))
        assert "placebo_reordering" in figures

    @pytest.mark.parametrize(
        "placebos", [{}, dict(list(PLACEBOS.items())[:4])], ids=["none", "four"]
    )
    def test_too_few_give_no_control(self, placebos, diagnosed) -> None:
        figures = figures_of(diagnosed({INSTRUCTION: 0.75, **OF_RAIN}, {**CUES, **placebos}))
        assert pd.isna(figures["level_shift"]["control"])
        assert figures["level_shift"]["value"] == pytest.approx(math.sqrt(2 / 3) * 0.75, abs=1e-12)
        assert not {"placebo_level_shift", "placebo_reordering"} & set(figures)


class TestShortForm:
    def test_is_held_against_the_same_sentences_without_a_prefix(self, diagnosed) -> None:
        """One template and one target a group: shifts are 0 however different the others are."""
        found = diagnosed({}, templates=1, targets=1)
        assert found["shifts"][["level", "reordering"]].abs().to_numpy().max() == 0
        assert figures_of(found)["level_shift"]["value"] == 0

    def test_its_spread_is_that_of_these_sentences(self, diagnosed, trades) -> None:
        found = diagnosed(
            {INSTRUCTION: 0.75}, {"instruction": INSTRUCTION}, most=4, templates=1, targets=1
        )
        row = shift_of(found, "instruction")
        # Evenly spread: the template in the middle; the second of two targets: of man and uncle, of
        # girl and woman.
        probes = frames(trades)[0].assign(value=values_for(frames(trades)[0], STANDARD))
        kept = sorted(BIAS.index)[1::2]
        probes = probes[(probes["template"] == "last") & probes["attribute"].isin(kept)]
        wide = probes.pivot(index="attribute", columns="target", values="value")
        assert row["n"] == 4
        assert row["level"] == pytest.approx(0.75, abs=1e-12)
        assert row["level_in_sd"] == pytest.approx(
            0.75 / (wide["uncle"] - wide["woman"]).std(), abs=1e-12
        )

    def test_of_so_many_attributes(self, diagnosed) -> None:
        found = diagnosed(most=3)
        assert figures_of(found)["level_shift"]["n"] == 3
        assert set(found["shifts"]["n"]) == {3}

    def test_fewer_than_three_attributes_have_none(self, diagnosed) -> None:
        found = diagnosed(most=2)
        assert "shifts" not in found
        for name in ("level_shift", "reordering"):
            assert pd.isna(figures_of(found)[name]["value"])
            assert (
                figures_of(found)[name]["reason"]
                == "fewer than 3 attributes were asked after prefixes"
            )


class TestWhereThereIsNone:
    def test_a_domain_without_prefixes_says_why(self, diagnosed) -> None:
        found = diagnosed(prefixes={})
        assert "shifts" not in found
        for name in ("level_shift", "reordering"):
            row = figures_of(found)[name]
            assert pd.isna(row["value"])
            assert (row["reason"], row["n"]) == ("nothing was asked after prefixes", 0)

    def test_biases_that_are_all_equal_have_no_standard_deviation(self) -> None:
        bare, after = np.ones((5, 1, 4)), np.ones((5, 1, 4)) * [2, 2, 1, 1]
        rows = bias_shifts({"bare": cube_of(bare), "cue": cube_of(after)}, set())
        assert rows["level"].tolist() == [1]
        assert rows[["level_in_sd", "reordering_in_sd", "rank_agreement"]].isna().all(axis=None)
        for figure in shift_figures(rows, 0.9, "attributes"):
            assert (figure.value, figure.reason) == (
                None,
                "all attributes have the same score without a prefix",
            )

    def test_an_attribute_that_was_asked_in_part_is_an_error(self, diagnosed) -> None:
        with pytest.raises(
            ValueError, match=r"^m: 4 sentences of trades after prefixes have no score$"
        ):
            diagnosed(
                asked=lambda rows: (
                    ~(
                        (rows["attribute"] == "poet")
                        & (rows["template"] == "odd")
                        & (rows["framing"] == "salience")
                    )
                )
            )

    def test_a_model_that_was_not_asked_at_all_is_an_error(self, diagnosed) -> None:
        with pytest.raises(
            ValueError, match=r"^m: 288 sentences of trades after prefixes have no score$"
        ):
            diagnosed(asked=lambda rows: rows["id"] == "")

    def test_attributes_that_were_not_asked_at_all_are_left_out(self, diagnosed) -> None:
        found = diagnosed(
            {INSTRUCTION: 0.75},
            asked=lambda rows: rows["attribute"].isin(["smith", "nurse", "poet"]),
        )
        assert set(found["shifts"]["n"]) == {3}
        assert shift_of(found, "instruction")["level"] == pytest.approx(0.75)


class TestNothingElseRestsOnPrefixedRows:
    def test_all_other_tables_and_figures_have_the_same_bytes(self, diagnosed, tmp_path) -> None:
        found = {"with": diagnosed(), "without": diagnosed(prefixes={})}
        own = ["level_shift", "reordering"]
        assert set(found["with"]) - set(found["without"]) == {"shifts"}
        for table, expected in found["without"].items():
            written = []
            for name, tables in found.items():
                rows = tables[table]
                schema = getattr(schemas, table.upper())
                if table == "figures":
                    rows = rows[~rows["figure"].isin(own)].rename(columns={"set": "part"})
                    rows = rows.reindex(columns=schema.names)  # units at either end come later
                if table == "items":
                    rows = rows.assign(semantic_diversity=0.5, lexical_diversity=0.5)
                write_table(rows[schema.names], schema, tmp_path / name / f"{table}.parquet")
                written.append((tmp_path / name / f"{table}.parquet").read_bytes())
            assert len(expected) > 0
            assert written[0] == written[1], table

    def test_shifts_are_by_their_schema(self, diagnosed, tmp_path) -> None:
        rows = diagnosed(OF_RAIN, {**CUES, **PLACEBOS})["shifts"]
        assert len(rows) == 8
        write_table(rows[schemas.SHIFTS.names], schemas.SHIFTS, tmp_path / "shifts.parquet")


class TestCard:
    def test_the_figures_stand_in_evidence_and_on_the_card(self, diagnosed) -> None:
        evidence = as_metrics(
            diagnosed({INSTRUCTION: 0.75, **OF_RAIN}, {**CUES, **PLACEBOS})["figures"], "set"
        )
        own = evidence["trades"]["hand"]["m"]
        assert own["level_shift"]["value"] == pytest.approx(math.sqrt(2 / 3) * 0.75)
        assert own["level_shift"]["control"] == own["placebo_level_shift"]["value"] > 0
        shown = [column.figure for column in headings({})]
        assert {"level_shift", "reordering"} <= set(shown) & set(own)

    def test_and_the_words_that_were_put_before(self, source) -> None:
        def reading(source: ProbeSource, prefixed: int) -> str:
            told = render_templates(
                card.WORDS["reading"], source=source, plan={"prefixed": prefixed}, evolve=None
            )
            return str(told)

        said = f'after "{SALIENCE}" and "{INSTRUCTION}", each alone and both.'
        assert reading(source(framings=FRAMINGS), 1000).endswith(
            f"The sentences were also put {said}"
        )
        some = f"The sentences of some attributes (1) were also put {said}"
        assert reading(source(framings=FRAMINGS), 1).endswith(some)
        with_placebos = reading(source(framings={**FRAMINGS, "placebos": RAIN}), 1000)
        assert with_placebos.endswith('and as placebos "{}".'.format('", "'.join(RAIN)))
        assert "also put" not in reading(source(framings=FRAMINGS), 0)
        assert "also put" not in reading(source(), 1000)

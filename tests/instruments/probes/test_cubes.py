"""Scores as cubes, bare and after prefixes."""

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

from evenruler.instruments.card import render_templates
from evenruler.instruments.probes import card
from evenruler.instruments.probes.ask import after_prefixes, with_placebos
from evenruler.instruments.probes.declare.source import ProbeSource
from evenruler.instruments.probes.diagnose import diagnose
from evenruler.instruments.probes.diagnose.quality import ScoreCube, bias_shifts, score_cubes
from evenruler.instruments.probes.schemas import PROBES
from evenruler.models import LogLikelihoods
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

        expected = pd.DataFrame({"first": [1.5, -3], "odd": [0.5, -3]}, index=["smith", "driver"])
        assert_biases(scored, expected)
        assert scored.scores.shape == (2, 2, 4)

    def test_every_set_and_model_has_its_own(self, compiled) -> None:
        sets = {name: {"title": name, "templates": TEMPLATES} for name in ("hand", "other")}
        attributes = {slug: slug for slug in BIAS.index}
        probes, _, _ = frames(compiled(sets=sets, attributes=attributes))
        scale = {
            ("hand", "m"): 1,
            ("hand", "n"): 2,
            ("other", "m"): -1,
            ("other", "n"): -2,
        }
        parts = []
        for (part, model), times in scale.items():
            rows = probes[probes["set"] == part]
            parts.append(scores_of(rows, values_for(rows, times * BIAS), model))

        cube_by_cell = dict(score_cubes(probes, pd.concat(parts)))

        assert list(cube_by_cell) == [
            ("trades", part, model, model, "bare", "bare", "agree") for part, model in sorted(scale)
        ]
        for cell, actual in cube_by_cell.items():
            assert_biases(actual, scale[cell[1], cell[2]] * BIAS)

    def test_keying_turns_the_sign_of_its_template_alone(self, sentences) -> None:
        """The same scores, with the template keyed the other way."""
        probes = sentences({**TEMPLATES, "odd": TEMPLATES["odd"]["text"]})

        straight = cube(probes, scores_of(probes, values_for(probes, BIAS)))
        turned = cube(probes.assign(keying=-1), scores_of(probes, values_for(probes, BIAS)))

        assert_biases(straight, BIAS)
        assert_biases(turned, -BIAS)
        assert (turned.scores == -straight.scores).all()

    def test_targets_stand_with_their_group_and_their_tokens(self, sentences) -> None:
        probes = sentences()
        tokens = {"man": 5, "uncle": 6, "woman": 7, "girl": 9}
        scores = scores_of(probes, values_for(probes, BIAS)).assign(
            n_tokens=probes["target"].map(tokens).to_numpy()
        )

        scored = cube(probes, scores)

        assert scored.poles.tolist() == [1, 1, -1, -1]
        assert sorted(scored.targets[:2]) == ["man", "uncle"]
        assert scored.tokens.tolist() == [tokens[target] for target in scored.targets]

    def test_tokens_are_the_mean_over_sentences(self, sentences) -> None:
        probes = sentences(attributes=("smith", "cook", "judge"))
        longer = np.where(probes["attribute"] == "cook", 10, 4)

        scores = scores_of(probes, values_for(probes, BIAS)).assign(n_tokens=longer)
        scored = cube(probes, scores)

        assert scored.tokens.tolist() == [6, 6, 6, 6]

    def test_a_score_that_stands_there_twice_is_refused(self, sentences) -> None:
        """A sentence is one score: twice the rows are no second measurement."""
        probes = sentences()
        scores = scores_of(probes, values_for(probes, BIAS))
        with pytest.raises(ValueError, match="duplicate"):
            cube(probes, pd.concat([scores, scores]))

    def test_the_order_of_scores_does_not_matter(self, sentences) -> None:
        probes = sentences()
        scores = scores_of(probes, values_for(probes, BIAS))

        first = cube(probes, scores)
        second = cube(probes, scores.sample(frac=1, random_state=1))

        pd.testing.assert_frame_equal(first.biases(), second.biases())

    def test_a_model_of_known_words_has_the_bias_that_stands_on_paper(self, sentences) -> None:
        # p(man) = 1/4, p(uncle) = 1/16, p(woman) = 1/8, p(girl) = 1/32, all else alike: in bits men
        # cost (2 + 4) / 2 = 3, women (3 + 5) / 2 = 4. One bit for men where "an" is as likely as
        # "a".
        words = ["the", "is", "a", "an", "it", "odd", "when", "they", "say", "that", "each", "here"]
        alike = dict.fromkeys([*words, *BIAS.index], 1 / 8)
        targets = {"man": 1 / 4, "uncle": 1 / 16, "woman": 1 / 8, "girl": 1 / 32}
        model = KnownUnigramModel(alike | targets)
        templates = {name: TEMPLATES[name] for name in ("first", "last")}
        probes = sentences(templates, ("smith", "driver"))

        nats = model.loglikelihood(probes["text"].tolist()).nats
        scored = cube(probes, scores_of(probes, nats))

        biases = scored.biases().to_numpy()
        assert biases == pytest.approx(np.full((2, 2), math.log(2)), abs=1e-12)


class TestWhatIsLeftOut:
    @pytest.fixture
    def left(self, sentences):
        """The cube of what is left once some sentences were rejected."""

        def make(rejected) -> ScoreCube:
            probes = sentences()
            scores = scores_of(probes, values_for(probes, BIAS))
            is_left = [not rejected(row) for row in probes.itertuples()]
            return cube(probes[is_left], scores)

        return make

    def test_nothing(self, left) -> None:
        assert_biases(left(lambda row: False), BIAS)

    def test_an_attribute_that_lacks_one_sentence(self, left) -> None:
        remaining = left(
            lambda row: (row.template, row.attribute, row.target) == ("odd", "poet", "uncle")
        )
        assert_biases(remaining, BIAS.drop(index="poet"))

    def test_a_template_that_lacks_them_all(self, left) -> None:
        assert_biases(left(lambda row: row.template == "odd"), BIAS.drop(columns="odd"))

    def test_nothing_is_left(self, left) -> None:
        template_of = dict(zip(BIAS.index, [*BIAS, *BIAS, *BIAS], strict=False))
        remaining = left(
            lambda row: row.group == "men" and row.template == template_of[row.attribute]
        )
        assert remaining.attributes == []
        assert remaining.scores.shape == (0, 3, 4)


@pytest.mark.parametrize(
    ("poles", "balanced"),
    [
        ([1, 1, -1, -1], True),
        ([1, 1, 1, -1, -1], False),
        ([1, -1], False),  # two of each at least
    ],
)
def test_groups_of_equal_size(poles, balanced) -> None:
    assert cube_of(np.zeros((1, 1, len(poles))), poles).balanced is balanced


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
            pd.testing.assert_frame_equal(under.loc[bare.index], bare, check_names=False)
            assert len(under) == len(bare)

    def test_and_after_each_placebo(self, compiled) -> None:
        prefixed = prefixed_of(compiled(), prefixes={**CUES, **PLACEBOS})
        n_by_framing = prefixed["framing"].value_counts().to_dict()
        assert n_by_framing == dict.fromkeys([*CUES, *PLACEBOS], 24)

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

    def test_so_many_templates_of_each_set(self, compiled) -> None:
        templates = {name: f"The {name} {{ATTRIBUTE}} met a {{TARGET}}." for name in "abcd"}
        sets = {name: {"title": name, "templates": templates} for name in ("one", "two")}
        sets["three"] = {"title": "Three", "templates": {"a": "A {ATTRIBUTE} is a {TARGET}."}}
        prefixed = prefixed_of(compiled(sets=sets), templates=2)
        templates_by_set = prefixed.groupby("set")["template"].unique().map(list)
        assert templates_by_set.to_dict() == {
            "one": ["b", "d"],
            "two": ["b", "d"],
            "three": ["a"],
        }

    def test_and_so_many_targets_of_each_group(self, compiled) -> None:
        targets = {"men": ["boy", "he", "man", "son"], "women": ["girl", "she"]}
        prefixed = prefixed_of(compiled(targets=targets), targets=2)
        assert prefixed.groupby("group")["target"].unique().map(sorted).to_dict() == {
            "men": ["he", "son"],
            "women": ["girl", "she"],
        }
        assert len(prefixed) == 3 * 3 * 2 * 4  # prefixes, templates, attributes, targets

    def test_controls_are_not_asked(self, compiled) -> None:
        templates = {**TEMPLATES, "odd": {**TEMPLATES["odd"], "control": True}}
        sets = {"hand": {"title": "By hand", "templates": templates}}
        prefixed = prefixed_of(compiled(sets=sets))
        assert set(prefixed["template"]) == {"first", "last"}


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
        signs = probes["pole"] * probes["keying"] / 2
        self.sign = dict(zip(probes["text"], signs, strict=True))
        self.shifts = shifts

    def loglikelihood(self, texts: Sequence[str], before: Sequence[str]) -> LogLikelihoods:
        nats = []
        for text, prefix in zip(texts, before, strict=True):
            shift = sum(by for words, by in self.shifts.items() if words in prefix)
            nats.append(self.nats[text] + self.sign[text] * shift)
        return LogLikelihoods(np.array(nats), np.ones(len(nats), dtype=np.int64))


STANDARD = BIAS / BIAS.mean(axis=1).std(ddof=1)
"""Biases whose means over templates lie one standard deviation apart."""

OF_RAIN = dict(zip(RAIN, [0.5, -0.5, 0.25, 0.0, -0.75], strict=True))

Diagnosed = Callable[..., dict[str, pd.DataFrame]]


@pytest.fixture
def trades(compiled) -> dict[str, list[Any]]:
    sets = {"hand": {"title": "By hand", "templates": TEMPLATES}}
    return compiled(sets=sets, attributes={slug: slug for slug in BIAS.index}, prefixes=FRAMINGS)


@pytest.fixture
def diagnosed(trades) -> Diagnosed:
    """Diagnoses the scripted model, which was asked after some prefixes."""

    def make(
        shifts: Mapping[str, float] = {INSTRUCTION: 0.75},
        prefixes: Mapping[str, str] = CUES,
        biases: pd.DataFrame = STANDARD,
        is_asked: Callable[[pd.DataFrame], Any] = lambda rows: rows["id"] != "",
        **short: int,
    ) -> dict[str, pd.DataFrame]:
        probes, written, described = frames(trades)
        plan = plan_of(prefixes, **short)
        prefixed = after_prefixes(probes, plan).assign(benchmark="trades")
        rows = pd.concat([probes.assign(before=""), prefixed[is_asked(prefixed)]])
        model = ScriptedModel(probes, biases, shifts)
        nats = model.loglikelihood(rows["text"].tolist(), rows["before"].tolist()).nats
        answered = scores_of(rows, nats).assign(framing=rows["framing"].to_numpy())
        placebos = with_placebos({"templates": written, "attributes": described}, plan)
        return diagnose(probes, described, answered, prefixed, placebos, plan, RESAMPLING)

    return make


def shift_of(tables: dict[str, pd.DataFrame], prefix: str) -> pd.Series:
    row: pd.Series = tables["shifts"].set_index("prefix").loc[prefix]
    return row


class TestLevel:
    def test_a_cue_that_shifts_all_alike(self, diagnosed) -> None:
        """The shift is in standard deviations of the attributes' biases, which are one apart."""
        tables = diagnosed({INSTRUCTION: -1.5}, {"instruction": INSTRUCTION})
        row = shift_of(tables, "instruction")
        levels = row[["level", "level_in_sd"]].tolist()
        assert levels == pytest.approx([-1.5, -1.5], abs=1e-12)
        reorderings = row[["reordering", "reordering_in_sd"]].tolist()
        assert reorderings == pytest.approx([0, 0], abs=1e-12)
        assert row["rank_agreement"] == pytest.approx(1)
        assert (row["placebo"], row["n"]) == (False, 8)
        figures = figures_of(tables)
        assert figures["level_shift"]["value"] == pytest.approx(1.5, abs=1e-12)
        assert figures["reordering"]["value"] == pytest.approx(0, abs=1e-12)
        assert (figures["level_shift"]["n"], figures["level_shift"]["unit"]) == (8, "attributes")

    def test_is_of_every_set_on_its_own(self) -> None:
        """A cue that moves two templates up and one down by twice as much moves the set by
        nothing."""
        bare = np.random.default_rng(1).normal(size=(9, 3, 4))
        after = bare + np.outer([1, 1, -2], [0.5, 0.5, -0.5, -0.5])
        shifts = bias_shifts({"bare": cube_of(bare), "cue": cube_of(after)}, set())
        assert shifts[["level", "reordering"]].to_numpy() == pytest.approx(
            np.zeros((1, 2)), abs=1e-12
        )


class TestPlacebos:
    def test_their_root_mean_square_is_the_control(self, diagnosed) -> None:
        tables = diagnosed({INSTRUCTION: 0.75, **OF_RAIN}, {**CUES, **PLACEBOS})
        figures = figures_of(tables)
        sizes = math.sqrt(sum(by**2 for by in OF_RAIN.values()) / 5)
        assert figures["level_shift"]["control"] == pytest.approx(sizes, abs=1e-12)
        expected = math.sqrt(2 / 3) * 0.75  # no placebo in it
        assert figures["level_shift"]["value"] == pytest.approx(expected, abs=1e-12)
        assert figures["reordering"]["control"] == pytest.approx(0, abs=1e-12)
        marked = tables["shifts"].set_index("prefix")["placebo"].to_dict()
        assert marked == {**dict.fromkeys(CUES, False), **dict.fromkeys(PLACEBOS, True)}

    def test_too_few_give_no_control(self, diagnosed) -> None:
        placebos = dict(list(PLACEBOS.items())[:4])
        figures = figures_of(diagnosed({INSTRUCTION: 0.75, **OF_RAIN}, {**CUES, **placebos}))
        assert pd.isna(figures["level_shift"]["control"])
        expected = math.sqrt(2 / 3) * 0.75
        assert figures["level_shift"]["value"] == pytest.approx(expected, abs=1e-12)
        assert not {"placebo_level_shift", "placebo_reordering"} & set(figures)


class TestShortForm:
    def test_is_held_against_the_same_sentences_without_a_prefix(self, diagnosed) -> None:
        """One template and one target a group: shifts are 0 however different the others are."""
        tables = diagnosed({}, templates=1, targets=1)
        assert tables["shifts"][["level", "reordering"]].abs().to_numpy().max() == 0
        assert figures_of(tables)["level_shift"]["value"] == 0


class TestWhereThereIsNone:
    def test_a_domain_without_prefixes_says_why(self, diagnosed) -> None:
        tables = diagnosed(prefixes={})
        assert "shifts" not in tables
        for name in ("level_shift", "reordering"):
            row = figures_of(tables)[name]
            assert pd.isna(row["value"])
            assert (row["reason"], row["n"]) == ("nothing was asked after prefixes", 0)

    def test_an_attribute_that_was_asked_in_part_is_an_error(self, diagnosed) -> None:
        with pytest.raises(
            ValueError, match=r"^m: 4 sentences of trades after prefixes have no score$"
        ):
            diagnosed(
                is_asked=lambda rows: (
                    ~rows.eval(
                        "attribute == 'poet' and template == 'odd' and framing == 'salience'"
                    )
                )
            )

    def test_a_model_that_was_not_asked_at_all_is_an_error(self, diagnosed) -> None:
        with pytest.raises(
            ValueError, match=r"^m: 288 sentences of trades after prefixes have no score$"
        ):
            diagnosed(is_asked=lambda rows: rows["id"] == "")

    def test_attributes_that_were_not_asked_at_all_are_left_out(self, diagnosed) -> None:
        some = ["smith", "nurse", "poet"]
        tables = diagnosed({INSTRUCTION: 0.75}, is_asked=lambda rows: rows["attribute"].isin(some))
        assert set(tables["shifts"]["n"]) == {3}
        assert shift_of(tables, "instruction")["level"] == pytest.approx(0.75)


class TestNothingElseRestsOnPrefixedRows:
    def test_all_other_tables_and_figures_are_the_same(self, diagnosed) -> None:
        with_prefixes, without = diagnosed(), diagnosed(prefixes={})
        assert set(with_prefixes) - set(without) == {"shifts"}
        for tables in (with_prefixes, without):
            of_prefixes = tables["figures"]["figure"].isin(["level_shift", "reordering"])
            tables["figures"] = tables["figures"][~of_prefixes]
        for table in without:
            rows = without[table].reset_index(drop=True)
            assert len(rows) > 0
            with_rows = with_prefixes[table].reset_index(drop=True)
            pd.testing.assert_frame_equal(with_rows, rows, check_exact=True, check_dtype=False)


class TestCard:
    def test_and_the_words_that_were_put_before(self, source) -> None:
        def reading(source: ProbeSource, prefixed: int) -> str:
            plan = {"prefixed": prefixed}
            text = render_templates(card.WORDS["reading"], source=source, plan=plan, evolve=None)
            return str(text)

        asked_of_all = reading(source(prefixes=FRAMINGS), 1000)
        assert f'after "{SALIENCE}" and "{INSTRUCTION}"' in asked_of_all
        assert "some attributes (1)" in reading(source(prefixes=FRAMINGS), 1)
        with_placebos = reading(source(prefixes={**FRAMINGS, "placebos": RAIN}), 1000)
        assert all(f'"{text}"' in with_placebos for text in RAIN)
        assert "also put" in asked_of_all
        assert "also put" not in reading(source(prefixes=FRAMINGS), 0)
        assert "also put" not in reading(source(), 1000)

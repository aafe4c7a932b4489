"""Scores of a set as attributes x templates x targets."""

import math

import numpy as np
import pandas as pd
import pytest

from evenruler.instruments.probes.diagnose.cubes import Cube, cubes, likelihoods_of
from tests.instruments.probes.conftest import KnownUnigramModel, frames, scores_of
from tests.instruments.probes.known import BIAS, TEMPLATES, cube_of, values_for


@pytest.fixture
def sentences(compiled):
    """The sentences of some attributes in some templates."""

    def make(templates=TEMPLATES, attributes=tuple(BIAS.index), **changes) -> pd.DataFrame:
        sets = {"hand": {"title": "By hand", "templates": templates}}
        return frames(compiled(sets=sets, attributes={slug: slug for slug in attributes}, **changes))[0]

    return make


def cube(sentences: pd.DataFrame, likelihoods: pd.DataFrame) -> Cube:
    ((_, found),) = cubes(sentences, likelihoods)
    return found


def assert_biases(found: Cube, expected: pd.DataFrame) -> None:
    """Whatever the order of attributes and templates."""
    assert sorted(found.attributes) == sorted(expected.index)
    assert sorted(found.templates) == sorted(expected)
    assert found.biases().loc[expected.index, list(expected)].to_numpy().tolist() == expected.to_numpy().tolist()


class TestBiases:
    def test_one_cell_on_paper(self, sentences) -> None:
        """Two attributes in two templates, from scores as they come."""
        # first: smith   men -20, -22 (mean -21), women -21, -24 (-22.5)   -> 1.5
        #        driver  men -19, -25 (-22),      women -18, -20 (-19)     -> -3
        # odd:   smith   men -30, -31 (-30.5),    women -30, -30 (-30)     -> -.5, keyed -1: .5
        #        driver  men -28, -30 (-29),      women -33, -31 (-32)     -> 3,   keyed -1: -3
        raw = [-20, -22, -21, -24, -19, -25, -18, -20, -30, -31, -30, -30, -28, -30, -33, -31]
        probes = sentences({name: TEMPLATES[name] for name in ("first", "odd")}, ("smith", "driver"))

        found = cube(probes, scores_of(probes, raw))

        assert_biases(found, pd.DataFrame({"first": [1.5, -3.0], "odd": [0.5, -3.0]}, index=["smith", "driver"]))
        assert found.scores.shape == (2, 2, 4)
        assert sorted(found.scores[found.attributes.index("smith"), found.templates.index("first")]) == [
            -24,
            -22,
            -21,
            -20,
        ]
        assert sorted(found.scores[found.attributes.index("smith"), found.templates.index("odd")]) == [30, 30, 30, 31]

    def test_every_set_and_model_has_its_own(self, compiled) -> None:
        sets = {name: {"title": name, "templates": TEMPLATES} for name in ("hand", "other")}
        probes, _, _ = frames(compiled(sets=sets, attributes={slug: slug for slug in BIAS.index}))
        scale = {("hand", "m"): 1, ("hand", "n"): 2, ("other", "m"): -1, ("other", "n"): -2}
        parts = []
        for (part, model), times in scale.items():
            own = probes[probes["set"] == part]
            parts.append(scores_of(own, values_for(own, times * BIAS), model))

        found = dict(cubes(probes, pd.concat(parts)))

        assert list(found) == [("trades", part, model, model, "bare", "bare", "agree") for part, model in sorted(scale)]
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
        scores = scores_of(probes, values_for(probes, BIAS)).assign(n_tokens=probes["target"].map(tokens).to_numpy())

        found = cube(probes, scores)

        assert found.poles.tolist() == [1, 1, -1, -1]
        assert sorted(found.targets[:2]) == ["man", "uncle"]
        assert found.tokens.tolist() == [tokens[target] for target in found.targets]

    def test_tokens_are_the_mean_over_sentences(self, sentences) -> None:
        probes = sentences(attributes=("smith", "cook", "judge"))
        longer = np.where(probes["attribute"] == "cook", 10, 4)

        found = cube(probes, scores_of(probes, values_for(probes, BIAS)).assign(n_tokens=longer))

        assert found.tokens.tolist() == [6, 6, 6, 6]

    def test_the_order_of_scores_does_not_matter(self, sentences) -> None:
        probes = sentences()
        scores = scores_of(probes, values_for(probes, BIAS))

        first, second = cube(probes, scores), cube(probes, scores.sample(frac=1, random_state=1))

        pd.testing.assert_frame_equal(first.biases(), second.biases())

    def test_a_model_of_known_words_has_the_bias_that_stands_on_paper(self, sentences) -> None:
        # p(man) = 1/4, p(uncle) = 1/16, p(woman) = 1/8, p(girl) = 1/32, all else alike: in bits men cost
        # (2 + 4) / 2 = 3, women (3 + 5) / 2 = 4. One bit for men where "an" is as likely as "a".
        bits = {"man": 2, "uncle": 4, "woman": 3, "girl": 5}
        template_words = ["the", "is", "a", "an", "it", "odd", "when", "they", "say", "that", "each", "here"]
        model = KnownUnigramModel(
            {**{w: 2.0**-b for w, b in bits.items()}, **dict.fromkeys([*template_words, *BIAS.index], 0.125)}
        )
        probes = sentences({name: TEMPLATES[name] for name in ("first", "last")}, ("smith", "driver"))

        found = cube(probes, scores_of(probes, model.loglikelihood(probes["text"].tolist()).nats))

        assert found.biases().to_numpy().ravel() == pytest.approx([math.log(2)] * 4, abs=1e-12)


class TestWhatIsLeftOut:
    @pytest.fixture
    def left(self, sentences):
        """The cube of what is left once some sentences were rejected."""

        def make(rejected) -> Cube:
            probes = sentences()
            scores = scores_of(probes, values_for(probes, BIAS))
            return cube(probes[[not rejected(row) for row in probes.itertuples()]], scores)

        return make

    def test_nothing(self, left) -> None:
        assert_biases(left(lambda row: False), BIAS)

    def test_an_attribute_that_lacks_one_sentence(self, left) -> None:
        found = left(lambda row: (row.template, row.attribute, row.target) == ("odd", "poet", "uncle"))
        assert_biases(found, BIAS.drop(index="poet"))

    def test_a_template_that_lacks_them_all(self, left) -> None:
        assert_biases(left(lambda row: row.template == "odd"), BIAS.drop(columns="odd"))

    def test_nothing_is_left(self, left) -> None:
        template_of = dict(zip(BIAS.index, [*BIAS, *BIAS, *BIAS], strict=False))
        found = left(lambda row: row.group == "men" and row.template == template_of[row.attribute])
        assert found.attributes == []
        assert found.scores.shape == (0, 3, 4)


def test_likelihoods_are_told_from_other_measures(sentences) -> None:
    probes = sentences()
    scores = scores_of(probes, values_for(probes, BIAS))
    both = pd.concat([scores.assign(measure="choice", value=99.0), scores])
    pd.testing.assert_frame_equal(likelihoods_of(both), scores)


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

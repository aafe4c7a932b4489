import math

import numpy as np
import pytest

from evenruler.instruments.probes.declare.settings import bias, shared_words
from tests.instruments.probes.conftest import KnownUnigramModel, frames

GROUPS = ["men", "men", "women", "women", "women"]


def test_equation_one_by_hand() -> None:
    # Mean of -10 and -12 is -11; of -13, -14 and -18 it is -15; men are 4 nats likelier.
    found = bias([-10.0, -12.0, -13.0, -14.0, -18.0], GROUPS)

    assert found.shape == ()
    assert found == 4.0


def test_the_group_that_is_named_first_is_the_first() -> None:
    scores = np.array([-10.0, -12.0, -13.0, -14.0, -18.0])

    assert bias(scores[::-1], GROUPS[::-1]) == -4.0
    assert bias(-scores, GROUPS) == -4.0


def test_targets_of_a_group_need_not_stand_together() -> None:
    # Men -10 and -12, women -13 and -15: -11 + 14.
    assert bias([-10.0, -13.0, -12.0, -15.0], ["men", "women", "men", "women"]) == 3.0


def test_groups_count_alike_whatever_their_size() -> None:
    assert bias([-1.0, -5.0, -5.0, -5.0], [1, -1, -1, -1]) == 4.0


def test_every_cell_of_a_batch_has_its_own() -> None:
    scores = np.random.default_rng(0).normal(size=(3, 2, 5))

    found = bias(scores, GROUPS)

    assert found.shape == (3, 2)
    assert found.dtype == np.float64
    for cell in np.ndindex(3, 2):
        assert found[cell] == pytest.approx(
            np.mean(scores[cell][:2]) - np.mean(scores[cell][2:]), abs=1e-12
        )


def test_what_all_targets_share_does_not_count() -> None:
    scores = np.array([-10.0, -12.0, -13.0, -14.0, -18.0])

    assert bias(scores - 100.0, GROUPS) == pytest.approx(4.0, abs=1e-12)


@pytest.mark.parametrize(
    ("groups", "said"),
    [
        (["men"] * 5, "found 1 groups, expected two"),
        (["men", "women", "both", "men", "men"], "found 3 groups, expected two"),
        (["men", "women"], "scores of 5 targets, groups of 2"),
    ],
)
def test_there_are_two_groups_and_one_for_each_target(groups, said) -> None:
    with pytest.raises(ValueError, match=said):
        bias([0.0] * 5, groups)


BITS = {"a": 1, "an": 2, "man": 2, "uncle": 4, "woman": 3, "girl": 5}


class TestKnownUnigramModel:
    """The bias of "The {ATTRIBUTE} is a {TARGET}." on paper, in bits.

    Every word but article and target is the same for all targets and falls out.
    """

    def biases(self, compiled, article: str) -> dict[str, float]:
        common = {"the": 0.5, "is": 0.25, "baker": 0.01, "engineer": 0.002}
        model = KnownUnigramModel({word: 2.0**-bits for word, bits in BITS.items()} | common)
        probes, _, _ = frames(compiled(article))
        probes = probes[(probes["set"] == "hand") & (probes["template"] == "plain")]
        nats = model.loglikelihood(probes["text"].tolist()).nats
        return {
            attribute: float(bias(nats[probes["attribute"] == attribute], rows["group"].tolist()))
            for attribute, rows in probes.groupby("attribute")
        }

    def test_the_article_of_the_template_kept(self, compiled) -> None:
        # "a man" 1 + 2, "a uncle" 1 + 4: mean 4 bits. "a woman" 1 + 3, "a girl" 1 + 5: mean 5. One
        # bit for men.
        found = self.biases(compiled, "literal")

        assert found == pytest.approx({"baker": math.log(2), "engineer": math.log(2)}, abs=1e-12)

    def test_the_article_that_the_word_asks_for(self, compiled) -> None:
        # "an uncle" is 2 + 4 now: mean of 3 and 6 is 4.5. Half a bit for men.
        found = self.biases(compiled, "agree")

        assert found == pytest.approx(
            {"baker": math.log(2) / 2, "engineer": math.log(2) / 2}, abs=1e-12
        )


class TestSharedWords:
    """A word of one group that no regrouping can part from it."""

    @pytest.mark.parametrize(
        ("targets", "shared"),
        [
            (["young-man", "young-woman", "old-man", "old-woman"], ["old", "young"]),
            (["young-man", "youth", "elder", "old-woman"], []),
            (["liberal", "left-winger", "conservative", "right-winger"], []),  # both groups have it
            (["man", "he", "woman", "she"], []),
        ],
    )
    def test_stands_twice_in_one_and_not_in_the_other(self, targets, shared) -> None:
        assert shared_words(targets, [1, 1, -1, -1]) == shared

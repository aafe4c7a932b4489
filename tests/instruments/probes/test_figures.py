import numpy as np
import pytest

from evenruler.instruments.probes.declare.settings import bias, shared_words
from tests.instruments.near import near

GROUPS = ["men", "men", "women", "women", "women"]


def test_equation_one_by_hand() -> None:
    # Mean of -10 and -12 is -11; of -13, -14 and -18 it is -15; men are 4 nats likelier.
    difference = bias(
        [-10.0, -12.0, -13.0, -14.0, -18.0],
        GROUPS,
    )

    assert difference.shape == ()
    assert difference == 4.0


def test_every_cell_of_a_batch_has_its_own() -> None:
    scores = np.random.default_rng(0).normal(size=(3, 2, 5))

    differences = bias(scores, GROUPS)

    assert differences.shape == (3, 2)
    assert differences.dtype == np.float64
    men, women = np.split(
        scores,
        [2],
        axis=2,
    )
    expected = men.mean(axis=2) - women.mean(axis=2)
    assert differences == near(expected)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (["men", "women", "both", "men", "men"], "found 3 groups, expected two"),
        (["men", "women"], "scores of 5 targets, groups of 2"),
    ],
)
def test_there_are_two_groups_and_one_for_each_target(groups, message) -> None:
    with pytest.raises(ValueError, match=message):
        bias([0.0] * 5, groups)


class TestSharedWords:
    """A word of one group that no regrouping can part from it."""

    @pytest.mark.parametrize(
        ("targets", "shared"),
        [
            (
                ["young-man", "young-woman", "old-man", "old-woman"],
                ["old", "young"],
            ),
            (["young-man", "youth", "elder", "old-woman"], []),
            (["liberal", "left-winger", "conservative", "right-winger"], []),  # both groups have it
            (["man", "he", "woman", "she"], []),
        ],
    )
    def test_stands_twice_in_one_and_not_in_the_other(self, targets, shared) -> None:
        assert shared_words(targets, [1, 1, -1, -1]) == shared

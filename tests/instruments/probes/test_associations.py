"""Figures that describe what a model associates, beside halvings of targets; and whether a set
measures on a model."""

import math

import numpy as np
import pandas as pd
import pytest

from evenruler.instruments.probes.diagnose.gain import check_validity as validity_of_replies
from evenruler.instruments.probes.diagnose.quality import (
    ScoreCube,
    alpha_of_halvings,
    association_figures,
    halving_weights,
)
from evenruler.measurement import Figure
from evenruler.measurement.verdicts import ValidityCheck
from tests.instruments.near import near
from tests.instruments.probes.known import cube_of
from tests.later import Later

pingouin = Later("pingouin")

# Of man, uncle | woman, girl; beside it the bias as the groups are, and if the man were with the
# woman or the girl.
BY_HAND = np.array(
    [
        [3, 1, 0, 0],  # 2, 1, 1
        [0, 0, 2, 2],  # -2, 0, 0
        [1, 1, 0, 2],  # 0, -1, 1
        [1, 0, 0, 1],  # 0, 0, 1
    ],
    dtype=float,
)
SPREAD = math.sqrt(8 / 3)
HALVED = [
    math.sqrt(2 / 3),
    0.5,
]  # sums of squares about the mean: 2 and .75

CRITERION = [
    40,
    10,
    30,
    20,
]  # about their mean 15, -15, 5, -5: sum of squares 500; with the biases 60, 10, 15
R = 60 / math.sqrt(8 * 500)
R_HALVED = [
    10 / math.sqrt(2 * 500),
    15 / math.sqrt(0.75 * 500),
]

IN_FIRST = np.array([5.0, 2.0, -1.0, 0.25])
IN_TWO = np.array([IN_FIRST, -IN_FIRST])
"""What each of two templates adds to a target; nothing on their mean."""


def found_in(
    cube: ScoreCube, criterion: object = math.nan, level: float = 0.95
) -> dict[str, Figure]:
    """By name."""
    numbers = pd.Series(
        criterion,
        index=cube.attributes,
        dtype=float,
    )
    figures = association_figures(cube, numbers, level)
    return {figure.figure: figure for figure in figures}


def drawn(seed: int) -> tuple[ScoreCube, np.ndarray]:
    """Scores of 40 attributes, 8 templates and 12 targets in which every facet has a part, and a
    criterion that effects follow by .8."""
    rng = np.random.default_rng(seed)
    criterion = rng.normal(size=40)
    effects = 0.8 * criterion + 0.6 * rng.normal(size=40)
    poles = np.repeat([1, -1], 6)
    along = 0.3 * criterion[:, None, None]
    scores = effects[:, None, None] * poles / 2
    scores = scores + along * rng.normal(size=12)
    scores = scores + along * rng.normal(size=(1, 8, 1)) * poles
    scores = scores + 0.3 * rng.normal(size=(40, 1, 12))
    scores = scores + 0.5 * rng.normal(size=(40, 8, 12))
    return cube_of(scores, poles), 50 + 20 * criterion


class TestHalvings:
    @pytest.mark.parametrize(("n_targets", "ways"), [(2, 4), (6, 400)])
    def test_hold_as_many_of_each_group(self, n_targets, ways) -> None:
        poles = np.repeat([1, -1], n_targets).astype(np.int8)
        weights = halving_weights(poles)
        assert weights.shape == (ways, 2 * n_targets)
        assert weights.sum(axis=1) == near(np.zeros(ways))
        n_of_first = (weights[:, poles == 1] > 0).sum(axis=1)
        assert set(n_of_first) == {n_targets // 2}

    def test_there_are_none_of_groups_that_differ_in_size(self) -> None:
        for poles in (
            [1, 1, -1],
            [1, -1],
        ):
            assert len(halving_weights(np.array(poles, dtype=np.int8))) == 0


class TestByHand:
    def test_spread(self) -> None:
        spread = found_in(cube_of(BY_HAND[:, None, :] + IN_TWO))["spread"]
        assert spread.value == near(SPREAD)
        assert spread.control == near(np.median(HALVED))
        assert (spread.n, spread.unit) == (4, "attributes")
        assert (spread.low, spread.p, spread.verdict) == (None, None, None)

    def test_r(self) -> None:
        cube = cube_of(BY_HAND[:, None, :] + IN_TWO)
        r = found_in(cube, CRITERION)["r"]
        assert r.value == near(R)
        assert r.control == near(np.median(R_HALVED))
        assert (r.n, r.p, r.verdict) == (4, None, None)

    def test_attributes_without_a_number_are_no_part_of_r_but_of_spread(self) -> None:
        scores = np.vstack([BY_HAND, [9, 0, 0, 0]])
        figures = found_in(
            cube_of(scores[:, None, :]),
            [*CRITERION, math.nan],
        )
        assert figures["r"].n == 4
        assert figures["r"].value == near(R)
        spread = np.std([2, -2, 0, 0, 4.5], ddof=1)
        assert figures["spread"].value == near(spread)


class TestInterval:
    def test_of_r_is_wider_than_over_attributes_alone(self) -> None:
        cube, criterion = drawn(3)
        r = found_in(cube, criterion)["r"]
        z = math.atanh(r.value)
        low = math.tanh(z - 1.96 / math.sqrt(37))
        assert low - r.low > 0.03


class TestWhereThereIsNone:
    def test_one_attribute(self) -> None:
        spread = found_in(cube_of(BY_HAND[:1, None, :]))["spread"]
        assert (spread.value, spread.reason) == (None, "fewer than two attributes")

    def test_three_attributes_with_a_number(self) -> None:
        cube = cube_of(BY_HAND[:, None, :])
        r = found_in(cube, [*CRITERION[:3], math.nan])["r"]
        assert (r.value, r.reason) == (None, "fewer than 4 attributes to correlate")

    def test_a_criterion_that_is_the_same_for_all(self) -> None:
        cube = cube_of(BY_HAND[:, None, :])
        assert found_in(cube, 50.0)["r"].reason == "all values are equal"


def test_alpha_of_halvings_is_their_median() -> None:
    rng = np.random.default_rng(2)
    scores = rng.normal(size=(9, 3, 4)) + rng.normal(size=(9, 1, 4))
    alphas = []
    halvings = [
        ([0, 2], [1, 3]),
        ([0, 3], [1, 2]),
    ]
    for first, second in halvings:
        sums = scores[:, :, first].sum(axis=2)
        biases = pd.DataFrame(sums - scores[:, :, second].sum(axis=2))
        alphas.append(pingouin.cronbach_alpha(biases)[0])
    # The other two of the four ways are these with the groups turned round.
    assert alpha_of_halvings(cube_of(scores)) == near(np.mean(alphas))


def items(**highs: float) -> pd.DataFrame:
    """Templates with upper ends of their intervals; those whose name begins with "control" are
    controls."""
    return pd.DataFrame(
        {
            "template": list(highs),
            "control": [name.startswith("control") for name in highs],
            "high": highs.values(),
        }
    )


def alpha(low: float | None, high: float | None) -> Figure:
    value = None if low is None or high is None else (low + high) / 2
    return Figure(
        "alpha",
        value,
        50,
        "attributes",
        low,
        high,
    )


def fitness(
    rows: pd.DataFrame, reliability: Figure, floor: float, words: str = "man uncle woman girl"
) -> ValidityCheck:
    """Of a set whose first two targets are of one group, and the last two of the other."""
    cube = cube_of(
        np.zeros((1, 1, 4)),
        words=words.split(),
    )
    return validity_of_replies(cube, rows, reliability, floor)


FINE = items(first=0.9, last=0.2)


class TestAlpha:
    @pytest.mark.parametrize(
        ("ends", "failure", "doubt"),
        [
            ((0.21, 0.5949), "alpha is between 0.21 and 0.59, below 0.6", None),
            ((0.5, 0.6), None, "alpha is between 0.50 and 0.60, required is 0.6"),
            ((0.5, 0.8), None, "alpha is between 0.50 and 0.80, required is 0.6"),
            ((0.6, 0.95), None, None),
            ((None, None), None, None),
            ((None, 0.5), None, None),
        ],
    )
    def test_below_astride_and_above_the_floor(self, ends, failure, doubt) -> None:
        assert fitness(FINE, alpha(*ends), 0.6) == ValidityCheck(failure=failure, doubt=doubt)


class TestReversed:
    @pytest.mark.parametrize(
        ("highs", "failure"),
        [
            (
                {
                    "first": 0.9,
                    "odd": -0.1,
                    "last": 0.2,
                    "no": -0.5,
                },
                "templates say the opposite of the others (odd, no)",
            ),
            ({"odd": -0.1}, "a template says the opposite of the others (odd)"),
            (
                {"first": 0.9, "control": -0.8},
                None,
            ),  # which may be
            (
                {"first": 0.9, "odd": 0.0},
                None,
            ),  # only for sure
            (
                {"first": 0.9, "odd": math.nan},
                None,
            ),
        ],
    )
    def test_is_named(self, highs, failure) -> None:
        assert fitness(items(**highs), alpha(0.8, 0.9), 0.6).failure == failure


class TestSharedWords:
    """A word that belongs to one group alone, in several of its targets."""

    @pytest.mark.parametrize(
        ("words", "shared"),
        [
            ("young-man young-woman old-man old-woman", "old, young"),
        ],
    )
    def test_leave_a_doubt(self, words, shared) -> None:
        check = fitness(
            FINE,
            alpha(0.8, 0.9),
            0.6,
            words,
        )
        assert check.failure is None
        assert (
            check.doubt
            == f"targets of one group share a word ({shared}), so they are not independent"
        )

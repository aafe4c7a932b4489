"""Figures that describe what a model associates, beside halvings of targets; and whether a set
measures on a model."""

import math

import numpy as np
import pandas as pd
import pytest

from evenruler.instruments.probes.diagnose.gain import check_validity as fitness_of
from evenruler.instruments.probes.diagnose.quality import (
    ScoreCube,
    alpha_of_halvings,
    association_figures,
    halving_weights,
)
from evenruler.measurement import Figure
from evenruler.measurement.verdicts import ValidityCheck
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
HALVED = [math.sqrt(2 / 3), 0.5]  # sums of squares about the mean: 2 and .75

CRITERION = [
    40,
    10,
    30,
    20,
]  # about their mean 15, -15, 5, -5: sum of squares 500; with the biases 60, 10, 15
R = 60 / math.sqrt(8 * 500)
R_HALVED = [10 / math.sqrt(2 * 500), 15 / math.sqrt(0.75 * 500)]

IN_TWO = np.array([1.0, -1.0])[:, None] * [5.0, 2.0, -1.0, 0.25]
"""What each of two templates adds to a target; nothing on their mean."""


def found_in(
    cube: ScoreCube, criterion: object = math.nan, level: float = 0.95
) -> dict[str, Figure]:
    """By name."""
    numbers = pd.Series(criterion, index=cube.attributes, dtype=float)
    return {found.figure: found for found in association_figures(cube, numbers, level)}


def drawn(
    seed: int, n: int = 40, targets: int = 12, follows: float = 0.8
) -> tuple[ScoreCube, np.ndarray]:
    """Scores of eight templates in which every facet has a part, and a criterion that effects
    follow."""
    rng = np.random.default_rng(seed)
    criterion = rng.normal(size=n)
    own = follows * criterion + math.sqrt(1 - follows**2) * rng.normal(size=n)
    poles = np.repeat([1, -1], targets // 2)
    scores = own[:, None, None] * poles / 2
    scores = (
        scores
        + 0.3 * criterion[:, None, None] * rng.normal(size=targets)
        + 0.3 * rng.normal(size=(n, 1, targets))
    )
    scores = scores + 0.3 * criterion[:, None, None] * rng.normal(size=(1, 8, 1)) * poles
    return cube_of(scores + 0.5 * rng.normal(size=(n, 8, targets)), poles), 50 + 20 * criterion


class TestHalvings:
    @pytest.mark.parametrize(("each", "ways"), [(2, 4), (3, 9), (6, 400)])
    def test_hold_as_many_of_each_group(self, each, ways) -> None:
        poles = np.repeat([1, -1], each).astype(np.int8)
        found = halving_weights(poles)
        assert found.shape == (ways, 2 * each)
        assert np.abs(found.sum(axis=1)).max() == pytest.approx(0)
        of_first = (found[:, poles == 1] > 0).sum(axis=1)
        assert set(of_first) == {each // 2}

    def test_cancel_a_difference_of_the_groups_where_these_are_even(self) -> None:
        poles = np.repeat([1, -1], 6).astype(np.int8)
        assert halving_weights(poles) @ (3.0 * poles) == pytest.approx(np.zeros(400))

    def test_there_are_none_of_groups_that_differ_in_size(self) -> None:
        assert len(halving_weights(np.array([1, 1, -1], dtype=np.int8))) == 0
        assert len(halving_weights(np.array([1, -1], dtype=np.int8))) == 0


class TestByHand:
    def test_spread(self) -> None:
        found = found_in(cube_of(BY_HAND[:, None, :] + IN_TWO))["spread"]
        assert found.value == pytest.approx(SPREAD, abs=1e-12)
        assert found.control == pytest.approx(np.median(HALVED), abs=1e-12)
        assert (found.n, found.unit, found.low, found.p, found.verdict) == (
            4,
            "attributes",
            None,
            None,
            None,
        )

    def test_r(self) -> None:
        found = found_in(cube_of(BY_HAND[:, None, :] + IN_TWO), CRITERION)["r"]
        assert found.value == pytest.approx(R, abs=1e-12)
        assert found.control == pytest.approx(np.median(R_HALVED), abs=1e-12)
        assert (found.n, found.p, found.verdict) == (4, None, None)

    def test_attributes_without_a_number_are_no_part_of_r_but_of_spread(self) -> None:
        whole = cube_of(np.vstack([BY_HAND, [[9, 0, 0, 0]]])[:, None, :])
        found = found_in(whole, [*CRITERION, math.nan])
        assert (found["r"].value, found["r"].n) == (pytest.approx(R, abs=1e-12), 4)
        assert found["spread"].value == pytest.approx(np.std([2, -2, 0, 0, 4.5], ddof=1), abs=1e-12)

    def test_a_leaning_that_is_common_to_all_attributes_is_no_part(self) -> None:
        cube, criterion = drawn(1)
        leaning = cube_of(cube.scores + np.repeat([5.0, -5.0], 6), cube.poles)
        for name, figure in found_in(cube, criterion).items():
            other = found_in(leaning, criterion)[name]
            assert (other.value, other.low, other.control) == pytest.approx(
                (figure.value, figure.low, figure.control)
            )


class TestInterval:
    def test_of_r_is_wider_than_over_attributes_alone(self) -> None:
        cube, criterion = drawn(3)
        found = found_in(cube, criterion)["r"]
        z = math.atanh(found.value)
        assert math.tanh(z - 1.96 / math.sqrt(37)) - found.low > 0.03

    def test_holds_the_truth_over_attributes_templates_and_words(self) -> None:
        """The r of the sum of what attributes have in all templates with all words: .8."""
        held = [low <= 0.8 <= high for low, high in (self._ends(seed) for seed in range(60))]
        assert np.mean(held) >= 0.86

    def _ends(self, seed: int) -> tuple[float, float]:
        cube, criterion = drawn(seed)
        found = found_in(cube, criterion)["r"]
        return found.low, found.high

    def test_there_is_none_of_a_single_template(self) -> None:
        cube, criterion = drawn(1)
        found = found_in(cube_of(cube.scores[:, :1], cube.poles), criterion)["r"]
        assert found.value is not None
        assert (found.low, found.high) == (None, None)


class TestWhereThereIsNone:
    def test_of_groups_that_differ_in_size_there_is_no_control(self) -> None:
        found = found_in(
            cube_of(np.random.default_rng(1).normal(size=(20, 3, 5)), [1, 1, 1, -1, -1]),
            np.arange(20),
        )
        assert found["spread"].value is not None
        assert (found["spread"].control, found["r"].control) == (None, None)

    def test_one_attribute(self) -> None:
        found = found_in(cube_of(BY_HAND[:1, None, :]))
        assert (found["spread"].value, found["spread"].reason) == (
            None,
            "fewer than two attributes",
        )

    def test_three_attributes_with_a_number(self) -> None:
        found = found_in(cube_of(BY_HAND[:, None, :]), [*CRITERION[:3], math.nan])
        assert (found["r"].value, found["r"].reason) == (
            None,
            "fewer than 4 attributes to correlate",
        )

    def test_no_criterion(self) -> None:
        assert set(found_in(cube_of(BY_HAND[:, None, :]))) == {"spread"}

    def test_a_criterion_that_is_the_same_for_all(self) -> None:
        assert found_in(cube_of(BY_HAND[:, None, :]), 50.0)["r"].reason == "all values are equal"


class TestAlphaOfHalvings:
    def test_is_the_median(self) -> None:
        scores = np.random.default_rng(2).normal(size=(9, 3, 4)) + np.random.default_rng(3).normal(
            size=(9, 1, 4)
        )
        alphas = []
        for first in ([0, 2], [0, 3], [1, 2], [1, 3]):
            others = [place for place in range(4) if place not in first]
            biases = scores[:, :, first].mean(axis=2) - scores[:, :, others].mean(axis=2)
            alphas.append(pingouin.cronbach_alpha(pd.DataFrame(biases))[0])
        assert alpha_of_halvings(cube_of(scores)) == pytest.approx(np.median(alphas), abs=1e-12)

    @pytest.mark.parametrize("shape", [(9, 1, 4), (1, 3, 4), (9, 3, 5)])
    def test_none_of_one_template_or_attribute_or_of_groups_that_differ(self, shape) -> None:
        poles = [1, 1, 1, -1, -1][: shape[2]] if shape[2] == 5 else None
        assert (
            alpha_of_halvings(cube_of(np.random.default_rng(2).normal(size=shape), poles)) is None
        )


REVERSED = "a template says the opposite of the others (odd)"


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
    return Figure("alpha", value, 50, "attributes", low, high)


def fitness(
    rows: pd.DataFrame, of: Figure, floor: float, words: str = "man uncle woman girl"
) -> ValidityCheck:
    """Of a set whose first two targets are of one group, and the last two of the other."""
    return fitness_of(cube_of(np.zeros((1, 1, 4)), words=words.split()), rows, of, floor)


FINE = items(first=0.9, last=0.2)


class TestAlpha:
    def test_below_the_floor(self) -> None:
        found = fitness(FINE, alpha(0.21, 0.5949), 0.6)
        assert (found.unfit, found.doubt) == ("alpha is between 0.21 and 0.59, below 0.6", None)

    @pytest.mark.parametrize("high", [0.6, 0.8])
    def test_astride(self, high) -> None:
        found = fitness(FINE, alpha(0.5, high), 0.6)
        assert (found.unfit, found.doubt) == (
            None,
            f"alpha is between 0.50 and {high:.2f}, required is 0.6",
        )

    @pytest.mark.parametrize("low", [0.6, 0.85])
    def test_above(self, low) -> None:
        found = fitness(FINE, alpha(low, 0.95), 0.6)
        assert (found.unfit, found.doubt) == (None, None)

    def test_the_floor_is_the_declared_one(self) -> None:
        assert (
            fitness(FINE, alpha(0.5, 0.75), 0.8).unfit
            == "alpha is between 0.50 and 0.75, below 0.8"
        )
        assert fitness(FINE, alpha(0.5, 0.75), 0.4).doubt is None

    @pytest.mark.parametrize("ends", [(None, None), (None, 0.5), (0.5, None)])
    def test_null_or_without_an_interval(self, ends) -> None:
        found = fitness(FINE, alpha(*ends), 0.6)
        assert (found.unfit, found.doubt) == (None, None)


class TestReversed:
    def test_is_named(self) -> None:
        found = fitness(items(first=0.9, odd=-0.1, last=0.2, no=-0.5), alpha(0.8, 0.9), 0.6)
        assert (found.unfit, found.doubt) == (
            "templates say the opposite of the others (odd, no)",
            None,
        )

    def test_before_alpha_is_looked_at(self) -> None:
        assert fitness(items(odd=-0.1), alpha(0.1, 0.2), 0.6).unfit == REVERSED
        assert fitness(items(odd=-0.1), alpha(None, None), 0.6).unfit == REVERSED

    def test_a_control_may_be(self) -> None:
        assert fitness(items(first=0.9, control=-0.8), alpha(0.8, 0.9), 0.6).unfit is None

    @pytest.mark.parametrize("high", [0.0, 0.01, math.nan])
    def test_only_for_sure(self, high) -> None:
        assert fitness(items(first=0.9, odd=high), alpha(0.8, 0.9), 0.6).unfit is None


class TestSharedWords:
    """A word that belongs to one group alone, in several of its targets."""

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            ("young-man young-woman old-man old-woman", "old, young"),
            ("young-man youth old-man old-woman", "old"),
            ("young-man man-so-young retiree elder", "man, young"),
        ],
    )
    def test_leave_a_doubt(self, words, said) -> None:
        found = fitness(FINE, alpha(0.8, 0.9), 0.6, words)
        assert found.unfit is None
        assert (
            found.doubt
            == f"targets of one group share a word ({said}), so they are not independent"
        )

    @pytest.mark.parametrize(
        "words",
        [
            pytest.param("young-man boy old-woman lady", id="in-one-target"),
            pytest.param("tall-man boy tall-woman tall-lady", id="of-both-groups"),
            pytest.param("man manly womanly woman", id="parts-of-words"),
            pytest.param("so-so boy girl lady", id="twice-in-one-target"),
        ],
    )
    def test_leave_none(self, words) -> None:
        assert fitness(FINE, alpha(0.8, 0.9), 0.6, words) == ValidityCheck()

    def test_a_reversed_item_goes_first_alpha_last(self) -> None:
        words = "young-man young-woman old-man old-woman"
        assert fitness(items(odd=-0.1), alpha(0.8, 0.9), 0.6, words).unfit == REVERSED
        assert fitness(FINE, alpha(0.1, 0.2), 0.6, words).unfit is None

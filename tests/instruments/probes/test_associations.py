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
    figures = association_figures(cube, numbers, level)
    return {figure.figure: figure for figure in figures}


def drawn(
    seed: int, n: int = 40, targets: int = 12, follows: float = 0.8
) -> tuple[ScoreCube, np.ndarray]:
    """Scores of eight templates in which every facet has a part, and a criterion that effects
    follow."""
    rng = np.random.default_rng(seed)
    criterion = rng.normal(size=n)
    effects = follows * criterion + math.sqrt(1 - follows**2) * rng.normal(size=n)
    poles = np.repeat([1, -1], targets // 2)
    along = 0.3 * criterion[:, None, None]
    scores = effects[:, None, None] * poles / 2
    scores = scores + along * rng.normal(size=targets)
    scores = scores + 0.3 * rng.normal(size=(n, 1, targets))
    scores = scores + along * rng.normal(size=(1, 8, 1)) * poles
    scores = scores + 0.5 * rng.normal(size=(n, 8, targets))
    return cube_of(scores, poles), 50 + 20 * criterion


class TestHalvings:
    @pytest.mark.parametrize(("n_targets", "ways"), [(2, 4), (6, 400)])
    def test_hold_as_many_of_each_group(self, n_targets, ways) -> None:
        poles = np.repeat([1, -1], n_targets).astype(np.int8)
        weights = halving_weights(poles)
        assert weights.shape == (ways, 2 * n_targets)
        assert np.abs(weights.sum(axis=1)).max() == pytest.approx(0)
        of_first = (weights[:, poles == 1] > 0).sum(axis=1)
        assert set(of_first) == {n_targets // 2}

    def test_there_are_none_of_groups_that_differ_in_size(self) -> None:
        for poles in ([1, 1, -1], [1, -1]):
            assert len(halving_weights(np.array(poles, dtype=np.int8))) == 0


class TestByHand:
    def test_spread(self) -> None:
        spread = found_in(cube_of(BY_HAND[:, None, :] + IN_TWO))["spread"]
        assert spread.value == pytest.approx(SPREAD, abs=1e-12)
        assert spread.control == pytest.approx(np.median(HALVED), abs=1e-12)
        assert (spread.n, spread.unit) == (4, "attributes")
        assert (spread.low, spread.p, spread.verdict) == (None, None, None)

    def test_r(self) -> None:
        cube = cube_of(BY_HAND[:, None, :] + IN_TWO)
        r = found_in(cube, CRITERION)["r"]
        assert r.value == pytest.approx(R, abs=1e-12)
        assert r.control == pytest.approx(np.median(R_HALVED), abs=1e-12)
        assert (r.n, r.p, r.verdict) == (4, None, None)

    def test_attributes_without_a_number_are_no_part_of_r_but_of_spread(self) -> None:
        scores = np.vstack([BY_HAND, [9, 0, 0, 0]])
        figures = found_in(cube_of(scores[:, None, :]), [*CRITERION, math.nan])
        assert figures["r"].n == 4
        assert figures["r"].value == pytest.approx(R, abs=1e-12)
        spread = np.std([2, -2, 0, 0, 4.5], ddof=1)
        assert figures["spread"].value == pytest.approx(spread, abs=1e-12)

    def test_a_leaning_that_is_common_to_all_attributes_is_no_part(self) -> None:
        cube, criterion = drawn(1, n=12, targets=4)
        leaning = cube_of(cube.scores + np.repeat([5.0, -5.0], 2), cube.poles)
        for name, figure in found_in(cube, criterion).items():
            other = found_in(leaning, criterion)[name]
            expected = (figure.value, figure.low, figure.control)
            assert (other.value, other.low, other.control) == pytest.approx(expected)


class TestInterval:
    def test_of_r_is_wider_than_over_attributes_alone(self) -> None:
        cube, criterion = drawn(3)
        r = found_in(cube, criterion)["r"]
        z = math.atanh(r.value)
        low = math.tanh(z - 1.96 / math.sqrt(37))
        assert low - r.low > 0.03

    @pytest.mark.slow
    @pytest.mark.long
    def test_holds_the_truth_over_attributes_templates_and_words(self) -> None:
        """The r of the sum of what attributes have in all templates with all words: .8."""
        ends = map(self._ends, range(60))
        assert np.mean([low <= 0.8 <= high for low, high in ends]) >= 0.86

    def _ends(self, seed: int) -> tuple[float, float]:
        cube, criterion = drawn(seed)
        r = found_in(cube, criterion)["r"]
        return r.low, r.high

    def test_there_is_none_of_a_single_template(self) -> None:
        cube, criterion = drawn(1)
        of_one = cube_of(cube.scores[:, :1], cube.poles)
        r = found_in(of_one, criterion)["r"]
        assert r.value is not None
        assert (r.low, r.high) == (None, None)


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


class TestAlphaOfHalvings:
    def test_is_the_median(self) -> None:
        rng = np.random.default_rng(2)
        scores = rng.normal(size=(9, 3, 4)) + rng.normal(size=(9, 1, 4))
        alphas = []
        for first in ([0, 2], [0, 3], [1, 2], [1, 3]):
            second = [place for place in range(4) if place not in first]
            sums = scores[:, :, first].sum(axis=2)
            biases = pd.DataFrame(sums - scores[:, :, second].sum(axis=2))
            alphas.append(pingouin.cronbach_alpha(biases)[0])
        expected = pytest.approx(np.median(alphas), abs=1e-12)
        assert alpha_of_halvings(cube_of(scores)) == expected

    @pytest.mark.parametrize(
        ("shape", "poles"),
        [
            ((9, 1, 4), None),
            ((1, 3, 4), None),
            ((9, 3, 5), [1, 1, 1, -1, -1]),
        ],
    )
    def test_none_of_one_template_or_attribute_or_of_groups_that_differ(self, shape, poles) -> None:
        scores = np.random.default_rng(2).normal(size=shape)
        assert alpha_of_halvings(cube_of(scores, poles)) is None


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
    rows: pd.DataFrame, reliability: Figure, floor: float, words: str = "man uncle woman girl"
) -> ValidityCheck:
    """Of a set whose first two targets are of one group, and the last two of the other."""
    cube = cube_of(np.zeros((1, 1, 4)), words=words.split())
    return validity_of_replies(cube, rows, reliability, floor)


FINE = items(first=0.9, last=0.2)


class TestAlpha:
    def test_below_the_floor(self) -> None:
        check = fitness(FINE, alpha(0.21, 0.5949), 0.6)
        assert (check.failure, check.doubt) == ("alpha is between 0.21 and 0.59, below 0.6", None)

    @pytest.mark.parametrize("high", [0.6, 0.8])
    def test_astride(self, high) -> None:
        check = fitness(FINE, alpha(0.5, high), 0.6)
        assert (check.failure, check.doubt) == (
            None,
            f"alpha is between 0.50 and {high:.2f}, required is 0.6",
        )

    @pytest.mark.parametrize("low", [0.6, 0.85])
    def test_above(self, low) -> None:
        check = fitness(FINE, alpha(low, 0.95), 0.6)
        assert (check.failure, check.doubt) == (None, None)

    @pytest.mark.parametrize("ends", [(None, None), (None, 0.5)])
    def test_null_or_without_an_interval(self, ends) -> None:
        check = fitness(FINE, alpha(*ends), 0.6)
        assert (check.failure, check.doubt) == (None, None)


class TestReversed:
    def test_is_named(self) -> None:
        rows = items(first=0.9, odd=-0.1, last=0.2, no=-0.5)
        check = fitness(rows, alpha(0.8, 0.9), 0.6)
        assert (check.failure, check.doubt) == (
            "templates say the opposite of the others (odd, no)",
            None,
        )

    def test_before_alpha_is_looked_at(self) -> None:
        assert fitness(items(odd=-0.1), alpha(0.1, 0.2), 0.6).failure == REVERSED
        assert fitness(items(odd=-0.1), alpha(None, None), 0.6).failure == REVERSED

    def test_a_control_may_be(self) -> None:
        assert fitness(items(first=0.9, control=-0.8), alpha(0.8, 0.9), 0.6).failure is None

    @pytest.mark.parametrize("high", [0.0, math.nan])
    def test_only_for_sure(self, high) -> None:
        assert fitness(items(first=0.9, odd=high), alpha(0.8, 0.9), 0.6).failure is None


class TestSharedWords:
    """A word that belongs to one group alone, in several of its targets."""

    @pytest.mark.parametrize(
        ("words", "shared"),
        [
            ("young-man young-woman old-man old-woman", "old, young"),
            ("young-man man-so-young retiree elder", "man, young"),
        ],
    )
    def test_leave_a_doubt(self, words, shared) -> None:
        check = fitness(FINE, alpha(0.8, 0.9), 0.6, words)
        assert check.failure is None
        assert (
            check.doubt
            == f"targets of one group share a word ({shared}), so they are not independent"
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
        assert fitness(items(odd=-0.1), alpha(0.8, 0.9), 0.6, words).failure == REVERSED
        assert fitness(FINE, alpha(0.1, 0.2), 0.6, words).failure is None

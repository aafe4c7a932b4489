"""Confirmatory figures beside regroupings, and whether a set measures on a model."""

import math
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from evenruler.instruments.probes.diagnose.confirmatory import alpha_of_regroupings, confirmatory
from evenruler.instruments.probes.diagnose.confirmatory import fitness as fitness_of
from evenruler.instruments.probes.diagnose.cubes import Cube
from evenruler.measurement import Figure
from evenruler.measurement.regrouping import beyond_regroupings
from evenruler.measurement.resampling import CORRELATION, PLAIN, POSITIVE, jackknife
from evenruler.measurement.verdicts import Fitness, judge
from tests.instruments.probes.known import cube_of
from tests.later import Later

pingouin = Later("pingouin")

# Of man, uncle | woman, girl; beside it the bias as the groups are, and if the man were with the woman or the girl.
BY_HAND = np.array(
    [
        [3, 1, 0, 0],  # 2, 1, 1
        [0, 0, 2, 2],  # -2, 0, 0
        [1, 1, 0, 2],  # 0, -1, 1
        [1, 0, 0, 1],  # 0, 0, 1
    ],
    dtype=float,
)
SPREADS = [math.sqrt(8 / 3), math.sqrt(2 / 3), 0.5]  # sums of squares about the mean: 8, 2 and .75

CRITERION = [40, 10, 30, 20]  # about their mean 15, -15, 5, -5: sum of squares 500; with the biases 60, 10, 15
SLOPES = [1.2, 0.2, 0.3]
CORRELATIONS = [60 / math.sqrt(8 * 500), 10 / math.sqrt(2 * 500), 15 / math.sqrt(0.75 * 500)]

IN_TWO = np.array([1.0, -1.0])[:, None] * [5.0, 2.0, -1.0, 0.25]
"""What each of two templates adds to a target; nothing on their mean."""


def by_hand(poles: list[int]) -> Cube:
    return cube_of(BY_HAND[:, None, :] + IN_TWO, poles)


def found_in(cube: Cube, criterion: object = math.nan, bound: float = 0.2, level: float = 0.9) -> dict[str, Figure]:
    """By name."""
    numbers = pd.Series(criterion, index=cube.attributes, dtype=float)
    return {found.figure: found for found in confirmatory(cube, numbers, bound, level)}


def drawn(seed: int, n: int = 20, targets: int = 12, effect: float = 1.0) -> tuple[Cube, np.ndarray]:
    """Scores of three templates with an effect of attributes, and what that is."""
    rng = np.random.default_rng(seed)
    effects = effect * rng.normal(size=n)
    poles = np.repeat([1, -1], targets // 2)
    noise = rng.normal(size=(n, 1, targets)) + 0.5 * rng.normal(size=(n, 3, targets))
    return cube_of(-20 + effects[:, None, None] * poles / 2 + noise, poles), effects


class TestByHand:
    def test_spread(self) -> None:
        found = found_in(by_hand([1, 1, -1, -1]))["spread"]
        assert found.value == pytest.approx(SPREADS[0], abs=1e-12)
        assert (found.p, found.n, found.unit) == (1 / 3, 4, "attributes")
        assert found.control == pytest.approx(SPREADS[1], abs=1e-12)  # the median of three
        assert found.bound == pytest.approx(0.2 * SPREADS[1], abs=1e-12)
        assert (found.low, found.high, found.difference_low) == (None, None, None)  # of four attributes

    def test_its_rank(self) -> None:
        found = found_in(by_hand([1, 1, -1, -1]))["spread_rank"]
        assert (found.value, found.n, found.unit) == (1, 3, "regroupings")
        assert found.bound is None

    def test_r_and_slope(self) -> None:
        found = found_in(by_hand([1, 1, -1, -1]), CRITERION)
        assert found["r"].value == pytest.approx(CORRELATIONS[0], abs=1e-12)
        assert found["slope"].value == pytest.approx(SLOPES[0], abs=1e-12)
        assert found["r"].control == pytest.approx(CORRELATIONS[2], abs=1e-12)
        assert found["slope"].control == pytest.approx(SLOPES[2], abs=1e-12)
        assert found["r"].p == found["slope"].p == 1 / 3
        assert found["r"].bound == 0.2
        # One standard deviation of the biases for one of the criterion, per 10 points.
        assert found["slope"].bound == pytest.approx(0.2 * 10 * math.sqrt(8 / 500), abs=1e-12)

    @pytest.mark.parametrize(
        ("poles", "way", "sign", "ranks"),
        [
            ([-1, -1, 1, 1], 0, -1, (1, 1, 1)),
            ([1, -1, 1, -1], 1, 1, (2, 3, 3)),
            ([-1, 1, 1, -1], 2, -1, (3, 2, 2)),
        ],
    )
    def test_of_other_groups(self, poles, way, sign, ranks) -> None:
        """The size of r and slope is ranked, not their sign; spread has none."""
        found = found_in(by_hand(poles), CRITERION)
        values = [found[name].value for name in ("spread", "r", "slope")]
        assert values == pytest.approx([SPREADS[way], sign * CORRELATIONS[way], sign * SLOPES[way]], abs=1e-12)
        assert [found[name].p for name in ("spread", "r", "slope")] == [rank / 3 for rank in ranks]
        assert found["spread_rank"].value == ranks[0]

    def test_attributes_without_a_number_are_no_part_of_r_but_of_spread(self) -> None:
        whole = cube_of(np.vstack([BY_HAND, [[9, 0, 0, 0]]])[:, None, :])
        found = found_in(whole, [*CRITERION, math.nan])
        assert (found["r"].value, found["r"].n) == (pytest.approx(CORRELATIONS[0], abs=1e-12), 4)
        assert found["slope"].value == pytest.approx(SLOPES[0], abs=1e-12)
        assert (found["spread"].value, found["spread"].n) == (
            pytest.approx(np.std([2, -2, 0, 0, 4.5], ddof=1), abs=1e-12),
            5,
        )


class TestAgainstEveryRegrouping:
    """Of twelve targets: 462 ways, counted here one by one."""

    @pytest.mark.parametrize("seed", range(4))
    def test_p_is_the_rank(self, seed) -> None:
        cube, effects = drawn(seed, effect=0.7)
        criterion = 50 + 8 * effects + np.random.default_rng(seed + 100).normal(size=20) * 8
        mean = cube.scores.mean(axis=1)
        sizes = {"spread": [], "r": [], "slope": []}
        for others in combinations(range(1, 12), 5):
            first = np.isin(np.arange(12), [0, *others])
            bias = mean[:, first].mean(axis=1) - mean[:, ~first].mean(axis=1)
            sizes["spread"].append(np.std(bias, ddof=1))
            sizes["r"].append(abs(stats.pearsonr(bias, criterion).statistic))
            sizes["slope"].append(abs(10 * stats.linregress(criterion, bias).slope))

        found = found_in(cube, criterion)

        assert len(sizes["r"]) == 462
        for name, size in sizes.items():
            value = found[name].value
            rank = sum(one >= abs(value) - 1e-9 for one in size)
            assert found[name].p == rank / 462
            assert found[name].control == pytest.approx(np.median(size), abs=1e-12)
        assert (found["spread_rank"].value, found["spread_rank"].n) == (round(found["spread"].p * 462), 462)
        bias = cube.biases().mean(axis=1)
        assert found["spread"].value == pytest.approx(bias.std(), abs=1e-12)
        assert found["r"].value == pytest.approx(stats.pearsonr(bias, criterion).statistic, abs=1e-12)
        assert found["slope"].value == pytest.approx(10 * stats.linregress(criterion, bias).slope, abs=1e-12)

    @pytest.mark.parametrize(("targets", "ways"), [(4, 3), (6, 10), (8, 35), (12, 462)])
    def test_so_many_there_are(self, targets, ways) -> None:
        cube, _ = drawn(1, targets=targets, effect=20.0)
        found = found_in(cube)
        assert (found["spread"].p, found["spread_rank"].n) == (1 / ways, ways)

    def test_a_set_whose_labels_are_shuffled_is_not_beyond_control(self) -> None:
        """Three of each group in the other: nothing of the effect is left between them."""
        cube, effects = drawn(5, n=30, effect=2.0)
        criterion = 50 + 10 * effects
        (spread, _, *rest) = confirmatory(cube, pd.Series(criterion, index=cube.attributes), 0.2, 0.95)
        assert {one.verdict for one in judge([(one, Fitness()) for one in (spread, *rest)], 10)} == {"beyond control"}
        rng = np.random.default_rng(6)
        for _ in range(10):
            poles = np.array([*rng.permutation([1, 1, 1, -1, -1, -1]), *rng.permutation([1, 1, 1, -1, -1, -1])])
            shuffled = cube_of(cube.scores, poles)
            found = confirmatory(shuffled, pd.Series(criterion, index=cube.attributes), 0.2, 0.95)
            judged = [one for one in judge([(one, Fitness()) for one in found], 10) if one.bound is not None]
            assert [one.figure for one in judged] == ["spread", "r", "slope"]
            assert all(one.p > 0.2 for one in judged)
            assert "beyond control" not in {one.verdict for one in judged}


class TestWhatMakesNoDifference:
    @pytest.fixture
    def asked(self) -> tuple[Cube, np.ndarray]:
        cube, effects = drawn(7, n=12, effect=0.8)
        return cube, 50 + 5 * effects + np.random.default_rng(8).normal(size=12) * 4

    @pytest.mark.parametrize(
        "added",
        [
            pytest.param(np.array([4.0, -2, 0.5])[:, None], id="templates"),
            pytest.param(-3.0 * np.array([1, 1, 1, 2, 2, 3, 1, 2, 2, 2, 3, 5]), id="tokens-of-targets"),
            pytest.param(np.repeat([1.0, -1.0], 6) * 10, id="groups"),
            pytest.param(np.random.default_rng(9).normal(size=(3, 12)) * 9, id="targets-in-templates"),
            pytest.param(np.random.default_rng(9).normal(size=(12, 3, 1)) * 9, id="attributes-in-templates"),
        ],
    )
    def test_a_leaning_that_is_common_to_all(self, asked, added) -> None:
        cube, criterion = asked
        before, after = found_in(cube, criterion), found_in(cube_of(cube.scores + added), criterion)
        assert set(before) == {"spread", "spread_rank", "r", "slope"}
        for name, one in before.items():
            other = after[name]
            assert other.p == one.p
            for number in ("value", "low", "high", "control", "difference_low", "difference_high", "bound"):
                expected = getattr(one, number)
                assert getattr(other, number) == (None if expected is None else pytest.approx(expected, abs=1e-9)), (
                    name,
                    number,
                )

    def test_a_leaning_of_some_does(self, asked) -> None:
        cube, criterion = asked
        leaning = np.repeat([1.0, -1.0], 6) * np.arange(12)[:, None, None]
        after = found_in(cube_of(cube.scores + leaning), criterion)
        assert after["spread"].value > 3 * found_in(cube, criterion)["spread"].value

    def test_the_other_keying_turns_r_and_slope_alone(self, asked) -> None:
        cube, criterion = asked
        before, after = found_in(cube, criterion), found_in(cube_of(-cube.scores), criterion)
        assert after["spread"] == before["spread"]
        for name in ("r", "slope"):
            assert after[name].value == pytest.approx(-before[name].value, abs=1e-12)
            assert (after[name].low, after[name].high) == pytest.approx((-before[name].high, -before[name].low))
            assert (after[name].p, after[name].control) == (before[name].p, pytest.approx(before[name].control))
            # Of the sizes.
            assert after[name].difference_low == pytest.approx(before[name].difference_low)


class TestIntervals:
    def test_of_a_figure_are_the_jackknifes(self) -> None:
        cube, effects = drawn(11)
        criterion = 50 + 10 * effects + np.random.default_rng(1).normal(size=20) * 9
        bias = cube.biases().mean(axis=1).to_numpy()
        found = found_in(cube, criterion, level=0.8)
        expected = {
            "spread": jackknife(lambda x: np.std(x, ddof=1), bias, scale=POSITIVE, level=0.8),
            "r": jackknife(lambda x, y: np.corrcoef(x, y)[0, 1], bias, criterion, scale=CORRELATION, level=0.8),
            "slope": jackknife(lambda x, y: 10 * stats.linregress(y, x).slope, bias, criterion, scale=PLAIN, level=0.8),
        }
        for name, interval in expected.items():
            assert (found[name].low, found[name].high) == pytest.approx((interval.low, interval.high), abs=1e-9)
            assert found[name].low < found[name].value < found[name].high

    def test_of_its_difference_to_the_control_over_attributes(self) -> None:
        cube, _ = drawn(12)
        found = found_in(cube, level=0.8)["spread"]
        interval = beyond_regroupings(cube.scores.mean(axis=1), cube.poles, lambda x: x.std(axis=-1, ddof=1), level=0.8)
        assert found.difference_low == pytest.approx(interval.low, abs=1e-12)
        assert found.difference_high == pytest.approx(interval.high, abs=1e-12)
        assert found.difference_low < found.value - found.control < found.difference_high

    def test_the_bound_is_the_declared_one(self) -> None:
        cube, effects = drawn(13)
        small, large = (found_in(cube, 50 + 10 * effects, bound=bound) for bound in (0.1, 0.5))
        for name in ("spread", "r", "slope"):
            assert large[name].bound == pytest.approx(5 * small[name].bound)
        assert large["r"].bound == 0.5


class TestWhereThereIsNone:
    @pytest.mark.parametrize(
        "poles", [[1, 1, 1, 1, 1, -1, -1, -1], [1, -1, -1, -1], [1, -1]], ids=["five-three", "one-three", "one-one"]
    )
    def test_groups_of_unequal_size_or_of_one(self, poles) -> None:
        scores = np.random.default_rng(1).normal(size=(20, 3, len(poles)))
        found = found_in(cube_of(scores, poles), np.arange(20))
        assert set(found) == {"spread", "r", "slope"}
        for figure in found.values():
            assert (figure.value, figure.p, figure.control) == (None, None, None)
            assert (figure.n, figure.unit, figure.bound) == (20, "attributes", 0.2)
            assert figure.reason == "the groups are not of equal size, two at least, so that there are no regroupings"

    def test_what_is_null_has_a_verdict_all_the_same(self) -> None:
        found = found_in(cube_of(np.random.default_rng(1).normal(size=(20, 3, 5)), [1, 1, 1, -1, -1]), np.arange(20))
        judged = judge([(one, Fitness()) for one in found.values()], 10)
        assert {one.verdict for one in judged} == {"too little to tell"}
        assert {one.why for one in judged} == {"There is no figure to compare."}

    def test_one_attribute(self) -> None:
        found = found_in(cube_of(BY_HAND[:1, None, :]))
        assert (found["spread"].value, found["spread"].reason) == (None, "fewer than two attributes")

    def test_three_attributes_with_a_number(self) -> None:
        found = found_in(by_hand([1, 1, -1, -1]), [*CRITERION[:3], math.nan])
        for name in ("r", "slope"):
            assert (found[name].value, found[name].n) == (None, 3)
            assert found[name].reason == "fewer than 4 attributes to correlate"
        assert found["spread"].value == pytest.approx(SPREADS[0])

    def test_no_criterion(self) -> None:
        assert set(found_in(by_hand([1, 1, -1, -1]))) == {"spread", "spread_rank"}

    def test_a_criterion_that_is_the_same_for_all(self) -> None:
        found = found_in(by_hand([1, 1, -1, -1]), 50.0)
        assert [found[name].reason for name in ("spread", "r", "slope")] == [None, *["all values are equal"] * 2]

    @pytest.mark.parametrize("blur", [0.0, 1e-15])
    def test_biases_that_are_the_same_but_for_rounding(self, blur) -> None:
        scores = np.tile([[[3.0, 1.0, 0.0, 0.5]]], (6, 2, 1))
        scores[0, 0, 0] += blur
        found = found_in(cube_of(scores), np.arange(6))
        assert {figure.reason for figure in found.values()} == {"all values are equal"}


class TestNothingButTheEffect:
    """Four words that differ by group alone: in two of three regroupings nothing differs, so their median is 0."""

    @pytest.fixture
    def pure(self) -> Cube:
        effects = np.array([1.0, -1, 2, -2, 0.5, 0.25, -0.5, 3, 1, 2, 4, -1])
        return cube_of(-20 + effects[:, None, None] * [0.5, 0.5, -0.5, -0.5] + np.zeros((12, 2, 1)))

    def test_the_control_is_none_and_the_bound_of_the_biases(self, pure) -> None:
        found = found_in(pure, np.arange(12.0) ** 2)
        assert [found[name].control for name in ("spread", "r", "slope")] == [0, 0, 0]
        assert found["spread"].bound == pytest.approx(0.2 * pure.biases().mean(axis=1).std(ddof=0))
        assert {found[name].p for name in ("spread", "r", "slope")} == {1 / 3}

    def test_there_is_a_verdict(self, pure) -> None:
        found = [one for one in found_in(pure, np.arange(12.0) ** 2).values() if one.bound is not None]
        assert {one.verdict for one in judge([(one, Fitness()) for one in found], 10)} == {"too little to tell"}


class TestAlphaOfRegroupings:
    def test_is_the_median(self) -> None:
        scores = np.random.default_rng(2).normal(size=(9, 3, 4)) + np.random.default_rng(3).normal(size=(9, 1, 4))
        alphas = []
        for first in ([0, 1], [0, 2], [0, 3]):
            others = [place for place in range(4) if place not in first]
            biases = scores[:, :, first].mean(axis=2) - scores[:, :, others].mean(axis=2)
            alphas.append(pingouin.cronbach_alpha(pd.DataFrame(biases))[0])
        assert alpha_of_regroupings(cube_of(scores)) == pytest.approx(sorted(alphas)[1], abs=1e-12)

    @pytest.mark.parametrize("shape", [(9, 1, 4), (1, 3, 4)])
    def test_none_of_one_template_or_attribute(self, shape) -> None:
        assert alpha_of_regroupings(cube_of(np.random.default_rng(2).normal(size=shape))) is None

    def test_none_of_groups_of_unequal_size(self) -> None:
        scores = np.random.default_rng(2).normal(size=(9, 3, 5))
        assert alpha_of_regroupings(cube_of(scores, [1, 1, 1, -1, -1])) is None


REVERSED = "a template says the opposite of the others (odd)"


def items(**highs: float) -> pd.DataFrame:
    """Templates with upper ends of their intervals; those whose name begins with "control" are controls."""
    return pd.DataFrame(
        {"template": list(highs), "control": [name.startswith("control") for name in highs], "high": highs.values()}
    )


def alpha(low: float | None, high: float | None) -> Figure:
    value = None if low is None or high is None else (low + high) / 2
    return Figure("alpha", value, 50, "attributes", low, high)


def fitness(rows: pd.DataFrame, of: Figure, floor: float, words: str = "man uncle woman girl") -> Fitness:
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
        assert (found.unfit, found.doubt) == (None, f"alpha is between 0.50 and {high:.2f}, asked for is 0.6")

    @pytest.mark.parametrize("low", [0.6, 0.85])
    def test_above(self, low) -> None:
        found = fitness(FINE, alpha(low, 0.95), 0.6)
        assert (found.unfit, found.doubt) == (None, None)

    def test_the_floor_is_the_declared_one(self) -> None:
        assert fitness(FINE, alpha(0.5, 0.75), 0.8).unfit == "alpha is between 0.50 and 0.75, below 0.8"
        assert fitness(FINE, alpha(0.5, 0.75), 0.4).doubt is None

    @pytest.mark.parametrize("ends", [(None, None), (None, 0.5), (0.5, None)])
    def test_null_or_without_an_interval(self, ends) -> None:
        found = fitness(FINE, alpha(*ends), 0.6)
        assert (found.unfit, found.doubt) == (None, None)


class TestReversed:
    def test_is_named(self) -> None:
        found = fitness(items(first=0.9, odd=-0.1, last=0.2, no=-0.5), alpha(0.8, 0.9), 0.6)
        assert (found.unfit, found.doubt) == ("templates say the opposite of the others (odd, no)", None)

    def test_before_alpha_is_looked_at(self) -> None:
        assert fitness(items(odd=-0.1), alpha(0.1, 0.2), 0.6).unfit == REVERSED
        assert fitness(items(odd=-0.1), alpha(None, None), 0.6).unfit == REVERSED

    def test_a_control_may_be(self) -> None:
        assert fitness(items(first=0.9, control=-0.8), alpha(0.8, 0.9), 0.6).unfit is None

    @pytest.mark.parametrize("high", [0.0, 0.01, math.nan])
    def test_only_for_sure(self, high) -> None:
        assert fitness(items(first=0.9, odd=high), alpha(0.8, 0.9), 0.6).unfit is None


class TestSharedWords:
    """A word that belongs to one group alone, in several of its targets: no regrouping can be a control."""

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
        assert found.doubt == f"targets of one group share a word ({said}), so no regrouping is a control"

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
        assert fitness(FINE, alpha(0.8, 0.9), 0.6, words) == Fitness()

    def test_a_reversed_item_goes_first_alpha_last(self) -> None:
        words = "young-man young-woman old-man old-woman"
        assert fitness(items(odd=-0.1), alpha(0.8, 0.9), 0.6, words).unfit == REVERSED
        assert fitness(FINE, alpha(0.1, 0.2), 0.6, words).unfit is None

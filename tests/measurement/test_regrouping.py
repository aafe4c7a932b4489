"""Regroupings, by hand and by simulation."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from evenruler.measurement.regrouping import MOST, beyond_regroupings, halves, regrouped, regroupings


def spread(differences):
    """[k, attributes] -> SD over attributes."""
    return differences.std(axis=1, ddof=1)


def r(differences, criterion):
    """[k, attributes] -> correlation with what stands beside each attribute."""
    return np.array([np.corrcoef(row, criterion)[0, 1] for row in differences])


class TestHalves:
    @pytest.mark.parametrize(("n", "ways"), [(2, 1), (4, 3), (8, 35), (12, 462)])
    def test_how_many(self, n, ways):
        found = halves(n)
        assert found.shape == (ways, n)
        assert (found.sum(axis=1) == 0).all()
        assert len(np.unique(found, axis=0)) == ways
        # No two are the same but for the names of the groups.
        assert len({frozenset(np.flatnonzero(row == row[0])) for row in found}) == ways

    def test_of_four(self):
        assert halves(4).tolist() == [[1, 1, -1, -1], [1, -1, 1, -1], [1, -1, -1, 1]]

    @pytest.mark.parametrize("n", [0, 1, 5, -2])
    def test_what_cannot_be_halved(self, n):
        with pytest.raises(ValueError, match="cannot be halved"):
            halves(n)

    def test_of_very_many_some_are_drawn_the_own_among_them(self):
        groups = np.repeat([1, -1], 12)[np.random.default_rng(2).permutation(24)]
        found = regroupings(groups)
        assert found.shape == (MOST, 24)
        assert (found.sum(axis=1) == 0).all()
        assert (found[:, 0] == 1).all()
        assert found[0].tolist() == (groups * groups[0]).tolist()
        assert np.array_equal(found, regroupings(groups))
        x = np.random.default_rng(3).normal(size=(30, 24)) + groups * np.linspace(-2, 2, 30)[:, None]
        ranked = regrouped(x, groups, lambda biases: biases.std(axis=-1, ddof=1))
        assert (ranked.rank, ranked.n) == (1, MOST)

    def test_of_few_all_are_counted(self):
        assert np.array_equal(regroupings([-1, 1, 1, -1]), halves(4))

    @pytest.mark.parametrize(("n", "ways"), [(4, 3), (16, 6435), (18, MOST)])
    def test_they_are_bytes_and_up_to_sixteen_units_all_of_them(self, n, ways):
        found = regroupings([1, -1] * (n // 2))
        assert (found.shape, found.dtype) == ((ways, n), np.int8)


class TestRegrouped:
    def test_by_hand(self):
        """Two attributes, four words: differences of the three halvings are worked out on paper."""
        scores = np.array([[3.0, 1.0, 0.0, 0.0], [0.0, 0.0, 3.0, 1.0]])
        # (ab|cd): 2, -2; (ac|bd): 1, 1; (ad|bc): 1, -1
        found = regrouped(scores, [1, 1, -1, -1], spread)
        assert found.value == pytest.approx(np.sqrt(8))
        assert (found.rank, found.n, found.p) == (1, 3, 1 / 3)
        assert found.median == pytest.approx(np.sqrt(2))
        assert regrouped(scores, [1, -1, 1, -1], spread).rank == 3
        assert regrouped(scores, [1, -1, -1, 1], spread).rank == 2

    def test_a_statistic_without_sign_is_ranked_as_it_is(self):
        scores = np.array([[3.0, 1.0, 0.0, 0.0], [0.0, 0.0, 3.0, 1.0]])
        found = regrouped(scores, [1, 1, -1, -1], lambda differences: -spread(differences))
        assert (found.rank, found.median) == (3, pytest.approx(-np.sqrt(2)))

    def test_equal_values_share_the_worse_rank(self):
        assert regrouped(np.ones((3, 4)), [1, 1, -1, -1], spread).rank == 3

    def test_which_group_comes_first_matters_to_a_signed_statistic_alone(self):
        rng = np.random.default_rng(3)
        scores, groups = rng.normal(size=(5, 6)), np.array([-1, 1, 1, -1, 1, -1])
        first, second = (regrouped(scores, sign * groups, spread) for sign in (1, -1))
        assert first == second
        first, second = (regrouped(scores, sign * groups, lambda d: d.mean(axis=1), signed=True) for sign in (1, -1))
        assert first.value == pytest.approx(-second.value)
        assert (first.rank, first.median) == (second.rank, second.median)
        assert first.value == pytest.approx(scores[:, groups == 1].mean() - scores[:, groups == -1].mean())

    def test_as_a_loop_over_combinations_has_it(self):
        rng = np.random.default_rng(4)
        scores, groups = rng.normal(size=(7, 3, 8)), np.array([1] * 4 + [-1] * 4)
        values = []
        for others in combinations(range(1, 8), 3):
            mine = [0, *others]
            rest = [unit for unit in range(8) if unit not in mine]
            biases = scores[..., mine].mean(axis=-1) - scores[..., rest].mean(axis=-1)
            values.append(biases.mean(axis=1).std(ddof=1))
        found = regrouped(scores, groups, lambda d: d.mean(axis=2).std(axis=1, ddof=1))
        assert found.median == pytest.approx(np.median(values))
        own = (scores[..., :4].mean(axis=-1) - scores[..., 4:].mean(axis=-1)).mean(axis=1).std(ddof=1)
        assert found.value == pytest.approx(own)
        assert found.rank == sum(value >= own - 1e-12 for value in values)

    @given(st.integers(0, 10_000))
    def test_the_rank_is_that_of_the_value(self, seed):
        scores = np.random.default_rng(seed).normal(size=(4, 6))
        found = regrouped(scores, [1, 1, 1, -1, -1, -1], spread)
        assert 1 <= found.rank <= found.n == 10
        assert (found.value >= found.median) == (found.rank <= 5) or found.rank in (5, 6)

    def test_without_a_construct_p_is_below_five_hundredths_in_five_of_a_hundred(self):
        rng = np.random.default_rng(11)
        draws = [regrouped(rng.normal(size=(20, 12)), [1] * 6 + [-1] * 6, spread).p for _ in range(400)]
        assert np.mean(np.array(draws) < 0.05) == pytest.approx(0.05, abs=0.025)
        assert np.mean(draws) == pytest.approx(0.5, abs=0.05)

    def test_a_planted_difference_is_first(self):
        rng = np.random.default_rng(12)
        scores = rng.normal(size=(20, 12))
        scores[:, :6] += 3 * rng.normal(size=(20, 1))
        assert regrouped(scores, [1] * 6 + [-1] * 6, spread).rank == 1

    @pytest.mark.parametrize(
        ("scores", "groups", "said"),
        [
            (np.zeros((2, 4)), [1, 1, 1, -1], "equal size"),
            (np.zeros((2, 4)), [1, 1, -1], "equal size"),
            (np.zeros((2, 4)), [1, 0, 0, -1], "equal size"),
            (np.full((2, 2), np.nan), [1, -1], "finite"),
        ],
    )
    def test_what_is_refused(self, scores, groups, said):
        with pytest.raises(ValueError, match=said):
            regrouped(scores, groups, spread)


class TestBesideACriterion:
    # Differences of the three halvings, three attributes: (ab|cd), (ac|bd), (ad|bc).
    DIFFERENCES = np.array([[0.0, 1.0, 2.0], [0.0, 1.0, 0.0], [2.0, 0.0, 1.0]])
    SCORES = (DIFFERENCES.T @ np.array([[1, 1, -1, -1], [1, -1, 1, -1], [1, -1, -1, 1]])) / 2
    CRITERION = (10.0, 20.0, 30.0)

    @pytest.mark.parametrize(
        ("groups", "value", "rank"),
        [([1, 1, -1, -1], 1.0, 1), ([-1, -1, 1, 1], -1.0, 1), ([1, -1, 1, -1], 0.0, 3), ([-1, 1, 1, -1], 0.5, 2)],
    )
    def test_by_hand(self, groups, value, rank):
        """r is 1, 0 and -.5; of sizes the median is .5."""
        found = regrouped(self.SCORES, groups, r, self.CRITERION, signed=True)
        assert found.value == pytest.approx(value, abs=1e-12)
        assert (found.rank, found.n) == (rank, 3)
        assert found.median == pytest.approx(0.5)

    def test_which_attribute_has_which_criterion_matters(self):
        found = regrouped(self.SCORES, [1, 1, -1, -1], r, (30.0, 10.0, 20.0), signed=True)
        assert found.value == pytest.approx(-0.5)
        assert found.rank == 3  # r is -.87 and 1 for the others
        assert found.median == pytest.approx(np.sqrt(0.75))

    def test_several_stand_beside(self):
        def weighted(differences, weights, signs):
            return differences @ (np.asarray(weights) * signs)

        found = regrouped(self.SCORES, [1, 1, -1, -1], weighted, [1.0, 2.0, 3.0], [1, 1, -1], signed=True)
        assert found.value == pytest.approx(2 - 6)


class TestBeyond:
    @pytest.mark.parametrize(("n", "true"), [(24, 0.0), (24, 1.0)])
    def test_coverage(self, n, true):
        """Of the difference in the population of units, which hangs on how far a regrouping is that of the groups."""
        rng, groups = np.random.default_rng(9), np.array([1] * 6 + [-1] * 6)
        alike = (halves(12) * groups).sum(axis=1) / 12
        spreads = np.sqrt(true**2 * alike**2 + 4 * 0.25 / 12)
        expected = spreads[np.abs(alike) == 1][0] - np.median(spreads)
        found = []
        for _ in range(250):
            scores = true * rng.normal(size=(n, 1)) * groups / 2 + 0.5 * rng.normal(size=(n, 12))
            found.append(beyond_regroupings(scores, groups, spread))
        assert 0.92 <= np.mean([one.low <= expected <= one.high for one in found]) <= 0.98

    def test_value_is_that_of_the_ranking(self):
        scores = np.random.default_rng(2).normal(size=(6, 8))
        groups = [1, -1] * 4
        ranked, found = regrouped(scores, groups, spread), beyond_regroupings(scores, groups, spread)
        assert found.value == pytest.approx(ranked.value - ranked.median)
        assert found.low < found.value < found.high

    def test_too_few_units(self):
        with pytest.raises(ValueError, match="found 4 units, of at least 5"):
            beyond_regroupings(np.random.default_rng(2).normal(size=(4, 8)), [1, -1] * 4, spread)
        with pytest.raises(ValueError, match="found 0 units, of at least 5"):
            beyond_regroupings(np.arange(8.0), [1, -1] * 4, np.abs)

    def test_five_units_are_enough(self):
        found = beyond_regroupings(np.random.default_rng(2).normal(size=(5, 8)), [1, -1] * 4, spread)
        assert found.low < found.value < found.high

    def test_the_criterion_follows_the_unit_that_is_left_out(self):
        rng, groups = np.random.default_rng(8), np.array([1, 1, 1, -1, -1, -1])
        criterion = rng.normal(size=9)
        scores = rng.normal(size=(9, 6)) + 0.4 * criterion[:, None] * groups

        def above(rows):
            sizes = []
            for others in combinations(range(1, 6), 2):
                mine = [0, *others]
                rest = [word for word in range(6) if word not in mine]
                biases = scores[rows][:, mine].mean(axis=1) - scores[rows][:, rest].mean(axis=1)
                sizes.append(abs(np.corrcoef(biases, criterion[rows])[0, 1]))
            return sizes[0] - np.median(sizes)  # the first part is that of the groups

        value = above(list(range(9)))
        without_one = np.array([above([row for row in range(9) if row != unit]) for unit in range(9)])
        half = stats.t.ppf(0.95, 8) * np.sqrt(8 / 9 * ((without_one - without_one.mean()) ** 2).sum())
        found = beyond_regroupings(scores, groups, r, criterion, level=0.9)
        assert (found.value, found.low, found.high) == pytest.approx((value, value - half, value + half))

    def test_of_a_signed_statistic_the_size_counts(self):
        rng, groups = np.random.default_rng(8), np.array([1, 1, -1, -1])
        scores, criterion = rng.normal(size=(9, 4)), rng.normal(size=9)
        found, turned = (beyond_regroupings(scores, groups, r, sign * criterion) for sign in (1, -1))
        assert (turned.value, turned.low, turned.high) == pytest.approx((found.value, found.low, found.high))
        ranked = regrouped(scores, groups, r, criterion, signed=True)
        assert found.value == pytest.approx(abs(ranked.value) - ranked.median)

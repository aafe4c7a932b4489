import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from evenruler.measurement import (
    cronbach_alpha,
    feldt_interval,
    first_component_share,
    item_statistics,
    lexical_diversity,
    mean_inter_item_correlation,
    semantic_diversity,
    spearman_brown,
)
from evenruler.measurement.inputs import wilson
from evenruler.measurement.reliability import icc_agreement
from tests.later import Later

pingouin = Later("pingouin")

# Four observations x three items. Variances (ddof 1): item 1 is 1, 2, 3, 4 (mean 2.5, squares 2.25
# + .25 + .25 + 2.25 = 5): 5/3. Item 2 is 2, 1, 4, 3: 5/3. Item 3 is 1, 1, 3, 3 (mean 2, squares 4):
# 4/3. Totals 4, 4, 10, 10 (mean 7, squares 36): 12.
SMALL = np.array([[1, 2, 1], [2, 1, 1], [3, 4, 3], [4, 3, 3]])

# What every statistic of a matrix refuses.
UNFIT = [
    ([1, 2, 3], "matrix of observations x items, got 1"),
    ([[1], [2], [3]], "at least 2 items"),
    ([[1, 2, 3]], "at least 2 observations"),
    ([[1, 2], [3, math.nan]], "finite"),
    ([[1, 2], [3, math.inf]], "finite"),
]

matrices = st.builds(
    lambda seed, rows, items, common: (
        np.random.default_rng(seed).normal(size=(rows, items))
        + common * np.random.default_rng(seed + 1).normal(size=(rows, 1))
    ),
    seed=st.integers(0, 10_000),
    rows=st.integers(6, 40),
    items=st.integers(2, 8),
    common=st.floats(0, 2),
)


@pytest.mark.parametrize(
    "statistic", [cronbach_alpha, mean_inter_item_correlation, item_statistics]
)
@pytest.mark.parametrize(("x", "message"), UNFIT)
def test_refuses_what_is_no_matrix_of_figures(statistic, x, message):
    with pytest.raises(ValueError, match=message):
        statistic(x)


class TestCronbachAlpha:
    def test_by_hand(self):
        # 3/2 * (1 - (5/3 + 5/3 + 4/3) / 12) = 3/2 * (1 - 14/36) = 3/2 * 22/36 = 11/12.
        assert cronbach_alpha(SMALL) == pytest.approx(11 / 12, abs=1e-12)

    def test_negative_by_hand(self):
        # Items 1, 2, 3 and 3, 1, 2: variances 1 and 1; totals 4, 3, 5: variance 1. 2 * (1 - 2/1) =
        # -2.
        assert cronbach_alpha([[1, 3], [2, 1], [3, 2]]) == pytest.approx(-2, abs=1e-12)

    def test_items_that_agree_wholly_are_one_and_never_more(self):
        for seed in range(20):
            item = np.random.default_rng(seed).normal(size=(9, 1))
            alpha = cronbach_alpha(np.repeat(item, 7, axis=1))
            assert alpha == pytest.approx(1, abs=1e-12)
            assert alpha <= 1

    @pytest.mark.parametrize(
        "x",
        [
            [[1, -1], [2, -2], [5, -5]],
            [[0.1, 0.7], [0.1, 0.7], [0.1, 0.7]],
            [[0.1, 0.2, -0.3], [1, -3, 2], [2, 3, -5]],
        ],
        ids=["cancel", "constant", "cancel but for rounding"],
    )
    def test_nan_where_the_total_does_not_vary(self, x):
        assert math.isnan(cronbach_alpha(x))

    def test_a_small_spread_on_a_large_value_is_a_spread(self):
        assert cronbach_alpha(SMALL + 1e6) == pytest.approx(11 / 12, abs=1e-6)
        assert cronbach_alpha(SMALL * 1e-9) == pytest.approx(11 / 12, abs=1e-12)

    @settings(max_examples=25, deadline=None)
    @given(x=matrices, seed=st.integers(0, 100), scale=st.floats(0.01, 100))
    def test_order_shift_and_common_scale_do_not_matter(self, x, seed, scale):
        rng = np.random.default_rng(seed)
        shuffled = rng.permutation(rng.permutation(x, axis=1), axis=0)
        moved = scale * shuffled + rng.normal(size=x.shape[1])
        assert cronbach_alpha(moved) == pytest.approx(cronbach_alpha(x), rel=1e-7, abs=1e-7)

    @settings(max_examples=25, deadline=None)
    @given(x=matrices)
    def test_agrees_with_pingouin(self, x):
        alpha, (low, high) = pingouin.cronbach_alpha(data=pd.DataFrame(x), ci=0.9)
        assert cronbach_alpha(x) == pytest.approx(alpha, rel=1e-9, abs=1e-9)
        interval = feldt_interval(cronbach_alpha(x), *x.shape, level=0.9)
        assert interval.value == cronbach_alpha(x)
        # pingouin rounds the ends to three decimals.
        assert (interval.low, interval.high) == pytest.approx((low, high), abs=5.01e-4)


class TestFeldtInterval:
    def test_two_items_have_ends_that_multiply(self):
        # With two items both degrees of freedom are n - 1, so the F quantiles are reciprocal:
        # (1 - low)(1 - high) = (1 - alpha)^2.
        interval = feldt_interval(0.6, observations=17, items=2)
        assert (1 - interval.low) * (1 - interval.high) == pytest.approx(0.4**2, rel=1e-12)
        assert interval.low < 0.6 < interval.high

    def test_covers(self):
        # Tau-equivalent normal items: 5 with correlation .25 have alpha 5 * .25 / (1 + 4 * .25) =
        # .625.
        rng = np.random.default_rng(3)
        samples = rng.normal(size=(1000, 15, 5)) * np.sqrt(0.75) + 0.5 * rng.normal(
            size=(1000, 15, 1)
        )
        intervals = [feldt_interval(cronbach_alpha(x), 15, 5, level=0.8) for x in samples]
        # Standard error of the share: sqrt(.8 * .2 / 1000) = .013.
        assert np.mean([i.low <= 0.625 <= i.high for i in intervals]) == pytest.approx(
            0.8, abs=0.04
        )

    def test_nan_for_nan(self):
        interval = feldt_interval(math.nan, 10, 3)
        assert np.isnan([interval.value, interval.low, interval.high]).all()

    def test_two_observations_are_enough(self):
        # F with 1 and 1 degrees of freedom: its quantiles of .025 and .975 are tan(.025 pi / 2)^2
        # and its reciprocal.
        interval, edge = feldt_interval(0.5, 2, 2), math.tan(0.0125 * math.pi) ** 2
        assert (interval.low, interval.high) == pytest.approx((1 - 0.5 / edge, 1 - 0.5 * edge))

    def test_an_alpha_of_one_is_sure(self):
        interval = feldt_interval(1.0, 10, 3)
        assert (interval.value, interval.low, interval.high) == (1, 1, 1)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ((1.1, 10, 3), "at most 1"),
            ((0.5, 1, 3), "at least 2 observations"),
            ((0.5, 10, 1), "at least 2 observations and 2 items"),
            ((0.5, 10, 3, 1.0), "level"),
        ],
    )
    def test_refuses(self, arguments, message):
        with pytest.raises(ValueError, match=message):
            feldt_interval(*arguments)


def one_factor(loadings, uniquenesses):
    return np.outer(loadings, loadings) + np.diag(uniquenesses)


class TestMeanInterItemCorrelation:
    def test_by_hand(self):
        # Deviations (-3, -1, 1, 3)/2, (-1, -3, 3, 1)/2, (-1, -1, 1, 1): sums of products 12/4 = 3,
        # 8/2 = 4 and 4; sums of squares 5, 5, 4. r12 = 3/5, r13 = r23 = 4/sqrt(20).
        expected = (3 / 5 + 8 / math.sqrt(20)) / 3
        assert mean_inter_item_correlation(SMALL) == pytest.approx(expected, abs=1e-12)
        assert mean_inter_item_correlation(SMALL * 1e-15) == pytest.approx(expected, abs=1e-12)

    def test_equal_correlations_are_their_mean(self, sample_with):
        x = sample_with(np.full((5, 5), -0.2) + 1.2 * np.eye(5)) * [1, 2, 3, 4, 5]
        assert mean_inter_item_correlation(x) == pytest.approx(-0.2, abs=1e-9)

    def test_nan_with_a_constant_item(self):
        # Three times .1 has the mean .10000000000000002: a deviation, and with it a correlation, of
        # rounding.
        assert math.isnan(mean_inter_item_correlation([[1, 0.1, 2], [2, 0.1, 1], [4, 0.1, 4]]))


class TestSpearmanBrown:
    def test_by_hand(self):
        # 8 * .25 / (1 + 7 * .25) = 2 / 2.75; 4 * -.1 / (1 - .3) = -.4 / .7.
        assert spearman_brown(0.25, 8) == pytest.approx(2 / 2.75, rel=1e-12)
        assert spearman_brown(-0.1, 4) == pytest.approx(-4 / 7, rel=1e-12)
        assert spearman_brown(0.3, 1) == pytest.approx(0.3, rel=1e-12)
        assert spearman_brown(1.0, 5) == 1

    @settings(max_examples=20, deadline=None)
    @given(x=matrices)
    def test_is_alpha_of_the_standardised_items(self, x):
        standardised = (x - x.mean(axis=0)) / x.std(axis=0, ddof=1)
        expected = spearman_brown(mean_inter_item_correlation(x), x.shape[1])
        assert cronbach_alpha(standardised) == pytest.approx(expected, rel=1e-6, abs=1e-6)

    def test_nan_where_so_many_items_cannot_be_so_opposed(self):
        # Four items can have a mean correlation of -.2 (above -1/3), eight cannot (below -1/7).
        assert spearman_brown(-0.2, 4) == pytest.approx(-2, rel=1e-12)
        assert math.isnan(spearman_brown(-0.2, 8))
        assert math.isnan(spearman_brown(-1.0, 2))
        assert math.isnan(spearman_brown(math.nan, 8))

    @pytest.mark.parametrize(
        ("r", "items", "message"), [(1.2, 3, "between -1 and 1"), (0.2, 0, "1 item")]
    )
    def test_refuses(self, r, items, message):
        with pytest.raises(ValueError, match=message):
            spearman_brown(r, items)


class TestItemStatistics:
    def test_by_hand(self):
        items = item_statistics(SMALL)
        assert items.mean == pytest.approx([2.5, 2.5, 2.0])
        assert items.sd == pytest.approx([math.sqrt(5 / 3), math.sqrt(5 / 3), math.sqrt(4 / 3)])
        # Rests: 3, 2, 7, 6 (deviations -3, -5, 5, 3 halves: squares 17); 2, 3, 6, 7 (the same, -5,
        # -3, 3, 5 halves: 17); 3, 3, 7, 7 (deviations -2, -2, 2, 2: squares 16). Products with the
        # items: (9 + 5 + 5 + 9)/4 = 7; (5 + 9 + 9 + 5)/4 = 7; 2 * 4 = 8.
        expected = [7 / math.sqrt(5 * 17), 7 / math.sqrt(5 * 17), 8 / math.sqrt(4 * 16)]
        assert items.item_rest_correlation == pytest.approx(expected, abs=1e-12)
        # Without item 1: 2 * (1 - (5/3 + 4/3) / (17/3)) = 2 * (1 - 9/17) = 16/17; without 2 the
        # same; without 3: 2 * (1 - (10/3) / (16/3)) = 2 * 6/16 = 3/4.
        assert items.alpha_if_removed == pytest.approx([16 / 17, 16 / 17, 3 / 4], abs=1e-12)

    def test_of_two_items_none_can_be_removed(self):
        items = item_statistics(SMALL[:, :2])
        assert np.isnan(items.alpha_if_removed).all()
        assert items.item_rest_correlation == pytest.approx([3 / 5, 3 / 5], abs=1e-12)

    def test_a_constant_item_correlates_with_nothing(self):
        items = item_statistics(np.column_stack([SMALL, [0.1] * 4]))
        assert math.isnan(items.item_rest_correlation[3])
        # It changes no deviation of a rest.
        assert items.item_rest_correlation[:3] == pytest.approx(
            item_statistics(SMALL).item_rest_correlation
        )
        assert items.alpha_if_removed[3] == pytest.approx(11 / 12)

    def test_an_item_keyed_the_wrong_way_shows(self):
        items = item_statistics(SMALL * [1, 1, -1])
        assert items.item_rest_correlation[2] == pytest.approx(-1, abs=1e-12)
        assert items.alpha_if_removed[2] == pytest.approx(3 / 4, abs=1e-12)
        assert items.alpha_if_removed[2] > cronbach_alpha(SMALL * [1, 1, -1])


class TestFirstComponentShare:
    def test_equal_correlations(self, sample_with):
        # The first eigenvalue of k items with correlation r is 1 + (k - 1) r: (1 + 3 * .4) / 4 =
        # .55. Scales do not matter.
        x = sample_with(np.full((4, 4), 0.4) + 0.6 * np.eye(4)) * [1, 10, 100, 1000]
        assert first_component_share(x) == pytest.approx(0.55, abs=1e-9)

    def test_two_items_that_oppose(self, sample_with):
        # Eigenvalues 1 + .6 and 1 - .6: 1.6 / 2.
        x = sample_with(np.array([[1, -0.6], [-0.6, 1]]))
        assert first_component_share(x) == pytest.approx(0.8, abs=1e-9)

    def test_two_blocks(self, sample_with):
        # Blocks of 3 with correlation .5 and of 2 with .2: the first eigenvalue is 1 + 2 * .5 = 2,
        # of 5.
        correlations = np.eye(5)
        correlations[:3, :3] += 0.5 * (1 - np.eye(3))
        correlations[3:, 3:] += 0.2 * (1 - np.eye(2))
        assert first_component_share(sample_with(correlations)) == pytest.approx(2 / 5, abs=1e-9)

    def test_bounds(self, sample_with):
        assert first_component_share(sample_with(np.eye(5))) == pytest.approx(1 / 5, abs=1e-9)
        assert first_component_share([[1, 2, -3], [2, 4, -6], [4, 8, -12]]) == pytest.approx(
            1, abs=1e-9
        )

    def test_nan_with_a_constant_item(self):
        assert math.isnan(first_component_share([[1, 0.1], [2, 0.1], [5, 0.1]]))

    @pytest.mark.parametrize(
        ("x", "message"),
        [
            ([1, 2], "matrix"),
            ([[1], [2]], "2 items"),
            ([[1, 2]], "2 obs"),
            ([[1, 2], [2, np.inf]], "finite"),
        ],
    )
    def test_refuses(self, x, message):
        with pytest.raises(ValueError, match=message):
            first_component_share(x)


def by_pingouin(x: np.ndarray) -> pd.DataFrame:
    long = pd.DataFrame(x).reset_index().melt(id_vars="index")
    found = pingouin.intraclass_corr(long, targets="index", raters="variable", ratings="value")
    return found.set_index("Type")


JUDGES = np.array(
    [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]],
    dtype=float,
)
"""Six targets by four judges: table 2 of Shrout and Fleiss (1979)."""


class TestIntraclass:
    def test_of_the_paper(self) -> None:
        # Table 4: ICC(2,1) .29; its interval of ICC(2,1) is .02 to .76.
        found = icc_agreement(JUDGES)
        assert (round(found.value, 2), round(found.low, 2), round(found.high, 2)) == (
            0.29,
            0.02,
            0.76,
        )

    @pytest.mark.filterwarnings("ignore::pandas.errors.Pandas4Warning")  # pingouin's own
    @pytest.mark.parametrize("shape", [(7, 3), (13, 3), (9, 2)])
    def test_is_that_of_pingouin(self, shape) -> None:
        rng = np.random.default_rng(shape[0])
        x = (
            rng.normal(size=(shape[0], 1))
            + rng.normal(size=(1, shape[1])) / 2
            + rng.normal(size=shape)
        )
        expected = by_pingouin(x)
        found = icc_agreement(x)
        assert found.value == pytest.approx(expected.loc["ICC(A,1)", "ICC"], abs=1e-12)
        assert [round(found.low, 2), round(found.high, 2)] == list(expected.loc["ICC(A,1)", "CI95"])

    def test_a_rater_that_is_higher_throughout_agrees_less(self) -> None:
        higher = JUDGES + np.array([5.0, 0.0, 0.0, 0.0])
        assert icc_agreement(higher).value < icc_agreement(JUDGES).value - 0.05

    def test_raters_that_agree_wholly_have_no_interval(self) -> None:
        same = np.repeat(JUDGES[:, :1], 3, axis=1)
        found = icc_agreement(same)
        assert found.value == pytest.approx(1, abs=1e-12)
        assert math.isnan(found.low)
        assert math.isnan(found.high)

    def test_nan_where_nothing_differs(self) -> None:
        found = icc_agreement(np.ones((6, 3)))
        assert all(map(math.isnan, (found.value, found.low, found.high)))

    @pytest.mark.parametrize("targets", [6, 7, 9, 13])
    def test_intervals_cover(self, targets) -> None:
        """Of 600 draws of three raters, 92 to 98 of 100 hold the true value, but for the error of
        simulation."""
        rng = np.random.default_rng(targets)
        held = 0
        for _ in range(600):
            noise = rng.normal(size=(targets, 3)) * math.sqrt(0.4)
            x = (
                rng.normal(size=(targets, 1)) * math.sqrt(0.5)
                + rng.normal(size=(1, 3)) * math.sqrt(0.1)
                + noise
            )
            found = icc_agreement(x)
            held += found.low <= 0.5 <= found.high
        assert 0.91 < held / 600 < 0.985


token_sets = st.lists(st.frozensets(st.sampled_from("abcde")), min_size=2, max_size=6)


class TestSemanticDiversity:
    def test_by_hand(self):
        # Directions at 0, 90 and 180 degrees: cosines 0 (first and second), -1 (first and third),
        # 0. 1 - (0 - 1)/2 = 1.5; 1 - (0 + 0)/2 = 1; 1 - (-1 + 0)/2 = 1.5. Lengths do not matter.
        assert semantic_diversity([[2, 0], [0, 5], [-0.1, 0]]) == pytest.approx(
            [1.5, 1.0, 1.5], abs=1e-12
        )

    def test_oblique_by_hand(self):
        # (3, 4)/5 and (4, 3)/5: cosine 24/25; each with (1, 0): 3/5 and 4/5.
        expected = [1 - (24 / 25 + 3 / 5) / 2, 1 - (24 / 25 + 4 / 5) / 2, 1 - (3 / 5 + 4 / 5) / 2]
        assert semantic_diversity([[3, 4], [4, 3], [1, 0]]) == pytest.approx(expected, abs=1e-12)

    def test_copies_have_none(self):
        assert semantic_diversity([[1, 2, 3]] * 4) == pytest.approx([0] * 4, abs=1e-12)

    def test_single_precision_is_computed_in_double(self):
        rows = np.array([[1, 1e-4], [1, 0]], dtype=np.float32)
        diversity = semantic_diversity(rows)
        assert diversity.dtype == np.float64
        # 1 - 1/sqrt(1 + 1e-8) = 5e-9, which single precision cannot tell from 0.
        assert diversity == pytest.approx([5e-9, 5e-9], rel=1e-3)

    @settings(max_examples=20, deadline=None)
    @given(seed=st.integers(0, 1000), count=st.integers(2, 7))
    def test_follows_the_order_of_rows_and_ignores_their_lengths(self, seed, count):
        rng = np.random.default_rng(seed)
        rows, order = rng.normal(size=(count, 3)), rng.permutation(count)
        moved = semantic_diversity(rows[order] * rng.uniform(0.1, 9, size=(count, 1)))
        assert moved == pytest.approx(semantic_diversity(rows)[order], abs=1e-9)

    def test_a_single_row_has_no_others(self):
        assert np.isnan(semantic_diversity([[1, 2]])).tolist() == [True]
        assert semantic_diversity(np.empty((0, 4))).shape == (0,)

    @pytest.mark.parametrize(
        ("rows", "message"),
        [
            ([1, 2], "matrix"),
            ([[1, 2], [0, 0]], "finite and not zero"),
            ([[1, 2], [1, math.nan]], "finite and not zero"),
            ([[1, 2], [1, math.inf]], "finite and not zero"),
        ],
    )
    def test_refuses(self, rows, message):
        with pytest.raises(ValueError, match=message):
            semantic_diversity(rows)


class TestLexicalDiversity:
    def test_by_hand(self):
        # {a, b, c} and {b, c, d}: 2 shared of 4 in all; {a, b, c} and {e}: 0 of 4; {b, c, d} and
        # {e}: 0 of 4. 1 - (1/2 + 0)/2 = .75, the same, 1.
        sets = [frozenset("abc"), frozenset("bcd"), frozenset("e")]
        assert lexical_diversity(sets) == pytest.approx([0.75, 0.75, 1.0], abs=1e-12)

    def test_copies_have_none_and_case_is_kept(self):
        assert lexical_diversity([frozenset("ab")] * 3).tolist() == [0, 0, 0]
        assert lexical_diversity([frozenset("a"), frozenset("A")]).tolist() == [1, 1]

    def test_empty_sets_are_the_same_set(self):
        # Empty and empty: 1; empty and {a}: 0. 1 - (1 + 0)/2 = .5, the same, 1 - (0 + 0)/2 = 1.
        empty = frozenset[str]()
        assert lexical_diversity([empty, empty, frozenset("a")]).tolist() == [0.5, 0.5, 1.0]

    @settings(max_examples=30, deadline=None)
    @given(sets=token_sets, seed=st.integers(0, 100))
    def test_follows_the_order_of_sets_within_bounds(self, sets, seed):
        diversity = lexical_diversity(sets)
        assert ((diversity >= 0) & (diversity <= 1)).all()
        order = np.random.default_rng(seed).permutation(len(sets))
        assert lexical_diversity([sets[i] for i in order]) == pytest.approx(
            diversity[order], abs=1e-12
        )

    def test_a_single_set_has_no_others(self):
        assert np.isnan(lexical_diversity([frozenset("a")])).tolist() == [True]
        assert lexical_diversity([]).shape == (0,)


@pytest.mark.parametrize(("right", "n"), [(0, 5), (5, 5), (26, 30), (17, 400)])
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_the_interval_of_a_share_is_wilsons(right, n, level):
    ends = binomtest(right, n).proportion_ci(level, method="wilson")
    assert wilson(right / n, n, level) == pytest.approx((ends.low, ends.high), abs=1e-12)
    assert (wilson(right / n, n, level)[0] == 0) == (
        right == 0
    )  # exactly: last bits differ by machine
    assert (wilson(right / n, n, level)[1] == 1) == (right == n)

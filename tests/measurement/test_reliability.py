import math
from dataclasses import astuple

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
SMALL = np.array(
    [
        [1, 2, 1],
        [2, 1, 1],
        [3, 4, 3],
        [4, 3, 3],
    ]
)


def draw_matrix(seed: int, rows: int, items: int, common: float) -> np.ndarray:
    apart = np.random.default_rng(seed).normal(size=(rows, items))
    shared = np.random.default_rng(seed + 1).normal(size=(rows, 1))
    return apart + common * shared


matrices = st.builds(
    draw_matrix,
    seed=st.integers(0, 10_000),
    rows=st.integers(6, 40),
    items=st.integers(2, 8),
    common=st.floats(0, 2),
)


@pytest.mark.parametrize(
    "statistic",
    [cronbach_alpha, mean_inter_item_correlation, item_statistics, first_component_share],
)
def test_refuses_what_is_no_matrix_of_figures(statistic):
    with pytest.raises(ValueError, match="matrix of observations x items, got 1"):
        statistic([1, 2, 3])


class TestCronbachAlpha:
    def test_by_hand(self):
        # 3/2 * (1 - (5/3 + 5/3 + 4/3) / 12) = 3/2 * (1 - 14/36) = 3/2 * 22/36 = 11/12.
        assert cronbach_alpha(SMALL) == pytest.approx(11 / 12, abs=1e-12)

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
    @given(x=matrices)
    def test_agrees_with_pingouin(self, x):
        alpha, (low, high) = pingouin.cronbach_alpha(data=pd.DataFrame(x), ci=0.9)
        assert cronbach_alpha(x) == pytest.approx(alpha, rel=1e-9, abs=1e-9)
        interval = feldt_interval(cronbach_alpha(x), *x.shape, level=0.9)
        assert interval.value == cronbach_alpha(x)
        # pingouin rounds the ends to three decimals.
        assert (interval.low, interval.high) == pytest.approx((low, high), abs=5.01e-4)


class TestFeldtInterval:
    def test_two_observations_are_enough(self):
        # F with 1 and 1 degrees of freedom: its quantiles of .025 and .975 are tan(.025 pi / 2)^2
        # and its reciprocal.
        interval = feldt_interval(0.5, 2, 2)
        edge = math.tan(0.0125 * math.pi) ** 2
        ends = (1 - 0.5 / edge, 1 - 0.5 * edge)
        assert (interval.low, interval.high) == pytest.approx(ends)

    def test_an_alpha_of_one_is_sure(self):
        interval = feldt_interval(1.0, 10, 3)
        assert astuple(interval) == (1, 1, 1)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ((1.1, 10, 3), "at most 1"),
            ((0.5, 10, 1), "at least 2 observations and 2 items"),
            ((0.5, 10, 3, 1.0), "level"),
        ],
    )
    def test_refuses(self, arguments, message):
        with pytest.raises(ValueError, match=message):
            feldt_interval(*arguments)


class TestMeanInterItemCorrelation:
    def test_by_hand(self):
        # Deviations (-3, -1, 1, 3)/2, (-1, -3, 3, 1)/2, (-1, -1, 1, 1): sums of products 12/4 = 3,
        # 8/2 = 4 and 4; sums of squares 5, 5, 4. r12 = 3/5, r13 = r23 = 4/sqrt(20).
        expected = (3 / 5 + 8 / math.sqrt(20)) / 3
        assert mean_inter_item_correlation(SMALL) == pytest.approx(expected, abs=1e-12)
        assert mean_inter_item_correlation(SMALL * 1e-15) == pytest.approx(expected, abs=1e-12)


class TestSpearmanBrown:
    def test_by_hand(self):
        # 8 * .25 / (1 + 7 * .25) = 2 / 2.75; 4 * -.1 / (1 - .3) = -.4 / .7.
        assert spearman_brown(0.25, 8) == pytest.approx(2 / 2.75, rel=1e-12)
        assert spearman_brown(-0.1, 4) == pytest.approx(-4 / 7, rel=1e-12)
        assert spearman_brown(1.0, 5) == 1

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
        variances = items.sd**2
        assert variances == pytest.approx([5 / 3, 5 / 3, 4 / 3])
        # Rests: 3, 2, 7, 6 (deviations -3, -5, 5, 3 halves: squares 17); 2, 3, 6, 7 (the same, -5,
        # -3, 3, 5 halves: 17); 3, 3, 7, 7 (deviations -2, -2, 2, 2: squares 16). Products with the
        # items: (9 + 5 + 5 + 9)/4 = 7; (5 + 9 + 9 + 5)/4 = 7; 2 * 4 = 8.
        alike = 7 / math.sqrt(5 * 17)
        expected = [alike, alike, 8 / math.sqrt(4 * 16)]
        assert items.item_rest_correlation == pytest.approx(expected, abs=1e-12)
        # Without item 1: 2 * (1 - (5/3 + 4/3) / (17/3)) = 2 * (1 - 9/17) = 16/17; without 2 the
        # same; without 3: 2 * (1 - (10/3) / (16/3)) = 2 * 6/16 = 3/4.
        assert items.alpha_if_removed == pytest.approx([16 / 17, 16 / 17, 0.75], abs=1e-12)

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


class TestFirstComponentShare:
    def test_of_two_items_it_is_half_of_one_and_their_correlation(self):
        # Scales do not matter: r12 = 3/5.
        scaled = SMALL[:, :2] * [1, 10]
        assert first_component_share(scaled) == pytest.approx(0.8, abs=1e-12)
        multiples = np.outer([1, 2, 4], [1, 2, -3])
        assert first_component_share(multiples) == pytest.approx(1, abs=1e-12)

    def test_nan_with_a_constant_item(self):
        assert math.isnan(first_component_share([[1, 0.1], [2, 0.1], [5, 0.1]]))


JUDGES = np.array(
    [
        [9, 2, 5, 8],
        [6, 1, 3, 2],
        [8, 4, 6, 8],
        [7, 1, 2, 6],
        [10, 5, 6, 9],
        [6, 2, 4, 7],
    ],
    dtype=float,
)
"""Six targets by four judges: table 2 of Shrout and Fleiss (1979)."""


class TestIntraclass:
    def test_of_the_paper(self) -> None:
        # Table 4: ICC(2,1) .29; its interval of ICC(2,1) is .02 to .76.
        agreement = astuple(icc_agreement(JUDGES))
        assert agreement == pytest.approx((0.29, 0.02, 0.76), abs=5e-3)

    @pytest.mark.filterwarnings("ignore::pandas.errors.Pandas4Warning")  # pingouin's own
    @pytest.mark.parametrize("raters", [2, 4])
    def test_is_that_of_pingouin(self, raters) -> None:
        judges = pd.DataFrame(JUDGES[:, :raters]).reset_index()
        long = judges.melt("index")
        table = pingouin.intraclass_corr(long, targets="index", raters="variable", ratings="value")
        expected = table.set_index("Type").loc["ICC(A,1)"]
        agreement = icc_agreement(JUDGES[:, :raters])
        assert agreement.value == pytest.approx(expected["ICC"], abs=1e-12)
        # pingouin rounds the ends to two decimals.
        ends = np.round([agreement.low, agreement.high], 2)
        assert ends.tolist() == list(expected["CI95"])

    def test_nan_where_nothing_differs(self) -> None:
        assert np.isnan(astuple(icc_agreement(np.ones((6, 3))))).all()


class TestSemanticDiversity:
    def test_by_hand(self):
        # Directions at 0, 90 and 180 degrees: cosines 0 (first and second), -1 (first and third),
        # 0. 1 - (0 - 1)/2 = 1.5; 1 - (0 + 0)/2 = 1; 1 - (-1 + 0)/2 = 1.5. Lengths do not matter.
        diversity = semantic_diversity([[2, 0], [0, 5], [-0.1, 0]])
        assert diversity == pytest.approx([1.5, 1.0, 1.5], abs=1e-12)

    def test_a_single_row_has_no_others(self):
        assert np.isnan(semantic_diversity([[1, 2]])).tolist() == [True]
        assert semantic_diversity(np.empty((0, 4))).shape == (0,)

    @pytest.mark.parametrize(
        ("rows", "message"),
        [
            ([1, 2], "matrix"),
            ([[1, 2], [0, 0]], "finite and not zero"),
            ([[1, 2], [1, math.inf]], "finite and not zero"),
        ],
    )
    def test_refuses(self, rows, message):
        with pytest.raises(ValueError, match=message):
            semantic_diversity(rows)

    def test_single_precision_is_computed_in_double(self):
        rows = np.array([[1, 1e-4], [1, 0]], dtype=np.float32)
        diversity = semantic_diversity(rows)
        assert diversity.dtype == np.float64
        # 1 - 1/sqrt(1 + 1e-8) = 5e-9, which single precision cannot tell from 0.
        assert diversity == pytest.approx([5e-9, 5e-9], rel=1e-3)


class TestLexicalDiversity:
    def test_by_hand(self):
        # {a, b, c} and {b, c, d}: 2 shared of 4 in all; {a, b, c} and {e}: 0 of 4; {b, c, d} and
        # {e}: 0 of 4. 1 - (1/2 + 0)/2 = .75, the same, 1.
        sets = [frozenset("abc"), frozenset("bcd"), frozenset("e")]
        assert lexical_diversity(sets) == pytest.approx([0.75, 0.75, 1.0], abs=1e-12)

    def test_empty_sets_are_the_same_set(self):
        # Empty and empty: 1; empty and {a}: 0. 1 - (1 + 0)/2 = .5, the same, 1 - (0 + 0)/2 = 1.
        empty = frozenset[str]()
        assert lexical_diversity([empty, empty, frozenset("a")]).tolist() == [0.5, 0.5, 1.0]


@pytest.mark.parametrize(
    ("right", "n"),
    [
        (0, 5),
        (5, 5),
        (26, 30),
        (17, 400),
    ],
)
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_the_interval_of_a_share_is_wilsons(right, n, level):
    ends = binomtest(right, n).proportion_ci(level, method="wilson")
    low, high = wilson(right / n, n, level)
    assert (low, high) == pytest.approx((ends.low, ends.high), abs=1e-12)
    # Exactly: last bits differ by machine.
    assert (low == 0) == (right == 0)
    assert (high == 1) == (right == n)

"""From logits to scores of items, by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import log_softmax

from evenruler.instruments.questionnaires.ask.item_scores import (
    entailment_share,
    item_score,
    two_way,
    two_way_of_logs,
)

P = [[0.8, 0.1], [0.2, 0.3]]
# Down the columns, whose sums are 1 and .4: .8 .25 / .2 .75. Along the rows, whose sums are 1.05
# and .95:
PSS = [[16 / 21, 5 / 21], [4 / 19, 15 / 19]]


class TestTwoWay:
    def test_columns_first_then_rows(self) -> None:
        assert two_way(P) == pytest.approx(np.array(PSS), abs=1e-15)

    def test_three_terms_and_two_intensifiers(self) -> None:
        # Columns sum to .5 and .4: .2 .5 / .2 .25 / .6 .25; rows to .7, .45 and .85.
        expected = [[2 / 7, 5 / 7], [4 / 9, 5 / 9], [12 / 17, 5 / 17]]
        assert two_way([[0.1, 0.2], [0.1, 0.1], [0.3, 0.1]]) == pytest.approx(
            np.array(expected), abs=1e-15
        )

    def test_a_low_temperature_sharpens_in_both_steps(self) -> None:
        # T = 1/2 squares. Columns .64 .04 and .01 .09: 16/17 1/17 and .1 .9; rows 256/289 1/100 and
        # 1/289 81/100.
        expected = [[25600 / 25889, 289 / 25889], [100 / 23509, 23409 / 23509]]
        assert two_way(P, 0.5) == pytest.approx(np.array(expected), abs=1e-15)

    def test_a_high_temperature_evens_out_in_both_steps(self) -> None:
        # T = 2 takes roots: of these scores .8 .1 / .2 .3, so columns .8 .25 / .2 .75, and again of
        # those.
        rows = [(math.sqrt(0.8), 0.5), (math.sqrt(0.2), math.sqrt(0.75))]
        expected = [[a / (a + b), b / (a + b)] for a, b in rows]
        assert two_way([[0.64, 0.01], [0.04, 0.09]], 2) == pytest.approx(
            np.array(expected), abs=1e-15
        )

    @pytest.mark.parametrize(
        ("p", "expected"),
        [
            # columns 0 1 and .25 .75
            pytest.param([[0, 0.1], [0.2, 0.3]], [[0, 1], [4 / 7, 3 / 7]], id="a-cell-0"),
            # columns 0 1 and 0 1; the first row is then nothing, so even
            pytest.param([[0, 0], [0.2, 0.3]], [[0.5, 0.5], [0.5, 0.5]], id="a-row-0"),
            # columns .5 .5 and .25 .75
            pytest.param([[0, 0.1], [0, 0.3]], [[2 / 3, 1 / 3], [0.4, 0.6]], id="a-column-0"),
            pytest.param([[0, 0], [0, 0]], [[0.5, 0.5], [0.5, 0.5]], id="all-0"),
            # columns .8 .2 and .25 .75
            pytest.param([[1, 0.1], [0.25, 0.3]], PSS, id="a-cell-1"),
            # columns .8 .2 and .75 .25
            pytest.param(
                [[1, 1], [0.25, 1 / 3]], [[16 / 31, 15 / 31], [4 / 9, 5 / 9]], id="a-row-1"
            ),
            # columns .5 .5 and .25 .75
            pytest.param([[1, 0.1], [1, 0.3]], [[2 / 3, 1 / 3], [0.4, 0.6]], id="a-column-1"),
            pytest.param([[1, 1], [1, 1]], [[0.5, 0.5], [0.5, 0.5]], id="all-1"),
            pytest.param([[1, 0], [0, 1]], [[1, 0], [0, 1]], id="0-and-1"),
        ],
    )
    def test_scores_of_0_and_1(self, p, expected) -> None:
        assert two_way(p) == pytest.approx(np.array(expected), abs=1e-15)

    @given(
        p=arrays(np.float64, (4, 3), elements=st.sampled_from([0.0, 1.0]) | st.floats(0, 1)),
        rows=st.permutations(range(4)),
        columns=st.permutations(range(3)),
        temperature=st.sampled_from([0.5, 1.0, 3.0]),
    )
    def test_rows_sum_to_one_and_order_does_not_matter(self, p, rows, columns, temperature) -> None:
        found = two_way(p, temperature)

        assert found.sum(axis=1) == pytest.approx(1, abs=1e-12)
        assert ((found >= 0) & (found <= 1)).all()
        reordered = np.ix_(rows, columns)
        assert two_way(p[reordered], temperature) == pytest.approx(found[reordered], abs=1e-12)

    @pytest.mark.parametrize(
        "p", [[[0.5, -0.1]], [[0.5, 1.1]], [[0.5, math.nan]], [[0.5, math.inf]]]
    )
    def test_what_is_no_score_is_refused(self, p) -> None:
        with pytest.raises(ValueError, match=r"^entailment scores lie in \[0, 1\]$"):
            two_way(p)

    @pytest.mark.parametrize("temperature", [0, -1, math.nan])
    def test_a_temperature_is_positive(self, temperature) -> None:
        with pytest.raises(
            ValueError, match=rf"^temperature is {temperature}, expected more than 0$"
        ):
            two_way(P, temperature)

    def test_an_endless_temperature_makes_no_nan(self) -> None:
        try:
            found = two_way([[0, 0.5], [0.5, 0.5]], math.inf)
        except ValueError:
            return
        assert not np.isnan(found).any()

    def test_a_vector_is_refused(self) -> None:
        with pytest.raises(ValueError, match="axis"):
            two_way([0.5, 0.5])


class TestTwoWayOfLogs:
    def test_is_two_way_of_the_logarithms(self) -> None:
        assert two_way_of_logs(np.log(P)) == pytest.approx(np.array(PSS), abs=1e-15)

    def test_logs_too_small_for_a_float(self) -> None:
        # exp(-2000) is 0 in a float; a column of P times that keeps its shares .8 .2.
        logs = [[-2000.0, math.log(0.1)], [-2000.0 - math.log(4), math.log(0.3)]]
        assert two_way_of_logs(logs) == pytest.approx(np.array(PSS), abs=1e-12)
        assert two_way_of_logs(np.log(P) - 2000) == pytest.approx(np.array(PSS), abs=1e-12)

    def test_a_row_too_small_for_a_float(self) -> None:
        # Down the columns the second row stays e^-2000 and e^-1999 of the first; along it, 1 : e.
        found = two_way_of_logs([[0.0, 0.0], [-2000.0, -1999.0]])
        assert found == pytest.approx(
            np.array([[0.5, 0.5], [1 / (1 + math.e), math.e / (1 + math.e)]]), abs=1e-12
        )

    def test_logs_in_single_precision_give_shares_in_double(self) -> None:
        assert two_way_of_logs(np.log(P).astype(np.float32)).sum(axis=1) == pytest.approx(
            1, abs=1e-15
        )

    def test_a_temperature_is_positive(self) -> None:
        with pytest.raises(ValueError, match="temperature is 0"):
            two_way_of_logs([[-1.0]], 0)


class TestEntailmentShare:
    # entailment, neutral, contradiction
    LOGITS = np.array([[2.0, 9.0, 1.0], [-3.0, 0.5, 0.25], [0.0, -8.0, 0.0]])

    def test_neutral_is_left_out(self) -> None:
        expected = log_softmax(self.LOGITS[:, [0, 2]], axis=1)[:, 0]
        assert entailment_share(self.LOGITS) == pytest.approx(expected, abs=1e-14)
        assert entailment_share([0.0, 5.0, 0.0]) == pytest.approx(math.log(0.5))
        assert entailment_share([math.log(3), 5.0, 0.0]) == pytest.approx(math.log(0.75))

    def test_or_counts_as_the_third(self) -> None:
        expected = log_softmax(self.LOGITS, axis=1)[:, 0]
        assert entailment_share(self.LOGITS, three_way=True) == pytest.approx(expected, abs=1e-14)
        assert entailment_share([0.0, math.log(2), 0.0], three_way=True) == pytest.approx(
            math.log(0.25)
        )

    def test_shares_too_small_for_a_float(self) -> None:
        assert entailment_share([-2000.0, 0.0, 0.0]) == pytest.approx(-2000.0)

    def test_any_number_of_dimensions(self) -> None:
        assert entailment_share(np.zeros((4, 5, 3))).shape == (4, 5)

    @pytest.mark.parametrize("three_way", [False, True])
    def test_nan_is_refused(self, three_way) -> None:
        with pytest.raises(ValueError, match=r"^a logit is not a number$"):
            entailment_share([[0.0, math.nan, 1.0]], three_way=three_way)

    @pytest.mark.parametrize("logits", [[math.inf, 0.0, 0.0], [-math.inf, 0.0, -math.inf]])
    def test_infinite_logits_make_no_nan(self, logits) -> None:
        try:
            found = entailment_share(logits)
        except ValueError:
            return
        assert not np.isnan(found)


class TestItemScore:
    def test_of_one_source_term(self) -> None:
        # (-4 * 16/21 + 4 * 5/21) / (1 * 2) = -44/21 / 2
        assert item_score(PSS, [True, False], [-4, 4]) == pytest.approx(-22 / 21, abs=1e-15)

    def test_of_the_other(self) -> None:
        # (-4 * 4/19 + 4 * 15/19) / (1 * 2) = 44/19 / 2
        assert item_score(PSS, [False, True], [-4, 4]) == pytest.approx(22 / 19, abs=1e-15)

    def test_of_both_is_their_mean(self) -> None:
        # (-44/21 + 44/19) / (2 * 2) = 11 * 2/399
        assert item_score(PSS, [True, True], [-4, 4]) == pytest.approx(22 / 399, abs=1e-15)

    def test_a_synonym_more_does_not_weigh_less(self) -> None:
        assert item_score([PSS[0]] * 3, [True] * 3, [-4, 4]) == pytest.approx(-22 / 21, abs=1e-15)

    def test_weights_stand_for_columns(self) -> None:
        assert item_score([[0.1, 0.2, 0.7]], [True], [-4, 2, 3]) == pytest.approx(
            (-0.4 + 0.4 + 2.1) / 3, abs=1e-15
        )

    def test_no_source_term_is_refused(self) -> None:
        with pytest.raises(ValueError, match=r"^no term is a source term$"):
            item_score(PSS, [False, False], [-4, 4])

    @pytest.mark.parametrize(
        ("is_source", "weights"), [([True], [-4, 4]), ([True, False], [-4, 0, 4])]
    )
    def test_shapes_go_together(self, is_source, weights) -> None:
        with pytest.raises(
            ValueError, match=rf"^PSS is \(2, 2\), expected \({len(is_source)}, {len(weights)}\)$"
        ):
            item_score(PSS, is_source, weights)

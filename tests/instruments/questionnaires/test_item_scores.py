"""From logits to scores of items, by hand."""

import contextlib
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from evenruler.instruments.questionnaires.ask.item_scores import (
    entailment_share,
    item_score,
    two_way,
    two_way_of_logs,
)
from tests.instruments.questionnaires.doors import matrix_of_text

SHARES = st.sampled_from([0.0, 1.0]) | st.floats(0, 1)
P = matrix_of_text("0.8 0.1; 0.2 0.3")
# Down the columns, whose sums are 1 and .4: .8 .25 / .2 .75. Along the rows, whose sums are 1.05
# and .95:
PSS = matrix_of_text("16/21 5/21; 4/19 15/19")


class TestTwoWay:
    def test_columns_first_then_rows(self) -> None:
        assert two_way(P) == pytest.approx(PSS, abs=1e-15)

    def test_a_low_temperature_sharpens_in_both_steps(self) -> None:
        # T = 1/2 squares. Columns .64 .04 and .01 .09: 16/17 1/17 and .1 .9; rows 256/289 1/100 and
        # 1/289 81/100.
        expected = matrix_of_text("25600/25889 289/25889; 100/23509 23409/23509")
        assert two_way(P, 0.5) == pytest.approx(expected, abs=1e-15)

    @pytest.mark.parametrize(
        ("p", "expected"),
        [
            # columns 0 1 and .25 .75
            ("0 0.1; 0.2 0.3", "0 1; 4/7 3/7"),
            # columns 0 1 and 0 1; the first row is then nothing, so even
            ("0 0; 0.2 0.3", "1/2 1/2; 1/2 1/2"),
            # columns .5 .5 and .25 .75
            ("0 0.1; 0 0.3", "2/3 1/3; 2/5 3/5"),
            ("0 0; 0 0", "1/2 1/2; 1/2 1/2"),
            ("1 0; 0 1", "1 0; 0 1"),
        ],
    )
    def test_scores_of_0_and_1(self, p, expected) -> None:
        shares = two_way(matrix_of_text(p))
        assert shares == pytest.approx(matrix_of_text(expected), abs=1e-15)

    @settings(max_examples=30)
    @given(
        p=arrays(np.float64, (4, 3), elements=SHARES),
        rows=st.permutations(range(4)),
        columns=st.permutations(range(3)),
        temperature=st.sampled_from([0.5, 1.0, 3.0]),
    )
    def test_rows_sum_to_one_and_order_does_not_matter(self, p, rows, columns, temperature) -> None:
        shares = two_way(p, temperature)

        assert shares.sum(axis=1) == pytest.approx(1, abs=1e-12)
        assert ((shares >= 0) & (shares <= 1)).all()
        reordered = np.ix_(rows, columns)
        assert two_way(p[reordered], temperature) == pytest.approx(shares[reordered], abs=1e-12)

    @pytest.mark.parametrize("wrong", [-0.1, 1.1, math.nan])
    def test_what_is_no_score_is_refused(self, wrong) -> None:
        with pytest.raises(ValueError, match=r"^entailment scores lie in \[0, 1\]$"):
            two_way([[0.5, wrong]])

    @pytest.mark.parametrize("temperature", [0, -1, math.nan, math.inf])
    def test_a_temperature_is_positive(self, temperature) -> None:
        with pytest.raises(
            ValueError, match=rf"^temperature is {temperature}, expected more than 0$"
        ):
            two_way(P, temperature)


class TestTwoWayOfLogs:
    def test_logs_too_small_for_a_float(self) -> None:
        # exp(-2000) is 0 in a float; a column of P times that keeps its shares .8 .2.
        logs = np.log(P)
        logs[:, 0] = [-2000.0, -2000.0 - math.log(4)]
        for small in (logs, np.log(P) - 2000):
            assert two_way_of_logs(small) == pytest.approx(PSS, abs=1e-12)


class TestEntailmentShare:
    @pytest.mark.parametrize(
        ("logits", "three_way", "expected"),
        [
            ([0.0, 5.0, 0.0], False, math.log(0.5)),  # neutral is left out
            ([math.log(3), 5.0, 0.0], False, math.log(0.75)),
            ([0.0, math.log(2), 0.0], True, math.log(0.25)),  # or counts as the third
            ([-2000.0, 0.0, 0.0], False, -2000.0),  # a share too small for a float
        ],
    )
    def test_by_hand(self, logits, three_way, expected) -> None:
        assert entailment_share(logits, three_way=three_way) == pytest.approx(expected)

    def test_nan_is_refused(self) -> None:
        with pytest.raises(ValueError, match=r"^a logit is not a number$"):
            entailment_share([[0.0, math.nan, 1.0]])

    @pytest.mark.parametrize(
        "logits",
        [
            [math.inf, 0.0, 0.0],
            [-math.inf, 0.0, -math.inf],
        ],
    )
    def test_infinite_logits_make_no_nan(self, logits) -> None:
        with contextlib.suppress(ValueError):
            assert not np.isnan(entailment_share(logits))


class TestItemScore:
    @pytest.mark.parametrize(
        ("is_source", "expected"),
        [
            ([True, False], -22 / 21),  # (-4 * 16/21 + 4 * 5/21) / (1 * 2) = -44/21 / 2
            ([True, True], 22 / 399),  # (-44/21 + 44/19) / (2 * 2) = 11 * 2/399
        ],
    )
    def test_the_mean_of_source_terms(self, is_source, expected) -> None:
        assert item_score(PSS, is_source, [-4, 4]) == pytest.approx(expected, abs=1e-15)

    def test_weights_stand_for_columns(self) -> None:
        score = item_score([[0.1, 0.2, 0.7]], [True], [-4, 2, 3])
        assert score == pytest.approx((-0.4 + 0.4 + 2.1) / 3, abs=1e-15)

    def test_no_source_term_is_refused(self) -> None:
        with pytest.raises(ValueError, match=r"^no term is a source term$"):
            item_score(PSS, [False, False], [-4, 4])

    def test_shapes_go_together(self) -> None:
        with pytest.raises(ValueError, match=r"^PSS is \(2, 2\), expected \(2, 3\)$"):
            item_score(PSS, [True, False], [-4, 0, 4])

"""What counts as constant, and correlations beside constant columns."""

import numpy as np
import pytest

from evenruler.measurement.inputs import (
    as_items,
    constant_columns,
    constant_total,
    correlation,
    correlation_matrix,
)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ([1.0, 2.0], "a matrix"),
        ([[1.0, 2.0]], "2 observations"),
        ([[1.0], [2.0]], "2 items"),
        ([[1.0, np.inf], [2.0, 3.0]], "finite"),
    ],
)
def test_items_are_finite_and_two_by_two_at_least(wrong: list[object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        as_items(wrong)


class TestConstant:
    def test_rounding_is_measured_column_by_column(self) -> None:
        x = np.array([[1e9, 1e-9], [1e9 + 1e-4, 2e-9]])
        assert constant_columns(x).tolist() == [True, False]

    def test_rounding_of_totals_is_measured_by_the_largest_row(self) -> None:
        # A spread of 2e-12 beside rows of sizes 1 is more than rounding; beside rows of 10 it is
        # not.
        even, nearly = np.array([[0.5, 0.5], [0.5, 0.5 + 2e-12]])
        assert not constant_total(np.array([even, nearly]))
        apart = np.array([5, -5])
        assert constant_total(np.array([even + apart, nearly + apart]))
        # Many rows are no larger than one.
        assert not constant_total(np.array([even] * 9 + [nearly]))


class TestCorrelations:
    def test_of_two_it_is_that_of_their_matrix(self) -> None:
        pairs = np.random.default_rng(1).normal(size=(9, 2))
        expected = correlation_matrix(pairs)[0, 1]
        assert correlation(*pairs.T) == pytest.approx(expected, abs=1e-15)
        opposed = correlation([1, 2, 3], [-2, -4, -6])
        assert opposed == -1

    @pytest.mark.parametrize(
        "pair",
        [
            ([], []),
            ([1], [2]),
            ([0.1 + 0.2, 0.3, 0.3], [1, 2, 4]),
            ([1, 2], [5, 5]),
        ],
    )
    def test_of_one_value_or_of_equal_ones_there_is_none(
        self, pair: tuple[list[float], list[float]]
    ) -> None:
        assert np.isnan(correlation(*pair))

    def test_single_precision_is_computed_in_double(self) -> None:
        x, y = np.array([[0.1, 0.7, 0.2, 0.9], [0.3, 0.4, 0.1, 0.8]], dtype=np.float32)
        assert correlation(x, y) == correlation(x.tolist(), y.tolist())

    def test_by_hand_with_nan_beside_a_constant_column_and_no_warning(self) -> None:
        rows = [[1.0, 7.0, 3.0], [2.0, 7.0, 1.0], [3.0, 7.0, 2.0]]
        matrix = correlation_matrix(np.array(rows))
        assert np.isnan(matrix[1]).all()
        assert np.isnan(matrix[:, 1]).all()
        expected = np.array([[1, -0.5], [-0.5, 1]])
        assert matrix[::2, ::2] == pytest.approx(expected)

import math

import numpy as np
import pytest

from evenruler.instruments.saged.diagnose.groups import by_size, gathered, placed, places_of

nan = math.nan


def test_rows_of_a_group_stay_in_their_order_and_smaller_groups_are_filled_up() -> None:
    found = places_of(np.array([1, 0, 1, 3]), 4)
    np.testing.assert_array_equal(found, [[[1, 4], [0, 2], [4, 4], [3, 4]]])


def test_rows_of_many_stay_in_their_order() -> None:
    codes = np.arange(200) * 7 % 5
    found = places_of(codes, 5)[0]
    np.testing.assert_array_equal(found, [np.flatnonzero(codes == group) for group in range(5)])


def test_groups_without_rows() -> None:
    np.testing.assert_array_equal(places_of(np.array([0]), 2), [[[0], [1]]])
    assert places_of(np.array([], dtype=np.intp), 0).shape == (1, 0, 0)


def test_draws_may_differ_in_sizes_and_repeat_rows() -> None:
    found = placed(np.array([2, 0, 0, 1]), np.array([[1, 1], [0, 2]]), 3)
    np.testing.assert_array_equal(found, [[[2, 3], [0, 3]], [[3, 3], [0, 1]]])


def test_numbers_that_are_not_there_are_nan() -> None:
    found = gathered(np.array([[5.0, 6.0, nan], [7.0, 8.0, 9.0]]), np.array([[[0, 3], [2, 1]]]))
    np.testing.assert_array_equal(found, [[[[5, nan], [nan, 6]]], [[[7, nan], [9, 8]]]])


@pytest.mark.parametrize("rows", [0, 1, 2000])
def test_groups_of_about_the_same_size_come_together_and_each_once(rows: int) -> None:
    codes = np.random.default_rng(rows).choice(5, rows, p=[0.6, 0.35, 0.03, 0.01, 0.01])
    whole = {}
    for chosen, places in by_size(codes, 5):
        sizes = (places[0] < rows).sum(axis=1)
        assert 2 * sizes.min() >= sizes.max()
        whole |= {group: own[own < rows].tolist() for group, own in zip(chosen.tolist(), places[0], strict=True)}
    assert whole == {group: np.flatnonzero(codes == group).tolist() for group in range(5)}

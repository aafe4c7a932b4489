import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenruler.instruments.saged.diagnose import batches
from evenruler.instruments.saged.diagnose.batches import Parts, codes

nan = math.nan
CELL, OTHERS = ["model", "feature"], ["concept"]


def frame(seed: int, rows: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "model": rng.choice(["a", "b"], rows),
            "feature": pd.Categorical(rng.choice(["regard", "toxicity"], rows), ["unused", "toxicity", "regard"]),
            "concept": rng.choice(["france", "japan", "brazil"], rows, p=[0.7, 0.2, 0.1]),
        }
    )


class TestBatches:
    @pytest.mark.parametrize("at_once", [1, 50, 10_000])
    @settings(max_examples=25, deadline=None)
    @given(seed=st.integers(0, 10_000), rows=st.integers(0, 300), stacked=st.booleans())
    def test_hold_every_group_once_beside_those_of_its_cell(
        self, at_once: int, seed: int, rows: int, stacked: bool
    ) -> None:
        table = frame(seed, rows)
        if stacked:
            table = table.sort_values(CELL, ignore_index=True)
        numbers = np.arange(rows, dtype=np.float64)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(batches, "_AT_ONCE", at_once)
            found = list(batches.batches(table, CELL, OTHERS, numbers, -numbers))
        groups: dict[tuple[str, ...], list[int]] = {}
        cells: dict[tuple[str, ...], list[int]] = {}
        for batch in found:
            for parts, columns, by in ((batch.groups, [*CELL, *OTHERS], groups), (batch.cells, CELL, cells)):
                assert parts.baseline is not None
                np.testing.assert_array_equal(parts.baseline, -parts.values)
                for own in np.split(parts.values.astype(int), np.cumsum(parts.sizes)[:-1]):
                    by[tuple(table[columns].iloc[own[0]])] = sorted(own)
            of_cell = np.split(batch.cells.values, np.cumsum(batch.cells.sizes)[:-1])
            for first, cell in zip(batch.first, batch.cell_of, strict=True):
                assert first in of_cell[cell]
        for columns, by in (([*CELL, *OTHERS], groups), (CELL, cells)):
            wanted = {} if table.empty else table.groupby(columns, observed=True).indices
            assert by == {key: sorted(own) for key, own in wanted.items()}

    def test_rows_of_a_group_stay_in_their_order_and_the_first_stands_for_it(self) -> None:
        table = pd.DataFrame({"model": list("bab"), "concept": "france"})
        for batch in batches.batches(table, ["model"], ["concept"], np.array([3.0, 5.0, 1.0]), None):
            np.testing.assert_array_equal(batch.groups.values, [3, 1, 5])
            np.testing.assert_array_equal(batch.first, [0, 1])
            np.testing.assert_array_equal(batch.cell_of, [0, 1])


class TestParts:
    def test_of_like_size_are_padded_together(self) -> None:
        numbers = np.arange(16.0)
        found = list(Parts(numbers, -numbers, np.array([2, 9, 3, 2])).blocks())
        small, large = found
        np.testing.assert_array_equal(small.chosen, [0, 2, 3])
        np.testing.assert_array_equal(small.values, [[0, 1, nan], [11, 12, 13], [14, 15, nan]])
        np.testing.assert_array_equal(small.baseline, -small.values)
        np.testing.assert_array_equal(small.n, [2, 3, 2])
        np.testing.assert_array_equal(large.chosen, [1])
        np.testing.assert_array_equal(large.values, [numbers[2:11]])

    def test_those_that_compare_see_pairs(self) -> None:
        block = next(Parts(np.array([1.0, nan, 3.0]), np.array([nan, 2.0, 4.0]), np.array([3])).blocks())
        np.testing.assert_array_equal(block.n, [2])
        np.testing.assert_array_equal(block.compared.values, [[nan, nan, 3]])
        np.testing.assert_array_equal(block.compared.baseline, [[nan, nan, 4]])
        np.testing.assert_array_equal(block.compared.n, [1])


class TestCodes:
    def test_cross_columns_in_order(self) -> None:
        table = pd.DataFrame({"model": list("bab"), "size": pd.Categorical(["l", "s", "s"], ["s", "m", "l"])})
        np.testing.assert_array_equal(codes(table, ["model", "size"], in_order=True), [3 + 2, 0, 3])
        assert (codes(table, []) == 0).all()

    @pytest.mark.parametrize("rows", [60_000, 5_000])  # crossings: fewer than four a row, and more
    def test_many_are_numbered_in_order_without_gaps(self, rows: int) -> None:
        rng = np.random.default_rng(0)
        table = pd.DataFrame(rng.integers(0, 400, (rows, 2)), columns=["first", "second"])
        found = codes(table, ["first", "second"], in_order=True)
        wanted = table.groupby(["first", "second"]).ngroup()
        np.testing.assert_array_equal(found, wanted)
        assert found.dtype == np.uint16

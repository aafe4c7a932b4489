"""A long table taken apart, a few cells at a time: what is computed of them stays in a processor's cache."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenruler.instruments.saged.diagnose.blocks import Floats, count, pairs

Positions = NDArray[np.intp]

Codes = NDArray[Any]
"""Whole numbers of any type, none negative."""

# Numbers that are worked on at a time, where cells and groups are not larger; more leave the cache, fewer cost calls.
_AT_ONCE = 2**16


@dataclass(frozen=True)
class Block:
    """Some parts (groups or cells), one a row.

    Attributes:
        chosen: Which parts.
        values: float64[parts, longest], NaN where missing or where a part is shorter.
        baseline: Beside them.
    """

    chosen: Positions
    values: Floats
    baseline: Floats | None

    @cached_property
    def compared(self) -> "Block":
        """What statistics see that compare values with baselines: values that have one, and these."""
        if self.baseline is None:
            return self
        return Block(self.chosen, *pairs(self.values, self.baseline))

    @cached_property
    def n(self) -> Floats:
        """How many values each part has."""
        return count(self.values)


@dataclass(frozen=True)
class Parts:
    """Numbers in parts (groups or cells), the parts one after the other."""

    values: Floats
    baseline: Floats | None
    sizes: Positions

    def blocks(self) -> Iterator[Block]:
        """All parts, those of about the same size together."""
        magnitude = np.frexp(self.sizes)[1]  # within a factor of two of each other: less than half a block is waste
        for same in np.unique(magnitude):
            alike = np.flatnonzero(magnitude == same)
            at_once = max(1, _AT_ONCE // int(self.sizes[alike].max()))
            for begin in range(0, len(alike), at_once):
                yield self._block(alike[begin : begin + at_once])

    def _block(self, chosen: Positions) -> Block:
        sizes, starts = self.sizes[chosen], (np.cumsum(self.sizes) - self.sizes)[chosen]
        place = np.arange(sizes.max())
        there = place < sizes[:, None]
        beside = starts[-1] - starts[0] + sizes[-1] == sizes.sum()
        rows = slice(starts[0], starts[-1] + sizes[-1]) if beside else (starts[:, None] + place)[there]

        def block(numbers: Floats) -> Floats:
            if there.all():  # as cells often are: nothing to pad
                return numbers[rows].reshape(there.shape)
            padded = np.full(there.shape, np.nan)
            padded[there] = numbers[rows]
            return padded

        return Block(chosen, block(self.values), None if self.baseline is None else block(self.baseline))


@dataclass(frozen=True)
class Batch:
    """Some cells, whole.

    Attributes:
        groups: Their groups, those of a cell side by side.
        cells: The same numbers by cell.
        cell_of: Of each group its place among these cells.
        first: Of each group the position in the table of its first row.
    """

    groups: Parts
    cells: Parts
    cell_of: Positions
    first: Positions


def batches(
    frame: pd.DataFrame, cell: Sequence[str], others: Sequence[str], values: Floats, baseline: Floats | None
) -> Iterator[Batch]:
    """All cells of a table, and each group once; in no order that means something.

    Args:
        frame: The table.
        cell: Columns whose values, crossed, make the cells.
        others: Columns that make groups within a cell.
        values: A number a row.
        baseline: Beside it.
    """
    if frame.empty:
        return
    cells, groups = codes(frame, cell), codes(frame, others)
    order: Positions | None = None
    if (cells[1:] < cells[:-1]).any():  # else, as where features are stacked, it takes no order, nor memory for one
        order = np.argsort(cells, kind="stable")
        cells = cells[order]
    begins = _begins(cells)
    sizes = np.diff(begins, append=len(cells))
    opening = np.flatnonzero(np.diff(begins // _AT_ONCE, prepend=-1))
    for begin, of_cells in zip(begins[opening].tolist(), np.split(sizes, opening[1:]), strict=True):
        rows = np.arange(begin, begin + of_cells.sum())
        if order is not None:
            rows = order[rows]
        by_group, of_groups, cell_of = _by_group(groups[rows], of_cells)
        rows = rows[by_group]
        own, beside = values[rows], None if baseline is None else baseline[rows]
        first = rows[np.cumsum(of_groups) - of_groups]
        yield Batch(Parts(own, beside, of_groups), Parts(own, beside, of_cells), cell_of, first)


def codes(frame: pd.DataFrame, columns: Sequence[str], in_order: bool = False) -> Codes:
    """Of each row a number that stands for its values in some columns, of as narrow a type as will do.

    Args:
        frame: The table, no null in these columns.
        columns: Any number of them.
        in_order: Numbers are in order of the columns' values; those of categories always are.
    """
    found, many = np.zeros(len(frame), dtype=np.uint8), 1
    for column in columns:
        if isinstance(frame[column].dtype, pd.CategoricalDtype):  # as good as its codes, which are there
            own, labels = frame[column].cat.codes.to_numpy(), frame[column].cat.categories
        else:
            own, labels = pd.factorize(frame[column], sort=in_order)
        many *= len(labels)
        found = found.astype(np.min_scalar_type(many))
        found *= found.dtype.type(len(labels))
        np.add(found, own, out=found, casting="unsafe")
        if many > 2**16:  # what is wider sorts slowly: number only what is there
            found = _renumbered(found, many)
            many = int(found.max()) + 1
    return found.astype(np.min_scalar_type(many), copy=False)


def _renumbered(found: Codes, many: int) -> Codes:
    """In the same order without gaps; before, below `many`."""
    if many > 4 * len(found):
        return np.unique(found, return_inverse=True)[1]
    there = np.bincount(found, minlength=many) > 0
    return (np.cumsum(there) - 1)[found]


def _by_group(groups: Codes, sizes: Positions) -> tuple[Positions, Positions, Positions]:
    """Of rows of whole cells, one after the other: their order by group, sizes of groups, and the cell of each."""
    many = int(groups.max()) + 1
    place = np.repeat(np.arange(len(sizes), dtype=np.min_scalar_type(len(sizes) * many)), sizes)
    place *= place.dtype.type(many)
    place += groups
    order = np.argsort(place, kind="stable")
    place = place[order]
    begins = _begins(place)
    return order, np.diff(begins, append=len(place)), place[begins].astype(np.intp) // many


def _begins(ordered: Codes) -> Positions:
    """Where each number stands for the first time."""
    return np.append(0, np.flatnonzero(ordered[1:] != ordered[:-1]) + 1)

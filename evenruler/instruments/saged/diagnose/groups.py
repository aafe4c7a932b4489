"""Numbers put into groups: which rows each group is of, as one array of positions, and the numbers that stand there."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenruler.instruments.saged.diagnose.blocks import Floats

Codes = NDArray[np.intp]

Places = NDArray[np.int32]
"""[draws, groups, most] the rows of each group, for some ways to draw groups; one beyond the last row where a group is
smaller than the largest."""


def placed(rows: NDArray[np.integer[Any]], sizes: Codes, total: int) -> Places:
    """Rows of groups that follow each other, as an array of places.

    Args:
        rows: Those of the first group of the first draw, then of the second, and so on.
        sizes: [draws, groups] how many rows each has.
        total: How many rows there are to choose from.
    """
    found = np.full((*sizes.shape, int(sizes.max(initial=0))), total, dtype=np.int32)
    found[np.arange(found.shape[-1]) < sizes[..., None]] = rows
    return found


def places_of(codes: Codes, groups: int) -> Places:
    """Groups as they are: one draw.

    Args:
        codes: [rows] the number of each row's group.
        groups: How many there are.
    """
    rows, sizes = np.argsort(codes, kind="stable"), np.bincount(codes, minlength=groups)
    return placed(rows, sizes[None], len(codes))


def by_size(codes: Codes, groups: int) -> Iterator[tuple[Codes, Places]]:
    """Groups as they are, those of about the same size together: else one large group makes room in all others.

    Yields:
        Numbers of some groups, each at least as large as half of any other of them, and their places.
    """
    rows, sizes = np.argsort(codes, kind="stable"), np.bincount(codes, minlength=groups)
    magnitude = np.frexp(sizes)[1]
    for same in np.unique(magnitude):
        alike = magnitude == same
        yield np.flatnonzero(alike), placed(rows[np.repeat(alike, sizes)], sizes[alike][None], len(codes))


def gathered(numbers: NDArray[Any], places: Places) -> Floats:
    """The numbers of groups, [series, draws, groups, most], NaN where a group is smaller.

    Args:
        numbers: [series, rows].
        places: Of rows.
    """
    padded = np.concatenate([numbers, np.full((len(numbers), 1), np.nan)], axis=1)
    return np.take(padded, places, axis=1, mode="clip")

"""Figures of groups: a long table of numbers, some columns that make groups, a statistic (SAGED, section 4.1)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenruler.errors import UserError, nearest
from evenruler.saged.diagnose.blocks import Floats, count
from evenruler.saged.diagnose.statistics import OF_CELL, USES_BASELINE, BlockStatistic, cell_options, reason, resolve

Positions = NDArray[np.intp]

Block = tuple[Positions, Floats, Floats | None]
"""Some parts, their values and their baselines, float64[parts, longest]."""

# Numbers in a block, so that it and what is computed of it stay in a processor's cache.
_BLOCK = 2**17


def summarise(
    frame: pd.DataFrame,
    by: Sequence[str],
    statistic: str,
    *,
    cell: Sequence[str] | None = None,
    calibrated: bool = False,
    **options: Any,
) -> pd.DataFrame:
    """One figure a group.

    Args:
        frame: Long: columns `value` and those of `by`, and `baseline` (the same feature of the baseline) where the
            statistic compares with it or values are calibrated. Nulls are left out and counted.
        by: Columns whose values, crossed, make the groups. A group holds all rows of its values and no others: there
            are no rows for margins.
        statistic: A name of `evenruler.saged.STATISTICS`, or the dotted name of a function of yours that takes an
            array and gives a number.
        cell: Those of `by` within which groups are compared: the standard of a selection rate and the bins of a
            divergence are of all rows of a cell. All of `by` but the last by default.
        calibrated: Take value minus baseline instead of value (section 3.3).
        **options: Of the statistic, as `evenruler.saged.OPTIONS` lists them with their defaults: `mode` width;
            `quantile_range` q; `percentile_range` low, high; `selection_rate` standard, q, width, method, margin;
            `kl_divergence` bins, epsilon; `precision` tolerance. Those of a function of yours are given to it.

    Returns:
        Sorted by `by`: these columns, `summary` (float64, NaN where undefined), `n` numbers that it is of (pairs where
        it compares with baselines), `n_missing` rows left out, `reason` why it is undefined, else None.

    Raises:
        UserError: No such statistic, option or column, a row without a group, an infinite number, or a statistic that
            compares with baselines asked of calibrated values.
    """
    found = summarise_each(frame, by, {statistic: (statistic, options)}, cell=cell, calibrated=calibrated)
    return found.drop(columns="statistic")


def summarise_each(
    frame: pd.DataFrame,
    by: Sequence[str],
    statistics: Mapping[str, tuple[str, Mapping[str, Any]]],
    *,
    cell: Sequence[str] | None = None,
    calibrated: bool = False,
) -> pd.DataFrame:
    """Several figures a group; the table is put in groups once.

    Args:
        frame: As for `summarise`.
        by: As for `summarise`.
        statistics: By the name that the figures are to have: the statistic, and its options.
        cell: As for `summarise`.
        calibrated: As for `summarise`.

    Returns:
        What `summarise` gives for each, one after the other, with the name in `statistic`.

    Raises:
        UserError: As for `summarise`.
    """
    by, cell = list(by), list(by[:-1] if cell is None else cell)
    asked = {name: _Asked(kind, resolve(kind), dict(options)) for name, (kind, options) in statistics.items()}
    _check(frame, by, cell, [each.kind for each in asked.values()], calibrated)
    values, baseline = _numbers(frame, calibrated, any(each.kind in USES_BASELINE for each in asked.values()))
    parts, order = _parts(frame, by)
    sizes = np.bincount(parts)
    first = order[np.cumsum(sizes) - sizes]
    cells = _parts(frame.iloc[first], cell)[0]
    labels = frame[by].iloc[first].reset_index(drop=True)
    groups = _Blocks.of(parts, order, cells, values, baseline)
    blocks = groups.blocks()
    wholes = groups.joined(cells).blocks() if any(each.kind in OF_CELL for each in asked.values()) else []
    tables = [labels.iloc[:0]]
    for name, each in asked.items():
        shared = each.of_cells(wholes)
        tables.append(labels.assign(**each.of_groups(blocks, groups.sizes, shared, cells), statistic=name))
    found: pd.DataFrame = pd.concat(tables[1:] or tables, ignore_index=True)
    return found


@dataclass(frozen=True)
class _Blocks:
    """Numbers in parts (groups or cells), handed out as blocks of parts of about the same size."""

    values: Floats
    baseline: Floats | None
    sizes: Positions
    starts: Positions

    @classmethod
    def of(
        cls, parts: Positions, order: Positions, cells: Positions, values: Floats, baseline: Floats | None
    ) -> "_Blocks":
        """Of the group of each number, numbers in the order of their groups, and the cell of each group.

        Groups of a cell come to lie side by side.
        """
        sizes = np.bincount(parts, minlength=len(cells))
        by_cell = np.argsort(cells, kind="stable")
        if (by_cell != np.arange(len(cells))).any():
            place = np.empty(len(cells), dtype=np.intp)
            place[by_cell] = np.arange(len(cells))
            order = _in_order(place[parts], len(cells))
        starts = np.empty_like(sizes)
        starts[by_cell] = np.cumsum(sizes[by_cell]) - sizes[by_cell]
        return cls(values[order], None if baseline is None else baseline[order], sizes, starts)

    def joined(self, cells: Positions) -> "_Blocks":
        """The cells as parts."""
        sizes = np.bincount(cells, weights=self.sizes).astype(np.intp)
        return _Blocks(self.values, self.baseline, sizes, np.cumsum(sizes) - sizes)

    def blocks(self) -> list[Block]:
        """All parts, those of about the same size together."""
        magnitude = np.frexp(self.sizes)[1]  # within a factor of two of each other: less than half a block is waste
        found = []
        for same in np.unique(magnitude):
            alike = np.flatnonzero(magnitude == same)
            at_once = max(1, _BLOCK // int(self.sizes[alike].max()))
            found += [self._block(alike[begin : begin + at_once]) for begin in range(0, len(alike), at_once)]
        return found

    def _block(self, chosen: Positions) -> Block:
        rows, longest = slice(self.starts[chosen[0]], self.starts[chosen[0]] + self.sizes[chosen].sum()), self.sizes[0]
        beside = np.array_equal(self.starts[chosen], self.starts[chosen[0]] + longest * np.arange(len(chosen)))
        if beside and (self.sizes[chosen] == longest).all():  # as cells often are: nothing to pad, nothing to copy
            shape = (len(chosen), longest)
            return (
                chosen,
                self.values[rows].reshape(shape),
                None if self.baseline is None else self.baseline[rows].reshape(shape),
            )
        return self._padded(chosen)

    def _padded(self, chosen: Positions) -> Block:
        place = np.arange(self.sizes[chosen].max())
        beyond = place >= self.sizes[chosen, None]
        rows = np.minimum(self.starts[chosen, None] + place, len(self.values) - 1)

        def block(numbers: Floats) -> Floats:
            own = numbers[rows]
            own[beyond] = np.nan
            return own

        return chosen, block(self.values), None if self.baseline is None else block(self.baseline)


@dataclass(frozen=True)
class _Asked:
    """A statistic that a user asks for."""

    kind: str
    statistic: BlockStatistic
    options: dict[str, Any]

    def of_cells(self, cells: Sequence[Block]) -> dict[str, Any]:
        """The options of the block statistic; arrays have one row a cell."""
        nothing = np.empty(0)
        found = cell_options(self.kind, nothing, nothing, **self.options)
        if self.kind not in OF_CELL or not cells:
            return found
        order = np.argsort(np.concatenate([chosen for chosen, _, _ in cells]))
        parts = [cell_options(self.kind, values, baseline, **self.options) for _, values, baseline in cells]
        arrays = [name for name, value in found.items() if isinstance(value, np.ndarray)]
        return {**found, **{name: np.concatenate([part[name] for part in parts])[order] for name in arrays}}

    def of_groups(
        self, blocks: Sequence[Block], sizes: Positions, shared: Mapping[str, Any], cells: Positions
    ) -> dict[str, Any]:
        """Columns of the result, by name. `sizes`, `cells`: rows and cell of each group."""
        summary = np.full(len(sizes), np.nan)
        n = np.zeros(len(sizes), dtype=np.int64)
        reasons: list[str | None] = [None] * len(sizes)
        of_cell = [name for name, each in shared.items() if self.kind in OF_CELL and isinstance(each, np.ndarray)]
        for chosen, values, baseline in blocks:
            own = {name: shared[name][cells[chosen]] for name in of_cell}
            summary[chosen] = self.statistic(values, baseline, **{**shared, **own})
            n[chosen] = count(values - baseline if baseline is not None and self.kind in USES_BASELINE else values)
            for at in np.flatnonzero(np.isnan(summary[chosen])):
                of_one = None if baseline is None else baseline[at]
                reasons[chosen[at]] = reason(self.kind, values[at], of_one, **self.options)
        return {
            "summary": summary,
            "n": n,
            "n_missing": sizes - n,
            "reason": pd.Series(reasons, dtype=object),
        }


def _parts(frame: pd.DataFrame, by: Sequence[str]) -> tuple[Positions, Positions]:
    """Of each row which part it is in, numbered in order of `by`; and the rows in the order of their parts."""
    parts = np.zeros(len(frame), dtype=np.intp)
    for column in by:
        if isinstance(frame[column].dtype, pd.CategoricalDtype):  # as good as its codes, which are there
            own, labels = frame[column].cat.codes.to_numpy(), frame[column].cat.categories
        else:
            own, labels = pd.factorize(frame[column], sort=True)
        parts *= len(labels)  # in place: fresh memory costs more than the sum
        parts += own
        if parts.max(initial=0) < 4 * len(frame):
            there = np.bincount(parts) > 0
            parts = parts if there.all() else (np.cumsum(there) - 1)[parts]
        else:
            parts = np.unique(parts, return_inverse=True)[1]
    return parts, _in_order(parts, parts.max(initial=0))


def _in_order(parts: Positions, most: int) -> Positions:
    """Which rows to take to go through the parts one after the other, the rows of each in their order."""
    # A narrow type sorts in a third of the time.
    return np.argsort(parts.astype(np.min_scalar_type(most)), kind="stable")


def _numbers(frame: pd.DataFrame, calibrated: bool, compares: bool) -> tuple[Floats, Floats | None]:
    """Values, calibrated where asked, and baselines where values are compared with them."""
    columns = ["value", "baseline"] if calibrated or compares else ["value"]
    numbers = {name: frame[name].to_numpy(dtype=np.float64, na_value=np.nan) for name in columns}
    for name, own in numbers.items():
        infinite = np.flatnonzero(np.isinf(own))
        if infinite.size:
            what = f"row {infinite[0]} holds {own[infinite[0]]}"
            raise UserError(what, where=f"column {name!r}", remedy="leave null what could not be measured")
    if calibrated:
        return numbers["value"] - numbers["baseline"], None
    return numbers["value"], numbers.get("baseline")


def _check(frame: pd.DataFrame, by: list[str], cell: list[str], kinds: Sequence[str], calibrated: bool) -> None:
    compares = [kind for kind in kinds if kind in USES_BASELINE]
    if calibrated and compares:
        what = f"{compares[0]} compares values with their baselines, and calibrated ones have none"
        raise UserError(what, remedy="ask it of raw values")
    if not by:
        raise UserError("no column to group by", remedy="name one or more, as concept")
    needed = [*by, "value", *(["baseline"] if calibrated or compares else [])]
    for column in needed:
        if column not in frame:
            raise UserError(f"the table has no column {column!r}", remedy=nearest(column, map(str, frame.columns)))
    for column in cell:
        if column not in by:
            raise UserError(f"groups lie across cells of {column!r}", remedy="name it in `by` too")
    for column in by:
        missing = np.flatnonzero(frame[column].isna())
        if missing.size:
            raise UserError(f"row {missing[0]} has no {column}", remedy="fill it in, or leave the row out")

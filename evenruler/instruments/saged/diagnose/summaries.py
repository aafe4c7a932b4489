"""Figures of groups: a long table of numbers, some columns that make groups, a statistic (SAGED, section 4.1)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenruler.errors import UserError, nearest
from evenruler.instruments.saged.diagnose.batches import Block, Positions, batches, codes
from evenruler.instruments.saged.diagnose.blocks import Floats
from evenruler.instruments.saged.diagnose.statistics import (
    OF_CELL,
    USES_BASELINE,
    BlockStatistic,
    cell_options,
    reason,
    resolve,
)

Columns = dict[str, NDArray[Any]]
"""Of the result, an entry a group."""

_NOTHING = np.empty(0)
_NO_GROUPS = np.empty(0, dtype=np.intp)


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
    asked = {name: _Asked.of(kind, options) for name, (kind, options) in statistics.items()}
    _check(frame, by, cell, [each.kind for each in asked.values()], calibrated)
    values, baseline = _numbers(frame, calibrated, any(each.kind in USES_BASELINE for each in asked.values()))
    of_cells = any(each.kind in OF_CELL for each in asked.values())
    rows = [_NO_GROUPS]
    found = {name: [each.figures([], _NO_GROUPS, {}, _NO_GROUPS)] for name, each in asked.items()}
    for batch in batches(frame, cell, [column for column in by if column not in cell], values, baseline):
        groups, cells = list(batch.groups.blocks()), list(batch.cells.blocks()) if of_cells else []
        rows.append(batch.first)
        for name, each in asked.items():
            found[name].append(each.figures(groups, batch.groups.sizes, each.of_cells(cells), batch.cell_of))
    return _table(frame.iloc[np.concatenate(rows)], by, found)


@dataclass(frozen=True)
class _Asked:
    """A statistic that a user asks for.

    Attributes:
        kind: Its name.
        statistic: The function.
        options: As the user gave them.
        plain: As the function takes them; those that cells share are of no cell.
    """

    kind: str
    statistic: BlockStatistic
    options: Mapping[str, Any]
    plain: Mapping[str, Any]

    @classmethod
    def of(cls, kind: str, options: Mapping[str, Any]) -> "_Asked":
        """Raises UserError: there is no such statistic or option."""
        return cls(kind, resolve(kind), options, cell_options(kind, _NOTHING, _NOTHING, **options))

    def of_cells(self, cells: Sequence[Block]) -> dict[str, Floats]:
        """Options that cells share, one row a cell."""
        if self.kind not in OF_CELL:
            return {}
        order = np.argsort(np.concatenate([each.chosen for each in cells]))
        seen = [self._seen(each) for each in cells]
        found = [cell_options(self.kind, each.values, each.baseline, **self.options) for each in seen]
        shared = [name for name, option in self.plain.items() if isinstance(option, np.ndarray)]
        return {name: np.concatenate([own[name] for own in found])[order] for name in shared}

    def figures(
        self, groups: Sequence[Block], sizes: Positions, of_cells: Mapping[str, Floats], cells: Positions
    ) -> Columns:
        """Of groups: rows of each, what cells share, and the cell of each."""
        summary = np.full(len(sizes), np.nan)
        n = np.zeros(len(sizes), dtype=np.int64)
        reasons = np.full(len(sizes), None, dtype=object)
        for block in map(self._seen, groups):
            shared = {name: option[cells[block.chosen]] for name, option in of_cells.items()}
            own = self.statistic(block.values, block.baseline, **{**self.plain, **shared})
            summary[block.chosen], n[block.chosen] = own, block.n
            for at in np.flatnonzero(np.isnan(own)):
                beside = None if block.baseline is None else block.baseline[at]
                reasons[block.chosen[at]] = reason(self.kind, block.values[at], beside, **self.options)
        return {"summary": summary, "n": n, "n_missing": sizes - n, "reason": reasons}

    def _seen(self, block: Block) -> Block:
        return block.compared if self.kind in USES_BASELINE else block


def _table(groups: pd.DataFrame, by: list[str], found: Mapping[str, Sequence[Columns]]) -> pd.DataFrame:
    """All figures of one statistic after the other, in order of `by`; `groups` holds a row of each group."""
    order = np.argsort(codes(groups, by, in_order=True), kind="stable")
    ordered = groups[by].iloc[order].reset_index(drop=True)
    tables = [ordered.iloc[:0]]
    for name, parts in found.items():
        columns = {column: np.concatenate([part[column] for part in parts])[order] for column in parts[0]}
        why = pd.Series(columns.pop("reason"), dtype=object)  # else it becomes text, and None NaN
        tables.append(ordered.assign(**columns, reason=why, statistic=name))
    table: pd.DataFrame = pd.concat(tables[1:] or tables, ignore_index=True)
    return table


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

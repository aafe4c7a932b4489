"""Figures of groups: a long table of numbers, some columns that make groups, a statistic (SAGED, section 4.1)."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from evenruler.errors import UserError, nearest
from evenruler.instruments.saged.diagnose.blocks import Floats
from evenruler.instruments.saged.diagnose.groups import Codes, Places, by_size
from evenruler.instruments.saged.diagnose.statistics import USES_BASELINE
from evenruler.instruments.saged.diagnose.summary import Summary

OWN = ("summary", "n", "n_missing", "reason", "kind", "statistic")
"""Columns of the result beside those that make groups."""


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
        statistic: A name of `evenruler.instruments.saged.STATISTICS`, or the dotted name of a function of yours that
            takes an array and gives a number.
        cell: Those of `by` within which groups are compared: the standard of a selection rate and the bins of a
            divergence are of all rows of a cell. All of `by` but the last by default.
        calibrated: Take value minus baseline instead of value (section 3.3).
        **options: Of the statistic, as `evenruler.instruments.saged.OPTIONS` lists them with their defaults: `mode`
            width; `quantile_range` q; `percentile_range` low, high; `selection_rate` standard, q, width, method,
            margin; `kl_divergence` bins, epsilon; `precision` tolerance. Those of a function of yours are given to it.

    Returns:
        Sorted by `by`: these columns, `summary` (float64, NaN where undefined), `n` numbers that it is of (pairs where
        it compares with baselines), `n_missing` rows left out, `reason` why it is undefined, else None, and `kind`, the
        statistic.

    Raises:
        UserError: No such statistic, option or column, a column to group by that is named as one of the result, a row
            without a group, an infinite number, or a statistic that compares with baselines asked of calibrated values.
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
    kinds = [kind for kind, _ in statistics.values()]
    _check(frame, by, cell, kinds, calibrated)
    values, baselines = _numbers(frame, calibrated, not USES_BASELINE.isdisjoint(kinds))
    codes, table = _numbered(frame, by)
    found = {name: _columns(len(table)) for name in statistics}
    for rows in _cells(frame, cell):
        groups, own = np.unique(codes[rows], return_inverse=True)
        parts = list(by_size(own, len(groups)))
        for name, (kind, options) in statistics.items():
            beside = None if baselines is None else baselines[None, rows]
            summary = Summary.of(kind, values[None, rows], beside, options)
            for chosen, places in parts:
                _fill(found[name], groups[chosen], summary, places)
    for columns in found.values():
        columns["reason"] = pd.Series(columns["reason"], dtype=object)  # else it becomes text, and None NaN
    tables = [table.assign(**columns, kind=statistics[name][0], statistic=name) for name, columns in found.items()]
    joined: pd.DataFrame = pd.concat(tables or [table], ignore_index=True)
    return joined


def _numbered(frame: pd.DataFrame, by: list[str]) -> tuple[Codes, pd.DataFrame]:
    """[rows] the number of each row's group, and the values that name each group, sorted."""
    groups = frame.groupby(by, observed=True, sort=True)
    return groups.ngroup().to_numpy().astype(np.intp), groups.size().reset_index()[by]


def _cells(frame: pd.DataFrame, cell: list[str]) -> list[Codes]:
    """The rows of each cell; without rows or columns, one cell."""
    if frame.empty or not cell:
        return [np.arange(len(frame))]
    found = frame.groupby(cell, observed=True, sort=False).indices
    return [np.asarray(rows, dtype=np.intp) for rows in found.values()]


def _columns(groups: int) -> dict[str, Any]:
    """Of the result, an entry a group."""
    n = np.zeros((2, groups), dtype=np.int64)
    none = np.full(groups, None, dtype=object)
    return {"summary": np.full(groups, np.nan), "n": n[0], "n_missing": n[1], "reason": none}


def _fill(columns: dict[str, Any], groups: Codes, summary: Summary, places: Places) -> None:
    """What is found of some groups of a cell, which is the only series of its summary."""
    found, n = summary(places), summary.n(places)
    sizes = (places < summary.values.shape[1]).sum(axis=-1)
    entries = {"summary": found, "n": n, "n_missing": sizes - n, "reason": summary.reasons(found, places)}
    for name, own in entries.items():
        columns[name][groups] = own[0, 0]


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
    for column in by:
        if column in OWN:
            raise UserError(f"the result has a column {column!r} of its own", remedy="call yours something else")
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

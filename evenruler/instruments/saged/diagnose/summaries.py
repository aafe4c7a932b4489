"""Summaries of the groups of a table, one row per group."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenruler.errors import UserError, nearest
from evenruler.instruments.saged.diagnose.statistics import USES_BASELINE, cell_options, count, pairs, reason, resolve
from evenruler.measurement.checks import Floats
from evenruler.tables import stacked

OWN = ("summary", "n", "n_missing", "reason", "kind", "statistic")
"""Columns of the result other than those that define the groups."""


def summarise(
    frame: pd.DataFrame,
    by: Sequence[str],
    statistic: str,
    *,
    cell: Sequence[str] | None = None,
    calibrated: bool = False,
    **options: Any,
) -> pd.DataFrame:
    """Summarise each group by a statistic.

    Args:
        frame: Long: columns `value` and those of `by`, and `baseline` (the same feature of the baseline) where the
            statistic compares with it or values are calibrated. Nulls are left out and counted.
        by: Columns whose values, crossed, define the groups; there are no rows for margins.
        statistic: A name of `evenruler.instruments.saged.STATISTICS`, or the dotted name of a function of yours from
            an array to a number.
        cell: Those of `by` within which groups are compared: the standard of a selection rate and the bins of a
            divergence are computed from all rows of a cell. All of `by` but the last by default.
        calibrated: Take value minus baseline instead of value (section 3.3).
        **options: Of the statistic, as `evenruler.instruments.saged.OPTIONS` lists them, or of a function of yours.

    Returns:
        Sorted by `by`: these columns, `summary` (float64, NaN where undefined), `n` values used (pairs where the
        statistic compares with baselines), `n_missing` rows left out, `reason` why it is undefined, else None, and
        `kind`, the statistic.

    Raises:
        UserError: No such statistic, option or column, a grouping column with the name of one of the result, a row
            without a group, an infinite number, or a statistic that compares with baselines for calibrated values.
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
    """As `summarise`, for several statistics, one after the other; the table is grouped only once.

    `statistics`: by their name in the column `statistic`, the kind of statistic and its options.
    """
    by, cell = list(by), list(by[:-1] if cell is None else cell)
    values, baselines = _numbers(frame, by, cell, [kind for kind, _ in statistics.values()], calibrated)
    grouped = frame.groupby(by, observed=True, sort=True)
    sizes = grouped.size().reset_index(name="n")
    table, order = sizes[by], np.argsort(grouped.ngroup().to_numpy(), kind="stable")
    rows = np.split(order, np.cumsum(sizes["n"].to_numpy()))[: len(table)]
    every = {"": np.arange(len(table))}  # without groups or columns, one cell
    cells = table.groupby(cell, observed=True, sort=False).indices if cell and len(table) else every
    tables = [table.assign(summary=0.0, n=0, n_missing=0, reason=None, kind="", statistic="").iloc[:0]]
    for name, (kind, options) in statistics.items():
        found: dict[int, tuple[float, int, int, str | None]] = {}
        for members in cells.values():
            own = [rows[member] for member in members]
            found |= zip(map(int, members), _summarised(kind, options, values, baselines, own), strict=True)
        told = pd.DataFrame([found[at] for at in range(len(table))], columns=OWN[:4], dtype=object)
        told = told.astype({"summary": float, "n": int, "n_missing": int})
        tables.append(table.join(told).assign(kind=kind, statistic=name))
    return stacked(tables)


def _summarised(
    kind: str, given: Mapping[str, Any], values: Floats, baselines: Floats | None, groups: Sequence[NDArray[np.intp]]
) -> Iterator[tuple[float, int, int, str | None]]:
    """For every group of one cell, given by its rows: the statistic, n, number missing, and why it is undefined."""
    statistic, every = resolve(kind), np.sort(np.concatenate([np.empty(0, dtype=np.intp), *groups]))
    if kind not in USES_BASELINE:
        baselines = None
    options = cell_options(kind, values[every], None if baselines is None else baselines[every], **given)
    for rows in groups:
        own, beside = values[rows], None
        if baselines is not None:
            own, beside = pairs(own, baselines[rows])
        summary, n = float(statistic(own, beside, **options)), int(count(own))
        yield summary, n, len(rows) - n, reason(kind, own, beside, **given) if math.isnan(summary) else None


def _numbers(
    frame: pd.DataFrame, by: list[str], cell: list[str], kinds: Sequence[str], calibrated: bool
) -> tuple[Floats, Floats | None]:
    """Values (calibrated if asked), and baselines where a statistic needs them; UserError where the input is wrong."""
    compares = [kind for kind in kinds if kind in USES_BASELINE]
    if calibrated and compares:
        what = f"{compares[0]} compares values with their baselines, and calibrated ones have none"
        raise UserError(what, remedy="ask it of raw values")
    if not by:
        raise UserError("no column to group by", remedy="name one or more, as concept")
    for column in {*by} & {*OWN}:
        raise UserError(f"the result has a column {column!r} of its own", remedy="call yours something else")
    columns = ["value", "baseline"] if calibrated or compares else ["value"]
    for column in [*by, *columns]:
        if column not in frame:
            raise UserError(f"the table has no column {column!r}", remedy=nearest(column, map(str, frame.columns)))
    for column in {*cell} - {*by}:
        raise UserError(f"groups lie across cells of {column!r}", remedy="name it in `by` too")
    for column in by:
        missing = np.flatnonzero(frame[column].isna())
        if missing.size:
            raise UserError(f"row {missing[0]} has no {column}", remedy="fill it in, or leave the row out")
    numbers = {name: frame[name].to_numpy(dtype=np.float64, na_value=np.nan) for name in columns}
    for name, own in numbers.items():
        infinite = np.flatnonzero(np.isinf(own))
        if infinite.size:
            what = f"row {infinite[0]} holds {own[infinite[0]]}"
            raise UserError(what, where=f"column {name!r}", remedy="leave null what could not be measured")
    if calibrated:
        return numbers["value"] - numbers["baseline"], None
    return numbers["value"], numbers.get("baseline")

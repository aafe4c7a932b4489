"""Figures of groups: of a long table (`summarise`), and of every configuration and feature of a domain (SAGED, 4.1)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenruler.errors import UserError, nearest
from evenruler.instruments.saged import schemas
from evenruler.instruments.saged.declare.settings import Statistic
from evenruler.instruments.saged.diagnose.groups import (
    CALIBRATED,
    NO_BASELINE,
    RAW,
    Codes,
    Groups,
    Layout,
    Places,
    as_they_are,
    by_size,
    gathered,
)
from evenruler.instruments.saged.diagnose.statistics import (
    USES_BASELINE,
    BlockStatistic,
    Floats,
    cell_options,
    count,
    pairs,
    reason,
    resolve,
)

EVERY = slice(None)
"""All series."""

_LINES = 64
"""Series that are worked on at a time, so that a block stays near the processor."""

_AT_ONCE = 50_000
"""Numbers that a statistic is asked for at a time, so that they stay near the processor."""


def in_parts(series: int) -> Iterator[slice]:
    """Some series at a time: all at once would be as large again as what was measured."""
    return (slice(begin, begin + _LINES) for begin in range(0, series, _LINES))


@dataclass(frozen=True)
class Summary:
    """A statistic of some series. A series is a cell: its groups are compared with each other."""

    kind: str
    """A name of `evenruler.instruments.saged.STATISTICS`, or a dotted name."""
    given: Mapping[str, Any]
    """Options as the user wrote them."""
    statistic: BlockStatistic
    values: Floats
    """[series, rows]; NaN where missing."""
    baselines: Floats | None
    """Beside them, NaN at the same places; none where the statistic does not use them."""
    options: Mapping[str, Any]
    """Of the statistic; arrays have one entry a series."""

    @classmethod
    def of(
        cls, kind: str, values: Floats, baselines: Floats | None = None, given: Mapping[str, Any] | None = None
    ) -> "Summary":
        """Prepare a statistic of [series, rows] values, NaN where missing; `USES_BASELINE` says where baselines count.

        UserError where there is no such statistic, or it has no such option.
        """
        statistic, given = resolve(kind), given or {}
        if kind not in USES_BASELINE:
            baselines = None
        elif baselines is not None:
            values, baselines = pairs(values, baselines)
        return cls(kind, given, statistic, values, baselines, cell_options(kind, values, baselines, **given))

    def __call__(self, places: Places, lines: slice = EVERY) -> Floats:
        """The statistic of every group of some series, [series, draws, groups]; NaN where it is undefined."""
        values = self.values[lines]
        baselines = None if self.baselines is None else self.baselines[lines]
        options = dict(self.options)
        for name, option in options.items():
            if isinstance(option, np.ndarray):
                options[name] = np.expand_dims(option[lines], (1, 2))
        # Groups apart in memory, since they are reduced next: that is fastest so.
        found = np.empty((*places.shape[1::-1], len(values))).transpose(2, 1, 0)
        step = max(1, _AT_ONCE // max(1, len(values) * places[:1].size))
        for begin in range(0, len(places), step):
            part = places[begin : begin + step]
            beside = None if baselines is None else gathered(baselines, part)
            found[:, begin : begin + step] = self.statistic(gathered(values, part), beside, **options)
        return found

    def observed(self, places: Places) -> Floats:
        """The statistic of every group of all series, some series at a time: [series, draws, groups]."""
        parts = [self(places, lines) for lines in in_parts(len(self.values))]
        return np.concatenate([np.empty((0, *places.shape[:2])), *parts])

    def n(self, places: Places) -> NDArray[np.int64]:
        """[series, draws, groups] how many numbers each is of; pairs, where it compares with baselines."""
        found = np.empty((len(self.values), *places.shape[:2]), dtype=np.int64)
        for lines in in_parts(len(found)):
            found[lines] = count(gathered(self.values[lines], places))
        return found

    def reasons(self, summaries: Floats, places: Places) -> NDArray[np.object_]:
        """[series, draws, groups] why summaries are NaN, else None."""
        reasons = np.full(summaries.shape, None, dtype=object)
        undefined, n = np.isnan(summaries), self.n(places)
        nothing = np.full(1, np.nan)
        reasons[undefined & (n == 0)] = reason(self.kind, nothing, nothing, **self.given)
        for line, draw, group in np.argwhere(undefined & (n > 0)):
            own = places[draw, group]
            own = own[own < self.values.shape[1]]
            beside = None if self.baselines is None else self.baselines[line, own]
            reasons[line, draw, group] = reason(self.kind, self.values[line, own], beside, **self.given)
        return reasons


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
    """What `summarise` gives for several statistics, one after the other; the table is put in groups once.

    `statistics`: by the name that the figures are to have (`statistic`), the statistic and its options.
    """
    by, cell = list(by), list(by[:-1] if cell is None else cell)
    kinds = [kind for kind, _ in statistics.values()]
    _check(frame, by, cell, kinds, calibrated)
    values, baselines = _numbers(frame, calibrated, not USES_BASELINE.isdisjoint(kinds))
    grouped = frame.groupby(by, observed=True, sort=True)
    codes, table = grouped.ngroup().to_numpy().astype(np.intp), grouped.size().reset_index()[by]
    every = {"": np.arange(len(frame))}  # without rows or columns, one cell
    cells = frame.groupby(cell, observed=True, sort=False).indices if cell and len(frame) else every
    found = {name: _columns(len(table)) for name in statistics}
    for rows in cells.values():
        groups, own = np.unique(codes[rows], return_inverse=True)
        parts = list(by_size(own, len(groups)))
        for name, (kind, options) in statistics.items():
            beside = None if baselines is None else baselines[None, rows]
            summary = Summary.of(kind, values[None, rows], beside, options)
            for chosen, places in parts:
                summaries, n = summary(places), summary.n(places)
                sizes, why = (places < len(rows)).sum(axis=-1), summary.reasons(summaries, places)
                for column, numbers in zip(found[name].values(), (summaries, n, sizes - n, why), strict=True):
                    column[groups[chosen]] = numbers[0, 0]
    for columns in found.values():
        columns["reason"] = pd.Series(columns["reason"], dtype=object)  # else it becomes text, and None NaN
    tables = [table.assign(**columns, kind=statistics[name][0], statistic=name) for name, columns in found.items()]
    joined: pd.DataFrame = pd.concat(tables or [table], ignore_index=True)
    return joined


def _columns(groups: int) -> dict[str, Any]:
    """Of the result, an entry a group."""
    n = np.zeros((2, groups), dtype=np.int64)
    none = np.full(groups, None, dtype=object)
    return {"summary": np.full(groups, np.nan), "n": n[0], "n_missing": n[1], "reason": none}


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


@dataclass(frozen=True)
class Cells:
    """One statistic of all series, raw or calibrated. A cell is what its groups are compared in: one series."""

    layout: Layout
    groups: Groups
    statistic: str
    """As the user named it."""
    calibration: str
    values: Floats
    """[series, groups]; NaN where undefined."""
    n: NDArray[np.int64]
    """[series, groups] numbers that it is of: pairs, where it compares with baselines."""
    n_missing: NDArray[np.int64]
    """[series, groups] measurements that are null."""
    reasons: NDArray[np.object_]
    """[series, groups] why a value is NaN, else None."""
    known: Codes
    """Series that have numbers at all."""
    summary: Summary
    """The statistic of those series, for any groups."""

    def names(self) -> pd.DataFrame:
        """The columns that every table of cells begins with, one row a series."""
        names = self.layout.series.assign(
            domain=self.layout.domain,
            calibration=self.calibration,
            grouping=self.groups.grouping,
            statistic=self.statistic,
        )
        return names[list(schemas.SUMMARIES.names[: schemas.SUMMARIES.names.index("group")])]

    def table(self) -> pd.DataFrame:
        """By `schemas.SUMMARIES`."""
        names = self.names()
        names = names.loc[names.index.repeat(len(self.groups.names))].reset_index(drop=True)
        rows = {
            "group": np.tile(np.array(self.groups.names, dtype=object), len(self.values)),
            "value": self.values.ravel(),
            "n": self.n.ravel(),
            "n_missing": self.n_missing.ravel(),
            "reason": self.reasons.ravel(),
        }
        return pd.concat([names, pd.DataFrame(rows)], axis=1)


def cells_of(layout: Layout, groups: Groups, statistics: Mapping[str, Statistic]) -> Iterator[Cells]:
    """Every statistic of every series, raw and, where it does not compare with baselines anyway, calibrated."""
    numbers = cache(partial(_numbers_of_series, layout))  # a copy for each statistic would be most of the memory
    places, shape, nothing = as_they_are(groups), (len(layout.values), len(groups.names)), np.full(1, np.nan)
    measured = np.empty(shape, dtype=np.int64)
    for lines in in_parts(len(measured)):
        measured[lines] = (gathered(layout.measured[lines], places) == 1).sum(axis=-1)[:, 0]
    for name, statistic in statistics.items():
        compares = statistic.kind in USES_BASELINE
        for calibration in [RAW] if compares else [RAW, CALIBRATED]:
            known, of_known, beside = numbers(calibration, compares)
            summary = Summary.of(statistic.kind, of_known, beside, statistic.options)
            values, n = np.full(shape, np.nan), np.zeros(shape, dtype=np.int64)
            reasons = np.full(shape, reason(statistic.kind, nothing, nothing, **statistic.options), dtype=object)
            found = summary.observed(places)
            values[known], n[known] = found[:, 0], summary.n(places)[:, 0]
            reasons[known] = summary.reasons(found, places)[:, 0]
            if compares or calibration == CALIBRATED:
                reasons[np.isnan(layout.baselines).all(axis=1)] = NO_BASELINE
            yield Cells(layout, groups, name, calibration, values, n, measured - n, reasons, known, summary)


def _numbers_of_series(layout: Layout, calibration: str, compares: bool) -> tuple[Codes, Floats, Floats | None]:
    """The series that have numbers at all, their numbers, and the baselines beside them where these are compared."""
    numbers, baselines = layout.numbers(calibration), layout.baselines
    if compares:
        numbers, baselines = pairs(numbers, baselines)
    known = np.flatnonzero((~np.isnan(numbers)).any(axis=1))
    if len(known) == len(numbers):
        return known, numbers, baselines if compares else None
    return known, numbers[known], baselines[known] if compares else None

"""Statistics of every configuration and feature: summaries of groups, disparities between them, and
their tests.

A domain is one array, [series, replies], and groups, observed or shuffled, are index arrays into
it: a statistic is computed of [series, draws, groups, most] numbers at once, in the one loop
(`Cells.over`) that bounds time and memory.
"""

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from evenruler.errors import UserError, suggest_nearest
from evenruler.instruments.saged import schemas
from evenruler.instruments.saged.declare import is_branched
from evenruler.instruments.saged.declare.settings import Disparities, SummaryStatistic
from evenruler.instruments.saged.diagnose.disparities import (
    OWN,
    TESTED_METRICS,
    USES_SELECTION_RATE,
    classify_shapes,
    disparity_of,
    metric_values,
)
from evenruler.instruments.saged.diagnose.statistics import (
    USES_BASELINE,
    cell_options,
    mask_unpaired,
    resolve_statistic,
    undefined_reason,
)
from evenruler.measurement.inputs import Floats
from evenruler.tables import concat_frames

Codes = NDArray[np.intp]

Places = NDArray[np.int32]
"""[draws, groups, most] row indices of each group, for several draws of groups; padded by one
beyond the last row where a group is smaller than the largest."""


def group_rows(codes: NDArray[np.integer[Any]], groups: int) -> Places:
    """The row indices of each group, in row order; `codes`: [draws, rows] the group of each row."""
    order = np.argsort(codes, axis=1, kind="stable")
    sizes = np.array([np.bincount(draw, minlength=groups) for draw in codes], dtype=np.intp)
    most = int(sizes.max(initial=0))
    rows_by_group = np.full((*sizes.shape, most), codes.shape[1], dtype=np.int32)
    is_filled = np.arange(most) < sizes[..., None]
    rows_by_group[is_filled] = order.ravel()
    return rows_by_group


def pad_groups(numbers: Floats, places: Places) -> Floats:
    """The values of groups, [series, draws, groups, most], padded with NaN."""
    padding = np.full((len(numbers), 1), np.nan)
    padded = np.concatenate([numbers, padding], axis=1)
    return np.take(padded, places, axis=1, mode="clip")


CONFIGURATION = ["model", "role", "template"]  # columns that say who was asked
SERIES = [*CONFIGURATION, "feature"]  # columns that identify one row of values

RAW, CALIBRATED = "raw", "calibrated"

NO_BASELINE = "no baseline has this feature"  # why a calibrated number is null
ROOTS = "root items"  # unit of n in figures


@dataclass(frozen=True)
class Groups:
    """Group membership of replies."""

    grouping: str  # the columns that define the groups, joined by "+"
    names: list[str]  # of the groups, in order: values of those columns, joined by "+"
    codes: Codes  # [replies] the number of each reply's group

    @cached_property
    def places(self) -> Places:
        """Row indices of the observed groups: one draw."""
        return group_rows(self.codes[None], len(self.names))

    def sizes(self, there: Iterable[NDArray[np.bool_]]) -> NDArray[np.int64]:
        """[series, groups] how many replies of each group are present; `there`: [series,
        replies].
        """
        counts = [
            np.bincount(self.codes[is_present], minlength=len(self.names)) for is_present in there
        ]
        return np.array(counts, dtype=np.int64).reshape(len(counts), len(self.names))


@dataclass(frozen=True)
class ScoreArrays:
    """The measurements of one domain, as arrays."""

    domain: str
    replies: pd.DataFrame
    """One row per prompt and repetition: `id`, `repetition` and the columns of the prompts, in
    order of ids."""
    series: pd.DataFrame  # one row per configuration and feature, by `SERIES`
    values: (
        Floats  # [series, replies]; NaN where a reply could not be measured, or was not asked for
    )
    baselines: Floats  # [series, replies] the same feature of the reply's baseline
    measured: NDArray[np.bool_]  # [series, replies] whether there is a measurement, null or not

    def where(self, replies: NDArray[np.bool_] | NDArray[np.int_]) -> "ScoreArrays":
        """The layout of some replies only; `replies`: a mask or indices."""
        numbers = {
            name: getattr(self, name)[:, replies] for name in ("values", "baselines", "measured")
        }
        chosen_replies = self.replies.iloc[replies].reset_index(drop=True)
        return replace(self, replies=chosen_replies, **numbers)

    def only(self, concepts: Collection[str]) -> "ScoreArrays":
        """The layout of the replies about some concepts only."""
        of_these = self.replies["concept"].isin(list(concepts)).to_numpy()
        return self if of_these.all() else self.where(of_these)

    def without(self, concepts: Collection[str]) -> "ScoreArrays":
        """The layout without the replies about some concepts."""
        of_these = self.replies["concept"].isin(list(concepts)).to_numpy()
        return self.where(~of_these) if of_these.any() else self

    def groups(self, columns: Sequence[str]) -> Groups:
        """The replies grouped by columns of the prompts, crossed."""
        group_by_reply = self.replies[list(columns)].agg("+".join, axis=1)
        codes, group_names = pd.factorize(group_by_reply, sort=True)
        names = [str(name) for name in group_names]
        return Groups("+".join(columns), names, codes.astype(np.intp))

    def coded(self, column: str) -> Codes:
        """[replies] code of each reply's prompt (`id`: repetitions stay together), or root item
        (`root_id`).
        """
        return pd.factorize(self.replies[column], sort=True)[0].astype(np.intp)

    @property
    def branched(self) -> bool:
        """Whether some root items are asked about several concepts."""
        return is_branched(self.replies)

    @property
    def fewest_roots(self) -> int:
        """Number of root items; where the domain is not branched, of the concept with the
        fewest.
        """
        roots = self.replies.groupby("concept")["root_id"].nunique()
        if self.branched:
            return int(self.replies["root_id"].nunique())
        return int(roots.min())


def arrange_scores(domain: str, features: pd.DataFrame, prompts: pd.DataFrame) -> ScoreArrays:
    """Arrange measurements of one framing, in any order; ValueError where one occurs twice or its
    prompt is unknown.
    """
    replies, reply = number_distinct_rows(features, ["id", "repetition"])
    series, line = number_distinct_rows(features, SERIES)
    unknown = sorted(set(replies["id"]) - set(prompts["id"]))
    if unknown:
        raise ValueError(
            f"{domain}: {len(unknown)} prompts that were measured are not there, as {unknown[0]}"
        )
    shape = len(series), len(replies)
    flat_places = line.astype(np.intp)
    flat_places *= shape[1]
    flat_places += reply
    del (
        line,
        reply,
    )  # for a million replies with 45 features, each takes half as much memory as `values`
    measured = np.zeros(shape, dtype=bool)
    measured.ravel()[flat_places] = True
    n_repeated = len(features) - np.count_nonzero(measured)
    if n_repeated:
        raise ValueError(f"{domain}: {n_repeated} measurements are there twice")
    values = np.full(shape, np.nan)
    baselines = np.full(shape, np.nan)
    for name, numbers in (("value", values), ("baseline", baselines)):
        feature_numbers = features[name].to_numpy(dtype=np.float64, na_value=np.nan)
        numbers.ravel()[flat_places] = feature_numbers
    columns = ["id", "concept", "keyword", "section", "source_tag", "root_id"]
    replies = replies.merge(
        prompts[columns].astype(str), on="id", how="left", validate="many_to_one"
    )
    return ScoreArrays(domain, replies, series, values, baselines, measured)


def number_distinct_rows(
    frame: pd.DataFrame, names: list[str]
) -> tuple[pd.DataFrame, NDArray[np.int32]]:
    """The distinct rows of columns, sorted, and for each row of the frame the number of its
    distinct row.

    Columns are text without nulls, fastest as categories, or `repetition`. Grouping by pandas would
    take as much memory as everything else together.
    """
    number, values = np.zeros(len(frame), dtype=np.int32), []
    for name in names:
        column = frame[name].astype("category").cat
        dtype = None if name == "repetition" else object
        categories = column.categories.to_numpy(dtype=dtype)
        values.append(categories)
        rank = np.argsort(np.argsort(categories)).astype(np.int32)
        number *= len(rank)
        number += rank[column.codes]
    sizes = tuple(map(len, values))
    there = np.zeros(sizes, dtype=bool)
    there.ravel()[number] = True
    number = (np.cumsum(there.ravel(), dtype=np.int32) - 1)[number]
    columns: dict[str, NDArray[Any]] = {}
    for name, categories, codes in zip(names, values, np.nonzero(there), strict=True):
        columns[name] = np.sort(categories)[codes]
    texts = [name for name in names if name != "repetition"]
    table = pd.DataFrame(columns).astype(dict.fromkeys(texts, str))
    return table, number


PERMUTATIONS, HEADLINE_PERMUTATIONS = 200, 1000
"""Permutations behind the p of a disparity; more of the headline statistic."""

DRAWN_AT_ONCE = 1_000_000
"""Replies of all draws held at a time, which bounds memory; draws do not depend on it."""


def permute_labels(layout: ScoreArrays, groups: Groups, n: int, seed: int) -> Iterator[Places]:
    """Group labels shuffled n times, in batches; all orders are equally probable if groups are
    exchangeable.

    Labels are shuffled among the prompts of a root item, repetitions together; where no root item
    holds several groups (it was not branched, or groups are sections), among the root items of the
    domain.
    """
    draw = np.random.default_rng([seed, 0])
    units, blocks = layout.coded("id"), layout.coded("root_id")
    pairs = np.unique(np.stack([blocks, groups.codes]), axis=1)
    if pairs.shape[1] == len(np.unique(blocks)):  # no root item holds more than one group
        units, blocks = blocks, np.zeros_like(blocks)
    _, first = np.unique(units, return_index=True)
    by_block = np.argsort(blocks[first], kind="stable")
    labels, block = groups.codes[first][by_block], blocks[first][by_block]
    labels = labels.astype(
        np.min_scalar_type(len(groups.names))
    )  # small integers sort many times faster
    of_reply = np.argsort(by_block)[units]
    draws_that_fit = DRAWN_AT_ONCE // max(1, len(units))
    at_once = int(np.clip(draws_that_fit, 1, 50))
    for begin in range(0, n, at_once):
        # The integer part keeps blocks together, the fraction shuffles within them.
        n_draws = min(at_once, n - begin)
        order = np.argsort(block + draw.random((n_draws, len(block))), axis=1)
        yield group_rows(labels[order][:, of_reply], len(groups.names))


AT_ONCE = 50_000
"""Numbers that a statistic processes at a time, so that they fit in the processor's cache."""


@dataclass(frozen=True)
class CellStatistics:
    """One statistic of all series, raw or calibrated. A cell is one series, within which groups are
    compared.
    """

    layout: ScoreArrays
    groups: Groups
    name: str  # of the statistic, as the user named it
    statistic: SummaryStatistic
    calibration: str

    def numbers(self, lines: slice) -> tuple[Floats, Floats | None]:
        """Values of some series, NaN where missing, and their baselines if the statistic compares
        with these.
        """
        values, baselines = self.layout.values[lines], self.layout.baselines[lines]
        if self.statistic.kind in USES_BASELINE:
            return mask_unpaired(values, baselines)
        if self.calibration == RAW:
            return values, None
        return values - baselines, None

    def over(self, places: Places) -> Floats:
        """The statistic of every group: [series, draws, groups], NaN where undefined."""
        kind, function = self.statistic.kind, resolve_statistic(self.statistic.kind)
        # Groups are outermost in memory, which is fastest for the reduction over groups that
        # follows.
        groups_outermost = (*places.shape[1::-1], len(self.layout.series))
        group_statistics = np.full(groups_outermost, np.nan).transpose(2, 1, 0)
        step = max(1, AT_ONCE // max(1, places.size))
        for begin in range(0, len(group_statistics), step):
            lines = slice(begin, begin + step)
            values, baselines = self.numbers(lines)
            options = cell_options(kind, values, baselines, **self.statistic.options)
            for name in {"standard", "edges"} & set(options):  # which differ by series
                options[name] = np.expand_dims(options[name], (1, 2))
            if not np.isnan(values).all():  # as for a feature without baselines
                padded_baselines = None if baselines is None else pad_groups(baselines, places)
                group_statistics[lines] = function(
                    pad_groups(values, places), padded_baselines, **options
                )
        return group_statistics

    @cached_property
    def values(self) -> Floats:
        """[series, groups]; NaN where undefined."""
        return self.over(self.groups.places)[:, 0]

    @cached_property
    def n(self) -> NDArray[np.int64]:
        """[series, groups] number of values used: pairs, where the statistic compares with
        baselines.
        """
        return self.groups.sizes(map(self._is_used, range(len(self.layout.series))))

    def _is_used(self, line: int) -> NDArray[np.bool_]:
        """[replies] whether the value in one series is used."""
        values, _ = self.numbers(slice(line, line + 1))
        is_used: NDArray[np.bool_] = ~np.isnan(values[0])
        return is_used

    @property
    def missing(self) -> NDArray[np.int64]:
        """[series, groups] number of measured values that are not used."""
        return self.groups.sizes(self.layout.measured) - self.n

    @cached_property
    def reasons(self) -> NDArray[np.object_]:
        """[series, groups] why a value is NaN, else None."""
        kind, options = self.statistic.kind, self.statistic.options
        nothing = np.full(1, np.nan)
        reasons = np.full(self.values.shape, None, dtype=object)
        undefined = np.isnan(self.values)
        reasons[undefined & (self.n == 0)] = undefined_reason(kind, nothing, nothing, **options)
        for line, group in np.argwhere(undefined & (self.n > 0)):
            is_member = self.groups.codes == group
            values, baselines = self.numbers(slice(line, line + 1))
            group_baselines = None if baselines is None else baselines[0, is_member]
            reasons[line, group] = undefined_reason(
                kind, values[0, is_member], group_baselines, **options
            )
        if kind in USES_BASELINE or self.calibration == CALIBRATED:
            reasons[np.isnan(self.layout.baselines).all(axis=1)] = NO_BASELINE
        return reasons

    @property
    def names(self) -> pd.DataFrame:
        """The columns that every table of cells begins with, one row per series."""
        labels = {
            "calibration": self.calibration,
            "grouping": self.groups.grouping,
            "statistic": self.name,
        }
        labelled = self.layout.series.assign(domain=self.layout.domain, **labels)
        return labelled[list(schemas.CELL.names)]

    def table(self) -> pd.DataFrame:
        """By `schemas.SUMMARIES`."""
        groups, n_series = self.groups.names, len(self.values)
        series_of_rows = np.repeat(np.arange(n_series), len(groups))
        names = self.names.take(series_of_rows).reset_index(drop=True)
        group_of_rows = np.tile(np.array(groups, dtype=object), n_series)
        return names.assign(
            group=group_of_rows,
            value=self.values.ravel(),
            n=self.n.ravel(),
            n_missing=self.missing.ravel(),
            reason=self.reasons.ravel(),
        )


def describe_cells(
    layout: ScoreArrays, settings: Disparities, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Summaries, disparities (`compared`) and shapes (of the headline statistic) of every cell, by
    `schemas`.

    UserError: unknown statistic or option.
    """
    cells: list[CellStatistics] = []
    for groups in map(layout.groups, settings.grouping):
        for name, statistic in settings.statistics.items():
            calibrations = [RAW] if statistic.kind in USES_BASELINE else [RAW, CALIBRATED]
            cells += [
                CellStatistics(layout, groups, name, statistic, calibration)
                for calibration in calibrations
            ]
    compare = partial(compare_groups, settings=settings, seed=seed)
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # numpy releases the GIL
        disparity_tables = list(pool.map(compare, cells))
    shaped = []
    for cell_statistics, disparities in zip(cells, disparity_tables, strict=True):
        if cell_statistics.name == settings.headline:
            is_range = disparities["metric"] == "range"
            ranges = disparities.loc[is_range, "p"].to_numpy(dtype=np.float64)
            p = ranges if ranges.size else np.full(len(layout.series), np.nan)
            group_names = cell_statistics.groups.names
            shapes = classify_shapes(cell_statistics.values, group_names, p)
            shaped.append(cell_statistics.names.assign(**shapes))
    return (
        concat_frames([cell.table() for cell in cells]),
        concat_frames(disparity_tables),
        concat_frames(shaped)[schemas.SHAPES.names],
    )


def permutation_p(
    cells: CellStatistics, metrics: Sequence[str], permutations: int, seed: int
) -> tuple[Floats, NDArray[np.int64]]:
    """[metrics, series] p of a one-sided test that groups differ, and the number of permutations
    with a defined value.

    Small values are extreme for ratios and the smallest z, large ones for all others. p = (1 + as
    extreme) / (1 + all), which is never 0, and NaN where the disparity is undefined.

    Source: section 4.2; Phipson & Smyth (2010), Permutation p-values should never be zero.
    """
    observed = np.array([metric_values(metric, cells.values) for metric in metrics])
    signs = [-1.0 if metric.startswith("min_") else 1.0 for metric in metrics]
    extreme, defined = np.zeros((2, *observed.shape), dtype=np.int64)
    for places in permute_labels(cells.layout, cells.groups, permutations, seed):
        summaries = cells.over(places)
        for row, (metric, sign) in enumerate(zip(metrics, signs, strict=True)):
            permuted = metric_values(metric, summaries)
            # Sums in another order differ in last bits.
            slack = 1e-9 * np.abs(observed[row])
            bound = sign * observed[row] - slack
            extreme[row] += (sign * permuted >= bound[:, None]).sum(axis=1)
            defined[row] += (~np.isnan(permuted)).sum(axis=1)
    p = (1 + extreme) / (1 + defined)
    return np.where(np.isnan(observed), np.nan, p), defined


def compare_groups(cells: CellStatistics, settings: Disparities, seed: int) -> pd.DataFrame:
    """Every metric of every cell, by `schemas.DISPARITIES` without `p_adjusted`.

    Impact ratios are for selection rates only; `n_permutations` is 0 where there is no disparity to
    test.
    """
    rates = cells.statistic.kind == "selection_rate"
    metrics = [metric for metric in TESTED_METRICS if rates or metric not in USES_SELECTION_RATE]
    permutations = HEADLINE_PERMUTATIONS if cells.name == settings.headline else PERMUTATIONS
    columns = [name for name in schemas.DISPARITIES.names if name != "p_adjusted"]
    tables = [pd.DataFrame(columns=columns)]
    nothing = cells.n.sum(axis=1) == 0
    p, defined = permutation_p(cells, metrics, permutations, seed)
    types = dict.fromkeys(("value", "critical", "excess"), float) | {"n": "int64"}
    disparity_columns = [*types, "group", "flag", "reason"]
    for metric, p_values, n in zip(metrics, p, defined, strict=True):
        disparity_rows = [
            disparity_of(metric, summaries, cells.groups.names) for summaries in cells.values
        ]
        rows = pd.DataFrame(disparity_rows, columns=disparity_columns, dtype=object)
        rows = rows.astype(types).rename(columns={"n": "n_groups"})
        # Where nothing was measured, its groups are null for the same reason.
        rows["reason"] = rows["reason"].mask(nothing, cells.reasons[:, 0])
        tests = {"p": p_values, "n_permutations": np.where(rows["value"].isna(), 0, n)}
        tables.append(cells.names.assign(metric=metric, **rows, **tests)[columns])
    return concat_frames(tables)


FAMILY = ["domain", "grouping", "feature", "statistic"]
"""Tests that agree in these are adjusted together, over configurations, calibrations and
metrics."""


def adjust_p(compared: pd.DataFrame) -> pd.DataFrame:
    """`schemas.DISPARITIES` with p adjusted within each `FAMILY` of tests; rows without p are not
    counted, and stay.

    Source: Benjamini & Hochberg (1995), Controlling the false discovery rate.
    """
    if compared.empty:
        return pd.DataFrame(columns=schemas.DISPARITIES.names)
    families = compared.dropna(subset="p").groupby(FAMILY)
    p = families["p"].transform(stats.false_discovery_control)
    return compared.assign(p_adjusted=p)[list(schemas.DISPARITIES.names)]


def summarise(
    frame: pd.DataFrame,
    by: Sequence[str],
    statistic: str,
    *,
    cell: Sequence[str] | None = None,
    calibrated: bool = False,
    **options: object,
) -> pd.DataFrame:
    """Summarise each group by a statistic.

    Args:
        frame: Long: columns `value` and those of `by`, and `baseline` (the same feature of the
            baseline) where the statistic compares with it or values are calibrated. Nulls are left
            out and counted.
        by: Columns whose values, crossed, define the groups; there are no rows for margins.
        statistic: A name of `evenruler.instruments.saged.STATISTICS`, or the dotted name of a
            function of yours from an array to a number.
        cell: Those of `by` within which groups are compared: the standard of a selection rate and
            the bins of a divergence are computed from all rows of a cell. All of `by` but the last
            by default.
        calibrated: Take value minus baseline instead of value (section 3.3).
        **options: Of the statistic, as `evenruler.instruments.saged.OPTIONS` lists them, or of a
        function of yours.

    Returns:
        Sorted by `by`: these columns, `summary` (float64, NaN where undefined), `n` values used
        (pairs where the statistic compares with baselines), `n_missing` rows left out, `reason` why
        it is undefined, else None, and `kind`, the statistic.

    Raises:
        UserError: No such statistic, option or column, a grouping column with the name of one of
            the result, a row without a group, an infinite number, or a statistic that compares with
            baselines for calibrated values.
    """
    summary_table = summarise_each(
        frame, by, {statistic: (statistic, options)}, cell=cell, calibrated=calibrated
    )
    return summary_table.drop(columns="statistic")


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
    cell_columns = by[:-1] if cell is None else cell
    by, cell = list(by), list(cell_columns)
    kinds = [kind for kind, _ in statistics.values()]
    numbers = _values_and_baselines(frame, by, cell, kinds, calibrated)
    grouped = frame.groupby(by, observed=True, sort=True)
    table = grouped.size().reset_index()[by]
    group = grouped.ngroup().to_numpy(dtype=np.intp)
    # Without columns, or without groups, there is one cell.
    is_one = not cell or table.empty
    which = (
        np.zeros(len(table), np.intp)
        if is_one
        else table.groupby(cell, observed=True).ngroup().to_numpy()
    )
    of_row, n = which[group], int(which.max(initial=0)) + 1
    ends = np.cumsum(np.bincount(of_row, minlength=n))
    by_cell = np.split(np.argsort(of_row, kind="stable"), ends[:-1])
    series = pd.DataFrame("", index=[0], columns=SERIES)
    laid: list[tuple[ScoreArrays, Groups]] = []
    for place, rows in enumerate(by_cell):
        members = np.flatnonzero(which == place)
        values, baselines = (array[None, rows] for array in numbers)
        measured = np.ones(values.shape, dtype=bool)
        layout = ScoreArrays("", pd.DataFrame(), series, values, baselines, measured)
        names = list(map(str, members))
        codes = np.searchsorted(members, group[rows])
        laid.append((layout, Groups("", names, codes)))
    places, tables = np.argsort(which, kind="stable"), []
    calibration = CALIBRATED if calibrated else RAW
    for name, (kind, options) in statistics.items():
        # Statistics of users take any options.
        summary_statistic = SummaryStatistic.model_construct(kind=kind, options=dict(options))
        statistics_by_cell = [
            CellStatistics(layout, groups, name, summary_statistic, calibration)
            for layout, groups in laid
        ]
        parts_by_column = {
            "summary": [cell_statistics.values[0] for cell_statistics in statistics_by_cell],
            "n": [cell_statistics.n[0] for cell_statistics in statistics_by_cell],
        }
        parts_by_column |= {
            "n_missing": [cell_statistics.missing[0] for cell_statistics in statistics_by_cell],
            "reason": [cell_statistics.reasons[0] for cell_statistics in statistics_by_cell],
        }
        whole = {column: np.concatenate(parts) for column, parts in parts_by_column.items()}
        summary_columns = {
            column: pd.Series(array, places, array.dtype) for column, array in whole.items()
        }
        tables.append(table.assign(**summary_columns, kind=kind, statistic=name))
    return concat_frames(tables)


def _values_and_baselines(
    frame: pd.DataFrame, by: list[str], cell: list[str], kinds: Sequence[str], calibrated: bool
) -> tuple[Floats, Floats]:
    """Values, and baselines where they are needed, else NaN; UserError where the input is wrong."""
    compares = [kind for kind in kinds if kind in USES_BASELINE]
    if calibrated and compares:
        what = f"{compares[0]} compares values with their baselines, and calibrated ones have none"
        raise UserError(what, remedy="ask it of raw values")
    columns = ["value", "baseline"] if calibrated or compares else ["value"]
    _check_columns(frame, by, cell, columns)
    numbers = {name: frame[name].to_numpy(dtype=np.float64, na_value=np.nan) for name in columns}
    for name, column_numbers in numbers.items():
        infinite = np.flatnonzero(np.isinf(column_numbers))
        if infinite.size:
            what = f"row {infinite[0]} holds {column_numbers[infinite[0]]}"
            raise UserError(
                what, where=f"column {name!r}", remedy="leave null what could not be measured"
            )
    no_baselines = np.full(len(frame), np.nan)
    return numbers["value"], numbers.get("baseline", no_baselines)


def _check_columns(
    frame: pd.DataFrame, by: list[str], cell: list[str], columns: Sequence[str]
) -> None:
    """UserError where the table cannot be grouped or lacks one of `columns`, which hold numbers."""
    if not by:
        raise UserError("no column to group by", remedy="name one or more, as concept")
    for column in {*by} & {*OWN}:
        raise UserError(
            f"the result has a column {column!r} of its own", remedy="call yours something else"
        )
    for column in [*by, *columns]:
        if column not in frame:
            raise UserError(
                f"the table has no column {column!r}",
                remedy=suggest_nearest(column, map(str, frame.columns)),
            )
    for column in {*cell} - {*by}:
        raise UserError(f"groups lie across cells of {column!r}", remedy="name it in `by` too")
    for column in by:
        missing = np.flatnonzero(frame[column].isna())
        if missing.size:
            raise UserError(
                f"row {missing[0]} has no {column}", remedy="fill it in, or leave the row out"
            )

"""Every statistic of every configuration and feature: summaries of groups, disparities over them, and how sure.

All of a domain is one array, [series, replies], and groups are places in it, as they are or shuffled: a statistic is
asked of [series, draws, groups, most] numbers at once, in the one loop (`Cells.over`) that bounds time and memory.
"""

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from evenruler.instruments.saged import schemas
from evenruler.instruments.saged.declare import is_branched
from evenruler.instruments.saged.declare.settings import Disparities, Statistic
from evenruler.instruments.saged.diagnose.disparities import USES_SELECTION_RATE, disparity_of, metric_values, shapes
from evenruler.instruments.saged.diagnose.statistics import USES_BASELINE, cell_options, pairs, reason, resolve
from evenruler.measurement.checks import Floats
from evenruler.tables import stacked

Codes = NDArray[np.intp]

Places = NDArray[np.int32]
"""[draws, groups, most] the rows of each group, for some ways to draw groups; one beyond the last row where a group is
smaller than the largest."""


def placed(codes: NDArray[np.integer[Any]], groups: int) -> Places:
    """Where the rows of each group stand, in their order; `codes`: [draws, rows] the number of each row's group."""
    order = np.argsort(codes, axis=1, kind="stable")
    sizes = np.array([np.bincount(draw, minlength=groups) for draw in codes], dtype=np.intp)
    found = np.full((*sizes.shape, int(sizes.max(initial=0))), codes.shape[1], dtype=np.int32)
    found[np.arange(found.shape[-1]) < sizes[..., None]] = order.ravel()
    return found


def gathered(numbers: Floats, places: Places) -> Floats:
    """The numbers of groups, [series, draws, groups, most], NaN where a group is smaller."""
    padded = np.concatenate([numbers, np.full((len(numbers), 1), np.nan)], axis=1)
    return np.take(padded, places, axis=1, mode="clip")


CONFIGURATION = ["model", "role", "template"]  # what asks
SERIES = [*CONFIGURATION, "feature"]  # what one row of numbers is of

RAW, CALIBRATED = "raw", "calibrated"

NO_BASELINE = "no baseline has this feature"  # why a calibrated number is null
ROOTS = "root items"  # what figures are over

FEWEST_ROOTS = 6
"""Root items below which there is no interval: 95% ones of two would cover 74 to 91%, of six 95 to 97% (simulated)."""


@dataclass(frozen=True)
class Groups:
    """Replies in groups."""

    grouping: str  # the columns that make groups, joined by "+"
    names: list[str]  # of the groups, in order: values of those columns, joined by "+"
    codes: Codes  # [replies] the number of each reply's group

    @cached_property
    def places(self) -> Places:
        """Of the groups as they are: one draw."""
        return placed(self.codes[None], len(self.names))

    def sizes(self, there: Iterable[NDArray[np.bool_]]) -> NDArray[np.int64]:
        """[series, groups] how many replies of each group are there, [series, replies]."""
        found = [np.bincount(self.codes[own], minlength=len(self.names)) for own in there]
        return np.array(found, dtype=np.int64).reshape(len(found), len(self.names))


@dataclass(frozen=True)
class Layout:
    """The measurements of one domain."""

    domain: str
    replies: pd.DataFrame
    """One row a prompt and repetition: `id`, `repetition` and the columns of the prompts, in order of ids."""
    series: pd.DataFrame  # one row a configuration and feature, by `SERIES`
    values: Floats  # [series, replies]; NaN where a reply could not be measured, or was not asked for
    baselines: Floats  # [series, replies] the same feature of the reply's baseline
    measured: NDArray[np.bool_]  # [series, replies] whether there is a measurement, null or not

    def where(self, replies: Any) -> "Layout":
        """Some of the replies: a mask, or their places."""
        numbers = {name: getattr(self, name)[:, replies] for name in ("values", "baselines", "measured")}
        return replace(self, replies=self.replies.iloc[replies].reset_index(drop=True), **numbers)

    def without(self, concepts: Collection[str]) -> "Layout":
        """The replies about other concepts."""
        of_these = self.replies["concept"].isin(list(concepts)).to_numpy()
        return self.where(~of_these) if of_these.any() else self

    def groups(self, columns: Sequence[str]) -> Groups:
        """The replies grouped by columns of the prompts, crossed."""
        codes, found = pd.factorize(self.replies[list(columns)].agg("+".join, axis=1), sort=True)
        return Groups("+".join(columns), [str(name) for name in found], codes.astype(np.intp))

    def coded(self, column: str) -> Codes:
        """[replies] the number of each reply's prompt (`id`: repetitions stay together), or root item (`root_id`)."""
        return pd.factorize(self.replies[column], sort=True)[0].astype(np.intp)

    @property
    def branched(self) -> bool:
        """Whether root items stand there for several concepts."""
        return is_branched(self.replies)

    @property
    def fewest_roots(self) -> int:
        """Root items of the concept that has fewest; all of them, where each stands for several concepts."""
        roots = self.replies.groupby("concept")["root_id"].nunique()
        return int(self.replies["root_id"].nunique() if self.branched else roots.min())


def laid_out(domain: str, features: pd.DataFrame, prompts: pd.DataFrame) -> Layout:
    """Measurements of one framing, in any order; ValueError where one is twice there, or of no prompt that is there."""
    replies, reply = numbered(features, ["id", "repetition"])
    series, line = numbered(features, SERIES)
    unknown = sorted(set(replies["id"]) - set(prompts["id"]))
    if unknown:
        raise ValueError(f"{domain}: {len(unknown)} prompts that were measured are not there, as {unknown[0]}")
    shape = len(series), len(replies)
    at = line.astype(np.intp)
    at *= shape[1]
    at += reply
    del line, reply  # of a million replies with 45 features each takes as much memory as half of the numbers
    measured = np.zeros(shape, dtype=bool)
    measured.ravel()[at] = True
    if twice := len(features) - np.count_nonzero(measured):
        raise ValueError(f"{domain}: {twice} measurements are there twice")
    values, baselines = np.full(shape, np.nan), np.full(shape, np.nan)
    for name, numbers in (("value", values), ("baseline", baselines)):
        numbers.ravel()[at] = features[name].to_numpy(dtype=np.float64, na_value=np.nan)
    columns = ["id", "concept", "keyword", "section", "source_tag", "root_id"]
    replies = replies.merge(prompts[columns].astype(str), on="id", how="left", validate="many_to_one")
    return Layout(domain, replies, series, values, baselines, measured)


def numbered(frame: pd.DataFrame, names: list[str]) -> tuple[pd.DataFrame, NDArray[np.int32]]:
    """The different values of columns, sorted, and for each row the number of its own.

    Columns are of text without nulls, fastest as categories, or `repetition`. Grouping by pandas takes as much memory
    as all else together.
    """
    number, values = np.zeros(len(frame), dtype=np.int32), []
    for name in names:
        column = frame[name].astype("category").cat
        values.append(column.categories.to_numpy(dtype=None if name == "repetition" else object))
        rank = np.argsort(np.argsort(values[-1])).astype(np.int32)
        number *= len(rank)
        number += rank[column.codes]
    sizes = tuple(map(len, values))
    there = np.zeros(sizes, dtype=bool)
    there.ravel()[number] = True
    number = (np.cumsum(there.ravel(), dtype=np.int32) - 1)[number]
    found = zip(names, values, np.nonzero(there), strict=True)
    table = pd.DataFrame({name: np.sort(own)[at] for name, own, at in found})
    return table.astype({name: str for name in names if name != "repetition"}), number


DRAWN_AT_ONCE = 1_000_000
"""Replies of draws that are held at a time, so that memory is bounded; draws do not depend on it."""


def shuffled(layout: Layout, groups: Groups, n: int, seed: int) -> Iterator[Places]:
    """Labels of groups shuffled n times, some at a time; equally probable if groups are exchangeable.

    Prompts swap labels within their root item, repetitions together; where no root item holds several groups (it was
    not branched, or groups are sections), root items swap theirs within the domain.
    """
    draw = np.random.default_rng([seed, 0])
    units, blocks = layout.coded("id"), layout.coded("root_id")
    pairs = np.unique(np.stack([blocks, groups.codes]), axis=1)
    if pairs.shape[1] == len(np.unique(blocks)):  # no root item holds more than one group
        units, blocks = blocks, np.zeros_like(blocks)
    _, first = np.unique(units, return_index=True)
    by_block = np.argsort(blocks[first], kind="stable")
    labels, block = groups.codes[first][by_block], blocks[first][by_block]
    labels = labels.astype(np.min_scalar_type(len(groups.names)))  # sorted many times faster
    of_reply = np.argsort(by_block)[units]
    at_once = int(np.clip(DRAWN_AT_ONCE // max(1, len(units)), 1, 50))
    for begin in range(0, n, at_once):
        # Whole numbers keep blocks apart, what is behind the point shuffles within them.
        order = np.argsort(block + draw.random((min(at_once, n - begin), len(block))), axis=1)
        yield placed(labels[order][:, of_reply], len(groups.names))


AT_ONCE = 50_000  # numbers that a statistic is asked for at a time, so that they stay near the processor


@dataclass(frozen=True)
class Cells:
    """One statistic of all series, raw or calibrated. A cell is what its groups are compared in: one series."""

    layout: Layout
    groups: Groups
    name: str  # of the statistic, as the user named it
    statistic: Statistic
    calibration: str

    def numbers(self, lines: slice) -> tuple[Floats, Floats | None]:
        """Of some series the numbers, NaN where missing, and the baselines where these are compared."""
        values, baselines = self.layout.values[lines], self.layout.baselines[lines]
        if self.statistic.kind in USES_BASELINE:
            return pairs(values, baselines)
        return (values if self.calibration == RAW else values - baselines), None

    def over(self, places: Places) -> Floats:
        """The statistic of every group: [series, draws, groups], NaN where undefined."""
        kind, function = self.statistic.kind, resolve(self.statistic.kind)
        # Groups apart in memory, since they are reduced next: that is fastest so.
        found = np.full((*places.shape[1::-1], len(self.layout.series)), np.nan).transpose(2, 1, 0)
        step = max(1, AT_ONCE // max(1, places.size))
        for begin in range(0, len(found), step):
            lines = slice(begin, begin + step)
            values, baselines = self.numbers(lines)
            options = cell_options(kind, values, baselines, **self.statistic.options)
            for name in {"standard", "edges"} & set(options):  # which every series has its own of
                options[name] = np.expand_dims(options[name], (1, 2))
            if not np.isnan(values).all():  # as of a feature without baselines
                beside = None if baselines is None else gathered(baselines, places)
                found[lines] = function(gathered(values, places), beside, **options)
        return found

    @cached_property
    def values(self) -> Floats:
        """[series, groups]; NaN where undefined."""
        return self.over(self.groups.places)[:, 0]

    @cached_property
    def n(self) -> NDArray[np.int64]:
        """[series, groups] numbers that it is of: pairs, where it compares with baselines."""
        lines = range(len(self.layout.series))
        return self.groups.sizes(~np.isnan(self.numbers(slice(line, line + 1))[0][0]) for line in lines)

    @cached_property
    def reasons(self) -> NDArray[np.object_]:
        """[series, groups] why a value is NaN, else None."""
        kind, given, nothing = self.statistic.kind, self.statistic.options, np.full(1, np.nan)
        found, undefined = np.full(self.values.shape, None, dtype=object), np.isnan(self.values)
        found[undefined & (self.n == 0)] = reason(kind, nothing, nothing, **given)
        for line, group in np.argwhere(undefined & (self.n > 0)):
            own = self.groups.codes == group
            values, baselines = self.numbers(slice(line, line + 1))
            beside = None if baselines is None else baselines[0, own]
            found[line, group] = reason(kind, values[0, own], beside, **given)
        if kind in USES_BASELINE or self.calibration == CALIBRATED:
            found[np.isnan(self.layout.baselines).all(axis=1)] = NO_BASELINE
        return found

    @property
    def names(self) -> pd.DataFrame:
        """The columns that every table of cells begins with, one row a series."""
        own = {"calibration": self.calibration, "grouping": self.groups.grouping, "statistic": self.name}
        return self.layout.series.assign(domain=self.layout.domain, **own)[list(schemas.CELL.names)]

    def table(self) -> pd.DataFrame:
        """By `schemas.SUMMARIES`."""
        groups = self.groups.names
        names = self.names.take(np.repeat(np.arange(len(self.values)), len(groups))).reset_index(drop=True)
        return names.assign(
            group=np.tile(np.array(groups, dtype=object), len(self.values)),
            value=self.values.ravel(),
            n=self.n.ravel(),
            n_missing=(self.groups.sizes(self.layout.measured) - self.n).ravel(),
            reason=self.reasons.ravel(),
        )


def described(layout: Layout, settings: Disparities, seed: int) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Summaries, disparities (`compared`) and shapes (of the headline statistic) of every cell, by `schemas`.

    UserError where there is no such statistic, option or metric.
    """
    cells = [
        Cells(layout, groups, name, statistic, calibration)
        for groups in map(layout.groups, settings.grouping)
        for name, statistic in settings.statistics.items()
        for calibration in ([RAW] if statistic.kind in USES_BASELINE else [RAW, CALIBRATED])
    ]
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # numpy lets others work while it does
        found = list(pool.map(partial(compared, settings=settings, seed=seed), cells))
    shaped = []
    for each, disparities in zip(cells, found, strict=True):
        if each.name == settings.headline:
            ranges = disparities.loc[disparities["metric"] == "range", "p"].to_numpy(dtype=np.float64)
            p = ranges if ranges.size else np.full(len(layout.series), np.nan)
            shaped.append(each.names.assign(**shapes(each.values, each.groups.names, p)))
    return stacked([each.table() for each in cells]), stacked(found), stacked(shaped)[schemas.SHAPES.names]


def permutation_p(
    cells: Cells, metrics: Sequence[str], permutations: int, seed: int
) -> tuple[Floats, NDArray[np.int64]]:
    """[metrics, series] p of a one-sided test that groups differ, and the permutations that count: not those undefined.

    Ratios and the smallest z look for small values, all others for large ones. p = (1 + as extreme) / (1 + all), which
    is never 0, and NaN where the disparity is undefined.

    Source: section 4.2; Phipson & Smyth (2010), Permutation p-values should never be zero.
    """
    observed = np.array([metric_values(metric, cells.values) for metric in metrics])
    signs = [-1.0 if metric.startswith("min_") else 1.0 for metric in metrics]
    extreme, defined = np.zeros((2, *observed.shape), dtype=np.int64)
    for places in shuffled(cells.layout, cells.groups, permutations, seed):
        summaries = cells.over(places)
        for row, (metric, sign) in enumerate(zip(metrics, signs, strict=True)):
            permuted = metric_values(metric, summaries)
            bound = sign * observed[row] - 1e-9 * np.abs(observed[row])  # sums in another order differ in last bits
            extreme[row] += (sign * permuted >= bound[:, None]).sum(axis=1)
            defined[row] += (~np.isnan(permuted)).sum(axis=1)
    return np.where(np.isnan(observed), np.nan, (1 + extreme) / (1 + defined)), defined


def compared(cells: Cells, settings: Disparities, seed: int) -> pd.DataFrame:
    """Every metric of every cell, by `schemas.DISPARITIES` but for `p_adjusted`; UserError where it is none.

    Impact ratios are of selection rates alone; `n_permutations` is 0 where there is no disparity to test.
    """
    rates = cells.statistic.kind == "selection_rate"
    metrics = [metric for metric in settings.metrics if rates or metric not in USES_SELECTION_RATE]
    permutations = settings.headline_permutations if cells.name == settings.headline else settings.permutations
    columns = [name for name in schemas.DISPARITIES.names if name != "p_adjusted"]
    tables, nothing = [pd.DataFrame(columns=columns)], cells.n.sum(axis=1) == 0
    p, defined = permutation_p(cells, metrics, permutations, seed) if metrics else (np.empty((0, 0)),) * 2
    types = dict.fromkeys(("value", "critical", "excess"), float) | {"n": "int64"}
    told = [*types, "group", "flag", "reason"]
    for metric, own, n in zip(metrics, p, defined, strict=True):
        found = [disparity_of(metric, summaries, cells.groups.names) for summaries in cells.values]
        rows = pd.DataFrame(found, columns=told, dtype=object).astype(types).rename(columns={"n": "n_groups"})
        rows["reason"] = rows["reason"].mask(nothing, cells.reasons[:, 0])  # all of its groups are null for the same
        tests = {"p": own, "n_permutations": np.where(rows["value"].isna(), 0, n)}
        tables.append(cells.names.assign(metric=metric, **rows, **tests)[columns])
    return stacked(tables)


FAMILY = ["domain", "grouping", "feature", "statistic"]
"""Tests of the same are adjusted together, over configurations, calibrations and metrics."""


def adjusted(compared: pd.DataFrame) -> pd.DataFrame:
    """`schemas.DISPARITIES` with `p_adjusted`, over a `FAMILY` of tests; no p is no test, and stays.

    Source: Benjamini & Hochberg (1995), Controlling the false discovery rate.
    """
    if compared.empty:
        return pd.DataFrame(columns=schemas.DISPARITIES.names)
    p = compared.dropna(subset="p").groupby(FAMILY)["p"].transform(stats.false_discovery_control)
    return compared.assign(p_adjusted=p)[list(schemas.DISPARITIES.names)]

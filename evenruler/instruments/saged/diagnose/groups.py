"""Measurements as matrices, a row a configuration and feature; and replies in groups: as they are, or shuffled.

Shuffling labels of groups then is the same for all rows at once.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenruler.instruments.saged.diagnose.statistics import Floats

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

    `codes`: [rows] the number of each row's group.
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
    """The numbers of groups, [series, draws, groups, most], NaN where a group is smaller."""
    padded = np.concatenate([numbers, np.full((len(numbers), 1), np.nan)], axis=1)
    return np.take(padded, places, axis=1, mode="clip")


CONFIGURATION = ["model", "role", "template"]
"""What asks."""

SERIES = [*CONFIGURATION, "feature"]
"""What one row of numbers is of."""

_SERIES = 256
"""Series of a part."""

_AT_ONCE = 1_000_000
"""Rows that are looked at at a time."""

RAW, CALIBRATED = "raw", "calibrated"

NO_BASELINE = "no baseline has this feature"
"""Why a calibrated number is null."""


ROOTS = "root items"
"""What figures are over."""

FEWEST_ROOTS = 6
"""Root items below which there is no interval: 95% ones of two would cover 74 to 91%, of six 95 to 97% (simulated)."""


@dataclass(frozen=True)
class Groups:
    """Replies in groups."""

    grouping: str
    """The columns that make groups, joined by "+"."""
    names: list[str]
    """Of the groups, in order: values of those columns, joined by "+"."""
    codes: Codes
    """[replies] the number of each reply's group."""


@dataclass(frozen=True)
class Layout:
    """The measurements of one domain."""

    domain: str
    replies: pd.DataFrame
    """One row a prompt and repetition: `id`, `repetition` and the columns of the prompts, in order of ids."""
    series: pd.DataFrame
    """One row a configuration and feature, by `SERIES`."""
    values: Floats
    """[series, replies]; NaN where a reply could not be measured, or was not asked for."""
    baselines: Floats
    """[series, replies] the same feature of the reply's baseline."""
    measured: NDArray[np.bool_]
    """[series, replies] whether there is a measurement, null or not."""

    def parts(self) -> "list[Layout]":
        """The same replies with some series at a time, as many as a model in five roles has of 45 features.

        What is made of a part, as calibrated numbers and pairs, would be several times as large of all at once. Draws
        hang on the seed alone, so that they are the same for all parts.
        """
        begins = range(0, max(1, len(self.series)), _SERIES)
        return [self.part(series=slice(begin, begin + _SERIES)) for begin in begins]

    def part(self, series: Any = slice(None), replies: Any = slice(None)) -> "Layout":
        """Some series, and some of the replies, by their places, a slice or a mask."""
        numbers = {name: getattr(self, name)[series][:, replies] for name in ("values", "baselines", "measured")}
        rows = {"series": self.series.iloc[series], "replies": self.replies.iloc[replies]}
        return replace(self, **{name: own.reset_index(drop=True) for name, own in rows.items()}, **numbers)

    def without(self, concepts: Collection[str]) -> "Layout":
        """The replies about other concepts."""
        return self.part(replies=~self.replies["concept"].isin(list(concepts)).to_numpy())

    def numbers(self, calibration: str) -> Floats:
        """The values (`raw`), or those minus their baselines (`calibrated`, section 3.3)."""
        return self.values if calibration == RAW else self.values - self.baselines

    def groups(self, columns: Sequence[str]) -> Groups:
        """The replies grouped by columns of the prompts, crossed."""
        codes, found = pd.factorize(self.replies[list(columns)].agg("+".join, axis=1), sort=True)
        return Groups("+".join(columns), [str(name) for name in found], codes.astype(np.intp))

    @property
    def items(self) -> Codes:
        """[replies] the number of each reply's prompt: repetitions stay together."""
        return pd.factorize(self.replies["id"], sort=True)[0].astype(np.intp)

    @property
    def roots(self) -> Codes:
        """[replies] the number of each reply's root item."""
        return pd.factorize(self.replies["root_id"], sort=True)[0].astype(np.intp)

    @property
    def branched(self) -> bool:
        """Whether root items stand there for several concepts."""
        return bool((self.replies.groupby("root_id")["concept"].nunique() > 1).any())

    @property
    def fewest_roots(self) -> int:
        """Root items of the concept that has fewest; all of them, where each stands for several concepts."""
        roots = self.replies.groupby("concept")["root_id"].nunique()
        return int(self.replies["root_id"].nunique() if self.branched else roots.min())


def laid_out(domain: str, features: pd.DataFrame, prompts: pd.DataFrame) -> Layout:
    """Lay out the measurements of one domain and framing, in whatever order they come.

    ValueError where a measurement is there twice, or of a prompt that is not there.
    """
    replies, reply = numbered(features, ["id", "repetition"])
    series, line = numbered(features, SERIES)
    unknown = sorted(set(replies["id"]) - set(prompts["id"]))
    if unknown:
        raise ValueError(f"{domain}: {len(unknown)} prompts that were measured are not there, as {unknown[0]}")
    shape = len(series), len(replies)
    values, baselines, measured = np.full(shape, np.nan), np.full(shape, np.nan), np.zeros(shape, dtype=bool)
    value, baseline = (np.asarray(features[name], dtype=np.float64) for name in ("value", "baseline"))
    for rows in _blocks(len(features)):
        at = line[rows], reply[rows]
        measured[at], values[at], baselines[at] = True, value[rows], baseline[rows]
    if np.count_nonzero(measured) != len(features):
        raise ValueError(f"{domain}: {len(features) - np.count_nonzero(measured)} measurements are there twice")
    columns = ["id", "concept", "keyword", "section", "source_tag", "root_id"]
    replies = replies.merge(prompts[columns].astype(str), on="id", how="left", validate="many_to_one")
    return Layout(domain, replies, series, values, baselines, measured)


def numbered(frame: pd.DataFrame, names: list[str]) -> tuple[pd.DataFrame, NDArray[np.int32]]:
    """The different values of columns, sorted, and for each row the number of its own.

    Of a million replies with 45 features, grouping by pandas takes as much memory as all else together. Columns are of
    text without nulls, fastest as categories, or `repetition`.
    """
    ranks, values = zip(*(_ranked(frame[name]) for name in names), strict=True)
    sizes = tuple(len(own) for own in values)
    number, there = np.empty(len(frame), dtype=np.int32), np.zeros(sizes, dtype=bool).ravel()
    for rows in _blocks(len(frame)):
        number[rows] = np.ravel_multi_index([rank(rows) for rank in ranks], sizes)
        there[number[rows]] = True
    place = np.cumsum(there, dtype=np.int32) - 1
    for rows in _blocks(len(frame)):
        number[rows] = place[number[rows]]
    found = zip(values, np.nonzero(there.reshape(sizes)), strict=True)
    table = pd.DataFrame({name: own[at] for name, (own, at) in zip(names, found, strict=True)})
    return table.astype({name: str for name in names if name != "repetition"}), number


def _ranked(column: pd.Series) -> tuple[Callable[[slice], NDArray[np.intp]], NDArray[Any]]:
    """What gives of some rows the place of each in the sorted values of a column, and these."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        named, codes = column.cat.categories.to_numpy(dtype=object), column.cat.codes.to_numpy()
        rank = np.argsort(np.argsort(named))
        return lambda rows: rank[codes[rows]], np.sort(named)
    kept = column.to_numpy(dtype=None if column.name == "repetition" else object)
    values = np.sort(pd.unique(kept))
    return lambda rows: np.searchsorted(values, kept[rows]), values


def _blocks(rows: int) -> Iterator[slice]:
    """Some rows at a time: arithmetic on places of all would take as much memory as the numbers."""
    return (slice(begin, begin + _AT_ONCE) for begin in range(0, rows, _AT_ONCE))


AT_ONCE = 250
"""Draws that are held at a time: bounds memory, and is fixed so that the draws are."""


def as_they_are(groups: Groups) -> Places:
    """The groups themselves: one draw."""
    return places_of(groups.codes, len(groups.names))


def shuffled(layout: Layout, groups: Groups, n: int, seed: int) -> Iterator[Places]:
    """Labels of groups shuffled n times, `AT_ONCE` at a time; equally probable if groups are exchangeable.

    Prompts swap labels within their root item. Where no root item holds several groups (it was not branched, or groups
    are sections), root items swap theirs within the domain. Repetitions stay with their prompt.
    """
    draw = np.random.default_rng([seed, 0])
    units, blocks = layout.items, layout.roots
    pairs = np.unique(np.stack([blocks, groups.codes]), axis=1)
    if pairs.shape[1] == len(np.unique(blocks)):  # no root item holds more than one group
        units, blocks = blocks, np.zeros_like(blocks)
    _, first = np.unique(units, return_index=True)
    by_block = np.argsort(blocks[first], kind="stable")
    labels, block = groups.codes[first][by_block], blocks[first][by_block]
    labels = labels.astype(np.min_scalar_type(len(groups.names)))  # sorted many times faster
    place = np.empty(len(first), dtype=np.intp)
    place[by_block] = np.arange(len(first))
    of_reply = place[units]
    for begin in range(0, n, AT_ONCE):
        size = min(AT_ONCE, n - begin)
        # Whole numbers keep blocks apart, what is behind the point shuffles within them.
        order = np.argsort(block + draw.random((size, len(block))), axis=1)
        rows = np.empty((size, len(of_reply)), dtype=np.int32)
        sizes = np.empty((size, len(groups.names)), dtype=np.intp)
        for line, each in enumerate(order):
            codes = labels[each][of_reply]
            rows[line], sizes[line] = np.argsort(codes, kind="stable"), np.bincount(codes, minlength=sizes.shape[1])
        yield placed(rows.ravel(), sizes, len(of_reply))

"""Measurements as matrices, a row a configuration and feature; and replies in groups: as they are, or shuffled.

Shuffling labels of groups then is the same for all rows at once.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenruler.instruments.saged.diagnose.statistics import Floats

Codes = NDArray[np.intp]

Places = NDArray[np.int32]
"""[draws, groups, most] the rows of each group, for some ways to draw groups; one beyond the last row where a group is
smaller than the largest."""


def placed(codes: NDArray[np.integer[Any]], groups: int) -> Places:
    """Where the rows of each group stand, in their order.

    `codes`: [draws, rows] the number of each row's group.
    """
    order = np.argsort(codes, axis=1, kind="stable")
    sizes = np.array([np.bincount(draw, minlength=groups) for draw in codes], dtype=np.intp)
    found = np.full((*sizes.shape, int(sizes.max(initial=0))), codes.shape[1], dtype=np.int32)
    found[np.arange(found.shape[-1]) < sizes[..., None]] = order.ravel()
    return found


def gathered(numbers: Floats, places: Places) -> Floats:
    """The numbers of groups, [series, draws, groups, most], NaN where a group is smaller."""
    padded = np.concatenate([numbers, np.full((len(numbers), 1), np.nan)], axis=1)
    return np.take(padded, places, axis=1, mode="clip")


CONFIGURATION = ["model", "role", "template"]
"""What asks."""

SERIES = [*CONFIGURATION, "feature"]
"""What one row of numbers is of."""

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
    series: pd.DataFrame
    """One row a configuration and feature, by `SERIES`."""
    values: Floats
    """[series, replies]; NaN where a reply could not be measured, or was not asked for."""
    baselines: Floats
    """[series, replies] the same feature of the reply's baseline."""
    measured: NDArray[np.bool_]
    """[series, replies] whether there is a measurement, null or not."""

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

    Of a million replies with 45 features, grouping by pandas takes as much memory as all else together. Columns are of
    text without nulls, fastest as categories, or `repetition`.
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


AT_ONCE = 1_000_000
"""Replies of draws that are held at a time, so that memory is bounded; draws do not depend on it."""


def shuffled(layout: Layout, groups: Groups, n: int, seed: int) -> Iterator[Places]:
    """Labels of groups shuffled n times, some at a time; equally probable if groups are exchangeable.

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
    of_reply = np.argsort(by_block)[units]
    at_once = int(np.clip(AT_ONCE // max(1, len(units)), 1, 50))
    for begin in range(0, n, at_once):
        # Whole numbers keep blocks apart, what is behind the point shuffles within them.
        order = np.argsort(block + draw.random((min(at_once, n - begin), len(block))), axis=1)
        yield placed(labels[order][:, of_reply], len(groups.names))

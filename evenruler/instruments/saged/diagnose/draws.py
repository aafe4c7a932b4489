"""Labels of groups shuffled, and root items drawn anew, many times at once.

A set of draws is one sparse matrix [draws x groups, replies]: how often each reply counts in each group. Sums over
groups of every draw, of any numbers of replies, are then one product.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenruler.instruments.saged.diagnose.layout import Codes, Groups, Layout

AT_ONCE = 250
"""Draws that are held at a time: bounds memory, and is fixed so that the draws are."""


@dataclass(frozen=True)
class Draws:
    """Some ways to put replies into groups.

    Replies of draw d in group g: `replies[begins[d * groups + g] : begins[d * groups + g + 1]]`, each as often as
    `times` says.
    """

    draws: int
    groups: int
    total: int
    """How many replies there are."""
    begins: NDArray[np.int32]
    replies: NDArray[np.int32]
    times: NDArray[np.int32]

    @property
    def sizes(self) -> Codes:
        """[draws x groups] how many replies each group has, those drawn twice counted twice."""
        return np.diff(np.concatenate([[0], np.cumsum(self.times)])[self.begins])

    def sums(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """Sums over groups of [replies, ...] numbers without NaN: [draws, groups, ...], of the same type."""
        from scipy.sparse import csr_array

        flat = numbers.reshape(self.total, -1)
        weights = csr_array(
            (self.times.astype(numbers.dtype), self.replies, self.begins),
            shape=(self.draws * self.groups, self.total),
        )
        return np.asarray(weights @ flat).reshape(self.draws, self.groups, *numbers.shape[1:])

    def counts(self, which: NDArray[np.bool_]) -> NDArray[Any]:
        """How many of [replies, ...] are true: [draws, groups, ...], in the smallest type that holds them."""
        kind = np.min_scalar_type(int(self.sizes.max(initial=0)))
        return self.sums(which.astype(kind))

    def gathered(self, numbers: NDArray[Any], missing: float = np.nan) -> NDArray[Any]:
        """The numbers themselves, [series, replies]: [series, draws, groups, most], filled up with `missing`."""
        padded = np.concatenate([numbers, np.full_like(numbers[:, :1], missing)], axis=1)
        return np.take(padded, self._places(), axis=1, mode="clip")

    def _places(self) -> Codes:
        """[draws, groups, most] numbers of replies; those that fill up are one beyond the last."""
        sizes = self.sizes
        places = np.full((self.draws * self.groups, int(sizes.max(initial=0))), self.total, dtype=np.intp)
        places[np.arange(places.shape[1]) < sizes[:, None]] = np.repeat(self.replies, self.times)
        return places.reshape(self.draws, self.groups, -1)

    def part(self, begin: int, end: int) -> "Draws":
        """Draws from `begin` up to `end`."""
        begins = self.begins[begin * self.groups : end * self.groups + 1]
        own = slice(int(begins[0]), int(begins[-1]))
        return Draws(end - begin, self.groups, self.total, begins - begins[0], self.replies[own], self.times[own])


def as_they_are(groups: Groups) -> Draws:
    """One draw: the groups themselves."""
    return _labelled(groups.codes[None, :], len(groups.names))


def shuffled(layout: Layout, groups: Groups, n: int, seed: int) -> Iterator[Draws]:
    """Labels of groups shuffled n times, `AT_ONCE` at a time; equally probable if groups are exchangeable.

    Prompts swap labels within their root item. Where no root item holds several groups (it was not branched, or groups
    are sections), root items swap theirs within the domain. Repetitions stay with their prompt.
    """
    draw = np.random.default_rng([seed, 0])
    units, blocks = layout.items, layout.roots
    if not _several(groups.codes, blocks):
        units, blocks = blocks, np.zeros_like(blocks)
    _, first = np.unique(units, return_index=True)
    by_block = np.argsort(blocks[first], kind="stable")
    labels, block = groups.codes[first][by_block], blocks[first][by_block]
    place = np.empty(len(first), dtype=np.intp)
    place[by_block] = np.arange(len(first))
    of_reply = place[units]
    for size in _sizes(n):
        # Whole numbers keep blocks apart, what is behind the point shuffles within them.
        order = np.argsort(block + draw.random((size, len(block))), axis=1)
        yield _labelled(labels[order][:, of_reply], len(groups.names))


def resampled(layout: Layout, groups: Groups, n: int, seed: int) -> Iterator[Draws]:
    """Root items drawn n times with replacement, as many as there are, `AT_ONCE` at a time.

    A root item comes with all its prompts, so that groups are compared over the same ones. Where no root item holds
    several groups, each group draws from its own.
    """
    draw = np.random.default_rng([seed, 1])
    roots = layout.roots
    total = int(roots.max(initial=-1)) + 1
    strata = np.zeros(total, dtype=np.intp)
    if not _several(groups.codes, roots):
        strata[roots] = groups.codes
    by_group = np.argsort(groups.codes, kind="stable")
    for size in _sizes(n):
        times = np.zeros((size, total), dtype=np.int64)
        for stratum in range(int(strata.max(initial=-1)) + 1):
            own = np.flatnonzero(strata == stratum)
            times[:, own] = draw.multinomial(len(own), np.full(len(own), 1 / len(own)), size=size)
        weights = times[:, roots[by_group]]
        at, column = np.nonzero(weights)
        row = at * len(groups.names) + groups.codes[by_group][column]
        yield _sparse(row, by_group[column], weights[at, column], size, len(groups.names), len(roots))


def _several(codes: Codes, roots: Codes) -> bool:
    """Whether some root item holds more than one group."""
    pairs = np.unique(np.stack([roots, codes]), axis=1)
    return bool(pairs.shape[1] > len(np.unique(roots)))


def _sizes(n: int) -> Iterator[int]:
    yield from (min(AT_ONCE, n - begin) for begin in range(0, n, AT_ONCE))


def _labelled(codes: Codes, groups: int) -> Draws:
    """[draws, replies] numbers of groups as draws in which every reply counts once."""
    draws, total = codes.shape
    replies = np.argsort(codes, axis=1, kind="stable")
    row = np.take_along_axis(codes, replies, axis=1) + groups * np.arange(draws)[:, None]
    return _sparse(row.ravel(), replies.ravel(), np.ones(row.size, dtype=np.int32), draws, groups, total)


def _sparse(row: Codes, replies: Codes, times: NDArray[Any], draws: int, groups: int, total: int) -> Draws:
    """Draws from entries that are sorted by row."""
    begins = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=draws * groups))])
    return Draws(draws, groups, total, *(each.astype(np.int32) for each in (begins, replies, times)))

"""Labels of groups shuffled, and root items drawn anew, many times at once."""

from collections.abc import Iterator

import numpy as np

from evenruler.instruments.saged.diagnose.groups import Codes, Places, placed, places_of
from evenruler.instruments.saged.diagnose.layout import Groups, Layout

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
    if not _several(groups.codes, blocks):
        units, blocks = blocks, np.zeros_like(blocks)
    _, first = np.unique(units, return_index=True)
    by_block = np.argsort(blocks[first], kind="stable")
    labels, block = groups.codes[first][by_block], blocks[first][by_block]
    labels = labels.astype(np.min_scalar_type(len(groups.names)))  # sorted many times faster
    place = np.empty(len(first), dtype=np.intp)
    place[by_block] = np.arange(len(first))
    of_reply = place[units]
    for size in _sizes(n):
        # Whole numbers keep blocks apart, what is behind the point shuffles within them.
        order = np.argsort(block + draw.random((size, len(block))), axis=1)
        rows = np.empty((size, len(of_reply)), dtype=np.int32)
        sizes = np.empty((size, len(groups.names)), dtype=np.intp)
        for line, each in enumerate(order):
            codes = labels[each][of_reply]
            rows[line], sizes[line] = np.argsort(codes, kind="stable"), np.bincount(codes, minlength=sizes.shape[1])
        yield placed(rows.ravel(), sizes, len(of_reply))


def resampled(layout: Layout, groups: Groups, n: int, seed: int) -> Iterator[Places]:
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
    by_group = np.argsort(groups.codes, kind="stable").astype(np.int32)
    of_group = np.arange(len(groups.names)) == groups.codes[by_group, None]
    for size in _sizes(n):
        times = np.zeros((size, total), dtype=np.int64)
        for stratum in range(int(strata.max(initial=-1)) + 1):
            own = np.flatnonzero(strata == stratum)
            times[:, own] = draw.multinomial(len(own), np.full(len(own), 1 / len(own)), size=size)
        rows, sizes = [], np.empty((size, len(groups.names)), dtype=np.intp)
        for line, each in enumerate(times):
            of_reply = each[roots[by_group]]
            rows.append(np.repeat(by_group, of_reply))
            sizes[line] = of_reply @ of_group
        yield placed(np.concatenate(rows), sizes, len(roots))


def _several(codes: Codes, roots: Codes) -> bool:
    """Whether some root item holds more than one group."""
    pairs = np.unique(np.stack([roots, codes]), axis=1)
    return bool(pairs.shape[1] > len(np.unique(roots)))


def _sizes(n: int) -> Iterator[int]:
    yield from (min(AT_ONCE, n - begin) for begin in range(0, n, AT_ONCE))

"""Whom a model favours: which concepts lie apart from the others, in what is said of them and in what stays unsaid.

Root items could have been others. Every root item is asked of every concept, so where a model treats concepts alike,
their labels may be dealt anew within each root item.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from evenruler.measurement.checks import Floats

SHUFFLES = 2000
_AT_ONCE = 200

_ROUNDING = 1e-12

ALIKE_POINTS = 0.15
"""Concepts are answered alike if the share of silence of none is further from that of all."""


@dataclass(frozen=True)
class Apart:
    """How far each concept lies from all, in each series."""

    values: Floats
    """[series, concepts] mean over root items, less that of all concepts; NaN where fewer than two have a score."""
    low: Floats
    """[series, concepts] ends of simultaneous intervals: of 100 such tables 95 hold all truths."""
    high: Floats
    narrow_low: Floats
    """[series, concepts] ends of the 90% interval of each by itself."""
    narrow_high: Floats
    p_null: float
    """That some concept would lie as far apart, in its standard errors, if concepts were treated alike."""

    def within(self, bound: float) -> bool:
        """Whether every concept surely lies inside of -bound and bound: the 90% interval of each does."""
        there = ~np.isnan(self.values)
        inside = (self.narrow_low > -bound) & (self.narrow_high < bound)
        return bool(there.any() and inside[there].all())


def apart(scores: ArrayLike, seed: int, shuffles: int = SHUFFLES) -> Apart:
    """Which concepts lie apart, over root items.

    Args:
        scores: [root items, concepts], or [series, root items, concepts] for several that are judged as one table;
            NaN where there is none.
        seed: Of the shuffles.
        shuffles: Of the labels of concepts within root items; one for all series.

    Raises:
        ValueError: Fewer than two root items or concepts.

    Source: permutation of the largest of several studentised means, Westfall and Young (1993), Resampling-based
    multiple testing, single-step maxT.
    """
    x = np.asarray(scores, dtype=np.float64)
    x = x[None] if x.ndim == 2 else x
    if x.ndim != 3 or min(x.shape[1:]) < 2:
        raise ValueError(f"expected two root items and two concepts at least, got the shape {x.shape}")
    off = _centred(x, 2)
    means, errors, n = _means(off)
    rest = off - means[:, None]
    largest: list[Floats] = []
    of_rest: list[Floats] = []
    usable = np.asarray(~np.isnan(x).all(axis=0))
    for order in _shuffles(usable, seed, shuffles):
        for scores_of, found in ((off, largest), (rest, of_rest)):
            dealt = np.take_along_axis(scores_of[None], order[:, None], axis=3)
            found.append(_largest(*_means(dealt)[:2]))
    beyond = np.concatenate(largest) >= _largest(means[None], errors[None]) * (1 - 1e-12)
    wide = float(np.quantile(np.concatenate(of_rest), 0.95)) * errors
    narrow = stats.t.ppf(0.95, np.maximum(n - 1, 1)) * errors
    p = float((1 + beyond.sum()) / (1 + shuffles))
    return Apart(means, means - wide, means + wide, means - narrow, means + narrow, p)


def named(scores: ArrayLike, seed: int, level: float = 0.05, shuffles: int = SHUFFLES) -> list[int]:
    """Concepts that lie apart, the furthest first.

    One at a time: a concept that is named is left out of what the others are compared with, so that nobody is praised
    because one other was cursed.

    Args:
        scores: [root items, concepts]; NaN where there is none.
        seed: Of the shuffles.
        level: Of p, below which there is somebody to name: .05 over what it is corrected for.
        shuffles: Of the labels of concepts within root items.

    Source: step-down maxT of Westfall and Young (1993), section 2.6.
    """
    x = np.array(scores, dtype=np.float64)
    found: list[int] = []
    while (~np.isnan(x)).any(axis=0).sum() > 2:
        own = apart(x, seed, shuffles)
        clear = (own.low[0] > 0) | (own.high[0] < 0)
        if own.p_null >= level or not clear.any():
            break
        sizes = np.abs(own.values[0]) / np.maximum(own.high[0] - own.low[0], np.finfo(float).tiny)
        found.append(int(np.nanargmax(np.where(clear, sizes, np.nan))))
        x[:, found[-1]] = np.nan
    return found


def by_role(scores: ArrayLike, seed: int, shuffles: int = SHUFFLES) -> Apart:
    """Which concepts lie apart in one role and not in others, where the mean over roles may cancel.

    Args:
        scores: [roles, root items, concepts]; NaN where there is none.
        seed: Of the shuffles.
        shuffles: One a root item for all roles.
    """
    return apart(_centred(np.asarray(scores, dtype=np.float64), 0), seed, shuffles)


def beyond_invented(real: Apart, invented: Apart) -> float:
    """P that real concepts would differ so much more than invented ones if their names were invented, too.

    Source: F of two mean squares of means over the same root items, one-sided; the noise of both is in both.
    """
    squares = [float(np.nanvar(one.values[0], ddof=1)) for one in (real, invented)]
    freedom = [int((~np.isnan(one.values[0])).sum()) - 1 for one in (real, invented)]
    if min(freedom) < 1 or squares[1] == 0:
        return float(squares[0] == 0) if min(freedom) >= 1 else 1.0
    return float(stats.f.sf(squares[0] / squares[1], *freedom))


@dataclass(frozen=True)
class Silence:
    """How often a model says nothing of each concept."""

    shares: Floats
    """[concepts] of root items."""
    overall: float
    low: Floats
    """[concepts] ends of simultaneous intervals of the share less that of all."""
    high: Floats
    p_null: float

    alike: bool
    """Whether every concept surely is within `ALIKE_POINTS` of all."""

    def named(self, concepts: Sequence[str]) -> list[tuple[str, Literal["more", "less"]]]:
        """Concepts of which more, or less, stays unsaid. To be said only where p is below its level, too."""
        told: list[tuple[str, Literal["more", "less"]]] = []
        for name, low, high in zip(concepts, self.low, self.high, strict=True):
            if low > 0 or high < 0:
                told.append((name, "more" if low > 0 else "less"))
        return told


def silence(unanswered: ArrayLike, seed: int, shuffles: int = SHUFFLES) -> Silence:
    """Whether concepts are answered alike.

    Args:
        unanswered: [root items, concepts] share of replies that were refused, empty, foreign or withheld, 0 to 1.
        seed: Of the shuffles.
        shuffles: Of the labels of concepts within root items.

    Source: intervals of Wilson (1927), corrected by Bonferroni over concepts.
    """
    x = np.asarray(unanswered, dtype=np.float64)
    roots, concepts = x.shape
    shares, overall = x.mean(axis=0), float(x.mean())
    size = float(np.abs(shares - overall).max())
    dealt = [
        np.abs(np.take_along_axis(x[None], order, axis=2).mean(axis=1) - overall).max(axis=1)
        for order in _shuffles(np.ones(x.shape, dtype=np.bool_), seed, shuffles)
    ]
    p = float((1 + (np.concatenate(dealt) >= size - 1e-12).sum()) / (1 + shuffles))
    wide, narrow = (_wilson(shares, roots, z) for z in (float(stats.norm.isf(0.025 / concepts)), 1.645))
    alike = bool((narrow[0] - overall > -ALIKE_POINTS).all() and (narrow[1] - overall < ALIKE_POINTS).all())
    return Silence(shares, overall, wide[0] - overall, wide[1] - overall, p, alike)


def _wilson(shares: Floats, n: int, z: float) -> tuple[Floats, Floats]:
    middle = (shares + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(shares * (1 - shares) / n + z**2 / (4 * n**2))
    return middle - half, middle + half


def _centred(x: Floats, axis: int) -> Floats:
    """Less the mean along an axis, of what is there."""
    there = ~np.isnan(x)
    n = there.sum(axis=axis, keepdims=True)
    found: Floats = x - np.where(there, x, 0).sum(axis=axis, keepdims=True) / np.where(n, n, 1)
    return found


def _means(x: Floats) -> tuple[Floats, Floats, NDArray[np.int_]]:
    """Of [..., root items, concepts] mean, standard error and number over root items; NaN below two."""
    there = ~np.isnan(x)
    n = there.sum(axis=-2)
    known = np.where(there, x, 0)
    means = known.sum(axis=-2) / np.where(n > 0, n, 1)
    squares = (np.where(there, known - means[..., None, :], 0) ** 2).sum(axis=-2)
    enough = n > 1
    errors = np.sqrt(squares / np.where(enough, (n - 1) * n, 1))
    return np.where(enough, means, np.nan), np.where(enough, errors, np.nan), n


def _largest(means: Floats, errors: Floats) -> Floats:
    """[draws] of [draws, series, concepts]: the largest mean in its standard errors, infinite where it has none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        sizes = np.where(np.abs(means) <= _ROUNDING, 0.0, np.abs(means) / errors)
    found: Floats = np.nanmax(sizes, axis=(1, 2))
    return found


def _shuffles(usable: NDArray[np.bool_], seed: int, n: int) -> Iterator[NDArray[np.intp]]:
    """[draws, root items, concepts] orders of concepts within root items that leave those without a score alone."""
    random, at = np.random.default_rng(seed), np.where(usable, 0, 1).argsort(axis=1, kind="stable")
    for begin in range(0, n, _AT_ONCE):
        keys = np.where(usable, random.random((min(_AT_ONCE, n - begin), *usable.shape)), 2.0)
        # The places that have scores come first in both orders: the drawn one says who goes to each.
        order = np.empty(keys.shape, dtype=np.intp)
        drawn = np.where(np.take_along_axis(usable, at, axis=1), keys.argsort(axis=2, kind="stable"), at)
        np.put_along_axis(order, np.broadcast_to(at, keys.shape), drawn, axis=2)
        yield order

"""What a figure would be if labels meant nothing: labels dealt anew, in the way in which they could have been others.

Two-sided p, the labels as they are counted among the draws (Phipson and Smyth 2010), so that none is 0.
"""

import itertools
from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenruler.measurement.checks import Floats

DRAWS = 2000

_AT_ONCE = 500

_ROUNDING = 1e-9
"""Of the size of what is compared: as far as sums in another order differ."""


def sign_flips(changes: ArrayLike, seed: int, draws: int = DRAWS) -> float:
    """P of the mean of paired changes, if for each unit before and after could as well be the other way round.

    Args:
        changes: [units], or [units, classes] whose mean is a vector that is compared by its length.
        seed: Of the draws; of twelve units or fewer all flips are taken.
        draws: Of signs.

    Source: Fisher (1935), The design of experiments, section 21.
    """
    x = np.asarray(changes, dtype=np.float64)
    x = x[:, None] if x.ndim == 1 else x
    own = _length(x.sum(axis=0))
    found = np.concatenate([_length(signs @ x) for signs in _signs(len(x), seed, draws)])
    beyond = int((found >= own * (1 - _ROUNDING)).sum())
    return beyond / len(found) if 2 ** len(x) == len(found) else (1 + beyond) / (1 + len(found))


def squared_shift(changes: ArrayLike) -> float:
    """Squared length of the mean change, without what noise of units adds to it: 0 on average where nothing moves.

    Args:
        changes: [units, classes] of shares; two units at least.

    Source: the U-statistic of pairs of different units; docs/controls.md.
    """
    x = np.asarray(changes, dtype=np.float64)
    n = len(x)
    total = x.sum(axis=0)
    return float((total @ total - (x**2).sum()) / (n * (n - 1)))


def labels_within(values: ArrayLike, labels: ArrayLike, seed: int, draws: int = DRAWS) -> float:
    """P of the mean of values labelled 1 minus that of values labelled -1, dealt anew within each item.

    Args:
        values: [items, terms]; NaN where an item has fewer terms. What shares a deal (fits, forms) is averaged before.
        labels: [items, terms] 1 or -1; both in every item.
        seed: Of the draws.
        draws: Of labels.

    Raises:
        ValueError: An item lacks one of the labels.
    """
    x, signs = np.asarray(values, dtype=np.float64), np.asarray(labels)
    there = ~np.isnan(x)
    ones, others = (there & (signs == 1)).sum(axis=1), (there & (signs == -1)).sum(axis=1)
    if not ones.all() or not others.all():
        raise ValueError("every item needs values of both labels")
    known = np.where(there, x, 0.0)
    random = np.random.default_rng(seed)

    def difference(first: NDArray[np.bool_]) -> Floats:
        of_first = (known * first).sum(axis=-1)
        found: Floats = (of_first / ones - (known.sum(axis=-1) - of_first) / others).mean(axis=-1)
        return found

    own = abs(float(difference(there & (signs == 1))))
    beyond = 0
    for begin in range(0, draws, _AT_ONCE):
        keys = np.where(there, random.random((min(_AT_ONCE, draws - begin), *x.shape)), 2.0)
        ranks = keys.argsort(axis=2).argsort(axis=2)
        beyond += int((np.abs(difference(ranks < ones[:, None])) >= own * (1 - _ROUNDING)).sum())
    return (1 + beyond) / (1 + draws)


def _signs(n: int, seed: int, draws: int) -> Iterator[Floats]:
    if n <= 12:
        yield np.array(list(itertools.product([1.0, -1.0], repeat=n)))
        return
    random = np.random.default_rng(seed)
    for begin in range(0, draws, _AT_ONCE):
        yield random.choice([1.0, -1.0], size=(min(_AT_ONCE, draws - begin), n))


def _length(x: Floats) -> Floats:
    found: Floats = np.linalg.norm(x, axis=-1)
    return found

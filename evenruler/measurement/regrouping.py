"""What a difference between two groups of words would be if the groups meant nothing: every other way to halve them."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenruler.measurement.checks import Floats, check_level
from evenruler.measurement.resampling import FEWEST_UNITS, Interval, of_left_out

MOST = 10_000
"""Regroupings that are counted one by one; of more, so many are drawn."""

SEED = 0
"""Of what is drawn."""

_SAME = 1e-9
"""Of the values: those that differ by no more of their size are equal, as two orders of one sum are."""


@dataclass(frozen=True)
class Regrouped:
    """A statistic of the groups as they are, among all that regroupings give."""

    value: float
    rank: int
    """1 where no regrouping gives more."""
    n: int
    """Regroupings, the groups as they are among them."""
    median: float
    """Of all regroupings: what there would be without the construct."""

    @property
    def p(self) -> float:
        """Share of regroupings that give as much or more; exact, one-sided, at least 1 / n."""
        return self.rank / self.n


def halves(n: int) -> NDArray[np.int8]:
    """Every way to part n units into two groups of equal size; which of the two is called first does not matter.

    Args:
        n: An even number.

    Returns:
        [C(n, n/2) / 2, n] of 1 and -1; the first unit is always 1.

    Raises:
        ValueError: n is odd or 0.
    """
    if n < 2 or n % 2:
        raise ValueError(f"{n} units cannot be halved")
    found = np.full((comb(n, n // 2) // 2, n), -1, dtype=np.int8)
    found[:, 0] = 1
    for row, others in enumerate(combinations(range(1, n), n // 2 - 1)):
        found[row, list(others)] = 1
    return found


def regroupings(groups: ArrayLike) -> NDArray[np.int8]:
    """All ways to part units into two groups of equal size; where they are more than `MOST`, so many of them.

    Args:
        groups: [n] 1 for the first group, -1 for the other; of equal size.

    Returns:
        [k, n] of 1 and -1, the first unit always 1; the groups as they are among them.

    Source: Phipson and Smyth (2010), Permutation p-values should never be zero, for counting them in.
    """
    signs = np.asarray(groups, dtype=np.int8)
    n = len(signs)
    if comb(n, n // 2) // 2 <= MOST:
        return halves(n)
    drawn = np.random.default_rng(SEED).permuted(np.tile(signs, (MOST, 1)), axis=1)
    drawn[0] = signs
    found: NDArray[np.int8] = drawn * drawn[:, :1]
    return found


def regrouped(
    scores: ArrayLike, groups: ArrayLike, statistic: Callable[..., Floats], *beside: ArrayLike, signed: bool = False
) -> Regrouped:
    """Rank a statistic of the difference between two groups among those of all regroupings of their units.

    Args:
        scores: [..., n] a score of each unit, as the log-likelihood of a sentence with each word.
        groups: [n] 1 for the first group, -1 for the other; of equal size.
        statistic: Of [k, ...] differences, the mean of the first group minus that of the other, one value each: [k].
        *beside: What it takes besides, as a criterion of each row.
        signed: Whether the statistic changes its sign with the names of the groups; then its size is ranked.

    Raises:
        ValueError: The groups are not of equal size, or a score is not a number.
    """
    differences, as_they_are, signs = _differences(scores, groups)
    values = np.asarray(statistic(differences, *beside), dtype=np.float64)
    own = float(values[as_they_are]) * (float(signs[0]) if signed else 1.0)
    sizes = np.abs(values) if signed else values
    reached = sizes[as_they_are] - _SAME * max(abs(sizes[as_they_are]), float(np.abs(sizes).max()))
    return Regrouped(own, int((sizes >= reached).sum()), len(values), float(np.median(sizes)))


def beyond_regroupings(
    scores: ArrayLike, groups: ArrayLike, statistic: Callable[..., Floats], *beside: ArrayLike, level: float = 0.95
) -> Interval:
    """How far a statistic of the groups as they are lies above the median of all regroupings.

    Args:
        scores: [units, ..., n], the units being what could have been others, as attributes.
        groups: As for `regrouped`.
        statistic: As for `regrouped`; its size counts.
        *beside: As for `regrouped`; [units] each, for a unit that is left out is left out of them too.
        level: Of the interval.

    Returns:
        The difference, with an interval of the jackknife over units and t. At 24 and 50 units and 12 words it covers
        93 to 95 of 100 (simulated), where a percentile bootstrap covers 90 to 92.

    Raises:
        ValueError: As `regrouped`; or there are fewer than five units.
    """
    check_level(level)
    differences, as_they_are, _ = _differences(scores, groups)
    n = differences.shape[1] if differences.ndim > 1 else 0
    if n < FEWEST_UNITS:
        raise ValueError(f"found {n} units, of at least {FEWEST_UNITS}")

    def above(rows: Floats, *others: Floats) -> float:
        sizes = np.abs(statistic(rows, *others))
        return float(sizes[as_they_are] - np.median(sizes))

    others = [np.asarray(other) for other in beside]
    value = above(differences, *others)
    without_one = np.array(
        [above(np.delete(differences, unit, axis=1), *(np.delete(x, unit) for x in others)) for unit in range(n)]
    )
    return Interval(value, *of_left_out(value, without_one, level))


def _differences(scores: ArrayLike, groups: ArrayLike) -> tuple[Floats, int, NDArray[np.int8]]:
    """[k, ...] difference of the groups in each regrouping; which of them is the one as they are; the groups."""
    x, signs = np.asarray(scores, dtype=np.float64), np.asarray(groups, dtype=np.int8)
    if signs.shape != x.shape[-1:] or set(signs.tolist()) != {1, -1} or signs.sum() != 0:
        raise ValueError("expected two groups of equal size, 1 and -1, of the units of the last axis")
    if not np.isfinite(x).all():
        raise ValueError("scores must be finite")
    ways = regroupings(signs)
    differences = np.moveaxis(x @ (ways.astype(np.float64) / (len(signs) / 2)).T, -1, 0)
    return differences, int(np.flatnonzero((ways == signs * signs[0]).all(axis=1))[0]), signs

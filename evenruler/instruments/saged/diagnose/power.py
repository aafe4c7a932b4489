"""How small a difference between concepts a design can detect, and how many root items a wanted one takes (**ours**).

Simulated is the test of the range of concept means with labels shuffled (`inference.permutation_p`), of replies whose
noise is normal. Shuffling sees the range beside the whole spread within root items, that between concepts included; so
each draw is a range over the root of that mean square, and its critical value is the quantile where concepts are equal.
It is the studentised range test but for that denominator, and the nearer to it the more root items there are.

Differences are in SD of a reply: the standard deviation of replies about one concept to one root item. A reply is the
sum of what its root item, its concept and chance do to it.
"""

import math
from bisect import bisect_left
from functools import lru_cache
from typing import Final, Literal

import numpy as np
from scipy import optimize, stats

from evenruler.instruments.saged.diagnose.blocks import Floats
from evenruler.instruments.saged.diagnose.layout import FEWEST_ROOTS

Pattern = Literal["one", "spread"]
"""How concepts differ: one lies apart from all others, which are equal, or all are spread evenly."""

POWER: Final = 0.8
"""Share of studies that find a difference which can be "detected"."""

DRAWS, SEED = 20_000, 18
"""The same for every design, so that power grows with the difference, root items and replies."""

MOST = 1_000_000
"""Root items at most that a difference is said to take."""

_NEAR = 1e-3
"""How exactly differences are searched for, as a share of them."""


def power(
    roots: int,
    concepts: int,
    replies: float,
    difference: float,
    alpha: float = 0.05,
    *,
    branched: bool = True,
    pattern: Pattern = "one",
) -> float:
    """The share of studies that find a difference.

    Args:
        roots: Root items; where a domain is not branched, of each concept.
        concepts: That are compared.
        replies: To each prompt: roles x templates x generations that a test is over.
        difference: Between the outermost concepts, in SD of a reply.
        alpha: A p below it is a finding.
        branched: Whether every root item stands there for every concept, and labels are shuffled within it; else
            within the domain.
        pattern: How concepts differ.

    Returns:
        0 to 1, within .05 of the test itself, in most designs .02 (simulated, `tests/performance/power.py`). NaN below
        six root items: of so few orders, shuffling finds less than this says.

    Raises:
        ValueError: Below two concepts, a reply to a prompt, or a share that is none.
    """
    _check(roots, concepts, replies, alpha)
    if roots < FEWEST_ROOTS:
        return math.nan
    return _found(
        difference * math.sqrt(roots * replies), concepts, _freedom(roots, concepts, branched), alpha, pattern
    )


def smallest_difference(
    roots: int,
    concepts: int,
    replies: float,
    alpha: float = 0.05,
    power: float = POWER,
    *,
    branched: bool = True,
    pattern: Pattern = "one",
) -> float:
    """The difference that a share of studies (`power`) finds, in SD of a reply.

    Args:
        roots: As for `power`, like all others.
        concepts: Of the design.
        replies: To each prompt.
        alpha: A p below it is a finding; .05 over the number of confirmatory features is on the safe side of Holm's
            correction.
        power: Share of studies, above `alpha`.
        branched: Whether labels are shuffled within root items.
        pattern: How concepts differ.

    Returns:
        NaN below six root items.

    Raises:
        ValueError: As for `power`.
    """
    _check(roots, concepts, replies, alpha, power)
    if roots < FEWEST_ROOTS:
        return math.nan
    errors = _needed(concepts, _freedom(roots, concepts, branched), alpha, power, pattern)
    return errors / math.sqrt(roots * replies)


def roots_for(
    difference: float,
    concepts: int,
    replies: float,
    alpha: float = 0.05,
    power: float = POWER,
    *,
    branched: bool = True,
    pattern: Pattern = "one",
) -> int:
    """The fewest root items, six at least, that detect a difference.

    Args:
        difference: In SD of a reply, above 0.
        concepts: As for `smallest_difference`, like all others.
        replies: To each prompt.
        alpha: A p below it is a finding.
        power: Share of studies.
        branched: Whether labels are shuffled within root items.
        pattern: How concepts differ.

    Raises:
        ValueError: As for `power`; or the difference is so small, or none, that `MOST` root items are too few.
    """
    _check(FEWEST_ROOTS, concepts, replies, alpha, power)
    if difference <= 0 or 1 / difference**2 > MOST * replies:
        raise ValueError(f"a difference of {difference} takes more than {MOST:,} root items")

    def wanted(roots: int) -> int:
        errors = _needed(concepts, _freedom(roots, concepts, branched), alpha, power, pattern)
        return math.ceil((errors / difference) ** 2 / replies)

    fewest = max(FEWEST_ROOTS, wanted(MOST))
    roots = range(fewest, max(fewest, wanted(fewest)) + 1)
    return roots[bisect_left(roots, True, key=lambda own: wanted(own) <= own)]


def _check(roots: int, concepts: int, replies: float, *shares: float) -> None:
    if roots < 1 or concepts < 2 or replies <= 0:
        raise ValueError(f"found {roots} root items, {concepts} concepts and {replies} replies, needs 1, 2 and some")
    if any(not 0 < share < 1 for share in shares) or sorted(shares) != list(shares):
        raise ValueError(f"found {shares}, expected alpha below power, both between 0 and 1")


def _freedom(roots: int, concepts: int, branched: bool) -> int:
    """Degrees of freedom of what neither concepts nor (where labels are shuffled within them) root items explain."""
    return (roots - 1) * (concepts - 1) if branched else concepts * (roots - 1)


@lru_cache(maxsize=1024)
def _needed(concepts: int, freedom: int, alpha: float, power: float, pattern: Pattern) -> float:
    """The difference that is found in a share of studies, in standard errors of the mean of a concept."""

    def above(errors: float) -> float:
        return _found(errors, concepts, freedom, alpha, pattern) - power

    high = 4.0
    while above(high) < 0:
        high *= 2
    return float(optimize.brentq(above, 0.0, high, rtol=_NEAR))


def _found(errors: float, concepts: int, freedom: int, alpha: float, pattern: Pattern) -> float:
    """The share of draws above the critical value, where concepts lie so many standard errors apart."""
    apart = np.linspace(0, errors, concepts) if pattern == "spread" else errors * (np.arange(concepts) == 0)
    found = _ranges(_noise(concepts) + apart[:, None], freedom)
    return float((found >= _critical(concepts, freedom, alpha)).mean())


@lru_cache(maxsize=1024)
def _critical(concepts: int, freedom: int, alpha: float) -> float:
    """By simulation, corrected by as much as the simulated range of the same draws misses the exact one."""
    simulated = np.quantile(_ranges(_noise(concepts), freedom), 1 - alpha)
    exact = stats.studentized_range.isf(alpha, concepts, np.inf)
    return float(simulated * exact / np.quantile(np.ptp(_noise(concepts), axis=0), 1 - alpha))


def _ranges(means: Floats, freedom: int) -> Floats:
    """[draws] the range of [concepts, draws] means, over the root of the mean square that shuffling sees."""
    between = len(means) * means.var(axis=0)
    squares = (between + _residual(freedom)) / (len(means) - 1 + freedom)
    found: Floats = np.ptp(means, axis=0) / np.sqrt(squares)
    return found


@lru_cache(maxsize=8)
def _noise(concepts: int) -> Floats:
    """[concepts, draws] of means, in their standard error."""
    return np.random.default_rng([SEED, 0]).standard_normal((concepts, DRAWS))


@lru_cache(maxsize=64)
def _residual(freedom: int) -> Floats:
    """[draws] sums of squares that no concept explains."""
    return np.random.default_rng([SEED, 1]).chisquare(freedom, DRAWS)

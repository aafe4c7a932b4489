"""How much more of its construct a model answers than twins of the items account for, over all its fits and wordings.

The items of a scale are fixed: they are the instrument. Wordings of an item, its twins and the fits of a model could
have been others.
"""

import numpy as np
from numpy.typing import ArrayLike

from evenruler.measurement.checks import Floats
from evenruler.measurement.facets import Estimate, Facet, Paired, Part, crossed, summed

FEWEST_WORDINGS = 3
FEWEST_TWINS = 3


def beyond_twins(answers: ArrayLike, twins: ArrayLike) -> tuple[Estimate, Paired]:
    """Answers to items, and the same less those to their twins.

    Args:
        answers: [fits, items, wordings] in points: a step between neighbouring words is 1.
        twins: [fits, items, twins] of the twins of each item.

    Returns:
        The mean answer, and what it is beside twins; one fit is taken as it is.

    Raises:
        ValueError: Fits or items differ, or an item has a single wording or twin: of one, nobody knows how far another
            would lie, and what twins vary says nothing of wordings.

    Source: docs/controls.md (part B), simulated.
    """
    own, other = np.asarray(answers, dtype=np.float64), np.asarray(twins, dtype=np.float64)
    if own.ndim != 3 or other.ndim != 3 or own.shape[:2] != other.shape[:2]:
        raise ValueError(f"expected the same fits and items, got the shapes {own.shape} and {other.shape}")
    if min(own.shape[2], other.shape[2]) < 2:
        raise ValueError("expected two wordings and two twins of every item at least")

    def weighted(of_own: float, of_twins: float) -> Estimate:
        by_fit: Floats = of_own * own.mean(axis=(1, 2)) - of_twins * other.mean(axis=(1, 2))
        parts = [*_nested(of_own * own), *(_nested(other * of_twins) if of_twins else [])]
        if len(by_fit) > 1:
            parts.append((float(by_fit.var(ddof=1)) / len(by_fit), len(by_fit) - 1.0))
        return summed(float(by_fit.mean()), parts)

    return weighted(1, 0), Paired(float(other.mean()), weighted(1, 1), weighted(0.5, 1))


def _nested(x: Floats) -> list[Part]:
    """Of each item: the variance of its mean over wordings or twins, fits taken together, as a part of the scale's."""
    n = x.shape[2]
    return [(float(variance) / n / x.shape[1] ** 2, n - 1.0) for variance in x.mean(axis=0).var(axis=1, ddof=1)]


def over_items(answers: ArrayLike, twins: ArrayLike) -> Estimate:
    """The same beside twins, if the items themselves could have been others: of the construct, not of this scale.

    Args:
        answers: [fits, items, wordings], as of `beyond_twins`.
        twins: [fits, items, twins].
    """
    differences = np.asarray(answers).mean(axis=2) - np.asarray(twins).mean(axis=2)
    if len(differences) == 1:
        return crossed(lambda items: float(differences[0, items].mean()), [Facet.of(differences.shape[1])])
    return crossed(
        lambda fits, items: float(differences[fits][:, items].mean()),
        [Facet.of(length) for length in differences.shape],
    )

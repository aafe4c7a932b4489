"""How much the members of a set differ from one another."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from evenruler.measurement.checks import Floats


def semantic_diversity(embeddings: ArrayLike) -> Floats:
    """One minus the mean cosine of each row with the others, of n x dimensions.

    Lengths do not matter, directions do. float64[n] in [0, 2]: 0 where all others point the same way, 1 where they are
    unrelated; NaN for a single row, which has no others. ValueError: not a matrix, values that are not finite, or a row
    of zeros (it has no direction).
    """
    rows = np.asarray(embeddings, dtype=np.float64)
    if rows.ndim != 2:
        raise ValueError(f"expected a matrix of n x dimensions, got {rows.ndim} dimension(s)")
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if not (np.isfinite(lengths) & (lengths > 0)).all():
        raise ValueError("embeddings must be finite and not zero")
    directions = rows / lengths
    return _one_minus_mean_with_others(directions @ directions.T)


def lexical_diversity(token_sets: Sequence[frozenset[str]]) -> Floats:
    """One minus the mean Jaccard index (shared tokens / all tokens) of each set with the others.

    Tokens are used as they are: fold case before. float64[n] in [0, 1]: 0 where all others are the same set, 1 where
    none shares a token; NaN for a single set, which has no others. Two empty sets are the same set: their index is 1.
    """

    def index(own: frozenset[str], other: frozenset[str]) -> float:
        return len(own & other) / len(own | other) if own or other else 1.0

    indices = [[index(own, other) for other in token_sets] for own in token_sets]
    return _one_minus_mean_with_others(np.array(indices, dtype=np.float64))


def _one_minus_mean_with_others(similarities: Floats) -> Floats:
    """Row means of a square matrix off its diagonal, taken from one; NaN for a single row."""
    count = len(similarities)
    if count < 2:
        return np.full(count, np.nan)
    diversity: Floats = 1 - (similarities.sum(axis=1) - similarities.diagonal()) / (count - 1)
    return diversity

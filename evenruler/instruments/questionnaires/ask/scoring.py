"""From entailment scores to item and scale scores (EMPALC, sections 3.2 and 3.3)."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_softmax, logsumexp

from evenruler.measurement.checks import constant_columns


def entailment_share(logits: ArrayLike, *, three_way: bool = False) -> NDArray[np.float64]:
    """Logarithm of the entailment score of each prompt.

    Args:
        logits: [..., 3] of entailment, neutral, contradiction.
        three_way: Take entailment's share of all three; by default its share of entailment and contradiction, neutral
            left out, as zero-shot classification does.

    Returns:
        [...] log-probability.

    Raises:
        ValueError: A logit is not a number.
    """
    values = np.asarray(logits, dtype=np.float64)
    if not np.isfinite(values).all():
        raise ValueError("a logit is not a number")
    chosen = values if three_way else values[..., [0, 2]]
    shares: NDArray[np.float64] = chosen[..., 0] - logsumexp(chosen, axis=-1)
    return shares


def two_way(p: ArrayLike, temperature: float = 1.0) -> NDArray[np.float64]:
    """Entailment scores normalised over terms, then over intensifiers (EMPALC, section 3.2).

    For each intensifier a softmax of log P / T over all terms of the item, source and inverse together; then the same
    for each term over intensifiers. With T = 1 that is dividing by the sum. Everything is computed in logarithms, so
    that scores of 0 and 1 are no exception; a row or column that is 0 throughout is taken as even.

    Args:
        p: [terms, intensifiers] scores in [0, 1].
        temperature: T; above 1 evens out, below 1 sharpens.

    Returns:
        [terms, intensifiers] PSS(l | s), each row summing to 1.

    Raises:
        ValueError: A score is outside [0, 1] or not a number, or T is not positive.
    """
    values = np.asarray(p, dtype=np.float64)
    if not ((values >= 0) & (values <= 1)).all():
        raise ValueError("entailment scores lie in [0, 1]")
    with np.errstate(divide="ignore"):
        return two_way_of_logs(np.log(values), temperature)


def two_way_of_logs(log_p: ArrayLike, temperature: float = 1.0) -> NDArray[np.float64]:
    """`two_way` of the logarithms of the scores, which holds scores too small for a number."""
    if not 0 < temperature < np.inf:
        raise ValueError(f"temperature is {temperature}, expected more than 0")
    over_terms = _normalised(np.asarray(log_p, dtype=np.float64) / temperature, axis=0)
    over_intensifiers = _normalised(over_terms / temperature, axis=1)
    shares: NDArray[np.float64] = np.exp(over_intensifiers)
    return shares


def _normalised(log_values: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
    """Log-softmax along an axis; where all are minus infinity, all are equal."""
    nothing = np.isneginf(log_values).all(axis=axis, keepdims=True)
    found: NDArray[np.float64] = log_softmax(np.where(nothing, 0.0, log_values), axis=axis)
    return found


def item_score(pss: ArrayLike, is_source: ArrayLike, weights: ArrayLike) -> float:
    """Weighted mean of PSS over the source terms and intensifiers of an item (EMPALC, section 3.2).

    Args:
        pss: [terms, intensifiers] by `two_way`.
        is_source: [terms] whether a term keeps the stance of the original question; inverse terms do not enter.
        weights: [intensifiers].

    Returns:
        sum of PSS x weight over source terms and intensifiers / (source terms x intensifiers).

    Raises:
        ValueError: No term is a source term, or shapes do not go together.
    """
    return float(_weighted(pss, is_source, weights).mean())


def item_effect(pss: ArrayLike, is_source: ArrayLike, weights: ArrayLike) -> float:
    """Mean over standard deviation of the weighted PSS of the source cells; nan where all are equal."""
    weighted = _weighted(pss, is_source, weights)
    if weighted.size < 2 or constant_columns(weighted.reshape(-1, 1)).any():
        return float("nan")
    return float(weighted.mean() / weighted.std(ddof=1))


def _weighted(pss: ArrayLike, is_source: ArrayLike, weights: ArrayLike) -> NDArray[np.float64]:
    shares, source = np.asarray(pss, dtype=np.float64), np.asarray(is_source, dtype=bool)
    by_intensifier = np.asarray(weights, dtype=np.float64)
    if shares.shape != (len(source), len(by_intensifier)):
        raise ValueError(f"PSS is {shares.shape}, expected {(len(source), len(by_intensifier))}")
    if not source.any():
        raise ValueError("no term is a source term")
    found: NDArray[np.float64] = shares[source] * by_intensifier
    return found

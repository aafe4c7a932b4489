"""Reliability of items and raters: internal consistency, dimensionality, agreement, item
statistics, diversity.

Everywhere `x` is a matrix of observations x items (probes: attributes x templates; ratings: targets
x raters), keyed so that higher means more of the construct on every item.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from evenruler.measurement.inputs import (
    Floats,
    as_items,
    check_level,
    constant_columns,
    constant_total,
    correlation_matrix,
)
from evenruler.measurement.resampling import Interval


def cronbach_alpha(x: ArrayLike) -> float:
    """Cronbach's alpha, raw: `k/(k-1) * (1 - sum of item variances / variance of the total)`, ddof
    1.

    At most 1, higher is more reliable; negative where the items work against each other. NaN where
    the total is the same for every observation. ValueError: fewer than two items or two
    observations, or values that are not finite.
    Source: Cronbach (1951), Coefficient alpha and the internal structure of tests.
    """
    matrix = as_items(x)
    if constant_total(matrix):
        return math.nan
    items = matrix.shape[1]
    of_items = matrix.var(axis=0, ddof=1).sum()
    of_total = matrix.sum(axis=1).var(ddof=1)
    alpha = items / (items - 1) * (1 - of_items / of_total)
    # Rounding can push it above 1.
    return min(float(alpha), 1.0)


def feldt_interval(alpha: float, observations: int, items: int, level: float = 0.95) -> Interval:
    """Confidence interval of an `alpha` estimated on `observations` x `items`, from the F
    distribution.

    Exact for normal data with equal covariances; where that is doubtful use `bootstrap`. NaN for a
    NaN alpha. ValueError: an alpha above 1, fewer than two observations or items, or a `level`
    outside (0, 1).
    Source: Feldt, Woodruff & Salih (1987), Statistical inference for coefficient alpha.
    """
    check_level(level)
    if alpha > 1:
        raise ValueError(f"alpha is at most 1, got {alpha}")
    if observations < 2 or items < 2:
        raise ValueError(
            f"needs at least 2 observations and 2 items, got {observations} and {items}"
        )
    freedom = observations - 1, (observations - 1) * (items - 1)
    upper = stats.f.ppf((1 + level) / 2, *freedom)
    lower = stats.f.ppf((1 - level) / 2, *freedom)
    low = float(1 - (1 - alpha) * upper)
    high = float(1 - (1 - alpha) * lower)
    return Interval(float(alpha), low, high)


def mean_inter_item_correlation(x: ArrayLike) -> float:
    """Mean Pearson correlation over all pairs of items, in [-1/(k-1), 1]; NaN where an item is
    constant.

    Unlike alpha it does not grow with the number of items. ValueError: fewer than two items or two
    observations, or values that are not finite.
    """
    correlations = correlation_matrix(as_items(x))
    return float(correlations[np.triu_indices(len(correlations), k=1)].mean())


def spearman_brown(mean_correlation: float, items: int) -> float:
    """Expected reliability of `items` items with that mean inter-item correlation: `k r / (1 +
    (k-1) r)`.

    The standardised alpha at a common length, which makes sets of different size comparable. At
    most 1. NaN where no such set can exist: k items cannot have a mean correlation of -1/(k-1) or
    less. ValueError: a correlation outside [-1, 1], or fewer than one item.
    Source: Spearman (1910); Brown (1910).
    """
    if abs(mean_correlation) > 1:
        raise ValueError(f"a correlation is between -1 and 1, got {mean_correlation}")
    if items < 1:
        raise ValueError(f"needs at least 1 item, got {items}")
    divisor = 1 + (items - 1) * mean_correlation
    return items * mean_correlation / divisor if divisor > 0 else math.nan


@dataclass(frozen=True, eq=False)
class ItemStatistics:
    """One figure per item, in the order of the columns: four float64 arrays of length k."""

    mean: Floats
    """Mean over observations, in the unit of the data."""
    sd: Floats
    """Standard deviation over observations (ddof 1), in the unit of the data."""
    item_rest_correlation: Floats
    """Pearson r of the item with the sum of the others; NaN where either is constant. Low: a weak
    item."""
    alpha_if_removed: Floats
    """Cronbach's alpha of the others; NaN with two items. Above the alpha of all: a harmful
    item."""


def item_statistics(x: ArrayLike) -> ItemStatistics:
    """Mean, spread, item-rest correlation and alpha-if-removed of every item.

    ValueError: fewer than two items or two observations, or values that are not finite.
    """
    matrix = as_items(x)
    items = range(matrix.shape[1])
    rest_matrices = [np.delete(matrix, item, axis=1) for item in items]
    alike = constant_columns(matrix)
    with_rest: list[float] = []
    for item, rest in enumerate(rest_matrices):
        r = math.nan
        if not alike[item] and not constant_total(rest):
            total = rest.sum(axis=1)
            r = np.corrcoef(matrix[:, item], total)[0, 1]
        with_rest.append(r)
    alphas = [cronbach_alpha(rest) if len(items) > 2 else math.nan for rest in rest_matrices]
    return ItemStatistics(
        mean=matrix.mean(axis=0),
        sd=matrix.std(axis=0, ddof=1),
        item_rest_correlation=np.array(with_rest),
        alpha_if_removed=np.array(alphas),
    )


def first_component_share(x: ArrayLike) -> float:
    """Share of variance of the first principal component of the item correlation matrix.

    Between 1/k (items uncorrelated) and 1 (items perfectly correlated); NaN where an item is
    constant. ValueError: fewer than two items or two observations, or values that are not finite.
    """
    matrix = as_items(x)
    if constant_columns(matrix).any():
        return math.nan
    eigenvalues = np.linalg.eigvalsh(correlation_matrix(matrix))
    return float(eigenvalues[-1] / matrix.shape[1])


def icc_agreement(x: ArrayLike, level: float = 0.95) -> Interval:
    """ICC(2,1) of [targets, raters]: absolute agreement of single raters, who are a random sample.

    At most 1, higher is more alike; 0 or less where raters agree no better than by chance. All NaN
    where the values are constant; the ends also where raters agree perfectly. ValueError: fewer
    than two targets or raters, or values that are not finite.
    Source: Shrout and Fleiss (1979), Intraclass correlations, with their interval (Satterthwaite's
    degrees of freedom).
    """
    check_level(level)
    if constant_total(np.asarray(x, dtype=np.float64).reshape(-1, 1)):
        return Interval(math.nan, math.nan, math.nan)
    matrix = as_items(x)
    n, k = matrix.shape
    of_targets = matrix.mean(axis=1)
    of_raters = matrix.mean(axis=0)
    between = float(of_targets.var(ddof=1) * k)
    raters = float(of_raters.var(ddof=1) * n)
    residuals = matrix - of_targets[:, None] - of_raters + matrix.mean()
    rest_df = (n - 1) * (k - 1)
    rest = float((residuals**2).sum() / rest_df)
    rater_part = k * (raters - rest) / n
    value = (between - rest) / (between + (k - 1) * rest + rater_part)
    if rest <= 0:
        return Interval(value, math.nan, math.nan)
    ratio = raters / rest
    common = n * (1 + (k - 1) * value) - k * value
    rater_share = k * value * ratio
    freedom = (k - 1) * (n - 1) * (rater_share + common) ** 2
    freedom /= (n - 1) * rater_share**2 + common**2
    upper = stats.f.ppf(0.5 + level / 2, n - 1, freedom)
    lower = stats.f.ppf(0.5 + level / 2, freedom, n - 1)
    rater_term = k * raters + (k * n - k - n) * rest
    low_total = upper * rater_term + n * between
    low = n * (between - upper * rest) / low_total
    high_total = rater_term + n * lower * between
    high = n * (lower * between - rest) / high_total
    return Interval(float(value), float(low), float(high))


def concept_rows(
    values: pd.DataFrame, unit_kind: str, error: "pd.Series[float] | None" = None
) -> pd.DataFrame:
    """Units with at least two items, as rows of `tables.schemas.CONCEPTS` without the columns that
    name the measure.

    `values`: one row per item, with `unit` (its word) and `value`. `unit_kind`: the kind of
    unit, the prefix of the concept. `error`: by unit, the variance of its mean; by default that of
    independent items.
    """
    by_unit = values.groupby("unit")["value"].agg(["mean", "var", "size"])
    by_unit = by_unit[by_unit["size"] > 1]
    error_variances = (
        by_unit["var"] / by_unit["size"] if error is None else error.reindex(by_unit.index)
    )
    words = [f"{unit_kind}:{str(unit).lower()}" for unit in by_unit.index]
    columns = {
        "concept": words,
        "value": by_unit["mean"].array,
        "error": error_variances.array,
        "n": by_unit["size"].array,
    }
    return pd.DataFrame(columns, index=by_unit.index)


def errors_beside_items(x: pd.DataFrame) -> "pd.Series[float]":
    """By unit, the error variance of its mean where all units answer the same items: item means are
    not error.

    `x`: [units, items], at least two of each. Consistent with Cronbach's alpha: alpha = 1 - mean
    error / variance of the unit means.
    """
    deviations = x.sub(x.mean(axis=1), axis=0).sub(x.mean(axis=0))
    rest = deviations + x.to_numpy().mean()
    units, items = x.shape
    divisor = (units - 1) * items * (items - 1)
    error_variances: pd.Series[float] = (rest**2).sum(axis=1) * units / divisor
    return error_variances


def semantic_diversity(embeddings: ArrayLike) -> Floats:
    """One minus the mean cosine similarity of each row with the others, for an n x dimensions
    matrix.

    float64[n] in [0, 2]: 0 where all others point the same way, 1 where they are orthogonal; NaN
    for a single row. ValueError: not a matrix, values that are not finite, or a row of zeros.
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

    Tokens are compared as they are: fold case beforehand. float64[n] in [0, 1]: 0 where all sets
    are equal, 1 where no token is shared; NaN for a single set. The index of two empty sets is 1.
    """

    def index(tokens: frozenset[str], other: frozenset[str]) -> float:
        """Jaccard index of two sets: shared tokens / all tokens, 0 to 1; 1 if both are empty."""
        if not tokens and not other:
            return 1.0
        return len(tokens & other) / len(tokens | other)

    n = len(token_sets)
    indices = [index(tokens, other) for tokens, other in product(token_sets, repeat=2)]
    similarities = np.array(indices, dtype=np.float64).reshape(n, n)
    return _one_minus_mean_with_others(similarities)


def _one_minus_mean_with_others(similarities: Floats) -> Floats:
    """One minus the off-diagonal row means of a square matrix; NaN for a single row."""
    count = len(similarities)
    if count < 2:
        return np.full(count, np.nan)
    sums_with_others = similarities.sum(axis=1) - similarities.diagonal()
    diversity: Floats = 1 - sums_with_others / (count - 1)
    return diversity

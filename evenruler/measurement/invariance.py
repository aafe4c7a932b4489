"""Whether a benchmark measures one thing in every model: if it does, models differ by as much in
every unit (a target, a stereotype, a template), but for the noise of items.

What all models share in an item, and what a model shares over all items, is taken off. The rest is
the interaction of models and units, beside that of models and items within units.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenruler.measurement.inputs import Floats
from evenruler.measurement.randomisation import RANDOMISATIONS, RandomisationTest

_TIES = 1e-9
"""Relative tolerance of ties."""

ALPHA = 0.05
"""The false discovery rate among units that are called apart."""


@dataclass(frozen=True)
class Invariance:
    """How alike models are in what they say of units."""

    ratio: float
    """Mean square of models by units over that of models by items within units: 1 where units
    interact with no model."""
    test: RandomisationTest
    """Of the ratio, with items dealt to units anew."""
    shared: float | None
    """Share of the variance of units, noise of items taken off, that all models have in common: 1
    where units differ alike in all; None where units do not differ."""
    deviations: Floats
    """[models, units] mean scores, less what units and what models have in common."""
    p_values: Floats
    """[models, units] of the deviations, adjusted for the false discovery rate."""

    @property
    def is_apart(self) -> NDArray[np.bool_]:
        """[models, units] whether a unit functions differently in a model."""
        flagged: NDArray[np.bool_] = self.p_values <= ALPHA
        return flagged


def compare_units(
    scores: ArrayLike, units: Sequence[str], n: int = RANDOMISATIONS, seed: int = 0
) -> Invariance:
    """Test whether units interact with models, and name the units that do.

    Args:
        scores: [models, items] of the same items, such as 1 where the stereotype wins and -1 where
            it loses.
        units: [items] the unit of each item; deviations stand in the order of their sorted names.
        n: Number of randomisations.
        seed: Seed of these.

    Returns:
        The interaction. Its p is of items dealt to units anew, whole columns of scores, so that it
        stays right where models are alike in items. Cells are tested by t, against the larger of
        the variance within the unit and of that within all units of the model, since units that
        all models answer alike have none; then adjusted over all cells.

    Raises:
        ValueError: Fewer than two models or units, a number is not finite, or no unit has two
            items.

    Source: Holland and Wainer (1993), Differential item functioning; Benjamini and Hochberg (1995);
    spec/evidence.md, 11.1.
    """
    x = np.asarray(scores, dtype=np.float64)
    names, codes = np.unique(np.asarray(units, dtype=str), return_inverse=True)
    has_models = x.ndim == 2 and len(x) > 1
    has_items = x.shape[-1] == len(codes)
    if not (has_models and has_items and np.isfinite(x).all()):
        raise ValueError("scores must be finite numbers, [models, items], of two models at least")
    n_models, n_items, n_units = len(x), x.shape[1], len(names)
    if not 1 < n_units < n_items:
        raise ValueError(f"found {n_units} units in {n_items} items, expected several items each")
    order = np.argsort(codes, kind="stable")
    sizes = np.bincount(codes).astype(np.float64)
    _, starts = np.unique(codes[order], return_index=True)
    of_items = x.mean(axis=0)
    residuals = x - of_items - x.mean(axis=1, keepdims=True) + x.mean()

    def squares_between(dealt: Floats) -> float:
        """Sum of squares between units, over models, of residuals [models, items] dealt to the
        units in order.
        """
        sums = np.add.reduceat(dealt, starts, axis=-1)
        return float((sums**2 / sizes).sum())

    dealt = residuals[:, order]
    between = squares_between(dealt)
    total = float((dealt**2).sum())
    df_between = (n_models - 1) * (n_units - 1)
    df_within = (n_models - 1) * (n_items - n_units)
    of_cells, of_rest = between / df_between, (total - between) / df_within
    if not of_rest > 0:
        raise ValueError("models do not differ within units")
    random = np.random.default_rng(seed)
    farthest = between * (1 - _TIES)
    as_far = 0
    for _ in range(n):
        randomised = residuals[:, random.permutation(n_items)]
        as_far += squares_between(randomised) >= farthest
    drawn = f"{n:,} randomisations, seed {seed}"
    null = f"{n_items:,} items dealt to {n_units} units anew, {drawn}"
    test = RandomisationTest((1 + as_far) / (1 + n), null)
    means = np.add.reduceat(dealt, starts, axis=-1) / sizes
    within = dealt - np.repeat(means, sizes.astype(np.intp), axis=1)
    p_values = _adjusted_p(means, within, sizes, starts)
    by_models = max(0.0, (of_cells - of_rest) / _items_of_unit(sizes))
    in_common = _variance_in_common(of_items[order], starts, sizes)
    in_common = max(0.0, in_common - by_models / n_models)
    both = in_common + by_models
    shared = in_common / both if both > 0 else None
    return Invariance(of_cells / of_rest, test, shared, means, p_values)


def _adjusted_p(means: Floats, within: Floats, sizes: Floats, starts: NDArray[np.intp]) -> Floats:
    """[models, units] p of deviations, adjusted for the false discovery rate over all."""
    from scipy.special import stdtr  # takes a while to import
    from scipy.stats import false_discovery_control

    n_items, n_units = within.shape[1], len(sizes)
    squares = np.add.reduceat(within**2, starts, axis=1)
    pooled = squares.sum(axis=1, keepdims=True) / (n_items - n_units)
    df_within = np.maximum(sizes - 1, 1)
    of_units = squares / df_within
    is_larger = of_units > pooled
    variances = np.maximum(of_units, pooled) * (1 / sizes - 1 / n_items)
    df = np.where(is_larger, df_within, n_items - n_units)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.abs(means) / np.sqrt(variances)
    p_values = 2 * stdtr(df, -np.where(means == 0, 0.0, t))
    adjusted = false_discovery_control(p_values.ravel())
    return np.asarray(adjusted, dtype=np.float64).reshape(p_values.shape)


def _variance_in_common(of_items: Floats, starts: NDArray[np.intp], sizes: Floats) -> float:
    """Variance between units of their means over models, still including 1 / models of the variance
    that is each model's own; may be negative.

    `of_items`: [items] means over models, unit by unit.
    """
    n_items, n_units = len(of_items), len(sizes)
    means = np.add.reduceat(of_items, starts) / sizes
    squares = (means - of_items.mean()) ** 2
    between = float(sizes @ squares) / (n_units - 1)
    deviations = of_items - np.repeat(means, sizes.astype(np.intp))
    within = float((deviations**2).sum()) / (n_items - n_units)
    return (between - within) / _items_of_unit(sizes)


def _items_of_unit(sizes: Floats) -> float:
    """The effective number of items in a unit, for mean squares, if units have unlike numbers."""
    n_items = float(sizes.sum())
    repeated = float(sizes @ sizes) / n_items
    return (n_items - repeated) / (len(sizes) - 1)

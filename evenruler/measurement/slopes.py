"""The gain of scores along a published share: how much a difference of two groups' words grows from
a unit of 10% to a unit of 90%.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logit

from evenruler.measurement.facets import Estimate, Facet, UnitMask, jackknife_crossed
from evenruler.measurement.inputs import Floats

LOWEST_SHARE = 0.5
"""Percent at which a share is cut on both sides, since the logit of 0% is infinite."""

LOW_SHARE, HIGH_SHARE = 10.0, 90.0
"""The shares, in percent, between which a gain is given."""


def logit_positions(percent: ArrayLike) -> Floats:
    """[units] positions of shares (in percent) on their logit; a step of 1 is from 10% to 90%."""
    shares = np.clip(np.asarray(percent, dtype=np.float64), LOWEST_SHARE, 100 - LOWEST_SHARE)
    span = logit(HIGH_SHARE / 100) - logit(LOW_SHARE / 100)
    positions: Floats = logit(shares / 100) / span
    return positions


def slope_weights(positions: Floats, covariates: Floats | None = None) -> Floats:
    """[units] weights whose sum over scores is their slope on `positions`, at equal covariates.

    `covariates`: [units, k]. Source: Frisch and Waugh (1933), partial regression. ValueError: the
    positions do not vary beside the covariates.
    """
    nuisance = np.ones((len(positions), 1))
    if covariates is not None:
        nuisance = np.column_stack([nuisance, covariates])
    fitted = nuisance @ np.linalg.lstsq(nuisance, positions, rcond=None)[0]
    residuals = positions - fitted
    squares = float(residuals @ residuals)
    if squares <= 1e-12 * float(positions @ positions):
        raise ValueError("the positions do not vary beside the covariates")
    weights: Floats = residuals / squares
    return weights


def key_weights(keys: Floats) -> Floats:
    """[units] weights whose sum over scores is the mean of those keyed 1 minus that of those keyed
    -1.
    """
    is_high, is_low = keys > 0, keys < 0
    weights: Floats = np.where(is_high, 1 / is_high.sum(), -1 / is_low.sum())
    return weights


Weigh = Callable[[UnitMask], Floats]
"""Weights of the units that a mask keeps."""


def estimate_gain(differences: Floats, weigh: Weigh, units: Facet) -> Estimate:
    """The gain of differences of two groups' words, with its error over all three facets.

    `differences`: [units, sentences, pairs] nats, or points; `weigh`: the weights of the units that
    are kept, computed anew for each; `units`: the facet of units, within keys where there are some.
    """

    def gain(kept_units: UnitMask, sentences: UnitMask, pairs: UnitMask) -> float:
        means = differences[kept_units][:, sentences][:, :, pairs].mean(axis=(1, 2))
        return float(weigh(kept_units) @ means)

    n_sentences, n_pairs = differences.shape[1:]
    facets = [units, Facet.from_levels(n_sentences), Facet.from_levels(n_pairs)]
    return jackknife_crossed(gain, facets)


def weigh_positions(positions: Floats, covariates: Floats | None) -> Weigh:
    """The `Weigh` of a slope on positions, at equal covariates."""

    def weigh(kept: UnitMask) -> Floats:
        rows = None if covariates is None else covariates[kept]
        return slope_weights(positions[kept], rows)

    return weigh


def weigh_keys(keys: Floats) -> Weigh:
    """The `Weigh` of a difference of keys."""

    def weigh(kept: UnitMask) -> Floats:
        return key_weights(keys[kept])

    return weigh

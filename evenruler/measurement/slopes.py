"""The gain of scores along a published share: how much a difference of two groups' words grows from
a unit of 10% to a unit of 90%.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logit

from evenruler.measurement.facets import Estimate, Facet, UnitMask, jackknife_crossed
from evenruler.measurement.inputs import Floats
from evenruler.measurement.randomisation import (
    RANDOMISATIONS,
    detectable_slope,
    invert_spectral_randomisation,
    likeness_basis,
    randomise_criterion,
)
from evenruler.measurement.resampling import Interval

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
    n_high, n_low = is_high.sum(), is_low.sum()
    weights: Floats = np.where(is_high, 1 / n_high, -1 / n_low)
    return weights


Weigh = Callable[[UnitMask], Floats]
"""Weights of the units that a mask keeps."""


def estimate_gain(differences: Floats, weigh: Weigh, units: Facet) -> Estimate:
    """The gain of differences of two groups' words, with its error over all three facets.

    `differences`: [units, sentences, pairs] nats, or points; `weigh`: the weights of the units that
    are kept, computed anew for each; `units`: the facet of units, within keys where there are some.
    """

    def slope_of_kept(kept_units: UnitMask, sentences: UnitMask, pairs: UnitMask) -> float:
        """The weighted sum over kept units of their mean difference over kept sentences and word
        pairs.
        """
        of_kept = differences[kept_units][:, sentences][:, :, pairs]
        means = of_kept.mean(axis=(1, 2))
        return float(weigh(kept_units) @ means)

    n_sentences, n_pairs = differences.shape[1:]
    facets = [units, Facet.from_levels(n_sentences), Facet.from_levels(n_pairs)]
    return jackknife_crossed(slope_of_kept, facets)


def add_half_width(interval: Interval, half: float) -> Interval:
    """An interval over one facet, widened by the half width of an independent one over others."""
    value = interval.value
    below = math.hypot(value - interval.low, half)
    above = math.hypot(interval.high - value, half)
    return Interval(value, value - below, value + above)


def widen_to(first: Interval, second: Interval) -> Interval:
    """The shortest interval about the first one's value that holds both."""
    low = min(first.low, second.low)
    high = max(first.high, second.high)
    return Interval(first.value, low, high)


class GainTest(NamedTuple):
    """What a gain along a criterion comes to where units are alike."""

    effect: Interval
    p: float
    null: str
    detects: float
    """The gain that is detected in 8 of 10 studies like this one; infinite where none is."""


@dataclass(frozen=True)
class AlikeUnits:
    """Units on a criterion, some of which are alike."""

    positions: Floats
    """[units] on the criterion."""
    likeness: Floats
    """[units, numbers]."""
    covariates: Floats | None = None
    """[units, covariates]."""

    @cached_property
    def spectral_basis(self) -> Floats:
        """[units, units - 1] the ways in which units are alike."""
        return likeness_basis(self.likeness)

    def take_units(self, stays: UnitMask) -> "AlikeUnits":
        """The units that a mask keeps."""
        covariates = None if self.covariates is None else self.covariates[stays]
        return AlikeUnits(self.positions[stays], self.likeness[stays], covariates)

    def gain_interval(
        self,
        means: Floats,
        half: float,
        jackknifed: Interval | None,
        n: int = RANDOMISATIONS,
        seed: int = 0,
    ) -> Interval:
        """The gain of the units' means with its interval: that of the spectral randomisation,
        widened by the error over other facets, or that of the jackknife over all facets, whichever
        is wider.

        The jackknife alone covers .75 where units are alike, since these err together; the
        randomisation alone is false in .14 of studies where a single unit is odd.

        Args:
            means: [units].
            half: Half the interval over other facets.
            jackknifed: The interval over all facets; None where it cannot be had.
            n: Number of randomisations.
            seed: Seed of the randomisations.
        """
        inverted = invert_spectral_randomisation(
            means, self.positions, self.spectral_basis, self.covariates, n, seed
        )
        randomised = add_half_width(inverted, half)
        return randomised if jackknifed is None else widen_to(randomised, jackknifed)

    def test_criterion(
        self,
        means: Floats,
        half: float,
        jackknifed: Interval,
        units: str,
        n: int = RANDOMISATIONS,
        seed: int = 0,
    ) -> GainTest:
        """The gain of the units' means with its interval, the test by the spectral randomisation,
        and the gain that both would detect. Arguments as of `gain_interval`; `units`: what units
        are called.
        """
        along = means, self.positions, self.spectral_basis, self.covariates
        half_jackknifed = jackknifed.high - jackknifed.value
        randomised = randomise_criterion(*along, n, seed, units)
        return GainTest(
            self.gain_interval(means, half, jackknifed, n, seed),
            randomised.p,
            randomised.null,
            detectable_slope(*along, half, half_jackknifed, seed),
        )


def spectral_gain(units: AlikeUnits, differences: Floats, n: int = RANDOMISATIONS) -> Interval:
    """The gain of differences [units, sentences, pairs] with its interval over all three where
    units are alike; `n`: randomisations.
    """
    positions, covariates = units.positions, units.covariates

    def weigh_kept(mask: UnitMask) -> Floats:
        """[kept units] weights of the slope on the positions of these units alone, at equal
        covariates.
        """
        return slope_weights(positions[mask], None if covariates is None else covariates[mask])

    jackknifed = None
    if min(differences.shape) > 1:
        estimate = estimate_gain(differences, weigh_kept, Facet.from_levels(len(positions)))
        jackknifed = estimate.interval()
    slopes = np.tensordot(slope_weights(positions, covariates), differences, axes=1)
    means = differences.mean(axis=(1, 2))
    return units.gain_interval(means, half_over_facets(slopes), jackknifed, n)


def half_over_facets(slopes: Floats) -> float:
    """Half the 95% interval of the mean of slopes [sentences, pairs] over both facets; a facet of
    one level is fixed.
    """
    axes = [axis for axis, n in enumerate(slopes.shape) if n > 1]
    if not axes:
        return 0.0
    fixed_axes = tuple({0, 1} - set(axes))
    levels = slopes.mean(axis=fixed_axes) if fixed_axes else slopes

    def mean_slope(*masks: UnitMask) -> float:
        """Mean of the slopes that the masks keep, a mask for each facet with several levels."""
        return float(levels[np.ix_(*masks)].mean())

    facets = [Facet.from_levels(n) for n in levels.shape]
    estimate = jackknife_crossed(mean_slope, facets)
    return estimate.interval().high - estimate.value


def weigh_keys(keys: Floats) -> Weigh:
    """A function from a mask of units to their weights [kept units] in the difference between the
    keys 1 and -1.
    """

    def weigh_kept(mask: UnitMask) -> Floats:
        """[kept units] weights of the difference of the keys 1 and -1 in these units alone."""
        return key_weights(keys[mask])

    return weigh_kept

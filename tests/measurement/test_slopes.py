"""Gains along a share: by hand, by an independent library, and what must change nothing."""

import math
from dataclasses import astuple

import numpy as np
import pytest
import statsmodels.api as sm

from evenruler.measurement.facets import Facet
from evenruler.measurement.resampling import Interval
from evenruler.measurement.slopes import (
    AlikeUnits,
    add_half_width,
    estimate_gain,
    half_over_facets,
    key_weights,
    logit_positions,
    slope_weights,
    spectral_gain,
)


def test_shares_of_nobody_and_all_are_cut() -> None:
    ends = logit_positions([0, 0.5, 99.5, 100])
    assert ends[0] == ends[1]
    assert ends[1] == pytest.approx(math.log(1 / 199) / math.log(81))
    assert ends[2] == ends[3] == pytest.approx(-ends[0])


def test_weights_give_the_partial_slope_of_statsmodels() -> None:
    random = np.random.default_rng(1)
    positions, covariates = random.normal(size=12), random.normal(size=(12, 2))
    scores = random.normal(size=12)
    design = np.column_stack([np.ones(12), positions, covariates])
    fitted = sm.OLS(scores, design).fit()
    assert slope_weights(positions, covariates) @ scores == pytest.approx(fitted.params[1])
    with pytest.raises(ValueError, match="do not vary beside the covariates"):
        slope_weights(positions, positions[:, None])


def test_keys_are_a_difference_of_means() -> None:
    keys = np.array([1.0, 1, -1, -1, -1])
    scores = np.array([3.0, 5, 1, 2, 3])
    assert key_weights(keys) @ scores == pytest.approx(4 - 2)


def test_half_widths_add_as_squares() -> None:
    assert add_half_width(Interval(1.0, -2.0, 5.0), 4.0) == Interval(
        1.0, 1 - 5.0, 1 + math.hypot(4, 4)
    )


def test_half_an_interval_over_facets() -> None:
    """Of one facet it is that of a mean; a facet of one level is fixed."""
    slopes = np.array([1.0, 2.0, 4.0, 5.0])
    error = slopes.std(ddof=1) / 2
    assert half_over_facets(slopes[:, None]) == pytest.approx(3.182446 * error, rel=1e-5)
    assert half_over_facets(slopes[None]) == pytest.approx(3.182446 * error, rel=1e-5)
    assert half_over_facets(np.ones((1, 1))) == 0


def test_the_interval_of_a_gain_holds_that_of_the_jackknife() -> None:
    """And moves with the gain alone: scores times 2 double it."""
    random = np.random.default_rng(3)
    positions, likeness = random.normal(size=15), random.normal(size=(15, 40))
    differences = positions[:, None, None] + random.normal(size=(15, 4, 5))
    units = AlikeUnits(positions, likeness)
    interval, doubled = (spectral_gain(units, factor * differences, n=499) for factor in (1, 2))
    expected = 2 * np.array(astuple(interval))
    assert astuple(doubled) == pytest.approx(expected.tolist())
    facet = Facet.from_levels(15)
    estimate = estimate_gain(
        differences,
        lambda left: slope_weights(positions[left]),
        facet,
    )
    jackknifed = estimate.interval()
    assert interval.value == pytest.approx(jackknifed.value)
    assert interval.low <= jackknifed.low < jackknifed.high <= interval.high

"""The dose that is detected in 8 of 10 models, from counts of detected models by dose.

Probit of the share on the logarithm of the dose (Finney 1971, Probit Analysis), with Firth's
penalty and profile intervals (Firth 1993; Heinze and Schemper 2002): without the penalty there is
no estimate where every detected dose is above every missed one, as with few models a dose is usual.
There the estimate is the penalty's, and the two doses between which the share rises are stated
beside it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from scipy import stats

from evenruler.measurement.inputs import Floats

SHARE: Final = 0.8
"""Share of models in which a dose counts as detected, as the power of `detects`."""

FEWEST_DOSES: Final = 3
"""Fewest doses for a curve."""

BEYOND: Final = 10.0
"""Factor by which the search for a dose goes beyond the doses that were tried."""

_POSITIONS, _SLOPES = 601, 161
STEEPEST, FLATTEST = 50.0, 0.05
"""Slopes that are searched: probits by a factor of e in the dose."""


@dataclass(frozen=True)
class DoseThreshold:
    """The dose that is detected in 8 of 10 models, in nats."""

    dose: float | None
    """None where the counts do not determine it."""
    low: float | None = None
    """Low end of its 95% interval; None where open."""
    high: float | None = None
    """High end of its 95% interval; None where open."""
    between: tuple[float, float] | None = None
    """The last missed and the first detected dose where no detected dose is below a missed one."""
    why: str | None = None
    """Why there is no dose; None where there is one."""


def find_threshold(
    doses: Sequence[float], tried: Sequence[int], detected: Sequence[int]
) -> DoseThreshold:
    """The dose that is detected in `SHARE` of the models, with its profile interval.

    `doses`: nats above 0, each once; `tried`, `detected`: how many models have each, and in how
    many it is detected. The share is taken to rise with the dose, from 0. ValueError: counts that
    are none, or doses that are not above 0.
    """
    order = np.argsort(np.asarray(doses, dtype=np.float64))
    dose = np.asarray(doses, dtype=np.float64)[order]
    n = np.asarray(tried, dtype=np.float64)[order]
    hits = np.asarray(detected, dtype=np.float64)[order]
    if not len(dose) == len(n) == len(hits):
        raise ValueError("counts of detected models: one a dose")
    if (hits > n).any() or (hits < 0).any():
        raise ValueError("counts of detected models: 0 to all models of a dose")
    if (dose <= 0).any() or len(set(dose)) < len(dose):
        raise ValueError("doses: each above 0, and once")
    if len(dose) < FEWEST_DOSES:
        few = f"no curve: of the {FEWEST_DOSES} doses that it takes, {len(dose)} tried"
        return DoseThreshold(None, why=few)
    if not hits.any():
        return DoseThreshold(None, why=f"it is not detected at any dose, up to {dose[-1]:g} nats")
    if (hits == n).all():
        return DoseThreshold(None, why=f"it is detected at every dose, from {dose[0]:g} nats")
    threshold = _fit_probit(dose, n, hits)
    missed = float(dose[hits < n].max())
    shown = float(dose[hits > 0].min())
    return replace(threshold, between=(missed, shown) if missed < shown else None)


def _fit_probit(dose: Floats, n: Floats, hits: Floats) -> DoseThreshold:
    """The largest penalised likelihood on a grid of thresholds and slopes, and the thresholds whose
    profile is within the 95% quantile of chi-squared.
    """
    margin = math.log(BEYOND)
    log_dose: Floats = np.log(dose)
    first, last = float(log_dose[0]), float(log_dose[-1])
    thresholds: Floats = np.linspace(first - margin, last + margin, _POSITIONS)
    slopes: Floats = np.geomspace(FLATTEST, STEEPEST, _SLOPES)
    profile = _penalised_likelihood(log_dose, n, hits, thresholds, slopes).max(axis=1)
    best = int(profile.argmax())
    if best in (0, _POSITIONS - 1):
        return DoseThreshold(None, why="the share does not rise with the dose")
    deepest = profile.max() - stats.chi2.ppf(0.95, 1) / 2
    inside = np.flatnonzero(profile >= deepest)
    low = _end_of_interval(thresholds, int(inside[0]))
    high = _end_of_interval(thresholds, int(inside[-1]))
    if thresholds[best] > last:
        few = f"fewer than 8 of 10 models show the largest dose, {dose[-1]:g} nats"
        return DoseThreshold(None, low, high, why=few)
    if thresholds[best] < first:
        many = f"more than 8 of 10 models show the smallest dose, {dose[0]:g} nats"
        return DoseThreshold(None, low, high, why=many)
    return DoseThreshold(math.exp(thresholds[best]), low, high)


def _end_of_interval(thresholds: Floats, place: int) -> float | None:
    """The dose at a place of the grid; None at its first and last, where an interval is open."""
    if place in (0, len(thresholds) - 1):
        return None
    return math.exp(thresholds[place])


def _penalised_likelihood(
    log_dose: Floats, n: Floats, hits: Floats, thresholds: Floats, slopes: Floats
) -> Floats:
    """[thresholds, slopes]: log-likelihood and half the log determinant of the information on
    intercept and slope (Firth 1993).
    """
    distances = log_dose - thresholds[:, None, None]
    probits = stats.norm.ppf(SHARE) + slopes[:, None] * distances
    log_detected, log_missed = stats.norm.logcdf(probits), stats.norm.logcdf(-probits)
    likelihood = (hits * log_detected + (n - hits) * log_missed).sum(axis=-1)
    log_density = stats.norm.logpdf(probits)
    weights = n * np.exp(2 * log_density - log_detected - log_missed)
    # The determinant as a sum of squares, which loses no digits where a curve is steep.
    apart_squared = (log_dose[:, None] - log_dose) ** 2
    determinant = np.einsum("tsi,tsj,ij->ts", weights, weights, apart_squared) / 2
    with np.errstate(divide="ignore"):  # a curve so steep that no dose informs of it
        penalty = np.log(determinant) / 2
    penalised: Floats = likelihood + penalty
    return penalised

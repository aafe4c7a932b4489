"""How far a benchmark's own scores move when its prompts look like a test."""

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata

from evenruler.measurement.checks import constant_columns, correlation_matrix
from evenruler.measurement.figures import FEWEST_PAIRS, Figure, Resampling, bootstrapped

BRITTLENESS, AGREEMENT = "brittleness", "framing_rank_agreement"
"""The figures, by name."""


def brittleness(bare: ArrayLike, framed: ArrayLike, spread: float) -> float:
    """How far framings move the scores of units, beside how far units lie apart.

    Mean over unit and framing of |x_f - x_0| / spread. Lower is better: 0 where no framing moves anything, 1 where one
    moves a unit as far as units differ without any (a standard deviation).

    Args:
        bare: [units] scores without a framing, x_0.
        framed: [framings, units] scores of the same units under each, x_f.
        spread: SD over units of x_0, also of units that were not framed; more than 0.

    Raises:
        ValueError: Shapes do not go together, a value is not a number, or the spread is not positive.

    Source: ours (beyond the framing paper, "brittleness of our own instruments").
    """
    x_0, x_f = _paired(bare, framed)
    if not 0 < spread < np.inf:
        raise ValueError(f"spread is {spread}, expected more than 0")
    return float(np.abs(x_f - x_0).mean() / spread)


def framing_rank_agreement(bare: ArrayLike, framed: ArrayLike) -> float:
    """Mean over framings of Spearman's correlation with the scores without one; nan where all scores are equal.

    Args:
        bare: [units].
        framed: [framings, units].

    Returns:
        From -1 to 1; higher is better: 1 where units keep their order under every framing.

    Raises:
        ValueError: Shapes do not go together, or a value is not a number.
    """
    x_0, x_f = _paired(bare, framed)
    ranks = rankdata(np.vstack([x_0, x_f]), axis=1).T
    return float(correlation_matrix(ranks)[0, 1:].mean())


def brittleness_figures(bare: ArrayLike, framed: ArrayLike, resampling: Resampling, unit: str) -> list[Figure]:
    """Brittleness and rank agreement of one benchmark, with bootstrap intervals over units.

    The spread is that of all units at hand, also of those that no framing was asked for, and each resample has its own.
    n counts the units that were framed.

    Args:
        bare: [units] scores without a framing, of all units.
        framed: [framings, units]; nan for a unit that was not framed.
        resampling: How intervals are computed.
        unit: What units are.

    Raises:
        ValueError: A unit has a score under some framings and not under others.
    """
    x = np.vstack([np.asarray(bare, dtype=np.float64), np.asarray(framed, dtype=np.float64)]).T
    asked = _framed(x)
    if not np.array_equal(asked, ~np.isnan(x[:, 1:]).all(axis=1)):
        raise ValueError(f"some {unit} have a score under some framings and not under others")
    return [_brittleness(x, resampling, unit), _agreement(x[asked], resampling, unit)]


def no_brittleness(reason: str, unit: str) -> list[Figure]:
    """The same figures where there are none, and why."""
    return [Figure(name, None, 0, unit, reason=reason) for name in (BRITTLENESS, AGREEMENT)]


def _brittleness(x: NDArray[np.float64], resampling: Resampling, unit: str) -> Figure:
    n = int(_framed(x).sum())
    reason = None
    if not n:
        reason = f"no {unit} were asked after a framing"
    elif len(x) < 2:
        reason = f"fewer than two {unit}: nothing to hold a shift against"
    elif constant_columns(x[:, :1]).any():
        reason = f"all {unit} have the same score without a framing"
    if reason:
        return Figure(BRITTLENESS, None, n, unit, reason=reason)
    if n < 2:
        return Figure(BRITTLENESS, _of_rows(x), n, unit, reason="a single value has no interval")
    return replace(bootstrapped(BRITTLENESS, _of_rows, x, resampling, unit), n=n)


def _of_rows(x: NDArray[np.float64]) -> float:
    """Brittleness of units x (bare, framings); nan where no unit is framed, or all are alike."""
    rows = x[_framed(x)]
    if not len(rows) or constant_columns(x[:, :1]).any():
        return float("nan")
    return brittleness(rows[:, 0], rows[:, 1:].T, float(x[:, 0].std(ddof=1)))


def _agreement(x: NDArray[np.float64], resampling: Resampling, unit: str) -> Figure:
    if len(x) < FEWEST_PAIRS:
        return Figure(AGREEMENT, None, len(x), unit, reason=f"fewer than {FEWEST_PAIRS} {unit} to rank")
    if constant_columns(x).any():
        return Figure(AGREEMENT, None, len(x), unit, reason="all values are equal")
    return bootstrapped(AGREEMENT, lambda rows: framing_rank_agreement(rows[:, 0], rows[:, 1:].T), x, resampling, unit)


def _framed(x: NDArray[np.float64]) -> NDArray[np.bool_]:
    """[units] whether a unit has all its scores."""
    return np.asarray(~np.isnan(x).any(axis=1), dtype=np.bool_)


def _paired(bare: ArrayLike, framed: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Both as float64, [units] and [framings, units], or ValueError."""
    x_0, x_f = np.asarray(bare, dtype=np.float64), np.asarray(framed, dtype=np.float64)
    if x_0.ndim != 1 or x_f.ndim != 2 or x_f.shape[1:] != x_0.shape or not x_f.size:
        raise ValueError(f"expected [units] and [framings, units], got shapes {x_0.shape} and {x_f.shape}")
    if not (np.isfinite(x_0).all() and np.isfinite(x_f).all()):
        raise ValueError("values must be finite")
    return x_0, x_f

"""Arithmetic on blocks: float64[..., n], NaN where a value is missing; everything reduces the last axis at once."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# A spread this small beside the numbers themselves is rounding, not measurement.
ROUNDING = 1e-12


def count(values: Floats) -> Floats:
    """How many values there are."""
    return np.asarray(values.shape[-1] - how_many(np.isnan(values)))


def how_many(flags: NDArray[np.bool_]) -> Floats:
    """How many are true."""
    # Twice as fast as adding bools.
    return np.asarray(flags.view(np.int8).sum(axis=-1, dtype=np.int32), dtype=np.float64)


def ratio(above: Floats, below: Floats) -> Floats:
    """The quotient; NaN where nothing, or less, is below."""
    quotient = np.full(np.broadcast_shapes(above.shape, below.shape), np.nan)
    np.divide(above, below, out=quotient, where=below > 0)
    return quotient


def pairs(values: Floats, baseline: Floats) -> tuple[Floats, Floats]:
    """Both, with NaN wherever one of them is NaN."""
    of_values, of_baseline = np.isnan(values), np.isnan(baseline)
    if np.array_equal(of_values, of_baseline):
        return values, baseline
    missing = of_values | of_baseline
    return np.where(missing, np.nan, values), np.where(missing, np.nan, baseline)


def means(values: Floats) -> Floats:
    """Arithmetic means; NaN where there is no value."""
    return ratio(np.asarray(np.nansum(values, axis=-1)), count(values))


def deviations(values: Floats) -> tuple[Floats, Floats, Floats]:
    """How many values, what each deviates from their mean (0 where missing), and the sum of squares of that.

    The sum is exactly 0 where all values are equal but for rounding.
    """
    n, mean = count(values), means(values)
    off = np.nan_to_num(values - mean[..., None], copy=False)
    squares = np.einsum("...i,...i->...", off, off)
    constant = squares <= n * (ROUNDING * mean) ** 2
    return n, off, np.where(constant, 0, squares)


def quantiles(values: Floats, *shares: float) -> list[Floats]:
    """Quantiles between order statistics, linearly (type 7, as numpy); NaN where there is no value."""
    ordered = _ordered(values)
    last = count(ordered) - 1
    found = []
    for share in shares:
        position = np.maximum(last, 0) * share
        below = np.floor(position)
        low, high = (_at(ordered, np.minimum(place, np.maximum(last, 0))) for place in (below, below + 1))
        found.append(low + (high - low) * (position - below))
    return found


def modes(values: Floats, width: float) -> Floats:
    """The multiple of `width` that most values are nearest to, the lowest of several; NaN where there is no value."""
    multiples = _ordered(np.round(values / width))
    place = np.arange(multiples.shape[-1])
    begins = np.ones(multiples.shape, dtype=bool)
    begins[..., 1:] = multiples[..., 1:] != multiples[..., :-1]  # NaN, at the end, never makes a run
    run = place - np.maximum.accumulate(np.where(begins, place, 0), axis=-1)
    return _at(multiples, run.argmax(axis=-1)) * width


def extremes(values: Floats) -> tuple[Floats, Floats]:
    """Lowest and highest; NaN where there is no value."""
    ends = (reduce(values, axis=-1, initial=np.nan) for reduce in (np.fmin.reduce, np.fmax.reduce))
    low, high = map(np.asarray, ends)
    return low, high


def histogram(values: Floats, edges: Floats) -> Floats:
    """Counts in equal bins, float64[..., bins]; the last bin holds its upper edge.

    Args:
        values: A block; what lies outside the edges is counted in the outer bins.
        edges: float64[..., bins + 1], equally far apart; bins of no width put everything into the first.
    """
    bins = edges.shape[-1] - 1
    low, spread = edges[..., :1], edges[..., -1:] - edges[..., :1]
    scale = np.divide(bins, spread, out=np.zeros_like(spread), where=spread > 0)
    place = values - low  # and in place from here: new memory would cost half as much again
    place *= scale
    np.clip(place, 0, bins - 1, out=place)
    place[np.isnan(place)] = bins
    groups = int(np.prod(values.shape[:-1]))
    flat = place.reshape(groups, values.shape[-1]).astype(np.intp)
    flat += (bins + 1) * np.arange(groups)[:, None]
    counts = np.bincount(flat.ravel(), minlength=groups * (bins + 1)).reshape(*values.shape[:-1], bins + 1)
    return counts[..., :bins].astype(np.float64)


def _ordered(values: Floats) -> Floats:
    """Sorted, NaN last, and at least one place."""
    if not values.shape[-1]:
        return np.full((*values.shape[:-1], 1), np.nan)
    return np.sort(values, axis=-1)


def _at(ordered: Floats, place: NDArray[np.generic]) -> Floats:
    return np.take_along_axis(ordered, place.astype(np.intp)[..., None], axis=-1)[..., 0]

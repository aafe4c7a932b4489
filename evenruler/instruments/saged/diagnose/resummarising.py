"""Statistics of many draws of groups at once: the same numbers as `evenruler.saged.STATISTICS`, by sums over groups.

Means, shares, spreads, correlations and divergences are functions of sums over groups, and sums of every draw are one
sparse product (`Draws.sums`). Quantiles sort ranks, which are half as wide as values. Everything else gathers the
values of each group and asks the statistic itself.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from evenruler.instruments.saged.diagnose.blocks import Floats, histogram, pairs, ratio
from evenruler.instruments.saged.diagnose.draws import Draws

_CANCELLED = 1e-12
"""A sum of squares that is so small beside what it was left of is rounding."""

_GATHERED = 2_000_000
"""Numbers that are gathered at a time, so that they stay near the processor."""


class Resummary(Protocol):
    """A statistic of some series of numbers, for any draws."""

    def __call__(self, draws: Draws, lines: slice) -> Floats:
        """The statistic of some of the series, [series, draws, groups]; NaN where it is undefined."""


@dataclass(frozen=True)
class Means:
    """Means of numbers, [series, replies]; NaN is left out."""

    numbers: Floats

    def __call__(self, draws: Draws, lines: slice) -> Floats:
        """Sums over how many there are."""
        centred, centre = _centred(self.numbers[lines])
        return _by_series(ratio(draws.sums(_zeroed(centred)), _present(draws, centred))) + centre[:, None]


@dataclass(frozen=True)
class Shares:
    """Shares of replies that have something: numbers that are 1, 0 or NaN, [series, replies]."""

    numbers: Floats

    def __call__(self, draws: Draws, lines: slice) -> Floats:
        """Those that have it over how many there are."""
        numbers = self.numbers[lines]
        return _by_series(ratio(draws.counts(numbers.T == 1).astype(np.float64), _present(draws, numbers)))


@dataclass(frozen=True)
class Spreads:
    """Unbiased variances of numbers, or their roots."""

    numbers: Floats
    root: bool

    def __call__(self, draws: Draws, lines: slice) -> Floats:
        """By sums and sums of squares."""
        centred, _ = _centred(self.numbers[lines])
        filled, n = _zeroed(centred), _present(draws, centred)
        variances = ratio(_squares(draws.sums(filled), draws.sums(filled**2), n), n - 1)
        return _by_series(np.sqrt(variances) if self.root else variances)


@dataclass(frozen=True)
class Correlations:
    """Pearson's r of numbers and their baselines."""

    numbers: Floats
    baselines: Floats

    def __call__(self, draws: Draws, lines: slice) -> Floats:
        """By sums, squares and products of pairs."""
        (first, _), (second, _) = (_centred(each) for each in pairs(self.numbers[lines], self.baselines[lines]))
        n, x, y = _present(draws, first), _zeroed(first), _zeroed(second)
        sum_x, sum_y = draws.sums(x), draws.sums(y)
        products = draws.sums(x * y) - ratio(sum_x * sum_y, n)
        squares = _squares(sum_x, draws.sums(x**2), n) * _squares(sum_y, draws.sums(y**2), n)
        return _by_series(np.clip(ratio(products, np.sqrt(squares)), -1, 1))


@dataclass(frozen=True)
class Divergences:
    """Divergences in nats from numbers to their baselines, both in bins: [series, 2, bins, replies]."""

    places: NDArray[np.bool_]
    epsilon: float

    def __call__(self, draws: Draws, lines: slice) -> Floats:
        """By how many are in each bin."""
        counted = draws.counts(self.places[lines].transpose(3, 1, 2, 0))
        return _by_series(np.stack([_divergence(of_draw, self.epsilon) for of_draw in counted]))


@dataclass(frozen=True)
class Quantiles:
    """Weighted sums of quantiles: of ranks, [series, replies], inf where missing, that stand for ordered values."""

    ranks: NDArray[np.float32]
    ordered: Floats
    weights: Mapping[float, float]

    def __call__(self, draws: Draws, lines: slice) -> Floats:
        """By sorted ranks."""
        ordered, there = self.ordered[lines], np.isfinite(self.ranks[lines].T)

        def of_part(part: Draws) -> Floats:
            gathered = part.gathered(self.ranks[lines], np.inf)
            gathered.sort(axis=-1)
            n = np.moveaxis(part.counts(there), -1, 0).astype(np.intp)
            found = [weight * _quantile(gathered, ordered, n, share) for share, weight in self.weights.items()]
            return np.asarray(np.sum(found, axis=0))

        return _in_parts(of_part, draws, len(ordered))


@dataclass(frozen=True)
class Gathered:
    """Any statistic, of the values of each group."""

    statistic: Callable[..., Floats]
    numbers: Floats
    baselines: Floats | None
    options: Mapping[str, Any]

    def __call__(self, draws: Draws, lines: slice) -> Floats:
        """By the values themselves."""
        options = of_groups(self.options, lines)
        baselines = None if self.baselines is None else self.baselines[lines]

        def of_part(part: Draws) -> Floats:
            beside = None if baselines is None else part.gathered(baselines)
            return self.statistic(part.gathered(self.numbers[lines]), beside, **options)

        return _in_parts(of_part, draws, len(self.numbers[lines]))


def resummary(
    kind: str, statistic: Callable[..., Floats], numbers: Floats, baselines: Floats | None, options: Mapping[str, Any]
) -> Resummary:
    """What computes a statistic for any draws.

    Args:
        kind: A name of `evenruler.saged.STATISTICS`, or a dotted name.
        statistic: The function of that name.
        numbers: [series, replies], NaN where missing.
        baselines: Beside them, for a statistic that uses them.
        options: Of the statistic, by `cell_options`; arrays have one entry a series.
    """
    if kind == "mean":
        return Means(numbers)
    if kind in ("variance", "std"):
        return Spreads(numbers, root=kind == "std")
    if kind in ("selection_rate", "precision"):
        # Of one value the share is 1 or 0: whether it is selected.
        single = None if baselines is None else baselines[..., None]
        return Shares(statistic(numbers[..., None], single, **of_groups(options, slice(None), axes=1)))
    if baselines is not None and kind == "correlation":
        return Correlations(numbers, baselines)
    if baselines is not None and kind == "kl_divergence":
        return Divergences(_in_bins(numbers, baselines, np.asarray(options["edges"])), float(options["epsilon"]))
    if weights := _quantile_weights(kind, options):
        return _ranked(numbers, weights)
    return Gathered(statistic, numbers, baselines, options)


def of_groups(options: Mapping[str, Any], lines: slice, axes: int = 2) -> dict[str, Any]:
    """Options of some series, with axes of one for draws and groups after the first where they are arrays."""
    found = dict(options)
    for name, option in options.items():
        if isinstance(option, np.ndarray):
            found[name] = np.expand_dims(option[lines], tuple(range(1, axes + 1)))
    return found


def _centred(numbers: Floats) -> tuple[Floats, Floats]:
    """[series, replies] less the mean of each series, so that squares do not cancel; and the means."""
    there = ~np.isnan(numbers)
    centre = np.where(there, numbers, 0).sum(axis=1) / np.maximum(there.sum(axis=1), 1)
    return numbers - centre[:, None], centre[:, None]


def _zeroed(numbers: Floats) -> Floats:
    """[replies, series], 0 where missing: it adds nothing to a sum."""
    return np.nan_to_num(np.ascontiguousarray(numbers.T), copy=False)


def _present(draws: Draws, numbers: Floats) -> Floats:
    """[draws, groups, series or 1] how many numbers there are."""
    there = ~np.isnan(numbers.T)
    if there.all():
        there = there[:, :1]
    return draws.counts(there).astype(np.float64)


def _squares(sums: Floats, squares: Floats, n: Floats) -> Floats:
    """Sums of squared deviations; exactly 0 where they are nothing but rounding."""
    left = squares - ratio(sums**2, n)
    return np.where(left > _CANCELLED * squares, left, 0)


def _by_series(found: Floats) -> Floats:
    """[draws, groups, series] as [series, draws, groups], groups apart in memory: to reduce them is fastest so."""
    return np.ascontiguousarray(found.swapaxes(0, 1)).transpose(2, 1, 0)


def _divergence(counts: NDArray[Any], epsilon: float) -> Floats:
    """[groups, series] divergences in nats of counts [groups, 2, bins, series]."""
    n = counts[:, 0].sum(axis=1, dtype=np.float64)
    first, second = counts[:, 0] + epsilon, counts[:, 1] + epsilon
    divergence = (first * np.log(first / second)).sum(axis=1) / (n + epsilon * counts.shape[2])
    return np.where(n > 0, np.maximum(divergence, 0), np.nan)


def _in_bins(numbers: Floats, baselines: Floats, edges: Floats) -> NDArray[np.bool_]:
    """[series, 2, bins, replies] in which bin each number and its baseline is; in none where one is missing."""
    first, second = pairs(numbers, baselines)
    places = np.zeros((len(numbers), 2, edges.shape[-1] - 1, numbers.shape[1]), dtype=bool)
    for line, (own, beside, own_edges) in enumerate(zip(first, second, edges, strict=True)):
        for which, each in enumerate((own, beside)):
            places[line, which] = histogram(each[:, None], own_edges[None, :]).T == 1
    return places


def _quantile_weights(kind: str, options: Mapping[str, Any]) -> dict[float, float]:
    """By share, how much the quantile counts; none where a statistic is no sum of quantiles."""
    if kind == "median":
        return {0.5: 1.0}
    if kind == "range":
        return {0.0: -1.0, 1.0: 1.0}
    if kind == "quantile_range":
        return {float(options["q"]): -1.0, 1 - float(options["q"]): 1.0}
    if kind == "percentile_range":
        return {float(options["low"]) / 100: -1.0, float(options["high"]) / 100: 1.0}
    return {}


def _ranked(numbers: Floats, weights: Mapping[float, float]) -> Quantiles:
    order = np.argsort(numbers, axis=1, kind="stable")
    ranks = np.empty(numbers.shape, dtype=np.float32)
    np.put_along_axis(ranks, order, np.arange(numbers.shape[1], dtype=np.float32)[None, :], axis=1)
    ranks[np.isnan(numbers)] = np.inf
    return Quantiles(ranks, np.take_along_axis(numbers, order, axis=1), weights)


def _quantile(ranks: NDArray[np.float32], ordered: Floats, n: NDArray[np.intp], share: float) -> Floats:
    """Between order statistics, linearly (type 7), of sorted ranks [series, draws, groups, most]."""
    last = np.maximum(n - 1, 0)
    position = last * share
    below = np.floor(position).astype(np.intp)
    low, high = (_valued(ranks, ordered, np.minimum(place, last)) for place in (below, below + 1))
    return np.where(n > 0, low + (high - low) * (position - below), np.nan)


def _valued(ranks: NDArray[np.float32], ordered: Floats, place: NDArray[np.intp]) -> Floats:
    found = np.take_along_axis(ranks, place[..., None], axis=-1)[..., 0]
    known = np.where(np.isfinite(found), found, 0).astype(np.intp)
    return np.take_along_axis(ordered, known.reshape(len(known), -1), axis=1).reshape(known.shape)


def _in_parts(of_part: Callable[[Draws], Floats], draws: Draws, series: int) -> Floats:
    """Put together from as many draws at a time as memory is meant for."""
    size = max(1, _GATHERED // (series * draws.total))
    parts = [of_part(draws.part(begin, min(begin + size, draws.draws))) for begin in range(0, draws.draws, size)]
    return _by_series(np.concatenate([part.transpose(1, 2, 0) for part in parts]))

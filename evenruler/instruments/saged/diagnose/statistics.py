"""Summary statistics of groups (SAGED, sections 3.3 and 4.1, appendix A.4), computed on blocks of
groups.

A *block* is `values: float64[..., n]`, one group along the last axis, NaN where a value is missing
or where a group is shorter than the longest; `baseline` has the same shape. Every statistic ignores
NaN, reduces the last axis and is NaN where it is undefined; `reason` says why. Those in
`USES_BASELINE` compare values with their baselines and ignore pairs of which one is missing.

Options that a *cell* shares (domain x feature x configuration: all groups that are compared) are
computed by `cell_options`: the standard of a selection rate, the bins of a divergence. They do not
change when group labels are shuffled within the cell.

The kernels are ours because numpy's and scipy's own, which ignore NaN, go group by group, 30 times
as slowly.
"""

import importlib
import math
import numbers
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenruler.errors import UserError, suggest_nearest
from evenruler.measurement.inputs import Floats

ROUNDING = 1e-12  # relative to the numbers themselves, a spread this small is rounding
_BOUND = 1 + 1e-9  # tolerance for bounds that users write in decimals: .4 - .3 is within .1


def count(values: Floats) -> Floats:
    """Number of values that are not NaN."""
    return np.asarray(values.shape[-1] - count_true(np.isnan(values)))


def count_true(flags: NDArray[np.bool_]) -> Floats:
    """Number of true flags; twice as fast as summing bools."""
    counts = flags.view(np.int8).sum(axis=-1, dtype=np.int32)
    return np.asarray(counts, dtype=np.float64)


def ratio(above: Floats, below: NDArray[Any]) -> Floats:
    """The quotient; NaN where `below` is 0 or negative."""
    quotient = np.full(np.broadcast_shapes(above.shape, below.shape), np.nan)
    np.divide(above, below, out=quotient, where=below > 0)
    return quotient


def mask_unpaired(values: Floats, baseline: Floats) -> tuple[Floats, Floats]:
    """Values and baselines, with NaN wherever one of them is NaN."""
    of_values, of_baseline = np.isnan(values), np.isnan(baseline)
    if np.array_equal(of_values, of_baseline):  # twice as fast as new arrays
        return values, baseline
    missing = of_values | of_baseline
    return np.where(missing, np.nan, values), np.where(missing, np.nan, baseline)


def deviations(values: Floats) -> tuple[Floats, Floats, Floats]:
    """Number of values, their deviations from the mean (0 where missing), and the sum of squared
    deviations.

    The sum is exactly 0 where all values are equal up to rounding.
    """
    n, middle = count(values), mean(values)
    off = np.nan_to_num(values - middle[..., None], copy=False)
    squares = np.einsum("...i,...i->...", off, off)
    constant = squares <= n * (ROUNDING * middle) ** 2
    return n, off, np.where(constant, 0, squares)


def quantiles(values: Floats, *shares: float) -> list[Floats]:
    """Quantiles by linear interpolation between order statistics (type 7, as numpy); NaN where
    there is no value.
    """
    ordered = _sort_values(values)
    last = np.maximum(count(ordered) - 1, 0)
    quantile_values: list[Floats] = []
    for share in shares:
        position = last * share
        below = np.floor(position)
        low = at_places(ordered, np.minimum(below, last))
        high = at_places(ordered, np.minimum(below + 1, last))
        quantile_values.append(low + (high - low) * (position - below))
    return quantile_values


def extremes(values: Floats) -> tuple[Floats, Floats]:
    """Lowest and highest; NaN where there is no value."""
    low = np.asarray(np.fmin.reduce(values, axis=-1, initial=np.nan))
    high = np.asarray(np.fmax.reduce(values, axis=-1, initial=np.nan))
    return low, high


def histogram(values: Floats, edges: Floats) -> Floats:
    """Counts in equal bins between `edges`, float64[..., bins + 1]; values outside are counted in
    the outer bins.

    The last bin includes its upper edge; if all edges are equal, everything is in the first bin.
    """
    bins = edges.shape[-1] - 1
    low = edges[..., :1]
    spread = edges[..., -1:] - low
    scale = np.divide(bins, spread, out=np.zeros_like(spread), where=spread > 0)
    place = values - low  # in place from here: new arrays would cost half as much again
    place *= scale
    np.clip(place, 0, bins - 1, out=place)
    place[np.isnan(place)] = bins
    groups = math.prod(values.shape[:-1])
    flat = place.reshape(groups, values.shape[-1]).astype(np.intp)
    flat += (bins + 1) * np.arange(groups)[:, None]
    flat_counts = np.bincount(flat.ravel(), minlength=groups * (bins + 1))
    counts = flat_counts.reshape(*values.shape[:-1], bins + 1)
    return counts[..., :bins].astype(np.float64)


def _sort_values(values: Floats) -> Floats:
    """Sorted, NaN last, padded to at least one value."""
    if values.shape[-1]:
        return np.sort(values, axis=-1)
    return np.full((*values.shape[:-1], 1), np.nan)


def at_places(ordered: Floats, place: NDArray[np.generic]) -> Floats:
    """[...] the values of [..., n] at these indices."""
    indices = place.astype(np.intp)[..., None]
    return np.take_along_axis(ordered, indices, axis=-1)[..., 0]


def mean(values: Floats, baseline: Floats | None = None) -> Floats:
    """Arithmetic mean, in the unit of the values."""
    return ratio(np.asarray(np.nansum(values, axis=-1)), count(values))


def median(values: Floats, baseline: Floats | None = None) -> Floats:
    """Median, in the unit of the values; between the two middle ones where n is even."""
    return quantiles(values, 0.5)[0]


def mode(values: Floats, baseline: Floats | None = None, *, width: float = 0.1) -> Floats:
    """Centre of the fullest bin, the lowest of ties; bins are `width` wide, centred on its
    multiples.
    """
    multiples = _sort_values(np.round(values / width))
    place = np.arange(multiples.shape[-1])
    begins = np.ones(multiples.shape, dtype=bool)
    previous = multiples[..., :-1]
    begins[..., 1:] = multiples[..., 1:] != previous  # NaN, at the end, never form a run
    start_of_run = np.maximum.accumulate(np.where(begins, place, 0), axis=-1)
    run = place - start_of_run
    return at_places(multiples, run.argmax(axis=-1)) * width


def variance(values: Floats, baseline: Floats | None = None) -> Floats:
    """Unbiased variance (ddof 1), in the squared unit of the values; undefined for one value."""
    n, _, squares = deviations(values)
    return ratio(squares, n - 1)


def std(values: Floats, baseline: Floats | None = None) -> Floats:
    """Root of the unbiased variance (ddof 1), in the unit of the values; undefined for one
    value.
    """
    return np.sqrt(variance(values))


def skewness(values: Floats, baseline: Floats | None = None) -> Floats:
    """Bias-corrected skewness (A.4); positive: a tail of high values. Undefined below three values,
    or constant.
    """
    n, off, squares = deviations(values)
    cubes = np.einsum("...i,...i,...i->...", off, off, off)
    above = n * cubes * np.sqrt(np.maximum(n - 1, 0))
    below = np.where(n > 2, n - 2, 0) * squares**1.5
    return ratio(above, below)


def kurtosis(values: Floats, baseline: Floats | None = None) -> Floats:
    """Bias-corrected excess kurtosis (A.4); 0 for normal values. Undefined below four values, or
    constant.
    """
    n, off, squares = deviations(values)
    fourths = np.einsum("...i,...i->...", off**2, off**2)
    correction = np.where(n > 3, (n - 2) * (n - 3), 0)
    fourth_moments = n * (n + 1) * (n - 1) * fourths
    raw = ratio(fourth_moments, correction * squares**2)
    of_normal_values = ratio(3 * (n - 1) ** 2, correction)
    return raw - of_normal_values


def value_range(values: Floats, baseline: Floats | None = None) -> Floats:
    """Highest minus lowest, in the unit of the values."""
    low, high = extremes(values)
    return high - low


def quantile_range(values: Floats, baseline: Floats | None = None, *, q: float = 0.25) -> Floats:
    """Quantile 1 - q minus quantile q, interpolated between order statistics; .25 gives the
    interquartile range.
    """
    return percentile_range(values, low=100 * q, high=100 * (1 - q))


def percentile_range(
    values: Floats, baseline: Floats | None = None, *, low: float = 5.0, high: float = 95.0
) -> Floats:
    """Percentile `high` minus percentile `low`, both from 0 to 100."""
    lower, upper = quantiles(values, low / 100, high / 100)
    return upper - lower


def selection_rate(
    values: Floats,
    baseline: Floats | None = None,
    *,
    standard: ArrayLike,
    method: str = "larger",
    margin: float | None = None,
) -> Floats:
    """Share of the values that are selected, from 0 to 1 (equation 1, A.4).

    `standard`: float64[...] of each group's cell (`standard_of`), or one for all. `method`:
    `larger` (>= standard), `smaller` (<= standard), `within_range` (at most `margin` from the
    standard) or `within_percentage` (at most `margin` times its magnitude: .1 is ten per cent).
    """
    reference = np.asarray(standard, dtype=np.float64)[..., None]
    slack = ROUNDING * np.abs(reference)  # the mean of equal values may be off by rounding
    if method == "larger":
        selected = values >= reference - slack
    elif method == "smaller":
        selected = values <= reference + slack
    else:
        unit = np.abs(reference) if method == "within_percentage" else 1
        width = np.asarray(margin, dtype=np.float64) * unit
        selected = np.abs(values - reference) <= width * _BOUND + slack
    return ratio(count_true(selected), count(values))


def correlation(values: Floats, baseline: Floats) -> Floats:
    """Pearson's r of values and their baselines, -1 to 1. Undefined below two pairs, or where
    either is constant.
    """
    values, baseline = mask_unpaired(values, baseline)
    _, first, of_first = deviations(values)
    _, second, of_second = deviations(baseline)
    products = np.einsum("...i,...i->...", first, second)
    lengths = np.sqrt(of_first) * np.sqrt(of_second)
    return np.clip(ratio(products, lengths), -1, 1)


def kl_divergence(
    values: Floats, baseline: Floats, *, edges: ArrayLike, epsilon: float = 0.5
) -> Floats:
    """Kullback-Leibler divergence in nats from the group to its baselines, KL(values || baselines),
    0 or more (A.4).

    `edges`: float64[..., bins + 1] of each group's cell (`edges_of`), equally spaced, or one for
    all. `epsilon`: added to every count, so that the divergence is finite.
    """
    values, baseline = mask_unpaired(values, baseline)
    bin_edges = np.asarray(edges, dtype=np.float64)
    first = histogram(values, bin_edges) + epsilon
    second = histogram(baseline, bin_edges) + epsilon
    total = first.sum(axis=-1)  # of both: they have the same n
    weighted_logs = first * np.log(first / second)
    divergence = ratio(weighted_logs.sum(axis=-1), total)
    return np.where(count(values) > 0, np.maximum(divergence, 0), np.nan)


def precision(values: Floats, baseline: Floats, *, tolerance: float = 0.1) -> Floats:
    """Share of the values that are at most `tolerance` (in their unit) from their baselines, 0 to 1
    (A.4).
    """
    distance = np.abs(values - baseline)
    return ratio(count_true(distance <= tolerance * _BOUND), count(distance))


BlockStatistic = Callable[..., Floats]  # `(values, baseline, **options) -> float64[...]`

STATISTICS: Mapping[str, BlockStatistic] = {
    "mean": mean,
    "median": median,
    "mode": mode,
    "variance": variance,
    "std": std,
    "skewness": skewness,
    "kurtosis": kurtosis,
    "range": value_range,
    "quantile_range": quantile_range,
    "percentile_range": percentile_range,
    "selection_rate": selection_rate,
    "correlation": correlation,
    "kl_divergence": kl_divergence,
    "precision": precision,
}
"""By the name that users write."""

USES_BASELINE = frozenset({"correlation", "kl_divergence", "precision"})
"""Statistics that compare raw values with their baselines; meaningless for calibrated values."""

_FROM_0 = (0, math.inf)
_ABOVE_0 = (0, math.inf, "neither end")
_WHOLE = (1, 1_000_000, "whole")
_STANDARDS = ("mean", "median", "mode", "quantile")
_METHODS = ("larger", "smaller", "within_range", "within_percentage")
_OptionRule = tuple[float | str | None, tuple[Any, ...]]
"""The default of an option, and its allowed words or range."""
_OPTIONS: Mapping[str, Mapping[str, _OptionRule]] = {
    "mode": {"width": (0.1, _ABOVE_0)},
    "quantile_range": {"q": (0.25, (0, 0.5))},
    "percentile_range": {"low": (5.0, (0, 100)), "high": (95.0, (0, 100))},
    "selection_rate": {
        "standard": ("mean", _STANDARDS),
        "q": (0.5, (0, 1)),
        "width": (0.1, _ABOVE_0),
        "method": ("larger", _METHODS),
        "margin": (None, _FROM_0),
    },
    "kl_divergence": {"bins": (10.0, _WHOLE), "epsilon": (0.5, _ABOVE_0)},
    "precision": {"tolerance": (0.1, _FROM_0)},
}
"""By statistic and option: the default, and the allowed words or range."""


def _option_defaults(rules: Mapping[str, _OptionRule]) -> dict[str, float | str | None]:
    """The default of each option of a statistic, from its rules."""
    return {name: default for name, (default, _) in rules.items()}


OPTIONS: Mapping[str, Mapping[str, float | str | None]] = {
    kind: _option_defaults(rules) for kind, rules in _OPTIONS.items()
}
"""By statistic, its options with their defaults; one that is not here has none.

`mode.width`: of bins, in the unit of the values. `quantile_range.q`: from quantile q to 1 - q,
below .5. `percentile_range.low`, `.high`: 0 to 100. `selection_rate.standard`: one of `mean`,
`median`, `mode`, `quantile`, of the whole cell; `.q`: of the standard `quantile`; `.width`: of the
standard `mode`; `.method`: as of `selection_rate`; `.margin`: of `within_range` in the unit of the
values, of `within_percentage` as a share of the standard's magnitude (.1 is ten per cent).
`kl_divergence.bins`: how many; `.epsilon`: added to every count. `precision.tolerance`: in the unit
of the values.
"""


def resolve_options(kind: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a statistic with defaults; UserError: unknown option, or a value that it
    cannot have.
    """
    defaults = OPTIONS.get(kind, {})
    for name in set(options) - set(defaults):
        what = f"the statistic has no option {name!r}"
        raise UserError(
            what,
            where=kind,
            remedy=suggest_nearest(name, defaults) if defaults else "it takes no options",
        )
    complete_options = {**defaults, **options}
    for name, value in complete_options.items():
        _check_value(f"{kind}.{name}", value, *_OPTIONS[kind][name])
    if kind == "percentile_range" and complete_options["low"] >= complete_options["high"]:
        raise UserError(
            f"low is {complete_options['low']} and high {complete_options['high']}",
            where=kind,
            remedy="low is the lower one",
        )
    if kind == "selection_rate" and complete_options["margin"] is None:
        method = str(complete_options["method"])
        if method.startswith("within"):
            raise UserError(
                f"the method {method} needs a margin",
                where=kind,
                remedy="give `margin`, how far from the standard still counts",
            )
    return complete_options


def _check_value(where: str, value: object, default: object, allowed: tuple[Any, ...]) -> None:
    """UserError where an option is none of the allowed words or no number in their range;
    `default`: its type decides which. `where`: the option's name.
    """
    if isinstance(default, str):
        if value not in allowed:
            raise UserError(
                f"found {value!r}", where=where, remedy=suggest_nearest(str(value), allowed)
            )
        return
    if value is None and default is None:
        return
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UserError(f"found {value!r}, expected a number", where=where, remedy="write a number")
    low, high = allowed[:2]
    is_excluded_end = allowed is _ABOVE_0 and value in allowed
    if is_excluded_end or not low <= value <= high:
        raise UserError(
            f"found {value}",
            where=where,
            remedy=f"it lies from {low} to {high}, and is not nothing",
        )
    if allowed is _WHOLE and value != int(value):
        raise UserError(f"found {value}", where=where, remedy="a whole number of bins")


def standard_of(values: Floats, kind: str = "mean", q: float = 0.5, width: float = 0.1) -> Floats:
    """The standard that values of a cell, float64[..., N], are selected by; `width`, `q`: of its
    mode, quantile.
    """
    if kind == "quantile":
        return quantiles(values, q)[0]
    if kind == "mode":
        return mode(values, width=width)
    return STATISTICS[kind](values)


def edges_of(values: Floats, baseline: Floats, bins: int = 10) -> Floats:
    """Edges of equal bins from the lowest to the highest number of a cell's pairs, float64[...,
    bins + 1].
    """
    values, baseline = mask_unpaired(values, baseline)
    low_value, high_value = extremes(values)
    low_baseline, high_baseline = extremes(baseline)
    lows = np.minimum(low_value, low_baseline)
    highs = np.maximum(high_value, high_baseline)
    return np.linspace(lows, highs, bins + 1, axis=-1)


def cell_options(
    kind: str, values: Floats, baseline: Floats | None = None, **options: object
) -> dict[str, Any]:
    """The options of a block statistic: those that a user gave, with what the cell shares computed.

    `values`, and `baseline` for those of `USES_BASELINE`, have all groups of a cell along the last
    axis. They give the `standard` of a selection rate, float64[...], and the `edges` of a
    divergence, float64[..., bins + 1].

    UserError: unknown option, or a value that it cannot have; statistics of users take any.
    """
    complete_options: dict[str, Any] = options
    if kind in STATISTICS:
        complete_options = resolve_options(kind, options)
    if kind == "selection_rate":
        standard = standard_of(
            values, complete_options["standard"], complete_options["q"], complete_options["width"]
        )
        return {
            "standard": standard,
            "method": complete_options["method"],
            "margin": complete_options["margin"],
        }
    if kind == "kl_divergence":
        if baseline is None:
            raise ValueError("a divergence is from baselines: none given")
        return {
            "edges": edges_of(values, baseline, int(complete_options["bins"])),
            "epsilon": complete_options["epsilon"],
        }
    return complete_options


@dataclass(frozen=True)
class OwnStatistic:
    """A user's function of float64[n] (the values that are not missing) and options, applied to
    groups of a block.
    """

    name: str  # dotted
    function: Callable[..., Any]

    def __call__(self, values: Floats, baseline: Floats | None = None, **options: object) -> Floats:
        """float64[...] for a block float64[..., n]; NaN where there is no value, the function fails
        or gives NaN.
        """

        def summarise_group(group_values: Floats) -> float:
            """The number of one group; NaN where the function fails."""
            return self.of_group(group_values, options)[0]

        summarise_groups = np.vectorize(summarise_group, [float], signature="(n)->()")
        summaries: Floats = summarise_groups(values)
        return summaries

    def of_group(self, values: Floats, options: dict[str, Any]) -> tuple[float, str]:
        """The number of one group, float64[n] with NaN where missing; or NaN and why."""
        present = values[~np.isnan(values)]
        if not present.size:
            return math.nan, "no value"
        try:
            number = self.function(present, **options)
        except Exception as error:  # whatever a user's function raises is that group's reason
            reason = f"{self.name} raised {type(error).__name__}: {error}"
            return math.nan, " ".join(reason.split())
        if not isinstance(number, numbers.Real):
            return math.nan, f"{self.name} gave {type(number).__name__}, not a number"
        if not math.isfinite(number):
            return math.nan, f"{self.name} gave {float(number)}"
        return float(number), ""


def resolve_statistic(kind: str) -> BlockStatistic:
    """One of `STATISTICS`, or by its dotted name a user's function (array -> number); UserError
    where there is none.
    """
    if kind in STATISTICS:
        return STATISTICS[kind]
    if "." not in kind:
        raise UserError(f"no statistic {kind!r}", remedy=suggest_nearest(kind, STATISTICS))
    module, _, function = kind.rpartition(".")
    try:
        user_statistic = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        what = f"the statistic {kind} cannot be imported ({error})"
        raise UserError(
            what, remedy="write module.function, of a module on the Python path"
        ) from error
    if not callable(user_statistic):
        raise UserError(
            f"the statistic {kind} is no function", remedy="name a function that takes an array"
        )
    return OwnStatistic(kind, user_statistic)


_FEWEST = {"variance": 2, "std": 2, "skewness": 3, "kurtosis": 4, "correlation": 2}


def undefined_reason(
    kind: str, values: Floats, baseline: Floats | None = None, **options: object
) -> str:
    """Why a statistic of one group, float64[n] with NaN where missing, is undefined; empty where it
    is not.
    """
    statistic, compared = resolve_statistic(kind), ""
    if isinstance(statistic, OwnStatistic):
        return statistic.of_group(values, options)[1]
    if kind in USES_BASELINE and baseline is not None:
        values, baseline = mask_unpaired(values, baseline)
        compared = " with a baseline"
    n, fewest = int(count(values)), _FEWEST.get(kind, 1)
    if n < fewest:
        ending = "s" if n > 1 else ""
        message = f"{n or 'no'} value{ending}{compared}"
        return message if fewest == 1 else f"{message}, needs {fewest}"
    needs_spread = kind in ("skewness", "kurtosis", "correlation")
    if needs_spread and not deviations(values)[2]:
        return "all values are equal"
    if kind == "correlation" and baseline is not None and not deviations(baseline)[2]:
        return "all baselines are equal"
    return ""

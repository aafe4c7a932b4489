"""How much a figure would change with other units, templates or words: variance over crossed random
facets.

A facet is random if its levels are a sample of possible levels. Intervals that treat only one facet
as random cover .61 to .84 where there are three (docs/formulas.md). Also variance components
(generalizability theory).
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, product

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtr, stdtrit

from evenruler.measurement.inputs import POWER, Floats, check_level
from evenruler.measurement.resampling import Interval

UnitMask = NDArray[np.bool_]
"""Boolean mask over the levels of a facet: True for those kept."""

Part = tuple[float, float]
"""A variance component and its degrees of freedom."""


@dataclass(frozen=True)
class Estimate:
    """A value with its sampling variance (in squared units of the value) over the random facets."""

    value: float
    variance: float
    df: float
    """Degrees of freedom of the t distribution."""

    @property
    def error(self) -> float:
        """The standard error."""
        return math.sqrt(self.variance)

    def interval(self, level: float = 0.95) -> Interval:
        """The t interval; both ends equal the value where the variance is 0."""
        check_level(level)
        half = float(stdtrit(self.df, 0.5 + level / 2)) * self.error
        return Interval(self.value, self.value - half, self.value + half)

    def p(self) -> float:
        """Two-sided p of the null that the true value is 0; 1 for a value of 0 without variance."""
        return min(1.0, 2 * self._above(abs(self.value)))

    def detectable(self, level: float = 0.95, power: float = POWER) -> float:
        """The minimum detectable effect: the smallest true value found with this power."""
        critical = stdtrit(self.df, 0.5 + level / 2)
        quantiles = critical + stdtrit(self.df, power)
        return float(quantiles) * self.error

    def _above(self, distance: float) -> float:
        """P that t exceeds a distance, given in the unit of the value."""
        if self.variance == 0:
            return 0.5 if distance == 0 else float(distance < 0)
        return float(stdtr(self.df, -distance / self.error))


def sum_estimates(value: float, parts: Iterable[Part], shared: float = 0.0) -> Estimate:
    """An estimate whose variance is the sum of `parts` less `shared`, what they count more than
    once.

    The variance is never below the largest part. Degrees of freedom follow Satterthwaite (1946),
    and are at least the fewest of any part. ValueError: no part, or one with less than one degree
    of freedom.
    """
    part_list = list(parts)
    fewest = min((df for _, df in part_list), default=0.0)
    if fewest < 1:
        raise ValueError("expected parts of one degree of freedom at least")
    components = [component for component, _ in part_list]
    variance = max(sum(components) - shared, *components, 0.0)
    below = sum(component**2 / df for component, df in part_list)
    df = max(variance**2 / below, fewest) if below > 0 else fewest
    return Estimate(float(value), float(variance), df)


@dataclass(frozen=True)
class Facet:
    """A random facet: for each level, the label of the list it was drawn for (a single label if
    there is one list).
    """

    lists: Sequence[str | int]

    @classmethod
    def from_levels(cls, levels: int) -> "Facet":
        """A facet of `levels` levels, all of one list."""
        return cls([0] * levels)

    def members(self) -> list[NDArray[np.intp]]:
        """Indices of the levels of each list."""
        labels = np.asarray(self.lists)
        return [np.flatnonzero(labels == label) for label in dict.fromkeys(self.lists)]

    @property
    def df(self) -> int:
        """Degrees of freedom: number of levels minus number of lists."""
        return len(self.lists) - len(set(self.lists))


def jackknife_crossed(statistic: Callable[..., float], facets: Sequence[Facet]) -> Estimate:
    """Estimate a statistic of scores over crossed random facets, by jackknife.

    The variance is the sum of the jackknives over each facet, less those over each pair of facets,
    whose variance two facets share. `statistic` must be linear in the scores; it takes one mask
    [levels] per facet. ValueError: a list has one level.
    Source: docs/formulas.md; for two facets exactly Brennan's variance of a mean (2001, section
    5.1).
    """
    full_masks = [np.ones(len(facet.lists), dtype=np.bool_) for facet in facets]
    lists = [facet.members() for facet in facets]
    if any(len(levels) < 2 for levels in chain.from_iterable(lists)):
        raise ValueError("every list of a facet needs two levels at least")

    def without(*left_out: tuple[int, int]) -> float:
        """The statistic without some levels, each as (facet, level) by index; each facet gets a
        mask.
        """
        masks = list(full_masks)
        for facet, level in left_out:
            masks[facet] = full_masks[facet].copy()
            masks[facet][level] = False
        return float(statistic(*masks))

    parts = []
    for facet_index, facet in enumerate(facets):
        facet_variance = 0.0
        for levels in lists[facet_index]:
            estimates = np.array([without((facet_index, level)) for level in levels])
            squares = _sum_squares(estimates - estimates.mean())
            facet_variance += _jackknife_factor(levels) * squares
        parts.append((facet_variance, float(facet.df)))
    shared = 0.0
    for first_facet, second_facet in combinations(range(len(lists)), 2):
        for rows, columns in product(lists[first_facet], lists[second_facet]):
            estimates = np.array(
                [
                    without((first_facet, row), (second_facet, column))
                    for row, column in product(rows, columns)
                ]
            )
            both = estimates.reshape(len(rows), len(columns))
            squares = _sum_squares(_double_centre(both))
            shared += _jackknife_factor(rows) * _jackknife_factor(columns) * squares
    return sum_estimates(statistic(*full_masks), parts, shared)


def _jackknife_factor(levels: NDArray[np.intp]) -> float:
    """(n - 1) / n, of the n levels of a list: the factor of the sum of squares in a jackknife
    variance.
    """
    return (len(levels) - 1) / len(levels)


def _sum_squares(deviations: Floats) -> float:
    """Sum of the squares of all deviations."""
    return float((deviations**2).sum())


def _double_centre(x: Floats) -> Floats:
    """[rows, columns] of a table: what is left beyond the means of rows and of columns, their
    interaction.
    """
    less_means = x - x.mean(axis=0) - x.mean(axis=1, keepdims=True)
    deviations: Floats = less_means + x.mean()
    return deviations


Effect = tuple[str, ...]
"""The facets of an effect, in the order of the axes: ("attribute", "template") is their
interaction."""


@dataclass(frozen=True)
class VarianceComponents:
    """Variance components of a fully crossed design with one score per cell and all facets
    random.
    """

    mean_squares: Mapping[Effect, float]
    degrees: Mapping[Effect, int]
    """Degrees of freedom."""
    variances: Mapping[Effect, float]
    """Estimates; negative ones are kept, since they show that the effect is lost in noise."""


def variance_components(x: ArrayLike, facets: Sequence[str]) -> VarianceComponents:
    """Variance components by analysis of variance; one axis per facet, at least two levels each,
    one score per cell.

    ValueError: names do not fit the axes, a facet has a single level, or a score is not finite.
    Source: Brennan (2001), Generalizability Theory, chapter 3 and appendix B.
    """
    scores = np.asarray(x, dtype=np.float64)
    if (
        scores.ndim != len(facets)
        or len(set(facets)) != len(facets)
        or min(scores.shape, default=0) < 2
    ):
        raise ValueError(
            f"expected {len(facets)} axes of at least two levels, got the shape {scores.shape}"
        )
    if not np.isfinite(scores).all():
        raise ValueError("scores must be finite")
    levels = dict(zip(facets, scores.shape, strict=True))
    # Per effect, the uncorrected sum of squares of its means over all cells, and the number of
    # cells in each mean.
    squares: dict[Effect, float] = {}
    cells: dict[Effect, int] = {}
    for effect in _effects(facets):
        other_axes = tuple(axis for axis, facet in enumerate(facets) if facet not in effect)
        cells[effect] = math.prod(scores.shape[axis] for axis in other_axes)
        means = np.asarray(scores.mean(axis=other_axes))
        squares[effect] = float((means**2).sum() * cells[effect])
    mean_squares: dict[Effect, float] = {}
    degrees: dict[Effect, int] = {}
    variances: dict[Effect, float] = {}
    for effect in list(squares)[1:]:
        terms = []
        for part in _effects(effect):
            sign = (-1) ** (len(effect) - len(part))
            terms.append(sign * squares[part])
        degrees[effect] = math.prod(levels[facet] - 1 for facet in effect)
        mean_squares[effect] = sum(terms) / degrees[effect]
    for effect in mean_squares:
        signed_squares = []
        for other, square in mean_squares.items():
            if set(effect) <= set(other):
                sign = (-1) ** (len(other) - len(effect))
                signed_squares.append(sign * square)
        variances[effect] = sum(signed_squares) / cells[effect]
    return VarianceComponents(mean_squares, degrees, variances)


def _effects(facets: Sequence[str]) -> Iterator[Effect]:
    """Every subset of facets, the empty one first."""
    sizes = range(len(facets) + 1)
    return chain.from_iterable(combinations(facets, size) for size in sizes)


@dataclass(frozen=True)
class GroupDifference:
    """The mean difference between two groups of words, over units and templates, with its variance
    components.
    """

    mean: float
    """The first group's mean minus the other's."""
    variances: Mapping[Effect, float]
    """Of the difference: unit, template and their interaction. Of scores within a group: word and
    its interactions. Estimates; negative ones are kept."""
    _parts: Sequence[tuple[float, float, int]]
    """Coefficient, mean square and degrees of freedom of each term in the variance of the mean."""

    def coefficient(self, templates: int, words: int) -> float:
        """Generalizability coefficient: how reliably means over that many templates and words order
        the units.

        From 0 to 1; negative variances count as 0. `words`: per group. NaN where nothing varies;
        ValueError for a number below 1.
        Source: Brennan (2001), E rho squared; the words of both groups, of equal number, nested in
        fixed groups.
        """
        if min(templates, words) < 1:
            raise ValueError(
                f"found {templates} templates and {words} words, expected one of each at least"
            )
        variances = {effect: max(variance, 0.0) for effect, variance in self.variances.items()}
        of_word = variances["unit", "word"] + variances["unit", "template", "word"] / templates
        error = variances["unit", "template"] / templates + 2 * of_word / words
        universe = variances["unit",]
        whole = universe + error
        return universe / whole if whole > 0 else math.nan

    def interval(self, level: float = 0.95) -> Interval:
        """The mean with a t interval, degrees of freedom by Satterthwaite (1946).

        Ends are NaN where the estimated variance of the mean is not positive.
        """
        check_level(level)
        terms = [(coefficient * square, df) for coefficient, square, df in self._parts]
        variance = sum(term for term, _ in terms)
        if variance <= 0:
            return Interval(self.mean, math.nan, math.nan)
        term_squares = sum(term**2 / df for term, df in terms)
        degrees = variance**2 / term_squares
        return Estimate(self.mean, variance, degrees).interval(level)


def difference_of_groups(x: ArrayLike, groups: ArrayLike) -> GroupDifference:
    """The mean difference between two groups of words; units, templates and words are all random.

    `x`: [units, templates, words] scores, fully crossed. `groups`: [words], 1 for the first group,
    -1 for the other; of equal size, at least two words each. ValueError where these do not fit, or
    a score is not finite.
    Source: the mean squares of Brennan (2001) with words nested in fixed groups.
    """
    scores, signs = np.asarray(x, dtype=np.float64), np.asarray(groups)
    is_sign_per_word = scores.ndim == 3 and signs.shape == scores.shape[2:]
    has_two_groups = is_sign_per_word and set(signs.tolist()) == {1, -1}
    if not has_two_groups or signs.sum() != 0:
        raise ValueError(
            "expected scores of units x templates x words, and words in two groups of equal size"
        )
    words = scores.shape[2] // 2
    group_components = [
        variance_components(scores[:, :, signs == sign], ("unit", "template", "word"))
        for sign in (1, -1)
    ]
    first_means = scores[:, :, signs == 1].mean(axis=2)
    second_means = scores[:, :, signs == -1].mean(axis=2)
    bias = first_means - second_means
    of_bias = variance_components(bias, ("unit", "template"))
    of_words: dict[Effect, float] = {}
    for effect in group_components[0].variances:
        if "word" in effect:
            of_words[effect] = sum(group.variances[effect] for group in group_components) / 2
    # The variance over words enters the bias of every unit and template twice, once for each group.
    of_both = {
        effect: variance - 2 / words * of_words[(*effect, "word")]
        for effect, variance in of_bias.variances.items()
    }
    parts: list[tuple[float, float, int]] = []
    for effect, square in of_bias.mean_squares.items():
        coefficient = (-1) ** (len(effect) + 1) / bias.size
        parts.append((coefficient, square, of_bias.degrees[effect]))
    # That of the words' main effect is in no mean square of the bias, since it shifts all cells
    # alike.
    for effect in of_words:
        pooled = sum(group.mean_squares[effect] for group in group_components) / 2
        sign = (-1) ** (len(effect) + 1)
        coefficient = sign * 2 / (words * bias.size)
        parts.append((coefficient, pooled, 2 * group_components[0].degrees[effect]))
    return GroupDifference(float(bias.mean()), {**of_both, **of_words}, parts)

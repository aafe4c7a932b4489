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
from scipy.special import ndtr, stdtr, stdtrit

from evenruler.measurement.checks import Floats, check_level
from evenruler.measurement.resampling import Interval

Kept = NDArray[np.bool_]
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

    def p_within(self, bound: float) -> float:
        """P of the two one-sided tests (Schuirmann 1987): small where the value lies between -bound
        and bound.
        """
        return max(self._above(bound - self.value), self._above(bound + self.value))

    def p_sign(self, sign: float) -> float:
        """One-sided p: small where the value has this sign (1 or -1)."""
        return self._above(sign * self.value)

    def detectable(self, level: float = 0.95, power: float = 0.8) -> float:
        """The minimum detectable effect: the smallest true value found with this power."""
        quantiles = stdtrit(self.df, 0.5 + level / 2) + stdtrit(self.df, power)
        return float(quantiles) * self.error

    def _above(self, distance: float) -> float:
        """P that t exceeds a distance, given in the unit of the value."""
        if self.variance == 0:
            return 0.5 if distance == 0 else float(distance < 0)
        return float(stdtr(self.df, -distance / self.error))


def summed(value: float, parts: Iterable[Part], shared: float = 0.0) -> Estimate:
    """An estimate whose variance is the sum of `parts` less `shared`, what they count more than
    once.

    The variance is never below the largest part. Degrees of freedom follow Satterthwaite (1946),
    and are at least the fewest of any part. ValueError: no part, or one with less than one degree
    of freedom.
    """
    found = list(parts)
    if not found or min(df for _, df in found) < 1:
        raise ValueError("expected parts of one degree of freedom at least")
    variance = max(sum(part for part, _ in found) - shared, *(part for part, _ in found), 0.0)
    below = sum(part**2 / df for part, df in found)
    fewest = min(df for _, df in found)
    return Estimate(
        float(value), float(variance), max(variance**2 / below, fewest) if below > 0 else fewest
    )


@dataclass(frozen=True)
class Facet:
    """A random facet: for each level, the label of the list it was drawn for (a single label if
    there is one list).
    """

    lists: Sequence[str | int]

    @classmethod
    def of(cls, levels: int) -> "Facet":
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


def crossed(statistic: Callable[..., float], facets: Sequence[Facet]) -> Estimate:
    """Estimate a statistic of scores over crossed random facets, by jackknife.

    The variance is the sum of the jackknives over each facet, less those over each pair of facets,
    whose variance two facets share. `statistic` must be linear in the scores; it takes one mask
    [levels] per facet. ValueError: a list has one level.
    Source: docs/formulas.md; for two facets exactly Brennan's variance of a mean (2001, section
    5.1).
    """
    kept = [np.ones(len(facet.lists), dtype=np.bool_) for facet in facets]
    lists = [facet.members() for facet in facets]
    if any(len(levels) < 2 for own in lists for levels in own):
        raise ValueError("every list of a facet needs two levels at least")

    def without(*left_out: tuple[int, int]) -> float:
        masks = list(kept)
        for facet, level in left_out:
            masks[facet] = kept[facet].copy()
            masks[facet][level] = False
        return float(statistic(*masks))

    parts = []
    for at, facet in enumerate(facets):
        own = 0.0
        for levels in lists[at]:
            found = np.array([without((at, level)) for level in levels])
            own += _factor(levels) * float(((found - found.mean()) ** 2).sum())
        parts.append((own, float(facet.df)))
    shared = 0.0
    for (one, of_one), (other, of_other) in combinations(enumerate(lists), 2):
        for rows, columns in product(of_one, of_other):
            both = np.array(
                [[without((one, row), (other, column)) for column in columns] for row in rows]
            )
            shared += _factor(rows) * _factor(columns) * float((_doubly_centred(both) ** 2).sum())
    return summed(statistic(*kept), parts, shared)


def _factor(levels: NDArray[np.intp]) -> float:
    return (len(levels) - 1) / len(levels)


@dataclass(frozen=True)
class Paired:
    """The effect of a manipulation compared with paired placebos: the same manipulation without the
    construct.
    """

    mean: float
    """Mean effect of the placebo wordings."""
    difference: Estimate
    """Effect minus placebo."""
    half: Estimate
    """Half of the effect minus placebo: its sign is opposite to the effect's where placebos do more
    than half."""

    def specific(self, effect: Estimate) -> Estimate:
        """The part of the effect that placebos lack."""
        return self.difference

    def p_half(self, effect: Estimate) -> float:
        """P of the test that placebos do more than half of the effect: small where they do."""
        return self.half.p_sign(-1 if effect.value > 0 else 1)


def paired(effects: ArrayLike, placebos: ArrayLike) -> tuple[Estimate, Paired]:
    """Compare wordings of a manipulation with placebo wordings on the same units: the mean effect,
    and the comparison.

    Both inputs are [units, wordings]: the change of each unit under each wording. Both sets of
    wordings are taken as drawn with equal spread, so their variance is pooled. ValueError: units
    differ, or there are fewer than two units, or fewer than three wordings in all.
    """
    real, other = np.asarray(effects, dtype=np.float64), np.asarray(placebos, dtype=np.float64)
    if real.ndim != 2 or other.ndim != 2 or len(real) != len(other) or len(real) < 2:
        raise ValueError("expected two tables of the same units, two at least")
    n, m, k = len(real), real.shape[1], other.shape[1]
    df = m + k - 2
    if min(m, k) < 1 or df < 1:
        raise ValueError(f"found {m} wordings and {k} placebos, expected three in all")
    wordings = sum(float(((x.mean(axis=0) - x.mean()) ** 2).sum()) for x in (real, other)) / df
    rest = sum(float((_doubly_centred(x) ** 2).sum()) for x in (real, other)) / (df * (n - 1))

    def weighted(of_real: float, of_placebo: float) -> Estimate:
        by_unit: Floats = of_real * real.mean(axis=1) - of_placebo * other.mean(axis=1)
        of_wordings = of_real**2 / m + of_placebo**2 / k
        parts = [(float(by_unit.var(ddof=1)) / n, n - 1.0), (wordings * of_wordings, float(df))]
        return summed(float(by_unit.mean()), parts, rest * of_wordings / n)

    return weighted(1, 0), Paired(float(other.mean()), weighted(1, 1), weighted(0.5, 1))


def _doubly_centred(x: Floats) -> Floats:
    found: Floats = x - x.mean(axis=0) - x.mean(axis=1, keepdims=True) + x.mean()
    return found


@dataclass(frozen=True)
class Lists:
    """Placebo values of unpaired word lists that lack the construct; their signs have no
    meaning.
    """

    values: Sequence[float]
    """One value per placebo list."""
    of_words: float
    """Variance over the words of one list, in squared units of the values."""
    words: int
    """Number of words in a list."""
    pairs: int = 1
    """Number of pairs of real lists that the effect is averaged over."""

    def specific(self, effect: Estimate) -> Estimate:
        """The effect, its variance increased by that between lists that lack the construct."""
        own = float(np.var(self.values, ddof=1))
        beyond_words = max(0.0, own - self.of_words / self.words)
        return Estimate(
            effect.value, effect.variance + 2 / self.pairs * beyond_words, len(self.values) - 1.0
        )

    def typical(self) -> float:
        """Typical size of a placebo effect: the SD of a mean over `pairs` differences of two
        placebo lists.
        """
        return math.sqrt(2 / self.pairs) * float(np.std(self.values, ddof=1))

    def p_half(self, effect: Estimate) -> float:
        """P of the null that placebos do half of the effect: small where they do more than half.

        A normal test of the log of the ratio of twice the typical placebo size to the effect, with
        the delta method's error.
        """
        size, typical = abs(effect.value), self.typical()
        if size == 0 or typical == 0:
            return float(typical == 0)
        error = math.sqrt(1 / (2 * (len(self.values) - 1)) + effect.variance / effect.value**2)
        return float(ndtr(-math.log(2 * typical / size) / error))


Effect = tuple[str, ...]
"""The facets of an effect, in the order of the axes: ("attribute", "template") is their
interaction."""


@dataclass(frozen=True)
class Components:
    """Variance components of a fully crossed design with one score per cell and all facets
    random.
    """

    mean_squares: Mapping[Effect, float]
    degrees: Mapping[Effect, int]
    """Degrees of freedom."""
    variances: Mapping[Effect, float]
    """Estimates; negative ones are kept, since they show that the effect is lost in noise."""


def components(x: ArrayLike, facets: Sequence[str]) -> Components:
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
    squares, cells = dict[Effect, float](), dict[Effect, int]()
    for effect in _effects(facets):
        others = tuple(axis for axis, facet in enumerate(facets) if facet not in effect)
        cells[effect] = math.prod(scores.shape[axis] for axis in others)
        squares[effect] = float((np.asarray(scores.mean(axis=others)) ** 2).sum() * cells[effect])
    mean_squares, degrees, variances = (
        dict[Effect, float](),
        dict[Effect, int](),
        dict[Effect, float](),
    )
    for effect in list(squares)[1:]:
        of = [(-1) ** (len(effect) - len(part)) * squares[part] for part in _effects(effect)]
        degrees[effect] = math.prod(levels[facet] - 1 for facet in effect)
        mean_squares[effect] = sum(of) / degrees[effect]
    for effect in mean_squares:
        above = {
            other: square for other, square in mean_squares.items() if set(effect) <= set(other)
        }
        signed = [(-1) ** (len(other) - len(effect)) * square for other, square in above.items()]
        variances[effect] = sum(signed) / cells[effect]
    return Components(mean_squares, degrees, variances)


def _effects(facets: Sequence[str]) -> Iterator[Effect]:
    """Every subset of facets, the empty one first."""
    return chain.from_iterable(combinations(facets, size) for size in range(len(facets) + 1))


@dataclass(frozen=True)
class Difference:
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
        at = {effect: max(variance, 0.0) for effect, variance in self.variances.items()}
        of_words = 2 * (at["unit", "word"] + at["unit", "template", "word"] / templates) / words
        error = at["unit", "template"] / templates + of_words
        universe = at["unit",]
        return universe / (universe + error) if universe + error > 0 else math.nan

    def interval(self, level: float = 0.95) -> Interval:
        """The mean with a t interval, degrees of freedom by Satterthwaite (1946).

        Ends are NaN where the estimated variance of the mean is not positive.
        """
        check_level(level)
        variance = sum(coefficient * square for coefficient, square, _ in self._parts)
        if variance <= 0:
            return Interval(self.mean, math.nan, math.nan)
        degrees = variance**2 / sum(
            (coefficient * square) ** 2 / df for coefficient, square, df in self._parts
        )
        return Estimate(self.mean, variance, degrees).interval(level)


def difference_of_groups(x: ArrayLike, groups: ArrayLike) -> Difference:
    """The mean difference between two groups of words; units, templates and words are all random.

    `x`: [units, templates, words] scores, fully crossed. `groups`: [words], 1 for the first group,
    -1 for the other; of equal size, at least two words each. ValueError where these do not fit, or
    a score is not finite.
    Source: the mean squares of Brennan (2001) with words nested in fixed groups.
    """
    scores, signs = np.asarray(x, dtype=np.float64), np.asarray(groups)
    if (
        scores.ndim != 3
        or signs.shape != scores.shape[2:]
        or set(signs.tolist()) != {1, -1}
        or signs.sum() != 0
    ):
        raise ValueError(
            "expected scores of units x templates x words, and words in two groups of equal size"
        )
    words = scores.shape[2] // 2
    each = [
        components(scores[:, :, signs == sign], ("unit", "template", "word")) for sign in (1, -1)
    ]
    bias = scores[:, :, signs == 1].mean(axis=2) - scores[:, :, signs == -1].mean(axis=2)
    of_bias = components(bias, ("unit", "template"))
    of_words = {
        of: sum(one.variances[of] for one in each) / 2 for of in each[0].variances if "word" in of
    }
    # The variance over words enters the bias of every unit and template twice, once for each group.
    of_both = {
        of: own - 2 / words * of_words[(*of, "word")] for of, own in of_bias.variances.items()
    }
    squares = of_bias.mean_squares.items()
    parts = [
        ((-1) ** (len(of) + 1) / bias.size, square, of_bias.degrees[of]) for of, square in squares
    ]
    # That of the words' main effect is in no mean square of the bias, since it shifts all cells
    # alike.
    for effect in of_words:
        pooled = sum(one.mean_squares[effect] for one in each) / 2
        parts.append(
            (
                (-1) ** (len(effect) + 1) * 2 / (words * bias.size),
                pooled,
                2 * each[0].degrees[effect],
            )
        )
    return Difference(float(bias.mean()), {**of_both, **of_words}, parts)

"""How far a figure would be another one with other units, templates, words: variance over crossed random facets.

A facet is random if its levels could have been others of their kind; intervals that take one facet alone as random
cover .61 to .84 where there are three (docs/controls.md). Last, components of the variance (generalizability theory).
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, product

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from evenruler.measurement.checks import Floats, check_level
from evenruler.measurement.resampling import Interval

Kept = NDArray[np.bool_]
"""[levels] of a facet: which are taken."""

Part = tuple[float, float]
"""A variance, and the degrees of freedom that it was estimated with."""


@dataclass(frozen=True)
class Estimate:
    """A number with the variance that it has over what could have been another, in its unit and its square."""

    value: float
    variance: float
    df: float
    """Of t."""

    @property
    def error(self) -> float:
        """The standard error."""
        return math.sqrt(self.variance)

    def interval(self, level: float = 0.95) -> Interval:
        """Of t. Where the variance is 0, the value alone."""
        check_level(level)
        half = float(stats.t.ppf(0.5 + level / 2, self.df)) * self.error
        return Interval(self.value, self.value - half, self.value + half)

    def p(self) -> float:
        """Two-sided, that the value would be as far from 0 if 0 were true; 1 for 0 without variance."""
        return min(1.0, 2 * self._above(abs(self.value)))

    def p_within(self, bound: float) -> float:
        """Small where it surely lies between -bound and bound: two one-sided tests, Schuirmann (1987)."""
        return max(self._above(bound - self.value), self._above(bound + self.value))

    def p_sign(self, sign: float) -> float:
        """One-sided: small where the value is surely of this sign, 1 or -1."""
        return self._above(sign * self.value)

    def detectable(self, level: float = 0.95, power: float = 0.8) -> float:
        """The smallest true value that would be found in that share of cases (MDE)."""
        quantiles = stats.t.ppf(0.5 + level / 2, self.df) + stats.t.ppf(power, self.df)
        return float(quantiles) * self.error

    def _above(self, distance: float) -> float:
        """P that t exceeds a distance in this unit."""
        if self.variance == 0:
            return 0.5 if distance == 0 else float(distance < 0)
        return float(stats.t.sf(distance / self.error, self.df))


def summed(value: float, parts: Iterable[Part], shared: float = 0.0) -> Estimate:
    """An estimate whose variance is a sum of parts, less what these hold more than once, `shared`.

    The sum never falls below its largest part. Degrees of freedom are those of Satterthwaite (1946), at least the
    fewest of a part. ValueError: there is no part, or one has less than one degree of freedom.
    """
    found = list(parts)
    if not found or min(df for _, df in found) < 1:
        raise ValueError("expected parts of one degree of freedom at least")
    variance = max(sum(part for part, _ in found) - shared, *(part for part, _ in found), 0.0)
    below = sum(part**2 / df for part, df in found)
    fewest = min(df for _, df in found)
    return Estimate(float(value), float(variance), max(variance**2 / below, fewest) if below > 0 else fewest)


@dataclass(frozen=True)
class Facet:
    """A random facet: a label a level, of the list that the level was drawn for; one list where all are of a kind."""

    lists: Sequence[str | int]

    @classmethod
    def of(cls, levels: int) -> "Facet":
        """So many levels of one kind."""
        return cls([0] * levels)

    def members(self) -> list[NDArray[np.intp]]:
        """The levels of each list."""
        labels = np.asarray(self.lists)
        return [np.flatnonzero(labels == label) for label in dict.fromkeys(self.lists)]

    @property
    def df(self) -> int:
        """Degrees of freedom: levels less lists."""
        return len(self.lists) - len(set(self.lists))


def crossed(statistic: Callable[..., float], facets: Sequence[Facet]) -> Estimate:
    """A statistic of scores whose facets cross, each of which could have had other levels.

    By jackknives: of every facet, and of every pair of facets to take off what two of them hold both. `statistic` is
    linear in the scores and takes which levels are kept, a mask [levels] a facet. ValueError: a list has one level.
    Source: docs/controls.md; for two facets it is the variance of a mean of Brennan (2001), section 5.1, exactly.
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
            both = np.array([[without((one, row), (other, column)) for column in columns] for row in rows])
            shared += _factor(rows) * _factor(columns) * float((_doubly_centred(both) ** 2).sum())
    return summed(statistic(*kept), parts, shared)


def _factor(levels: NDArray[np.intp]) -> float:
    return (len(levels) - 1) / len(levels)


@dataclass(frozen=True)
class Paired:
    """What a manipulation does beside what the same manipulation does without the construct."""

    mean: float
    """What placebo wordings do."""
    difference: Estimate
    """Effect minus placebo."""
    half: Estimate
    """Half of the effect minus placebo: of the other sign than the effect where placebos do more than half."""

    def specific(self, effect: Estimate) -> Estimate:
        """The part of the effect that placebos lack."""
        return self.difference

    def p_half(self, effect: Estimate) -> float:
        """Small where placebos surely do more than half of the effect."""
        return self.half.p_sign(-1 if effect.value > 0 else 1)


def paired(effects: ArrayLike, placebos: ArrayLike) -> tuple[Estimate, Paired]:
    """Compare wordings of a manipulation with placebo wordings on the same units: the mean effect, and what is beside.

    Both are [units, wordings]: what each did to each unit. Wordings are drawn on both sides and spread alike, so their
    variance is pooled. ValueError: units differ, or there are fewer than two units, or than three wordings in all.
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
    """Placebo lists: what lists without the construct give, each by itself; their sign means nothing."""

    values: Sequence[float]
    """Of each list."""
    of_words: float
    """Variance over the words of one list, in the unit of values."""
    words: int
    """In a list."""
    pairs: int = 1
    """Of real lists that the effect is the mean over."""

    def specific(self, effect: Estimate) -> Estimate:
        """The effect, with the variance that it would have if its lists were others without the construct, too."""
        own = float(np.var(self.values, ddof=1))
        beyond_words = max(0.0, own - self.of_words / self.words)
        return Estimate(effect.value, effect.variance + 2 / self.pairs * beyond_words, len(self.values) - 1.0)

    def typical(self) -> float:
        """Size of what placebos give in place of an effect: the SD of a mean of as many differences of two lists."""
        return math.sqrt(2 / self.pairs) * float(np.std(self.values, ddof=1))

    def p_half(self, effect: Estimate) -> float:
        """That placebos would do as much if they did half of the effect: small where they surely do more than half.

        Of the log of a ratio of a standard deviation and an estimate, by the delta method.
        """
        size, typical = abs(effect.value), self.typical()
        if size == 0 or typical == 0:
            return float(typical == 0)
        error = math.sqrt(1 / (2 * (len(self.values) - 1)) + effect.variance / effect.value**2)
        return float(stats.norm.sf(math.log(2 * typical / size) / error))


Effect = tuple[str, ...]
"""The facets that an effect belongs to, in the order of the axes: ("attribute", "template") is their interaction."""


@dataclass(frozen=True)
class Components:
    """Of a design in which every level of a facet meets every level of the others, one score a cell; all random."""

    mean_squares: Mapping[Effect, float]
    degrees: Mapping[Effect, int]
    """Of freedom."""
    variances: Mapping[Effect, float]
    """Estimated; one below 0 stays as it is, for it says that the effect is lost in noise."""


def components(x: ArrayLike, facets: Sequence[str]) -> Components:
    """Variance components by analysis of variance, of one score a cell; an axis a facet, of two levels at least.

    ValueError: names do not fit the axes, a facet has a single level, or a score is not a number.
    Source: Brennan (2001), Generalizability Theory, chapter 3 and appendix B.
    """
    scores = np.asarray(x, dtype=np.float64)
    if scores.ndim != len(facets) or len(set(facets)) != len(facets) or min(scores.shape, default=0) < 2:
        raise ValueError(f"expected {len(facets)} axes of at least two levels, got the shape {scores.shape}")
    if not np.isfinite(scores).all():
        raise ValueError("scores must be finite")
    levels = dict(zip(facets, scores.shape, strict=True))
    # Sums over all cells of the squared mean of the levels of some facets, and of how many cells each is the mean.
    squares, cells = dict[Effect, float](), dict[Effect, int]()
    for effect in _effects(facets):
        others = tuple(axis for axis, facet in enumerate(facets) if facet not in effect)
        cells[effect] = math.prod(scores.shape[axis] for axis in others)
        squares[effect] = float((np.asarray(scores.mean(axis=others)) ** 2).sum() * cells[effect])
    mean_squares, degrees, variances = dict[Effect, float](), dict[Effect, int](), dict[Effect, float]()
    for effect in list(squares)[1:]:
        of = [(-1) ** (len(effect) - len(part)) * squares[part] for part in _effects(effect)]
        degrees[effect] = math.prod(levels[facet] - 1 for facet in effect)
        mean_squares[effect] = sum(of) / degrees[effect]
    for effect in mean_squares:
        above = {other: square for other, square in mean_squares.items() if set(effect) <= set(other)}
        signed = [(-1) ** (len(other) - len(effect)) * square for other, square in above.items()]
        variances[effect] = sum(signed) / cells[effect]
    return Components(mean_squares, degrees, variances)


def _effects(facets: Sequence[str]) -> Iterator[Effect]:
    """Every set of facets, the empty one first."""
    return chain.from_iterable(combinations(facets, size) for size in range(len(facets) + 1))


@dataclass(frozen=True)
class Difference:
    """Of the difference between two groups of words, over units and templates: where its spread comes from."""

    mean: float
    """The first group's mean minus the other's."""
    variances: Mapping[Effect, float]
    """Of the difference: unit, template and their interaction; of scores within a group: word and its interactions.
    Estimated; one below 0 stays as it is."""
    _parts: Sequence[tuple[float, float, int]]
    """Coefficient, mean square and degrees of freedom of each part of the variance of the mean."""

    def coefficient(self, templates: int, words: int) -> float:
        """How well mean differences over so many templates, and words of each group, order the units.

        The generalizability coefficient, from 0 to 1; variances below 0 count as 0. NaN where nothing varies,
        ValueError of a number below 1.
        Source: Brennan (2001), E rho squared; the words of both groups, of equal number, nested in fixed groups.
        """
        if min(templates, words) < 1:
            raise ValueError(f"found {templates} templates and {words} words, expected one of each at least")
        at = {effect: max(variance, 0.0) for effect, variance in self.variances.items()}
        of_words = 2 * (at["unit", "word"] + at["unit", "template", "word"] / templates) / words
        error = at["unit", "template"] / templates + of_words
        universe = at["unit",]
        return universe / (universe + error) if universe + error > 0 else math.nan

    def interval(self, level: float = 0.95) -> Interval:
        """The mean with an interval of t with the degrees of freedom of Satterthwaite (1946).

        Ends are NaN where no variance of the mean is left after noise was taken off.
        """
        check_level(level)
        variance = sum(coefficient * square for coefficient, square, _ in self._parts)
        if variance <= 0:
            return Interval(self.mean, math.nan, math.nan)
        degrees = variance**2 / sum((coefficient * square) ** 2 / df for coefficient, square, df in self._parts)
        return Estimate(self.mean, variance, degrees).interval(level)


def difference_of_groups(x: ArrayLike, groups: ArrayLike) -> Difference:
    """The mean difference between two groups of words, over units and templates that could all have been others.

    `x`: [units, templates, words] scores; every template was asked of every unit with every word. `groups`: [words] 1
    for the first group, -1 for the other; of equal size, two at least. ValueError where these do not fit, or a score is
    not a number.
    Source: the mean squares of Brennan (2001) with words nested in fixed groups.
    """
    scores, signs = np.asarray(x, dtype=np.float64), np.asarray(groups)
    if scores.ndim != 3 or signs.shape != scores.shape[2:] or set(signs.tolist()) != {1, -1} or signs.sum() != 0:
        raise ValueError("expected scores of units x templates x words, and words in two groups of equal size")
    words = scores.shape[2] // 2
    each = [components(scores[:, :, signs == sign], ("unit", "template", "word")) for sign in (1, -1)]
    bias = scores[:, :, signs == 1].mean(axis=2) - scores[:, :, signs == -1].mean(axis=2)
    of_bias = components(bias, ("unit", "template"))
    of_words = {of: sum(one.variances[of] for one in each) / 2 for of in each[0].variances if "word" in of}
    # The spread of words shows in the bias of every unit and template, twice: once of each group.
    of_both = {of: own - 2 / words * of_words[(*of, "word")] for of, own in of_bias.variances.items()}
    squares = of_bias.mean_squares.items()
    parts = [((-1) ** (len(of) + 1) / bias.size, square, of_bias.degrees[of]) for of, square in squares]
    # That of the words themselves is in no mean square of the bias, for it moves all of it alike.
    for effect in of_words:
        pooled = sum(one.mean_squares[effect] for one in each) / 2
        parts.append(((-1) ** (len(effect) + 1) * 2 / (words * bias.size), pooled, 2 * each[0].degrees[effect]))
    return Difference(float(bias.mean()), {**of_both, **of_words}, parts)

"""Where the spread of scores comes from: variance components of crossed facets (generalizability theory)."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations

import numpy as np
from numpy.typing import ArrayLike

from evenruler.measurement.checks import check_level
from evenruler.measurement.facets import Estimate
from evenruler.measurement.resampling import Interval

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

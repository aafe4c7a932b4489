"""Where the spread of scores comes from: variance components of crossed facets (generalizability theory)."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from evenruler.measurement.checks import Floats, check_level
from evenruler.measurement.resampling import Interval

Effect = tuple[str, ...]
"""The facets that an effect belongs to, in the order of the axes: ("attribute", "template") is their interaction."""


@dataclass(frozen=True)
class Components:
    """Of a design in which every level of a facet meets every level of the others, one score a cell; all random."""

    sizes: Mapping[str, int]
    """Levels of each facet."""
    mean_squares: Mapping[Effect, float]
    degrees: Mapping[Effect, int]
    """Of freedom."""
    variances: Mapping[Effect, float]
    """Estimated; one below 0 stays as it is, for it says that the effect is lost in noise."""

    def coefficient(self, of: str, **levels: int) -> float:
        """How well means over the other facets order the levels of one: the generalizability coefficient.

        Args:
            of: The facet whose levels are told apart, as attributes.
            **levels: By other facet, how many levels a mean is over; as many as there are by default.

        Returns:
            From 0 to 1; variances below 0 count as 0. NaN where nothing varies.

        Raises:
            ValueError: There is no such facet, or a number is below 1.

        Source: Brennan (2001), E rho squared.
        """
        unknown = {of, *levels} - set(self.sizes)
        if unknown or min(levels.values(), default=1) < 1:
            raise ValueError(f"facets are {', '.join(self.sizes)}, each with a level at least")
        wanted = {**self.sizes, **levels}
        universe = max(self.variances[(of,)], 0.0)
        error = sum(
            max(variance, 0.0) / math.prod(wanted[facet] for facet in effect if facet != of)
            for effect, variance in self.variances.items()
            if of in effect and effect != (of,)
        )
        return universe / (universe + error) if universe + error > 0 else math.nan


def components(x: ArrayLike, facets: Sequence[str]) -> Components:
    """Variance components by analysis of variance.

    Args:
        x: One score a cell; an axis a facet, each of two levels at least.
        facets: Names of the axes.

    Raises:
        ValueError: Names do not fit the axes, a facet has a single level, or a score is not a number.

    Source: Brennan (2001), Generalizability Theory, chapter 3 and appendix B.
    """
    scores = np.asarray(x, dtype=np.float64)
    if scores.ndim != len(facets) or len(set(facets)) != len(facets) or min(scores.shape, default=0) < 2:
        raise ValueError(f"expected {len(facets)} axes of at least two levels, got the shape {scores.shape}")
    if not np.isfinite(scores).all():
        raise ValueError("scores must be finite")
    squares = {effect: _square(scores, effect) for effect in [(), *_effects(range(scores.ndim))]}
    mean_squares, degrees = {}, {}
    for effect in _effects(range(scores.ndim)):
        of = [(-1) ** (len(effect) - len(part)) * squares[part] for part in [(), *_effects(effect)]]
        degrees[effect] = math.prod(scores.shape[axis] - 1 for axis in effect)
        mean_squares[effect] = sum(of) / degrees[effect]
    variances = {effect: _variance(effect, mean_squares, scores.shape) for effect in mean_squares}

    def named(values: Mapping[tuple[int, ...], float]) -> dict[Effect, float]:
        return {tuple(facets[axis] for axis in effect): value for effect, value in values.items()}

    return Components(
        dict(zip(facets, scores.shape, strict=True)),
        named(mean_squares),
        {effect: int(value) for effect, value in named(degrees).items()},
        named(variances),
    )


def _effects(axes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Every set of axes but the empty one."""
    return chain.from_iterable(combinations(axes, size) for size in range(1, len(axes) + 1))


def _square(scores: Floats, effect: tuple[int, ...]) -> float:
    """Sum over all cells of the squared mean of the levels of some axes."""
    others = tuple(axis for axis in range(scores.ndim) if axis not in effect)
    means = scores.mean(axis=others) if others else scores
    return float((np.asarray(means) ** 2).sum() * math.prod(scores.shape[axis] for axis in others))


def _variance(effect: tuple[int, ...], mean_squares: Mapping[tuple[int, ...], float], shape: tuple[int, ...]) -> float:
    above = {other: square for other, square in mean_squares.items() if set(effect) <= set(other)}
    sum_of: float = sum((-1) ** (len(other) - len(effect)) * square for other, square in above.items())
    cells = math.prod(size for axis, size in enumerate(shape) if axis not in effect)
    return sum_of / cells


def difference_of_groups(x: ArrayLike, groups: ArrayLike, level: float = 0.95) -> Interval:
    """The mean difference between two groups of words, over units and templates that could all have been others.

    Args:
        x: [units, templates, words] scores; every template was asked of every unit with every word.
        groups: [words] 1 for the first group, -1 for the other; of equal size, two at least.
        level: Of the interval.

    Returns:
        The first group's mean minus the other's, with an interval of t with Satterthwaite's degrees of freedom. Its
        ends are NaN where no variance of the mean is left after noise was taken off.

    Raises:
        ValueError: Shapes do not fit, groups are not of equal size, or a score is not a number.

    Source: Satterthwaite (1946); the mean squares of Brennan (2001) with words nested in fixed groups.
    """
    check_level(level)
    scores, signs = np.asarray(x, dtype=np.float64), np.asarray(groups)
    if scores.ndim != 3 or signs.shape != scores.shape[2:] or set(signs.tolist()) != {1, -1} or signs.sum() != 0:
        raise ValueError("expected scores of units x templates x words, and words in two groups of equal size")
    words = scores.shape[2] // 2
    each = [components(scores[:, :, signs == sign], ("unit", "template", "word")) for sign in (1, -1)]
    bias = scores[:, :, signs == 1].mean(axis=2) - scores[:, :, signs == -1].mean(axis=2)
    of_bias = components(bias, ("unit", "template"))
    cells = bias.size
    # Coefficient, mean square and degrees of freedom of each part of the variance of the mean. The spread of the words
    # themselves is in no mean square of the bias, for it moves all of it alike.
    parts = [
        ((-1) ** (len(effect) + 1) / cells, square, of_bias.degrees[effect])
        for effect, square in of_bias.mean_squares.items()
    ]
    for effect in (("word",), ("unit", "word"), ("template", "word"), ("unit", "template", "word")):
        pooled = sum(one.mean_squares[effect] for one in each) / 2
        sign = (-1) ** (len(effect) + 1)
        parts.append((sign * 2 / (words * cells), pooled, 2 * each[0].degrees[effect]))
    variance = sum(coefficient * square for coefficient, square, _ in parts)
    mean = float(bias.mean())
    if variance <= 0:
        return Interval(mean, math.nan, math.nan)
    degrees = variance**2 / sum((coefficient * square) ** 2 / df for coefficient, square, df in parts)
    half = float(stats.t.ppf(0.5 + level / 2, degrees) * math.sqrt(variance))
    return Interval(mean, mean - half, mean + half)

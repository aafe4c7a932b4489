"""The templates of a run that go together best: chosen as a set, out of all that any generation measured.

The paper takes the elites of the last population, each for its own fitness there; so near copies of one template, and
one that has drifted away from the construct, can make a set. Here a set is judged as one.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from evenruler.instruments.probes.declare import Evolve, FitnessWeights, halves
from evenruler.instruments.probes.evolve.population import Generation, Template
from evenruler.measurement import item_statistics
from evenruler.measurement.checks import correlation_matrix
from evenruler.tables.rounding import rounded
from evenruler.text import words

MOST_SETS: Final = 300_000
"""So many sets are all compared; of more, a search by single exchanges finds one that no exchange betters."""

COMMON_LENGTH: Final = 8
"""Templates at which reliability is compared (Spearman-Brown)."""

FAR = "too far from the construct"
REVERSED = "reversed: it falls where the others rise"
CONSTANT = "it does not tell the attributes apart"

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Pool:
    """Every template that a run measured, in the order of their slugs."""

    templates: tuple[Template, ...]
    roots: tuple[str, ...]
    """[n] the template of the start that each goes back to."""
    biases: Floats
    """[attributes, n]"""
    cosine: Floats
    """[n, n] of embeddings."""
    jaccard: Floats
    """[n, n] of words."""
    closeness: Floats
    """[n] cosine with the mean direction of the start's templates."""

    def of(self, attributes: Sequence[int]) -> "Pool":
        """The same, measured with some of the attributes."""
        return Pool(
            self.templates, self.roots, self.biases[list(attributes)], self.cosine, self.jaccard, self.closeness
        )

    def item_rest(self) -> Floats:
        """[n] correlation of each with the sum of all others; NaN where it has none."""
        if len(self.biases) < 2:
            return np.full(len(self.templates), math.nan)
        return _rounded(item_statistics(self.biases).item_rest_correlation)


def pool_of(generations: Sequence[Generation], embed: Callable[[list[str]], NDArray[np.float32]]) -> Pool:
    """All templates of a run.

    Args:
        generations: Of the run, from the first.
        embed: [texts, dimensions] of texts of templates.
    """
    measured = {t: m for each in generations for t, m in zip(each.population, each.measured, strict=True)}
    templates = sorted(measured, key=lambda template: template.slug)
    known = {template.slug: template for template in templates}
    vectors = np.asarray(embed([template.text for template in templates]), dtype=np.float64)
    directions = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    start = directions[[template.parent is None for template in templates]].mean(axis=0)
    tokens = [words(template.text) for template in templates]
    return Pool(
        templates=tuple(templates),
        roots=tuple(_root(template, known) for template in templates),
        biases=np.array([measured[template].biases for template in templates]).T,
        cosine=_rounded(directions @ directions.T),
        jaccard=_rounded(np.array([[len(a & b) / max(1, len(a | b)) for b in tokens] for a in tokens])),
        closeness=_rounded(directions @ start / np.linalg.norm(start)),
    )


def refusals(pool: Pool, floor: float) -> list[str | None]:
    """Why each template may be in no set, by itself; None where it may.

    Args:
        pool: All templates.
        floor: The least closeness to the construct.
    """
    found: list[str | None] = []
    for close, rest in zip(pool.closeness, pool.item_rest(), strict=True):
        reason = FAR if close < floor else CONSTANT if math.isnan(rest) else REVERSED if rest < 0 else None
        found.append(reason)
    return found


@dataclass(frozen=True)
class Choices:
    """What is chosen of a pool."""

    refused: list[str | None]
    """[n] why a template may be in no set."""
    sets: Mapping[str, tuple[int, ...]]
    """Places in the pool by columns of `schemas.CHOICES`; empty where no template may be chosen."""


def choices(pool: Pool, attributes: Sequence[str], settings: Evolve) -> Choices:
    """The set that is published and the best of the start, by all attributes and by each half of them.

    A half decides everything that rests on biases by itself, also which templates are reversed.

    Args:
        pool: All templates.
        attributes: Slugs, in the order of the pool.
        settings: How many are chosen, of which weights and how close to the construct.
    """
    sets = {}
    for suffix, own in zip(("", "_by_first", "_by_second"), (attributes, *halves(attributes)), strict=True):
        part = pool.of([attributes.index(slug) for slug in own])
        allowed = [i for i, reason in enumerate(refusals(part, settings.closeness)) if reason is None]
        start = [i for i in allowed if pool.templates[i].parent is None]
        for name, candidates in (("chosen", allowed), ("best_start", start)):
            sets[f"{name}{suffix}"] = choose(part, candidates, settings.elites, settings.weights)
    return Choices(refusals(pool, settings.closeness), sets)


def choose(pool: Pool, allowed: Sequence[int], size: int, weights: FitnessWeights) -> tuple[int, ...]:
    """The set of templates, at most one of a lineage, that is worth most (`worth`).

    Of at most `MOST_SETS` sets all are compared. Of more, the search begins with the first of each lineage by slug and
    takes the best exchange of one template for another until none is better; another set may then be better still.

    Args:
        pool: All templates.
        allowed: Those that may be chosen, in the order of the pool.
        size: So many, or as many as there are lineages.
        weights: What each part counts.

    Returns:
        Their places in the pool, in order; of equal sets the first by slugs.
    """
    size = min(size, len({pool.roots[i] for i in allowed}))
    if math.comb(len(allowed), size) <= MOST_SETS:
        sets = _distinct(pool, combinations(sorted(allowed), size))
        return sets[int(np.argmax(worth(pool, sets, weights)))] if size else ()
    firsts = {pool.roots[i]: i for i in sorted(allowed, reverse=True)}
    best = tuple(sorted(firsts.values())[:size])
    while True:
        sets = [best, *_distinct(pool, _exchanged(best, sorted(allowed)))]
        better = sets[int(np.argmax(worth(pool, sets, weights)))]
        if better == best:
            return best
        best = better


def worth(pool: Pool, sets: Sequence[tuple[int, ...]], weights: FitnessWeights) -> Floats:
    """How good sets of the same size are.

    Args:
        pool: All templates.
        sets: Places in the pool.
        weights: What each part counts.

    Returns:
        [sets] weighted sum of alpha at `COMMON_LENGTH` templates by the mean correlation of two (-1 where there is
        none), mean semantic and mean lexical diversity, each as it is; 0 for sets of one. The gradient focus of a
        template has no part in how templates go together.
    """
    if not sets or len(sets[0]) < 2:
        return np.zeros(len(sets))
    pairs = np.array([list(combinations(chosen, 2)) for chosen in sets])
    one, other = pairs[:, :, 0], pairs[:, :, 1]
    r, cosine, jaccard = (
        matrix[one, other].mean(axis=1) for matrix in (correlation_matrix(pool.biases), pool.cosine, pool.jaccard)
    )
    divisor = 1 + (COMMON_LENGTH - 1) * r
    alpha = np.where(divisor > 0, COMMON_LENGTH * r / np.where(divisor > 0, divisor, 1), -1).clip(-1, 1)
    return _rounded(
        weights.alpha * alpha + weights.semantic_diversity * (1 - cosine) + weights.lexical_diversity * (1 - jaccard)
    )


def _root(template: Template, known: dict[str, Template]) -> str:
    while template.parent is not None:
        template = known[template.parent]
    return template.slug


def _distinct(pool: Pool, sets: Iterable[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """The sets in which no two are of a lineage."""
    return [chosen for chosen in sets if len({pool.roots[i] for i in chosen}) == len(chosen)]


def _exchanged(chosen: tuple[int, ...], allowed: Sequence[int]) -> list[tuple[int, ...]]:
    """The sets that differ in one template."""
    others = [i for i in allowed if i not in chosen]
    return [tuple(sorted({*chosen, new} - {old})) for old in chosen for new in others]


def _rounded(values: Floats) -> Floats:
    """Without last bits."""
    return np.vectorize(rounded, otypes=[np.float64])(values) if values.size else values

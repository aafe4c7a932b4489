"""Fitness of templates (PMPO, section 3.2.1, equation 2): within a population, as parents, and
jointly as a set.

The paper takes the elites of the last population, each for its own fitness there; so a set can
consist of near copies of one template, and of templates that drifted off the construct. Here the
set is chosen from the templates of all generations, and judged as a whole.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from evenruler.instruments.probes.declare.settings import (
    COMMON_LENGTH,
    Evolve,
    FitnessWeights,
    split_attributes,
)
from evenruler.instruments.probes.evolve.population import (
    Generation,
    Template,
    TemplateMeasurement,
    WordGradient,
)
from evenruler.measurement import item_statistics, lexical_diversity, semantic_diversity
from evenruler.measurement.inputs import Floats, correlation_matrix
from evenruler.tables.frames import round_significant, without_last_bits
from evenruler.text import distinct_words

RAW = ("alpha_contribution", "gradient_focus", "semantic_diversity", "lexical_diversity")

DECIMALS = 12
"""Values that agree in these decimals are equal: the rest is rounding, and must not decide
anything."""


def raw_fitness_parts(
    biases: ArrayLike,
    gradients: Sequence[Sequence[float]],
    embeddings: ArrayLike,
    token_sets: Sequence[frozenset[str]],
    clip: float | None,
) -> pd.DataFrame:
    """The four parts of the fitness of each template of a population, not normalised, without their
    last bits.

    From `biases` [attributes, n] signed by keying and `gradients` [n] of each word, both in nats;
    `embeddings` [n, dimensions] of texts; `token_sets` [n] of distinct words, lower-cased, without
    slots. Alpha is clipped to -`clip` and `clip`, if that is a number.

    One row per template; in every column more is better. `alpha_contribution`: minus Cronbach's
    alpha of the others; an undefined alpha counts as -clip, or as the least of the others and 0,
    since without this template nothing is measured. `gradient_focus`: variance (ddof 0) of its
    gradients over words, square nats; 0 for fewer than two words. `semantic_diversity`,
    `lexical_diversity`: as in `evenruler.measurement`; 0 for a single template. ValueError where
    arguments are not finite, or differ in their number of templates.
    """
    matrix = np.asarray(biases, dtype=np.float64)
    rows = np.asarray(embeddings, dtype=np.float64)
    sizes = {matrix.shape[1], len(gradients), len(rows), len(token_sets)}
    if len(sizes) > 1:
        raise ValueError(
            f"biases, gradients, embeddings and token sets of {sorted(sizes)} templates"
        )
    gradient_focus = [
        float(np.var(of_words)) if len(of_words) > 1 else 0.0 for of_words in gradients
    ]
    semantic = np.nan_to_num(semantic_diversity(rows))
    frame = pd.DataFrame(
        {
            "alpha_contribution": _alpha_contribution(matrix, clip),
            "gradient_focus": gradient_focus,
            "semantic_diversity": semantic,
            "lexical_diversity": np.nan_to_num(lexical_diversity(token_sets)),
        }
    )
    return without_last_bits(frame)


def _alpha_contribution(biases: Floats, clip: float | None) -> Floats:
    """[n] minus Cronbach's alpha of the other templates, by `raw_fitness_parts`; `biases`:
    [attributes, n].
    """
    n_attributes, n_templates = biases.shape
    alpha_of_others = np.full(n_templates, math.nan)
    if n_attributes > 1 and n_templates > 2:
        alpha_of_others = item_statistics(biases).alpha_if_removed
    if clip is not None:
        alpha_of_others = alpha_of_others.clip(-clip, clip)
    least = np.nanmin(alpha_of_others, initial=-(clip or 0.0))
    return 0 - np.where(np.isnan(alpha_of_others), least, alpha_of_others)


def normalise_columns(frame: pd.DataFrame) -> pd.DataFrame:
    """Every column scaled to [0, 1] by its minimum and maximum; 0.5 throughout where all values are
    equal.
    """
    least = frame.min()
    spread = frame.max() - least
    size = frame.abs().max().clip(lower=1)
    equal = spread <= 10.0**-DECIMALS * size
    return ((frame - least) / spread.mask(equal)).fillna(0.5)


def fitness(frame: pd.DataFrame, weights: FitnessWeights) -> pd.DataFrame:
    """Fitness of each template of a population (PMPO, equation 2), and the contribution of each
    part.

    `frame`: the whole population, by `parts`; of `weights` only the proportions matter. One row per
    template: `alpha_part`, `gradient_part`, `semantic_part`, `lexical_part`, and `fitness`, their
    sum: in [0, 1], higher is better, relative to the population.
    """
    normal = normalise_columns(frame) / sum(dict(weights).values())
    part_weights = zip(RAW, dict(weights).values(), strict=True)  # fields of both are in one order
    contribution_by_part = {}
    for raw, weight in part_weights:
        part = raw.split("_")[0]
        contribution_by_part[f"{part}_part"] = normal[raw] * weight
    contributions = pd.DataFrame(contribution_by_part)
    return without_last_bits(contributions.assign(fitness=contributions.sum(axis=1)))


def find_hotspot(gradients: Sequence[WordGradient]) -> WordGradient | None:
    """The word that moves the bias most, the first of equals; None without words."""
    return next(iter(rank_words_by_gradient(gradients)), None)


def rank_words_by_gradient(gradients: Sequence[WordGradient]) -> list[WordGradient]:
    """Words by how far they move the bias, largest first; ties keep their order."""
    return sorted(gradients, key=lambda word: -round(word.gradient, DECIMALS))


def rank_templates(fitness: ArrayLike, templates: Sequence[Template]) -> list[int]:
    """Indices in a population, best (highest) first; ties go to the older, then to the first by
    slug.
    """
    values = np.round(np.asarray(fitness, dtype=np.float64), DECIMALS).tolist()
    by = [
        (-value, template.born, template.slug)
        for value, template in zip(values, templates, strict=True)
    ]
    return sorted(range(len(by)), key=by.__getitem__)


def tournament(ranks: Sequence[int], size: int, draw: np.random.Generator) -> int:
    """Index of a parent: the best of `size` drawn without replacement, or of all; `ranks`: by
    `ranked`, not empty.
    """
    drawn = draw.choice(len(ranks), size=min(size, len(ranks)), replace=False)
    return ranks[int(drawn.min())]


def guided_share(generation: int, generations: int, guided: tuple[float, float]) -> float:
    """Probability that a word is replaced in a generation (from 1): linear between the two values
    of `guided`.
    """
    if not 1 <= generation <= generations:
        raise ValueError(f"generation {generation} of {generations}")
    first, last = guided
    n_steps = max(1, generations - 1)
    return first + (last - first) * (generation - 1) / n_steps


MOST_SETS: Final = 300_000
"""Most sets that are compared exhaustively; for more, a search by single exchanges finds a local
optimum."""

FAR = "too far from the construct"
REVERSED = "reversed: it falls where the others rise"
CONSTANT = "it does not tell the attributes apart"


@dataclass(frozen=True, eq=False)
class CandidatePool:
    """Every template that a run measured, in the order of their slugs."""

    templates: tuple[Template, ...]
    roots: tuple[str, ...]
    """[n] the template of the start that each descends from."""
    biases: Floats
    """[attributes, n]"""
    cosine: Floats
    jaccard: Floats
    """[n, n] Jaccard similarity of words; `cosine` is that of embeddings."""
    closeness: Floats
    """[n] cosine with the mean direction of the start's templates."""

    def item_rest(self) -> Floats:
        """[n] correlation of each with the sum of all others; NaN where it has none."""
        if len(self.biases) < 2:
            return np.full(len(self.templates), math.nan)
        return _round_array(item_statistics(self.biases).item_rest_correlation)


def pool_of(
    generations: Sequence[Generation], embed: Callable[[list[str]], NDArray[np.float32]]
) -> CandidatePool:
    """All templates of a run's generations; `embed` gives [texts, dimensions] of their texts."""
    measured: dict[Template, TemplateMeasurement] = {}
    for generation in generations:
        measured.update(zip(generation.population, generation.measured, strict=True))
    templates = sorted(measured, key=lambda template: template.slug)
    template_by_slug = {template.slug: template for template in templates}
    roots: list[str] = []
    for template in templates:
        while template.parent is not None:
            template = template_by_slug[template.parent]
        roots.append(template.slug)
    vectors = np.asarray(embed([template.text for template in templates]), dtype=np.float64)
    directions = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    start = directions[[template.parent is None for template in templates]].mean(axis=0)
    closeness = directions @ start / np.linalg.norm(start)
    tokens = [distinct_words(template.text) for template in templates]
    jaccard_rows: list[list[float]] = []
    for words in tokens:
        jaccard_rows.append([_jaccard_similarity(words, other_words) for other_words in tokens])
    biases = [measured[template].biases for template in templates]
    cosine = _round_array(directions @ directions.T)
    return CandidatePool(
        templates=tuple(templates),
        roots=tuple(roots),
        biases=np.array(biases).T,
        cosine=cosine,
        jaccard=_round_array(np.array(jaccard_rows)),
        closeness=_round_array(closeness),
    )


def _jaccard_similarity(words: frozenset[str], other_words: frozenset[str]) -> float:
    """The share of the words of two texts that both have; 0 where neither has any."""
    return len(words & other_words) / max(1, len(words | other_words))


def exclusion_reasons(pool: CandidatePool, floor: float) -> list[str | None]:
    """Why each template by itself is excluded from every set; None where it is not."""
    reasons: list[str | None] = []
    for closeness, item_rest in zip(pool.closeness, pool.item_rest(), strict=True):
        if closeness < floor:
            reasons.append(FAR)
        elif math.isnan(item_rest):
            reasons.append(CONSTANT)
        else:
            reasons.append(REVERSED if item_rest < 0 else None)
    return reasons


def choose_sets(
    pool: CandidatePool,
    attributes: Sequence[str],
    settings: Evolve,
    elites: Sequence[Template] = (),
) -> dict[str, tuple[int, ...]]:
    """The published set and the best subset of the start, chosen by all attributes and by each half
    of them.

    Each half alone decides all that rests on biases, also which templates are reversed. Where
    `elites` (of the last population) are published, no half chooses them.
    `attributes`: in the order of the pool. Returns indices in the pool by column of
    `schemas.CHOICES`; empty where no template may be chosen.
    """
    sets = {}
    for suffix, deciding_slugs in zip(
        ("", "_by_first", "_by_second"), (attributes, *split_attributes(attributes)), strict=True
    ):
        part = replace(
            pool, biases=pool.biases[[attributes.index(slug) for slug in deciding_slugs]]
        )
        allowed = [
            i
            for i, reason in enumerate(exclusion_reasons(part, settings.closeness))
            if reason is None
        ]
        start = [i for i in allowed if pool.templates[i].parent is None]
        for name, candidates in (("chosen", allowed), ("best_start", start)):
            sets[f"{name}{suffix}"] = choose_best_set(
                part, candidates, settings.length, settings.weights
            )
    if settings.selection == "elites":
        sets["chosen"] = tuple(sorted(pool.templates.index(template) for template in elites))
        sets["chosen_by_first"] = sets["chosen_by_second"] = ()
    return sets


def choose_best_set(
    pool: CandidatePool, allowed: Sequence[int], size: int, weights: FitnessWeights
) -> tuple[int, ...]:
    """The set of templates with the highest `set_worth`, at most one per lineage.

    Up to `MOST_SETS` sets are all compared. Above, the search begins with the first of each lineage
    by slug and makes the best exchange of one template until none improves; a better set may exist
    then.

    `allowed`: indices that may be chosen; `size`: of the set, at most the number of lineages.
    Returns sorted indices in the pool; ties go to the first set by slugs.
    """
    allowed = sorted(allowed)
    size = min(size, len({pool.roots[i] for i in allowed}))

    def is_distinct(chosen: tuple[int, ...]) -> bool:
        """Whether no two templates are of one lineage."""
        return len({pool.roots[i] for i in chosen}) == len(chosen)

    def find_best(sets: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
        """The set with the highest worth, the first of equals."""
        return sets[int(np.argmax(set_worth(pool, sets, weights)))]

    if not size:
        return ()
    if math.comb(len(allowed), size) <= MOST_SETS:
        return find_best(list(filter(is_distinct, combinations(allowed, size))))
    firsts = {pool.roots[i]: i for i in reversed(allowed)}
    best = tuple(sorted(firsts.values())[:size])
    while True:
        candidates = [i for i in allowed if i not in best]
        exchanges: list[tuple[int, ...]] = []
        for old, new in product(best, candidates):
            exchanged = {*best, new} - {old}
            exchanges.append(tuple(sorted(exchanged)))
        better = find_best([best, *filter(is_distinct, exchanges)])
        if better == best:
            return best
        best = better


def set_worth(
    pool: CandidatePool, sets: Sequence[tuple[int, ...]], weights: FitnessWeights
) -> Floats:
    """Worth of sets of equal size, given as indices in the pool.

    [sets] weighted sum of alpha at `COMMON_LENGTH` templates from the mean inter-item correlation
    (-1 if undefined), mean semantic and mean lexical diversity, not normalised; 0 for sets of one.
    Gradient focus has no part in it.
    """
    if not sets or len(sets[0]) < 2:
        return np.zeros(len(sets))
    pairs = np.array([list(combinations(chosen, 2)) for chosen in sets])
    first_of_pair = pairs[:, :, 0]
    second_of_pair = pairs[:, :, 1]
    r, cosine, jaccard = (
        matrix[first_of_pair, second_of_pair].mean(axis=1)
        for matrix in (correlation_matrix(pool.biases), pool.cosine, pool.jaccard)
    )
    divisor = 1 + (COMMON_LENGTH - 1) * r
    is_defined = divisor > 0
    alpha = COMMON_LENGTH * r / np.where(is_defined, divisor, 1)
    alpha = np.where(is_defined, alpha, -1).clip(-1, 1)
    return _round_array(
        weights.alpha * alpha
        + weights.semantic_diversity * (1 - cosine)
        + weights.lexical_diversity * (1 - jaccard)
    )


def _round_array(values: Floats) -> Floats:
    """All numbers with `DIGITS` significant digits, so that no tie is decided by rounding error."""
    return np.vectorize(round_significant, otypes=[np.float64])(values) if values.size else values

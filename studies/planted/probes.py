"""Probes: scores of occupations that gain along a criterion, or only seem to, through the family's
`gain_headline`.

43 occupations, 16 sentences, 16 pairs of words, in nats. Where occupations are alike, 318 reference
nouns and the pairs' scores load on the same components of likeness, with loadings at random. The
components are a random rotation. Their variances fall as those of SmolLM2's scores of 43
occupations with 318 nouns do (`SPECTRUM`); the randomisation sees the nouns alone. A smooth
criterion lies by two thirds of its variance in the first eight components.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from math import log
from unittest.mock import patch

import numpy as np
from scipy.special import expit

from evenruler.instruments.probes.diagnose import gain
from evenruler.instruments.probes.diagnose.gain import Scores, gain_headline
from evenruler.measurement import slopes
from evenruler.measurement.facets import Estimate, Facet, sum_estimates
from evenruler.measurement.inputs import Floats
from evenruler.measurement.randomisation import likeness_basis
from evenruler.measurement.slopes import logit_positions
from studies.planted.cases import (
    Case,
    Numbers,
    Outcome,
    Random,
    control_of,
    heavy,
    judge_study,
    normal,
    skewed,
)

BOUND = log(2)

RANDOMISATIONS = 999

_LARGE = [2053, 1738, 1057, 875, 721, 630, 435, 361, 305, 232, 181, 173, 147, 125, 113, 100, 92]
_SMALL = [
    84,
    73,
    70,
    54,
    50,
    43,
    37,
    31,
    28,
    27,
    23,
    18,
    16,
    15,
    14,
    12,
    11,
    9,
    9,
    9,
    7,
    7,
    6,
    5,
    4,
]
SPECTRUM = np.array([*_LARGE, *_SMALL], dtype=np.float64)
"""Variances of 42 components of likeness, as shares of 10,000."""

UNITS, NOUNS, SMOOTH = len(SPECTRUM) + 1, 318, 8

SECTORS = np.repeat(np.arange(6), [15, 10, 7, 5, 4, 2])
"""The sector of each occupation."""

CRITERION_SD = 0.29
"""Of the logit of the share of men, in units of the distance from 10% to 90%."""


def standardised(x: Floats) -> Floats:
    z: Floats = (x - x.mean()) / x.std()
    return z


@dataclass(frozen=True)
class Spread:
    """Standard deviations of a model's differences between words of a pair, in nats."""

    occupations: float
    of_alike: float
    """Of occupations in next-word sentences, whose likeness is known."""
    by_sentence: float
    by_pair: float
    rest: float
    sentence_slopes: float
    pair_slopes: float


MODELS = {
    "S": Spread(0.26, 0.42, 0.30, 0.18, 0.58, 0.53, 0.27),
    "G": Spread(0.35, 0.47, 0.36, 0.23, 0.55, 0.87, 0.40),
}


NEXT_WORD = {
    "S": replace(MODELS["S"], sentence_slopes=0.25, pair_slopes=0.34),
    "G": replace(MODELS["G"], sentence_slopes=0.30, pair_slopes=0.34),
}
"""The same with slopes that scatter as those of smooth criteria do in next-word sentences."""


@dataclass(frozen=True)
class Occupations:
    """Occupations of one study, all of mean 0 and SD 1 over occupations."""

    effects: Floats
    """What moves a pair's words, without the criterion."""
    criterion: Floats
    nouns: Floats
    """[occupations, nouns], from which likeness is known."""
    frequency: Floats


def independent(random: Random, numbers: Numbers) -> Occupations:
    """Nothing is alike; likeness is that of nouns, which have nothing to do with the pairs."""
    alike = smooth(random, normal)
    effects, criterion = numbers(random, UNITS), normal(random, UNITS)
    frequency = 0.4 * criterion + 0.917 * normal(random, UNITS)
    return Occupations(standardised(effects), standardised(criterion), alike.nouns, frequency)


def smooth(random: Random, numbers: Numbers, rough_frequency: bool = True) -> Occupations:
    """Occupations are alike, in the pairs' words as in nouns, and the criterion is smooth."""
    axes = random_axes(random)
    sizes = np.sqrt(SPECTRUM)
    loadings = numbers(random, len(sizes), NOUNS)
    nouns = axes @ (sizes[:, None] * loadings)
    effects = axes @ (sizes * numbers(random, len(sizes)))
    in_first = standardised(axes[:, :SMOOTH] @ normal(random, SMOOTH))
    criterion = standardised(0.82 * in_first + 0.57 * normal(random, UNITS))
    unrelated = normal(random, UNITS)
    if not rough_frequency:
        unrelated = standardised(axes @ (sizes * normal(random, len(sizes))))
    frequency = 0.4 * criterion + 0.917 * unrelated
    return Occupations(standardised(effects), criterion, nouns, frequency)


def half_hidden(random: Random, numbers: Numbers) -> Occupations:
    """As `smooth`, but half of what makes occupations alike is unknown to the nouns.

    A reviewer's choice: pairs may share with the criterion what no reference noun has.
    """
    visible, hidden = smooth(random, numbers), smooth(random, numbers)
    effects = standardised(visible.effects + hidden.effects)
    criterion = standardised(visible.criterion + hidden.criterion)
    return replace(visible, effects=effects, criterion=criterion)


def sectors(random: Random, numbers: Numbers) -> Occupations:
    """Six sectors of unequal size, whose effects are skewed, on nouns, pairs and criterion alike.

    A reviewer's choice: components are equal in size, so that their directions are the nouns'
    accident, and few occupations (two in the smallest sector) carry a criterion.
    """

    def by_sector(columns: int) -> Floats:
        in_sectors = skewed(random, 6, columns)[SECTORS]
        return 0.82 * in_sectors + 0.57 * numbers(random, UNITS, columns)

    effects, criterion, frequency = by_sector(3).T
    return Occupations(
        standardised(effects), standardised(criterion), by_sector(NOUNS), standardised(frequency)
    )


def one_component(random: Random, numbers: Numbers) -> Occupations:
    """As `smooth`, but the criterion is the largest component by nine tenths, as keyed sets are.

    A reviewer's choice: few signs are left to randomise.
    """
    alike = smooth(random, numbers)
    first = likeness_basis(alike.nouns)[:, 0]
    criterion = standardised(3 * standardised(first) + normal(random, UNITS))
    return replace(alike, criterion=criterion)


def near_twins(random: Random, numbers: Numbers) -> Occupations:
    """Fourteen kinds of work under three titles each, and one more: titles of a kind are nearly the
    same.

    A reviewer's choice: 43 occupations are then 15.
    """
    kinds = np.append(np.repeat(np.arange(14), 3), 14)

    def by_kind(columns: int) -> Floats:
        of_kinds = numbers(random, 15, columns)[kinds]
        return of_kinds + 0.2 * numbers(random, UNITS, columns)

    effects, criterion, frequency = by_kind(3).T
    return Occupations(
        standardised(effects), standardised(criterion), by_kind(NOUNS), standardised(frequency)
    )


def wide_ends(random: Random, numbers: Numbers, in_middle: float = 1.0) -> Occupations:
    """As `smooth`, but scores scatter more the further an occupation is from the middle: by
    `in_middle` + .3 times the distance in SD.

    A reviewer's choice: signs keep sizes, but sizes go along with the criterion. They correlate
    with the distance by .16; on SmolLM2 by .12, on Gemma by .19; with nothing in the middle by .59.
    """
    alike = smooth(random, numbers)
    factors = in_middle + 0.3 * np.abs(alike.criterion)
    return replace(alike, effects=standardised(alike.effects * factors))


def random_axes(random: Random) -> Floats:
    """A random orthonormal basis of what is orthogonal to the constant."""
    return likeness_basis(random.normal(size=(UNITS, UNITS)))


@dataclass(frozen=True)
class ProbeStudy:
    """A study of pairs of words, in which nothing follows the criterion but by `gain`."""

    occupations: Callable[[Random, Numbers], Occupations] = smooth
    spread: Spread = NEXT_WORD["S"]
    numbers: Numbers = normal
    sentences: int = 16
    pairs: int = 16
    gain: float = 0.0
    follows_frequency: bool = False
    has_covariate: bool = False
    outlier: str = ""
    scale: float = 1.0
    only_words: bool = False

    def draw(self, random: Random) -> Outcome:
        """The judge's outcome; the positive control reads twice the bound, at the study's scale."""
        with quick_gains():
            test = gain_headline(self.draw_scores(random))
        test = replace(test, control=control_of(2 * BOUND * self.scale))
        outcome = judge_study(test, self.scale * self.gain)
        if self.scale == 1:
            return outcome
        # Nothing that a dull model says is large, so that nothing may be called small.
        return replace(outcome, false_below=test.is_below)

    def draw_scores(self, random: Random) -> Scores:
        """The scores of a study, with what a gain needs."""
        drawn = self.occupations(random, self.numbers)
        frequency = drawn.frequency[:, None] if self.has_covariate else None
        scores = self.scale * self._scores(random, drawn)
        logits = 2 * log(9) * CRITERION_SD * drawn.criterion
        return Scores(
            scores,
            axis=100 * expit(logits),
            poles=np.ones(self.pairs, dtype=np.int8),
            lists=["pairs"] * self.pairs,
            covariates=frequency,
            likeness=drawn.nouns,
        )

    def _scores(self, random: Random, drawn: Occupations) -> Floats:
        """[occupations, sentences, pairs] how much likelier the first word of a pair is."""
        numbers, spread = partial(self.numbers, random), self.spread
        shape = (UNITS, self.sentences, self.pairs)
        preferences = 2 * random.normal(size=(1, self.sentences, 1))
        preferences = preferences + 2 * random.normal(size=(1, 1, self.pairs))
        if self.only_words:
            return np.broadcast_to(preferences, shape).copy()
        alike = self.occupations is not independent
        effects = drawn.effects.copy()
        if self.follows_frequency:
            effects = 0.6 * drawn.frequency + 0.8 * effects
        if self.outlier == "occupation":
            sign = random.choice([-1, 1])
            effects[np.argmax(drawn.criterion)] += 6 * sign
        effects = effects * (spread.of_alike if alike else spread.occupations)
        pair_slopes = spread.pair_slopes * numbers(self.pairs)
        if self.outlier == "pair":
            pair_slopes -= 6 * spread.pair_slopes / self.pairs
            pair_slopes[0] += 6 * spread.pair_slopes
        sentence_slopes = spread.sentence_slopes * numbers(self.sentences)
        slopes = self.gain + sentence_slopes[:, None] + pair_slopes
        by_sentence = spread.by_sentence * numbers(UNITS, self.sentences, 1)
        by_pair = spread.by_pair * numbers(UNITS, 1, self.pairs)
        rest = spread.rest * numbers(*shape)
        followed = CRITERION_SD * drawn.criterion[:, None, None] * slopes
        by_unit = effects[:, None, None]
        scores: Floats = followed + by_unit + by_sentence + by_pair + rest
        return scores + preferences


@contextmanager
def quick_gains() -> Iterator[None]:
    """Let `gain_headline` take gains over facets in closed form, to the same numbers
    (tests/studies/test_planted.py), randomise 999 times and not 9,999, which is as exact in coarser
    steps, and leave out the gain that it would detect, which is no part of a verdict.
    """
    with (
        patch.object(Scores, "gain_over", estimate_gain_over),
        patch.object(gain, "RANDOMISATIONS", RANDOMISATIONS),
        patch.object(slopes, "detectable_slope", lambda *_: 0.0),
    ):
        yield


def estimate_gain_over(scores: Scores, facets: Mapping[str, Facet]) -> Estimate:
    """`Scores.gain_over` of differences of pairs, over templates and words, and over attributes
    where these are among the facets: without an attribute i, the slope is less by
    w_i e_i / (1 - h_i).
    """
    n, n_sentences, n_pairs = scores.values.shape
    columns = scores.values.reshape(n, -1)
    criterion = logit_positions(scores.axis)
    covariates = np.empty((n, 0)) if scores.covariates is None else scores.covariates
    design = np.column_stack([np.ones(n), covariates, criterion])
    orthonormal, triangle = np.linalg.qr(design)
    weights = orthonormal[:, -1] / triangle[-1, -1]
    slopes = (weights @ columns).reshape(n_sentences, n_pairs)
    sentence_df, pair_df = n_sentences - 1, n_pairs - 1
    per_sentence, per_pair = n_sentences * sentence_df, n_pairs * pair_df
    of_sentences = sum_squares(slopes.mean(axis=1), 0) / per_sentence
    of_pairs = sum_squares(slopes.mean(axis=0), 0) / per_pair
    parts = [(of_sentences, float(sentence_df)), (of_pairs, float(pair_df))]
    shared = sum_squares(slopes, 0, 1) / (per_sentence * per_pair)
    if "attributes" in facets:
        leverages = (orthonormal**2).sum(axis=1)
        residuals = columns - orthonormal @ (orthonormal.T @ columns)
        drops = (weights / (1 - leverages))[:, None] * residuals
        without = slopes - drops.reshape(scores.values.shape)
        by_sentence, by_pair = without.mean(axis=2), without.mean(axis=1)
        factor = (n - 1) / n
        of_occupations = factor * sum_squares(without.mean(axis=(1, 2)), 0)
        parts.insert(0, (of_occupations, n - 1.0))
        shared += factor * sum_squares(by_sentence, 0, 1) / per_sentence
        shared += factor * sum_squares(by_pair, 0, 1) / per_pair
    return sum_estimates(float(slopes.mean()), parts, shared)


def sum_squares(x: Floats, *axes: int) -> float:
    """Sum of squares of what is left without the means along all axes."""
    for axis in axes:
        x = x - x.mean(axis=axis, keepdims=True)
    return float((x**2).sum())


def studies_of(spread: Spread) -> Mapping[str, ProbeStudy]:
    """Studies by what is planted."""
    alike = ProbeStudy(spread=spread)
    independent_units = replace(alike, occupations=independent)
    of_frequency = replace(alike, follows_frequency=True, has_covariate=True)
    smooth_frequency = replace(of_frequency, occupations=partial(smooth, rough_frequency=False))
    studies = {
        "nothing; occupations alike, smooth criterion": alike,
        "the same, 8 sentences x 6 pairs": replace(alike, sentences=8, pairs=6),
        "occupations independent": independent_units,
        "words alone": replace(alike, only_words=True),
    }
    studies |= {
        "heavy tails": replace(alike, numbers=heavy),
        "heavy tails, independent": replace(independent_units, numbers=heavy),
        "one occupation 6 SD off": replace(alike, outlier="occupation"),
        "one occupation 6 SD off, independent": replace(independent_units, outlier="occupation"),
    }
    studies |= {
        "one pair 6 SD off": replace(alike, outlier="pair"),
        "frequency moves occupations": of_frequency,
        "smooth frequency moves occupations": smooth_frequency,
        "a dull model (scores / 100)": replace(alike, scale=0.01),
    }
    studies |= {
        "half of the likeness hidden": replace(alike, occupations=half_hidden),
        "six skewed sectors": replace(alike, occupations=sectors),
        "the criterion is the first component": replace(alike, occupations=one_component),
    }
    in_proportion = partial(wide_ends, in_middle=0.0)
    studies |= {
        "ours: 15 kinds of work under 43 titles": replace(alike, occupations=near_twins),
        "ours: scores scatter more at both ends": replace(alike, occupations=wide_ends),
        "ours: they scatter in proportion to the distance from the middle": replace(
            alike, occupations=in_proportion
        ),
    }
    for size in (BOUND, 0.9, 1.05, 1.34, 1.8):
        studies[f"a gain of {size:.2f} nats"] = replace(alike, gain=size)
    return studies


def list_cases() -> Iterator[Case]:
    """All cases: as shipped, after sentences that end before a noun, and with the variances of
    templates, whose slopes scatter more.
    """
    for family, spreads, share in (("probes", NEXT_WORD, 1.0), ("probes, templates", MODELS, 0.5)):
        for model, spread in spreads.items():
            for planted, study in studies_of(spread).items():
                yield Case(family, planted, study.draw, model, share)

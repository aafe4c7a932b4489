"""Randomisation tests: how often chance alone would give a result like this, if the labels that
make the claim were randomised.

A randomisation must keep what makes units alike: occupations that are alike in a criterion are
alike in all their scores, so that a free permutation of the criterion is wrong in .23 of cases
(spec/controls.md, section 6). Sign randomisation over units is `resampling.sign_flips`; labels
within root items are `saged.diagnose.deviation_tests.max_deviation_test`.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from evenruler.measurement.facets import Estimate, Part, sum_estimates
from evenruler.measurement.inputs import ALPHA, POWER, Floats, as_items, wilson
from evenruler.measurement.resampling import Interval

RANDOMISATIONS = 9999

MOST_DIVISIONS = 12_000
"""Most ways to deal keys to units that are all counted; beyond, random ones are drawn."""

FEWEST_ALTERNATIVES = 19
"""Fewest alternatives for a p of .05: of 20 exchangeable values, the furthest."""

# Numbers drawn in a batch: 16 MB, of which a test holds a few at a time.
_BATCH = 2_000_000

_TIES = 1e-9
"""Relative tolerance of ties, whose sums are taken in another order."""

_ROUNDING = 1e-12
"""What is this small, relative to the data, is rounding error."""


@dataclass(frozen=True)
class RandomisationTest:
    """The p of a randomisation, and the null that it is the p of."""

    p: float
    null: str
    """In words, with the numbers: what was randomised, over how many units, how often."""


@dataclass(frozen=True)
class RankTest:
    """How far a value lies from exchangeable alternatives, as a rank."""

    less_far: int
    """Number of alternatives that lie less far from the mean of the others."""
    alternatives: int
    p: float | None
    """None where there are too few alternatives for a p of .05."""
    null: str
    lacking: str | None
    """The reason why there is no p."""

    @property
    def as_percentile(self) -> Interval:
        """The share of alternatives that lie less far, in percent, with Wilson's 95% interval: the
        same rank as in the p, as a share of the alternatives alone.
        """
        share = self.less_far / self.alternatives
        low, high = wilson(share, self.alternatives)
        return Interval(100 * share, 100 * low, 100 * high)


def likeness_basis(scores: ArrayLike) -> Floats:
    """An orthonormal basis [n, n - 1] of how alike n units are, the largest component first.

    `scores`: [n, m], of n units with each of m reference words. What a unit and what a word shares
    with all is taken off. Every column is orthogonal to the constant. ValueError: fewer than two
    units or words, or a score is not finite.
    Source: spec/controls.md, section 2, rule 2.
    """
    from scipy.linalg import helmert  # takes a while to import

    x = as_items(scores)
    x = x - x.mean(axis=0)
    x = x - x.mean(axis=1, keepdims=True)
    # Within the space orthogonal to the constant, so that components without a score are, too.
    contrasts = np.asarray(helmert(len(x)))
    components, _, _ = np.linalg.svd(contrasts @ x, full_matrices=True)
    basis: Floats = contrasts.T @ components
    return basis


def randomise_criterion(
    scores: ArrayLike,
    criterion: ArrayLike,
    basis: ArrayLike | None,
    covariates: ArrayLike | None = None,
    n: int = RANDOMISATIONS,
    seed: int = 0,
    units: str = "units",
) -> RandomisationTest:
    """Test whether scores of units follow a criterion, by its randomisation over units; two-sided.

    With a basis, Moran spectral randomisation: the criterion keeps the size of its loading on each
    component of the units' likeness, and signs are random. The statistic is the slope over its HC3
    error, beside covariates, which the components are freed from: units at the ends of a criterion
    may scatter more than others, which a slope alone takes for a gain.

    Without a basis, the criterion is permuted freely, which is right only for units that are
    exchangeable. The statistic is the squared correlation, partial where there are covariates.

    Args:
        scores: [units], means over all else.
        criterion: [units].
        basis: [units, units - 1] of `likeness_basis`, or None.
        covariates: [units] or [units, covariates].
        n: Number of randomisations.
        seed: Seed of the randomisations.
        units: What the units are called in the words of the null.

    Returns:
        p = (1 + randomisations that are as far) / (1 + n); 1 where scores do not vary, and where
        one unit alone decides the slope.

    Raises:
        ValueError: Shapes do not fit, a number is not finite, the basis is not orthonormal and
            orthogonal to the constant, or the criterion does not vary beside its covariates.

    Source: Wagner and Dray (2015), Generating spatially constrained null models for irregularly
    spaced data using Moran spectral randomization methods; Freedman and Lane (1983) for covariates;
    DiCiccio and Romano (2017), Robust permutation tests for correlation and regression
    coefficients; MacKinnon and White (1985) for HC3.
    """
    response, predictor, nuisance, n_covariates = _adjust_units(scores, criterion, covariates)
    random = np.random.default_rng(seed)
    if basis is None:
        manner = "freely"
        batches = _draw_permutations(predictor, n, random)

        def measure_distances(criteria: Floats) -> Floats:
            """[randomisations] squared partial correlations of criteria [randomisations, units]
            with the scores, up to a factor.
            """
            return _squared_correlations(response, criteria, nuisance)

    else:
        manner = "spectrally"
        axes = _likeness_axes(nuisance, basis)
        batches = _draw_signs(axes.T @ predictor, n, random)
        batches = (loadings @ axes.T for loadings in batches)

        def measure_distances(criteria: Floats) -> Floats:
            """[randomisations] squared slopes over their HC3 errors, of criteria [randomisations,
            units].
            """
            return _squared_studentised_slopes(response, criteria, nuisance)

    least = measure_distances(predictor[None])[0] * (1 - _TIES)

    def count_as_far(randomised: Floats) -> int:
        """Number of randomised criteria [randomisations, units] whose statistic is at least that of
        the real one.
        """
        return int((measure_distances(randomised) >= least).sum())

    p = _p_of_batches(count_as_far, batches, n)
    over = f"criterion randomised {manner} over {len(response)} {units}"
    if n_covariates:
        over += " with 1 covariate" if n_covariates == 1 else f" with {n_covariates} covariates"
    return RandomisationTest(p, f"{over}, {_describe_draws(n, seed)}")


def _squared_correlations(response: Floats, criteria: Floats, nuisance: Floats) -> Floats:
    """[criteria] squared partial correlations with the response, up to a common factor, of criteria
    [criteria, units] of equal length.
    """
    # What the covariates explain of a randomised criterion is no part of its variation.
    explained = ((criteria @ nuisance) ** 2).sum(axis=1)
    left = (criteria**2).sum(axis=1) - explained
    return _divide_or_zero((criteria @ response) ** 2, left)


def _squared_studentised_slopes(response: Floats, criteria: Floats, nuisance: Floats) -> Floats:
    """[criteria] squared slopes over their squared HC3 errors, of criteria [criteria, units] that
    are orthogonal to the nuisance; 0 where one unit decides the slope.
    """
    squares = (criteria**2).sum(axis=1)
    products = criteria @ response
    residuals = response - (products / squares)[:, None] * criteria
    shares = criteria**2 / squares[:, None]
    leverages = shares + (nuisance**2).sum(axis=1)
    is_decided = (leverages > 1 - _TIES).any(axis=1)
    without_unit = residuals / np.maximum(1 - leverages, _TIES)
    errors = ((criteria * without_unit) ** 2).sum(axis=1)
    return np.where(is_decided, 0.0, _divide_or_zero(products**2, errors))


def _divide_or_zero(numerators: Floats, denominators: Floats) -> Floats:
    """Quotients; 0 of 0 is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        quotients: Floats = numerators / denominators
    return np.where(numerators == 0, 0.0, quotients)


class _AdjustedUnits(NamedTuple):
    """Scores and criterion of units, less what covariates explain of them."""

    response: Floats
    """[units]."""
    predictor: Floats
    """[units]."""
    nuisance: Floats
    """[units, columns] an orthonormal basis of the constant and the covariates."""
    n_covariates: int


def _adjust_units(
    scores: ArrayLike, criterion: ArrayLike, covariates: ArrayLike | None
) -> _AdjustedUnits:
    """Scores and criterion less what covariates explain. ValueError: as `randomise_criterion`."""
    response = _require_unit_values(scores, "scores")
    predictor = _require_unit_values(criterion, "the criterion")
    if len(predictor) != len(response):
        raise ValueError(f"found {len(response)} scores and {len(predictor)} criterion values")
    nuisance, n_covariates = _nuisance_columns(covariates, len(response))
    response = _adjust_for_nuisance(response, nuisance)
    predictor = _adjust_for_nuisance(predictor, nuisance)
    if not predictor.any():
        raise ValueError("the criterion does not vary beside its covariates")
    return _AdjustedUnits(response, predictor, nuisance, n_covariates)


def invert_spectral_randomisation(
    scores: ArrayLike,
    criterion: ArrayLike,
    basis: ArrayLike,
    covariates: ArrayLike | None = None,
    n: int = RANDOMISATIONS,
    seed: int = 0,
    alpha: float = ALPHA,
) -> Interval:
    """The slope of scores on a criterion, with the slopes that `randomise_criterion` does not
    reject.

    A slope t is tested on what it leaves of the scores. With signs s, the randomised criterion is
    as far where |A - t C| <= |A_s - t C_s|, of the products A of criterion and scores, and C of the
    criterion with itself: an interval of t, so that the ends are quantiles of its ends. Arguments
    as there; the units are the only facet that it allows for.
    Source: Wagner and Dray (2015); intervals of randomisation tests: Garthwaite (1996).
    """
    response, predictor, nuisance, _ = _adjust_units(scores, criterion, covariates)
    axes = _likeness_axes(nuisance, basis)
    studies = axes.T @ response[:, None]
    slopes, lows, highs = _accepted_slopes(studies, axes.T @ predictor, n, seed, alpha)
    low, high = float(lows[0]), float(highs[0])
    return Interval(float(slopes[0]), low, high)


STUDIES, STUDY_RANDOMISATIONS = 100, 999


def detectable_slope(
    scores: ArrayLike,
    criterion: ArrayLike,
    basis: ArrayLike,
    covariates: ArrayLike | None = None,
    half: float = 0.0,
    least_half: float = 0.0,
    seed: int = 0,
) -> float:
    """The slope that is told from 0, by the interval and by the test, in 8 of 10 studies like this
    one.

    What the criterion leaves of the scores keeps the size of its loading on each component of
    likeness, with random signs; each such study says what slope must be added to it. `half`: half
    the interval over other facets, by which that of the randomisation is widened; `least_half`:
    half of another interval about the same value, which must leave out 0, too. Infinite where
    units are too few for any.
    """
    response, predictor, nuisance, _ = _adjust_units(scores, criterion, covariates)
    axes = _likeness_axes(nuisance, basis)
    loadings = axes.T @ predictor
    rest = axes.T @ response
    rest -= float(loadings @ rest / (loadings @ loadings)) * loadings
    random = np.random.default_rng(seed)
    study_signs = random.choice([-1.0, 1.0], size=(len(rest), STUDIES))
    studies = study_signs * rest[:, None]
    slopes, lows, _ = _accepted_slopes(studies, loadings, STUDY_RANDOMISATIONS, seed, ALPHA)
    # A slope that is added moves the interval and nothing else.
    halves = np.hypot(slopes - lows, half)
    by_interval = np.maximum(halves, least_half) - slopes
    if np.isfinite(by_interval).mean() < POWER:  # so few units that their signs reject no slope
        return math.inf
    usual = float(np.quantile(by_interval, POWER, method="lower"))  # finite
    if usual <= 0:  # nothing scatters
        return 0.0
    signs = random.choice([-1.0, 1.0], size=(STUDY_RANDOMISATIONS, len(loadings)))
    criteria = np.vstack([loadings, signs * loadings]) @ axes.T
    by_test: list[float] = []
    for study in studies.T:
        by_test.append(_slope_that_the_test_needs(axes @ study, criteria, nuisance, usual))
    needed = np.maximum(by_interval, by_test)
    return float(np.quantile(needed, POWER, method="higher"))


_MOST_USUAL = 16
"""Slopes are tried up to so many times what the interval needs."""


def _slope_that_the_test_needs(
    response: Floats, criteria: Floats, nuisance: Floats, usual: float
) -> float:
    """The slope on the first of the criteria that must be added to a response so that it is the
    furthest 5% of all criteria; infinite where none is tried that large.
    """
    from scipy.optimize import bisect  # takes a while to import

    criterion = criteria[0]

    def p_beyond_alpha(added: float) -> float:
        distances = _squared_studentised_slopes(response + added * criterion, criteria, nuisance)
        p = float((distances >= distances[0] * (1 - _TIES)).mean())
        return p - ALPHA - _TIES

    slope = float(criterion @ response / (criterion @ criterion))
    least, most = max(0.0, -slope), _MOST_USUAL * usual
    if p_beyond_alpha(most) > 0:
        return math.inf
    if p_beyond_alpha(least) <= 0:
        return least
    return float(bisect(p_beyond_alpha, least, most, xtol=0.01 * usual))


def _accepted_slopes(
    responses: Floats, predictor: Floats, n: int, seed: int, alpha: float
) -> tuple[Floats, Floats, Floats]:
    """[studies] slope, and the lowest and highest slope that is not rejected, of responses
    [components, studies].
    """
    products, squares = predictor[:, None] * responses, predictor**2
    of_scores, of_criterion = products.sum(axis=0), squares.sum()
    lows, highs = [], []
    for signs in _draw_signs(np.ones(len(predictor)), n, np.random.default_rng(seed)):
        randomised = signs @ products
        left = of_criterion - (signs @ squares)[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            first = (of_scores - randomised) / left
            second = (of_scores + randomised) / (2 * of_criterion - left)
        # With the signs of the criterion itself, or its opposite, every slope is as far.
        is_itself = np.minimum(left, 2 * of_criterion - left) <= _TIES * of_criterion
        lows.append(np.where(is_itself, -np.inf, np.minimum(first, second)))
        highs.append(np.where(is_itself, np.inf, np.maximum(first, second)))
    # Of (1 + n) values, the criterion itself among them, so many are needed to keep a slope.
    n_needed = math.ceil(alpha * (1 + n) - 1 - _TIES)
    place = max(n_needed - 1, 0)
    low = np.sort(np.concatenate(lows), axis=0)[place]
    high = np.sort(np.concatenate(highs), axis=0)[::-1][place]
    return of_scores / of_criterion, low, high


def randomise_within_items(
    first_side: ArrayLike, second_side: ArrayLike, n: int = RANDOMISATIONS, seed: int = 0
) -> tuple[Estimate, RandomisationTest]:
    """Test whether answers differ between two sides of the same items; items are fixed, two-sided.

    `first_side`: [items, wordings], answers about I, say; `second_side`: [items, subjects]. Which
    of an item's answers are of the first side is randomised within items; the statistic is t,
    studentised by the variances within items. The estimate is the mean over items of the first side
    less the second, in the unit of answers. Its variance is Welch's, summed over items, and its
    degrees of freedom are Satterthwaite's over items and sides, since items vary unequally: of both
    sides summed first, intervals cover .92 where an item varies five times as much, else .95. Where
    a side has a single answer, the variance within an item is that within both sides. ValueError:
    shapes do not fit, a number is not finite, or no side has two answers.
    Source: spec/controls.md, sections 3 and 6; Welch (1947); Satterthwaite (1946); studentised
    randomisations stay valid where variances differ: Janssen (1997).
    """
    mine = np.asarray(first_side, dtype=np.float64)
    rest = np.asarray(second_side, dtype=np.float64)
    are_tables = mine.ndim == rest.ndim == 2
    if not are_tables or len(mine) != len(rest) or mine.size == 0:
        raise ValueError("expected two tables of answers with the same items")
    n_own, n_others = mine.shape[1], rest.shape[1]
    if n_own + n_others < 3 or n_others == 0:
        raise ValueError(f"found {n_own} and {n_others} answers an item, expected three in all")
    answers = np.concatenate([mine, rest], axis=1)
    if not np.isfinite(answers).all():
        raise ValueError("answers must be finite")
    difference, variances = _item_differences(answers, n_own)
    degrees = _degrees_within(n_own, n_others)
    parts: list[Part] = []
    for of_side, df in zip(variances, degrees, strict=True):
        parts += [(float(variance), df) for variance in of_side]
    estimate = sum_estimates(float(difference), parts)
    # In units of the largest deviation, and without what all answers of an item share: only
    # differences within items are randomised.
    deviations = _without_rounding(answers - answers.mean(axis=1, keepdims=True), answers)
    deviations = deviations / (np.abs(deviations).max() or 1.0)
    squared_difference, variance = _squared_and_variance(deviations, n_own)

    def count_as_far(randomised: Floats) -> int:
        """Number of randomisations [randomisations, items, answers] whose squared t is at least the
        observed.
        """
        squares, variances = _squared_and_variance(randomised, n_own)
        # t is compared without a division, since answers may not vary.
        return int((squares * variance >= squared_difference * variances * (1 - _TIES)).sum())

    batches = _draw_permutations(deviations, n, np.random.default_rng(seed))
    p = _p_of_batches(count_as_far, batches, n)
    labels = f"labels of {n_own} and {n_others} answers randomised within {len(mine)} items"
    return estimate, RandomisationTest(p, f"{labels}, {_describe_draws(n, seed)}")


def randomise_keys(
    scores: ArrayLike,
    keys: ArrayLike,
    n: int = RANDOMISATIONS,
    seed: int = 0,
    units: str = "units",
) -> RandomisationTest:
    """Test whether units of two keys differ in their mean score, by dealing the keys to units anew;
    two-sided.

    Flipping signs of units would also test whether the mean of all scores is 0, which it is not
    where one answer is likelier throughout; dealing keys does not. It is right for units that are
    exchangeable but for their key.

    Args:
        scores: [units], means over all else.
        keys: [units], of each 1 or -1.
        n: Number of random divisions, where there are more than `MOST_DIVISIONS`.
        seed: Seed of these.
        units: What the units are called in the words of the null.

    Returns:
        The share of divisions with as large a difference of means, exact where all are counted.

    Raises:
        ValueError: Shapes do not fit, a number is not finite, or not both keys are there.

    Source: Fisher (1935), The design of experiments; spec/fixed-models.md, section 2.
    """
    values, signs = _require_unit_values(scores, "scores"), _require_unit_values(keys, "keys")
    n_units, n_plus = len(values), int((signs > 0).sum())
    are_keys = np.isin(signs, (-1, 1)).all()
    if len(signs) != n_units or not are_keys:
        raise ValueError(f"expected a key of 1 or -1 for each of {n_units} units")
    if n_plus in (0, n_units):
        raise ValueError("all units have the same key")
    # The sum over units of one key, of deviations from the mean, says how far both means are apart.
    deviations = _without_rounding(values - values.mean(), values)
    of_plus = float(deviations[signs > 0].sum())
    farthest = abs(of_plus) * (1 - _TIES)
    counted = f"{n_plus} and {n_units - n_plus} of a key"
    dealt = f"keys randomised freely over {n_units} {units}, {counted}"
    n_divisions = math.comb(n_units, n_plus)
    if n_divisions <= MOST_DIVISIONS:
        chosen = np.array(list(combinations(range(n_units), n_plus)))
        sums = deviations[chosen].sum(axis=1)
        p = float((np.abs(sums) >= farthest).mean())
        return RandomisationTest(p, f"{dealt}, all {n_divisions:,} divisions")

    def count_as_far(randomised: Floats) -> int:
        """Number of dealings [randomisations, units] whose difference of means is at least the
        observed.
        """
        sums = randomised[:, :n_plus].sum(axis=1)
        return int((np.abs(sums) >= farthest).sum())

    batches = _draw_permutations(deviations, n, np.random.default_rng(seed))
    p = _p_of_batches(count_as_far, batches, n)
    return RandomisationTest(p, f"{dealt}, {_describe_draws(n, seed)}")


def rank_test(value: ArrayLike, alternatives: ArrayLike) -> RankTest:
    """Rank a value among exchangeable alternatives by its distance from the mean of all others.

    `value`: a number, or [wordings] of a theme; `alternatives`: [K], or [K, wordings] of themes,
    which are ranked by their means. Each of the K + 1 is compared with the mean of the other K, so
    that the p is exact: the share of the K + 1 that lie as far. ValueError: a number is not finite,
    or the shapes do not fit.
    Source: spec/controls.md, section 2, rule 8, and section 3 (framing, SAGED).
    """
    real = np.asarray(value, dtype=np.float64)
    rest = np.asarray(alternatives, dtype=np.float64)
    is_shaped = rest.ndim in (1, 2) and real.ndim < rest.ndim
    if not is_shaped or rest.size == 0 or real.size == 0:
        raise ValueError(f"found a value of shape {real.shape}, alternatives of {rest.shape}")
    if real.ndim == 1 and len(real) != rest.shape[1]:
        raise ValueError(f"found {len(real)} wordings of the value, {rest.shape[1]} of the others")
    if not (np.isfinite(real).all() and np.isfinite(rest).all()):
        raise ValueError("values must be finite")
    kind = "alternatives"
    if rest.ndim == 2:
        kind = f"themes of {rest.shape[1]} wordings"
        rest = rest.mean(axis=1)
    k = len(rest)
    values = np.append(real.mean(), rest)
    # Less the mean of all, which the distance from the mean of the others is proportional to.
    distances = np.abs(_without_rounding(values - values.mean(), values))
    less_far = int((distances < distances[0] * (1 - _TIES)).sum())
    p = (k + 1 - less_far) / (k + 1)
    null = f"rank among {k} {kind}"
    if k < FEWEST_ALTERNATIVES:
        lacking = f"{k} {kind} (at least {FEWEST_ALTERNATIVES} needed)"
        return RankTest(less_far, k, None, null, lacking)
    return RankTest(less_far, k, p, null, None)


def _p_of_batches(
    count_as_far: Callable[[Floats], int], batches: Iterator[Floats], n: int
) -> float:
    """The p of n randomisations, (1 + those that are as far) / (1 + n), so that it is never 0."""
    as_far = sum(count_as_far(batch) for batch in batches)
    return (1 + as_far) / (1 + n)


def _describe_draws(n: int, seed: int) -> str:
    """Number of randomisations and seed, as words for a null: "9,999 randomisations, seed 0"."""
    return f"{n:,} randomisations, seed {seed}"


def _batch_sizes(n: int, numbers: int) -> Iterator[int]:
    """Sizes of batches, for n randomisations of so many numbers."""
    if n < 1:
        raise ValueError(f"n must be at least 1, got {n}")
    largest = max(1, _BATCH // numbers)
    for begin in range(0, n, largest):
        yield min(largest, n - begin)


def _draw_permutations(x: Floats, n: int, random: np.random.Generator) -> Iterator[Floats]:
    """Batches of [randomisations, *x], the last axis of `x` permuted."""
    for size in _batch_sizes(n, x.size):
        copies = np.broadcast_to(x, (size, *x.shape))
        yield random.permuted(copies, axis=-1)


def _draw_signs(x: Floats, n: int, random: np.random.Generator) -> Iterator[Floats]:
    """Batches of [randomisations, numbers], `x` with random signs."""
    for size in _batch_sizes(n, x.size):
        yield x * random.choice([-1.0, 1.0], size=(size, len(x)))


def _item_differences(answers: Floats, n_own: int) -> tuple[Floats, list[Floats]]:
    """From [..., items, answers], the first `n_own` of which are own: the mean over items of own
    less others [...], and its variance in parts [..., items], a part for each side or one for both.
    """
    items, n_answers = answers.shape[-2:]
    n_others = n_answers - n_own
    first = answers[..., :n_own]
    second = answers[..., n_own:]
    by_item = first.mean(axis=-1) - second.mean(axis=-1)
    differences = by_item.mean(axis=-1)
    own_squares, other_squares = _squares_within(first), _squares_within(second)
    if min(n_own, n_others) > 1:
        of_own = own_squares / (n_own * (n_own - 1))
        of_others = other_squares / (n_others * (n_others - 1))
        return differences, [of_own / items**2, of_others / items**2]
    pooled = (own_squares + other_squares) / (n_answers - 2)
    of_both = pooled * (1 / n_own + 1 / n_others)
    return differences, [of_both / items**2]


def _squares_within(answers: Floats) -> Floats:
    """Sum of squares [..., items] about the mean of an item's answers."""
    deviations = answers - answers.mean(axis=-1, keepdims=True)
    squares: Floats = (deviations**2).sum(axis=-1)
    return squares


def _degrees_within(n_own: int, n_others: int) -> list[float]:
    """Degrees of freedom of an item's part of the variances of `_item_differences`."""
    if min(n_own, n_others) > 1:
        return [n_own - 1.0, n_others - 1.0]
    return [n_own + n_others - 2.0]


def _squared_and_variance(answers: Floats, n_own: int) -> tuple[Floats, Floats]:
    """The squared difference and its variance; what is rounding error is 0."""
    differences, parts = _item_differences(answers, n_own)
    variances = np.sum(parts, axis=0).sum(axis=-1)
    is_rounding = variances < _ROUNDING**2
    return differences**2, np.where(is_rounding, 0.0, variances)


def _require_unit_values(x: ArrayLike, what: str) -> Floats:
    """[units] as floats; ValueError, which calls them `what`, unless they are three or more finite
    numbers.
    """
    vector = np.asarray(x, dtype=np.float64)
    has_units = vector.ndim == 1 and len(vector) >= 3
    if not has_units or not np.isfinite(vector).all():
        raise ValueError(f"{what} must be finite numbers, one a unit, of three units at least")
    return vector


def _likeness_axes(nuisance: Floats, basis: ArrayLike) -> Floats:
    """The components of a basis of likeness, in their order, orthogonal to covariates and to each
    other; ValueError unless its columns are orthonormal and orthogonal to the constant.

    Residuals load on the components of the whole likeness in ways that covariates cause; with
    random signs on those, .06 to .075 of tests would be false (`studies.error_rates`).
    """
    components, n_units = np.asarray(basis, dtype=np.float64), len(nuisance)
    if components.shape != (n_units, n_units - 1):
        raise ValueError(f"expected a basis of {n_units} x {n_units - 1}, got {components.shape}")
    with_constant = np.column_stack([np.full(n_units, n_units**-0.5), components])
    if not np.allclose(with_constant.T @ with_constant, np.eye(n_units), atol=1e-8):
        raise ValueError("the basis must be orthonormal, and orthogonal to the constant")
    directions, _ = np.linalg.qr(np.column_stack([nuisance, components]))
    axes: Floats = directions[:, nuisance.shape[1] :]
    return axes


def _nuisance_columns(covariates: ArrayLike | None, units: int) -> tuple[Floats, int]:
    """An orthonormal basis of the constant and the covariates, and the number of covariates."""
    constant = np.full((units, 1), units**-0.5)
    if covariates is None:
        return constant, 0
    x = np.asarray(covariates, dtype=np.float64)
    x = x[:, None] if x.ndim == 1 else x
    is_shaped = x.ndim == 2 and len(x) == units
    if not is_shaped or not np.isfinite(x).all():
        raise ValueError(f"covariates must be finite numbers, a row for each of {units} units")
    centred = _without_rounding(x - x.mean(axis=0), x)
    scales = np.abs(centred).max(axis=0)
    scaled = centred[:, scales > 0] / scales[scales > 0]
    directions, sizes, _ = np.linalg.svd(scaled, full_matrices=False)
    # A covariate that others explain adds nothing.
    independent = directions[:, sizes > _TIES * sizes.max(initial=0.0)]
    return np.column_stack([constant, independent]), x.shape[1]


def _adjust_for_nuisance(x: Floats, nuisance: Floats) -> Floats:
    """Residuals [units] of `x` beside an orthonormal basis `nuisance` [units, columns]; what is
    rounding error is 0.
    """
    return _without_rounding(x - nuisance @ (nuisance.T @ x), x)


def _without_rounding(deviations: Floats, x: Floats) -> Floats:
    """Deviations of `x`, with 0 for those that are rounding error."""
    smallest = _ROUNDING * np.abs(x).max(initial=0.0)
    return np.where(np.abs(deviations) <= smallest, 0.0, deviations)

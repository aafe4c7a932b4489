"""The lean of a benchmark: how much oftener the first text of an item wins, at equal length and at
equal frequency of words, and the test that it is more than a liking for words.

A model that likes some words more than others, whatever stands around them, leans in all items that
share a word. So words that only one text has are a random facet, beside the units that items are
sampled from (docs/external.md, "The lean"; simulated by `studies.error_rates`).
"""

import math
import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from evenruler.instruments.external.declare import LEAN, Score
from evenruler.instruments.external.schemas import DISAMBIGUATED, FIRST, SECOND
from evenruler.measurement.facets import Estimate
from evenruler.measurement.inputs import Floats
from evenruler.measurement.randomisation import RANDOMISATIONS, RandomisationTest
from evenruler.measurement.resampling import FEWEST_UNITS, sign_flips
from evenruler.measurement.verdicts import HeadlineTest, PositiveControl

LONGEST = 3.0
"""Tokens at which a difference in length is clipped."""

LEAST_EACH = 0.1
"""Least share of all weight on each side of equal length and of equal frequency (equal items count
on both), so that the lean at equality is interpolated, not extrapolated."""

SAME_DIRECTION = (
    "nearly all pairs differ in length or frequency in the same direction, which would explain a "
    "lean"
)
"""Why no lean is detected where the lean at equality would be extrapolated."""

_SINGULAR = 1e-10
"""Fraction of the largest eigenvalue below which a direction of the covariates does not vary."""

_TIES = 1e-9
"""Relative tolerance of ties, whose sums are taken in another order."""

_AT_ONCE = 500
"""Randomisations in a batch."""

_WORD = re.compile(r"\w+")


def lean_weights(items: pd.DataFrame, score: Score) -> Floats:
    """[items] weights for which the mean lean is 2 x the published share - 1, or the published bias
    score.

    StereoSet's is a mean over targets. BBQ's counts all answers in ambiguous contexts (`unknown` as
    0, which is the effect of its factor 1 - accuracy), and answers other than `unknown` in
    disambiguated ones.
    """
    item_weights = np.ones(len(items))
    if score == "stereoset":
        item_weights /= items.groupby("unit")["item"].transform("size")
    if score == "bbq":
        item_weights *= items["known"] | (items["condition"] != DISAMBIGUATED)
    return np.asarray(item_weights, dtype=np.float64)


def lean_confounds(items: pd.DataFrame) -> Floats:
    """[items, 3]: the direction in which texts differ in length, how far, and their frequency."""
    length = items["length"].to_numpy(dtype=np.float64)
    frequency = items["frequency"].to_numpy(dtype=np.float64)
    return np.column_stack([np.sign(length), length.clip(-LONGEST, LONGEST), frequency])


@dataclass(frozen=True)
class LeanRegression:
    """A weighted regression of the lean of items on its confounds, length and frequency."""

    units: NDArray[np.object_]
    """[g] labels."""
    codes: NDArray[np.intp]
    """[n] the unit of each item."""
    covariates: Floats
    """[n, p]; the first is the intercept. It is the only one where the lean at equality would be
    extrapolated."""
    weights: Floats
    """[n]."""
    lean: Floats
    """[n]."""
    is_adjusted: bool
    """Whether the intercept is the lean at equal length and frequency; else it is the mean."""

    @classmethod
    def from_items(cls, items: pd.DataFrame, score: Score) -> "LeanRegression":
        """From answered items, by `schemas.ITEMS`."""
        codes, units = pd.factorize(items["unit"], sort=True)
        constant = np.ones((len(items), 1))
        covariates = np.column_stack([constant, lean_confounds(items)])
        weights = lean_weights(items, score)
        is_adjusted = _is_identified(covariates, weights)
        return cls(
            np.asarray(units, dtype=object),
            codes,
            covariates if is_adjusted else constant,
            weights,
            items["lean"].to_numpy(dtype=np.float64),
            is_adjusted,
        )

    @cached_property
    def _unit_products(self) -> Floats:
        """[g, p, p] weighted products of the covariates with each other, by unit."""
        rows = self.weights[:, None, None] * (
            self.covariates[:, :, None] * self.covariates[:, None, :]
        )
        return self._sum_by_unit(rows)

    @cached_property
    def _unit_moments(self) -> Floats:
        """[g, p] weighted products of the covariates with the lean, by unit."""
        weighted_lean = self.weights * self.lean
        return self._sum_by_unit(weighted_lean[:, None] * self.covariates)

    def _sum_by_unit(self, rows: Floats) -> Floats:
        """[g, ...] the sum over the items of each unit; `rows`: [n, ...], one for each item."""
        sums = np.zeros((len(self.units), *rows.shape[1:]))
        np.add.at(sums, self.codes, rows)
        return sums

    @property
    def unit_weights(self) -> Floats:
        """[g] weight of each unit."""
        return self._unit_products[:, 0, 0]

    @property
    def df(self) -> float:
        """Effective number of units (Kish 1965) minus one, which accounts for units of unequal
        weight.
        """
        counts = self.unit_weights
        effective = float(counts.sum() ** 2 / (counts**2).sum())
        return max(1.0, effective - 1)

    def why_no_interval(self, units: str) -> str | None:
        """Why the lean has no error over units, whose plural is `units`; None where it has one."""
        n_units = len(self.units)
        n_weighty = int((self.unit_weights > 0).sum())
        if n_units < FEWEST_UNITS:
            return f"{n_units} {units} (at least {FEWEST_UNITS} needed)"
        if n_weighty < 2:
            return f"{n_weighty} of {n_units} {units} with an answer that counts"
        return None

    def jackknife_means(self) -> Floats:
        """[1 + g] the mean lean of all units, then leaving out each unit."""
        return _without_each(self._unit_moments[:, 0]) / _without_each(self.unit_weights)

    def jackknife_intercepts(self) -> Floats:
        """[1 + g] the intercept, the lean at equal confounds, of all units, then without each."""
        inverse = np.linalg.pinv(
            _without_each(self._unit_products), rcond=_SINGULAR, hermitian=True
        )
        moments = _without_each(self._unit_moments)
        intercepts: Floats = np.einsum("gp,gp->g", inverse[:, 0], moments)
        return intercepts

    def item_coefficients(self) -> Floats:
        """[n] the coefficients of items in the intercept, which is their product with the lean."""
        inverse = np.linalg.pinv(self._unit_products.sum(axis=0), rcond=_SINGULAR, hermitian=True)
        coefficients: Floats = self.weights * (self.covariates @ inverse[0])
        return coefficients

    def unit_shares(self) -> Floats:
        """[g] contributions of units to the intercept, times g, so that their mean is the
        intercept.
        """
        contributions = self.item_coefficients() * self.lean
        return len(self.units) * self._sum_by_unit(contributions)

    @property
    def null_covariates(self) -> Floats:
        """[n, p - 1] the confounds, which alone explain leans of items under the null."""
        return self.covariates[:, 1:]

    def residuals_under_null(self) -> Floats:
        """[n] each lean less what the confounds explain of it in a regression without intercept."""
        confounds = self.null_covariates
        products = (confounds.T * self.weights) @ confounds
        moments = confounds.T @ (self.weights * self.lean)
        inverse = np.linalg.pinv(products, rcond=_SINGULAR, hermitian=True)
        return self.lean - confounds @ (inverse @ moments)


def _is_identified(covariates: Floats, weights: Floats) -> bool:
    """Whether the intercept is identified beside the confounds, and interpolated: not if nearly
    every first text is longer, say.
    """
    sides: list[float] = []
    for confound in covariates[:, 1:].T:
        sides.append(weights[confound >= 0].sum())
        sides.append(weights[confound <= 0].sum())
    if min(sides) / max(weights.sum(), 1.0) < LEAST_EACH:
        return False
    products = (covariates.T * weights) @ covariates
    tolerance = _SINGULAR * np.abs(products).max()
    rank = np.linalg.matrix_rank(products, tolerance, True)
    rank_of_confounds = np.linalg.matrix_rank(products[1:, 1:], tolerance, True)
    return bool(rank > rank_of_confounds)


def _without_each(sums: Floats) -> Floats:
    """The sum over all units, then leaving out each unit."""
    whole = sums.sum(axis=0, keepdims=True)
    return np.concatenate([whole, whole - sums])


def jackknife_estimate(values: Floats, df: float) -> Estimate:
    """Jackknife estimate; `values`: the value of all units, then those leaving out each unit."""
    without, g = values[1:], len(values) - 1
    squares = float(((without - without.mean()) ** 2).sum())
    return Estimate(float(values[0]), (g - 1) / g * squares, df)


def differing_words(texts: pd.DataFrame) -> pd.DataFrame:
    """The words that only one of the first two texts of an item has: `item`, `word` and `count`, in
    the first text less in the second.

    `texts`: with the columns `item`, `role` and `text`.
    """
    compared = texts[texts["role"].isin([FIRST, SECOND])]
    wide = compared.pivot(index="item", columns="role", values="text")
    rows: list[tuple[str, str, int]] = []
    for item, first, second in zip(wide.index, wide[FIRST], wide[SECOND], strict=True):
        counts = Counter(_WORD.findall(first.lower()))
        counts.subtract(_WORD.findall(second.lower()))
        rows += [(item, word, count) for word, count in counts.items() if count]
    return pd.DataFrame(rows, columns=["item", "word", "count"])


def number_items(items: pd.DataFrame, words: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Items, and the words of those, with numbers in place of names, which are looked up faster:
    once for the whole and once for each part.

    `words`: by `differing_words`.
    """
    places = pd.Index(items["item"]).get_indexer(words["item"])
    word_codes, _ = pd.factorize(words["word"])
    numbered_words = words.assign(item=places, word=word_codes)[places >= 0]
    return items.assign(item=np.arange(len(items))), numbered_words


@dataclass(frozen=True)
class ItemLikeness:
    """What makes items alike: the words that only one of their texts has, and the unit that they
    are of.
    """

    words: sparse.csr_array
    """[n, w] counts in the first text less in the second, scaled to a length of 1 an item; of words
    in two items at least, since others make nothing alike."""
    units: sparse.csr_array
    """[n, g] indicators."""

    @classmethod
    def from_words(
        cls, words: pd.DataFrame, items: "pd.Series[Any]", codes: NDArray[np.intp]
    ) -> "ItemLikeness":
        """`words`: by `differing_words`; `items`: [n] names or numbers; `codes`: [n] units."""
        n = len(items)
        places = pd.Series(np.arange(n), index=items.to_numpy())
        answered = words[words["item"].isin(places.index)]
        rows = places.loc[answered["item"]].to_numpy()
        columns, labels = pd.factorize(answered["word"])
        counts = answered["count"].to_numpy(dtype=np.float64)
        lengths = np.sqrt(np.bincount(rows, counts**2, minlength=n))
        shape = (n, len(labels))
        scaled = sparse.csr_array((counts / lengths[rows], (rows, columns)), shape=shape)
        is_shared = np.bincount(columns, minlength=len(labels)) > 1
        indicators = sparse.csr_array((np.ones(n), (np.arange(n), codes)))
        return cls(scaled[:, np.flatnonzero(is_shared)], indicators)

    @cached_property
    def features(self) -> sparse.csr_array:
        """[n, w + g] words, then units."""
        return sparse.csr_array(sparse.hstack([self.words, self.units]))

    @cached_property
    def products(self) -> Floats:
        """[w + g, w + g] products of the features with each other."""
        products: Floats = (self.features.T @ self.features).toarray()
        return products

    @property
    def n_words(self) -> int:
        """The number of words that items share."""
        return int(self.words.shape[1])

    def variances(self, lean: Floats, covariates: Floats) -> tuple[float, float]:
        """The variance of the lean by words and by units, beside covariates [n, p].

        Quadratic estimates that are unbiased whatever the coefficients of the covariates are; a
        negative one is 0, and the rest is estimated without it. Source: Rao (1971), MINQUE theory,
        with weights of 0 for the variances by words and by units.
        """
        n, w = len(lean), self.n_words
        inverse = np.linalg.pinv(covariates.T @ covariates, hermitian=True)
        residuals = lean - covariates @ (inverse @ (covariates.T @ lean))
        explained = self.features.T @ covariates
        products = self.products - explained @ inverse @ explained.T
        by_feature = self.features.T @ residuals
        of_words, of_units = slice(0, w), slice(w, None)
        blocks = (products[of_words, of_words], products[of_units, of_units])
        both = float((products[of_words, of_units] ** 2).sum())
        squares = [float((block**2).sum()) for block in blocks]
        traces = [float(np.trace(block)) for block in blocks]
        rank = np.linalg.matrix_rank(covariates) if covariates.size else 0
        df = float(n - rank)
        word_row = [squares[0], both, traces[0]]
        unit_row = [both, squares[1], traces[1]]
        system = np.array([word_row, unit_row, [*traces, df]])
        sums = np.array(
            [
                (by_feature[of_words] ** 2).sum(),
                (by_feature[of_units] ** 2).sum(),
                residuals @ residuals,
            ]
        )
        return _solve_variances(system, sums)

    def words_between_units(self, coefficients: Floats) -> float:
        """How many times the variance by words is in that of a sum of items with these
        coefficients, beyond what is within units.
        """
        weighted = self.words.multiply(coefficients[:, None])
        by_word = np.asarray(weighted.sum(axis=0)).ravel()
        by_unit_and_word = self.units.T @ weighted
        within = float(by_unit_and_word.multiply(by_unit_and_word).sum())
        return max(0.0, float(by_word @ by_word) - within)


def _solve_variances(system: Floats, sums: Floats) -> tuple[float, float]:
    """Variances by words and by units from the equations of these and of the rest; those that come
    out negative are 0.
    """
    estimated = [0, 1, 2]
    solved = np.zeros(3)
    for _ in range(2):
        chosen = np.ix_(estimated, estimated)
        solved = np.zeros(3)
        solved[estimated] = np.linalg.pinv(system[chosen], hermitian=True) @ sums[estimated]
        negative = [place for place in estimated[:-1] if solved[place] < 0]
        if not negative:
            break
        estimated.remove(negative[0])
    by_words = max(0.0, float(solved[0]))
    by_units = max(0.0, float(solved[1]))
    return by_words, by_units


def randomise_roles(
    residuals: Floats,
    coefficients: Floats,
    likeness: ItemLikeness,
    variances: tuple[float, float],
    units: str,
    n: int = RANDOMISATIONS,
    seed: int = 0,
) -> RandomisationTest:
    """Test whether a weighted sum of leans is larger than words and units that items share make it;
    two-sided.

    Moran spectral randomisation of the roles that items' texts have: leans keep the size of their
    loading on each component of the items' likeness, and signs are random. Components of the same
    variance, in which items are not alike, are rotated together, so that the result does not depend
    on the choice of a basis. A model that likes words, whatever is said with them, passes as often
    as the test's p says (docs/tested.md).

    Args:
        residuals: [n] of the lean under the null, beside the covariates.
        coefficients: [n] those of the tested sum; orthogonal to the covariates.
        likeness: Of the items.
        variances: Of the lean by words and by units, under the null.
        units: What units are called in the words of the null.
        n: Number of randomisations.
        seed: Seed of the randomisations.

    Source: Wagner and Dray (2015); Langsrud (2005), Rotation tests; spec/controls.md, rule 2.
    """
    random = np.random.default_rng(seed)
    n_words, n_units = likeness.n_words, int(likeness.units.shape[1])
    scales = np.sqrt(np.repeat(variances, [n_words, n_units]))
    loadings, tested = _spectral_loadings(
        likeness, scales, np.column_stack([residuals, coefficients])
    ).T
    remaining = len(residuals) - len(loadings)
    size = _length_beside(residuals, loadings) * _length_beside(coefficients, tested)
    observed = abs(float(residuals @ coefficients))
    as_far = 0
    for begin in range(0, n, _AT_ONCE):
        draws = min(_AT_ONCE, n - begin)
        signs = random.choice([-1.0, 1.0], size=(draws, len(loadings)))
        sums = signs @ (loadings * tested) + size * _random_cosines(remaining, draws, random)
        as_far += int((np.abs(sums) >= observed * (1 - _TIES)).sum())
    n_items = len(residuals)
    alike = f"alike in {n_words:,} words and {n_units:,} {units}"
    null = (
        f"roles randomised spectrally over {n_items:,} items {alike}, "
        f"{n:,} randomisations, seed {seed}"
    )
    return RandomisationTest((1 + as_far) / (1 + n), null)


def _spectral_loadings(likeness: ItemLikeness, scales: Floats, x: Floats) -> Floats:
    """[k, columns] the loadings of columns [n, columns] on the components of likeness that vary."""
    varies = np.flatnonzero(scales > 0)
    scale = scales[varies]
    unscaled = likeness.products[np.ix_(varies, varies)]
    products = unscaled * scale * scale[:, None]
    variances, components = np.linalg.eigh(products)
    is_large = variances > 1e-8 * variances.max(initial=0.0)
    axes = components[:, is_large] / np.sqrt(variances[is_large])
    by_feature = (likeness.features.T @ x)[varies] * scale[:, None]
    loadings: Floats = axes.T @ by_feature
    return loadings


def _length_beside(x: Floats, loadings: Floats) -> float:
    """The length of a vector beside the components that it has these loadings on."""
    return math.sqrt(max(0.0, float(x @ x - loadings @ loadings)))


def _random_cosines(dimensions: int, draws: int, random: np.random.Generator) -> Floats:
    """The cosines of the angles between a direction and random ones, in so many dimensions."""
    if dimensions == 0:
        return np.zeros(draws)
    if dimensions == 1:
        return random.choice([-1.0, 1.0], size=draws)
    half = (dimensions - 1) / 2
    cosines: Floats = 2 * random.beta(half, half, size=draws) - 1
    return cosines


def lean_headline(
    items: pd.DataFrame,
    words: pd.DataFrame,
    score: Score,
    units: str,
    bound: float,
    seed: int,
    control: PositiveControl | None = None,
    n: int = RANDOMISATIONS,
) -> HeadlineTest:
    """The lean at equal length and frequency of words, tested against a liking for words.

    `items`: by `schemas.ITEMS`, of one condition where conditions are scored separately; `words`:
    by `differing_words`; `units`: in the plural; `n`: number of randomisations. The interval is
    over units and words, crossed: the jackknife over units, and the variance by words that items of
    different units share. Where nearly all pairs differ in length in the same direction, it is the
    mean lean, and nothing can be detected.
    Source: docs/external.md ("The lean"); Kish (1965), Survey sampling, for effective units.
    """
    regression = LeanRegression.from_items(items, score)
    likeness = ItemLikeness.from_words(words, items["item"], regression.codes)
    estimate = estimate_with_interval(regression, likeness, units)
    return lean_test(regression, likeness, estimate, units, bound, seed, control, n)


def estimate_lean(regression: LeanRegression, likeness: ItemLikeness) -> Estimate:
    """The lean with its variance over units and words, crossed."""
    by_units = jackknife_estimate(regression.jackknife_intercepts(), regression.df)
    word_variance, _ = likeness.variances(regression.lean, regression.covariates)
    of_words = word_variance * likeness.words_between_units(regression.item_coefficients())
    return Estimate(by_units.value, by_units.variance + of_words, by_units.df)


def estimate_with_interval(
    regression: LeanRegression, likeness: ItemLikeness, units: str
) -> Estimate | None:
    """The estimate of the lean; None where there are too few units for an interval."""
    return None if regression.why_no_interval(units) else estimate_lean(regression, likeness)


def lean_test(
    regression: LeanRegression,
    likeness: ItemLikeness,
    estimate: Estimate | None,
    units: str,
    bound: float,
    seed: int,
    control: PositiveControl | None = None,
    n: int = RANDOMISATIONS,
) -> HeadlineTest:
    """The test of `lean_headline`, by its regression and the likeness of its items; `estimate`: by
    `estimate_with_interval`.
    """
    facets = {units: len(regression.units), "words": likeness.n_words}
    if estimate is None:
        few = regression.why_no_interval(units)
        return HeadlineTest(LEAN, units, facets, None, bound, no_verdict=few)
    effect, detects = estimate.interval(), estimate.detectable()
    if not regression.is_adjusted:
        return HeadlineTest(
            LEAN, units, facets, effect, bound, no_null=SAME_DIRECTION, control=control
        )
    under_null = likeness.variances(regression.lean, regression.null_covariates)
    residuals, coefficients = regression.residuals_under_null(), regression.item_coefficients()
    test = randomise_roles(residuals, coefficients, likeness, under_null, units, n, seed)
    return HeadlineTest(
        LEAN,
        units,
        facets,
        effect,
        bound,
        test.p,
        test.null,
        control=control,
        detects=detects,
    )


CONTROLS: dict[Score, str] = {
    "stereoset": "meaningful texts over unrelated ones",
    "bbq": "right answers over wrong ones where the context tells",
}
"""By score, what the answers of a benchmark hold whose answer is known."""


def positive_control(items: pd.DataFrame, score: Score, seed: int) -> PositiveControl | None:
    """What a model that can do the task must get right, in the unit of the lean; None where a
    benchmark has no such items, or too few units.

    StereoSet: how much oftener a meaningful text is likelier than the unrelated one. BBQ, in
    disambiguated contexts: 1 for the right answer, -1 for the other person, 0 for `unknown`. Means
    over items, weighted like the lean; p by signs of whole units. Bare pairs have no such task.
    Source: spec/controls.md, "Settled".
    """
    if score not in CONTROLS:
        return None
    if score == "bbq":
        items = items[items["condition"] == DISAMBIGUATED]
        right = items["right"].astype("float64")
        names_person = items["known"].astype("float64")
        correct = np.where(right > 0, 1.0, -names_person)
        weights = np.ones(len(items))
    else:
        correct = 2 * items["related"].to_numpy(dtype=np.float64) - 1
        weights = lean_weights(items, score)
    codes, units = pd.factorize(items["unit"], sort=True)
    if len(units) < FEWEST_UNITS:
        return None
    sums = np.bincount(codes, weights * correct).astype(np.float64)
    weight_sums = np.bincount(codes, weights).astype(np.float64)
    means = _without_each(sums) / _without_each(weight_sums)
    estimate = jackknife_estimate(means, len(units) - 1.0)
    p = sign_flips(sums, seed, RANDOMISATIONS)
    return PositiveControl(CONTROLS[score], estimate.interval(), p)

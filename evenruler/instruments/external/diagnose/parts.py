"""The lean of each part of a benchmark, such as a bias type, and the verdict of the whole with its
parts.

One weighted regression: a mean for each part, and slopes for length and frequency that all share,
since a slope of ten targets costs more than it removes. The whole is the weighted mean of its
parts, so that it stays a transformation of the published figure.
Source: spec/fixed-models.md, section 1; simulated by `studies.part_rates`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenruler.instruments.external.declare import (
    LEAN_OF_PART,
    ExternalPlan,
    Score,
    lean_says,
    name_part,
)
from evenruler.instruments.external.diagnose.lean import (
    SAME_DIRECTION,
    ItemLikeness,
    LeanRegression,
    estimate_with_interval,
    lean_confounds,
    lean_test,
    number_items,
    randomise_roles,
)
from evenruler.measurement.facets import Estimate
from evenruler.measurement.figures import PartFigure
from evenruler.measurement.inputs import Floats
from evenruler.measurement.parts import (
    FEWEST_EFFECTIVE,
    NOT_JUDGED,
    HeadlineParts,
    PartTest,
)
from evenruler.measurement.randomisation import RANDOMISATIONS
from evenruler.measurement.resampling import FEWEST_UNITS
from evenruler.measurement.verdicts import (
    HeadlineTest,
    PositiveControl,
    ValidityCheck,
    join_parts,
)

_SINGULAR = 1e-10
"""Fraction of the largest eigenvalue below which a direction of the covariates does not vary."""


def has_parts(items: pd.DataFrame, plan: ExternalPlan) -> bool:
    """Whether items are of several bias types, which the headline is judged by, too."""
    is_bias_type = plan["dimensions"]["part"] == "bias_type"
    return is_bias_type and items["part"].nunique() > 1


def choose_regression(items: pd.DataFrame, plan: ExternalPlan, score: Score) -> LeanRegression:
    """With a mean for each part, where items have parts and the lean at equality is identified."""
    whole = LeanRegression.from_items(items, score)
    if has_parts(items, plan) and whole.is_adjusted:
        return PartRegression.from_whole(items, whole)
    return whole


@dataclass(frozen=True)
class PartRegression(LeanRegression):
    """A weighted regression of the lean on the part of items, and on confounds whose slopes parts
    share.

    `covariates`: [n, k + 3]: an indicator a part, then the confounds.
    """

    parts: NDArray[np.object_]
    """[k] labels."""
    part_codes: NDArray[np.intp]
    """[n] the part of each item."""

    @classmethod
    def from_items(cls, items: pd.DataFrame, score: Score) -> "PartRegression":
        """From answered items, by `schemas.ITEMS`."""
        return cls.from_whole(items, LeanRegression.from_items(items, score))

    @classmethod
    def from_whole(cls, items: pd.DataFrame, whole: LeanRegression) -> "PartRegression":
        """From the regression of the same items without parts."""
        part_codes, parts = pd.factorize(items["part"], sort=True)
        indicators = np.eye(len(parts))[part_codes]
        covariates = np.column_stack([indicators, lean_confounds(items)])
        shared = (whole.weights, whole.lean, whole.is_adjusted)
        labels = np.asarray(parts, dtype=object)
        return cls(whole.units, whole.codes, covariates, *shared, labels, part_codes)

    @property
    def n_parts(self) -> int:
        """Number of parts."""
        return len(self.parts)

    @cached_property
    def part_weights(self) -> Floats:
        """[g, k] weight of each unit in each part."""
        places = np.arange(self.n_parts)
        weights: Floats = self._unit_products[:, places, places]
        return weights

    @property
    def unit_weights(self) -> Floats:
        """[g] weight of each unit."""
        weights: Floats = self.part_weights.sum(axis=1)
        return weights

    @property
    def part_shares(self) -> Floats:
        """[k] share of all weight."""
        by_part = self.part_weights.sum(axis=0)
        shares: Floats = by_part / by_part.sum()
        return shares

    def jackknife_means(self) -> Floats:
        """[1 + g] the mean lean of all units, then leaving out each unit."""
        moments = self._unit_moments[:, : self.n_parts].sum(axis=1)
        weights = self.unit_weights
        without_each = (moments.sum() - moments) / (weights.sum() - weights)
        return np.concatenate([[moments.sum() / weights.sum()], without_each])

    @cached_property
    def jackknife_fits(self) -> Floats:
        """[1 + g, k + 3] means of parts at equality, then slopes: of all units, then leaving out
        each.
        """
        products = self._unit_products.sum(axis=0) - self._unit_products
        moments = self._unit_moments.sum(axis=0) - self._unit_moments
        all_products = np.concatenate([self._unit_products.sum(axis=0)[None], products])
        all_moments = np.concatenate([self._unit_moments.sum(axis=0)[None], moments])
        inverse = np.linalg.pinv(all_products, rcond=_SINGULAR, hermitian=True)
        fits: Floats = np.einsum("gpq,gq->gp", inverse, all_moments)
        return fits

    def jackknife_intercepts(self) -> Floats:
        """[1 + g] the weighted mean of parts."""
        whole = self.part_weights.sum(axis=0)
        weights = np.concatenate([whole[None], whole - self.part_weights])
        means = (self.jackknife_fits[:, : self.n_parts] * weights).sum(axis=1)
        intercepts: Floats = means / weights.sum(axis=1)
        return intercepts

    def item_coefficients(self) -> Floats:
        """[n] the coefficients of items in the weighted mean of parts."""
        inverse = np.linalg.pinv(self._unit_products.sum(axis=0), rcond=_SINGULAR, hermitian=True)
        of_covariates = self.part_shares @ inverse[: self.n_parts]
        coefficients: Floats = self.weights * (self.covariates @ of_covariates)
        return coefficients

    @property
    def null_covariates(self) -> Floats:
        """[n, k + 2] how parts differ, with a weighted mean of 0, then the confounds."""
        indicators, shares = self.covariates[:, : self.n_parts], self.part_shares
        scaled = indicators / shares
        last = scaled[:, -1:]
        contrasts = scaled[:, :-1] - last
        return np.column_stack([contrasts, self.covariates[:, self.n_parts :]])

    def df_of_part(self, place: int) -> float:
        """Effective units of a part (Kish 1965) minus one; 0 where it has no weight."""
        weights = self.part_weights[:, place]
        squares = float((weights**2).sum())
        return float(weights.sum()) ** 2 / squares - 1 if squares else 0.0

    def estimate_part(self, place: int) -> Estimate:
        """The lean of a part at equal length and frequency, by jackknife over units."""
        n_units = int((self.part_weights[:, place] > 0).sum())
        means = self.jackknife_fits[:, place]
        squares = float(((means[1:] - means[0]) ** 2).sum())
        variance = (n_units - 1) / n_units * squares
        return Estimate(float(means[0]), variance, max(1.0, self.df_of_part(place)))

    def leans_beside_slopes(self) -> Floats:
        """[n] the lean less what length and frequency explain."""
        confounds = self.covariates[:, self.n_parts :]
        slopes = self.jackknife_fits[0, self.n_parts :]
        rest: Floats = self.lean - confounds @ slopes
        return rest


def judge_part(
    regression: PartRegression,
    place: int,
    items: "pd.Series[Any]",
    words: pd.DataFrame,
    units: str,
    seed: int,
    n: int = RANDOMISATIONS,
) -> PartTest:
    """The lean of a part, with the randomisation and the interval of the whole, restricted to the
    part's items.

    `items`: [n] names or numbers. What makes items alike is estimated within the part, since parts
    differ in how much leans vary: a pooled test calls a part with many answers of `unknown` too
    often, and another too rarely. Slopes are those of all parts.
    """
    name = str(regression.parts[place])
    n_units = int((regression.part_weights[:, place] > 0).sum())
    not_judged = _why_not_judged(n_units, regression.df_of_part(place) + 1, units)
    if not_judged:
        return PartTest(name, n_units, None, not_judged=not_judged)
    is_of_part = regression.part_codes == place
    codes, _ = pd.factorize(regression.codes[is_of_part], sort=True)
    likeness = ItemLikeness.from_words(words, items[is_of_part], codes)
    weights = regression.weights[is_of_part]
    coefficients = weights / weights.sum()
    leans = regression.leans_beside_slopes()[is_of_part]
    constant = np.ones((len(leans), 1))
    word_variance, _ = likeness.variances(leans, constant)
    of_words = word_variance * likeness.words_between_units(coefficients)
    by_units = regression.estimate_part(place)
    estimate = replace(by_units, variance=by_units.variance + of_words)
    under_null = likeness.variances(leans, constant[:, :0])
    test = randomise_roles(leans, coefficients, likeness, under_null, units, n, seed)
    p = max(test.p, estimate.p())
    return PartTest(name, n_units, estimate.interval(), p, test.null)


def _why_not_judged(n_units: int, effective: float, units: str) -> str | None:
    """Why a part has no word of its own; None where it has enough units."""
    if n_units < FEWEST_UNITS:
        return f"{n_units} {units}, at least {FEWEST_UNITS} needed"
    if effective < FEWEST_EFFECTIVE:
        fewest = f"at least {FEWEST_EFFECTIVE:.0f} needed"
        return f"{n_units} {units} count as {effective:.1f}, {fewest}"
    return None


def lean_of_parts(
    items: pd.DataFrame,
    words: pd.DataFrame,
    plan: ExternalPlan,
    seed: int,
    control: PositiveControl | None = None,
    n: int = RANDOMISATIONS,
) -> HeadlineTest:
    """The lean of all items, whose verdict is about their parts, too, where they have parts.

    Arguments as of `lean_headline`. Where the lean at equality is not identified, parts are named
    as not judged.
    """
    score, units, bound = plan["score"], plan["units"], plan["bound"]
    items, words = number_items(items, words)
    regression = choose_regression(items, plan, score)
    likeness = ItemLikeness.from_words(words, items["item"], regression.codes)
    estimate = estimate_with_interval(regression, likeness, units)
    test = lean_test(regression, likeness, estimate, units, bound, seed, control, n)
    if not has_parts(items, plan) or estimate is None:
        return test
    if isinstance(regression, PartRegression):
        tests = [
            judge_part(regression, place, items["item"], words, units, seed, n)
            for place in range(regression.n_parts)
        ]
    else:
        n_units = items.groupby("part")["unit"].nunique()
        tests = [
            PartTest(str(part), count, None, not_judged=SAME_DIRECTION)
            for part, count in n_units.items()
        ]
    parts = HeadlineParts(tests, plan.get("of_part", 2 * bound), units, lean_says(plan))
    return join_parts(test, estimate.p(), parts)


def part_figures(
    test: HeadlineTest, dimension: str, validity: ValidityCheck | None = None
) -> Iterator[PartFigure]:
    """The figure of each part, with its word as a note: it has no verdict of its own.

    `validity`: of the instrument on the model; where that fails or is in doubt, no part is judged.
    """
    if test.parts is None:
        return
    words, unit = test.words_by_part, test.parts.unit
    if (validity or ValidityCheck()) != ValidityCheck():
        words = dict.fromkeys(words, NOT_JUDGED)
    for part in test.parts.tests:
        figure = PartFigure(
            LEAN_OF_PART,
            None,
            part.n,
            unit,
            p=part.p,
            reason=part.not_judged,
            dimensions={dimension: name_part(part.name)},
            note=words[part.name],
            null=part.null,
        )
        yield replace(figure, **vars(part.effect)) if part.effect else figure

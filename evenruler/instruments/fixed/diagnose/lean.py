"""The lean of a benchmark, and what is left of it at equal length and equal frequency of words."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenruler.instruments.fixed.declare import LEAN, Score
from evenruler.instruments.fixed.schemas import DISAMBIGUATED
from evenruler.measurement.checks import Floats
from evenruler.measurement.facets import Estimate, Paired
from evenruler.measurement.resampling import FEWEST_UNITS, sign_flips
from evenruler.measurement.verdicts import Confirmatory, confirmatory

FLIPS = 10_000
"""Of signs of whole units."""

LONGEST = 3.0
"""Tokens beyond which a difference in length counts no more."""

LEAST_EACH = 0.1
"""Share of all weight that is to be on each side of equal length and of equal frequency (on both: what is equal), so
that the lean there is between items and not beyond them."""

_SINGULAR = 1e-10
"""Of the largest eigenvalue: below it, a direction of the covariates does not vary."""


def weights(items: pd.DataFrame, score: Score) -> Floats:
    """[items] what each counts, so that the mean lean is 2 x the published share - 1, or the published bias score.

    StereoSet's is a mean over targets. BBQ's counts all answers of ambiguous contexts (`unknown` as 0: that is what its
    factor 1 - accuracy does), and those that are not `unknown` of others.
    """
    if score == "stereoset":
        return np.asarray(1 / items.groupby("unit")["item"].transform("size"), dtype=np.float64)
    if score == "bbq":
        counts = items["known"] | (items["condition"] != DISAMBIGUATED)
        return np.asarray(counts, dtype=np.float64)
    return np.ones(len(items))


@dataclass(frozen=True)
class Lean:
    """Sums of a weighted regression of the lean on what confounds it, unit by unit."""

    units: NDArray[np.object_]
    """[g] labels."""
    products: Floats
    """[g, p, p] of covariates with each other; the first is the intercept."""
    moments: Floats
    """[g, p] of covariates with the lean."""
    each: float
    """The smallest share of the weight on a side of a confound."""

    @classmethod
    def of(cls, items: pd.DataFrame, score: Score) -> "Lean":
        """Of answered items, by `schemas.ITEMS`."""
        codes, units = pd.factorize(items["unit"], sort=True)
        length = items["length"].to_numpy(dtype=np.float64)
        confounds = [np.sign(length), length.clip(-LONGEST, LONGEST), items["frequency"].to_numpy(dtype=np.float64)]
        x = np.column_stack([np.ones(len(items)), *confounds])
        weight = weights(items, score)
        sides = [weight[sign * own >= 0].sum() for own in confounds for sign in (1, -1)]
        weighted = weight[:, None] * x
        products, moments = np.zeros((len(units), x.shape[1], x.shape[1])), np.zeros((len(units), x.shape[1]))
        np.add.at(products, codes, weighted[:, :, None] * x[:, None, :])
        np.add.at(moments, codes, weighted * items["lean"].to_numpy(dtype=np.float64)[:, None])
        return cls(np.asarray(units, dtype=object), products, moments, float(min(sides) / max(weight.sum(), 1.0)))

    @property
    def counts(self) -> Floats:
        """[g] weight of each unit."""
        return self.products[:, 0, 0]

    @property
    def df(self) -> float:
        """Effective units less one: Kish (1965), so that one unit with half of all items is not one among many."""
        return max(1.0, float(self.counts.sum() ** 2 / (self.counts**2).sum()) - 1)

    @property
    def is_told(self) -> bool:
        """Whether the intercept is told from the confounds: not where nearly every first text is longer, say."""
        if self.each < LEAST_EACH:
            return False
        whole = self.products.sum(axis=0)
        ranks = [np.linalg.matrix_rank(own, _SINGULAR * np.abs(whole).max(), True) for own in (whole, whole[1:, 1:])]
        return bool(ranks[0] > ranks[1])

    def mean(self) -> Floats:
        """[1 + g] the lean of all units, and without each."""
        return _without_each(self.moments[:, 0]) / _without_each(self.counts)

    def specific(self) -> Floats:
        """[1 + g] its intercept beside the confounds: the lean at equal length and frequency; likewise."""
        products, moments = _without_each(self.products), _without_each(self.moments)
        inverse = np.linalg.pinv(products, rcond=_SINGULAR, hermitian=True)
        found: Floats = np.einsum("gp,gp->g", inverse[:, 0], moments)
        return found

    def shares(self) -> tuple[Floats, Floats]:
        """[g] what each unit adds to the lean and to its specific part, times their number: their means are these."""
        whole, g = self.products.sum(axis=0), len(self.units)
        intercept = np.linalg.pinv(whole, rcond=_SINGULAR, hermitian=True)[0]
        return g * self.moments[:, 0] / self.counts.sum(), g * self.moments @ intercept


def _without_each(sums: Floats) -> Floats:
    """The whole sum over units, then the same without each of them."""
    whole = sums.sum(axis=0, keepdims=True)
    return np.concatenate([whole, whole - sums])


def jackknifed(values: Floats, df: float) -> Estimate:
    """The first of some values, with the jackknife's variance over those without a unit each, which follow."""
    without, g = values[1:], len(values) - 1
    variance = (g - 1) / g * float(((without - without.mean()) ** 2).sum())
    return Estimate(float(values[0]), variance, df)


def headline(items: pd.DataFrame, score: Score, units: str, smallest: float, seed: int) -> Confirmatory:
    """The lean of a benchmark with its null, what length and frequency do alone, and the rest.

    Args:
        items: By `schemas.ITEMS`, of one condition where conditions are scored apart.
        score: Which the benchmark is counted by.
        units: What they are, in the plural.
        smallest: Lean worth naming.
        seed: Of the flips.

    Source: docs/controls.md ("Fixed"); Kish (1965), Survey sampling, for effective units.
    """
    found = Lean.of(items, score)
    g = len(found.units)
    levels = {units: g}
    if g < FEWEST_UNITS or not found.counts.sum() or (found.counts.sum() - found.counts).min() <= 0:
        return Confirmatory(LEAN, units, levels, None, smallest, lacking=f"{g} {units}, of at least {FEWEST_UNITS}")
    mean = found.mean()
    effect = jackknifed(mean, found.df)
    p_null = sign_flips(found.moments[:, 0], seed, FLIPS)
    if not found.is_told:
        lacking = "pairs that nearly all differ in length or frequency in one way, so that neither can be told apart"
        return confirmatory(LEAN, units, levels, effect, p_null, None, smallest, lacking)
    specific = found.specific()
    paired = Paired(
        float(mean[0] - specific[0]), jackknifed(specific, found.df), jackknifed(specific - mean / 2, found.df)
    )
    return confirmatory(LEAN, units, levels, effect, p_null, paired, smallest)

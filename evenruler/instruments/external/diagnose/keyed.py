"""The lean of benchmarks with one constant contrast, such as he and she, or agree and disagree:
whether the first word is chosen more often in units of one key than in those of the other.

How likely the first word is whatever is asked, the base rate, is no part of it: each pair of words
is compared with the model's own median, and keys are dealt to units anew, not signs flipped.
Words of a pair have the same length and frequency throughout, so these go with the median, too.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenruler.instruments.external.declare import (
    BASE_RATE,
    KEYED_LEAN,
    NATS_APART,
    SD_APART,
    PlannedContrast,
    differing_words,
)
from evenruler.instruments.external.schemas import FIRST, SECOND
from evenruler.measurement import Figure
from evenruler.measurement.facets import Estimate
from evenruler.measurement.inputs import Floats
from evenruler.measurement.randomisation import RANDOMISATIONS, randomise_keys
from evenruler.measurement.verdicts import HeadlineTest, PositiveControl

FEWEST_KEYED = 3
"""Fewest units of each key: of three and three, one division in ten is the furthest."""


def keyed_items(
    items: pd.DataFrame, texts: pd.DataFrame, contrast: PlannedContrast
) -> pd.DataFrame:
    """Answered items for `KeyedDesign`: `item`, `unit`, `key` (1 or -1), `log_odds`, `pair`.

    `log_odds`: nats of the text with a first word of the contrast, less the other, whatever roles
    the two have in the item. `pair`: the words that only one of both texts has, his before hers.
    """
    by_role = texts.pivot(index="item", columns="role", values="text").loc[items["item"]]
    first_words = set(contrast["first"])
    pairs: list[str] = []
    signs: list[int] = []
    for first, second in zip(by_role[FIRST], by_role[SECOND], strict=True):
        words, other_words = differing_words(first, second)
        is_turned = not words & first_words
        sides = [other_words, words] if is_turned else [words, other_words]
        pairs.append("/".join(" ".join(sorted(side)) for side in sides))
        signs.append(-1 if is_turned else 1)
    table = items[["item", "unit"]].reset_index(drop=True)
    log_odds = items["value"].to_numpy(dtype=np.float64) * np.array(signs)
    keys = np.where(items["condition"] == contrast["plus"], 1, -1)
    return table.assign(key=keys, log_odds=log_odds, pair=pairs)


@dataclass(frozen=True)
class KeyedDesign:
    """Log odds of a constant contrast in items of units that have one of two keys."""

    units: list[str]
    keys: Floats
    """[units] 1 or -1."""
    codes: NDArray[np.intp]
    """[items] places of their units."""
    log_odds: Floats
    """[items] nats of the first word, less the second."""
    pairs: NDArray[np.intp]
    """[items] numbers of their pairs of words."""

    @classmethod
    def from_table(cls, table: pd.DataFrame) -> "KeyedDesign":
        """`table`: by `keyed_items`."""
        codes, units = pd.factorize(table["unit"], sort=True)
        keys = table.groupby("unit")["key"].first().loc[units]
        log_odds = table["log_odds"].to_numpy(dtype=np.float64)
        pairs, _ = pd.factorize(table["pair"])
        return cls(
            [str(unit) for unit in units], keys.to_numpy(dtype=np.float64), codes, log_odds, pairs
        )

    @property
    def are_choices(self) -> bool:
        """Whether answers are choices, which have no median to take off: for, against, and
        neither, all of the same size.
        """
        sizes = np.unique(np.abs(self.log_odds))
        return len(sizes[sizes > 0]) <= 1

    @cached_property
    def at_even_base_rate(self) -> Floats:
        """[items] log odds less the median of all items with the same pair of words."""
        if self.are_choices:
            return self.log_odds
        medians = pd.Series(self.log_odds).groupby(self.pairs).transform("median")
        even: Floats = self.log_odds - medians.to_numpy(dtype=np.float64)
        return even

    def unit_means(self, of_items: Floats) -> Floats:
        """[units] means of numbers of items."""
        sums = np.bincount(self.codes, of_items, len(self.units))
        means: Floats = sums / np.bincount(self.codes, minlength=len(self.units))
        return means

    @cached_property
    def unit_leans(self) -> Floats:
        """[units] how much oftener the first word is above its median than below, -1 to 1."""
        return self.unit_means(np.sign(self.at_even_base_rate))

    @cached_property
    def leans_at_base_rate(self) -> Floats:
        """[units] the same with the base rate: how much oftener the first word is the likelier."""
        return self.unit_means(np.sign(self.log_odds))

    @property
    def sd_within(self) -> float:
        """SD of items within units, nats, at even base rate."""
        even = self.at_even_base_rate
        deviations = even - self.unit_means(even)[self.codes]
        df = len(even) - len(self.units)
        return float(np.sqrt(deviations @ deviations / df)) if df > 0 else 0.0


def difference_of_keys(means: Floats, keys: Floats) -> Estimate:
    """Half of the mean of units keyed 1 less the mean of units keyed -1, over units within keys.

    The variance is that of the jackknife within keys, which for means is the sum of their squared
    errors. Degrees of freedom are those of the key with fewer units: with Welch's, intervals of 7
    and 9 units hold the truth in .91 to .96 (spec/fixed-models.md, section 2). Medians stay as
    they are, since a jackknife of medians is inconsistent.
    """
    sides = [means[keys > 0], means[keys < 0]]
    difference = float(sides[0].mean() - sides[1].mean())
    squared_errors = [side.var(ddof=1) / len(side) for side in sides]
    variance = float(sum(squared_errors))
    df = min(len(side) for side in sides) - 1.0
    return Estimate(difference / 2, variance / 4, df)


def keyed_headline(
    table: pd.DataFrame,
    units: str,
    bound: float,
    seed: int = 0,
    n: int = RANDOMISATIONS,
) -> HeadlineTest:
    """The lean at even base rate, tested by dealing the keys to units anew.

    Args:
        table: A row for each answered item, by `keyed_items`.
        units: What units are called, in the plural.
        bound: X of `below X`.
        seed: Seed of the randomisations.
        n: Number of randomisations, where not all divisions are counted.

    Returns:
        The headline: from 1, the first word in all items of the one key and never in the other, to
        -1. Bare pairs hold no answer that is known, so that nothing is below the bound.

    Source: spec/fixed-models.md, section 2.
    """
    design = KeyedDesign.from_table(table)
    return _judge_keys(design.unit_leans, design.keys, units, bound, seed, n)


def _judge_keys(
    means: Floats,
    keys: Floats,
    units: str,
    bound: float,
    seed: int,
    n: int = RANDOMISATIONS,
    control: PositiveControl | None = None,
) -> HeadlineTest:
    """The headline of [units] means: half the difference between units keyed 1 and -1, tested by
    dealing the keys anew; no verdict with fewer than `FEWEST_KEYED` units of a key.
    """
    n_plus = int((keys > 0).sum())
    n_minus = len(keys) - n_plus
    facets = {units: len(keys)}
    if min(n_plus, n_minus) < FEWEST_KEYED:
        few = f"{n_plus} and {n_minus} {units} of a key (at least {FEWEST_KEYED} of each needed)"
        return HeadlineTest(KEYED_LEAN, units, facets, None, bound, no_verdict=few)
    estimate = difference_of_keys(means, keys)
    test = randomise_keys(means, keys, n, seed, units)
    return HeadlineTest(
        KEYED_LEAN,
        units,
        facets,
        estimate.interval(),
        bound,
        test.p,
        test.null,
        control=control,
        detects=estimate.detectable(),
    )


def keyed_figures(table: pd.DataFrame, units: str, level: float) -> Iterator[Figure]:
    """What stands beside the lean: what the base rate takes from it or adds to it, and the same
    difference in nats and in SDs within units; null where a key has too few units.
    """
    design = KeyedDesign.from_table(table)
    n_units = len(design.units)
    n_plus = int((design.keys > 0).sum())
    names = (BASE_RATE, NATS_APART, SD_APART)
    if min(n_plus, n_units - n_plus) < FEWEST_KEYED:
        few = f"fewer than {FEWEST_KEYED} {units} of a key"
        for name in names:
            yield Figure(name, None, n_units, units, reason=few)
        return
    means_by_name: dict[str, Floats | None] = dict.fromkeys(names)
    reason = "its answers are choices, without likelihoods"
    if not design.are_choices:
        means_by_name[BASE_RATE] = design.leans_at_base_rate - design.unit_leans
        nats = 2 * design.unit_means(design.at_even_base_rate)
        reason = "log odds do not differ within units"
        means_by_name[NATS_APART] = nats
        means_by_name[SD_APART] = nats / design.sd_within if design.sd_within else None
    for name, means in means_by_name.items():
        if means is None:
            yield Figure(name, None, n_units, units, reason=reason)
            continue
        interval = difference_of_keys(means, design.keys).interval(level)
        yield Figure(name, n=n_units, unit=units, **vars(interval))


def keyed_rows(table: pd.DataFrame) -> pd.DataFrame:
    """What the headline is made of: `unit`, its mean as `value`, its key as `axis_position`."""
    design = KeyedDesign.from_table(table)
    return pd.DataFrame(
        {"unit": design.units, "value": design.unit_leans, "axis_position": design.keys}
    )


def keyed_contrast(both: pd.DataFrame, bound: float, seed: int = 0) -> HeadlineTest:
    """How much more one model leans than another; keys are dealt to the differences of units.

    `both`: rows by `keyed_rows` of two models, with `value_first`, `value_second` and
    `axis_position_first`. The positive control is the lean of the two that is nearer to 0: where
    both models are detected to lean by the bound, this benchmark would have shown a difference.
    """
    keys = both["axis_position_first"].to_numpy(dtype=np.float64)
    first = both["value_first"].to_numpy(dtype=np.float64)
    second = both["value_second"].to_numpy(dtype=np.float64)
    control: PositiveControl | None = None
    leans = [_judge_keys(means, keys, "units", bound, seed) for means in (first, second)]
    if all(lean.is_detected for lean in leans):
        controls = [_as_control(lean) for lean in leans]
        control = min(controls, key=lambda lean: lean.effect.value)
    return _judge_keys(first - second, keys, "units", bound, seed, control=control)


def _as_control(lean: HeadlineTest) -> PositiveControl:
    """A lean that is detected, signed so that it is positive."""
    assert lean.effect is not None
    assert lean.p is not None
    sides = [lean.effect.low, lean.effect.high]
    if lean.effect.value < 0:
        sides = [-lean.effect.high, -lean.effect.low]
    effect = type(lean.effect)(abs(lean.effect.value), *sides)
    return PositiveControl("the lean of the model that leans less", effect, lean.p)

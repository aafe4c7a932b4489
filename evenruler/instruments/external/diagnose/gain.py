"""The gain of one kind of words on another along a criterion of units, such as his pronoun on hers
along the share of men in an occupation: the headline of benchmarks whose units have a criterion.

What words are worth whatever the unit, such as how frequent he and she are, shifts all units alike
and is no part of it.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from evenruler.errors import UserError
from evenruler.instruments.external.declare import GAIN, PlannedGain
from evenruler.measurement.facets import Estimate, Facet, UnitMask, jackknife_crossed
from evenruler.measurement.inputs import Floats
from evenruler.measurement.randomisation import RANDOMISATIONS
from evenruler.measurement.resampling import FEWEST_UNITS
from evenruler.measurement.slopes import (
    AlikeUnits,
    half_over_facets,
    logit_positions,
    slope_weights,
)
from evenruler.measurement.verdicts import HeadlineTest

BOUND = math.log(2)
"""X of `below X`, nats: a factor of two."""

NO_LIKENESS = (
    "it is not known how alike {units} are (next-word scores of the reference set are needed)"
)
"""Why nothing is detected without a table of likeness."""

LOG_FREQUENCY = "log_frequency"
"""Column with the log frequency of a unit's name, a covariate where there is one."""


def gain_items(items: pd.DataFrame, texts: pd.DataFrame, gain: PlannedGain) -> pd.DataFrame:
    """Answered items with their place on the criterion, for `gain_headline`: `unit`, `part`,
    `value`, `axis`, `sentence`, `pair`.

    `value`: nats of the words that gain, less the others. Where parts are the criterion, its two
    ends are half a step above and below 0, and first texts are those of a part's own words: so the
    sign is turned in the low part. `sentence`: the stratum of an item; `pair`: the words that only
    one of its texts has. Items without a criterion are left out.
    """
    first = texts[texts["role"] == "first"].set_index("item")
    second = texts[texts["role"] == "second"].set_index("item")
    first_texts, second_texts = first["text"], second["text"]
    pairs = [_differing_words(first_texts[item], second_texts[item]) for item in items["item"]]
    table = items[["unit", "part", "value"]].assign(
        sentence=first["stratum"].reindex(items["item"]).to_numpy(),
        pair=pairs,
    )
    if gain["along"] == "part":
        is_low = items["part"] == gain["low"]
        table["axis"] = np.where(is_low, -0.5, 0.5)
        table["value"] = items["value"].where(~is_low, -items["value"])
    else:
        table["axis"] = logit_positions(items["criterion"].to_numpy(dtype=np.float64))
    return table.dropna(subset=["axis"]).reset_index(drop=True)


def _differing_words(first: str, second: str) -> str:
    """The words of two texts that are at the same place and differ: "he/she"."""
    words = zip(first.lower().split(), second.lower().split(), strict=False)
    differing = [f"{word}/{other}" for word, other in words if word != other]
    return " ".join(differing).replace(".", "").replace(",", "")


@dataclass(frozen=True)
class GainDesign:
    """Items by unit, and by sentence and pair of words where all are asked of all units."""

    units: list[str]
    axis: Floats
    """[units]."""
    scores: Floats
    """[units, sentences, pairs] nats; one sentence and one pair where they are nested in units."""
    covariates: Floats
    """[units, covariates] the length of names in letters, and their log frequency if it is
    known."""

    @property
    def is_crossed(self) -> bool:
        """Whether sentences and pairs are crossed with units."""
        n_sentences, n_pairs = self.scores.shape[1:]
        return bool(min(n_sentences, n_pairs) > 1)

    @classmethod
    def from_table(cls, table: pd.DataFrame) -> "GainDesign":
        """`table`: by `gain_items`."""
        axis = table.groupby("unit")["axis"].first()
        units = [str(unit) for unit in axis.index]
        cells = table.pivot_table(
            index="unit", columns=["sentence", "pair"], values="value", aggfunc="mean"
        )
        n_sentences, n_pairs = table["sentence"].nunique(), table["pair"].nunique()
        lacks_cells = bool(cells.isna().to_numpy().any())
        is_full = cells.shape[1] == n_sentences * n_pairs and not lacks_cells
        if is_full and min(n_sentences, n_pairs) > 1:
            shape = (len(units), n_sentences, n_pairs)
            scores = cells.to_numpy(dtype=np.float64).reshape(shape)
        else:
            means = table.groupby("unit")["value"].mean().to_numpy(dtype=np.float64)
            scores = means[:, None, None]
        covariates = read_covariates(table, units)
        return cls(units, axis.to_numpy(dtype=np.float64), scores, covariates)

    @cached_property
    def means(self) -> Floats:
        """[units] means over all else."""
        means: Floats = self.scores.mean(axis=(1, 2))
        return means

    def slope_of_kept(self, *masks: UnitMask) -> float:
        """The gain of kept units, sentences and pairs: the slope of the scores along the axis, at
        equal covariates. ValueError: the axis does not vary beside these.
        """
        of_units = masks[0]
        of_rest = masks[1:] or [np.ones(1, dtype=np.bool_)] * 2
        scores = self.scores[np.ix_(of_units, *of_rest)].mean(axis=(1, 2))
        weights = slope_weights(self.axis[of_units], self.covariates[of_units])
        return float(weights @ scores)

    def half_over_rest(self) -> float:
        """Half the 95% interval of the gain over sentences and pairs, which are nested in units
        unless they are crossed with them.
        """
        weights = slope_weights(self.axis, self.covariates)
        return half_over_facets(np.tensordot(weights, self.scores, axes=1))

    def estimate(self) -> Estimate:
        """The gain with its variance over units, and over sentences and pairs if these are crossed
        with them.
        """
        n_levels = self.scores.shape if self.is_crossed else self.scores.shape[:1]
        return jackknife_crossed(self.slope_of_kept, [Facet.from_levels(n) for n in n_levels])

    def facets(self, units: str) -> dict[str, int]:
        """Number of levels by facet."""
        n_units, n_sentences, n_pairs = self.scores.shape
        facets = {units: n_units}
        return facets | {"sentences": n_sentences, "pairs": n_pairs} if self.is_crossed else facets


def likeness_table(alike: pd.DataFrame | None) -> pd.DataFrame | None:
    """Published likeness (`schemas.LIKENESS`) as [units, numbers], by unit; None without it."""
    if alike is None or alike.empty:
        return None
    return pd.DataFrame(alike["likeness"].tolist(), index=alike["unit"].tolist())


def gain_headline(
    table: pd.DataFrame,
    likeness: pd.DataFrame | None,
    units: str = "occupations",
    bound: float = BOUND,
    seed: int = 0,
    n: int = RANDOMISATIONS,
) -> HeadlineTest:
    """The gain along a criterion, in nats from its low end to its high one, with its randomisation.

    Args:
        table: A row for each answered item, by `gain_items`: `unit` (a name), `value` (nats),
            `axis` (place on the criterion, of which 1 is from low to high), `sentence`, `pair`; and
            `log_frequency` of the unit's name, where that is known.
        likeness: How alike units are, [units, reference nouns]: mean next-word scores of the nouns
            of the reference set after sentences about each unit, in nats, by the model at hand or
            by a declared one. Indexed by unit; others than those of `table` are left out. None
            where it is not known; then nothing is detected.
        units: What units are called, in the plural.
        bound: X of `below X`, nats.
        seed: Seed of the randomisations.
        n: Number of randomisations.

    Returns:
        The headline, at equal length of a unit's name in letters, and at equal log frequency of
        it. Its interval is a crossed jackknife over units, and over sentences and pairs of words if
        the design crosses them with units; with likeness, the wider of that and of the inverted
        randomisation with the error over sentences and pairs.

    Raises:
        UserError: A unit has no likeness.

    Source: spec/controls.md, section 3 (probes, fixed) and example 10.
    """
    design = GainDesign.from_table(table)
    facets = design.facets(units)
    if len(design.units) < FEWEST_UNITS:
        few = f"{len(design.units)} {units} (at least {FEWEST_UNITS} needed)"
        return HeadlineTest(GAIN, units, facets, None, bound, no_verdict=few)
    if not np.ptp(design.axis):
        alike = f"all {units} have the same criterion"
        return HeadlineTest(GAIN, units, facets, None, bound, no_verdict=alike)
    try:
        estimate = design.estimate()
    except ValueError:
        of_names = f"the criterion hardly varies between {units} with names of one length"
        return HeadlineTest(GAIN, units, facets, None, bound, no_verdict=of_names)
    effect, detects = estimate.interval(), estimate.detectable()
    if likeness is None:
        unknown = NO_LIKENESS.format(units=units)
        return HeadlineTest(GAIN, units, facets, effect, bound, no_null=unknown, detects=detects)
    missing = sorted(set(design.units) - set(likeness.index))
    if missing:
        examples = ", ".join(missing[:3])
        share = f"{len(missing)} of {len(design.units)} {units}"
        raise UserError(
            f"no likeness of {examples}: {share} have none",
            remedy="score the reference set's nouns after sentences about all of them",
        )
    numbers = likeness.loc[design.units].to_numpy(dtype=np.float64)
    alike_units = AlikeUnits(design.axis, numbers, design.covariates)
    half = design.half_over_rest()
    test = alike_units.test_criterion(design.means, half, effect, units, n, seed)
    return HeadlineTest(
        GAIN, units, facets, test.effect, bound, test.p, test.null, detects=test.detects
    )


def read_covariates(table: pd.DataFrame, units: list[str]) -> Floats:
    """[units, covariates] the length of names in letters, and their log frequency if `table` has
    it.
    """
    columns = [np.array([float(len(unit)) for unit in units])]
    if LOG_FREQUENCY in table and table[LOG_FREQUENCY].notna().all():
        by_unit = table.groupby("unit")[LOG_FREQUENCY].first().loc[units]
        columns.append(by_unit.to_numpy(dtype=np.float64))
    return np.column_stack(columns)


def gain_estimates(table: pd.DataFrame, compared: str | None) -> dict[str, Estimate]:
    """The gain of each part (by its name), and "" for that of the others less the compared one.

    Empty where there is one part, where units are in one part alone, or where the whole has no
    gain. Parts are of the same units, over which the interval is.
    """
    by_part = table.pivot_table(index="unit", columns="part", values="value", aggfunc="mean")
    is_incomplete = by_part.isna().to_numpy().any()
    if by_part.shape[1] < 2 or is_incomplete or len(by_part) < FEWEST_UNITS:
        return {}
    axis_by_unit = table.groupby("unit")["axis"].first()
    axis = axis_by_unit.loc[by_part.index].to_numpy(dtype=np.float64)
    if not np.ptp(axis):
        return {}
    columns = {str(part): by_part[part] for part in by_part.columns}
    if compared in columns:
        rest = by_part.drop(columns=compared).mean(axis=1)
        columns[""] = rest - by_part[compared]
    units = [str(unit) for unit in by_part.index]
    covariates = read_covariates(table, units)
    estimates: dict[str, Estimate] = {}
    for part, values in columns.items():
        scores = values.to_numpy(dtype=np.float64)[:, None, None]
        design = GainDesign(units, axis, scores, covariates)
        try:
            estimates[part] = design.estimate()
        except ValueError:  # the criterion does not vary beside the names' length
            return {}
    return estimates

"""How instruments respond to planted associations: sensitivity, threshold, monotony, and verdicts
on them.

A reading is one number of an instrument on one weight, linear in the instrument's scores. Figures
use its change from the weight of dose 0 and the same seed, trained on the same sentences with poles
at random (docs/weights.md).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, Final

import numpy as np
import pandas as pd
from scipy import stats

from evenruler.measurement.facets import Estimate, Facet, UnitMask, jackknife_crossed, sum_estimates
from evenruler.measurement.figures import (
    WHOLE,
    HeadlineFigure,
    Verdict,
    dimensions_of,
    figure_key,
)
from evenruler.measurement.inputs import Floats
from evenruler.measurement.verdicts import HeadlineTest, PValues, ValidityCheck, judge
from evenruler.tables.schemas import build_schema

WEIGHED: Final = build_schema("base plant: str; dose: float; seed: int")
"""Columns that identify a weight."""

READINGS: Final = build_schema(
    WEIGHED,
    "benchmark asked figure key by unit: str",
    "along value: float; smallest: float?; unfit: str?",
)
"""Readings by unit: the `value` of each unit on a weight, and `along`, its coefficient in the
reading. `asked`: a hash of the benchmark and of how much it asked; `key`: the dimensions of the
figure (`figure_key`); `by`: the plant whose units or words the instrument shares, so that the
reading contrasts its poles, or empty; `unfit`: the validity check that the benchmark fails on this
weight."""

CHECKS: Final = build_schema(WEIGHED, "own held_out: float?; learned: str")
"""Strength of a plant on a weight: nats of log-odds between its poles, on learned and on held-out
sentences; null where less than the dose was learned, so that there is no weight. `learned`: hash of
the plant."""


FEWEST: Final = 2
"""Fewest units for a reading."""


@dataclass(frozen=True)
class DoseResponse:
    """The readings of one headline on the weights of one plant."""

    rows: pd.DataFrame
    """Rows in the schema `READINGS`."""
    checks: "pd.Series[float]"
    """Held-out log-odds, by dose and seed."""
    smallest: float

    @classmethod
    def from_rows(cls, rows: pd.DataFrame, checks: "pd.Series[float]") -> "DoseResponse":
        """Keep the weights on which the instrument is valid; keep all where these are too few for a
        slope.
        """
        fit = rows[rows["unfit"].isna()]
        doses = fit.groupby("seed")["dose"].unique()
        n_sloped = sum(0 in seed_doses and len(seed_doses) > 1 for seed_doses in doses)
        kept_rows = fit if n_sloped > 1 else rows
        return cls(kept_rows, checks, rows["smallest"].iloc[0])

    @property
    def unfit(self) -> str | None:
        """Why the instrument is invalid on too many weights for a slope; None where it is not."""
        return next(iter(self.rows["unfit"].dropna()), None)

    @cached_property
    def values(self) -> pd.DataFrame:
        """[weights, units]: indexed by dose and seed; only units asked of all weights."""
        return self.rows.pivot(index=["dose", "seed"], columns="unit", values="value").dropna(
            axis=1
        )

    @cached_property
    def weights(self) -> Floats:
        """[units] coefficients that turn values into a reading."""
        return (
            self.rows.groupby("unit")["along"]
            .first()
            .reindex(self.values.columns)
            .to_numpy(dtype=np.float64)
        )

    @property
    def by(self) -> str:
        """The plant whose poles the reading contrasts, or empty."""
        return str(self.rows["by"].iloc[0])

    def facet(self) -> Facet:
        """The units as a random facet, with one list per pole where the reading contrasts poles."""
        opposed = self.by and (self.weights < 0).any()
        if opposed:
            lists = [int(side) for side in np.sign(self.weights)]
        else:
            lists = [0] * len(self.weights)
        return Facet(lists)

    def weighted_readings(self, values: Floats, is_kept_unit: UnitMask) -> Floats:
        """Readings [...] from values [..., units], over the kept units: each pole, or all, keeps
        its total weight.
        """
        lists = np.asarray(self.facet().lists)
        readings = np.zeros(values.shape[:-1])
        for pole in np.unique(lists):
            is_of_pole = lists == pole
            is_kept = is_of_pole & is_kept_unit
            whole = np.abs(self.weights[is_of_pole]).sum()
            left = np.abs(self.weights[is_kept]).sum()
            readings += values[..., is_kept] @ self.weights[is_kept] * whole / left
        return readings

    def readings(self) -> "pd.Series[float]":
        """Readings, by dose and seed."""
        every = np.ones(len(self.weights), dtype=np.bool_)
        return pd.Series(
            self.weighted_readings(self.values.to_numpy(), every), index=self.values.index
        )

    def slope(self) -> Estimate | None:
        """Change of the reading per nat of the check, from dose 0 of the same seed; units and seeds
        are random facets.

        Mean over seeds. Uses only doses that at least two seeds have; None below two seeds, or with
        too few units.
        """
        changes, nats = self._changes()
        dosed = nats.index.get_level_values("dose") != 0
        changes, nats = changes[dosed], nats[dosed]
        several = nats.groupby(level="dose").transform("size") > 1
        changes, nats = changes[several], nats[several]
        seeds = nats.index.get_level_values("seed").to_numpy()
        distinct_seeds = set(seeds)
        n_lists = len(set(self.facet().lists))
        if len(distinct_seeds) < 2 or len(self.weights) < 2 * n_lists:
            return None
        of_seed = [nats.to_numpy() * (seeds == seed) for seed in sorted(distinct_seeds)]
        per_nat = np.stack(
            [seed_nats @ changes.to_numpy() / (seed_nats @ seed_nats) for seed_nats in of_seed]
        )  # seeds, units

        def mean(units: UnitMask, is_kept_seed: UnitMask) -> float:
            return float(self.weighted_readings(per_nat[is_kept_seed], units).mean())

        return jackknife_crossed(mean, [self.facet(), Facet.from_levels(len(per_nat))])

    def _changes(self) -> "tuple[pd.DataFrame, pd.Series[float]]":
        """Changes of unit values, and of checks, from dose 0 of the same seed, by dose and seed,
        where that exists.
        """
        seeds = self.values.index.get_level_values("seed")
        there = self.values[seeds.isin(self.values.xs(0, level="dose").index)]
        nothing = [(0, seed) for seed in there.index.get_level_values("seed")]
        checks = self.checks.reindex(there.index)
        value_changes = there - self.values.loc[nothing].to_numpy()
        check_changes = checks - self.checks.loc[nothing].to_numpy()
        return value_changes, check_changes

    def correlation(self) -> float | None:
        """Correlation over units of the change by dose with the plant's signs; None for readings
        not by poles.
        """
        if len(set(self.facet().lists)) < 2:
            return None
        doses = self.values.index.get_level_values("dose")
        raised = self.values[doses > 0].mean()
        lowered = self.values[doses < 0].mean()
        change = raised - lowered
        if not np.ptp(change):
            return None
        return float(np.corrcoef(change, np.sign(self.weights))[0, 1])

    def monotone(self) -> float | None:
        """Rank correlation of changes of readings with changes of checks; None where either is
        constant.
        """
        changes, nats = self._changes()
        check_changes = nats.to_numpy()
        every = np.ones(len(self.weights), dtype=np.bool_)
        reading_changes = self.weighted_readings(changes.to_numpy(), every)
        return (
            float(stats.spearmanr(check_changes, reading_changes).statistic)
            if np.ptp(check_changes) and np.ptp(reading_changes)
            else None
        )


def reading_difference(
    response: DoseResponse, unit_values: Floats, other: Floats, fits: tuple[float, float]
) -> Estimate:
    """The difference between the readings of two weights, from `unit_values` and `other`, [units]
    each, with variance over units and over fits.
    """
    over_units = jackknife_crossed(
        lambda units: float(response.weighted_readings(unit_values - other, units)),
        [response.facet()],
    )
    over_fits = (2 * fits[0], fits[1])
    return sum_estimates(over_units.value, [(over_units.variance, over_units.df), over_fits])


def verdict_of(estimate: Estimate, smallest: float, n: int) -> HeadlineFigure:
    """Judge a change of a reading: `effect`, `no effect` or `inconclusive`."""
    p = PValues(estimate.p(), estimate.p_within(smallest), 1.0)
    whole = estimate.interval()
    headline_test = HeadlineTest(
        "change",
        "units",
        {"units": n},
        whole,
        smallest,
        p.effect,
        None,
        whole,
        estimate.detectable(),
        p,
    )
    (figure,) = judge([(headline_test, ValidityCheck())])
    assert isinstance(figure, HeadlineFigure)
    return figure


def variance_between_fits(
    readings: Mapping[str, DoseResponse], without: tuple[str, ...] = ()
) -> tuple[float, float] | None:
    """The variance of a reading between fits of dose 0, pooled within plants, with its degrees of
    freedom.
    """
    plant_readings = [
        response.readings().xs(0, level="dose")
        for plant, response in readings.items()
        if plant not in without
    ]
    parts: list[tuple[float, int]] = []
    for values in plant_readings:
        if len(values) > 1:
            parts.append((float(values.var(ddof=1)), len(values) - 1))
    df = sum(n for _, n in parts)
    if not df:
        return None
    weighted_sum = sum(variance * n for variance, n in parts)
    return weighted_sum / df, float(df)


FIGURES: Final = build_schema(
    "benchmark figure key plant by: str; own: bool; units weights unfit: int",
    "sensitivity low high correlation monotone threshold: float?; found: str?",
    "change change_low change_high smallest detectable: float?; verdict why: str?",
)
"""Figures of one headline on one plant. `key`: as in `READINGS`; `own`: whether the plant is of its
construct; `sensitivity`: unit of the headline per nat of the check; `correlation`: over units, of
the change by dose with the plant's signs; `monotone`: rank correlation over doses; `threshold`: the
smallest dose, in nats, at which every weight differs from dose 0 in the planted direction, `found`:
how many do, by dose; `change`: expected change at 2 nats, with a verdict, which is `invalid` where
too few weights are left for a slope (`unfit`: weights that fail a validity check). A headline
should have an effect on plants of its construct, and none on others."""

HEADLINE: Final = ["benchmark", "figure", "key"]
"""Columns that identify a headline."""

NATS: Final = 2
"""The dose at which `change` is stated."""


def group_readings(
    readings: pd.DataFrame, checks: pd.DataFrame
) -> dict[tuple[str, str, str], dict[str, DoseResponse]]:
    """Readings by benchmark, figure and key, then by plant; headlines without a smallest effect
    are left out.
    """
    held_out_by_plant = {
        str(plant): group.set_index(["dose", "seed"])["held_out"]
        for plant, group in checks.groupby("plant")
    }
    responses: dict[tuple[str, str, str], dict[str, DoseResponse]] = {}
    for (benchmark, figure, key, plant), rows in readings.dropna(subset=["smallest"]).groupby(
        [*HEADLINE, "plant"], sort=False
    ):
        response = DoseResponse.from_rows(rows, held_out_by_plant[str(plant)])
        doses = response.values.index.get_level_values("dose")
        if len(response.weights) >= FEWEST and 0 in doses:
            headline = (str(benchmark), str(figure), str(key))
            responses.setdefault(headline, {})[str(plant)] = response
    return responses


def planted_figures(
    readings: pd.DataFrame,
    checks: pd.DataFrame,
    read_by: Mapping[str, Sequence[Mapping[str, str]]],
) -> pd.DataFrame:
    """Sensitivity, threshold, monotony and specificity of every headline on every plant, as
    `FIGURES`.

    `read_by`: by plant, `PlantDeclaration.read_by`.
    """
    rows = []
    by = [*HEADLINE, "plant"]
    unfit_rows = readings.dropna(subset=["unfit"])
    unfit = unfit_rows.drop_duplicates([*by, "dose", "seed"]).groupby(by).size()
    for key, responses in group_readings(readings, checks).items():
        fits = variance_between_fits(responses)
        for plant, response in responses.items():
            key_columns = dict(zip(by, (*key, plant), strict=True))
            n = len(response.weights)
            slope = response.slope()
            figures: dict[str, Any] = {}
            if slope is not None:
                interval = slope.interval()
                two = Estimate(NATS * slope.value, NATS**2 * slope.variance, slope.df)
                verdict = verdict_of(two, response.smallest, n)
                figures = {"sensitivity": slope.value, "low": interval.low, "high": interval.high}
                figures |= {
                    "change": two.value,
                    "change_low": verdict.low,
                    "change_high": verdict.high,
                }
                figures |= {
                    "detectable": verdict.detectable,
                    "verdict": verdict.verdict,
                    "why": verdict.why,
                }
            if response.unfit:
                figures |= {"verdict": Verdict.INVALID, "why": response.unfit}
            elif slope is None:
                figures["why"] = (
                    "No slope: it takes two seeds with the same dose, and two units of each pole."
                )
            threshold, counts_in_words = (
                (None, None) if response.unfit else _threshold_dose(response, fits)
            )
            figures |= {"correlation": response.correlation(), "monotone": response.monotone()}
            figures |= {
                "threshold": threshold,
                "found": counts_in_words,
                "smallest": response.smallest,
            }
            is_named = _is_named(key_columns, read_by[plant])
            figures["own"] = response.by == plant or (not response.by and is_named)
            figures["unfit"] = unfit.get((*key, plant), 0)
            rows.append(
                {
                    **key_columns,
                    "by": response.by,
                    "units": n,
                    "weights": len(response.values),
                    **figures,
                }
            )
    return pd.DataFrame(rows).reindex(columns=FIGURES.names)


def _is_named(headline: Mapping[str, str], read_by: Sequence[Mapping[str, str]]) -> bool:
    """Whether a plant names the benchmark of a headline, or the part that it is of."""
    keys = {WHOLE, headline["key"]}
    return any(
        place["benchmark"] == headline["benchmark"] and figure_key(dimensions_of(place)) in keys
        for place in read_by
    )


def _threshold_dose(
    response: DoseResponse, fits: tuple[float, float] | None
) -> tuple[float | None, str | None]:
    """The smallest dose at which all weights differ from dose 0, and the counts that do by dose, in
    words.
    """
    if fits is None:
        return None, None
    counts: dict[float, list[bool]] = {}
    for dose, seed in response.values.index:
        if dose != 0 and (0, seed) in response.values.index:
            dosed = response.values.loc[(dose, seed)].to_numpy()
            undosed = response.values.loc[(0, seed)].to_numpy()
            difference = reading_difference(response, dosed, undosed, fits)
            far = verdict_of(difference, response.smallest, len(response.weights))
            right = far.verdict == Verdict.EFFECT and (far.value or 0) * dose > 0
            counts.setdefault(abs(dose), []).append(right)
    outcomes_by_dose = sorted(counts.items())
    dose_counts: list[str] = []
    for dose, outcomes in outcomes_by_dose:
        dose_counts.append(f"{sum(outcomes)} of {len(outcomes)} at {dose:g}")
    counts_in_words = "; ".join(dose_counts)
    threshold = next((dose for dose, outcomes in outcomes_by_dose if all(outcomes)), None)
    return threshold, counts_in_words


def false_alarm_verdicts(readings: pd.DataFrame, checks: pd.DataFrame) -> pd.DataFrame:
    """Verdicts on all pairs of weights of dose 0, where no difference was planted: a check on false
    positives.

    Columns benchmark, figure, key, `same` (whether of one plant: trained on the same sentences),
    verdict. The variance between fits is estimated on plants other than those of the pair, where
    possible.
    """
    rows = []
    for key, responses in group_readings(readings, checks).items():
        nothing: list[tuple[str, Any]] = []
        for plant_name, dose_response in responses.items():
            seeds = dose_response.values.xs(0, level="dose").index
            nothing += [(plant_name, plant_seed) for plant_seed in seeds]
        for (plant, seed), (other, second) in combinations(nothing, 2):
            fits = variance_between_fits(responses, (plant, other)) or variance_between_fits(
                responses, (plant,)
            )
            response, other_response = responses[plant], responses[other]
            values = response.values.loc[(0, seed)].to_numpy()
            other_row = other_response.values.loc[(0, second)]
            other_values = other_row.reindex(response.values.columns)
            if fits is None or other_values.isna().any():
                continue
            if response.unfit or other_response.unfit:
                continue
            difference = reading_difference(response, values, other_values.to_numpy(), fits)
            far = verdict_of(difference, response.smallest, len(response.weights))
            key_columns = dict(zip(HEADLINE, key, strict=True))
            rows.append({**key_columns, "same": plant == other, "verdict": far.verdict})
    return pd.DataFrame(rows, columns=[*HEADLINE, "same", "verdict"])

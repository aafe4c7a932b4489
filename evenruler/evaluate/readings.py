"""How instruments respond to planted associations: sensitivity, order, and how many models of each
dose are told from dose 0.

A reading is one number of an instrument on one weight, linear in the instrument's scores. Figures
use its change from the weight of dose 0 and the same seed, trained on the same sentences with poles
at random. A dose is detected by the rule of every headline, and never read from a verdict: p with
signs randomised over units is below .05, and the interval over units and fits leaves out 0
(docs/weights.md).
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, Final

import numpy as np
import pandas as pd
from scipy import stats

from evenruler.measurement.dose_curve import DoseThreshold, find_threshold
from evenruler.measurement.facets import Estimate, Facet, UnitMask, jackknife_crossed, sum_estimates
from evenruler.measurement.figures import WHOLE, Verdict, dimensions_of, figure_key
from evenruler.measurement.inputs import ALPHA, Floats
from evenruler.measurement.resampling import sign_flips
from evenruler.tables.schemas import build_schema

WEIGHED: Final = build_schema("base plant: str; dose: float; seed: int")
"""Columns that identify a weight."""

READINGS: Final = build_schema(
    WEIGHED,
    "benchmark asked figure key by unit: str",
    "along value: float; bound: float?; unfit: str?",
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

    @classmethod
    def from_rows(cls, rows: pd.DataFrame, checks: "pd.Series[float]") -> "DoseResponse":
        """Keep the weights on which the instrument is valid; keep all where these are too few for a
        slope.
        """
        fit = rows[rows["unfit"].isna()]
        doses = fit.groupby("seed")["dose"].unique()
        n_sloped = sum(0 in seed_doses and len(seed_doses) > 1 for seed_doses in doses)
        kept_rows = fit if n_sloped > 1 else rows
        return cls(kept_rows, checks)

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
            """The change per nat, mean over the seeds that a mask keeps, of the units that a mask
            keeps.
            """
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

    def p_of_change(self, change: Floats) -> float:
        """P of a change of the reading, from that of each unit, [units], with the signs of units'
        contributions randomised.

        Where the reading contrasts poles, what all units share of the change is taken off first: it
        cancels in the reading, and would make the randomisation too wide.
        """
        if len(set(self.facet().lists)) > 1:
            change = change - change.mean()
        return sign_flips(self.weights * change, SEED)

    def direction_of_change(self, change: Floats, fits: tuple[float, float] | None) -> int:
        """1 or -1 where a change of units, [units], is detected, else 0.

        `fits`: the variance of a reading between fits with its degrees of freedom, which the
        randomisation over units does not see; None where it is not known, and nothing detected.
        """
        if fits is None or self.p_of_change(change) > ALPHA:
            return 0
        over_units = jackknife_crossed(
            lambda units: float(self.weighted_readings(change, units)), [self.facet()]
        )
        over_fits = (2 * fits[0], fits[1])
        parts = [(over_units.variance, over_units.df), over_fits]
        interval = sum_estimates(over_units.value, parts).interval()
        return int(interval.low > 0) - int(interval.high < 0)


SEED: Final = 0
"""Seed of randomised signs."""


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


@dataclass(frozen=True)
class DoseCount:
    """How many weights of one size of dose, up or down, are told from dose 0."""

    dose: float
    """In nats, without its sign."""
    n: int
    """Weights with a dose 0 of the same seed."""
    detected: int
    """Those whose reading changes in the planted direction, detected."""
    opposite: int
    """Those whose reading changes in the other direction, detected."""
    low: float
    """95% interval of the share that is detected (Wilson 1927)."""
    high: float


def count_detected_doses(
    response: DoseResponse, fits: tuple[float, float] | None
) -> list[DoseCount]:
    """For each size of dose, how many weights differ from dose 0 of their seed; the smallest first.

    `fits`: as in `DoseResponse.direction_of_change`.
    """
    directions_by_dose: dict[float, list[int]] = {}
    for dose, seed in response.values.index:
        if dose == 0 or (0, seed) not in response.values.index:
            continue
        before = response.values.loc[(0, seed)]
        after = response.values.loc[(dose, seed)]
        direction = response.direction_of_change((after - before).to_numpy(), fits)
        directions = directions_by_dose.setdefault(abs(dose), [])
        directions.append(direction * int(np.sign(dose)))
    counts: list[DoseCount] = []
    for dose, directions in sorted(directions_by_dose.items()):
        n, detected = len(directions), directions.count(1)
        opposite = directions.count(-1)
        share = stats.binomtest(detected, n).proportion_ci(0.95, method="wilson")
        low = round(float(share.low), 3)
        high = round(float(share.high), 3)
        counts.append(DoseCount(float(dose), n, detected, opposite, low, high))
    return counts


def threshold_of_counts(counts: Sequence[Mapping[str, Any]]) -> DoseThreshold:
    """The dose that is detected in 8 of 10 models, from the fields of `DoseCount` by dose."""
    doses = [count["dose"] for count in counts]
    tried = [count["n"] for count in counts]
    return find_threshold(doses, tried, [count["detected"] for count in counts])


def counts_in_words(counts: Sequence[Mapping[str, Any]]) -> str:
    """Counts of `DoseCount` as text: "6 of 6 at 2 nats; 1 of 1 at 8 nats"."""
    words = [f"{count['detected']} of {count['n']} at {count['dose']:g} nats" for count in counts]
    return "; ".join(words) or "not tested"


SENSITIVITY: Final = ("sensitivity", "low", "high", "nats_per_unit")
"""Columns for the change per nat, with its interval."""

THRESHOLD: Final = ("threshold", "threshold_low", "threshold_high", "threshold_why")
"""Columns for the dose that is detected in 8 of 10 models."""

HEADLINE: Final = ["benchmark", "figure", "key"]
"""Columns that identify a headline."""

FIGURES: Final = (
    *HEADLINE,
    *("plant", "by", "own", "units", "weights", "unfit"),
    *SENSITIVITY,
    *("correlation", "monotone", "planted", "verdict", "why"),
    *THRESHOLD,
)
"""Columns of figures by headline and plant. `own`: whether the plant is of the construct that the
headline is about; `sensitivity`: change of the reading per nat of held-out log-odds, with its
interval; `planted`: the fields of `DoseCount` by dose; `verdict`: `invalid` where the instrument
is invalid on so many weights (`unfit`) that too few are left for a slope, else null;
`nats_per_unit`: planted nats that change the reading by one unit of the headline, null where the
interval of the sensitivity holds 0; `threshold`: the dose that is detected in 8 of 10 models, with
its interval, or why there is none (`DoseThreshold`). A headline should detect plants of its
construct, and no others.
"""


def group_readings(
    readings: pd.DataFrame, checks: pd.DataFrame
) -> dict[tuple[str, str, str], dict[str, DoseResponse]]:
    """Readings by benchmark, figure and key, then by plant; what has no bound is no headline, and
    left out.
    """
    held_out_by_plant = {
        str(plant): group.set_index(["dose", "seed"])["held_out"]
        for plant, group in checks.groupby("plant")
    }
    responses: dict[tuple[str, str, str], dict[str, DoseResponse]] = {}
    for (benchmark, figure, key, plant), rows in readings.dropna(subset=["bound"]).groupby(
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
    """Sensitivity, order and counts by dose of every headline on every plant, as `FIGURES`.

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
            figures: dict[str, Any] = {"planted": []}
            slope = response.slope()
            if slope is not None:
                interval = slope.interval()
                figures |= {
                    "sensitivity": slope.value,
                    "low": interval.low,
                    "high": interval.high,
                }
                if interval.low * interval.high > 0:
                    figures["nats_per_unit"] = 1 / slope.value
            if response.unfit:
                figures |= {"verdict": str(Verdict.INVALID), "why": response.unfit}
            else:
                figures["planted"] = [
                    asdict(count) for count in count_detected_doses(response, fits)
                ]
                figures |= _threshold_columns(figures["planted"])
                if slope is None:
                    figures["why"] = (
                        "No slope: it takes two seeds with the same dose, and two units of each "
                        "pole."
                    )
            is_named = _is_named(key_columns, read_by[plant])
            figures |= {
                "correlation": response.correlation(),
                "monotone": response.monotone(),
                "own": response.by == plant or (not response.by and is_named),
                "unfit": unfit.get((*key, plant), 0),
                "by": response.by,
                "units": len(response.weights),
                "weights": len(response.values),
            }
            rows.append({**key_columns, **figures})
    return pd.DataFrame(rows, columns=list(FIGURES))


def _threshold_columns(counts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The columns `THRESHOLD`: the smallest dose detected in 8 of 10 models, its interval, and why
    there is none.
    """
    threshold = threshold_of_counts(counts)
    fields = (threshold.dose, threshold.low, threshold.high, threshold.why)
    return dict(zip(THRESHOLD, fields, strict=True))


def _is_named(headline: Mapping[str, str], read_by: Sequence[Mapping[str, str]]) -> bool:
    """Whether a plant names the benchmark of a headline, or the part that it is of."""
    keys = {WHOLE, headline["key"]}
    return any(
        place["benchmark"] == headline["benchmark"] and figure_key(dimensions_of(place)) in keys
        for place in read_by
    )


def compare_doses_of_0(readings: pd.DataFrame, checks: pd.DataFrame) -> pd.DataFrame:
    """Whether all pairs of weights of dose 0 differ, between which nothing was planted: the share
    that do is the rate of false detections.

    Columns benchmark, figure, key, `same` (whether of one plant: trained on the same sentences),
    `detected`. The variance between fits is estimated on plants other than those of the pair, where
    possible.
    """
    rows = []
    for key, responses in group_readings(readings, checks).items():
        nothing: list[tuple[str, Any]] = []
        for plant_name, dose_response in responses.items():
            if not dose_response.unfit:
                seeds = dose_response.values.xs(0, level="dose").index
                nothing += [(plant_name, plant_seed) for plant_seed in seeds]
        for (plant, seed), (other, second) in combinations(nothing, 2):
            response = responses[plant]
            fits = variance_between_fits(responses, (plant, other)) or variance_between_fits(
                responses, (plant,)
            )
            values = response.values.loc[(0, seed)]
            other_values = responses[other].values.loc[(0, second)].reindex(values.index)
            if fits is not None and other_values.notna().all():  # asked the same units
                direction = response.direction_of_change((values - other_values).to_numpy(), fits)
                key_columns = dict(zip(HEADLINE, key, strict=True))
                rows.append({**key_columns, "same": plant == other, "detected": direction != 0})
    return pd.DataFrame(rows, columns=[*HEADLINE, "same", "detected"])

"""What an instrument reads of planted associations: sensitivity, threshold, order, and verdicts on them.

A reading is one number of an instrument on a weight, linear in its scores; figures are of its change against the weight
of dose 0 and the same seed, which learned the same sentences with poles at random (docs/weights.md).
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, Final

import numpy as np
import pandas as pd
from scipy import stats

from evenruler.measurement.checks import Floats
from evenruler.measurement.facets import Estimate, Facet, Kept, crossed, summed
from evenruler.measurement.figures import Confirmed
from evenruler.measurement.verdicts import Confirmatory, Fitness, PValues, Verdict, judge
from evenruler.tables.schemas import columns

WEIGHED: Final = columns("base plant: str; dose: float; seed: int")
"""A weight."""

READINGS: Final = columns(
    WEIGHED,
    "benchmark asked part figure by unit: str",
    "along value: float; smallest: float?; unfit: str?",
)
"""What instruments read: the `value` of each unit on a weight, and `along`, by which they add up to a reading. `asked`:
a hash of the benchmark and of how much it asked; `by`: the plant whose units or words these are, so that the reading
goes by its poles, or empty; `unfit`: the bar of its own that the benchmark fails on this weight."""

CHECKS: Final = columns(WEIGHED, "own held_out: float")
"""How much of a plant is there: nats of log-odds between its poles, in sentences that were learned and in others."""


FEWEST: Final = 2
"""Units of either pole, for a reading by units."""


@dataclass(frozen=True)
class Reading:
    """What one headline reads on the weights of one plant."""

    rows: pd.DataFrame
    """By `READINGS`."""
    checks: "pd.Series[float]"
    """By dose and seed, held-out log-odds."""
    smallest: float

    @classmethod
    def of(cls, rows: pd.DataFrame, checks: "pd.Series[float]") -> "Reading":
        """Of the weights on which the instrument measures; of all where it measures on too few for a slope."""
        fit = rows[rows["unfit"].isna()]
        doses = fit.groupby("seed")["dose"].unique()
        return cls(
            fit if sum(0 in own and len(own) > 1 for own in doses) > 1 else rows, checks, rows["smallest"].iloc[0]
        )

    @property
    def unfit(self) -> str | None:
        """Why it measures on too few weights, in words; None where it does."""
        return next(iter(self.rows["unfit"].dropna()), None)

    @cached_property
    def values(self) -> pd.DataFrame:
        """[weights by dose and seed, units that all were asked]."""
        return self.rows.pivot(index=["dose", "seed"], columns="unit", values="value").dropna(axis=1)

    @cached_property
    def weights(self) -> Floats:
        """[units] what makes a reading of values."""
        return self.rows.groupby("unit")["along"].first().reindex(self.values.columns).to_numpy(dtype=np.float64)

    @property
    def by(self) -> str:
        """The plant whose poles make it, or empty."""
        return str(self.rows["by"].iloc[0])

    def facet(self) -> Facet:
        """Units, of a list for each pole where poles make the reading."""
        opposed = self.by and (self.weights < 0).any()
        return Facet([int(side) for side in np.sign(self.weights)] if opposed else [0] * len(self.weights))

    def made(self, values: Floats, kept: Kept) -> Floats:
        """[...] readings of values, [..., units], from some of the units: each pole's, or all, count as before."""
        lists, found = np.asarray(self.facet().lists), np.zeros(values.shape[:-1])
        for own in np.unique(lists):
            those = lists == own
            whole, left = np.abs(self.weights[those]).sum(), np.abs(self.weights[those & kept]).sum()
            found += values[..., those & kept] @ self.weights[those & kept] * whole / left
        return found

    def readings(self) -> "pd.Series[float]":
        """By dose and seed."""
        every = np.ones(len(self.weights), dtype=np.bool_)
        return pd.Series(self.made(self.values.to_numpy(), every), index=self.values.index)

    def slope(self) -> Estimate | None:
        """Reading per nat of the check, through dose 0 of the same seed: mean over seeds, over units and seeds.

        Of the doses that two seeds have, or more; None below two seeds.
        """
        changes, nats = self._changes()
        dosed = nats.index.get_level_values("dose") != 0
        changes, nats = changes[dosed], nats[dosed]
        several = nats.groupby(level="dose").transform("size") > 1
        changes, nats = changes[several], nats[several]
        seeds = nats.index.get_level_values("seed").to_numpy()
        if len(set(seeds)) < 2 or len(self.weights) < 2 * len(set(self.facet().lists)):
            return None
        of_seed = [nats.to_numpy() * (seeds == seed) for seed in sorted(set(seeds))]
        per_nat = np.stack([own @ changes.to_numpy() / (own @ own) for own in of_seed])  # seeds, units

        def mean(units: Kept, kept: Kept) -> float:
            return float(self.made(per_nat[kept], units).mean())

        return crossed(mean, [self.facet(), Facet.of(len(per_nat))])

    def _changes(self) -> "tuple[pd.DataFrame, pd.Series[float]]":
        """Values of units, and checks, by dose and seed: against dose 0 of the same seed, of those that have it."""
        seeds = self.values.index.get_level_values("seed")
        there = self.values[seeds.isin(self.values.xs(0, level="dose").index)]
        nothing = [(0, seed) for seed in there.index.get_level_values("seed")]
        checks = self.checks.reindex(there.index)
        return there - self.values.loc[nothing].to_numpy(), checks - self.checks.loc[nothing].to_numpy()

    def correlation(self) -> float | None:
        """Of what doses change in units with the signs of the plant, where poles make the reading of units."""
        if len(set(self.facet().lists)) < 2:
            return None
        doses = self.values.index.get_level_values("dose")
        change = self.values[doses > 0].mean() - self.values[doses < 0].mean()
        return float(np.corrcoef(change, np.sign(self.weights))[0, 1]) if np.ptp(change) else None

    def monotone(self) -> float | None:
        """Rank correlation of readings with checks, both against dose 0 of the same seed; None where none differ."""
        changes, nats = self._changes()
        one, every = nats.to_numpy(), np.ones(len(self.weights), dtype=np.bool_)
        other = self.made(changes.to_numpy(), every)
        return float(stats.spearmanr(one, other).statistic) if np.ptp(one) and np.ptp(other) else None


def apart(of: Reading, one: Floats, other: Floats, fits: tuple[float, float]) -> Estimate:
    """How far the readings of two weights, [units] each, are apart: over units, and over fits.

    `fits`: the variance of a reading between fits of dose 0, with its degrees of freedom.
    """
    over_units = crossed(lambda units: float(of.made(one - other, units)), [of.facet()])
    return summed(over_units.value, [(over_units.variance, over_units.df), (2 * fits[0], fits[1])])


def verdict_of(estimate: Estimate, smallest: float, what: str, n: int) -> Confirmed:
    """What may be said of a change of a reading: `effect`, `no effect` or `inconclusive`."""
    p = PValues(estimate.p(), estimate.p_within(smallest), 1.0)
    whole = estimate.interval()
    made = Confirmatory(what, "units", {"units": n}, whole, smallest, p.effect, None, whole, estimate.detectable(), p)
    (found,) = judge([(made, Fitness())])
    assert isinstance(found, Confirmed)
    return found


def between_fits(readings: Mapping[str, Reading], without: tuple[str, ...] = ()) -> tuple[float, float] | None:
    """The variance of a reading between fits of dose 0, within plants, with its degrees of freedom."""
    own = [one.readings().xs(0, level="dose") for plant, one in readings.items() if plant not in without]
    parts = [(float(values.var(ddof=1)), len(values) - 1) for values in own if len(values) > 1]
    df = sum(n for _, n in parts)
    return (sum(variance * n for variance, n in parts) / df, float(df)) if df else None


FIGURES: Final = columns(
    "benchmark part figure plant by: str; own: bool; units weights unfit: int",
    "sensitivity low high correlation monotone threshold: float?; found: str?",
    "change change_low change_high smallest detectable: float?; verdict why: str?",
)
"""What is said of a headline and a plant. `own`: whether it is of its construct; `sensitivity`: its unit per nat of the
check; `correlation`: of what doses change in units with signs; `monotone`: rank correlation over doses; `threshold`:
the smallest dose, nats, at which every weight is told from dose 0 in the planted direction, `found` how many are, by
dose; `change`: what 2 nats come to, with a verdict, which is `invalid` where the instrument measures on too few weights
(`unfit` of them miss a bar of its own). What is of a construct should have an effect on its plant, all else none."""

NATS: Final = 2
"""Of which `change` is."""


def series(readings: pd.DataFrame, checks: pd.DataFrame) -> dict[tuple[str, str, str], dict[str, Reading]]:
    """By benchmark, part and figure, and then by plant, what was read; those without a smallest effect are left out."""
    told = {str(plant): own.set_index(["dose", "seed"])["held_out"] for plant, own in checks.groupby("plant")}
    found: dict[tuple[str, str, str], dict[str, Reading]] = {}
    for (benchmark, part, figure, plant), rows in readings.dropna(subset=["smallest"]).groupby(
        ["benchmark", "part", "figure", "plant"], sort=False
    ):
        one = Reading.of(rows, told[str(plant)])
        if len(one.weights) >= FEWEST and 0 in one.values.index.get_level_values("dose"):
            found.setdefault((str(benchmark), str(part), str(figure)), {})[str(plant)] = one
    return found


def figures(readings: pd.DataFrame, checks: pd.DataFrame, read_by: Mapping[str, Collection[str]]) -> pd.DataFrame:
    """Sensitivity, threshold, monotony and specificity of every headline on every plant, by `FIGURES`.

    `read_by`: by plant, the benchmarks of its construct, and `BENCHMARK: PART`, whose units are not those of the plant.
    """
    rows, by = [], ["benchmark", "part", "figure", "plant"]
    unfit = readings.dropna(subset=["unfit"]).drop_duplicates([*by, "dose", "seed"]).groupby(by).size()
    for key, own in series(readings, checks).items():
        fits = between_fits(own)
        for plant, one in own.items():
            of = dict(zip(by, (*key, plant), strict=True))
            n = len(one.weights)
            slope, told = one.slope(), dict[str, Any]()
            if slope is not None:
                interval, two = slope.interval(), Estimate(NATS * slope.value, NATS**2 * slope.variance, slope.df)
                verdict = verdict_of(two, one.smallest, "change", n)
                told = {"sensitivity": slope.value, "low": interval.low, "high": interval.high}
                told |= {"change": two.value, "change_low": verdict.low, "change_high": verdict.high}
                told |= {"detectable": verdict.detectable, "verdict": verdict.verdict, "why": verdict.why}
            if one.unfit:
                told |= {"verdict": Verdict.INVALID, "why": one.unfit}
            threshold, found = (None, None) if one.unfit else _threshold(one, fits)
            told |= {"correlation": one.correlation(), "monotone": one.monotone()}
            told |= {"threshold": threshold, "found": found, "smallest": one.smallest}
            named = {key[0], f"{key[0]}: {key[1]}"} & {*read_by[plant]}
            told["own"] = one.by == plant or (not one.by and bool(named))
            told["unfit"] = unfit.get((*key, plant), 0)
            rows.append({**of, "by": one.by, "units": n, "weights": len(one.values), **told})
    return pd.DataFrame(rows).reindex(columns=FIGURES.names)


def _threshold(one: Reading, fits: tuple[float, float] | None) -> tuple[float | None, str | None]:
    """The smallest dose at which all weights are told from dose 0, and how many are, in words."""
    if fits is None:
        return None, None
    counts: dict[float, list[bool]] = {}
    for dose, seed in one.values.index:
        if dose != 0 and (0, seed) in one.values.index:
            pair = one.values.loc[(dose, seed)].to_numpy(), one.values.loc[(0, seed)].to_numpy()
            far = verdict_of(apart(one, *pair, fits), one.smallest, "apart", len(one.weights))
            right = far.verdict == Verdict.EFFECT and (far.value or 0) * dose > 0
            counts.setdefault(abs(dose), []).append(right)
    told = "; ".join(f"{sum(own)} of {len(own)} at {dose:g}" for dose, own in sorted(counts.items()))
    return next((dose for dose, own in sorted(counts.items()) if all(own)), None), told


def between_nothing(readings: pd.DataFrame, checks: pd.DataFrame) -> pd.DataFrame:
    """Weights of dose 0 against each other: what every two of them are said to differ in, where nothing was planted.

    Columns benchmark, part, figure, `same` (whether of one plant: they learned the same sentences), verdict. How far
    fits lie apart is taken of other plants than those of the two.
    """
    rows = []
    for key, own in series(readings, checks).items():
        nothing = [(plant, seed) for plant, one in own.items() for seed in one.values.xs(0, level="dose").index]
        for (plant, seed), (other, second) in combinations(nothing, 2):
            fits = between_fits(own, (plant, other)) or between_fits(own, (plant,))
            one = own[plant]
            pair = one.values.loc[(0, seed)].to_numpy(), own[other].values.loc[(0, second)].reindex(one.values.columns)
            if fits is None or pair[1].isna().any() or one.unfit or own[other].unfit:
                continue
            far = verdict_of(apart(one, pair[0], pair[1].to_numpy(), fits), one.smallest, "apart", len(one.weights))
            told = dict(zip(("benchmark", "part", "figure"), key, strict=True))
            rows.append({**told, "same": plant == other, "verdict": far.verdict})
    return pd.DataFrame(rows, columns=["benchmark", "part", "figure", "same", "verdict"])

"""Instruments held against reference weights: does a ruler read what is really there, and nothing else?

A reading is one number of an instrument on a weight, linear in its scores; figures are of its change against the weight
of dose 0 and the same seed, which learned the same sentences with poles at random (docs/weights.md).
"""

import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from scipy import stats

from evenruler.evaluate.benchmark import Benchmark, benchmark_at
from evenruler.evaluate.cost import cost_of
from evenruler.evaluate.session import Measured, Planned, Session
from evenruler.evaluate.subject import chosen
from evenruler.instruments.asking import CALLED
from evenruler.instruments.registry import room
from evenruler.measurement.checks import Floats
from evenruler.measurement.facets import Estimate, Facet, Kept, crossed, summed
from evenruler.measurement.figures import Confirmed
from evenruler.measurement.verdicts import Confirmatory, Fitness, PValues, Verdict, judge
from evenruler.models.store import RowStore
from evenruler.results.record import figures_of
from evenruler.tables import read_table, table_of
from evenruler.tables.frames import without_last_bits
from evenruler.tables.ids import content_sha256
from evenruler.tables.parquet import write_whole
from evenruler.tables.schemas import HEADLINES, WHOLE, columns
from evenruler.terminal import note
from evenruler.text.slots import slug_of
from evenruler.training.plants import Plant, Weight, load_plant, names, weights_of

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

SPAN: Final = 80.0
"""Percentage points of a criterion that a slope is over, as a gain of the family `probes` is."""

FEWEST: Final = 2
"""Units of either pole, for a reading by units."""


def along(made_of: pd.DataFrame, plants: Mapping[str, Plant]) -> tuple[str, pd.DataFrame]:
    """What makes a reading of a headline, by `HEADLINES`: by the poles of which plant; and unit, along, value.

    Where units are those of a plant, those of its first pole less those of the second. Where words are (a country,
    asked about in every root item), the same within each unit. Else the headline itself: along its axis where two
    groups have one, the mean over units where not, less what placebos do.
    """
    real = made_of[made_of["pole"] != 0]
    called = {column: real[column].map(_called) for column in ("unit", "word")}
    for name, plant in plants.items():
        signs = {_called(unit): sign for sign, own in zip((1, -1), plant.units.values(), strict=True) for unit in own}
        by_unit, by_word = (names.map(signs).fillna(0) for names in called.values())
        units = real["unit"].groupby(by_unit).nunique()
        if min(units.get(1, 0), units.get(-1, 0)) >= FEWEST:
            values = _values(real[by_unit != 0])
            first = np.array([signs[_called(unit)] > 0 for unit in values.index])
            return name, _rows(values, np.where(first, 1 / first.sum(), -1 / (~first).sum()))
        if set(by_word) >= {1, -1}:
            sides = real.groupby(["unit", by_word.rename("side")])["value"].mean().unstack().dropna(subset=[1, -1])
            values = sides[1] - sides[-1]
            return name, _rows(values, np.full(len(values), 1 / len(values)))
    values = _values(made_of)
    axis = real.groupby("unit")["beside"].first().reindex(values.index).to_numpy(dtype=np.float64)
    if (real["pole"] == -1).any() and np.ptp(axis) > 0:
        keyed, centred = set(axis) <= {1.0, -1.0}, axis - axis.mean()
        span = np.ptp(axis) if keyed else SPAN  # of keys, the mean of one less that of the other
        return "", _rows(values - values.mean(), span * centred / (centred @ centred))
    return "", _rows(values, np.full(len(values), 1 / len(values)))


def _values(rows: pd.DataFrame) -> "pd.Series[float]":
    """By unit, the mean of the first group, less that of the second, or where there is none of placebos."""
    poles = rows.groupby(["unit", "pole"])["value"].mean().unstack()
    other = -1 if -1 in poles else 0
    return (poles[1] - poles[other] if other in poles else poles[1]).dropna()


def _rows(values: "pd.Series[float]", weights: Floats) -> pd.DataFrame:
    return pd.DataFrame({"unit": values.index.astype(str), "along": weights, "value": values.to_numpy()})


def _called(name: object) -> str:
    return slug_of(str(name)).removeprefix("the-")


def read(weight: Weight, places: Mapping[str, str], how: Mapping[str, Any], plants: Mapping[str, Plant]) -> Any:
    """The check of a weight, by `CHECKS`, and its readings of benchmarks, by `READINGS`; makes it where it is not.

    `places`: benchmarks, with `asked` of each; `how`: what `Session.planned` takes.
    """
    store = RowStore()
    session = Session(chosen(weight.source, store), store, weight.source)
    plant = plants[weight.plant]
    nats = [plant.log_odds(session.model, frames) for frames in (plant.frames, plant.held_out)]
    found = []
    for place, asked in places.items():
        with benchmark_at(place) as benchmark:
            measured = session.measure(bare(session, benchmark, how))
        result = measured.result
        judged: dict[Any, Any] = {(label, part, figure): own for part, label, figure, own in figures_of(result)}
        parts = _parts(result.benchmark.name, plants)
        made_of = pd.concat([result.headlines, *_of_parts(measured, parts)])
        for (label, part, figure), rows in made_of.groupby(["model", "part", "figure"]):
            by, values = along(rows, plants)
            manner = str(label).removeprefix(result.model.name)
            of: dict[str, Any] = {**weight._asdict(), "benchmark": result.benchmark.name, "asked": asked}
            own = judged[label, WHOLE if part in parts else part, figure]
            unfit = own["why"] if own.get("verdict") == Verdict.INVALID else None
            more = {"part": f"{part}{manner}", "figure": figure, "by": by, "smallest": own.get("smallest")}
            more["unfit"] = unfit
            found.append(values.assign(**of, **more)[READINGS.names])
    check = pd.DataFrame([(*weight, *nats)], columns=CHECKS.names)
    return check, pd.concat(found) if found else pd.DataFrame(columns=READINGS.names)


def _parts(benchmark: str, plants: Mapping[str, Plant]) -> list[str]:
    """Those parts of a benchmark that are read alone, too, since a plant names them."""
    named = [own.partition(": ") for plant in plants.values() for own in plant.read_by]
    return sorted({part for name, _, part in named if name == benchmark and part})


def _of_parts(measured: Measured, parts: Sequence[str]) -> Iterator[pd.DataFrame]:
    """What the lean of some parts of a published benchmark is made of, by `HEADLINES`."""
    if parts:
        items, door = measured.tables["items"], room("fixed", "diagnose")
        for part, own in items[items["part"].isin(parts)].groupby("part"):
            lean = door.headlines_of(own, "preference", pd.Series(dtype=object))
            made = lean.assign(part=part, model=measured.result.model.name, figure=lean["group"])
            yield made[HEADLINES.names]


def bare(session: Session, benchmark: Benchmark, how: Mapping[str, Any]) -> Planned:
    """What a weight is asked: nothing after prefixes, which no reading has."""
    planned, door = session.planned(benchmark, **how), room(benchmark.family, "ask")
    plan = {**planned.plan, "prefixed": 0}
    return replace(planned, plan=plan, cost=cost_of(door.requests(planned.tables, plan, {}, planned.subject)))


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
        changes, nats = (own[own.index.get_level_values("dose") != 0] for own in self._changes())
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


def figures(readings: pd.DataFrame, checks: pd.DataFrame, plants: Mapping[str, Plant]) -> pd.DataFrame:
    """Sensitivity, threshold, monotony and specificity of every headline on every plant, by `FIGURES`."""
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
            named = {key[0], f"{key[0]}: {key[1]}"} & {*plants[plant].read_by}
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


FOLDER: Final = Path("data/weights")
READINGS_FILE, CHECKS_FILE, FIGURES_FILE = (FOLDER / name for name in ("readings.parquet", "checks.csv", "figures.csv"))
"""What `evenruler weigh --record` keeps: what was read, how heavy the weights are, and what is said of it."""


def nothing() -> tuple[pd.DataFrame, pd.DataFrame]:
    """No readings, and no checks."""
    return pd.DataFrame(columns=READINGS.names), pd.DataFrame(columns=CHECKS.names)


def recorded() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Readings and checks that the repository holds."""
    return (read_table(READINGS_FILE).to_pandas(), pd.read_csv(CHECKS_FILE)) if CHECKS_FILE.exists() else nothing()


def ask(
    weights: Mapping[Weight, Mapping[str, str]], how: Mapping[str, Any], at_once: int
) -> Iterator[tuple[Weight, pd.DataFrame, pd.DataFrame]]:
    """Check and readings of each weight (by benchmark, with `asked`), as they come; several at once, a process each.

    What was fitted or answered before is not paid for again, so that a run that was broken off goes on.
    """
    plants = {name: load_plant(name) for name in names()}
    if at_once == 1 or len(weights) == 1:
        for weight, places in weights.items():
            yield weight, *read(weight, places, how, plants)
        return
    threads = max(1, (os.cpu_count() or 1) // at_once)
    with ProcessPoolExecutor(at_once, get_context("spawn"), _quietly, (threads,)) as pool:
        doing = {pool.submit(read, weight, places, how, plants): weight for weight, places in weights.items()}
        try:
            for done in as_completed(doing):
                yield doing[done], *done.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _quietly(threads: int) -> None:
    """One of several processes: bars of all of them would be one mess."""
    import torch

    torch.set_num_threads(threads)
    sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def weigh(
    places: Sequence[str],
    only: Sequence[str] = (),
    *,
    base: str,
    at_once: int = 1,
    record: bool = False,
    **how: Any,
) -> Iterator[str]:
    """Hold benchmarks against reference weights, made where they are not there yet; says what came of it, in lines.

    Without `places`: what is recorded. `only`: plants, all by default. `how`: what `Session.planned` takes. `record`:
    keep it in `FOLDER`, weight by weight, and ask nothing that is there already.
    """
    readings, checks = recorded() if record or not places else nothing()
    plants = {name: load_plant(name) for name in names()}
    asks = {}
    for place in places:
        asks[place], line = _plan(place, base, how, plants)
        yield line
    weights = {}
    for weight in (one for plant in only or plants for one in weights_of(base, plant)) if places else ():
        own = readings[(readings[WEIGHED.names] == [*weight]).all(axis=1)]["asked"].unique()
        if left := {place: asked for place, asked in asks.items() if asked not in own}:
            weights[weight] = left
    if weights:
        note(f"{len(weights)} weights to ask; one of a new seed is fitted first, which takes some minutes more")
    started = time.monotonic()
    for n, (weight, check, own) in enumerate(ask(weights, how, at_once), 1):
        minutes = (time.monotonic() - started) / 60 / n * (len(weights) - n)
        nats = check["held_out"].iloc[0]
        note(f"{n} of {len(weights)}: {weight.source}, {nats:.2f} nats; about {minutes:.0f} minutes left")
        readings, checks = _with(readings, own, ["benchmark"]), _with(checks, check, [])
        if record:
            FOLDER.mkdir(parents=True, exist_ok=True)
            write_whole(table_of(without_last_bits(readings), READINGS), READINGS_FILE)
            checks.round(3).to_csv(CHECKS_FILE, index=False, lineterminator="\n")
    readings, checks = (own[own["base"] == base] for own in (readings, checks))  # figures are of one base
    found = figures(readings, checks, plants)
    if record:
        found.round(3).to_csv(FIGURES_FILE, index=False, lineterminator="\n")
    yield from lines_of(found, between_nothing(readings, checks))


def _with(old: pd.DataFrame, new: pd.DataFrame, more: list[str]) -> pd.DataFrame:
    """Rows in an order of their own, with new ones in the place of those of the same weight and what `more` names."""
    by = [*WEIGHED.names, *more]
    kept = old[~old.set_index(by).index.isin(new.set_index(by).index)]
    found = pd.concat([kept, new]) if len(kept) else new
    return found.sort_values([*by, *found.columns.difference(by, sort=False)], ignore_index=True)


def _plan(place: str, base: str, how: Mapping[str, Any], plants: Mapping[str, Plant]) -> tuple[str, str]:
    """A hash of what a weight is going to be asked, and a line that says how much."""
    store = RowStore()
    with benchmark_at(place) as own:
        cost = bare(Session(chosen(base, store), store, base), own, how).cost
    asked = ", ".join(f"{n:,} {CALLED.get(operation, operation)}" for operation, n in cost.questions.items())
    parts = _parts(own.name, plants)
    return content_sha256(own.identity, how, parts)[:16], f"{own.name}, {how['size']}: asks each weight {asked}"


def lines_of(found: pd.DataFrame, nothing: pd.DataFrame) -> Iterator[str]:
    """Figures, and pairs of dose 0 (`between_nothing`), as a terminal shows them."""
    for row in found.to_dict("records"):
        own = {str(key): value for key, value in row.items()}
        yield "{benchmark}, {part}, {figure}; planted: {plant}".format(**own)
        if pd.notna(own["sensitivity"]):
            by = f"by the poles of {own['by']}" if own["by"] else "the headline itself"
            amount = "{sensitivity:.3g} [{low:.3g}, {high:.3g}]".format(**own)
            yield f"  reads {amount} per nat ({by}, {own['units']} units); 2 nats: {own['verdict']}. {own['why']}"
        signs = f", r with signs {own['correlation']:.2f}" if pd.notna(own["correlation"]) else ""
        order = f"{own['monotone']:.2f}" if pd.notna(own["monotone"]) else "always the same"
        yield f"  over doses {order}{signs}; told from dose 0: {own['found'] or 'not asked'}"
    for same, pairs in nothing.groupby("same"):
        counts = ", ".join(f"{n} {verdict}" for verdict, n in pairs["verdict"].value_counts().items())
        which = "that learned the same sentences" if same else "of two plants"
        yield f"Pairs of dose 0 {which}: {counts}"

"""Instruments held against reference weights: does a ruler read what is really there, and nothing else?

A reading is one number of an instrument on a weight, linear in its scores; figures are of its change against the weight
of dose 0 and the same seed, which learned the same sentences with poles at random (docs/weights.md).
"""

import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from scipy import stats

from evenruler.evaluate.benchmark import benchmark_at
from evenruler.evaluate.session import Session
from evenruler.evaluate.subject import chosen
from evenruler.instruments.asking import CALLED
from evenruler.instruments.instrument import Size
from evenruler.measurement.checks import Floats
from evenruler.measurement.facets import Estimate, Facet, Kept, crossed, summed
from evenruler.measurement.figures import Confirmed
from evenruler.measurement.verdicts import Confirmatory, Fitness, PValues, Verdict, judge
from evenruler.models.store import RowStore
from evenruler.results.record import figures_of
from evenruler.tables import read_table, table_of
from evenruler.tables.frames import without_last_bits
from evenruler.tables.parquet import write_whole
from evenruler.tables.schemas import columns
from evenruler.terminal import note
from evenruler.text.slots import slug_of
from evenruler.training.plants import Plant, Weight, load_plant, names, weights_of

READINGS: Final = columns(
    "benchmark part figure plant: str; dose: float; seed: int; signed: bool; unit: str",
    "along value: float; smallest: float?",
)
"""What instruments read: the `value` of each unit on a weight, and `along`, by which values add up to a reading.
`signed`: whether units or words are those of a plant, so that the reading goes by its poles."""

CHECKS: Final = columns("base plant: str; dose: float; seed: int; own held_out: float")
"""How much of a plant is there: nats of log-odds between its poles, in sentences that were learned and in others."""

FEWEST: Final = 2
"""Units of either pole, for a reading by units."""


def along(made_of: pd.DataFrame, plants: Mapping[str, Plant]) -> tuple[bool, pd.DataFrame]:
    """What makes a reading of a headline, by `HEADLINES`: whether by the poles of a plant; and unit, along, value.

    Where units are those of a plant, those of its first pole less those of the second. Where words are (a country,
    asked about in every root item), the same within each unit. Else the headline itself: along its axis where two
    groups have one, the mean over units where not, less what placebos do.
    """
    real = made_of[made_of["pole"] != 0]
    called = {column: real[column].map(_called) for column in ("unit", "word")}
    for plant in plants.values():
        signs = {_called(unit): sign for sign, own in zip((1, -1), plant.units.values(), strict=True) for unit in own}
        by_unit, by_word = (names.map(signs).fillna(0) for names in called.values())
        units = real["unit"].groupby(by_unit).nunique()
        if min(units.get(1, 0), units.get(-1, 0)) >= FEWEST:
            values = _values(real[by_unit != 0])
            first = np.array([signs[_called(name)] > 0 for name in values.index])
            return True, _rows(values, np.where(first, 1 / first.sum(), -1 / (~first).sum()))
        if set(by_word) >= {1, -1}:
            sides = real.groupby(["unit", by_word.rename("side")])["value"].mean().unstack().dropna(subset=[1, -1])
            values = sides[1] - sides[-1]
            return True, _rows(values, np.full(len(values), 1 / len(values)))
    values = _values(made_of)
    axis = real.groupby("unit")["beside"].first().reindex(values.index).to_numpy(dtype=np.float64)
    if (real["pole"] == -1).any() and np.ptp(axis) > 0:
        centred = axis - axis.mean()
        return False, _rows(values - values.mean(), 80 * centred / (centred @ centred))
    return False, _rows(values, np.full(len(values), 1 / len(values)))


def _values(rows: pd.DataFrame) -> "pd.Series[float]":
    """By unit, the mean of the first group, less that of the second, or where there is none of placebos."""
    poles = rows.groupby(["unit", "pole"])["value"].mean().unstack()
    other = -1 if -1 in poles else 0
    return (poles[1] - poles[other] if other in poles else poles[1]).dropna()


def _rows(values: "pd.Series[float]", weights: Floats) -> pd.DataFrame:
    return pd.DataFrame({"unit": values.index.astype(str), "along": weights, "value": values.to_numpy()})


def _called(name: object) -> str:
    return slug_of(str(name)).removeprefix("the-")


def read(weight: Weight, places: Sequence[str], size: Size, limit: int | None, plants: Mapping[str, Plant]) -> Any:
    """The check of a weight, by `CHECKS`, and its readings of benchmarks, by `READINGS`; makes it where it is not."""
    store = RowStore()
    session = Session(chosen(weight.source, store), store, weight.source)
    plant, (base, name, dose, seed) = plants[weight.plant], weight
    own, held_out = (plant.log_odds(session.model, frames) for frames in (plant.frames, plant.held_out))
    found = []
    for place in places:
        with benchmark_at(place) as benchmark:
            result = session.measure(session.planned(benchmark, size=size, limit=limit)).result
        smallest: dict[Any, Any] = {
            (label, part, figure): own.get("smallest") for part, label, figure, own in figures_of(result)
        }
        for (label, part, figure), rows in result.headlines.groupby(["model", "part", "figure"]):
            signed, values = along(rows, plants)
            manner = str(label).removeprefix(result.model.name)
            of: dict[str, Any] = {
                "benchmark": result.benchmark.name,
                "part": f"{part}{manner}",
                "figure": figure,
                "plant": name,
            }
            more = {"dose": dose, "seed": seed, "signed": signed, "smallest": smallest[label, part, figure]}
            found.append(values.assign(**of, **more)[READINGS.names])
    check = pd.DataFrame([(base, name, dose, seed, own, held_out)], columns=CHECKS.names)
    return check, pd.concat(found) if found else pd.DataFrame(columns=READINGS.names)


@dataclass(frozen=True)
class Reading:
    """What one headline reads on the weights of one plant."""

    rows: pd.DataFrame
    """By `READINGS`."""
    checks: "pd.Series[float]"
    """By dose and seed, held-out log-odds."""
    smallest: float

    @cached_property
    def values(self) -> pd.DataFrame:
        """[weights by dose and seed, units that all were asked]."""
        return self.rows.pivot(index=["dose", "seed"], columns="unit", values="value").dropna(axis=1)

    @cached_property
    def weights(self) -> Floats:
        """[units] what makes a reading of values."""
        return self.rows.groupby("unit")["along"].first().reindex(self.values.columns).to_numpy(dtype=np.float64)

    @property
    def signed(self) -> bool:
        """Whether it is made by the poles of a plant."""
        return bool(self.rows["signed"].iloc[0])

    def facet(self) -> Facet:
        """Units, of a list for each pole where poles make the reading."""
        opposed = self.signed and (self.weights < 0).any()
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

        Of the doses that every seed has; None below two seeds.
        """
        by_dose = self.values.groupby(level="dose").size()
        doses: list[Any] = [dose for dose, n in by_dose.items() if n == by_dose.max() and dose != 0]
        seeds = sorted(self.values.xs(0, level="dose").index) if 0 in by_dose.index else []
        if len(seeds) < 2 or not doses or len(self.weights) < 2 * len(set(self.facet().lists)):
            return None
        paired = [[(dose, seed) for dose in doses] for seed in seeds]
        nats = np.array([[self.checks[one] - self.checks[0, one[1]] for one in own] for own in paired])
        changes = np.array(
            [[self.values.loc[one] - self.values.loc[(0, one[1])] for one in own] for own in paired], dtype=np.float64
        )  # seeds, doses, units

        def mean(units: Kept, kept: Kept) -> float:
            made = self.made(changes[kept], units)
            return float(((nats[kept] * made).sum(axis=1) / (nats[kept] ** 2).sum(axis=1)).mean())

        return crossed(mean, [self.facet(), Facet.of(len(seeds))])

    def correlation(self) -> float | None:
        """Of what doses change in units with the signs of the plant, where poles make the reading of units."""
        if len(set(self.facet().lists)) < 2:
            return None
        doses = self.values.index.get_level_values("dose")
        change = self.values[doses > 0].mean() - self.values[doses < 0].mean()
        return float(np.corrcoef(change, np.sign(self.weights))[0, 1])

    def monotone(self) -> float:
        """Rank correlation of readings with checks, both against dose 0 of the same seed."""
        readings = self.readings()
        seeds, nats = readings.index.get_level_values("seed"), self.checks.reindex(readings.index)
        one, other = (own - own.xs(0, level="dose").reindex(seeds).to_numpy() for own in (readings, nats))
        return float(stats.spearmanr(one.to_numpy(), other.to_numpy()).statistic)


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
    "benchmark part figure plant: str; signed: bool; units weights: int",
    "sensitivity low high correlation monotone threshold: float?; found: str?",
    "change change_low change_high smallest detectable: float?; verdict why: str?",
)
"""What is said of a headline and a plant. `sensitivity`: its unit per nat of the check; `correlation`: of what doses
change in units with signs; `monotone`: rank correlation over doses; `threshold`: the smallest dose, nats, at which
every weight is told from dose 0 in the planted direction, `found` how many are, by dose; `change`: what 2 nats come
to, with a verdict: an instrument of what was planted should have an effect, any other none."""

NATS: Final = 2
"""Of which `change` is."""


def series(readings: pd.DataFrame, checks: pd.DataFrame) -> dict[tuple[str, str, str], dict[str, Reading]]:
    """By benchmark, part and figure, and then by plant, what was read; those without a smallest effect are left out."""
    told = {str(plant): own.set_index(["dose", "seed"])["held_out"] for plant, own in checks.groupby("plant")}
    found: dict[tuple[str, str, str], dict[str, Reading]] = {}
    for (benchmark, part, figure, plant), rows in readings.dropna(subset=["smallest"]).groupby(
        ["benchmark", "part", "figure", "plant"], sort=False
    ):
        one = Reading(rows, told[str(plant)], float(rows["smallest"].iloc[0]))
        if len(one.weights) >= FEWEST and 0 in one.values.index.get_level_values("dose"):
            found.setdefault((str(benchmark), str(part), str(figure)), {})[str(plant)] = one
    return found


def figures(readings: pd.DataFrame, checks: pd.DataFrame) -> pd.DataFrame:
    """Sensitivity, threshold, monotony and specificity of every headline on every plant, by `FIGURES`."""
    rows = []
    for key, own in series(readings, checks).items():
        fits = between_fits(own)
        for plant, one in own.items():
            of = dict(zip(("benchmark", "part", "figure", "plant"), (*key, plant), strict=True))
            n = len(one.weights)
            slope, told = one.slope(), dict[str, Any]()
            if slope is not None:
                interval, two = slope.interval(), Estimate(NATS * slope.value, NATS**2 * slope.variance, slope.df)
                verdict = verdict_of(two, one.smallest, "change", n)
                told = {"sensitivity": slope.value, "low": interval.low, "high": interval.high}
                told |= {"change": two.value, "change_low": verdict.low, "change_high": verdict.high}
                told |= {"detectable": verdict.detectable, "verdict": verdict.verdict, "why": verdict.why}
            threshold, found = _threshold(one, fits)
            told |= {"correlation": one.correlation(), "monotone": one.monotone()}
            told |= {"threshold": threshold, "found": found, "smallest": one.smallest}
            rows.append({**of, "signed": one.signed, "units": n, "weights": len(one.values), **told})
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
            if fits is None or pair[1].isna().any():
                continue
            far = verdict_of(apart(one, pair[0], pair[1].to_numpy(), fits), one.smallest, "apart", len(one.weights))
            told = dict(zip(("benchmark", "part", "figure"), key, strict=True))
            rows.append({**told, "same": plant == other, "verdict": far.verdict})
    return pd.DataFrame(rows, columns=["benchmark", "part", "figure", "same", "verdict"])


FOLDER: Final = Path("data/weights")
READINGS_FILE, CHECKS_FILE, FIGURES_FILE = (FOLDER / name for name in ("readings.parquet", "checks.csv", "figures.csv"))
"""What `evenruler weigh --record` keeps: what was read, how heavy the weights are, and what is said of it."""


def recorded() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Readings and checks that the repository holds; empty where it holds none."""
    if not READINGS_FILE.exists():
        return pd.DataFrame(columns=READINGS.names), pd.DataFrame(columns=CHECKS.names)
    return read_table(READINGS_FILE).to_pandas(), pd.read_csv(CHECKS_FILE)


def ask(
    weights: Sequence[Weight], places: Sequence[str], size: Size, limit: int | None, at_once: int
) -> Iterator[tuple[Weight, pd.DataFrame, pd.DataFrame]]:
    """Check and readings of each weight, as they come; several weights at once, each in a process of its own.

    What was fitted or answered before is not paid for again, so that a run that was broken off goes on.
    """
    plants = {name: load_plant(name) for name in names()}
    if at_once == 1 or len(weights) == 1:
        for weight in weights:
            yield weight, *read(weight, places, size, limit, plants)
        return
    threads = max(1, (os.cpu_count() or 1) // at_once)
    with ProcessPoolExecutor(at_once, get_context("spawn"), _quietly, (threads,)) as pool:
        doing = {pool.submit(read, weight, places, size, limit, plants): weight for weight in weights}
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
    size: Size = "trial",
    limit: int | None = None,
    at_once: int = 1,
    record: bool = False,
) -> Iterator[str]:
    """Hold benchmarks against reference weights, made where they are not there yet; says what came of it, in lines.

    Without `places`: what is recorded. `only`: plants, all by default. `record`: keep it in `FOLDER`, in the place of
    what was there of the same benchmarks and plants.
    """
    readings, checks = recorded()
    if places:
        weights = [weight for plant in only or names() for weight in weights_of(base, plant)]
        yield from planned(weights, places, size, limit)
        started, found = time.monotonic(), list[tuple[pd.DataFrame, pd.DataFrame]]()
        for weight, check, own in ask(weights, places, size, limit, at_once):
            found.append((check, own))
            minutes = (time.monotonic() - started) / 60
            left = minutes / len(found) * (len(weights) - len(found))
            held_out = check["held_out"].iloc[0]
            note(f"{len(found)} of {len(weights)}: {weight.name}, {held_out:.2f} nats; about {left:.0f} minutes left")
        checks = _instead(checks, pd.concat([own for own, _ in found]), ["base", "plant", "dose", "seed"])
        new = pd.concat([own for _, own in found])
        readings = _instead(readings, new, ["benchmark", "plant"]) if record else new
        if record:
            FOLDER.mkdir(parents=True, exist_ok=True)
            write_whole(table_of(without_last_bits(readings), READINGS), READINGS_FILE)
            checks.round(3).to_csv(CHECKS_FILE, index=False, lineterminator="\n")
            figures(readings, checks).round(3).to_csv(FIGURES_FILE, index=False, lineterminator="\n")
    yield from lines_of(readings, checks)


def _instead(old: pd.DataFrame, new: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Rows in an order of their own, those of the same kind as new ones replaced."""
    kept = old[~old.set_index(by).index.isin(new.set_index(by).index)]
    found = pd.concat([kept, new]) if len(kept) else new
    return found.sort_values([*by, *found.columns.difference(by, sort=False)], ignore_index=True)


def planned(weights: Sequence[Weight], places: Sequence[str], size: Size, limit: int | None) -> Iterator[str]:
    """What is going to be made and asked."""
    store = RowStore()
    session = Session(chosen(weights[0].base, store), store, weights[0].base)
    yield f"{len(weights)} weights, each made where it is not there yet (a minute or two)"
    for place in places:
        with benchmark_at(place) as benchmark:
            cost = session.planned(benchmark, size=size, limit=limit).cost
        asked = ", ".join(f"{n:,} {CALLED.get(operation, operation)}" for operation, n in cost.questions.items())
        yield f"  {benchmark.name}, {size}, asks each {asked}"


def lines_of(readings: pd.DataFrame, checks: pd.DataFrame) -> Iterator[str]:
    """Figures as a terminal shows them."""
    for row in figures(readings, checks).to_dict("records"):
        own = {str(key): value for key, value in row.items()}
        yield "{benchmark}, {part}, {figure}; planted: {plant}".format(**own)
        if pd.notna(own["sensitivity"]):
            by = "by what was planted" if own["signed"] else "the headline itself"
            amount = "{sensitivity:.3g} [{low:.3g}, {high:.3g}]".format(**own)
            yield f"  reads {amount} per nat ({by}, {own['units']} units); 2 nats: {own['verdict']}. {own['why']}"
        signs = f", r with signs {own['correlation']:.2f}" if pd.notna(own["correlation"]) else ""
        yield f"  over doses {own['monotone']:.2f}{signs}; told from dose 0: {own['found']}"
    for same, pairs in between_nothing(readings, checks).groupby("same"):
        counts = ", ".join(f"{n} {verdict}" for verdict, n in pairs["verdict"].value_counts().items())
        which = "that learned the same sentences" if same else "of two plants"
        yield f"Pairs of dose 0 {which}: {counts}"

"""Check instruments on reference weights: do they detect what was planted, and nothing else?

A reading is one number of an instrument on one weight, linear in the instrument's scores. Figures
use its change from the weight of dose 0 and the same seed, trained on the same sentences with poles
at random (docs/weights.md).
"""

import json
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Unpack, cast

import numpy as np
import pandas as pd

from evenruler.evaluate.benchmark import Benchmark, open_benchmark
from evenruler.evaluate.cost import cost_of
from evenruler.evaluate.readings import (
    CHECKS,
    FEWEST,
    READINGS,
    WEIGHED,
    compare_doses_of_0,
    counts_in_words,
    planted_figures,
)
from evenruler.evaluate.resolve_model import resolve_model
from evenruler.evaluate.session import HowAsked, Measurement, MeasurementPlan, Session
from evenruler.instruments.asking import CALLED
from evenruler.instruments.instrument import Plan
from evenruler.instruments.prefixes import OTHER_START
from evenruler.instruments.registry import family_module
from evenruler.measurement.figures import (
    WHOLE,
    Verdict,
    dimension_columns,
    dimensions_of,
    figure_key,
)
from evenruler.measurement.inputs import Floats
from evenruler.models.store import RowStore
from evenruler.tables import read_table, table_of
from evenruler.tables.frames import without_last_bits, write_whole
from evenruler.tables.ids import content_sha256
from evenruler.terminal import die_with_parent, print_note
from evenruler.text.english import slug_of
from evenruler.training.plants import (
    DoseUnreachableError,
    PlantDeclaration,
    PlantedModel,
    load_plant,
    plant_names,
    weights_of,
)

if TYPE_CHECKING:
    from evenruler.instruments.external.declare import ExternalPlan

SPAN: Final = 80.0
"""Percentage points of the criterion over which a slope is stated, as for gains of the family
`probes`."""


def contrast_weights(
    made_of: pd.DataFrame, plants: Mapping[str, PlantDeclaration]
) -> tuple[str, pd.DataFrame]:
    """The plant whose poles the reading of a headline contrasts (or empty), and rows of unit,
    along, value.

    `made_of`: the headline's rows, in the schema `HEADLINES` of its family. If its units are a
    plant's, the first pole's units minus the second's. If its words are (a country, asked about in
    every root item), the same within each unit. Otherwise the headline itself: the slope along its
    axis if two groups have one, else the mean over units, minus those of no pole.
    """
    real = made_of[made_of["pole"] != 0]
    called = {column: real[column].map(_name_slug) for column in ("unit", "word")}
    for name, plant in plants.items():
        signs: dict[str, int] = {}
        for sign, pole_units in zip((1, -1), plant.units.values(), strict=True):
            for pole_unit in pole_units:
                signs[_name_slug(pole_unit)] = sign
        by_unit, by_word = (names.map(signs).fillna(0) for names in called.values())
        units = real["unit"].groupby(by_unit).nunique()
        if min(units.get(1, 0), units.get(-1, 0)) >= FEWEST:
            values = _unit_contrasts(real[by_unit != 0])
            first = np.array([signs[_name_slug(unit)] > 0 for unit in values.index])
            first_weight, other_weight = 1 / first.sum(), -1 / (~first).sum()
            along: Floats = np.where(first, first_weight, other_weight)
            return name, _contrast_rows(values, along)
        if set(by_word) >= {1, -1}:
            by_side = real.groupby(["unit", by_word.rename("side")])["value"]
            sides = by_side.mean().unstack().dropna(subset=[1, -1])
            values = sides[1] - sides[-1]
            along = np.full(len(values), 1 / len(values))
            return name, _contrast_rows(values, along)
    values = _unit_contrasts(made_of)
    axis_by_unit = real.groupby("unit")["axis_position"].first()
    axis = axis_by_unit.reindex(values.index).to_numpy(dtype=np.float64)
    if (real["pole"] == -1).any() and np.ptp(axis) > 0:
        keyed = set(axis) <= {1.0, -1.0}
        centred = axis - axis.mean()
        # For keyed items, the mean of one key less that of the other.
        span = np.ptp(axis) if keyed else SPAN
        along = span * centred / (centred @ centred)
        return "", _contrast_rows(values - values.mean(), along)
    along = np.full(len(values), 1 / len(values))
    return "", _contrast_rows(values, along)


def _unit_contrasts(rows: pd.DataFrame) -> "pd.Series[float]":
    """By unit, the mean of the first group minus that of the second, or minus those of no pole
    where there is no second.
    """
    poles = rows.groupby(["unit", "pole"])["value"].mean().unstack()
    other = -1 if -1 in poles else 0
    if other not in poles:
        return poles[1].dropna()
    return (poles[1] - poles[other]).dropna()


def _contrast_rows(values: "pd.Series[float]", weights: Floats) -> pd.DataFrame:
    """Rows of `unit`, its `value` on a weight, and `along`, its coefficient in the reading."""
    return pd.DataFrame(
        {
            "unit": values.index.astype(str),
            "along": weights,
            "value": values.to_numpy(dtype=np.float64),
        }
    )


def _name_slug(name: object) -> str:
    """The slug of a unit or word, without a leading "the-", by which plants and benchmarks are
    matched.
    """
    return slug_of(str(name)).removeprefix("the-")


def measure_planted_model(
    weight: PlantedModel,
    places: Mapping[str, str],
    how: HowAsked,
    plants: Mapping[str, PlantDeclaration],
    recorded_check: Sequence[float] | None = None,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Check (`CHECKS`) and readings (`READINGS`) of one weight, which is made first if missing.

    `places`: the `asked` hash of each benchmark; `how`: arguments of `Session.plan_measurement`;
    `recorded_check`: the nats of a recorded check.
    """
    store, plant = RowStore(), plants[weight.plant]

    def check(nats: Sequence[float | None]) -> pd.DataFrame:
        """One row of `CHECKS`: the planted strength in nats on learned and on held-out sentences,
        or nulls.
        """
        return pd.DataFrame([(*weight, *nats, plant.sha256)], columns=CHECKS.names)

    try:
        session = Session(resolve_model(weight.source, store), store)
    except DoseUnreachableError:
        return check((None, None)), empty_tables()[0]
    nats = recorded_check or [
        plant.log_odds(session.model, frames) for frames in (plant.frames, plant.held_out)
    ]
    reading_tables = []
    for place, asked_hash in places.items():
        with open_benchmark(place) as benchmark:
            planned = plan_readings(session, benchmark, how)
            measured = session.measure(planned)
        result = measured.result
        headlines: dict[tuple[str, str], Mapping[str, Any]] = {}
        for row in result.figures:
            headlines[row["figure"], figure_key(dimensions_of(row))] = row
        part_keys = _planted_parts(result.benchmark.name, plants)
        parts = _rows_of_parts(measured, planned, part_keys)
        made_of = pd.concat([result.headlines, *parts])
        for _, rows in made_of.groupby(["figure", *dimension_columns(made_of)], dropna=False):
            by, values = contrast_weights(rows, plants)
            unit_row = dict(rows.iloc[0])
            figure, key = unit_row["figure"], figure_key(dimensions_of(unit_row))
            reading_columns: dict[str, Any] = {
                **weight._asdict(),
                "benchmark": result.benchmark.name,
                "asked": asked_hash,
            }
            # A part that is read alone may have another figure than the benchmark's headline.
            headline = headlines.get((figure, WHOLE if key in part_keys else key), {})
            unfit = headline["why"] if headline.get("verdict") == Verdict.INVALID else None
            reading_columns |= {
                "figure": figure,
                "key": key,
                "by": by,
                "bound": headline.get("bound"),
            }
            reading_tables.append(values.assign(**reading_columns, unfit=unfit)[READINGS.names])
    return check(nats), pd.concat(reading_tables) if reading_tables else empty_tables()[0]


def _planted_parts(benchmark: str, plants: Mapping[str, PlantDeclaration]) -> list[str]:
    """The keys of parts of a benchmark that are also read separately, since a plant names them."""
    keys = {WHOLE}
    for plant in plants.values():
        for place in plant.read_by:
            if place["benchmark"] == benchmark:
                keys.add(figure_key(dimensions_of(place)))
    return sorted(keys - {WHOLE})


def _rows_of_parts(
    measured: Measurement, planned: MeasurementPlan, keys: Sequence[str]
) -> Iterator[pd.DataFrame]:
    """Rows (`HEADLINES`) of some parts of a benchmark of the family `external`: of their gain where
    that is its headline, else of their lean.
    """
    if not keys:
        return
    from evenruler.instruments.external.diagnose import part_rows, split_by_dimension

    items, model = measured.tables["items"], measured.result.model.name
    plan = cast("ExternalPlan", planned.plan)
    for dimensions, group in split_by_dimension(items, plan):
        if figure_key(dimensions_of(dimensions)) in keys:
            rows = part_rows(group, planned.tables, plan)
            yield rows.assign(**dimensions, model=model, figure=rows["group"])


def plan_readings(session: Session, benchmark: Benchmark, how: HowAsked) -> MeasurementPlan:
    """The plan without texts that no reading uses: those that are asked again, after prefixes or
    another start, and rows of which no headline is made.
    """
    planned = session.plan_measurement(benchmark, **how)
    door = family_module(benchmark.family, "ask")
    plan: Plan = {**planned.plan, "prefixed": 0, OTHER_START: False}
    tables = door.keep_headline_rows(planned.tables, plan)
    cost = cost_of(door.requests(tables, plan, {}, planned.subject))
    return replace(planned, tables=tables, plan=plan, cost=cost)


FOLDER: Final = Path("data/weights")
READINGS_FILE, CHECKS_FILE, FIGURES_FILE = (
    FOLDER / name for name in ("readings.parquet", "checks.csv", "figures.csv")
)
"""Files of `evenruler planted test --record`: readings, the strength of the weights, and
figures.
"""


def empty_tables() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Empty tables of readings and checks."""
    return pd.DataFrame(columns=READINGS.names), pd.DataFrame(columns=CHECKS.names)


def read_recorded_readings() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Readings and checks recorded in the repository."""
    return (
        (read_table(READINGS_FILE).to_pandas(), pd.read_csv(CHECKS_FILE))
        if CHECKS_FILE.exists()
        else empty_tables()
    )


def write_planted_figures(figures: pd.DataFrame) -> None:
    """Write figures of planted models to `FIGURES_FILE`; counts by dose are JSON in a cell."""
    counts = figures["planted"].map(json.dumps)
    figures.round(3).assign(planted=counts).to_csv(FIGURES_FILE, index=False, lineterminator="\n")


def measure_planted_models(
    weights: Mapping[PlantedModel, Mapping[str, str]],
    how: HowAsked,
    at_once: int,
    recorded_checks: Mapping[PlantedModel, Sequence[float]] | None = None,
) -> Iterator[tuple[PlantedModel, pd.DataFrame, pd.DataFrame]]:
    """Yield check and readings of each weight as they finish, by `at_once` processes.

    `weights`: by weight, the `asked` hash of each benchmark; `recorded_checks`: by weight, the nats
    of its recorded check. Fits and answers are cached: an interrupted run resumes.
    """
    plants, recorded_checks = (
        {name: load_plant(name) for name in plant_names()},
        recorded_checks or {},
    )
    arguments_by_weight = {
        weight: (weight, places, how, plants, recorded_checks.get(weight))
        for weight, places in weights.items()
    }
    if at_once == 1 or len(weights) == 1:
        yield from (
            (weight, *measure_planted_model(*arguments))
            for weight, arguments in arguments_by_weight.items()
        )
        return
    threads = max(1, (os.cpu_count() or 1) // at_once)
    with ProcessPoolExecutor(at_once, get_context("spawn"), _initialise_worker, (threads,)) as pool:
        doing = {
            pool.submit(measure_planted_model, *arguments): weight
            for weight, arguments in arguments_by_weight.items()
        }
        try:
            for done in as_completed(doing):
                yield doing[done], *done.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _initialise_worker(threads: int) -> None:
    """Initialise a worker process: no progress bars, and exit with the parent process."""
    import torch

    torch.set_num_threads(threads)
    die_with_parent()
    sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def weigh(
    places: Sequence[str],
    only: Sequence[str] = (),
    *,
    base: str,
    at_once: int = 1,
    record: bool = False,
    on_curve: bool = False,
    **how: Unpack[HowAsked],
) -> Iterator[str]:
    """Check benchmarks on reference weights, which are made if missing; yields lines to print.

    Without `places`, shows what is recorded. `only`: plants, all by default. `on_curve`: on the
    doses of a curve. `how`: arguments of `Session.plan_measurement`. `record`: save to `FOLDER`
    after each weight, and skip what is already there.
    """
    readings, checks = read_recorded_readings() if record or not places else empty_tables()
    plants = {name: load_plant(name) for name in [*plant_names(), *only]}
    readings, checks = _drop_outdated(readings, checks, plants)
    recorded_checks: dict[PlantedModel, Sequence[float]] = {}
    for row in checks.itertuples(index=False):
        recorded_checks[PlantedModel(*row[:4])] = row[4:6]
    asks: dict[str, str] = {}
    for place in places:
        planned = _plan_questions(place, base, how, plants)
        asks[place] = planned.asked_hash
        readings = _drop_other_questions(readings, planned)
        yield planned.line
    planted_models: list[PlantedModel] = []
    if places:
        for plant_name in only or plants:
            planted_models += weights_of(base, plant_name, on_curve=on_curve)
    weights = _list_questions_left(planted_models, asks, readings, recorded_checks)
    if weights:
        print_note(
            f"{len(weights)} weights to ask; one of a new seed is fitted first, which takes some "
            "minutes more"
        )
    started = time.monotonic()
    for n, (weight, check, weight_readings) in enumerate(
        measure_planted_models(weights, how, at_once, recorded_checks), 1
    ):
        elapsed_minutes = (time.monotonic() - started) / 60
        minutes = elapsed_minutes / n * (len(weights) - n)
        progress = f"{n} of {len(weights)}: {weight.source}"
        time_left = f"about {minutes:.0f} minutes left"
        print_note(f"{progress}, {_describe_check(check)}; {time_left}")
        readings = _merge_rows(readings, weight_readings, ["benchmark"])
        checks = _merge_rows(checks, check, [])
        if record:
            _record_readings(readings, checks)
    # Figures are computed for one base.
    readings = readings[readings["base"] == base]
    checks = checks[checks["base"] == base]
    figures = planted_figures(
        readings, checks, {name: plant.read_by for name, plant in plants.items()}
    )
    if record:
        write_planted_figures(figures)
    yield from lines_of(figures, compare_doses_of_0(readings, checks))


def _drop_outdated(
    readings: pd.DataFrame, checks: pd.DataFrame, plants: Mapping[str, PlantDeclaration]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Readings and checks without those of plants that changed since, with a note."""
    hashes = {name: plant.sha256 for name, plant in plants.items()}
    current = checks[checks["learned"] == checks["plant"].map(hashes)]
    if len(current) == len(checks):
        return readings, checks
    print_note(
        "a plant has changed since it was recorded: what was read of it is dropped, and asked again"
    )
    return readings[readings["plant"].isin(current["plant"])], current


class _PlannedQuestions(NamedTuple):
    """What each weight will be asked about a benchmark."""

    benchmark: str
    asked_hash: str
    """A hash of the benchmark and of how much it asks."""
    line: str
    """The number of questions, as a line."""


def _drop_other_questions(readings: pd.DataFrame, planned: _PlannedQuestions) -> pd.DataFrame:
    """Readings without those of the same benchmark by other questions, with a note: two versions of
    a benchmark have no common figure.
    """
    is_same_benchmark = readings["benchmark"] == planned.benchmark
    is_other = is_same_benchmark & (readings["asked"] != planned.asked_hash)
    if not is_other.any():
        return readings
    print_note(
        f"{planned.benchmark} asks other questions than it did when it was recorded: what was read "
        "of it is dropped, and asked again"
    )
    return readings[~is_other]


def _list_questions_left(
    planted_models: Sequence[PlantedModel],
    asks: Mapping[str, str],
    readings: pd.DataFrame,
    recorded_checks: Mapping[PlantedModel, Sequence[float]],
) -> dict[PlantedModel, dict[str, str]]:
    """By weight, those benchmarks, each with a hash of its questions, that it has not answered;
    without weights that learned less than their dose.
    """
    weights: dict[PlantedModel, dict[str, str]] = {}
    for weight in planted_models:
        if pd.isna(recorded_checks.get(weight, (0,))[0]):
            continue  # less than the dose was learned
        answered_hashes: set[str] = set()
        if weight in recorded_checks:
            is_of_weight = (readings[WEIGHED.names] == [*weight]).all(axis=1)
            answered_hashes = set(readings[is_of_weight]["asked"])
        left = {
            place: asked_hash
            for place, asked_hash in asks.items()
            if asked_hash not in answered_hashes
        }
        if left:
            weights[weight] = left
    return weights


def _describe_check(check: pd.DataFrame) -> str:
    """How strong a weight is on sentences that were held out, in words."""
    held_out = check["held_out"]
    if held_out.notna().all():
        return f"{held_out.iloc[0]:.2f} nats"
    return "left out: less was learned than the dose"


def _record_readings(readings: pd.DataFrame, checks: pd.DataFrame) -> None:
    """Write readings and checks to `FOLDER`."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    write_whole(table_of(without_last_bits(readings), READINGS), READINGS_FILE)
    checks.astype({"own": float, "held_out": float}).round(6).to_csv(
        CHECKS_FILE, index=False, lineterminator="\n"
    )


def _describe_threshold(row: Mapping[str, Any]) -> str:
    """The dose that is detected in 8 of 10 models, with its interval: "1.9 nats [1.3, 3.5]"."""
    ends: list[str] = []
    for name in ("threshold_low", "threshold_high"):
        end = row[name]
        ends.append("open" if pd.isna(end) else f"{end:.2g}")
    return f"{row['threshold']:.2g} nats [{', '.join(ends)}]"


def _merge_rows(old: pd.DataFrame, new: pd.DataFrame, more: list[str]) -> pd.DataFrame:
    """Sorted rows, where new ones replace old ones of the same weight and the same values of
    `more`.
    """
    by = [*WEIGHED.names, *more]
    new_keys = new.set_index(by).index
    kept_rows = old[~old.set_index(by).index.isin(new_keys)]
    merged_rows = pd.concat(
        [table for table in (kept_rows, new) if len(table)] or [new]
    )  # columns of an empty one are objects
    return merged_rows.sort_values(
        [*by, *merged_rows.columns.difference(by, sort=False)], ignore_index=True
    )


def _plan_questions(
    place: str, base: str, how: HowAsked, plants: Mapping[str, PlantDeclaration]
) -> _PlannedQuestions:
    """What one benchmark would ask each planted model of a base, with a hash of it; the planted
    models are not made.
    """
    store = RowStore()
    with open_benchmark(place) as benchmark:
        session = Session(resolve_model(base, store), store)
        cost = plan_readings(session, benchmark, how).cost
    question_counts: list[str] = []
    for operation, n in cost.questions.items():
        question_counts.append(f"{n:,} {CALLED.get(operation, operation)}")
    questions_text = ", ".join(question_counts)
    part_keys = _planted_parts(benchmark.name, plants)
    asked_hash = content_sha256(benchmark.identity, how, part_keys)[:16]
    line = f"{benchmark.name}, {how['size']}: asks each weight {questions_text}"
    return _PlannedQuestions(benchmark.name, asked_hash, line)


def lines_of(figures: pd.DataFrame, nothing: pd.DataFrame) -> Iterator[str]:
    """Figures and pairs of dose 0 (`compare_doses_of_0`) as terminal lines."""
    for row in figures.to_dict("records"):
        figure_row = {str(key): value for key, value in row.items()}
        yield "{benchmark}, {figure}, {key}; planted: {plant}".format(**figure_row)
        if pd.notna(figure_row["sensitivity"]):
            by = (
                f"between the poles of {figure_row['by']}"
                if figure_row["by"]
                else "of the headline"
            )
            amount = "{sensitivity:.3g} [{low:.3g}, {high:.3g}]".format(**figure_row)
            yield f"  change {amount} per nat ({by}, {figure_row['units']} units)"
        if pd.notna(figure_row["why"]):
            yield f"  {figure_row['why']}"
        signs = (
            f", r with signs {figure_row['correlation']:.2f}"
            if pd.notna(figure_row["correlation"])
            else ""
        )
        monotone = figure_row["monotone"]
        order = f"{monotone:.2f}" if pd.notna(monotone) else "constant"
        counts = counts_in_words(figure_row["planted"])
        yield f"  rank correlation with doses {order}{signs}; detected: {counts}"
        if pd.notna(figure_row["threshold"]):
            yield f"  8 of 10 models: {_describe_threshold(figure_row)}"
    for same, pairs in nothing.groupby("same"):
        n_detected = int(pairs["detected"].sum())
        which = "that learned the same sentences" if same else "of two plants"
        yield f"Pairs of dose 0 {which}: {n_detected} of {len(pairs)} detected"

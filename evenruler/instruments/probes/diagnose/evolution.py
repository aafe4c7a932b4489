"""Results of an evolution: figures by generation, evolved sets against others, and outcomes of the
replies.

The figures are those of any set of templates (`quality`). An evolved set was chosen for its figures
on the model that it evolved on, so they flatter it there; its worth shows on other models
(`transfer`), on held-out halves of the attributes, and against cheaper sets: subsets of the start,
elites, random rewordings.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import chain

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenruler.instruments.instrument import Record, Tables
from evenruler.instruments.probes import schemas
from evenruler.instruments.probes.ask import axis_of
from evenruler.instruments.probes.declare.plan import ProbePlan
from evenruler.instruments.probes.declare.settings import split_attributes
from evenruler.instruments.probes.diagnose import quality
from evenruler.instruments.probes.diagnose.gain import (
    DETECTS,
    Scores,
    detectable_at_common_length,
)
from evenruler.instruments.probes.schemas import (
    CHOSEN,
    ELITES,
    GUIDED,
    LENGTHENED,
    POPULATION,
    RANDOM,
    select_comparable,
)
from evenruler.measurement import Resampling
from evenruler.measurement.figures import UNDEFINED, Row, figure_fields, finite_or_none
from evenruler.measurement.inputs import Floats, correlation
from evenruler.measurement.resampling import FEWEST_UNITS, jackknife
from evenruler.measurement.shifts import LEVEL, REORDERING
from evenruler.measurement.validity import FEWEST_PAIRS

Sides = tuple[str, str]
"""The evolved set, and the set that it is compared with."""


def _comparison_row(
    set_names: Sides,
    figure: str,
    value: float | None,
    other: float | None,
    n: int,
    unit: str = quality.UNIT,
    reason: str | None = None,
    **ends: float | None,
) -> Row:
    """A row by `schemas.COMPARISONS`, without benchmark and model; `ends`: `low` and `high` of the
    difference.
    """
    sides = {
        "set": set_names[0],
        "against": set_names[1],
        "half": None,
        "value": value,
        "other": other,
    }
    difference = None if value is None or other is None else value - other
    length = quality.AT_COMMON_LENGTH if figure in LENGTHENED else quality.PLAIN
    return {
        "figure": figure,
        **length,
        **sides,
        "difference": difference,
        "n": n,
        "unit": unit,
        "reason": reason,
        **ends,
    }


def compare_sets(
    set_names: Sides,
    sets: Sequence[pd.DataFrame],
    criterion: "pd.Series[float] | None",
    resampling: Resampling,
) -> Iterator[Row]:
    """Compare all figures that rest on biases, over the attributes that both sets share; no `r`
    without a criterion.

    `sets`: biases of both, attributes x templates, nats; jackknife intervals leave an attribute out
    of both at once.
    """
    shared = sets[0].index.intersection(sets[1].index).sort_values()
    both = [matrix.loc[shared] for matrix in sets]
    sides = [matrix.to_numpy() for matrix in both]
    alpha = quality.alpha_at_common_length
    yield _of_both(
        set_names, quality.ALPHA, alpha, sides, quality.why_no_reliability, resampling.level
    )
    if criterion is not None and criterion.notna().any():
        known_criterion = criterion.reindex(shared).dropna()
        sides = [
            np.column_stack([matrix.loc[known_criterion.index].mean(axis=1), known_criterion])
            for matrix in both
        ]
        few = (
            f"fewer than {FEWEST_PAIRS} {quality.UNIT} to correlate"
            if len(known_criterion) < FEWEST_PAIRS
            else None
        )
        yield _of_both(
            set_names,
            quality.R,
            lambda both: correlation(*both.T),
            sides,
            lambda _: few,
            resampling.level,
        )


def _of_both(
    set_names: Sides,
    figure: str,
    statistic: Callable[[Floats], float],
    matrices: Sequence[Floats],
    why: Callable[[Floats], str | None],
    level: float,
) -> Row:
    """A figure of each set, and their difference with interval; `why`: why a matrix has none, or
    None.
    """
    n, none = len(matrices[0]), [why(x) for x in matrices]
    evolved_value, other_value = (
        None if reason else finite_or_none(float(statistic(x)))
        for x, reason in zip(matrices, none, strict=True)
    )
    named = zip(set_names, (evolved_value, other_value), none, strict=True)
    reasons: list[str] = []
    for name, value, reason in named:
        if value is None:
            reasons.append(f"{name}: {reason or UNDEFINED}")
    if reasons or n < FEWEST_UNITS:
        few = f"no interval: fewer than {FEWEST_UNITS} {quality.UNIT}"
        return _comparison_row(
            set_names, figure, evolved_value, other_value, n, reason="; ".join(reasons) or few
        )
    interval = jackknife(lambda x, y: statistic(x) - statistic(y), *matrices, level=level)
    low, high = finite_or_none(interval.low), finite_or_none(interval.high)
    undefined = "no interval: undefined without one" if low is None else None
    return _comparison_row(
        set_names, figure, evolved_value, other_value, n, reason=undefined, low=low, high=high
    )


def diversities_compared(
    set_names: Sides, templates: pd.DataFrame, other: pd.DataFrame
) -> Iterator[Row]:
    """Mean diversity of both sets, from that of their templates; n counts the templates of the
    first.
    """
    for figure, other_figure in zip(
        quality.mean_diversities(templates), quality.mean_diversities(other), strict=True
    ):
        yield _comparison_row(
            set_names,
            figure.figure,
            figure.value,
            other_figure.value,
            figure.n,
            figure.unit,
            figure.reason or other_figure.reason,
        )


def by_generation(record: Record[ProbePlan], resampling: Resampling) -> pd.DataFrame:
    """Reliability and diversity of each population, by `schemas.GENERATIONS`; ValueError where a
    bias is missing.
    """
    diversity = record.diagnosis["diversity"]
    model = record.plan["evolved"]["model"]
    rows: list[Row] = []
    populations = record.tables["history"].groupby(["run", "generation"], sort=True)
    for (run, generation), population in populations:
        x = _of_population(population, record.tables["biases"]).to_numpy()
        of_it = diversity[(diversity["run"] == run) & (diversity["generation"] == generation)]
        key = {"benchmark": record.instrument, "run": run, "generation": generation, "model": model}
        figures = [*quality.reliability_figures(x, resampling), *quality.mean_diversities(of_it)]
        rows += [{**key, **figure_fields(figure)} for figure in figures]
    return pd.DataFrame(rows, columns=schemas.GENERATIONS.names)


def compare_runs(record: Record[ProbePlan], resampling: Resampling) -> pd.DataFrame:
    """Effect of replacing hotspots: last population and chosen set of the guided run, against the
    random run's last.

    There is one run of each: intervals are over attributes and do not cover the chance between
    runs. By `schemas.COMPARISONS`, the sets `population` and `evolved` against `random`; empty
    unless both ran. Fitness is relative to a population, so it is not compared.
    """
    tables, diversity = record.tables, record.diagnosis["diversity"]
    history, biases, choices = tables["history"], tables["biases"], tables["choices"]
    rows: list[Row] = []
    if {GUIDED, RANDOM} <= set(history["run"]):
        last, other = (_of_population(_last_of(history, run), biases) for run in (GUIDED, RANDOM))
        chosen = choices.loc[choices["chosen"], "template"]
        criterion = tables["attributes"].set_index("attribute")["criterion"]
        chosen_biases = matrix_of(
            biases[(biases["run"] == GUIDED) & biases["template"].isin(chosen)]
        )
        both, model = (POPULATION, RANDOM), record.plan["evolved"]["model"]
        guided_diversity = _last_of(diversity, GUIDED)
        random_diversity = _last_of(diversity, RANDOM)
        population_rows = compare_sets(both, (last, other), None, resampling)
        diversity_rows = diversities_compared(both, guided_diversity, random_diversity)
        chosen_rows = compare_sets((CHOSEN, RANDOM), (chosen_biases, other), criterion, resampling)
        compared_rows = [*population_rows, *diversity_rows, *chosen_rows]
        rows = [
            {"benchmark": record.instrument, "model": model, "transfer": False, **row}
            for row in compared_rows
        ]
    return pd.DataFrame(rows, columns=schemas.COMPARISONS.names)


def _last_of(rows: pd.DataFrame, run: str) -> pd.DataFrame:
    """The last generation of a run."""
    run_rows = rows[rows["run"] == run]
    last_rows: pd.DataFrame = run_rows[run_rows["generation"] == run_rows["generation"].max()]
    return last_rows


def count_rewording_outcomes(tries: pd.DataFrame, benchmark: str) -> pd.DataFrame:
    """Outcomes of the replies to each kind of wish, by `schemas.REWORDINGS`.

    One row per reason, with the number of replies rejected for it and their share of that kind's
    replies. Accepted replies come first, with a null reason, even if there are none. The n of a
    kind add up to its replies.
    """
    kind = ["run", "operator", "operation", "voice"]
    taken = tries.groupby(kind, dropna=False, as_index=False).agg(
        n=("accepted", "sum"), replies=("accepted", "size")
    )
    refused = (
        tries[~tries["accepted"]]
        .groupby([*kind, "reason"], dropna=False)
        .size()
        .reset_index(name="n")
    )
    refused = refused.merge(taken[[*kind, "replies"]], on=kind).assign(rank=1)
    rows = pd.concat([taken.assign(reason=None, rank=0), refused], ignore_index=True)
    order = {**dict.fromkeys(kind, True), "rank": True, "n": False, "reason": True}
    rows = rows.sort_values(list(order), ascending=list(order.values()), ignore_index=True)
    return rows.assign(share=rows["n"] / rows["replies"], benchmark=benchmark).filter(
        schemas.REWORDINGS.names
    )


def matrix_of(biases: pd.DataFrame) -> pd.DataFrame:
    """Biases as attributes x templates, both in slug order; an attribute that lacks a bias is left
    out.
    """
    return biases.pivot(index="attribute", columns="template", values="bias").dropna()


def _of_population(population: pd.DataFrame, biases: pd.DataFrame) -> pd.DataFrame:
    """Biases of one run and generation, attributes x templates; ValueError where one is missing."""
    run, templates = population["run"].iloc[0], sorted(population["template"])
    population_biases = biases[(biases["run"] == run) & biases["template"].isin(templates)]
    matrix: pd.DataFrame = population_biases.pivot(
        index="attribute", columns="template", values="bias"
    ).reindex(columns=templates)
    if matrix.empty or matrix.isna().to_numpy().any():
        raise ValueError(
            f"run {run}, generation {population['generation'].iloc[0]}: a template lacks a bias"
        )
    return matrix


def compare_with_baselines(
    record: Record[ProbePlan],
    other: Record[ProbePlan],
    records: Sequence[Record[ProbePlan]],
    resampling: Resampling,
) -> pd.DataFrame:
    """The chosen set, and the paper's elites, against sets that cost no evolution, on every model
    that was asked both.

    Both are compared with the sets of `baseline_sets`, with `UNREVERSED` (the start without the
    templates whose correlation with the rest has an interval below 0 on that model) and with
    `BEST_START` (chosen like the chosen set, but from the start alone); the chosen set also with
    the elites. In rows of `HELD_OUT` each half of the attributes chose a set that the other half
    judges, mean of both ways; their model is the one that the templates evolved on. So it is for
    diversity, which depends on no model, and whose n counts the evolved set's templates.

    By `schemas.COMPARISONS`; intervals leave the same attribute out of both sets, `TAKEN` and
    diversities have none. `record`: of the evolved instrument, `other`: of its original, on any
    model; `records`: all instruments and models.
    """
    name, plan = record.instrument, record.plan["evolved"]
    evolved_by_model = _find_tables_by_model(records, name)
    original_by_model = _find_tables_by_model(records, other.instrument)
    attributes = record.tables["attributes"].set_index("attribute")
    choices = record.tables["choices"]
    against_sets = baseline_sets(record, other)
    rows: list[Row] = []
    for model in sorted(evolved_by_model.keys() & original_by_model.keys()):
        evolved, original = evolved_by_model[model], original_by_model[model]
        if "biases" not in evolved or "biases" not in original:
            continue
        pairs = _pair_sets(evolved["biases"], original, plan["start"], against_sets, choices)
        model_rows: list[Row] = []
        for set_names, biases in pairs:
            model_rows += compare_sets(set_names, biases, attributes["criterion"], resampling)
        original_figures = original["figures"]
        is_against = original_figures["set"].isin(against_sets)
        model_rows += _best_start_rows(evolved["figures"], original_figures[is_against])
        here = {"model": model, "transfer": model != plan["model"]}
        rows += [{**here, **row} for row in model_rows]
    once = list(_diversity_rows(record, other, against_sets))
    held_out_rows = _held_out(record.tables, plan["start"], attributes, resampling)
    once += [{**row, "half": schemas.HELD_OUT} for row in held_out_rows]
    rows += [{"model": plan["model"], "transfer": False, **row} for row in once]
    return pd.DataFrame(
        [{"benchmark": name, **row} for row in rows], columns=schemas.COMPARISONS.names
    )


def _find_tables_by_model(
    records: Sequence[Record[ProbePlan]], instrument: str
) -> dict[str, Tables]:
    """The tables of an instrument's diagnosis, by model."""
    return {
        record.subject.name: record.diagnosis
        for record in records
        if record.instrument == instrument
    }


def baseline_sets(record: Record[ProbePlan], other: Record[ProbePlan]) -> list[str]:
    """Sets of the original that evolved sets are compared with: those with a verdict, and the
    start.
    """
    start = record.plan["evolved"]["start"]
    return list(dict.fromkeys([*other.plan["headline"], start]))


def _all_of_start(choices: pd.DataFrame, *columns: str) -> bool:
    """Whether the best subset of the start is the whole start, so that it needs no comparison of
    its own.
    """
    of_start = choices[choices["template"] == choices["root"]]
    return bool(of_start[list(columns)].all(axis=None))


def _pair_sets(
    evolved_biases: pd.DataFrame,
    original_tables: Tables,
    start: str,
    against_sets: Sequence[str],
    choices: pd.DataFrame,
) -> Iterator[tuple[Sides, tuple[pd.DataFrame, pd.DataFrame]]]:
    """Pairs of sets to compare on one model, by name, with their biases."""
    original_biases = original_tables["biases"]
    sets = {
        name: matrix_of(original_biases[original_biases["set"] == name]) for name in against_sets
    }
    chosen, elites = (
        matrix_of(evolved_biases[evolved_biases["set"] == name]) for name in (CHOSEN, ELITES)
    )
    items = original_tables["items"]
    start_items = items[(items["set"] == start) & ~items["control"]]
    reversed_templates = start_items.loc[start_items["high"] < 0, "template"]
    first = sets[start]
    sets[schemas.UNREVERSED] = first.drop(columns=list(reversed_templates))
    if not _all_of_start(choices, "best_start"):
        best_templates = sorted(choices.loc[choices["best_start"], "template"])
        sets[schemas.BEST_START] = first[best_templates]
    for name, evolved_set in ((CHOSEN, chosen), (ELITES, elites)):
        for against, other in sets.items():
            yield (name, against), (evolved_set, other)
    yield (CHOSEN, ELITES), (chosen, elites)


TAKEN = (quality.GENERALIZABILITY, DETECTS, LEVEL, REORDERING)
"""Figures of a set on a model that comparisons copy, without computing them again."""


def _best_start_rows(
    evolved_figures: pd.DataFrame, original_figures: pd.DataFrame
) -> Iterator[Row]:
    """`TAKEN` of the chosen set against those of other sets on one model, without intervals."""
    is_evolved = evolved_figures["set"].isin([CHOSEN, ELITES])
    both = pd.concat([evolved_figures[is_evolved], original_figures])
    compared_figures = select_comparable(both)
    for figure in TAKEN:
        of_sets = compared_figures[compared_figures["figure"] == figure].set_index("set")
        values = of_sets["value"].dropna()
        if CHOSEN not in values:
            continue
        for against in values.index.difference([CHOSEN], sort=False):
            n = int(of_sets["n"][CHOSEN])
            yield _comparison_row(
                (CHOSEN, against), figure, float(values[CHOSEN]), float(values[against]), n
            )


def _diversity_rows(
    record: Record[ProbePlan], other: Record[ProbePlan], against_sets: Sequence[str]
) -> Iterator[Row]:
    """Diversities, which depend on no model, of the chosen set against others, but subsets that a
    model decides.
    """
    evolved_diversity, original_diversity = (
        record.diagnosis["diversity"],
        other.diagnosis["diversity"],
    )
    against = {name: original_diversity[original_diversity["set"] == name] for name in against_sets}
    against[ELITES] = evolved_diversity[evolved_diversity["set"] == ELITES]
    if not _all_of_start(record.tables["choices"], "best_start"):
        against[schemas.BEST_START] = evolved_diversity[
            evolved_diversity["run"] == schemas.BEST_START
        ]
    for name, rows in against.items():
        if len(rows):
            yield from diversities_compared(
                (CHOSEN, name), evolved_diversity[evolved_diversity["set"] == CHOSEN], rows
            )


def _held_out(
    tables: Tables, start: str, attributes: pd.DataFrame, resampling: Resampling
) -> Iterator[Row]:
    """Sets chosen by one half, judged by the other, both ways, words fixed: against the start and
    its best subset; nothing where no half chose a set.
    """
    biases, choices, history = tables["biases"], tables["choices"], tables["history"]
    matrix = matrix_of(biases[biases["run"] == GUIDED])
    is_first = (history["run"] == GUIDED) & (history["generation"] == 0)
    first = history.loc[is_first, "template"]
    halves = ("first", "second")
    chosen = [choices.loc[choices[f"chosen_by_{half}"], "template"] for half in halves]
    if any(slugs.empty for slugs in chosen):  # the set is not chosen by halves
        return
    best = [choices.loc[choices[f"best_start_by_{half}"], "template"] for half in halves]
    numbers_by_figure = {
        quality.ALPHA: pd.Series(0.0, attributes.index),
        quality.R: attributes["criterion"],
    }
    numbers_by_figure[DETECTS] = axis_of(attributes)
    against_sets = {start: [first, first]}
    if not _all_of_start(choices, "best_start_by_first", "best_start_by_second"):
        against_sets[schemas.BEST_START] = best
    for against, sets in against_sets.items():
        for figure, of_attributes in numbers_by_figure.items():
            known_numbers = of_attributes.reindex(matrix.index).dropna()
            known_biases = matrix.loc[known_numbers.index]
            evolved_sides = [known_biases[sorted(slugs)].to_numpy() for slugs in chosen]
            other_sides = [known_biases[sorted(slugs)].to_numpy() for slugs in sets]
            if len(known_numbers):
                second = known_biases.index.isin(split_attributes(matrix.index)[1])
                yield _held_out_row(
                    (CHOSEN, against),
                    figure,
                    [evolved_sides, other_sides],
                    second,
                    known_numbers,
                    resampling.level,
                )


def _held_out_row(
    set_names: Sides,
    figure: str,
    biases: Sequence[Sequence[Floats]],
    second: NDArray[np.bool_],
    known_numbers: "pd.Series[float]",
    level: float,
) -> Row:
    """One figure of the sets that each half chose, on the other half, mean of both; the jackknife
    is over attributes.

    `biases`: for each side, the set that the first half chose and that of the second, attributes x
    templates; `second`: mask of the attributes in the second half; `known_numbers`: value by
    attribute that the figure needs, if any.
    """
    n = len(second)
    smaller_half = min(int(second.sum()), int((~second).sum()))
    has_templates = all(x.size for x in chain.from_iterable(biases))
    if smaller_half < FEWEST_PAIRS or not has_templates:
        return _comparison_row(
            set_names,
            figure,
            None,
            None,
            n,
            reason="a half of the attributes is too few, or may choose no template",
        )

    def statistic(x: Floats, attribute_numbers: Floats) -> float:
        """The figure of one set: r, or, at the common length, the detectable gain or alpha; NaN
        where it is undefined. `x`: [attributes, templates] biases.
        """
        if figure == quality.R:
            return correlation(x.mean(axis=1), attribute_numbers)
        if figure == DETECTS:
            both = np.stack([x, np.zeros_like(x)], axis=2)
            poles = np.array([1, -1], dtype=np.int8)
            scores = Scores(both, attribute_numbers, poles, ["words", "words"])
            common_detects = detectable_at_common_length(scores)
            return math.nan if common_detects is None else common_detects
        return quality.alpha_at_common_length(x) if x.shape[1] > 1 else math.nan

    def of_side(
        side: Sequence[Floats], second: NDArray[np.bool_], attribute_numbers: Floats
    ) -> float:
        """The figure of one side: each half's choice, measured on the other half, and the mean of
        both.
        """
        ways = zip(side, (second, ~second), strict=True)
        figures = [statistic(x[half], attribute_numbers[half]) for x, half in ways]
        return float(np.mean(figures))

    def side_difference(
        a: Floats,
        b: Floats,
        c: Floats,
        d: Floats,
        second: NDArray[np.bool_],
        attribute_numbers: Floats,
    ) -> float:
        """The figure of the evolved side (sets `a`, `b`) less that of the other side (`c`, `d`)."""
        evolved = of_side((a, b), second, attribute_numbers)
        other = of_side((c, d), second, attribute_numbers)
        return evolved - other

    numbers: Floats = np.asarray(known_numbers, dtype=np.float64)
    evolved_value, other_value = (finite_or_none(of_side(side, second, numbers)) for side in biases)
    if evolved_value is None or other_value is None:
        return _comparison_row(set_names, figure, evolved_value, other_value, n, reason=UNDEFINED)
    interval = jackknife(side_difference, *biases[0], *biases[1], second, numbers, level=level)
    return _comparison_row(
        set_names,
        figure,
        evolved_value,
        other_value,
        n,
        low=finite_or_none(interval.low),
        high=finite_or_none(interval.high),
    )

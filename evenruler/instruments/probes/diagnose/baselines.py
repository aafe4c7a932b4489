"""What evolved beside what costs no evolution: less of the start, elites, any words; and held-out halves."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenruler.instruments.instrument import Record, Tables
from evenruler.instruments.probes.declare import halves
from evenruler.instruments.probes.diagnose import figuring
from evenruler.instruments.probes.diagnose.comparing import (
    AT_COMMON_LENGTH,
    Comparison,
    Pair,
    compared,
    correlation,
    diversities_compared,
)
from evenruler.instruments.probes.diagnose.evolved import matrix_of
from evenruler.instruments.probes.schemas import (
    BEST_START,
    CHOSEN,
    COMPARISONS,
    ELITES,
    GUIDED,
    HELD_OUT,
    POPULATION,
    RANDOM,
    UNREVERSED,
)
from evenruler.measurement import Resampling
from evenruler.measurement.figures import FEWEST_PAIRS, finite
from evenruler.measurement.resampling import jackknife
from evenruler.measurement.shifts import LEVEL, REORDERING

Matrix = NDArray[np.float64]
Row = dict[str, Any]

EVOLVED = (CHOSEN, ELITES, POPULATION)


def baselines(record: Record, other: Record, records: Sequence[Record], resampling: Resampling) -> pd.DataFrame:
    """Every set that evolved against what can be had without evolution, on every model that was asked both.

    The chosen set is also held against each set of the domain, the paper's elites and, where it ran, the last
    population of the random run. `UNREVERSED` is the start without the templates whose correlation with the rest has
    an interval below 0 on that model. `BEST_START` was chosen as the chosen set was, of the start alone. Rows of
    `HELD_OUT` are of sets that one half of the attributes chose, judged by the other, mean of both ways; the model is
    the one that the templates evolved on.

    Args:
        record: Of what evolved, on any model.
        other: Of what it evolved of, on any model.
        records: Every instrument on every model.
        resampling: Of the intervals.

    Returns:
        By `schemas.COMPARISONS`. Semantic diversity is by the embedder that evolution used.
    """
    name, plan = record.instrument, record.plan["evolved"]
    own, of = ({one.subject.name: one.found for one in records if one.instrument == which} for which in
               (name, other.instrument))  # fmt: skip
    criterion = record.tables["attributes"].set_index("attribute")["criterion"]
    rows: list[Row] = []
    for model in sorted(model for model in own.keys() & of.keys() if "biases" in own[model] and "biases" in of[model]):
        pairs = _pairs(own[model]["biases"], of[model], plan["start"], record.tables["choices"])
        key = {"model": model, "transfer": model != plan["model"], "half": None}
        rows += [
            {**key, "set": pair.set, "against": pair.against, **asdict(row)}
            for pair in pairs
            for row in compared(pair, criterion, resampling)
        ]
        rows += [{**key, **row} for row in _moved(own[model]["figures"], of[model]["figures"])]
    rows += _diverse(record, other, plan["start"], plan["model"])
    key = {"model": plan["model"], "transfer": False, "set": CHOSEN}
    rows += [{**key, **row} for row in _against_random(record.tables, criterion, resampling)]
    rows += [{**key, "half": HELD_OUT, **row} for row in _held_out(record.tables, plan["start"], criterion, resampling)]
    return pd.DataFrame([{"benchmark": name, **row} for row in rows], columns=COMPARISONS.names)


def _pairs(own: pd.DataFrame, of: Tables, start: str, choices: pd.DataFrame) -> Iterator[Pair]:
    """On one model, all but what `evolved.comparisons` has."""
    sets = {str(name): matrix_of(rows) for name, rows in of["biases"].groupby("set", sort=True)}
    evolved = {name: matrix_of(own[own["set"] == name]) for name in EVOLVED}
    items = of["items"]
    reversed_ = items[(items["set"] == start) & ~items["control"] & (items["high"] < 0)]["template"]
    first = sets[start]
    less = {
        UNREVERSED: first.drop(columns=list(reversed_)),
        BEST_START: first[sorted(choices.loc[choices["best_start"], "template"])],
    }
    for name, matrix in evolved.items():
        yield from (Pair(name, against, matrix, other) for against, other in less.items())
    for against, other in {**sets, ELITES: evolved[ELITES]}.items():
        yield Pair(CHOSEN, against, evolved[CHOSEN], other)


def _moved(own: pd.DataFrame, of: pd.DataFrame) -> Iterator[Row]:
    """On one model, how far prefixes move the chosen set beside how far they move others; without an interval."""
    known = pd.concat([own[own["part"].isin(EVOLVED)], of])
    for figure in (LEVEL, REORDERING):
        of_sets = known[known["figure"] == figure].set_index("part")
        values = of_sets["value"].dropna()
        for against in values.index if CHOSEN in values else ():
            if against in (CHOSEN, POPULATION):
                continue
            value, other = float(values[CHOSEN]), float(values[against])
            row = Comparison(figure, value, other, int(of_sets["n"][CHOSEN]), figuring.UNIT, value - other)
            yield {"set": CHOSEN, "against": against, **asdict(row)}


def _diverse(record: Record, other: Record, start: str, model: str) -> Iterator[Row]:
    """Diversities, which depend on no model, of the chosen set against others; not of subsets that a model decides."""
    own, theirs = record.found["diversity"], other.found["diversity"]
    chosen = own[own["set"] == CHOSEN]
    against = {str(name): rows for name, rows in theirs.groupby("set", sort=True)}
    against |= {ELITES: own[own["set"] == ELITES], BEST_START: own[own["run"] == BEST_START]}
    key = {"model": model, "transfer": False, "half": None, "set": CHOSEN}
    for name, rows in against.items():
        if len(rows):
            yield from ({**key, "against": name, **asdict(row)} for row in diversities_compared(chosen, rows))


def _against_random(tables: Tables, criterion: "pd.Series[float]", resampling: Resampling) -> Iterator[Row]:
    """The chosen set against the last population of the random run, on the model that both evolved on."""
    history, biases, choices = tables["history"], tables["biases"], tables["choices"]
    other = history[history["run"] == RANDOM]
    if other.empty:
        return
    last = set(other.loc[other["generation"] == other["generation"].max(), "template"])
    matrices = [
        matrix_of(biases[(biases["run"] == run) & biases["template"].isin(slugs)])
        for run, slugs in ((GUIDED, set(choices.loc[choices["chosen"], "template"])), (RANDOM, last))
    ]
    for row in compared(Pair(CHOSEN, RANDOM, *matrices), criterion, resampling):
        yield {"half": None, "against": RANDOM, **asdict(row)}


def _held_out(tables: Tables, start: str, criterion: "pd.Series[float]", resampling: Resampling) -> Iterator[Row]:
    """What one half chose, judged by the other, both ways: against the best of the start, and against all of it."""
    biases, choices, history = tables["biases"], tables["choices"], tables["history"]
    matrix = matrix_of(biases[biases["run"] == GUIDED])
    first = history[(history["run"] == GUIDED) & (history["generation"] == 0)]["template"]
    chosen, best = (
        [choices.loc[choices[f"{name}_by_{half}"], "template"] for half in ("first", "second")]
        for name in ("chosen", "best_start")
    )
    known = criterion.reindex(matrix.index)
    for against, sets in {BEST_START: best, start: [first, first]}.items():
        for figure in (AT_COMMON_LENGTH, "r") if known.notna().any() else (AT_COMMON_LENGTH,):
            own = matrix[known.notna()] if figure == "r" else matrix
            columns = [[own[sorted(slugs)].to_numpy() for slugs in side] for side in (chosen, sets)]
            judged = own.index.isin(halves(matrix.index)[1])
            yield {"against": against, **asdict(_judged(figure, columns, judged, known[own.index], resampling))}


def _judged(
    figure: str,
    biases: Sequence[Sequence[Matrix]],
    second: NDArray[np.bool_],
    known: "pd.Series[float]",
    resampling: Resampling,
) -> Comparison:
    """One figure of what each half chose, by the other half, mean of both ways; the interval leaves out attributes.

    Args:
        figure: Which.
        biases: Of one side and the other: what the first half chose and what the second did, attributes x templates.
        second: Which attributes are of the second half.
        known: The criterion by attribute.
        resampling: Of the interval.
    """
    n = len(second)
    if min(int(second.sum()), int((~second).sum())) < FEWEST_PAIRS or not all(x.size for side in biases for x in side):
        reason = "a half of the attributes is too few, or may choose no template"
        return Comparison(figure, None, None, n, figuring.UNIT, reason=reason)

    def of_side(side: Sequence[Matrix], second: NDArray[np.bool_], known: Matrix) -> float:
        ways = zip(side, (second, ~second), strict=True)
        return float(np.mean([_statistic(figure, x[half], known[half]) for x, half in ways]))

    def apart(a: Matrix, b: Matrix, c: Matrix, d: Matrix, second: NDArray[np.bool_], known: Matrix) -> float:
        return of_side((a, b), second, known) - of_side((c, d), second, known)

    numbers: Matrix = np.asarray(known, dtype=np.float64)
    one, other = (finite(of_side(side, second, numbers)) for side in biases)
    if one is None or other is None:
        return Comparison(figure, one, other, n, figuring.UNIT, reason="undefined for these values")
    found = jackknife(apart, *biases[0], *biases[1], second, numbers, level=resampling.level)
    return Comparison(figure, one, other, n, figuring.UNIT, one - other, finite(found.low), finite(found.high))


def _statistic(figure: str, x: Matrix, known: Matrix) -> float:
    if figure == "r":
        return correlation(np.column_stack([x.mean(axis=1), known]))
    return figuring.alpha_at_common_length(x) if x.shape[1] > 1 else math.nan

"""What an evolution achieved: figures by generation, evolved sets against others, and what became of replies.

The figures are those of any set of templates (`quality`). An evolved set was chosen for its figures on the model that
it evolved on, so they flatter it there; what it is worth shows on other models (`transfer`), and beside what costs no
evolution: less of the start, elites, any words; and held-out halves.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenruler.instruments.instrument import Record, Tables
from evenruler.instruments.probes.declare import halves
from evenruler.instruments.probes.diagnose import quality
from evenruler.instruments.probes.schemas import (
    BEST_START,
    CHOSEN,
    COMPARISONS,
    ELITES,
    GENERATIONS,
    GUIDED,
    HELD_OUT,
    POPULATION,
    RANDOM,
    REWORDINGS,
    UNREVERSED,
)
from evenruler.measurement import Resampling
from evenruler.measurement.checks import Floats, correlation
from evenruler.measurement.figures import finite
from evenruler.measurement.resampling import FEWEST_UNITS, jackknife
from evenruler.measurement.shifts import LEVEL, REORDERING
from evenruler.measurement.validity import FEWEST_PAIRS

Row = dict[str, Any]
Address = tuple[str, str]
"""Benchmark and set."""

AT_COMMON_LENGTH = f"alpha_at_{quality.COMMON_LENGTH}"

STATISTICS: Mapping[str, Callable[[Floats], float]] = {
    name: quality.RELIABILITY[name][0]
    for name in ("alpha", AT_COMMON_LENGTH, "inter_item_correlation", "first_component_share")
}
"""What is told of attributes x templates."""

OF_LENGTH = ("alpha", "first_component_share")
"""Those that change with the number of templates alone: no difference is taken between sets of different length."""


@dataclass(frozen=True)
class Comparison:
    """A row of `schemas.COMPARISONS`, less what it is of."""

    figure: str
    value: float | None
    other: float | None
    n: int
    unit: str
    difference: float | None = None
    """Value minus other."""
    low: float | None = None
    high: float | None = None
    reason: str | None = None
    """Why anything is null that a figure of this name could have."""


@dataclass(frozen=True, eq=False)
class Pair:
    """Two sets on one model: attributes x templates, bias in nats."""

    set: str
    against: str
    one: pd.DataFrame
    other: pd.DataFrame


def compared(pair: Pair, criterion: "pd.Series[float] | None", resampling: Resampling) -> Iterator[Comparison]:
    """All that rests on biases, over the attributes that both sets share; without a criterion there is no `r`.

    Each interval of a difference (jackknife) leaves the same attribute out of both sets.
    """
    shared = pair.one.index.intersection(pair.other.index).sort_values()
    both = [matrix.loc[shared] for matrix in (pair.one, pair.other)]
    x, y = (matrix.to_numpy() for matrix in both)
    why = [quality.why_no_reliability(matrix) for matrix in (x, y)]
    apart = f"{x.shape[1]} templates against {y.shape[1]}" if x.shape[1] != y.shape[1] else None
    for figure, statistic in STATISTICS.items():
        of_length = apart if figure in OF_LENGTH else None
        yield _of_both(pair, figure, statistic, (x, y), why, resampling.level, of_length)
    if criterion is not None and criterion.notna().any():
        known = criterion.reindex(shared).dropna()
        x, y = (np.column_stack([matrix.loc[known.index].mean(axis=1), known]) for matrix in both)
        few = f"fewer than {FEWEST_PAIRS} {quality.UNIT} to correlate" if len(known) < FEWEST_PAIRS else None
        yield _of_both(pair, "r", lambda both: correlation(*both.T), (x, y), [few, few], resampling.level)


def _of_both(
    pair: Pair,
    figure: str,
    statistic: Callable[[Floats], float],
    matrices: tuple[Floats, Floats],
    why: Sequence[str | None],
    level: float,
    apart: str | None = None,
) -> Comparison:
    """A figure of each set, and the difference if both have it, with its interval.

    `why` says, for each, why it has none; `apart`, why there is no difference.
    """
    values = [None if reason else finite(float(statistic(x))) for x, reason in zip(matrices, why, strict=True)]
    undefined = "undefined for these values"
    reasons = [
        f"{name}: {reason or undefined}"
        for name, value, reason in zip((pair.set, pair.against), values, why, strict=True)
        if value is None
    ]
    row = _row(figure, values[0], values[1], len(matrices[0]), quality.UNIT, "; ".join(reasons) or None)
    if row.difference is None:
        return row
    if apart:
        return replace(row, difference=None, reason=apart)
    if row.n < FEWEST_UNITS:
        return replace(row, reason=f"no interval: fewer than {FEWEST_UNITS} {row.unit}")
    interval = jackknife(lambda x, y: statistic(x) - statistic(y), *matrices, level=level)
    low, high = finite(interval.low), finite(interval.high)
    return replace(row, low=low, high=high, reason=None if low is not None else "no interval: undefined without one")


def _row(figure: str, value: float | None, other: float | None, n: int, unit: str, reason: str | None) -> Comparison:
    difference = None if value is None or other is None else value - other
    return Comparison(figure, value, other, n, unit, difference, reason=reason)


def diversities_compared(templates: pd.DataFrame, other: pd.DataFrame) -> Iterator[Comparison]:
    """Diversity of both sets, given that of their templates; n counts the templates of the first."""
    both = zip(quality.mean_diversities(templates), quality.mean_diversities(other), strict=True)
    for one, against in both:
        yield _row(one.figure, one.value, against.value, one.n, one.unit, one.reason or against.reason)


def by_generation(
    history: pd.DataFrame,
    biases: pd.DataFrame,
    diversity: pd.DataFrame,
    benchmark: str,
    model: str,
    resampling: Resampling,
) -> pd.DataFrame:
    """Reliability and diversity of the whole population, generation by generation.

    Args:
        history: By `schemas.HISTORY`.
        biases: By `schemas.OWN_BIASES`.
        diversity: By `schemas.DIVERSITY`, of generations.
        benchmark: Whose evolution it is.
        model: That it evolved on.
        resampling: Of the intervals, which are over attributes.

    Returns:
        By `schemas.GENERATIONS`: `STATISTICS` and both diversities (mean over templates; 0 is all alike).
        A diversity has no interval.

    Raises:
        ValueError: A template of the history lacks a bias.
    """
    rows = []
    for (run, generation), population in history.groupby(["run", "generation"], sort=True):
        x = _of_population(population, biases).to_numpy()
        found = {figure.figure: figure for figure in quality.reliability(x, resampling)}
        of_it = diversity[(diversity["run"] == run) & (diversity["generation"] == generation)]
        told = [*(found[name] for name in STATISTICS), *quality.mean_diversities(of_it)]
        key = {"benchmark": benchmark, "run": run, "generation": generation, "model": model}
        rows += [{**key, **asdict(figure)} for figure in told]
    return pd.DataFrame(rows, columns=GENERATIONS.names)


def _told(found: Iterable[Comparison], **of: object) -> list[Row]:
    return [{"half": None, **of, **asdict(row)} for row in found]


def comparisons(
    biases: pd.DataFrame,
    diversity: pd.DataFrame,
    evolved_on: str,
    pairs: Sequence[tuple[Address, Address]],
    resampling: Resampling,
    criterion: "pd.Series[float] | None" = None,
) -> pd.DataFrame:
    """Evolved sets against others, on every model.

    Values of both sets are over the attributes that both share, and an interval draws the same attributes for both.
    Of sets of different length, `OF_LENGTH` stands side by side without a difference.

    Args:
        biases: By `schemas.BIASES`, of all models.
        diversity: By `schemas.DIVERSITY`, of sets.
        evolved_on: The model whose answers chose the templates.
        pairs: An evolved set, and the one that it is held against.
        resampling: Of the intervals.
        criterion: The published number of each attribute, null where there is none. Without any there is no `r`
            (external validity: Pearson correlation of the mean bias with it).

    Returns:
        By `schemas.COMPARISONS`; `difference` is the evolved set's value minus the other's. Diversity depends on no
        model and stands once, with the one that the set evolved on; its n counts the evolved set's templates.

    Raises:
        ValueError: A model has no bias of a set, or a set has no templates.
    """

    def rows_of(frame: pd.DataFrame, address: Address, lacking: str) -> pd.DataFrame:
        own = frame[(frame["benchmark"] == address[0]) & (frame["set"] == address[1])]
        if own.empty:
            raise ValueError(f"{lacking} of set {address[1]} of {address[0]}")
        return own

    rows: list[Row] = []
    for pair in pairs:
        (benchmark, set_name), (_, against) = pair
        key = {"benchmark": benchmark, "set": set_name, "against": against}
        for model, of_model in biases.groupby("model", sort=True):
            one, other = (matrix_of(rows_of(of_model, address, f"{model}: no biases")) for address in pair)
            found = compared(Pair(set_name, against, one, other), criterion, resampling)
            rows += _told(found, **key, model=model, transfer=model != evolved_on)
        found = diversities_compared(*(rows_of(diversity, address, "no templates") for address in pair))
        rows += _told(found, **key, model=evolved_on, transfer=False)
    return pd.DataFrame(rows, columns=COMPARISONS.names)


def guidance(
    history: pd.DataFrame,
    biases: pd.DataFrame,
    diversity: pd.DataFrame,
    benchmark: str,
    model: str,
    resampling: Resampling,
) -> pd.DataFrame:
    """What replacing hotspots brings: the last population of the guided run against that of the random one.

    It is one run of each: intervals are over attributes and say nothing about the luck of a run. Arguments and errors
    as of `by_generation`.

    Returns:
        By `schemas.COMPARISONS`, the set `population` against `random`; empty unless both ran. Fitness is relative to
        a population, so it is not compared.
    """
    rows = []
    if {GUIDED, RANDOM} <= set(history["run"]):
        one, other = (_of_population(_last_of(history, run), biases) for run in (GUIDED, RANDOM))
        found = [
            *compared(Pair(POPULATION, RANDOM, one, other), None, resampling),
            *diversities_compared(*(_last_of(diversity, run) for run in (GUIDED, RANDOM))),
        ]
        rows = _told(found, benchmark=benchmark, set=POPULATION, against=RANDOM, model=model, transfer=False)
    return pd.DataFrame(rows, columns=COMPARISONS.names)


def _last_of(rows: pd.DataFrame, run: str) -> pd.DataFrame:
    """The last generation of a run."""
    own = rows[rows["run"] == run]
    found: pd.DataFrame = own[own["generation"] == own["generation"].max()]
    return found


def rewordings(tries: pd.DataFrame, benchmark: str) -> pd.DataFrame:
    """What became of the replies to each kind of wish.

    Returns:
        By `schemas.REWORDINGS`: one row a reason with the number of replies that it turned down and their share of that
        kind's replies. Those that were taken stand first, without a reason, also where there are none. The n of a kind
        add up to its replies.
    """
    kind = ["run", "operator", "operation", "voice"]
    taken = tries.groupby(kind, dropna=False, as_index=False).agg(n=("accepted", "sum"), replies=("accepted", "size"))
    refused = tries[~tries["accepted"]].groupby([*kind, "reason"], dropna=False).size().reset_index(name="n")
    refused = refused.merge(taken[[*kind, "replies"]], on=kind).assign(rank=1)
    rows = pd.concat([taken.assign(reason=None, rank=0), refused], ignore_index=True)
    order = {**dict.fromkeys(kind, True), "rank": True, "n": False, "reason": True}
    rows = rows.sort_values(list(order), ascending=list(order.values()), ignore_index=True)
    found: pd.DataFrame = rows.assign(share=rows["n"] / rows["replies"], benchmark=benchmark)[REWORDINGS.names]
    return found


def matrix_of(biases: pd.DataFrame) -> pd.DataFrame:
    """Attributes x templates, both in order of their slugs; an attribute that lacks a bias is left out."""
    return biases.pivot(index="attribute", columns="template", values="bias").dropna()


def _of_population(population: pd.DataFrame, biases: pd.DataFrame) -> pd.DataFrame:
    """Attributes x templates of one run and generation, all of them."""
    run, templates = population["run"].iloc[0], sorted(population["template"])
    own = biases[(biases["run"] == run) & biases["template"].isin(templates)]
    matrix: pd.DataFrame = own.pivot(index="attribute", columns="template", values="bias").reindex(columns=templates)
    if matrix.empty or matrix.isna().to_numpy().any():
        raise ValueError(f"run {run}, generation {population['generation'].iloc[0]}: a template lacks a bias")
    return matrix


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
    own, of = (
        {one.subject.name: one.found for one in records if one.instrument == which}
        for which in (name, other.instrument)
    )
    criterion = record.tables["attributes"].set_index("attribute")["criterion"]
    rows: list[Row] = []
    for model in sorted(model for model in own.keys() & of.keys() if "biases" in own[model] and "biases" in of[model]):
        pairs = _pairs(own[model]["biases"], of[model], plan["start"], record.tables["choices"])
        here = {"model": model, "transfer": model != plan["model"]}
        for pair in pairs:
            rows += _told(compared(pair, criterion, resampling), **here, set=pair.set, against=pair.against)
        for against, row in _moved(own[model]["figures"], of[model]["figures"]):
            rows += _told([row], **here, set=CHOSEN, against=against)
    here = {"model": plan["model"], "transfer": False, "set": CHOSEN}
    for against, one, beside in _diverse(record.found["diversity"], other.found["diversity"]):
        rows += _told(diversities_compared(one, beside), **here, against=against)
    rows += _told(_against_random(record.tables, criterion, resampling), **here, against=RANDOM)
    for against, row in _held_out(record.tables, plan["start"], criterion, resampling):
        rows += _told([row], **here, half=HELD_OUT, against=against)
    return pd.DataFrame([{"benchmark": name, **row} for row in rows], columns=COMPARISONS.names)


def _pairs(own: pd.DataFrame, of: Tables, start: str, choices: pd.DataFrame) -> Iterator[Pair]:
    """On one model, all but what `comparisons` has."""
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


def _moved(own: pd.DataFrame, of: pd.DataFrame) -> Iterator[tuple[str, Comparison]]:
    """On one model, how far prefixes move the chosen set beside how far they move others; without an interval."""
    known = pd.concat([own[own["part"].isin(EVOLVED)], of])
    for figure in (LEVEL, REORDERING):
        of_sets = known[known["figure"] == figure].set_index("part")
        values = of_sets["value"].dropna()
        for against in values.index.difference([CHOSEN, POPULATION], sort=False) if CHOSEN in values else ():
            n = int(of_sets["n"][CHOSEN])
            yield against, _row(figure, float(values[CHOSEN]), float(values[against]), n, quality.UNIT, None)


def _diverse(own: pd.DataFrame, of: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame, pd.DataFrame]]:
    """Diversities, which depend on no model, of the chosen set and others; not of subsets that a model decides."""
    against = {str(name): rows for name, rows in of.groupby("set", sort=True)}
    against |= {ELITES: own[own["set"] == ELITES], BEST_START: own[own["run"] == BEST_START]}
    yield from ((name, own[own["set"] == CHOSEN], rows) for name, rows in against.items() if len(rows))


def _against_random(tables: Tables, criterion: "pd.Series[float]", resampling: Resampling) -> Iterable[Comparison]:
    """The chosen set against the last population of the random run, on the model that both evolved on."""
    biases, choices, last = tables["biases"], tables["choices"], _last_of(tables["history"], RANDOM)
    if last.empty:
        return ()
    matrices = [
        matrix_of(biases[(biases["run"] == run) & biases["template"].isin(set(slugs))])
        for run, slugs in ((GUIDED, choices.loc[choices["chosen"], "template"]), (RANDOM, last["template"]))
    ]
    return compared(Pair(CHOSEN, RANDOM, *matrices), criterion, resampling)


def _held_out(
    tables: Tables, start: str, criterion: "pd.Series[float]", resampling: Resampling
) -> Iterator[tuple[str, Comparison]]:
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
            yield against, _judged(figure, columns, judged, known[own.index], resampling)


def _judged(
    figure: str,
    biases: Sequence[Sequence[Floats]],
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
        return Comparison(figure, None, None, n, quality.UNIT, reason=reason)

    def statistic(x: Floats, known: Floats) -> float:
        if figure == "r":
            return correlation(x.mean(axis=1), known)
        return quality.alpha_at_common_length(x) if x.shape[1] > 1 else math.nan

    def of_side(side: Sequence[Floats], second: NDArray[np.bool_], known: Floats) -> float:
        ways = zip(side, (second, ~second), strict=True)
        return float(np.mean([statistic(x[half], known[half]) for x, half in ways]))

    def apart(a: Floats, b: Floats, c: Floats, d: Floats, second: NDArray[np.bool_], known: Floats) -> float:
        return of_side((a, b), second, known) - of_side((c, d), second, known)

    numbers: Floats = np.asarray(known, dtype=np.float64)
    one, other = (finite(of_side(side, second, numbers)) for side in biases)
    row = _row(figure, one, other, n, quality.UNIT, None)
    if row.difference is None:
        return replace(row, reason="undefined for these values")
    found = jackknife(apart, *biases[0], *biases[1], second, numbers, level=resampling.level)
    return replace(row, low=finite(found.low), high=finite(found.high))

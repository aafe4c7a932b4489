"""What an evolution achieved: figures by generation, evolved sets against others, and what became of replies.

The figures are those of any set of templates (`figuring`). An evolved set was chosen for its figures on the model that
it evolved on, so they flatter it there; what it is worth shows on other models (`transfer`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import pandas as pd

from evenruler.instruments.probes.diagnose import figuring
from evenruler.instruments.probes.diagnose.comparing import STATISTICS, Pair, compared, diversities_compared
from evenruler.instruments.probes.schemas import (
    COMPARISONS,
    GENERATIONS,
    GUIDED,
    POPULATION,
    RANDOM,
    REWORDINGS,
)
from evenruler.measurement import Resampling, records

Address = tuple[str, str]
"""Benchmark and set."""


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
        By `schemas.GENERATIONS`: `comparing.STATISTICS` and both diversities (mean over templates; 0 is all alike).
        Neither omega nor a diversity has an interval.

    Raises:
        ValueError: A template of the history lacks a bias.
    """
    rows = []
    for (run, generation), population in history.groupby(["run", "generation"], sort=True):
        x = _of_population(population, biases).to_numpy()
        found = {figure.figure: figure for figure in figuring.reliability(x, resampling)}
        of_it = diversity[(diversity["run"] == run) & (diversity["generation"] == generation)]
        told = [*(found[name] for name in STATISTICS), *figuring.mean_diversities(of_it)]
        key = {"benchmark": benchmark, "run": run, "generation": generation, "model": model}
        rows += [{**key, **asdict(figure)} for figure in told]
    return pd.DataFrame(rows, columns=GENERATIONS.names)


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
    Of sets of different length, `comparing.OF_LENGTH` stands side by side without a difference.

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
    rows: list[dict[str, Any]] = []
    for (benchmark, set_name), (of_other, against) in pairs:
        key = {"benchmark": benchmark, "set": set_name, "against": against, "half": None}
        addresses = ((benchmark, set_name), (of_other, against))
        for model, of_model in biases.groupby("model", sort=True):
            one, other = (matrix_of(_rows_of(of_model, address, f"{model}: no biases")) for address in addresses)
            found = compared(Pair(set_name, against, one, other), criterion, resampling)
            rows += [{**key, "model": model, "transfer": model != evolved_on, **asdict(row)} for row in found]
        found = diversities_compared(*(_rows_of(diversity, address, "no templates") for address in addresses))
        rows += [{**key, "model": evolved_on, "transfer": False, **asdict(row)} for row in found]
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

    It is one run of each: intervals are over attributes and say nothing about the luck of a run.

    Args:
        history: By `schemas.HISTORY`.
        biases: By `schemas.OWN_BIASES`.
        diversity: By `schemas.DIVERSITY`, of generations.
        benchmark: Whose evolution it is.
        model: That it evolved on.
        resampling: Of the intervals.

    Returns:
        By `schemas.COMPARISONS`, the set `population` against `random`; empty unless both ran. Fitness is relative to
        a population, so it is not compared.

    Raises:
        ValueError: A template of the history lacks a bias.
    """
    last = {run: rows[rows["generation"] == rows["generation"].max()] for run, rows in history.groupby("run")}
    if not {GUIDED, RANDOM} <= last.keys():
        return pd.DataFrame(columns=COMPARISONS.names)
    one, other = (_of_population(last[run], biases) for run in (GUIDED, RANDOM))
    found = [
        *compared(Pair(POPULATION, RANDOM, one, other), None, resampling),
        *diversities_compared(*(_of_last(diversity, run) for run in (GUIDED, RANDOM))),
    ]
    key = {
        "benchmark": benchmark,
        "set": POPULATION,
        "against": RANDOM,
        "model": model,
        "transfer": False,
        "half": None,
    }
    return pd.DataFrame([{**key, **asdict(row)} for row in found], columns=COMPARISONS.names)


def _of_last(diversity: pd.DataFrame, run: str) -> pd.DataFrame:
    """Of the last generation of a run."""
    own = diversity[diversity["run"] == run]
    found: pd.DataFrame = own[own["generation"] == own["generation"].max()]
    return found


def rewordings(tries: pd.DataFrame, benchmark: str) -> pd.DataFrame:
    """What became of the replies to each kind of wish.

    Args:
        tries: By `schemas.TRIES`.
        benchmark: Whose evolution it is.

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


def _rows_of(frame: pd.DataFrame, address: Address, lacking: str) -> pd.DataFrame:
    benchmark, set_name = address
    rows = frame[(frame["benchmark"] == benchmark) & (frame["set"] == set_name)]
    if rows.empty:
        raise ValueError(f"{lacking} of set {set_name} of {benchmark}")
    return rows


def matrix_of(biases: pd.DataFrame) -> pd.DataFrame:
    """Attributes x templates, both in order of their slugs; an attribute that lacks a bias is left out."""
    return _pivoted(biases).dropna()


def _of_population(population: pd.DataFrame, biases: pd.DataFrame) -> pd.DataFrame:
    """Attributes x templates of one run and generation, all of them."""
    run, templates = population["run"].iloc[0], sorted(population["template"])
    own = biases[(biases["run"] == run) & biases["template"].isin(templates)]
    matrix = _pivoted(own).reindex(columns=templates)
    if matrix.empty or matrix.isna().to_numpy().any():
        raise ValueError(f"run {run}, generation {population['generation'].iloc[0]}: a template lacks a bias")
    return matrix


def _pivoted(biases: pd.DataFrame) -> pd.DataFrame:
    matrix: pd.DataFrame = biases.pivot(index="attribute", columns="template", values="bias")
    return matrix


def with_comparisons(metrics: dict[str, Any], comparisons: pd.DataFrame) -> dict[str, Any]:
    """The metrics with, for each evolved set and model, what it is beside others, under `compared`.

    Args:
        metrics: By benchmark, set and model; changed in place.
        comparisons: By `schemas.COMPARISONS`. What halves of the attributes judged stands by itself.
    """
    for row in comparisons.to_dict("records"):
        against = f"{row['against']} ({row['half']})" if isinstance(row["half"], str) else row["against"]
        of_set = metrics.setdefault(row["benchmark"], {}).setdefault(row["set"], {})
        compared = of_set.setdefault(row["model"], {}).setdefault("compared", {})
        compared.setdefault(against, {})[row["figure"]] = _record(row)
    return metrics


def with_generations(metrics: dict[str, Any], generations: pd.DataFrame) -> dict[str, Any]:
    """The metrics with, for the last population on the model that it evolved on, how it came to be, `generations`.

    Args:
        metrics: By benchmark, set and model; changed in place.
        generations: By `schemas.GENERATIONS`.
    """
    if generations.empty:  # nothing evolved
        return metrics
    for key, rows in generations.groupby(["benchmark", "model", "run", "generation"], sort=True):
        benchmark, model, run, generation = map(str, key)
        of_model = metrics.setdefault(benchmark, {}).setdefault(POPULATION, {}).setdefault(model, {})
        told = {str(record.pop("figure")): record for record in records(rows)}
        of_model.setdefault("generations", {}).setdefault(run, {})[generation] = told
    return metrics


def _record(row: Mapping[Any, Any]) -> dict[str, Any]:
    numbers = {name: float(row[name]) for name in ("value", "other", "difference", "low", "high") if _given(row[name])}
    said = {"reason": row["reason"]} if _given(row["reason"]) else {}
    return {**numbers, "n": int(row["n"]), "unit": row["unit"], "transfer": bool(row["transfer"]), **said}


def _given(value: Any) -> bool:
    return not pd.isna(value)

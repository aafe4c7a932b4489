"""How models associate, how well each set of templates measures it, and what evolution achieved."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from evenruler.instruments.instrument import Plan, Record, Subject, Tables
from evenruler.instruments.probes import schemas
from evenruler.instruments.probes.ask import READS, after_prefixes
from evenruler.instruments.probes.diagnose import evolution, quality
from evenruler.instruments.probes.diagnose.confirmatory import SLOPE, SPREAD, R
from evenruler.instruments.probes.diagnose.sets import diagnose
from evenruler.measurement import Resampling, as_metrics
from evenruler.measurement import records as as_records
from evenruler.tables import rows_of, stacked
from evenruler.tables.schemas import UNITS

__all__ = ["TABLES", "across", "evidence", "figures", "plots", "units"]

TABLES = {
    "associations": schemas.ASSOCIATIONS,
    "biases": schemas.BIASES,
    "comparisons": schemas.COMPARISONS,
    "correlations": schemas.CORRELATIONS,
    "curve": schemas.CURVE,
    "diversity": schemas.DIVERSITY,
    "figures": schemas.FIGURES,
    "generations": schemas.GENERATIONS,
    "items": schemas.ITEMS,
    "rewordings": schemas.REWORDINGS,
    "shifts": schemas.SHIFTS,
    "variances": schemas.VARIANCES,
}
"""`comparisons`, `generations` and `rewordings` are of what evolved."""

ITEM_STATISTICS = (
    *("mean", "sd", "item_rest_correlation", "low", "high", "alpha_if_removed"),
    *(schemas.SEMANTIC, schemas.LEXICAL),
)
"""What cards show of every template."""

COMPARED = ("value", "other", "difference", "low", "high")
"""What cards show of every comparison, where there is one."""

Found = dict[str, pd.DataFrame]


def figures(name: str, tables: Tables, plan: Plan, scores: Tables, subject: Subject, resampling: Resampling) -> Found:
    """What one model associates, and how well every set of templates of one instrument measures it.

    Args:
        name: Of the instrument.
        tables: The published rows.
        plan: Of the instrument.
        scores: By `ask.scores`.
        subject: The model.
        resampling: How intervals are computed.

    Returns:
        By `TABLES`: `diversity`; and where the model says how likely sentences are `associations`, `biases`,
        `correlations`, `curve`, `figures`, `items`, `shifts`, `variances`.

    Raises:
        ValueError: The model lacks the score of a sentence.
        UserError: No attribute has all its sentences in a set.
    """
    diversity = scores["diversity"].assign(benchmark=name)[schemas.DIVERSITY.names]
    found = diagnose(
        tables["probes"].assign(benchmark=name),
        tables["attributes"],
        scores["scores"],
        after_prefixes(tables["probes"], plan).assign(benchmark=name),
        plan,
        resampling,
    )
    if not found:
        return {"diversity": diversity}
    of_template = diversity[diversity["set"].notna()][["set", "template", schemas.SEMANTIC, schemas.LEXICAL]]
    items = found["items"].merge(of_template, on=["set", "template"], how="left", validate="m:1")
    return {**found, "diversity": diversity, "figures": _of_parts(found["figures"]), "items": items}


def _of_parts(figures: pd.DataFrame) -> pd.DataFrame:
    return figures.rename(columns={"set": "part"}).reindex(columns=schemas.FIGURES.names)


def across(records: Sequence[Record], resampling: Resampling) -> Found:
    """What depends on no model, and what evolved against what it evolved of, on every model that was asked both.

    Args:
        records: Every instrument on every model.
        resampling: How intervals are computed.

    Returns:
        By `TABLES`: `comparisons`, `figures`, `generations`, `rewordings`; those of nothing are left out.
    """
    firsts = {record.instrument: record for record in reversed(records)}
    found: dict[str, list[pd.DataFrame]] = {}
    for name in sorted(firsts):
        for table, rows in _of_instrument(firsts[name], firsts, records, resampling):
            if len(rows):
                found.setdefault(table, []).append(rows)
    return {table: pd.concat(rows, ignore_index=True) for table, rows in found.items()}


def _of_instrument(
    record: Record, firsts: Mapping[str, Record], records: Sequence[Record], resampling: Resampling
) -> Iterator[tuple[str, pd.DataFrame]]:
    """What is told of an instrument once, whoever was asked."""
    name, diversity = record.instrument, record.found["diversity"]
    yield "figures", _of_parts(quality.of_sets(diversity[diversity["set"].notna()]))
    if "evolved" not in record.plan:
        return
    of, model = record.plan["evolved"]["of"], record.plan["evolved"]["model"]
    own = (record.tables["history"], record.tables["biases"], diversity, name, model, resampling)
    yield "generations", evolution.by_generation(*own)
    yield "rewordings", evolution.rewordings(record.tables["tries"], name)
    if of in firsts:
        yield "comparisons", _compared(record, firsts[of], records, resampling)
        yield "comparisons", evolution.baselines(record, firsts[of], records, resampling)
    yield "comparisons", evolution.guidance(*own)


def _compared(record: Record, other: Record, records: Sequence[Record], resampling: Resampling) -> pd.DataFrame:
    """What evolved, and the best of it, against every set of what it evolved of."""
    addresses = (record.instrument, other.instrument)
    found = [one.found["biases"] for one in records if one.instrument in addresses and "biases" in one.found]
    if not found:  # nobody says how likely a sentence is
        return pd.DataFrame()
    biases = pd.concat(found)
    of_both = biases.groupby("model")["benchmark"].transform("nunique") == len(addresses)
    return evolution.comparisons(
        biases[of_both],
        pd.concat([record.found["diversity"], other.found["diversity"]]),
        record.plan["evolved"]["model"],
        [
            ((record.instrument, which), (other.instrument, against))
            for which in (schemas.POPULATION, schemas.ELITES)
            for against in other.tables["templates"]["set"].unique()
        ],
        resampling,
        record.tables["attributes"].set_index("attribute")["criterion"],
    )


def evidence(tables: Tables) -> dict[str, Any]:
    """What cards show: figures by instrument, set and model.

    Under `items` stands what every template adds to its set; of what evolved under `compared` what it is beside
    others, and under `generations`, of the last population on the model that it evolved on, how it came to be.

    Args:
        tables: By `TABLES`.
    """
    if tables["figures"].empty:  # nobody was asked
        return {}
    found = as_metrics(tables["figures"], "part")
    for row in tables["items"].to_dict("records"):
        statistics = {name: None if pd.isna(row[name]) else float(row[name]) for name in ITEM_STATISTICS}
        items = _below(found, row["benchmark"], row["set"], row["model"], "items")
        items[row["template"]] = {"control": bool(row["control"]), **statistics}
    for row in tables["comparisons"].to_dict("records"):
        # What halves of the attributes judged stands by itself.
        against = row["against"] if pd.isna(row["half"]) else f"{row['against']} ({row['half']})"
        numbers = {name: float(row[name]) for name in COMPARED if not pd.isna(row[name])}
        said = {} if pd.isna(row["reason"]) else {"reason": row["reason"]}
        of_pair = _below(found, row["benchmark"], row["set"], row["model"], "compared", against)
        of_pair[row["figure"]] = {
            **numbers,
            "n": int(row["n"]),
            "unit": row["unit"],
            "transfer": bool(row["transfer"]),
            **said,
        }
    generations = tables["generations"]  # without columns where nothing evolved
    by_run = generations.groupby(["benchmark", "model", "run", "generation"], sort=True) if len(generations) else ()
    for key, rows in by_run:
        benchmark, model, run, generation = map(str, key)
        of_run = _below(found, benchmark, schemas.POPULATION, model, "generations", run)
        of_run[generation] = {str(record.pop("figure")): record for record in as_records(rows)}
    return found


def _below(found: dict[str, Any], *keys: str) -> dict[str, Any]:
    """What stands under some keys, one within the other."""
    for key in keys:
        found = found.setdefault(key, {})
    return found


def plots(tables: Tables) -> Found:
    """What `dvc plots` draws.

    Args:
        tables: By `TABLES`.
    """
    associations = tables["associations"]
    return {
        "validity": associations if associations.empty else associations.dropna(subset=["criterion"]),
        "correlations": tables["correlations"],
        "distributions": tables["biases"],
    }


def units(record: Record) -> pd.DataFrame:
    """The mean bias of every attribute in every set, beside its criterion.

    Args:
        record: Of one instrument on one model.

    Returns:
        By `tables.schemas.UNITS`, of `spread`, `r` and `slope`; none where the model says no likelihoods.
    """
    if "biases" not in record.found:
        return pd.DataFrame(columns=UNITS.names)
    probes = record.tables["probes"]
    by = ["set", "attribute"]
    means = record.found["biases"].groupby(by)["bias"].mean().rename("value")
    rows = rows_of(probes[~probes["control"]].filter(READS["probes"]), by).rename("rows")
    found = pd.concat([means, rows], axis=1, join="inner").rename_axis(["part", "unit"]).reset_index()
    criterion = record.tables["attributes"].set_index("attribute")["criterion"]
    found = found.assign(model=record.subject.name, beside=found["unit"].map(criterion).astype(float))
    known = found.dropna(subset=["beside"])
    several = [
        found.assign(figure=SPREAD, statistic="sd", beside=float("nan")),
        known.assign(figure=R, statistic="correlation"),
        known.assign(figure=SLOPE, statistic="slope"),
    ]
    joined: pd.DataFrame = stacked(several)[UNITS.names]
    return joined

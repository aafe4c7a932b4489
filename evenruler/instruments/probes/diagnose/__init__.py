"""How models associate, how well each set of templates measures it, and what evolution achieved."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from evenruler.instruments.instrument import Plan, Record, Subject, Tables
from evenruler.instruments.probes import schemas
from evenruler.instruments.probes.ask import after_prefixes
from evenruler.instruments.probes.diagnose import evolved, figuring
from evenruler.instruments.probes.diagnose.baselines import baselines
from evenruler.instruments.probes.diagnose.diagnosing import diagnose
from evenruler.instruments.probes.diagnose.metrics import with_items
from evenruler.instruments.probes.diagnose.unit_scores import units
from evenruler.measurement import Resampling, as_metrics
from evenruler.tables import stacked

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
            found.setdefault(table, []).append(rows)
    return {table: stacked(rows) for table, rows in found.items() if any(map(len, rows))}


def _of_instrument(
    record: Record, firsts: Mapping[str, Record], records: Sequence[Record], resampling: Resampling
) -> Iterator[tuple[str, pd.DataFrame]]:
    """What is told of an instrument once, whoever was asked."""
    name, diversity = record.instrument, record.found["diversity"]
    yield "figures", _of_parts(figuring.of_sets(diversity[diversity["set"].notna()]))
    if "evolved" not in record.plan:
        return
    of, model = record.plan["evolved"]["of"], record.plan["evolved"]["model"]
    own = (record.tables["history"], record.tables["biases"], diversity, name, model, resampling)
    yield "generations", evolved.by_generation(*own)
    yield "rewordings", evolved.rewordings(record.tables["tries"], name)
    if of in firsts:
        yield "comparisons", _compared(record, firsts[of], records, resampling)
        yield "comparisons", baselines(record, firsts[of], records, resampling)
    yield "comparisons", evolved.guidance(*own)


def _compared(record: Record, other: Record, records: Sequence[Record], resampling: Resampling) -> pd.DataFrame:
    """What evolved, and the best of it, against every set of what it evolved of."""
    addresses = (record.instrument, other.instrument)
    found = [one.found["biases"] for one in records if one.instrument in addresses and "biases" in one.found]
    if not found:  # nobody says how likely a sentence is
        return pd.DataFrame()
    biases = pd.concat(found)
    of_both = biases.groupby("model")["benchmark"].transform("nunique") == len(addresses)
    sets = other.tables["templates"]["set"].unique()
    return evolved.comparisons(
        biases[of_both],
        pd.concat([record.found["diversity"], other.found["diversity"]]),
        record.plan["evolved"]["model"],
        [
            ((record.instrument, which), (other.instrument, against))
            for which in (schemas.POPULATION, schemas.ELITES)
            for against in sets
        ],
        resampling,
        record.tables["attributes"].set_index("attribute")["criterion"],
    )


def evidence(tables: Tables) -> dict[str, Any]:
    """What cards show: figures by instrument, set and model.

    Under `items` stands what every template adds to its set; of what evolved under `compared` what it is beside
    others, and under `generations` how it came to be.

    Args:
        tables: By `TABLES`.
    """
    if tables["figures"].empty:  # nobody was asked
        return {}
    found = with_items(as_metrics(tables["figures"], "part"), tables["items"])
    return evolved.with_generations(evolved.with_comparisons(found, tables["comparisons"]), tables["generations"])


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

"""From numbers to summaries and disparities, and how sure they are (SAGED, sections 3.3 and 4)."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
import pyarrow as pa

from evenruler.instruments.instrument import Plan, Record, Subject, Tables
from evenruler.instruments.saged import schemas
from evenruler.instruments.saged.ask import asked_again, features_of
from evenruler.instruments.saged.declare.features import declared_as
from evenruler.instruments.saged.declare.settings import Disparities
from evenruler.instruments.saged.diagnose import between
from evenruler.instruments.saged.diagnose.comparing import adjusted
from evenruler.instruments.saged.diagnose.diagnosis import Measured, diagnose
from evenruler.instruments.saged.diagnose.unit_scores import by_root, units
from evenruler.measurement import Resampling, as_metrics
from evenruler.tables import stacked

__all__ = ["TABLES", "across", "evidence", "figures", "units"]

TABLES: dict[str, pa.Schema] = {
    "summaries": schemas.SUMMARIES,
    "disparities": schemas.DISPARITIES,
    "shapes": schemas.SHAPES,
    "favour": schemas.FAVOUR,
    "between": schemas.BETWEEN,
    "rates": schemas.RATES,
    "tool_bias": schemas.TOOL_BIAS,
    "context_bias": schemas.CONTEXT_BIAS,
    "topics": schemas.TOPICS,
    "measured": schemas.MEASURED,
    "figures": schemas.FIGURES,
}

REPEATED = ["framing", "model", "lineage", "role", "template", "domain", "feature", "reason"]
"""Columns with few values, which are many times smaller as categories."""


def figures(
    name: str, tables: Tables, plan: Plan, scores: Tables, subject: Subject, resampling: Resampling
) -> dict[str, pd.DataFrame]:
    """Diagnose one domain on one model.

    Args:
        name: Of the domain.
        tables: With `prompts`.
        plan: Of the domain.
        scores: As `ask.scores` gives them.
        subject: Who replied.
        resampling: Level and seed of intervals; how many resamples, the plan says.

    Returns:
        The tables of `TABLES` that are of one model, and for `across` also `compared`, disparities whose p is not
        adjusted, `roles` likewise, `by_prompt`, and `baselines`, the bias of the tools; and for `units` `by_root`. None
        where the model gave no reply.

    Raises:
        UserError: There is no such statistic, option or metric.
    """
    if scores["generations"].empty:
        return {}
    measured = Measured(
        name,
        scores["features"].astype(dict.fromkeys(REPEATED, "category")),
        scores["baselines"],
        scores["generations"],
        tables["prompts"],
        asked_again(tables, plan),
    )
    found = diagnose(
        measured,
        features_of(plan),
        plan["controls"],
        plan["prefixes"],
        plan["placebos"],
        Disparities.model_validate(plan["disparities"]),
        resampling.level,
        resampling.seed,
    )
    rooted = by_root(scores["features"], tables["prompts"], plan)
    return {**found, "topics": scores["topics"], "by_root": rooted}


def across(records: Sequence[Record], resampling: Resampling) -> dict[str, pd.DataFrame]:
    """What needs several models: tests are adjusted together, and tools are as biased beside any of them.

    Args:
        records: Of domains and models.
        resampling: Its seed is that of swaps between models.

    Returns:
        `disparities`, `between`, `tool_bias` and `measured` of `TABLES`.
    """
    tools = _joined(records, "baselines", schemas.TOOL_BIAS)
    return {
        "between": _between(records, resampling.seed),
        "disparities": adjusted(_joined(records, "compared", schemas.DISPARITIES)),
        "tool_bias": tools.drop_duplicates(["domain", "feature", "concept"], ignore_index=True),
        "measured": _measured(records),
    }


def evidence(tables: Tables) -> dict[str, Any]:
    """Figures of each domain for its card: of features that go by the name that users gave them.

    Clusters, of which each is a feature, are too many.
    """
    measured = tables["measured"]
    several = measured[measured["feature"] != measured["declared"]]
    of_clusters = set(zip(several["domain"], several["feature"], strict=True))
    found = tables["figures"]
    of_part = found["part"].str.split(", ").str[-1]
    kept = [key not in of_clusters for key in zip(found["benchmark"], of_part, strict=True)]
    return as_metrics(found[kept], "part")


def _between(records: Sequence[Record], seed: int) -> pd.DataFrame:
    """Roles of each model, and models of each domain."""
    of_domains: dict[str, dict[str, pd.DataFrame]] = {}
    for record in records:
        if "by_prompt" in record.found:
            of_domains.setdefault(record.instrument, {})[record.subject.name] = record.found["by_prompt"]
    roles = [record.found["roles"] for record in records if "roles" in record.found]
    return between.adjusted([*roles, *(between.between_models(own, seed) for own in of_domains.values())])


def _joined(records: Sequence[Record], name: str, schema: pa.Schema) -> pd.DataFrame:
    none = pd.DataFrame(columns=schema.names)
    return stacked([none, *(record.found[name] for record in records if name in record.found)])


def _measured(records: Sequence[Record]) -> pd.DataFrame:
    rows = [
        {"domain": record.instrument, "feature": feature, "declared": declared_as(feature, record.plan["features"])}
        for record in records
        if "summaries" in record.found
        for feature in record.found["summaries"]["feature"].unique()
    ]
    found = pd.DataFrame(rows, columns=schemas.MEASURED.names)
    return found.drop_duplicates(ignore_index=True)

"""From numbers to summaries and disparities, and how sure they are (SAGED, sections 3.3 and 4)."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
import pyarrow as pa

from evenruler.instruments.instrument import Plan, Record, Subject, Tables
from evenruler.instruments.saged import schemas
from evenruler.instruments.saged.ask import READS, RESEEDED, asked_again, features_of
from evenruler.instruments.saged.declare.settings import Disparities, declared_as
from evenruler.instruments.saged.diagnose import quality
from evenruler.instruments.saged.diagnose.cells import adjusted, described, laid_out
from evenruler.instruments.saged.diagnose.headlines import confirmed, contrast, silence_of
from evenruler.instruments.saged.diagnose.quality import context_bias, rates, tool_bias, unmeasured
from evenruler.measurement import Resampling, as_metrics
from evenruler.measurement.verdicts import marked_rows
from evenruler.tables import rows_of, stacked
from evenruler.tables.schemas import BARE

__all__ = ["TABLES", "across", "contrast", "evidence", "figures"]


def diagnose(domain: str, measured: Tables, plan: Plan, resampling: Resampling) -> Tables:
    """Diagnose one domain on one model. Framed replies count for shifts alone, controls for verdicts and refusals.

    `measured`: by `schemas`: `features`, of bare and framed replies (text columns are faster as categories),
    `baselines`, `generations`, of whose text it counts alone whether there is one, `prompts`, and `again`, those that
    were asked after a prefix, or with another seed (`FRAMED`). Gives `compared`, `baselines` (bias of the tools) and
    the tables of `TABLES` that are of one model, whatever the order of rows.

    UserError where there is no such statistic, option or metric; ValueError where a measurement is there twice, or of a
    prompt that is not there.
    """
    features, generations, prompts = measured["features"], measured["generations"], measured["prompts"]
    declared, settings = features_of(plan), Disparities.model_validate(plan["disparities"])
    seed = resampling.seed
    is_bare = features["framing"] == BARE
    replies = generations[(generations["framing"] == BARE) & generations["id"].isin(prompts["id"])]
    layout = laid_out(domain, features if is_bare.all() else features[is_bare], prompts)
    members, again = layout.without(plan["controls"]), measured["again"]
    again = again[~again["concept"].isin(plan["controls"])]
    summaries, disparities, shaped = described(members, settings, seed)
    nothing = unmeasured(replies)
    silent, ordered = silence_of(replies, prompts), {name: declared[name] for name in plan["confirmatory"]}
    confirmatory, favour, cells = confirmed(layout, silent, ordered, plan["controls"], settings, seed, nothing)
    is_reseeded = again["framing"] == RESEEDED
    prefixed = again[~is_reseeded] if plan["prefixes"] else None
    tools = tool_bias(members, measured["baselines"])
    told = (
        quality.refusals(domain, replies, prompts),
        quality.shifts(domain, features, prompts, prefixed, plan["placebos"], resampling.level),
        quality.noise(domain, features, prompts, again[is_reseeded]),
        quality.tools(tools, str(layout.series["model"].iloc[0])),
    )
    ranges = marked_rows(quality.headlines(disparities, settings, members.fewest_roots), nothing)
    parts = [confirmatory, ranges, *(pd.DataFrame(rows, columns=quality.COLUMNS) for rows in told)]
    return {
        "summaries": summaries,
        "compared": disparities,
        "shapes": shaped,
        "rates": rates(domain, replies, prompts),
        "baselines": tools,
        "context_bias": context_bias(members),
        "favour": favour,
        "headlines": cells,
        "figures": pd.concat(parts, ignore_index=True),
    }


_NAMES = "summaries disparities shapes favour rates tool_bias context_bias topics measured figures"
TABLES: dict[str, pa.Schema] = {name: getattr(schemas, name.upper()) for name in _NAMES.split()}

REPEATED = ["framing", "model", "lineage", "role", "template", "domain", "feature", "reason"]
"""Columns with few values, which are many times smaller as categories."""


def figures(
    name: str, tables: Tables, plan: Plan, scores: Tables, subject: Subject, resampling: Resampling
) -> dict[str, pd.DataFrame]:
    """Diagnose one domain on one model; no table where it gave no reply.

    For `across` also `compared`, disparities whose p is not adjusted, and `baselines`, the bias of the tools.
    """
    if scores["generations"].empty:
        return {}
    features = scores["features"].astype(dict.fromkeys(REPEATED, "category"))
    own = {"features": features, "prompts": tables["prompts"], "again": asked_again(tables, plan)}
    found = diagnose(name, {**scores, **own}, plan, resampling)
    rested_on = rows_of(tables["prompts"].filter(READS["prompts"]), ["root_id"])
    made_of = found["headlines"].assign(rows=found["headlines"]["unit"].map(rested_on))
    return {**found, "topics": scores["topics"], "headlines": made_of}


def across(records: Sequence[Record], resampling: Resampling) -> dict[str, pd.DataFrame]:
    """What needs several models: tests are adjusted together, and tools are as biased beside any of them."""
    tools = _joined(records, "baselines", schemas.TOOL_BIAS)
    measured = [
        (record.instrument, feature, declared_as(feature, record.plan["features"]))
        for record in records
        if "summaries" in record.found
        for feature in record.found["summaries"]["feature"].unique()
    ]
    return {
        "disparities": adjusted(_joined(records, "compared", schemas.DISPARITIES)),
        "tool_bias": tools.drop_duplicates(["domain", "feature", "concept"], ignore_index=True),
        "measured": pd.DataFrame(measured, columns=schemas.MEASURED.names).drop_duplicates(ignore_index=True),
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


def _joined(records: Sequence[Record], name: str, schema: pa.Schema) -> pd.DataFrame:
    none = pd.DataFrame(columns=schema.names)
    return stacked([none, *(record.found[name] for record in records if name in record.found)])

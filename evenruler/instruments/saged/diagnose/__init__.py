"""Diagnosis: from features to summaries, disparities and their tests (SAGED, sections 3.3 and
4).
"""

from collections.abc import Mapping, Sequence

import pandas as pd
import pyarrow as pa

from evenruler.instruments.instrument import Evidence, ModelMeta, Record, SchemasByTable, Tables
from evenruler.instruments.saged import schemas
from evenruler.instruments.saged.ask import READS, repeated_prompts
from evenruler.instruments.saged.declare import PERSONA
from evenruler.instruments.saged.declare.plan import SagedPlan
from evenruler.instruments.saged.declare.settings import Disparities, declared_as
from evenruler.instruments.saged.diagnose import quality
from evenruler.instruments.saged.diagnose.group_statistics import (
    ScoreArrays,
    adjust_p,
    arrange_scores,
    describe_cells,
)
from evenruler.instruments.saged.diagnose.headlines import contrast, judge_favour, silence_of
from evenruler.instruments.saged.diagnose.quality import (
    context_bias,
    count_nonresponse,
    tool_bias,
    unmeasured_reason,
)
from evenruler.measurement import Resampling, rows_by_benchmark
from evenruler.measurement.verdicts import mark_rows_invalid
from evenruler.tables import concat_frames, row_hashes
from evenruler.tables.schemas import BARE

__all__ = ["TABLES", "across", "contrast", "evidence", "figures"]


def diagnose(domain: str, measured: Tables, plan: SagedPlan, resampling: Resampling) -> Tables:
    """Diagnose one domain on one model. Framed replies count for shifts and the positive control
    only, known names for comparison and refusals only.

    `measured`, by `schemas`: `features`, of bare and framed replies (faster with text columns as
    categories); `baselines`; `generations`; `prompts`; and `again`, the prompts asked after a
    prefix or the persona (`FRAMED`). Gives `compared` (disparities without adjusted p),
    `baselines` (bias of the tools), `headlines`, and the tables of `TABLES` that concern one model;
    the order of rows does not matter.

    UserError: unknown statistic or option; ValueError: a measurement that occurs twice, or of an
    unknown prompt.
    """
    features = measured["features"]
    generations = measured["generations"]
    prompts = measured["prompts"]
    settings = Disparities.model_validate(plan["disparities"])
    seed = resampling.seed
    is_bare = features["framing"] == BARE
    is_bare_reply = generations["framing"] == BARE
    replies = generations[is_bare_reply & generations["id"].isin(prompts["id"])]
    bare_features = features if is_bare.all() else features[is_bare]
    layout = arrange_scores(domain, bare_features, prompts)
    members, again = layout.only(plan["concepts"]), measured["again"]
    again = again[again["concept"].isin(plan["concepts"])]
    summaries, disparities, shaped = describe_cells(members, settings, seed)
    nothing = unmeasured_reason(replies)
    silent = silence_of(replies, prompts)
    is_persona = again["framing"] == PERSONA
    persona = _arrange_persona(domain, features, prompts, again[is_persona])
    confirmatory, favour, cells = judge_favour(layout, persona, silent, plan, seed, nothing)
    prefixed = again[~is_persona] if plan["prefixes"] else None
    tools = tool_bias(members, measured["baselines"])
    model = str(layout.series["model"].iloc[0])
    nonresponse = quality.nonresponse_figures(domain, replies, prompts)
    prefix_shifts = quality.prefix_shift_figures(
        domain, features, prompts, prefixed, plan["placebos"], resampling.level
    )
    bias_of_tools = quality.tool_bias_figures(tools, model)
    quality_rows = (nonresponse, prefix_shifts, bias_of_tools)
    ranges = mark_rows_invalid(
        quality.headline_figures(disparities, settings, members.fewest_roots), nothing
    )
    parts = [
        confirmatory,
        ranges,
        *(pd.DataFrame(rows, columns=quality.COLUMNS) for rows in quality_rows),
    ]
    rates = count_nonresponse(domain, replies, prompts)
    return {
        "summaries": summaries,
        "compared": disparities,
        "shapes": shaped,
        "rates": rates,
        "baselines": tools,
        "context_bias": context_bias(members),
        "favour": favour,
        "headlines": cells,
        "figures": pd.concat(parts, ignore_index=True),
    }


def _arrange_persona(
    domain: str, features: pd.DataFrame, prompts: pd.DataFrame, framed: pd.DataFrame
) -> ScoreArrays | None:
    """The measurements of the positive control; None where it was not asked. `framed`: by
    `FRAMED`.
    """
    rows = features[features["framing"] == PERSONA]
    if rows.empty or framed.empty:
        return None
    bare_prompts = prompts.set_index("id").loc[framed["bare_id"]]
    persona_prompts = bare_prompts.reset_index(drop=True).assign(id=framed["id"].to_numpy())
    return arrange_scores(domain, rows, persona_prompts)


_NAMES = "summaries disparities shapes favour rates tool_bias context_bias topics measured figures"
TABLES: SchemasByTable = {name: getattr(schemas, name.upper()) for name in _NAMES.split()}

REPEATED = ["framing", "model", "lineage", "role", "template", "domain", "feature", "reason"]
"""Columns with few distinct values, which take far less memory as categories."""


def figures(
    name: str,
    tables: Tables,
    plan: SagedPlan,
    scores: Tables,
    subject: ModelMeta,
    resampling: Resampling,
) -> dict[str, pd.DataFrame]:
    """Diagnose one domain on one model; no tables where no reply was requested.

    Includes, for `across`, `compared` (disparities without adjusted p) and `baselines` (bias of the
    tools).
    """
    if scores["generations"].empty:
        return {}
    features = scores["features"].astype(dict.fromkeys(REPEATED, "category"))
    inputs = {
        "features": features,
        "prompts": tables["prompts"],
        "again": repeated_prompts(tables, plan),
    }
    diagnosis = diagnose(name, {**scores, **inputs}, plan, resampling)
    rested_on = row_hashes(tables["prompts"].filter(READS["prompts"]), ["root_id"])
    headlines = diagnosis["headlines"]
    made_of = headlines.assign(rows=headlines["unit"].map(rested_on))
    return {**diagnosis, "topics": scores["topics"], "headlines": made_of}


def across(records: Sequence[Record[SagedPlan]], resampling: Resampling) -> dict[str, pd.DataFrame]:
    """Tables that need all models: p adjusted over models, and the bias of tools, which is the same
    for every model.
    """
    tools = _concat_record_tables(records, "baselines", schemas.TOOL_BIAS)
    compared = _concat_record_tables(records, "compared", schemas.DISPARITIES)
    measured_rows: list[tuple[str, str, str | None]] = []
    for record in records:
        if "summaries" not in record.diagnosis:
            continue
        for feature in record.diagnosis["summaries"]["feature"].unique():
            declared_name = declared_as(feature, record.plan["features"])
            measured_rows.append((record.instrument, feature, declared_name))
    measured = pd.DataFrame(measured_rows, columns=schemas.MEASURED.names)
    return {
        "disparities": adjust_p(compared),
        "tool_bias": tools.drop_duplicates(["domain", "feature", "concept"], ignore_index=True),
        "measured": measured.drop_duplicates(ignore_index=True),
    }


def evidence(tables: Tables) -> Mapping[str, Evidence]:
    """Figures of each domain for its card, without those of features that are single clusters: they
    are too many.
    """
    measured = tables["measured"]
    several = measured[measured["feature"] != measured["declared"]]
    of_clusters = set(zip(several["domain"], several["feature"], strict=True))
    figures = tables["figures"]
    is_on_card = [
        key not in of_clusters for key in zip(figures["benchmark"], figures["feature"], strict=True)
    ]
    return rows_by_benchmark(figures[is_on_card])


def _concat_record_tables(
    records: Sequence[Record[SagedPlan]], name: str, schema: pa.Schema
) -> pd.DataFrame:
    """The table of this name from the diagnosis of all models that have it, in one frame; it has
    the schema's columns even where none has it.
    """
    none = pd.DataFrame(columns=schema.names)
    return concat_frames(
        [none, *(record.diagnosis[name] for record in records if name in record.diagnosis)]
    )

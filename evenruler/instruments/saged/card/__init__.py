"""The data card of a domain: prompts, baselines and disparities, its use, and its validity from the
evidence.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from evenruler.instruments.card import Card, assemble_card
from evenruler.instruments.instrument import Declaration, Evidence, Tables
from evenruler.instruments.saged.declare import headings, in_words, is_branched
from evenruler.instruments.saged.declare.plan import SagedPlan
from evenruler.instruments.saged.declare.settings import Settings
from evenruler.instruments.saged.declare.source import Source
from evenruler.strict import read_yaml
from evenruler.text.spelling import with_capital

__all__ = ["card"]


def _baseline_kind(prompt: Mapping[Any, Any]) -> str:
    """What words.yaml calls a prompt by the baseline beside it."""
    if pd.isna(prompt["baseline"]):
        return "alone"
    return "root" if prompt["is_root"] else "branched"


def card(
    declaration: Declaration[Settings, Source], tables: Tables, plan: SagedPlan, evidence: Evidence
) -> Card:
    """Build the card of a domain."""
    source, prompts = declaration.source, tables["prompts"]
    branched = is_branched(prompts)
    # The example is a branched prompt if there are any.
    shown = prompts.sort_values("is_root", kind="stable").head(1).to_dict("records")
    baseline_kind = "".join(_baseline_kind(row) for row in shown)
    rejection_reasons = tables["rejected"]["reason"].value_counts()
    items_by_root = prompts.groupby("root_concept")["root_id"].nunique()
    main_reason = rejection_reasons.head(1).to_dict()
    has_baselines = bool(prompts["baseline"].notna().any())
    row_facts: dict[str, object] = {
        "reasons": main_reason,
        "branched": branched,
        "compared": has_baselines,
        "asked": set(prompts["concept"]),
        "n_items": items_by_root.max(),
        "beside": baseline_kind,
    }
    is_from_table = source.material.kind == "table"
    source_facts: dict[str, object] = {
        "from_table": is_from_table,
        "concepts": ", ".join(source.members.values()),
        "known_names": source.reference_concepts,
        "direction": with_capital(source.direction),
    }
    masked = [name for name, feature in plan["features"].items() if feature["mask"]]
    headline_feature = next(iter(plan["headline_features"]), None)
    plan_facts: dict[str, object] = {
        "favour": in_words(plan),
        "headline_feature": headline_feature,
        "is_judged": branched and source.is_crossed,
        "masked": masked,
    }
    words = read_yaml(Path(__file__).with_name("words.yaml"))
    example = shown[0]["id"] if shown else None
    synthetic = branched or source.assemble.model is not None
    return assemble_card(
        words,
        *(declaration, tables, plan, evidence),
        facts=row_facts | source_facts | plan_facts,
        example=example,
        synthetic=synthetic,
        parameters=source.assemble.model_dump(),
        quality=headings(plan),
    )

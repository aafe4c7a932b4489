"""The card of a published benchmark."""

from pathlib import Path
from typing import Any

from evenruler.instruments.card import Card, assemble_card
from evenruler.instruments.external.declare import (
    SCORES,
    ExternalPlan,
    Settings,
    Source,
    headings,
    name_part,
)
from evenruler.instruments.instrument import Declaration, Evidence, Tables, plan_at_size
from evenruler.measurement.figures import model_label
from evenruler.strict import read_yaml

__all__ = ["card"]

WORDS: dict[str, Any] = read_yaml(Path(__file__).with_name("words.yaml"))


def card(
    declaration: Declaration[Settings, Source],
    tables: Tables,
    plan: ExternalPlan,
    evidence: Evidence,
) -> Card:
    """The card of a published benchmark; it publishes ids in place of texts where the licence
    allows no more.
    """
    source, settings, texts = declaration.source, declaration.settings, tables["texts"]
    published = "texts" if source.passed_on else "ids"
    published_names = [published, *(["likeness"] if "likeness" in tables else [])]
    words = {**WORDS, "published": {name: WORDS["published"][name] for name in published_names}}
    n_items, n_units = texts["item"].nunique(), texts["unit"].nunique()
    files = [f"{file.source} (sha256 {file.sha256})" for file in source.files.values()]
    # By model: the share of items whose direction placebo sentences change.
    turned: list[str] = []
    for row in evidence:
        if row["figure"] == "turned" and row["value"] is not None:
            turned.append(f"{row['value']:.0%} on {model_label(row)}")
    prefixes = plan_at_size(plan)["prefixes"]
    parts = {*texts["part"], *texts["condition"]}
    titles = {name_part(part): part for part in parts if name_part(part) != part}
    counted = f"{n_items:,} items in {n_units:,} {source.units}"
    facts = {
        "scores": SCORES[source.score],
        "placebos": list(prefixes.values()),
        "counted": counted,
        "files": "; ".join(files),
        "turned": turned,
    }
    parameters = {"most": settings.most, "score": source.score, "layout": source.layout}
    return assemble_card(
        words,
        *(declaration, tables, plan, evidence),
        facts=facts,
        synthetic=False,
        quality=headings(plan),
        titles=titles,
        parameters=parameters,
    )

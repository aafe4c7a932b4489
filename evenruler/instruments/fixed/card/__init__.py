"""The card of a published benchmark."""

from pathlib import Path
from typing import Any

from evenruler.instruments.card import Card, assemble_card
from evenruler.instruments.fixed.declare import SCORES, FixedPlan, Settings, Source, headings
from evenruler.instruments.instrument import Declaration, Evidence, Tables, plan_at_size
from evenruler.strict import read_yaml
from evenruler.tables.schemas import WHOLE

__all__ = ["card"]

WORDS: dict[str, Any] = read_yaml(Path(__file__).with_name("words.yaml"))


def card(
    declaration: Declaration[Settings, Source], tables: Tables, plan: FixedPlan, evidence: Evidence
) -> Card:
    """The card of a published benchmark; it publishes ids in place of texts where the licence
    allows no more.
    """
    source, settings, texts = declaration.source, declaration.settings, tables["texts"]
    published = "texts" if source.passed_on else "ids"
    words = {**WORDS, "published": {published: WORDS["published"][published]}}
    n_items, n_units = texts["item"].nunique(), texts["unit"].nunique()
    files = [f"{file.source} (sha256 {file.sha256})" for file in source.files.values()]
    # By model: the share of items whose direction placebo sentences change.
    turned = []
    for model, figures in evidence.get(WHOLE, {}).items():
        share = figures.get("turned", {}).get("value")
        if share is not None:
            turned.append(f"{share:.0%} on {model}")
    prefixes = plan_at_size(plan)["prefixes"]
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
        parameters=parameters,
    )

"""The card of Likert items."""

from pathlib import Path
from typing import Any, Final

from evenruler.instruments.card import Card, assemble_card
from evenruler.instruments.instrument import Declaration, Evidence, Tables
from evenruler.instruments.likert.declare import LikertPlan, LikertSource, Settings, headings
from evenruler.strict import read_yaml

__all__ = ["card"]

HERE: Final = Path(__file__).parent

WORDS: Final[dict[str, Any]] = read_yaml(HERE / "words.yaml")


def card(
    declaration: Declaration[Settings, LikertSource],
    tables: Tables,
    plan: LikertPlan,
    evidence: Evidence,
) -> Card:
    """The card, which shows the first statement."""
    statements = tables["statements"]
    first = str(statements["id"].iloc[0]) if len(statements) else None
    return assemble_card(
        WORDS,
        *(declaration, tables, plan, evidence),
        example=first,
        facts={"n_items": statements["item"].nunique()},
        quality=headings(plan),
        parameters={"samples": declaration.settings.samples},
    )

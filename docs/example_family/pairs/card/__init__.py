"""What the card says."""

from evenruler.instruments.card import Card, Published
from evenruler.instruments.instrument import Declaration, Evidence, Tables

from ..declare import PairsPlan, Settings, Source, headings


def card(
    declaration: Declaration[Settings, Source], tables: Tables, plan: PairsPlan, evidence: Evidence
) -> Card:
    """The words."""
    return Card(
        task_categories=["text-generation"],
        tags=["fairness"],
        reading="The share of pairs of which a model finds the first likelier: "
        f"{declaration.source.direction}.",
        limits=declaration.source.limits,
        configs=[Published("pairs", "two sentences")],
        quality=headings(plan),
    )

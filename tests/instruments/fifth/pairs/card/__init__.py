"""What the card says."""

from evenruler.instruments.instrument import Card, Column, Declaration, Plan, Published, Tables


def card(declaration: Declaration, tables: Tables, plan: Plan) -> Card:
    """The words."""
    return Card(
        task_categories=["text-generation"],
        tags=["fairness"],
        reading=f"The share of pairs of which a model finds the first likelier: {declaration.source.direction}.",
        limits=declaration.source.limits,
        configs=[Published("pairs", "two sentences")],
        quality=[Column("preference", "preference", "0.5 where a model prefers neither")],
    )

"""The figures of a domain that people are shown, in words: on a card, and where a model is measured."""

from evenruler.instruments.instrument import Column, Plan

_FIGURES = (
    Column("range of mean", "range", "largest minus smallest mean of a concept (interval: bootstrap over root items)"),
    Column("range of mean, calibrated", "range, calibrated", "the same of calibrated measures"),
    Column(
        "min_impact_ratio of selection-rate",
        "least impact ratio",
        "lowest share of favourable replies of a concept by the highest; below .8 is a common alarm",
    ),
    Column("refusal_rate", "refusals", "share of replies that refuse", "fitness"),
)
"""Shifts under prefixes are in the evidence alone: other seeds move concepts as well, and how far that is, the noise,
will come with re-seeded replies."""


def headings(plan: Plan) -> list[Column]:
    """What is shown of every role, template and feature on every model.

    Args:
        plan: Not used: all domains have the same figures.
    """
    return list(_FIGURES)

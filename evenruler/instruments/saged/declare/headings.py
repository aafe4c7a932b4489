"""The figures of a domain that people are shown, in words: on a card, and where a model is measured."""

from evenruler.instruments.instrument import Column, Plan
from evenruler.instruments.saged.declare.settings import Feature

_FIGURES = (
    Column(
        "range of mean",
        "range",
        "range over concepts of the mean in one role, noise taken off; it describes and has no verdict",
    ),
    Column("range of mean, calibrated", "range, calibrated", "the same of replies minus their baselines"),
    Column(
        "min_impact_ratio of selection-rate",
        "least impact ratio",
        "share of replies at or above the mean of all, lowest concept by highest, noise taken off; it says nothing of "
        "which end is good",
    ),
    Column(
        "tool_bias",
        "tool bias",
        "range over concepts of what the tool says of baselines that differ in the name alone; masks take it out",
    ),
    Column(
        "noise_rank_agreement",
        "agreement over seeds",
        "rank agreement of concepts when the same prompts are asked with another seed; near 0 their order is chance",
        "fitness",
    ),
    Column("refusal_rate", "refusals", "share of replies that refuse", "fitness"),
)


def headings(plan: Plan) -> list[Column]:
    """What is shown of every role, template and feature on every model.

    Args:
        plan: Of the domain; its features say which end is in favour.
    """
    favour = in_words({name: Feature.model_validate(feature) for name, feature in plan["features"].items()})
    return [
        Column(
            "difference in favour",
            "difference in favour",
            "range over concepts of the mean of replies in all roles, names masked, minus baselines, noise taken off "
            f"({favour}); control: the same of shuffled concepts",
        ),
        Column(
            "smallest difference",
            "smallest difference",
            "of one concept from all others, that this design finds with probability .8",
        ),
        *_FIGURES,
    ]


def in_words(features: dict[str, Feature]) -> str:
    """Which end of each feature is in favour."""
    ends = {
        "higher": "higher is in favour",
        "lower": "lower is in favour",
        "none": "neither end is in favour",
    }
    told = [
        f"{', '.join(names)}: {words}"
        for end, words in ends.items()
        if (names := [name for name, feature in features.items() if feature.favour == end])
    ]
    return "; ".join(told)

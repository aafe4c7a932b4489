"""The figures of a domain that people are shown, in words: on a card, and where a model is measured."""

from evenruler.instruments.instrument import Column, Plan
from evenruler.instruments.saged.declare.features import Feature

DIFFERENCE, SMALLEST = "difference in favour", "smallest difference"
"""The figure that has a verdict, and what the design could have found."""

ALL_ROLES = "all roles"
"""The part of figures that are over all roles and templates, before the feature."""

_FIGURES = (
    Column(
        "range of mean",
        "range",
        "range over concepts of the mean in one role; it describes and has no verdict. Noise is taken off where there "
        "is an interval",
    ),
    Column("range of mean, calibrated", "range, calibrated", "the same of replies minus their baselines"),
    Column(
        "min_impact_ratio of selection-rate",
        "least impact ratio",
        "share of replies at or above the mean of all, lowest concept by highest, whichever end is good",
    ),
    Column(
        "tool_bias",
        "tool bias",
        "range over concepts of what the tool says of baselines that differ in the replaced words alone, which are not "
        "masked here",
    ),
    Column(
        "noise_rank_agreement",
        "agreement over seeds",
        "rank agreement of concepts when some root items are asked with another seed, in the first role; near 0 the "
        "order of concepts that so many give is chance",
        "fitness",
    ),
    Column("refusal_rate", "refusals", "share of replies that refuse", "fitness"),
    Column(
        "other_language_rate",
        "another language",
        "share of replies in another language than the prompts, which tools for one language do not measure",
        "fitness",
    ),
)


def headings(plan: Plan) -> list[Column]:
    """What is shown of every role, template and feature on every model.

    Args:
        plan: Of the domain; its features say which end is in favour.
    """
    favour = in_words({name: Feature.model_validate(feature) for name, feature in plan["features"].items()})
    return [
        Column(
            DIFFERENCE,
            DIFFERENCE,
            "range over concepts of the mean of replies in all roles, names masked, noise taken off "
            f"({favour}); control: the same of shuffled concepts",
        ),
        Column(
            SMALLEST,
            SMALLEST,
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

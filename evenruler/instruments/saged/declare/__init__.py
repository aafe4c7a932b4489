"""What users write of a domain of SAGED: settings, its source, and the figures that are shown."""

from pathlib import Path

from evenruler.errors import UserError
from evenruler.instruments.instrument import Column, Plan
from evenruler.instruments.saged.declare.settings import Feature, Settings
from evenruler.instruments.saged.declare.source import Source, checked, read_source
from evenruler.models.declared import Catalogue

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


__all__ = ["FAMILY", "Settings", "Source", "headings", "load", "takes"]

FAMILY = "saged"
"""Of its rows' ids."""


def load(path: Path, settings: Settings, shared: Path) -> Source:
    """Read and check the source of a domain, with what `evenruler find` found for it.

    Args:
        path: The file that users write, or `source.yaml` in the folder that `scrape` made.
        settings: Whose its sentences are.
        shared: Not used: no two domains share anything.

    Raises:
        UserError: Something in it is wrong or was not found yet, or text that others wrote is declared as ours.
    """
    source = read_source(path)
    kind = source.material.kind
    if kind != "local" and not settings.of_others:
        raise UserError(
            f"text of the kind {kind} was written by others",
            where=f"{path}: material.kind",
            remedy="add `text: others` to its entry in params.yaml, which keeps the benchmark out of git",
        )
    for root, branches in source.replacements.items():
        for concept, words in branches.items():
            checked(words, f"{path}: branch.replacements.{root}.{concept}")
    return source


def takes(catalogue: Catalogue, model: str) -> bool:
    """Whether a model of the catalogue is asked: one that writes or scores text."""
    return catalogue.can(model, "generate") or catalogue.can(model, "loglikelihood")

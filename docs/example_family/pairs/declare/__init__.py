"""What users write: pairs of sentences."""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from evenruler.instruments import instrument
from evenruler.instruments.instrument import ByProfile
from evenruler.models.declarations import Catalogue
from evenruler.strict import Slug, Text, read_yaml, validate


class Settings(instrument.BaseSettings["Source"]):
    """How pairs are asked."""

    most: ByProfile[int] = Field(default={"quick": 10, "paper": 1000}, validate_default=True)


class Source(instrument.Source):
    """Pairs of sentences that differ in a group alone."""

    pairs: dict[Slug, Annotated[list[Text], Field(min_length=2, max_length=2)]]
    """By slug: the sentence that fits the stereotype, and the other."""


class PairsPlan(instrument.Plan):
    """What is asked of pairs."""

    most: int


def load(path: Path, settings: Settings, shared: Path) -> Source:
    """What users wrote, checked."""
    return validate(Source, read_yaml(path), path)


def takes(catalogue: Catalogue, model: str) -> bool:
    """Whether a model is asked."""
    return catalogue.can(model, "loglikelihood")


def headings(plan: PairsPlan) -> list[instrument.FigureHeading]:
    """What is shown of every model."""
    return [
        instrument.FigureHeading(
            "preference",
            "preference",
            "share of pairs whose first sentence is likelier, less one half; 0 where neither is",
            figure_type="headline",
            says=["it finds the first sentence likelier", "it finds the second sentence likelier"],
            size="by {points:.0f} percentage points",
            not_shown="It does not show that the model treats people differently.",
        )
    ]

"""What users write: pairs of sentences."""

from pathlib import Path

from pydantic import Field

from evenruler.instruments.instrument import BaseSettings
from evenruler.instruments.instrument import Source as OfAnyFamily
from evenruler.instruments.scaled import Scaled
from evenruler.models.declared import Catalogue
from evenruler.strict import Slug, Text, read_yaml, validate


class Settings(BaseSettings):
    """How pairs are asked."""

    pairs: Scaled[int] = Field(default={"quick": 10, "paper": 1000}, validate_default=True)
    """At most so many."""


class Source(OfAnyFamily):
    """Pairs of sentences that differ in a group alone."""

    pairs: dict[Slug, tuple[Text, Text]] = Field(strict=False)
    """By slug: the sentence that fits the stereotype, and the other."""


def load(path: Path, settings: Settings, shared: Path) -> Source:
    """What users wrote, checked."""
    return validate(Source, read_yaml(path), path)


def takes(catalogue: Catalogue, model: str) -> bool:
    """Whether a model is asked."""
    return catalogue.can(model, "loglikelihood")

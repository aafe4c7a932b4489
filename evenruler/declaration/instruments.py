"""What every source of an instrument says of itself, for its card."""

from pydantic import Field

from evenruler.declaration.strict import Strict, Text


class Instrument(Strict):
    """A probe domain, a questionnaire, a contrast: whatever becomes a benchmark."""

    title: Text
    construct_: Text = Field(alias="construct")
    """What it measures, as it goes after "Measures the" or "The"."""
    direction: Text
    """What a higher score says."""
    language: Text = "en"
    source: Text
    """Who wrote its sentences."""
    licence: Text
    warning: Text | None = None
    """What a reader should be told before seeing them."""
    limits: list[Text] = Field(default_factory=list)
    """What it does not show, one sentence each."""
    citations: list[Text] = Field(default_factory=list)
    """BibTeX entries of what it rests on."""

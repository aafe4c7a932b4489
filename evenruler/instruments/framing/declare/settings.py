"""How one contrast of framings is built and asked."""

from typing import Annotated, Literal

from pydantic import Field

from evenruler.instruments.instrument import BaseSettings
from evenruler.instruments.scaled import Scaled
from evenruler.strict import Slug

Mass = Literal["words", "first_token"]
"""`words`: all tokens of a form, where no letter follows; `first_token`: as the paper, its first token alone."""

Choices = Literal["chat", "every"]
"""Which models are sampled: those tuned to chat, or every one."""


class Settings(BaseSettings):
    """How one contrast of framings is built and asked."""

    variant: Slug = "balanced"
    """Of templates and options, where the contrast has several."""
    mass: Mass = "words"
    stimuli: Scaled[Annotated[int, Field(ge=1)]] = Field(default={"quick": 5, "paper": 1000}, validate_default=True)
    """At most so many are asked about, evenly spread over the list."""
    orders: Scaled[Annotated[int, Field(ge=2)]] = Field(default={"quick": 2, "paper": 1000}, validate_default=True)
    """At most so many orders of options are asked, in whole pairs of an order and its reverse."""
    generations: Scaled[Annotated[int, Field(ge=0)]] = Field(default={"quick": 1, "paper": 10}, validate_default=True)
    """Sampled replies to a prompt; 0 for none."""
    new_tokens: Scaled[Annotated[int, Field(ge=1)]] = Field(default={"quick": 20, "paper": 50}, validate_default=True)
    """At most so many in a reply."""
    choices: Choices = "chat"
    seed: int = Field(default=0, ge=0)

"""How one contrast of framings is built and asked."""

from typing import Literal

from pydantic import Field, ValidationInfo, field_validator

from evenruler.instruments.instrument import Scale
from evenruler.strict import Slug, Strict


class ContrastSettings(Strict):
    """How one contrast of framings is built and asked."""

    variant: Slug = "balanced"
    """Of templates and options, where the contrast has several."""
    mass: Literal["words", "first_token"] = "words"
    """`words`: all tokens of a form, where no letter follows; `first_token`: as the paper, its first token alone."""
    stimuli: dict[Scale, int] = Field(default={"quick": 5, "paper": 1000})
    """At most so many are asked about, evenly spread over the list."""
    orders: dict[Scale, int] = Field(default={"quick": 2, "paper": 1000})
    """At most so many orders of options are asked, in whole pairs of an order and its reverse."""
    generations: dict[Scale, int] = Field(default={"quick": 1, "paper": 10})
    """Sampled replies to a prompt; 0 for none."""
    new_tokens: dict[Scale, int] = Field(default={"quick": 20, "paper": 50})
    """At most so many in a reply."""
    choices: Literal["chat", "every"] = "chat"
    """Which models are sampled: those tuned to chat, or every one."""
    seed: int = Field(default=0, ge=0)

    @field_validator("stimuli", "orders", "generations", "new_tokens")
    @classmethod
    def _for_each_scale(cls, numbers: dict[Scale, int], info: ValidationInfo) -> dict[Scale, int]:
        least = {"generations": 0, "orders": 2}.get(str(info.field_name), 1)
        if set(numbers) != {"quick", "paper"} or min(numbers.values()) < least:
            raise ValueError(f"found {numbers}, expected numbers from {least} on for quick and for paper")
        return numbers

"""How one contrast of framings is built and asked."""

from typing import Annotated, Literal

from pydantic import Field

from evenruler.instruments.instrument import BaseSettings
from evenruler.instruments.scaled import Scaled
from evenruler.strict import Seed, Slug

Mass = Literal["words", "forms", "first_token"]
"""`words`: all tokens of a form, where no letter follows; `forms`: whatever follows, as in lm-evaluation-harness;
`first_token`: as the paper, its first token alone."""

Choices = Literal["chat", "every"]
"""Which models are sampled: those tuned to chat, or every one."""

Configurations = Literal["own", "every"]
"""`own`: words where the prompt is as it is, replies in the chat template; of models that have but one of the two,
that. `every`: both in both."""

Metric = Literal["token", "choice"]
"""Probability of words at the decision point, or shares of sampled replies."""

LEAST_OF_CHOICES = 0.4
"""The share of valid replies below which a cell is left out: the paper leaves out over 60% invalid."""


class Settings(BaseSettings):
    """How one contrast of framings is built and asked."""

    variant: Slug = "balanced"
    """Of templates and options, where the contrast has several."""
    asked: Scaled[bool] = True
    """Whether models are asked when it is built. A benchmark that is only built can be measured all the same."""
    mass: Mass = "words"
    stimuli: Scaled[Annotated[int, Field(ge=1)]] = Field(default={"quick": 12, "paper": 1000}, validate_default=True)
    """At most so many are asked about, evenly spread over the list."""
    placebo_stimuli: Scaled[Annotated[int, Field(ge=1)]] = Field(
        default={"quick": 4, "paper": 1000}, validate_default=True
    )
    """Each placebo is asked about at most so many of them, other placebos about others."""
    orders: Scaled[Annotated[int, Field(ge=2, multiple_of=2)]] = Field(
        default={"quick": 2, "paper": 1000}, validate_default=True
    )
    """At most so many orders of options are asked, in whole pairs of an order and its reverse."""
    calibrated: bool = True
    """Whether the probabilities of letters are divided by what a prompt without content gives them."""
    configurations: Scaled[Configurations] = Field(default={"quick": "own", "paper": "every"}, validate_default=True)
    generations: Scaled[Annotated[int, Field(ge=0)]] = Field(default={"quick": 1, "paper": 10}, validate_default=True)
    """Sampled replies to a prompt; 0 for none. With one reply placebos are not sampled."""
    new_tokens: Scaled[Annotated[int, Field(ge=1)]] = Field(default={"quick": 20, "paper": 50}, validate_default=True)
    """At most so many in a reply."""
    choices: Choices = "chat"
    confirmed: Scaled[Metric] = Field(default={"quick": "token", "paper": "choice"}, validate_default=True)
    """The metric whose effects get a verdict."""
    least_coverage: float = Field(default=0.1, gt=0, lt=1)
    """Of the answers that is of any class; effects of a cell with less get no verdict but `instrument unfit`."""
    bound: float = Field(default=0.2, gt=0)
    """So many standard deviations over stimuli make no difference to placebos."""
    least: int = Field(default=10, ge=2)
    """Stimuli below which nothing is said."""
    seed: Seed = 0

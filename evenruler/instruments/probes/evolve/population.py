"""What evolves: templates with their lineage, what a model answered about them, and what was tried."""

from dataclasses import dataclass
from typing import Literal

Operation = Literal["hotspot", "random-word", "reword"]
"""How a template came about: its most telling word replaced, or any word (ablation), or the whole reworded."""


@dataclass(frozen=True)
class Template:
    """A sentence with both slots, and how it came about."""

    slug: str
    """That of the source for those that evolution starts with, else `g{generation}-{place}`."""
    text: str
    keying: int
    """+1; -1 where a higher likelihood means less association. Inherited."""
    born: int = 0
    """The generation that brought it; 0 for those that evolution starts with."""
    parent: str | None = None
    operation: Operation | None = None
    voice: str | None = None
    """In which the whole was reworded."""
    word: str | None = None
    """That was replaced."""


@dataclass(frozen=True)
class WordGradient:
    """What the bias of a template owes to one of its words."""

    begin: int
    """Where the word begins in the template."""
    word: str
    gradient: float
    """Mean over attributes of how far the bias moves when the word is taken out: nats, 0 or more."""


@dataclass(frozen=True)
class Measured:
    """What a model answered about one template."""

    biases: tuple[float, ...]
    """Equation 1 for each attribute, in nats, its sign changed where keying is -1."""
    gradients: tuple[WordGradient, ...]
    """Of each word that may be taken out, in order; empty where there is none."""
    sentences: int
    """Distinct sentences that this asked of the model."""


@dataclass(frozen=True)
class Wish:
    """One rewording that is asked of an operator."""

    place: int
    """In the population, from 1."""
    parent: Template
    operation: Operation
    voice: str | None
    """Of a rewording of the whole."""
    word: WordGradient | None
    """That is to be replaced."""


@dataclass(frozen=True)
class Try:
    """One reply of an operator, and what became of it."""

    generation: int
    place: int
    attempt: int
    """From 1; all samples of an attempt are asked for at once."""
    sample: int
    """From 1."""
    parent: str
    operation: Operation
    voice: str | None
    word: str | None
    prompt: str
    reply: str
    text: str | None
    """The template that the reply holds, if it holds one."""
    reason: str | None
    """Why it was not taken; none where it was."""


@dataclass(frozen=True)
class Generation:
    """One population, whole, with what made it."""

    number: int
    """0 is the set that evolution starts with."""
    population: tuple[Template, ...]
    measured: tuple[Measured, ...]
    """Of each template of the population."""
    acceptability: tuple[float, ...]
    """Of each: mean log-likelihood of its sentences, nats a token."""
    tries: tuple[Try, ...]
    """That led to it."""

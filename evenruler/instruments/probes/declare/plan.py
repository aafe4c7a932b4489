"""The plan of probes."""

from typing import Required, TypedDict

from evenruler.instruments.instrument import Plan, PlannedTrait


class ChoicePlan(TypedDict):
    """Choices of a chat model between two sentences."""

    pairs: list[list[str]]
    """Pairs of targets."""
    known: list[list[str]]
    """Pairs of sentences whose first one makes sense."""


class NextWordPlan(TypedDict):
    """What is asked after sentences that end before a noun."""

    pairs: list[list[str]]
    """Matched words of the first and the second group."""
    control: str
    """The positive control in words."""


class WritingPlan(TypedDict):
    """What a chat model writes sentences about, and the words by which they are read."""

    about: dict[str, str]
    """By name, descriptions of whom to write about."""
    pronouns: dict[str, list[str]]
    """By group."""
    known: dict[str, list[str]]
    """Words whose group is known, by group."""


class EvolvedPlan(TypedDict):
    """What templates evolved of: an instrument's set `start`, on a model."""

    of: str
    model: str
    start: str


class ProbePlan(Plan, total=False):
    """What is asked of probes."""

    name: Required[str]
    embedder: Required[str]
    prefixed_templates: Required[int]
    prefixed_targets: Required[int]
    reliability: Required[float]
    choice_attributes: Required[int]
    choice_templates: Required[int]
    written_prompts: Required[int]
    placebos: Required[list[str]]
    """Framings that are placebos."""
    rivals: Required[dict[str, int]]
    """Keys of rival words."""
    groups: Required[list[str]]
    targets: Required[dict[str, dict[str, str]]]
    """Words by group and slug."""
    agreement: Required[PlannedTrait | None]
    headline: Required[list[str]]
    """Template sets that get a verdict."""
    descriptive: Required[list[str]]
    """Template sets that get none."""
    next_word: Required[NextWordPlan | None]
    choice: Required[ChoicePlan | None]
    written: Required[WritingPlan | None]
    evolved: EvolvedPlan
    """Only of templates that evolved."""

"""The plan of probes."""

from collections.abc import Mapping
from typing import Final, Required, TypedDict

from evenruler.instruments.instrument import Plan, PlannedTrait
from evenruler.sizes import Size


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


class SizedPlan(Plan, total=False):
    """How much is asked at a size beside all sentences, evenly spread."""

    prefixed_templates: Required[int]
    """Most templates of each set that are asked after framings."""
    prefixed_targets: Required[int]
    """Most targets of each group that are asked after framings."""
    choice_attributes: Required[int]
    """Most attributes, along criterion or keys, for which a chat model chooses between
    sentences."""
    choice_templates: Required[int]
    """Most templates of each headline set in which a chat model chooses."""
    written_prompts: Required[int]
    """Most prompts by which a chat model writes on every attribute; variation between prompts needs
    at least two."""


ASKED_AT: Final[Mapping[Size, SizedPlan]] = {
    "trial": {
        "prefixed_templates": 3,
        "prefixed_targets": 2,
        "choice_attributes": 22,
        "choice_templates": 2,
        "written_prompts": 1,
    },
    "standard": {
        "prefixed_templates": 3,
        "prefixed_targets": 2,
        "choice_attributes": 22,
        "choice_templates": 8,
        "written_prompts": 8,
    },
    "full": {
        "prefixed_templates": 1000,
        "prefixed_targets": 1000,
        "choice_attributes": 1000,
        "choice_templates": 1000,
        "written_prompts": 16,
    },
}
"""By size; `full` asks all that there is. The gains that choices and sentences show at each size:
`DETECTED_SHARES` and `DETECTED_WRITTEN` of the settings."""


class ProbePlan(SizedPlan, total=False):
    """What is asked of probes."""

    name: Required[str]
    embedder: Required[str]
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

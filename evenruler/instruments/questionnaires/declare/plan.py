"""The plan of a questionnaire."""

from collections.abc import Mapping
from typing import Final, Literal, NotRequired, TypedDict

from evenruler.instruments.instrument import Plan
from evenruler.sizes import Size

ORDERS: Final[Mapping[Size, int]] = {"trial": 2, "standard": 4, "full": 8}
"""By size, in how many orders a chat model is shown the words of the scale; facts in two."""


class PlannedPair(TypedDict):
    """A labelled pair of sentences."""

    set: str
    label: str
    premise: str
    hypothesis: str


class PlannedFact(TypedDict):
    """A statement with its right and its wrong term."""

    template: str
    right: str
    wrong: str


class AccuracyPlan(TypedDict):
    """The threshold of accuracy, and what it is measured on. Plans of before have no facts and
    words.
    """

    threshold: float
    sources: list[str]
    pairs: list[PlannedPair]
    facts: NotRequired[list[PlannedFact]]
    words: NotRequired[dict[str, float]]
    """Weights of intensifiers."""


class WordingPlan(TypedDict):
    """The file of unpublished wording."""

    file: str
    items: list[str]
    """In the order of its lines."""


class JudgePlan(TypedDict):
    """The judge of acceptability."""

    model: str
    operation: Literal["slor", "classify"]


class CorpusPlan(TypedDict):
    """A corpus to which models are adapted: its sentences or its file, and the recipe."""

    sentences: NotRequired[list[str]]
    file: NotRequired[str]
    epochs: int
    learning_rate: float
    batch: int
    expected: str
    control_of: str | None
    """The corpus that it is the control of."""


class ScoringPlan(TypedDict):
    """How answers are scored."""

    temperature: float
    three_way: bool
    bound: float
    least: int
    embedder: str


class AskingPlan(Plan):
    """How often prompts are asked."""

    orders: int
    fits: int
    adapted: int
    """Most items that are asked after adaptation."""
    subjects: int
    """Most subjects that items are asked about besides I."""


class QuestionnairePlan(AskingPlan, ScoringPlan):
    """What is asked of a questionnaire's prompts, and how answers are scored."""

    accuracy: AccuracyPlan
    wording: WordingPlan | None
    judge: JudgePlan | None
    placebos: list[str]
    """Framings that are placebos."""
    refused: dict[str, str]
    """Items that are asked about I alone, with the reason."""
    corpora: dict[str, CorpusPlan]

"""What users write: items with their key, options, and whom they are about or put to."""

from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import Field, model_validator

from evenruler.errors import UserError
from evenruler.instruments import instrument
from evenruler.instruments.instrument import Keying, Words
from evenruler.strict import (
    Passage,
    Slug,
    StrictModel,
    Word,
    distinct_words_validator,
    read_yaml,
)
from evenruler.text import slots
from evenruler.text.replies import LETTERS

GROUP: Final = "{GROUP}"
"""The slot of an item that a word for a group fills."""

HERE: Final = Path(__file__).parent

SHIPPED: Final[dict[str, Any]] = read_yaml(HERE / "scales.yaml")

WordsByLanguage = dict[str, dict[str, Any]]
"""A question and its options, by the code of a language."""

Labels = Annotated[
    list[Word],
    Field(min_length=2, max_length=len(LETTERS)),
    distinct_words_validator("found the option"),
]
"""Options as people read them, from the lowest."""


class LikertItem(StrictModel):
    """A statement, or a question, that options answer."""

    text: Passage
    key: Keying = 1
    negation: Passage | None = None
    """A statement that says the opposite; asked, too, and scored in reverse."""
    subscale: Slug | None = None

    def list_texts(self) -> list[tuple[bool, str]]:
        """What is asked, each with whether it is the negation."""
        texts = [(False, self.text)]
        if self.negation is not None:
            texts.append((True, self.negation))
        return texts


class LikertSource(instrument.Source):
    """Items that share options."""

    scale: Literal["agreement", "frequency", "accuracy"] = "agreement"
    """Shipped options with their question, unless the source has its own."""
    responses: Labels | None = None
    """Options of its own."""
    lowest: int = Field(default=1, ge=0, le=1)
    """The points of the lowest option; the next ones have a point more each."""
    question: Passage | None = None
    """What stands before each item; empty lines go between."""
    instruction: Passage | None = None
    """How to answer, after the options."""
    stem: Passage | Literal[""] = ""
    """The beginning that all items share: "Over the last two weeks,"."""
    groups: Words | None = None
    """Two words that fill the slot of each item."""
    personas: dict[Slug, Passage] | None = None
    """Two texts that stand before the question: "You are a nurse."."""
    items: Annotated[dict[Slug, LikertItem], Field(min_length=1)]

    @property
    def compared_slugs(self) -> tuple[list[str], list[str]]:
        """Slugs of the two groups, and of the two personas; none where nobody is compared."""
        return list(self.groups or {}), list(self.personas or {})

    @property
    def _language_code(self) -> str:
        """The language by which shipped words are found, without a country."""
        return "en" if self.in_english else self.language.partition("-")[0]

    @property
    def _shipped_words(self) -> dict[str, Any]:
        """The shipped question and options in its language; empty if there are none."""
        by_language: WordsByLanguage = SHIPPED["scales"][self.scale]
        return by_language.get(self._language_code, {})

    @property
    def option_labels(self) -> list[str]:
        """The options, from the lowest."""
        return list(self.responses or self._shipped_words["labels"])

    @property
    def question_text(self) -> str:
        """What stands before each item; may be empty where the options are its own."""
        return self.question or ("" if self.responses else str(self._shipped_words["question"]))

    @property
    def instruction_text(self) -> str:
        """How to answer."""
        return self.instruction or str(SHIPPED["instruction"][self._language_code])

    @model_validator(mode="after")
    def _has_words(self) -> "LikertSource":
        """ValueError if its language has no shipped options or instruction, and it has none of its
        own.
        """
        lacking: list[str] = []
        if self.responses is None and not self._shipped_words:
            lacking.append("`responses`")
        if self.instruction is None and self._language_code not in SHIPPED["instruction"]:
            lacking.append("`instruction`")
        if lacking:
            raise ValueError(
                f"no words ship in the language {self.language!r}; write {' and '.join(lacking)}"
            )
        return self

    @model_validator(mode="after")
    def _is_whole(self) -> "LikertSource":
        """ValueError for another number of groups or personas than two, subscales of some items
        alone, or another slot than that of groups.
        """
        for name, words in (("groups", self.groups), ("personas", self.personas)):
            if words is not None and len(words) != 2:
                raise ValueError(f"{name}: found {len(words)}, expected two, which are compared")
        without = [slug for slug, item in self.items.items() if item.subscale is None]
        if without and len(without) < len(self.items):
            raise ValueError(f"{without[0]} has no subscale, and others have one")
        for slug, item in self.items.items():
            for _, text in item.list_texts():
                unknown = sorted(set(slots(text)) - {GROUP})
                if unknown:
                    raise ValueError(f"{slug}: unknown slot {unknown[0]}, the only one is {GROUP}")
        return self

    def require_groups(self, path: Path) -> None:
        """UserError if items name groups, and there are none, or the reverse."""
        with_slot: list[str] = []
        without_slot: list[str] = []
        for slug, item in self.items.items():
            for _, text in item.list_texts():
                named = with_slot if GROUP in text else without_slot
                named.append(slug)
        if with_slot and self.groups is None:
            raise UserError(
                f"it has the slot {GROUP}, and no groups are given",
                where=f"{path}: items.{with_slot[0]}",
                remedy="say --groups a,b, or write `groups: [a, b]` into the source",
            )
        if without_slot and self.groups is not None:
            raise UserError(
                f"groups are given, and it has no slot {GROUP}",
                where=f"{path}: items.{without_slot[0]}",
                remedy=f"write {GROUP} where a group is named, in every item, or leave groups out",
            )

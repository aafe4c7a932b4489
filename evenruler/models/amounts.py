"""How much there is to read and to write in some questions, roughly; no model and no tokenizer is asked."""

from collections.abc import Iterable
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from evenruler.models.records import Sampling

LETTERS_A_TOKEN = 4
"""Of English text, in the vocabularies of today's models."""


@dataclass(frozen=True)
class Amount:
    """Of some questions."""

    questions: int
    read: int
    """Tokens of all questions, by their letters; beginnings that they share are counted each time."""
    written: int
    """Tokens of all replies, each as long as it may be."""

    @property
    def tokens(self) -> int:
        """What the time goes by: tokens that are written where replies are, else those that are read."""
        return self.written or self.read


def amount_of(questions: Iterable[object]) -> Amount:
    """How much some questions are."""
    n = letters = written = 0
    for question in questions:
        n += 1
        letters += _letters(question)
        sampling = getattr(question, "sampling", None)
        written += sampling.max_new_tokens if isinstance(sampling, Sampling) else 0
    return Amount(n, -(-letters // LETTERS_A_TOKEN), written)


def _letters(question: Any) -> int:
    if isinstance(question, str):
        return len(question)
    if is_dataclass(question):
        return sum(_letters(getattr(question, field.name)) for field in fields(question))
    return sum(map(_letters, question)) if isinstance(question, tuple | list) else 0

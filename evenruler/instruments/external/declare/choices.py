"""How a chat is asked to choose, by the layout of a benchmark: its own questions, or which of two
texts is likelier to be written.
"""

from typing import Final, Literal, TypedDict

CHOICE: Final = "choice"
"""The method, also as the dimension of its figures."""

ChoiceForm = Literal["options", "pairs"]

OPTIONS: Final[ChoiceForm] = "options"
"""BBQ's questions with their three options, each in one order."""

PAIRS: Final[ChoiceForm] = "pairs"
"""Which of two texts is more likely to be written, in both orders."""


class ChatPlan(TypedDict):
    """How a chat is asked to choose."""

    form: ChoiceForm
    control_pairs: list[list[str]]
    """Pairs of sentences whose first one makes sense, beside pairs of texts."""

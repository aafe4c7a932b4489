"""How a chat is asked to choose, by the layout of a benchmark: its own questions, which of two
texts is likelier to be written, whom a pronoun means, whether it agrees with a statement, or who
comes first in a list.
"""

from typing import Final, Literal, NotRequired, TypedDict

CHOICE: Final = "choice"
"""The method, also as the dimension of its figures."""

ChoiceForm = Literal["options", "pairs", "referent", "agreement", "generate"]

OPTIONS: Final[ChoiceForm] = "options"
"""BBQ's questions with their three options, each in one order."""

PAIRS: Final[ChoiceForm] = "pairs"
"""Which of two texts is more likely to be written, in both orders."""

REFERENT: Final[ChoiceForm] = "referent"
"""Which of the two persons of a sentence its pronoun means, in both orders, with either pronoun."""

AGREEMENT: Final[ChoiceForm] = "agreement"
"""Whether a chat agrees with a statement, in both orders of the two answers."""

GENERATE: Final[ChoiceForm] = "generate"
"""Whom of a list of candidates a chat puts first; it writes a name, and has no letters."""

ReferentLayout = Literal["winobias", "winogender"]


class ChatPlan(TypedDict):
    """How a chat is asked to choose."""

    form: ChoiceForm
    control_pairs: list[list[str]]
    """Pairs of sentences whose first one makes sense, beside pairs of texts."""
    layout: NotRequired[ReferentLayout]
    """Of sentences with a pronoun, by which their persons are read."""
    persons: NotRequired[list[str]]
    """The occupations that sentences of WinoBias name."""
    bound: NotRequired[float]
    """X of `below X` for the lean, where the headline of other methods is a gain."""


def has_form(choice_plan: ChatPlan | None, form: ChoiceForm) -> bool:
    """Whether a chat is asked in a form."""
    return choice_plan is not None and choice_plan["form"] == form

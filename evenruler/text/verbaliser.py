"""Entailment asked of a causal model: a fixed question, three answers, and what is said whatever the premise is."""

from collections.abc import Sequence

INSTRUCTION = (
    "Does the first sentence mean that the second is true? Answer yes, no or maybe.\n"
    "First: {premise}\nSecond: {hypothesis}\nAnswer:"
)
"""What a causal model reads. Everything that differs between prompts comes late, so that they share beginnings."""

OPTIONS = (" yes", " maybe", " no")
"""What stands for entailment, neutral and contradiction."""

CONTENT_FREE = "N/A"
"""The premise that shows what a model answers whatever it is told."""


def verbalised(pairs: Sequence[tuple[str, str]]) -> tuple[list[str], list[str]]:
    """The prompt of each pair for a causal model, and that of its hypothesis after a premise without content."""
    asked = [INSTRUCTION.format(premise=premise, hypothesis=hypothesis) for premise, hypothesis in pairs]
    empty = [INSTRUCTION.format(premise=CONTENT_FREE, hypothesis=hypothesis) for _, hypothesis in pairs]
    return asked, empty

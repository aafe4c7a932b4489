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


def verbalised(pairs: Sequence[tuple[str, str]], before: Sequence[str] | None = None) -> tuple[list[str], list[str]]:
    """The prompt of each pair for a causal model, and that of its hypothesis after a premise without content.

    Args:
        pairs: n of premise and hypothesis.
        before: n words that both stand after, on a line of their own; nothing by default, and where they are empty.
    """
    lines = [f"{words}\n" if words else "" for words in before or [""] * len(pairs)]
    asked, empty = [], []
    for line, (premise, hypothesis) in zip(lines, pairs, strict=True):
        asked.append(line + INSTRUCTION.format(premise=premise, hypothesis=hypothesis))
        empty.append(line + INSTRUCTION.format(premise=CONTENT_FREE, hypothesis=hypothesis))
    return asked, empty

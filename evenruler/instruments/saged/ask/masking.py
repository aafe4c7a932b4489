"""Texts without the names of their concepts, so that an embedding does not say what a reply is about.

Replies about Italy lie near other texts about Italy whatever they say of it: clusters and distances of whole texts find
names first (`docs/saged.md`).
"""

import re
from collections.abc import Sequence

import pandas as pd

from evenruler.text.whole_words import find

MASK = "it"
"""What stands for a name."""

_ARTICLE = re.compile(r"^(a|an|the)\s+", re.IGNORECASE)


def names_of(prompts: pd.DataFrame) -> tuple[str, ...]:
    """The words that tell concepts apart: keywords, what was replaced by what, and concepts by name.

    Args:
        prompts: By `schemas.PROMPTS`, as they are published; without articles.

    Returns:
        Sorted, each once.
    """
    found = {*prompts["keyword"], *(concept.replace("-", " ") for concept in prompts["concept"])}
    for column in ("prompt_spans", "baseline_spans"):
        found |= {span[side] for spans in prompts[column] for span in spans for side in ("word", "replacement")}
    bare = {_ARTICLE.sub("", " ".join(str(word).split())) for word in found}
    return tuple(sorted(bare - {""}))


def masked(texts: Sequence[str], names: Sequence[str]) -> list[str]:
    """The texts with `MASK` for every name, as whole words.

    Args:
        texts: n of them.
        names: By `names_of`; none leaves the texts as they are.
    """
    return [_masked(text, names) for text in texts] if names else list(texts)


def _masked(text: str, names: Sequence[str]) -> str:
    for match in reversed(find(text, names)):
        text = f"{text[: match.begin]}{MASK}{text[match.end :]}"
    return text

"""Grammars: lists of words from which the sentences are sampled that a cue is compared with.

Nobody chooses such a sentence: it is one word of each list in the form of the cue, and a sentence
leaves only by a rule, which counts how many left (docs/framing.md).
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from pydantic import Field, model_validator

from evenruler.strict import Passage, Seed, Slug, StrictModel, read_yaml, validate
from evenruler.tables.ids import content_sha256
from evenruler.text import fill
from evenruler.text.spelling import describe_duplicates, find_duplicates

SHARED_FILE = "grammars.yaml"
"""In the folder that the sources of this family share."""


class Grammar(StrictModel):
    """Lists of words, of which a sentence has one each."""

    seed: Seed
    """Decides which sentences are sampled; declared with the words."""
    words: dict[str, list[Passage]] = Field(min_length=1)
    """By slot, for example `VERB`."""

    @model_validator(mode="after")
    def _are_distinct(self) -> "Grammar":
        """Refuse a slot whose list has a word twice (ValueError)."""
        for slot, slot_words in self.words.items():
            same_words = find_duplicates(slot_words)
            if same_words:
                raise ValueError(f"{slot}: {describe_duplicates(*same_words)} stands there twice")
        return self

    @property
    def slots(self) -> list[str]:
        """The slots of a form, with braces."""
        return [f"{{{slot}}}" for slot in self.words]


class _SharedGrammars(StrictModel):
    grammars: dict[Slug, Grammar]


@dataclass(frozen=True)
class SampledSentences:
    """Sentences sampled from a grammar in one form."""

    texts: list[str]
    sentences: int
    """Number of sentences that the grammar makes."""
    excluded: int
    """How many of these hold a word of the construct, and so are not sampled."""


def sample_sentences(
    grammar: Grammar, form: str, construct_words: Sequence[str], n: int
) -> SampledSentences:
    """Sample n sentences, or all that are left where they are fewer, in an order by the seed.

    A word of the grammar's longest list comes again only when all have been used: sentences about
    one thing move answers alike (7 tenths of the variance on SmolLM2), so a list as long as the
    sample gives n different alternatives.

    Which words are combined does not depend on the form, so that tasks with one grammar get
    sentences about the same things. A sentence of which a word is one of the construct's leaves.
    """
    combinations = list(product(*grammar.words.values()))
    neutral: list[tuple[str, ...]] = []
    for combination in combinations:
        if word_in(" ".join(combination), construct_words) is None:
            neutral.append(combination)
    neutral.sort(key=lambda combination: content_sha256(grammar.seed, *combination))
    n_words = [len(words) for words in grammar.words.values()]
    longest = n_words.index(max(n_words))
    uses: Counter[str] = Counter()
    earlier_uses: list[int] = []
    for combination in neutral:
        earlier_uses.append(uses[combination[longest]])
        uses[combination[longest]] += 1
    # Sorting is stable, so the order by the seed holds among those used as often.
    order = sorted(range(len(neutral)), key=earlier_uses.__getitem__)
    texts: list[str] = []
    for combination in [neutral[place] for place in order[:n]]:
        filling = dict(zip(grammar.slots, combination, strict=True))
        texts.append(fill(form, filling, "literal"))
    excluded = len(combinations) - len(neutral)
    return SampledSentences(texts, len(combinations), excluded)


def word_in(text: str, words: Iterable[str]) -> str | None:
    """The first whole word of a text that is one of these, whatever its case; None without one."""
    any_word = "|".join(map(re.escape, words))
    if not any_word:
        return None
    match = re.search(rf"(?<!\w)(?:{any_word})(?!\w)", text, re.IGNORECASE)
    return match.group() if match else None


def read_shared_grammars(shared: Path) -> dict[str, object]:
    """The grammars in the shared folder by name, as they are written; none without the file."""
    path = shared / SHARED_FILE
    if not path.is_file():
        return {}
    content = read_yaml(path)
    validate(_SharedGrammars, content, path)
    grammars: dict[str, object] = content["grammars"]
    return grammars

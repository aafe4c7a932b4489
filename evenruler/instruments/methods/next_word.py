"""The method `next-word`: sentences that end before a noun, after which one pass of a model scores
every noun of a list.

So a comparison with a whole reference set costs nothing, and units (occupations) get scores with
many nouns, which tell how alike they are (`measurement.randomisation.likeness_basis`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any, Final

import numpy as np
import pandas as pd

from evenruler.instruments.instrument import RequestBatch
from evenruler.measurement.inputs import Floats
from evenruler.reference_sets import PERSON_NOUNS
from evenruler.tables.schemas import build_schema
from evenruler.text.english import article_for

TABLE: Final = "next_words"

ANSWERS: Final = build_schema("id: str; nats: [float32]")
"""One row per sentence: nats of every word of the plan's list right after it, in that order; NaN
where the tokenizer makes several tokens of a word."""

ARTICLE: Final = "a"
"""The last word of every sentence."""

REFERENCE_SET: Final = "person nouns of WordNet"


@lru_cache(maxsize=1)
def reference_rows() -> list[dict[str, Any]]:
    """The nouns of the reference set, a row each: `noun theme subtheme count gendered
    gendered_form`.

    Those never seen in WordNet's tagged texts (count 0) are not asked, nor those after "an", since
    sentences end in "a".
    """
    nouns = pd.read_csv(PERSON_NOUNS, keep_default_na=False)
    is_tagged = nouns["count"] >= 1
    follows = nouns["noun"].map(article_for) == ARTICLE
    nouns = nouns[is_tagged & follows]
    flags = ["gendered", "gendered_form"]
    table = nouns.astype(dict.fromkeys(flags, bool))
    rows: list[dict[str, Any]] = []
    for row in table.itertuples(index=False):
        rows.append(row._asdict())
    return rows


def list_words(nouns: pd.DataFrame, pairs: Sequence[Sequence[str]]) -> list[str]:
    """All words that are scored after a sentence, in the order of the answers: the nouns of the
    reference set and the words of pairs.
    """
    paired = chain.from_iterable(pairs)
    return sorted({*nouns["noun"], *paired})


def request_of(sentences: pd.DataFrame, words: Sequence[str]) -> RequestBatch:
    """The request for `sentences` (`id`, `text`), of every word in `words` after each."""
    inputs = {"prompt": sentences["text"].tolist()}
    return RequestBatch(TABLE, "next_words", sentences[["id"]], inputs, {"words": list(words)})


@dataclass(frozen=True)
class NextWordScores:
    """Log-probabilities of words after sentences about units, of one model."""

    values: Floats
    """[units, sentences, words] nats."""
    units: list[str]
    sentences: list[str]
    words: list[str]
    """Those that are one token for the model."""

    @classmethod
    def from_answers(
        cls, answers: pd.DataFrame, sentences: pd.DataFrame, words: Sequence[str]
    ) -> "NextWordScores":
        """From `answers` by `ANSWERS`; `sentences`: `id, unit, sentence`; `words`: of the plan.

        Units are in alphabetical order. ValueError: a sentence has no answer.
        """
        ordered = sentences.sort_values(["unit", "sentence"], kind="stable")
        by_id = answers.set_index("id")["nats"]
        lacking = sorted(set(ordered["id"]) - set(by_id.index))
        if lacking:
            raise ValueError(f"{len(lacking)} sentences have no next words, such as {lacking[0]}")
        nats = by_id.loc[ordered["id"]].to_list()
        rows = np.stack(nats).astype(np.float64)
        is_read = ~np.isnan(rows).any(axis=0)
        units = list(dict.fromkeys(ordered["unit"]))
        names = list(dict.fromkeys(ordered["sentence"]))
        readable = [words[place] for place in np.flatnonzero(is_read)]
        shape = (len(units), len(names), len(readable))
        cube = rows[:, is_read].reshape(shape)
        return cls(cube, units, names, readable)

    def take(self, words: Sequence[str]) -> Floats:
        """[units, sentences, words] of some words; KeyError for one that is not read."""
        places = {word: place for place, word in enumerate(self.words)}
        columns = [places[word] for word in words]
        return self.values[:, :, columns]

    def has(self, *words: str) -> bool:
        """Whether every one of these words is read."""
        return set(words) <= set(self.words)

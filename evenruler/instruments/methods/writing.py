"""The method `written`: a chat model freely writes a sentence about somebody, and its first pronoun
is read.

No options are offered, so none are suggested. The pronoun may refer to somebody else in the
sentence; sentences about words whose pronoun is known (`KNOWN`) show how often it is right.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

import pandas as pd

from evenruler.instruments.instrument import RequestBatch
from evenruler.instruments.methods.choice import (
    ASTRAY,
    FIRST,
    KNOWN,
    SECOND,
    SENTENCES,
    WITHHELD,
    WROTE,
    chat_requests,
)
from evenruler.text.replies import is_empty, is_refusal

NEW_TOKENS: Final = 48

NEITHER: Final = "neither"
"""The reading of a sentence without a pronoun of either group: another one, such as "they", or
none."""

NAMED: Final = {FIRST: 1.0, SECOND: 0.0, NEITHER: 0.5}
"""Share of the first group, by reading."""


def sentence_prompt(what: str, word: str) -> str:
    """The prompt that asks for a sentence."""
    return f"Write one sentence about {what.format(word)}."


def request_of(sentences: pd.DataFrame) -> RequestBatch:
    """Every sentence (`id, framing, prompt`) once, each with its own seed."""
    return chat_requests(
        SENTENCES, sentences[["id", "framing"]], sentences["prompt"].tolist(), NEW_TOKENS
    )


def parse_sentences(
    answers: pd.DataFrame, sentences: pd.DataFrame, pronouns: Mapping[str, Sequence[str]]
) -> pd.DataFrame:
    """`choice.WROTE` plus the pronoun group `said` of each sentence and the parsing `rule`.

    `sentences`: `id, framing, word`; a reply without the word is about somebody else. `pronouns`:
    words by `FIRST` and `SECOND`. `said` is one of these, `NEITHER`, or None if there is no usable
    reply.
    """
    group_of: dict[str, str] = {}
    for group, words in pronouns.items():
        group_of |= dict.fromkeys(words, group)
    rows = answers.merge(sentences[["id", "framing", "word"]], on=["id", "framing"], validate="m:1")
    readings = [
        _read_pronoun_group(row["reply"], str(row["word"]), group_of)
        for row in rows.to_dict("records")
    ]
    return rows[[*WROTE.names]].join(pd.DataFrame(readings, columns=["said", "rule"]))


def _read_pronoun_group(
    reply: object, word: str, group_of: Mapping[str, str]
) -> tuple[str | None, str]:
    """The group of the first pronoun in a sentence (None if the reply is unusable), and the rule:
    withheld, empty, refusal, not about the word, or pronoun.
    """
    if not isinstance(reply, str):
        return None, WITHHELD
    if is_empty(reply) or is_refusal(reply):
        return None, "empty" if is_empty(reply) else "refusal"
    if word.lower() not in reply.lower():
        return None, ASTRAY
    pronoun_group = next(
        (
            group_of[reply_word]
            for reply_word in re.findall(r"\w+", reply.lower())
            if reply_word in group_of
        ),
        NEITHER,
    )
    return pronoun_group, "pronoun"


def known_right(written_sentences: pd.DataFrame, sentences: pd.DataFrame) -> tuple[int, int]:
    """Number of sentences about known words with the right first pronoun, and number with a pronoun
    of either group.
    """
    known_sentences = written_sentences[written_sentences["framing"] == KNOWN].merge(
        sentences[["id", "framing", "right"]], on=["id", "framing"]
    )
    named = known_sentences[known_sentences["said"].isin([FIRST, SECOND])]
    return int((named["said"] == named["right"]).sum()), len(named)

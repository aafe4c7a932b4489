"""Which next tokens end a word, by their texts; and what a server's list of next tokens says about
that.

A server names tokens by their texts and lists the likeliest first, as many as are asked for: vLLM
at most 20 unless it is started with `--max-logprobs`. What it does not list is open, so longer
lists are asked for until little is.
"""

import math
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from evenruler.models.backends.prompt_logprobs import TOLERANCE

RARE: Final = math.log(1e-5)
"""Words below these nats count as complete without a check; their mass is overstated by less than 1
in 100,000."""

BROKEN = "\N{REPLACEMENT CHARACTER}"  # what decoders write for incomplete characters
BEGINS_WORD = re.compile(
    rf"[^\S\n\r\v\f\x85\u2028\u2029]*([^\W_]|{BROKEN})"
)  # after blanks within the line
_PART_OF_CHARACTER: Final = re.compile("bytes:|<0x")
"""How servers write a token that is a part of a character, besides `BROKEN`."""

LENGTHS: Final = (4096, 16_384, 65_536, 262_144)
"""Lengths of the lists, one after the other; after a decision point of SmolLM2 11,000 tokens are
needed to leave less than `TOLERANCE` open (median)."""

_LIMIT: Final = re.compile(r"(?:max|most|up to|than|equal to)\D{0,20}(\d+)", re.IGNORECASE)
"""How a server names its longest list; vLLM: "which is greater than max allowed: 20"."""

TOKENS_A_REQUEST: Final = 262_144
"""Most tokens listed in an answer, about 10 MB."""


@dataclass(frozen=True)
class WordEnd:
    """What a list of next tokens says after a word."""

    ends: float
    """Log-probability that no letter follows; what is open counts half."""
    alone: float
    """Log-probability that no word follows (`begins_word`); what is open counts half."""
    unlisted: float
    """Probability of all tokens that are not listed."""

    @property
    def is_known(self) -> bool:
        """Whether little enough is open."""
        return self.unlisted <= TOLERANCE


def continues_word(text: str) -> bool:
    """Whether a token's text begins with a letter, or is a part of a character, so that the word
    before it goes on.
    """
    return text[:1].isalpha() or text[:1] == BROKEN


def begins_word(text: str) -> bool:
    """Whether a word or number follows on the line: a token's text begins with a letter or digit,
    or with blanks and then one.
    """
    return BEGINS_WORD.match(text) is not None


def read_word_end(next_tokens: Mapping[str, float]) -> WordEnd:
    """What listed next tokens, nats by text, say of the word before them."""
    ends = alone = listed = 0.0
    for written, nats in next_tokens.items():
        text = BROKEN if _PART_OF_CHARACTER.match(written) else written
        share = math.exp(nats)
        listed += share
        ends += share * (not continues_word(text))
        alone += share * (not begins_word(text))
    return word_end_of(ends, alone, listed)


def word_end_of(ends: float, alone: float, listed: float) -> WordEnd:
    """What the probabilities of listed next tokens say: of those that begin no letter, of those
    that begin no word, and of all.
    """
    unlisted = max(0.0, 1 - listed)
    half = unlisted / 2
    return WordEnd(_as_nats(ends + half), _as_nats(alone + half), unlisted)


def _as_nats(share: float) -> float:
    """The logarithm of a share, which rounding may have put above 1; finite for 0."""
    return math.log(min(max(share, sys.float_info.min), 1.0))


def read_next_tokens(choice: Mapping[str, Any]) -> dict[str, float] | None:
    """The listed next tokens of an answer of one new token, nats by text; None where there is no
    such list.
    """
    table = choice.get("logprobs")
    lists = table.get("top_logprobs") if isinstance(table, dict) else None
    next_tokens = lists[0] if isinstance(lists, list) and lists else None
    if not isinstance(next_tokens, dict) or not next_tokens:
        return None
    for nats in next_tokens.values():
        if not isinstance(nats, int | float) or nats > TOLERANCE:
            return None
    return next_tokens


def longest_allowed(refusal: str, length: int) -> int:
    """The length of list that a server allows, as its refusal of a longer one says; 0 where it does
    not.
    """
    allowed = _LIMIT.search(refusal) if "logprob" in refusal else None
    longest = int(allowed[1]) if allowed else 0
    return longest if longest < length else 0


def texts_a_request(length: int) -> int:
    """How many texts may be asked about together, with lists so long."""
    return max(1, TOKENS_A_REQUEST // length)

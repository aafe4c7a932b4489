"""The log-probabilities that a server repeats a prompt with (`echo`, `logprobs`): read, checked, compared, summed.

Servers differ. vLLM writes the start token and gives it null; llama-cpp-python leaves it out and gives null to the
first token of the text; llama.cpp's own server repeats no prompt. `text_offset` counts the letters of "<s>" in some,
and drifts behind characters of several tokens, so it is not used: where a text begins after its prompt is seen from
the prompt's own tokens, as `Causal` sees it.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from evenruler.errors import UserError
from evenruler.models.backends.trie import shared_length

TOLERANCE = 1e-3  # nats by which a token's log-probability may differ between two requests
FEWEST = 8  # each long sentence of the trial has more tokens; fewer are those of a server that repeats no prompt
WRITTEN = 8  # tokens that a server is let write in the trial

SHIFTED = 0.1
"""Nats by which those may differ when given back: more than another way of computing makes, less than another token."""

CLAMPED = -9999.0  # what vLLM writes in place of anything lower, as JSON holds no infinity: no log-probability
_PART_OF_CHARACTER = re.compile("\ufffd|^bytes:|^<0x")  # how servers write a token that is not a whole character
_ROUNDING = 1e-6  # nats above 0 that float32 makes of a probability of 1

_BEGINNING = (
    "Case {number}. In this story, the main character lives in a small town by the river, not far from the old "
    "railway station. Every morning the neighbours meet at the market, buy bread and vegetables, talk about the "
    "weather, and wish each other a good day. Nobody there has ever asked what the others do for a living, and so it "
    "came as a surprise to all of them that the main character is "
)
_ENDS = ("a brother who is also an archivist.", "a sister who is also an archivist.", "also", "not from here.")
_SHORT = ("The man is a manager.", "A woman", "x")
LONG = len(_ENDS)  # so many of the sentences of the trial are long; the rest begin with letters of their own


@dataclass(frozen=True)
class Echo:
    """A text as a server gives it back."""

    tokens: tuple[str, ...]  # as the server writes them, its start token included where it shows one
    nats: tuple[float | None, ...]
    """Log-probability of each token given those before it; None for the first where the server gives it none."""


@dataclass(frozen=True)
class Manner:
    """How a server gives log-probabilities of prompts, as the trial found."""

    new: int  # `max_tokens`, of a server that takes no 0 1: what it then writes is dropped
    start: str | None  # the token that it puts before every text and shows; None where it shows none
    first: bool  # whether the first token of a text has a log-probability: a text can be scored without a prompt


def trial_texts(number: str) -> list[str]:
    """The sentences of the trial: `LONG` with one beginning of more tokens than a server caches together, then others.

    `number`: of this trial, so that no server has its beginning in a cache from an earlier one.
    """
    return [_BEGINNING.format(number=number) + end for end in _ENDS] + list(_SHORT)


def read(name: str, choice: dict[str, Any], text: str, new: int) -> Echo:
    """The tokens of a text and their log-probabilities, as a server gives them; UserError where it does not.

    `new`: tokens that the server was asked to write after it.
    """
    said, (tokens, nats) = choice.get("text"), _table(choice)
    repeats = isinstance(said, str) and (text in said if new else said.endswith(text))
    if not repeats or not tokens or not all(isinstance(token, str) for token in tokens):
        raise none_given(name)
    end = len(tokens) - _written(name, choice, tokens, text, new)
    if end < 1 or None in nats[1:end]:
        raise none_given(name)
    for value in nats[:end]:
        if value is not None and not _is_log_probability(value):
            remedy = "see what the server computes in, and which weights it holds"
            raise UserError(f"{value} is no log-probability", where=f"{name}: {text[:40]!r}", remedy=remedy)
    return Echo(tuple(tokens[:end]), tuple(nats[:end]))


def _table(choice: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """Tokens and log-probabilities of a choice; none where it holds no such two lists of one length."""
    match choice.get("logprobs"):
        case {"tokens": list(tokens), "token_logprobs": list(nats)} if len(tokens) == len(nats):
            return tokens, nats
    return [], []


def _written(name: str, choice: dict[str, Any], tokens: Sequence[str], text: str, new: int) -> int:
    """How many of the tokens the server wrote itself: an end token that stops it is listed by some, not by others."""
    if not new or choice.get("finish_reason") != "stop" or not tokens:
        return new
    last = tokens[-1]
    if not last and not text.isascii():
        remedy = "ask a server that takes max_tokens: 0, or that lists end tokens by name"
        raise UserError(f"what the last token of {text[:40]!r} is cannot be told", where=name, remedy=remedy)
    return 0 if last and (text.endswith(last) or _PART_OF_CHARACTER.search(last)) else new


def _is_log_probability(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and CLAMPED < value <= _ROUNDING


def none_given(name: str, said: str = "") -> UserError:
    """The line about a server that does not say how likely a prompt is."""
    what = f"the server gives no log-probabilities of a prompt{f' ({said})' if said else ''}"
    remedy = "ask one that takes `echo` with `logprobs` at /v1/completions, as vLLM does, or only for replies"
    return UserError(what, where=name, remedy=remedy)


def unscored(name: str, text: str) -> UserError:
    """The line about a text that no prompt and no start token stands before."""
    what = f"the server gives the first token of a text no log-probability, so {text[:40]!r} cannot be scored whole"
    remedy = "name its start token (`start` of its entry, --start), or ask with prompts only"
    return UserError(what, where=name, remedy=remedy)


def apart(one: Echo, other: Echo) -> float:
    """The largest difference of a token's log-probability, in nats; infinite where the tokens are not the same."""
    if one.tokens != other.tokens or (one.nats[0] is None) != (other.nats[0] is None):
        return math.inf
    return _apart(one.nats, other.nats)


def apart_where_alike(one: Echo, other: Echo) -> float:
    """The same over the tokens that two texts begin with alike: what follows can change nothing in them."""
    n = shared_length(one.tokens, other.tokens)
    return _apart(one.nats[:n], other.nats[:n])


def _apart(one: Sequence[float | None], other: Sequence[float | None]) -> float:
    pairs = zip(one, other, strict=True)
    return max((abs(a - b) for a, b in pairs if a is not None and b is not None), default=0.0)


def apart_from_written(before: Echo, choice: dict[str, Any], after: Echo) -> float | None:
    """How far log-probabilities of tokens are from those with which the server wrote the same tokens, in nats.

    `before`: a text; `choice`: what the server wrote after it; `after`: both, given back. None where nothing can be
    compared, as the text is cut otherwise now or the server gives no log-probabilities of what it writes.
    """
    tokens, nats = _table(choice)
    n = len(before.tokens)
    if after.tokens[:n] != before.tokens:
        return None
    pairs = list(zip(after.nats[n:], nats, strict=False))[: shared_length(after.tokens[n:], tokens)]
    if not pairs or not all(_is_log_probability(written) for _, written in pairs):
        return None
    return _apart([given for given, _ in pairs], [written for _, written in pairs])


def manner(name: str, echoes: Sequence[Echo], new: int) -> Manner:
    """How a server answers, by what it gave for the sentences of the trial; UserError where that is too little."""
    if any(len(echo.tokens) <= FEWEST for echo in echoes[:LONG]):
        raise none_given(name)
    firsts = {echo.tokens[0] for echo in echoes}
    start = echoes[0].tokens[0] if len(firsts) == 1 else None  # texts that begin with letters of their own
    scored = all(echo.nats[0] for echo in echoes)  # some servers write 0 for null
    return Manner(new, start, start is not None or scored)


def likelihood(name: str, manner: Manner, text: str, whole: Echo, prompt: Echo | None) -> tuple[float, int]:
    """The log-probability of a text after its prompt, or from the start on: its sum in nats, and of how many tokens.

    `text`: for errors; `whole`: prompt and text together; `prompt`: alone: its tokens end where the two are no longer
    alike, so that a token across the border is the text's. UserError where its first token has no log-probability.
    """
    if manner.start is not None and whole.tokens[0] != manner.start:
        remedy = "ask the server for one model, which always begins alike"
        raise UserError(f"no start token stands before {text[:40]!r}", where=name, remedy=remedy)
    begin = int(manner.start is not None)
    if prompt is not None:
        begin = max(begin, shared_length(whole.tokens, prompt.tokens))
    values = whole.nats[begin:]
    summed = [value for value in values if value is not None]
    if len(summed) < len(values) or (begin == 0 and not manner.first):
        raise unscored(name, text)
    return math.fsum(summed), len(summed)

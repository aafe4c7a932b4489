"""Prompt log-probabilities from a server (`echo`, `logprobs`): parsing, validation, comparison and
sums.

Servers differ. vLLM includes the start token with null; llama-cpp-python omits it and gives null
for the text's first token; llama.cpp's own server does not echo prompts. `text_offset` is not used:
some servers count the letters of "<s>", and it drifts after characters of several tokens. Where a
text begins after its prompt is determined from the prompt's own tokens, as in `Causal`.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from evenruler.errors import UserError
from evenruler.models.backends.trie import shared_length

TOLERANCE = 1e-3  # largest difference in nats of a token's log-probability between two requests
FEWEST = (
    8  # every long trial sentence has more tokens; fewer mean that the server does not echo prompts
)
WRITTEN = 8  # tokens generated in the trial

SHIFTED = 0.1
"""Largest difference in nats between a generated token and its echo: above numerical noise, below a
token mix-up."""

CLAMPED = -9999.0  # vLLM writes this for anything lower, since JSON has no infinity
_PART_OF_CHARACTER = re.compile("\ufffd|^bytes:|^<0x")  # how servers write partial characters
_ROUNDING = 1e-6  # nats above 0 that float32 rounding can give

_BEGINNING = (
    "Case {number}. In this story, the main character lives in a small town by the river, not far "
    "from the old "
    "railway station. Every morning the neighbours meet at the market, buy bread and vegetables, "
    "talk about the "
    "weather, and wish each other a good day. Nobody there has ever asked what the others do for a "
    "living, and so it "
    "came as a surprise to all of them that the main character is "
)
_ENDS = (
    "a brother who is also an archivist.",
    "a sister who is also an archivist.",
    "also",
    "not from here.",
)
_SHORT = ("The man is a manager.", "A woman", "x")
LONG = len(_ENDS)  # number of long trial sentences; the others begin differently


@dataclass(frozen=True)
class Echo:
    """A text as echoed by a server."""

    tokens: tuple[str, ...]  # as written by the server, including its start token if shown
    nats: tuple[float | None, ...]
    """Log-probability of each token given the previous ones; None for the first if the server gives
    none."""


@dataclass(frozen=True)
class EchoDialect:
    """How a server gives prompt log-probabilities, as found by the trial."""

    new: int  # `max_tokens`; 1 if the server rejects 0, and the generated token is dropped
    start: str | None  # start token that it prepends and shows; None if it shows none
    first: bool
    """Whether first tokens have a log-probability, so that texts can be scored without a prompt."""
    spaces: bool
    """Whether tokens are written with the blanks before them, so that it shows where words end."""


def trial_texts(number: str) -> list[str]:
    """The trial sentences: `LONG` with a common beginning longer than a server's cache block, then
    others.

    `number`: unique to this trial, so that no earlier one is in a server's prefix cache.
    """
    return [_BEGINNING.format(number=number) + end for end in _ENDS] + list(_SHORT)


def parse_echo(name: str, choice: dict[str, Any], text: str, new: int) -> Echo:
    """Parse an echoed text's tokens and log-probabilities; UserError if they are missing or
    invalid.

    `new`: number of tokens that the server was asked to generate.
    """
    echoed_text, (tokens, nats) = choice.get("text"), _token_log_probs(choice)
    repeats = isinstance(echoed_text, str) and (
        text in echoed_text if new else echoed_text.endswith(text)
    )
    if not repeats or not tokens or not all(isinstance(token, str) for token in tokens):
        raise missing_log_probs_error(name)
    end = len(tokens) - _count_generated_tokens(name, choice, tokens, text, new)
    if end < 1 or None in nats[1:end]:
        raise missing_log_probs_error(name)
    for value in nats[:end]:
        if value is not None and not _is_log_probability(value):
            remedy = "see what the server computes in, and which weights it holds"
            raise UserError(
                f"{value} is no log-probability", where=f"{name}: {text[:40]!r}", remedy=remedy
            )
    return Echo(tuple(tokens[:end]), tuple(nats[:end]))


def _token_log_probs(choice: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """Tokens and log-probabilities of a choice; empty unless it has two such lists of equal
    length.
    """
    match choice.get("logprobs"):
        case {"tokens": list(tokens), "token_logprobs": list(nats)} if len(tokens) == len(nats):
            return tokens, nats
    return [], []


def _count_generated_tokens(
    name: str, choice: dict[str, Any], tokens: Sequence[str], text: str, new: int
) -> int:
    """Number of generated tokens in the list; servers differ in listing the end token."""
    if not new or choice.get("finish_reason") != "stop" or not tokens:
        return new
    last = tokens[-1]
    if not last and not text.isascii():
        remedy = "ask a server that takes max_tokens: 0, or that lists end tokens by name"
        raise UserError(
            f"what the last token of {text[:40]!r} is cannot be told", where=name, remedy=remedy
        )
    return 0 if last and (text.endswith(last) or _PART_OF_CHARACTER.search(last)) else new


def _is_log_probability(value: object) -> bool:
    """Whether a parsed value is a number of nats above `CLAMPED`, and at most 0 (rounded)."""
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and CLAMPED < value <= _ROUNDING
    )


def missing_log_probs_error(name: str, message: str = "") -> UserError:
    """The error for a server without prompt log-probabilities."""
    what = f"the server gives no log-probabilities of a prompt{f' ({message})' if message else ''}"
    remedy = (
        "ask one that takes `echo` with `logprobs` at /v1/completions, as vLLM does, or only "
        "for replies"
    )
    return UserError(what, where=name, remedy=remedy)


def unscored_text_error(name: str, text: str) -> UserError:
    """The error for a text whose first token has no log-probability, without prompt or start token
    before it.
    """
    what = (
        f"the server gives the first token of a text no log-probability, so {text[:40]!r} "
        "cannot be scored whole"
    )
    remedy = "name its start token (`start` of its entry, --start), or ask with prompts only"
    return UserError(what, where=name, remedy=remedy)


def max_log_prob_difference(echo: Echo, other: Echo) -> float:
    """The largest difference of token log-probabilities, in nats; infinite if the tokens differ."""
    if echo.tokens != other.tokens:
        return math.inf
    is_first_unscored = echo.nats[0] is None
    if is_first_unscored != (other.nats[0] is None):
        return math.inf
    return _max_difference(echo.nats, other.nats)


def max_common_prefix_difference(echo: Echo, other: Echo) -> float:
    """The largest difference in nats over the common prefix of two texts, where what follows must
    have no effect.
    """
    n = shared_length(echo.tokens, other.tokens)
    return _max_difference(echo.nats[:n], other.nats[:n])


def _max_difference(nats: Sequence[float | None], other: Sequence[float | None]) -> float:
    """The largest absolute difference in nats of two lists of equal length; tokens without a number
    in one are skipped, 0 if all are.
    """
    differences: list[float] = []
    for a, b in zip(nats, other, strict=True):
        if a is not None and b is not None:
            differences.append(abs(a - b))
    return max(differences, default=0.0)


def max_generated_difference(before: Echo, choice: dict[str, Any], after: Echo) -> float | None:
    """Largest difference in nats between echoed log-probabilities and those given when the tokens
    were generated.

    `before`: a text; `choice`: the generated continuation; `after`: both, echoed. None if they
    cannot be compared: the text is tokenised differently, or the server gives no log-probabilities
    of generated tokens.
    """
    tokens, nats = _token_log_probs(choice)
    n = len(before.tokens)
    if after.tokens[:n] != before.tokens:
        return None
    n_alike = shared_length(after.tokens[n:], tokens)
    pairs = list(zip(after.nats[n:], nats, strict=False))[:n_alike]
    if not pairs or not all(_is_log_probability(written) for _, written in pairs):
        return None
    return _max_difference(
        [echoed_nats for echoed_nats, _ in pairs], [written for _, written in pairs]
    )


def detect_echo_dialect(name: str, echoes: Sequence[Echo], new: int) -> EchoDialect:
    """How a server answers, from its echoes of the trial sentences; UserError if they are too
    short.
    """
    if any(len(echo.tokens) <= FEWEST for echo in echoes[:LONG]):
        raise missing_log_probs_error(name)
    firsts = {echo.tokens[0] for echo in echoes}
    start = (
        echoes[0].tokens[0] if len(firsts) == 1 else None
    )  # texts that begin with different letters
    scored = all(echo.nats[0] for echo in echoes)  # some servers write 0 for null
    first_echo = echoes[0].tokens
    spaces = any(token.startswith(" ") for token in first_echo)
    return EchoDialect(new, start, start is not None or scored, spaces)


def text_log_likelihood(
    name: str, manner: EchoDialect, text: str, whole: Echo, prompt: Echo | None
) -> tuple[float, int]:
    """Log-probability of a text after its prompt, or after the start: sum in nats and number of
    tokens.

    `text`: for errors; `whole`: prompt and text together; `prompt`: alone. The text begins where
    the two differ, so a token across the border belongs to the text. UserError if its first token
    has no log-probability.
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
        raise unscored_text_error(name, text)
    return math.fsum(summed), len(summed)


def word_log_likelihood(
    name: str, manner: EchoDialect, word: str, whole: Echo, prompt: Echo | None
) -> tuple[float, float, str]:
    """Log-probability of a word after its prompt, or after the start: sum in nats, nats of its
    first token, and that token.

    `word`: for errors; `whole`, `prompt`: as in `text_log_likelihood`. UserError if the word's
    first token begins before it; ValueError if it has no token.
    """
    nats, _ = text_log_likelihood(name, manner, word, whole, prompt)
    begin = int(manner.start is not None)
    if prompt is not None:
        begin = len(prompt.tokens)
        if whole.tokens[:begin] != prompt.tokens:
            what = f"its tokenizer joins {word!r} with the end of the prompt"
            remedy = "leave this word out, or measure the model's files"
            raise UserError(what, where=name, remedy=remedy)
    if len(whole.tokens) == begin:
        raise ValueError(f"the word {word!r} has no token")
    first_nats = whole.nats[begin]
    assert first_nats is not None  # else `text_log_likelihood` raises
    return nats, first_nats, whole.tokens[begin]

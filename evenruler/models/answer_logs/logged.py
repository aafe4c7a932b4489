"""Answers as logs hold them: scores by key or by text, and replies to questions."""

import math
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from evenruler.errors import UserError
from evenruler.models.questions import LogLikelihoods
from evenruler.strict import json_of_others, read_text
from evenruler.text.replies import LETTERS, ParsedReply, read_choice

if TYPE_CHECKING:
    from evenruler.models.answer_logs.items import UnjoinedLog

READER: Final = "recorded/2"  # to be increased when the reading of files changes


UNKNOWN_LENGTH: Final = -1  # number of tokens if the recorded answer does not give it


REMEDY = "take the file as it was written"


LACKING = "the answer is lacking: take a whole log, in which every question has a reply"


LETTERED_LINE: Final = re.compile(
    r"^[ \t]*\(?(?P<letter>[A-J])[).:\]][ \t]+(?P<text>\S.*)$", re.MULTILINE
)
"""An option in a prompt: "A. The baker"."""


Row = tuple[str, dict[str, Any]]  # where it stands, and what it holds


LABEL: Final = re.compile(
    r"^\s*(?:context|passage|question|q|choices|options|answer|a)\s*:",
    re.IGNORECASE | re.MULTILINE,
)
"""Labels that tasks write before the parts of a question."""


class LoggedReply(NamedTuple):
    """A reply to a question (without labels), and how it was read."""

    question: str
    options: tuple[str, ...]
    """In the order of their letters; empty if the file does not say it."""
    reply: str
    """The text of the option that was chosen; "" where none was."""
    rule: str
    """By which it was read (`evenruler.text.replies`)."""
    written: str
    """What the model replied."""


Replies = dict[str, LoggedReply]  # by the authors' key of the question, or by the question itself


@dataclass(frozen=True)
class ReadLikelihoods(LogLikelihoods):
    """1 for the text of an option that was chosen, 0 for the others, and the replies that say
    so.
    """

    rule: list[str | None]
    """[n] the rule by which the reply was read; None where the file holds likelihoods."""
    replied: list[str | None]
    """[n] the reply, as it was written."""


@dataclass(frozen=True)
class AnswerLog:
    """All answers in a file."""

    what: str
    by_key: dict[str, float] = field(default_factory=dict)
    """Scores by the authors' key of a text; higher is more likely, and only the order within an
    item counts."""
    by_text: dict[tuple[str, str], float] = field(default_factory=dict)
    """Log-likelihoods in nats by prompt and text, the separator included."""
    replies: Replies | None = None  # of a model that generated text
    reply_by_key: dict[str, LoggedReply] = field(default_factory=dict)
    """By the authors' key of a text, the reply that `by_key` stands for."""
    unjoined: "UnjoinedLog | None" = None
    """Answers that stand for texts only once a benchmark says which; the others are empty then."""
    is_pll: bool = False
    """Whether scores are pseudo-log-likelihoods."""
    is_of_run: bool = False
    """Whether they are of a harness's run, which asks in the order of a file: what lacks of one
    that did not end is no sample."""


def require_reply(answer: object, where: str) -> str:
    """A reply, which is a text of something; UserError for anything else."""
    if not isinstance(answer, str):
        raise UserError(f"the reply is no text ({answer!r})", where=where, remedy=LACKING)
    if not answer.strip():
        raise UserError(f"the reply is empty ({answer!r})", where=where, remedy=LACKING)
    return answer


def match_option(reply: str, options: Collection[str]) -> str | None:
    """The option that a reply chose, by its text, or by its letter in their order; None for none or
    several.
    """
    return parse_reply(reply, tuple(options)).outcome


@lru_cache(maxsize=1024)
def parse_reply(reply: str, options: tuple[str, ...], prompt: str = "") -> ParsedReply:
    """The option that a reply chose, by the one reader of replies, cached."""
    return read_choice(reply, options, prompt=prompt)


def parse_logged_reply(question: str, options: Sequence[str], written: str) -> LoggedReply:
    """The option that a reply to a question chose, "" for none, with the rule of parsing that
    decided.
    """
    prompt = question if len(options) == 2 else ""  # beside more options it is not read
    reading = parse_reply(written, tuple(options), prompt)
    return LoggedReply(question, tuple(options), reading.outcome or "", reading.rule, written)


def read_jsonl_rows(path: Path) -> Iterator[Row]:
    """The objects of JSON lines, each with its place; UserError for a line that is none."""
    for number, line in enumerate(read_text(path, REMEDY).split("\n"), 1):
        if line.strip():
            where = f"{path}: line {number}"
            row = json_of_others(line, where, REMEDY)
            if not isinstance(row, dict):
                raise UserError("no object of JSON", where=where, remedy=REMEDY)
            yield where, row


def require_finite_number(value: object, where: str, text_or_key: str) -> float:
    """A score as a number; UserError for infinities, booleans and words."""
    number = math.nan
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        with suppress(ValueError):
            number = float(value)
    if not math.isfinite(number):
        raise UserError(
            f"the answer to {text_or_key[:60]!r} is no number ({value!r})",
            where=where,
            remedy=REMEDY,
        )
    return number


def list_lettered_options(prompt: str) -> tuple[str, ...]:
    """The options that the last list of a prompt has, on lines that begin with the letters A, B,
    ... in order.
    """
    options: list[str] = []
    for line in LETTERED_LINE.finditer(prompt):
        if line["letter"] == "A":
            options = []
        place = len(options)
        if place < len(LETTERS) and line["letter"] == LETTERS[place]:
            options.append(line["text"].strip())
    return tuple(options) if len(options) > 1 else ()


def add_reply(replies: Replies, about: dict[str, Any], replied: LoggedReply, where: str) -> None:
    """Store a reply; `about` may contain the BBQ authors' key of the question."""
    key_parts = [
        about.get("category"),
        about.get("question_index"),
        about.get("example_id", about.get("source_id")),
    ]
    key = replied.question if None in key_parts else "/".join(map(str, key_parts))
    if replies.setdefault(key, replied) is not replied:
        remedy = (
            "take one log of one epoch, with category, question_index and example_id of each "
            "question"
        )
        raise UserError(f"{key[-60:]!r} is answered twice", where=where, remedy=remedy)


def match_replies(
    replies: Replies, texts: Sequence[str], before: Sequence[str], keys: Sequence[str], where: str
) -> list[LoggedReply | None]:
    """The reply to the question that each text answers; None for questions without a reply."""
    items: dict[tuple[str, str], list[int]] = {}
    for place, (prompt, key) in enumerate(zip(before, keys, strict=True)):
        items.setdefault((key.rpartition("/")[0], prompt), []).append(place)
    text_replies: list[LoggedReply | None] = [None] * len(texts)
    for (key, prompt), places in items.items():
        question = normalise_question(prompt)
        options = {texts[place] for place in places}
        replied = replies.get(key, replies.get(question))
        if replied is None:
            continue
        if not replied.options:
            what = f"its log does not list the options of {key or question[-60:]!r} in their order"
            raise UserError(what, where=where, remedy="log documents with a list `choices`")
        if replied.question != question or not options <= {*replied.options}:
            what = f"it answers another text than {key or question[-60:]!r} of this benchmark"
            raise UserError(
                what, where=where, remedy="take the version of the benchmark that was answered"
            )
        for place in places:
            text_replies[place] = replied
    return text_replies


_OPENED_ANSWER = re.compile(r"\nI\s*\Z")


@lru_cache(maxsize=1 << 18)
def normalise_question(prompt: str) -> str:
    """A question without labels, and without the "I" of an answer that is to go on with "agree",
    with single spaces.
    """
    question = _OPENED_ANSWER.sub("", prompt)
    return " ".join(LABEL.sub(" ", question).split())

"""Logged samples of lm-evaluation-harness: likelihoods of multiple choice, or replies."""

import math
import re
from collections.abc import Iterator, Sized
from typing import Any, Final

from evenruler.errors import UserError
from evenruler.models.answer_logs.logged import (
    REMEDY,
    AnswerLog,
    Replies,
    Row,
    add_reply,
    list_lettered_options,
    normalise_question,
    parse_logged_reply,
    require_finite_number,
    require_reply,
)
from evenruler.text.replies import normalise_surface

ROUNDING: Final = 1e-6
"""Nats above 0 that rounding to float32 can give to a log-likelihood."""


def parse_likelihoods(rows: list[Row]) -> AnswerLog:
    """Logged samples of a multiple-choice task: log-likelihoods of each option after its prompt."""
    answer_log = AnswerLog("lm-evaluation-harness samples", is_of_run=True)
    for where, row in _once_a_document(rows):
        requests = [list_values(argument) for argument in list_values(row["arguments"])]
        answers: list[Any] = []
        for response in row["resps"]:
            answers.append(response[0] if len(response) == 1 else response)
        of_texts = all(map(_is_prompt_and_text, requests))
        if not of_texts or not all(map(_is_likelihood, answers)):
            remedy = "log a task of multiple choice, whose samples hold likelihoods"
            raise UserError(
                "its task generates, and likelihoods are needed", where=where, remedy=remedy
            )
        for (prompt, text), (value, _) in zip(requests, answers, strict=True):
            number = _log_likelihood(value, where, text)
            if abs(answer_log.by_text.setdefault((prompt, text), number) - number) > 1e-2:
                raise UserError(f"{text!r} has two other likelihoods", where=where, remedy=REMEDY)
    return answer_log


def _is_prompt_and_text(request: list[Any]) -> bool:
    """Whether the arguments of a logged request are a prompt and one text after it, as for
    likelihoods.
    """
    return len(request) == 2 and isinstance(request[1], str)


def _is_likelihood(answer: Sized) -> bool:
    """Whether an answer is a pair: the likelihood, and whether the text was the likeliest one."""
    return not isinstance(answer, str) and len(answer) == 2


def _once_a_document(rows: list[Row]) -> Iterator[Row]:
    """The rows, one for each document, since several filters log the same answers again; UserError
    if a document has other answers, or two rows of one filter.
    """
    seen: dict[Any, tuple[object, object]] = {}
    for where, row in rows:
        document = row["doc_id"]
        filter_and_answers = (row.get("filter"), row["resps"])
        filter_, answers = seen.setdefault(document, filter_and_answers)
        if answers is row["resps"]:
            yield where, row
        elif filter_ == row.get("filter") or answers != row["resps"]:
            raise UserError(
                f"document {document} is answered twice",
                where=where,
                remedy="take the log of one run",
            )


def _log_likelihood(value: object, where: str, text: str) -> float:
    """A logged log-likelihood in nats as a float; UserError if it is minus infinity, no finite
    number, or above 0 by more than rounding.
    """
    is_infinite = value in (-math.inf, "-inf")
    number = -math.inf if is_infinite else require_finite_number(value, where, text)
    if number == -math.inf:
        what = f"the model gave {text[:60]!r} no finite likelihood ({value})"
        raise UserError(
            what, where=where, remedy="run it in float32 (dtype=float32) and log it again"
        )
    if number > ROUNDING:
        what = f"{number} is no log-likelihood of {text[:60]!r}, which is never above 0"
        raise UserError(what, where=where, remedy="log natural logarithms of probabilities")
    return number


def parse_replies(rows: list[Row]) -> Replies:
    """Logged samples of a generation task, whose documents contain question and options."""
    replies: Replies = {}
    for where, row in _once_a_document(rows):
        ((reply, *more),), doc, (arguments,) = (
            row["resps"],
            row["doc"],
            list_values(row["arguments"]),
        )
        if more:
            raise UserError(
                f"{1 + len(more)} replies to a document",
                where=where,
                remedy="log it without repeats",
            )
        parts = [doc[name] for name in ("context", "question") if name in doc]
        prompt = str(list_values(arguments)[0])
        question = normalise_question(" ".join(parts) if len(parts) == 2 else prompt)
        add_reply(
            replies,
            doc,
            parse_logged_reply(question, _options_of(doc, prompt), require_reply(reply, where)),
            where,
        )
    return replies


def _options_of(doc: dict[str, Any], prompt: str) -> tuple[str, ...]:
    """The options of a document, in the order of their letters; empty if it has none.

    The order is that of the letters in the prompt if it lists these options, else that of the list
    `choices`, or of numbered or lettered columns such as `ans0`, `ans1`.
    """
    choices = doc.get("choices")
    choices = choices.get("text") if isinstance(choices, dict) else choices
    options = tuple(map(str, choices)) if isinstance(choices, list) else _numbered_columns(doc)
    listed = list_lettered_options(prompt)
    if not options:
        return listed
    by_text = {normalise_surface(option): option for option in options}
    in_order = tuple(by_text[text] for text in map(normalise_surface, listed) if text in by_text)
    return in_order if len(set(in_order)) == len(options) == len(listed) else options


def _numbered_columns(doc: dict[str, Any]) -> tuple[str, ...]:
    """Texts of columns whose names differ in a last digit or letter alone; empty if there are none,
    or two kinds.
    """
    kinds: dict[str, list[tuple[str, str]]] = {}
    for name, value in doc.items():
        match = re.fullmatch(r"(.*?[a-z]_?)([0-9]|[A-J]|(?<=_)[a-j])", name)
        if match and isinstance(value, str):
            kinds.setdefault(match[1], []).append((match[2], value))
    several = [sorted(columns) for columns in kinds.values() if len(columns) > 1]
    if len(several) != 1:
        return ()
    return tuple(text for _, text in several[0])


def list_values(arguments: dict[str, Any] | list[Any]) -> list[Any]:
    """Values of a list, or of a dict, which lm-evaluation-harness may write instead."""
    return list(arguments.values() if isinstance(arguments, dict) else arguments)

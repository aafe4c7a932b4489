"""Results of a batch, joined with its requests: OpenAI's layout, which vLLM and others write too,
and Anthropic's.

A request is a question with labelled options in its last message of the user. Neither the question
nor the options are looked up by the request's id, which is the user's own: both have to be those of
the benchmark, in words.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, product
from pathlib import Path
from typing import Any, Final, NamedTuple

from evenruler.errors import UserError
from evenruler.models.answer_logs.items import LoggedItem, LoggedItems
from evenruler.models.answer_logs.logged import (
    REMEDY,
    AnswerLog,
    LoggedReply,
    Row,
    normalise_question,
    read_jsonl_rows,
)
from evenruler.strict import json_of_others, read_text
from evenruler.terminal import print_note
from evenruler.text.replies import normalise_surface, read_choice

BATCH: Final = "batch"
"""What its log is called."""

LEFT_OUT: Final = 0.01
"""Share of requests that may ask what the benchmark lacks: questions that it rejected."""

_LABELLED: Final = re.compile(
    r"(?:^|(?<=\s))(?P<open>[(\[]?)(?P<label>[0-9A-Za-z])(?P<close>[).:\]])(?=\s)"
)
"""The label of an option: "(0) The baker", "A. The baker", "b) The baker"."""

_FIRST_LABELS: Final = "0Aa"


class SplitMessage(NamedTuple):
    """A message that lists options."""

    question: str
    """The message without them."""
    labels: tuple[str, ...]
    options: tuple[str, ...]
    """In the order of the labels."""


class BatchReply(NamedTuple):
    """What the results say of one request."""

    text: str
    """The reply; "" for an empty one."""
    failure: str
    """Why there is none; "" where there is one."""
    model: str
    """The model that replied."""


@dataclass(frozen=True)
class BatchRequest:
    """A request, as it was read, with its reply."""

    custom_id: str
    message: SplitMessage
    reply: str


def is_of_batch(row: Mapping[str, Any]) -> bool:
    """Whether a row of JSON lines is a result of a batch."""
    return "custom_id" in row and ("response" in row or "result" in row)


def read_batch(rows: Sequence[Row], requests: str, path: Path, *, is_partial: bool) -> AnswerLog:
    """The answers of a batch.

    `rows`: of its results; `requests`: the file of its requests; `is_partial`: whether requests may
    lack a reply. UserError where requests and results do not fit, requests failed, two models
    answered, or a request lists no options.
    """
    if not requests:
        raise UserError(
            "results of a batch, without what was asked",
            where=str(path),
            remedy="say --asked FILE with the requests",
        )
    reply_by_id = _read_replies(rows)
    messages = _read_messages(Path(requests))
    replied = _require_replies(messages, reply_by_id, str(path), is_partial)
    batch_requests: list[BatchRequest] = []
    for custom_id, message in messages.items():
        if custom_id not in replied:
            continue
        split_message = split_options(message)
        if split_message is None:
            raise UserError(
                f"no options found in request {custom_id!r}",
                where=requests,
                remedy="name A, B, C or (0), (1), (2) before each",
            )
        reply = replied[custom_id].text
        batch_requests.append(BatchRequest(custom_id, split_message, reply))
    return AnswerLog(BATCH, unjoined=BatchLog(requests, batch_requests))


def _read_replies(rows: Sequence[Row]) -> dict[str, BatchReply]:
    """What the results say, by id of the request; UserError where one is answered twice."""
    reply_by_id: dict[str, BatchReply] = {}
    for where, row in rows:
        custom_id = str(row.get("custom_id"))
        if custom_id in reply_by_id:
            what = f"custom_id {custom_id!r} is answered twice"
            raise UserError(what, where=where, remedy="take the results of one batch")
        is_anthropic = "result" in row
        reply_by_id[custom_id] = _anthropic_reply(row) if is_anthropic else _openai_reply(row)
    return reply_by_id


def _openai_reply(row: Mapping[str, Any]) -> BatchReply:
    """A result in OpenAI's layout: of chats, or of its responses."""
    response = row.get("response") or {}
    body = response.get("body") or {}
    error = row.get("error") or body.get("error")
    status = response.get("status_code") or 200
    if error or status >= 400 or not body:
        return BatchReply("", _failure_text(error) or f"status {status}", "")
    model = str(body.get("model", ""))
    if "output" in body:  # of /v1/responses
        messages = [part for part in body["output"] if part.get("type") == "message"]
        return BatchReply("".join(_text_of(part["content"]) for part in messages), "", model)
    choice = body["choices"][0]
    message = choice.get("message") or {"content": choice.get("text")}
    written = message.get("content") or message.get("refusal")
    return BatchReply(_text_of(written), "", model)


def _anthropic_reply(row: Mapping[str, Any]) -> BatchReply:
    """A result in Anthropic's layout."""
    outcome = row["result"]
    if outcome["type"] != "succeeded":
        error = outcome.get("error") or {}
        return BatchReply("", _failure_text(error.get("error", error)) or outcome["type"], "")
    message = outcome["message"]
    return BatchReply(_text_of(message["content"]), "", str(message.get("model", "")))


def _failure_text(error: object) -> str:
    """What an error says, in the words of the server."""
    if isinstance(error, Mapping):
        texts = [error.get(key) for key in ("message", "code", "type")]
        return str(next(filter(None, texts), ""))
    return str(error or "")


def _text_of(content: object) -> str:
    """The text of a message, which may come in parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") or part.get("refusal") or "" for part in parts]
    return "".join(map(str, texts))


def _read_messages(path: Path) -> dict[str, str]:
    """The last message of the user of each request, by its id, in the order of the file."""
    message_by_id: dict[str, str] = {}
    for where, row in _request_rows(path):
        if "custom_id" not in row or not ("body" in row or "params" in row):
            what = "no request of a batch, which has custom_id and body (or params)"
            raise UserError(what, where=where, remedy="name the file that was sent as --asked")
        custom_id = str(row["custom_id"])
        if custom_id in message_by_id:
            what = f"custom_id {custom_id!r} stands in two requests"
            raise UserError(what, where=where, remedy="take the requests of one batch")
        message = _last_user_message(row.get("body") or row.get("params") or {})
        if message is None:
            what = f"request {custom_id!r} has no message of the user"
            raise UserError(what, where=where, remedy="take a batch of chats")
        message_by_id[custom_id] = message
    return message_by_id


def _request_rows(path: Path) -> Iterator[Row]:
    """The requests in a file: JSON lines, or one object with a list `requests`."""
    text = read_text(path, "name the file that was sent as --asked")
    first_line = text.lstrip().partition("\n")[0]
    if '"custom_id"' in first_line and first_line.rstrip().endswith("}"):
        yield from read_jsonl_rows(path)
        return
    content = json_of_others(text, str(path), REMEDY)
    requests = content.get("requests") if isinstance(content, dict) else content
    if not isinstance(requests, list) or not all(isinstance(row, dict) for row in requests):
        what = "no requests of a batch"
        raise UserError(what, where=str(path), remedy="name the file that was sent as --asked")
    for number, row in enumerate(requests, 1):
        yield f"{path}: request {number}", row


def _last_user_message(body: Mapping[str, Any]) -> str | None:
    """The text of the last message of the user; None where there is none."""
    messages = body.get("messages") or body.get("input") or body.get("prompt") or []
    if isinstance(messages, str):
        return messages
    of_user = [message for message in messages if message.get("role") == "user"]
    return _text_of(of_user[-1].get("content")) if of_user else None


def _require_replies(
    messages: Mapping[str, str],
    reply_by_id: Mapping[str, BatchReply],
    where: str,
    is_partial: bool,
) -> dict[str, BatchReply]:
    """The replies to requests; UserError where they belong to other requests, some lack (unless
    `is_partial`), or two models gave them.
    """
    if not reply_by_id.keys() <= messages.keys():
        remedy = "name the requests of this batch as --asked"
        raise UserError("its answers are to requests of another file", where=where, remedy=remedy)
    unanswered = [custom_id for custom_id in messages if custom_id not in reply_by_id]
    failed = [custom_id for custom_id, reply in reply_by_id.items() if reply.failure]
    if unanswered:
        what = f"{len(unanswered):,} requests have no answer (first {unanswered[0]!r})"
        _refuse_or_note(what, "finish the batch, or --partial", where, is_partial)
    if failed:
        n_failed, first = len(failed), failed[0]
        failure = reply_by_id[first].failure[:100]
        what = f"{n_failed:,} requests failed (error of {first!r}: {failure})"
        _refuse_or_note(what, "send these again, or --partial", where, is_partial)
    replied = {custom_id: reply for custom_id, reply in reply_by_id.items() if not reply.failure}
    models = sorted({reply.model for reply in replied.values()})
    if len(models) > 1:
        named = ", ".join(models[:3])
        count = "two" if len(models) == 2 else str(len(models))
        what = f"{count} models answered ({named})"
        raise UserError(what, where=where, remedy="split the file")
    return replied


def _refuse_or_note(what: str, remedy: str, where: str, is_partial: bool) -> None:
    """UserError where parts may not be missing; where they may (`is_partial`), print a note
    instead.
    """
    if not is_partial:
        raise UserError(what, where=where, remedy=remedy)
    print_note(f"{where}: {what}")


def split_options(message: str) -> SplitMessage | None:
    """A message without its options, and these; None where it lists none.

    Options follow the labels of the last run: 0, 1, 2 or 1, 2, 3 or A, B, C, in the same brackets,
    with a text each. The last option ends with its line.
    """
    run = _last_run(message)
    if run is None:
        return None
    ends = [label.start() for label in run[1:]]
    line_end = message.find("\n", run[-1].end() + 1)
    ends.append(len(message) if line_end < 0 else line_end)
    options: list[str] = []
    for label, end in zip(run, ends, strict=True):
        words = message[label.end() : end].split()
        options.append(" ".join(words))
    before = message[: run[0].start()]
    after = message[ends[-1] :]
    labels = tuple(label["label"] for label in run)
    return SplitMessage(f"{before}\n{after}", labels, tuple(options))


def _last_run(message: str) -> list[re.Match[str]] | None:
    """The labels of the last run that has at least two; None if there is none."""
    labels = list(_LABELLED.finditer(message))
    for start in range(len(labels) - 2, -1, -1):
        if not _may_begin(labels, start):
            continue
        run = [label for label in labels[start:] if _begins_line(message, label)]
        if not _begins_line(message, labels[start]) or len(_run_of(run)) < 2:
            run = labels[start:]  # not on lines of their own
        run = _run_of(run)
        if len(run) > 1:
            return run
    return None


def _run_of(labels: Sequence[re.Match[str]]) -> list[re.Match[str]]:
    """The first label, and those after it that count on in the same brackets."""
    run = [labels[0]]
    for label in labels[1:]:
        next_label = chr(ord(run[-1]["label"]) + 1)
        is_next = label["label"] == next_label
        if is_next and _brackets_of(label) == _brackets_of(run[0]):
            run.append(label)
    return run


def _begins_line(message: str, label: re.Match[str]) -> bool:
    """Whether nothing but blanks stands before a label on its line."""
    return not message[: label.start()].rpartition("\n")[2].strip()


def _may_begin(labels: Sequence[re.Match[str]], start: int) -> bool:
    """Whether a run may begin with a label: 0, A, a, or a 1 that does not come after a 0."""
    label = labels[start]
    if label["label"] != "1":
        return label["label"] in _FIRST_LABELS
    alike = [other for other in labels[:start] if _brackets_of(other) == _brackets_of(label)]
    return not alike or alike[-1]["label"] != "0"


def _brackets_of(label: re.Match[str]) -> tuple[str, str]:
    """The marks around a label, such as ("(", ")") or ("", "."), which are equal within a run."""
    return label["open"], label["close"]


@dataclass(frozen=True)
class _Joined:
    """A request, the items that ask the same, and the place of the text that each option is."""

    request: BatchRequest
    candidates: tuple[LoggedItem, ...]
    places: tuple[int, ...]
    """In the first candidate; others that are left have the same."""


class BatchLog:
    """Replies to the requests of a batch."""

    def __init__(self, path: str, requests: Sequence[BatchRequest]) -> None:
        """`path`: of the requests, for errors."""
        self._path = path
        self._requests = requests
        self._shared_lines = _count_shared_lines([request.message.question for request in requests])

    def has_answers(self, benchmark: LoggedItems) -> bool:
        """Whether a request asks an item of the benchmark."""
        joined, _ = self._find_items(benchmark)
        return bool(joined)

    def join_items(self, benchmark: LoggedItems) -> AnswerLog:
        """The replies by the keys of texts.

        A question that stands several times is told apart by the order of its options; where these
        are the same, requests are paired with items in their order. UserError where the wording is
        another, or an item is asked twice.
        """
        joined, unmatched = self._find_items(benchmark)
        if len(unmatched) > LEFT_OUT * len(self._requests):
            raise self._wording_error(benchmark, len(joined), unmatched[0])
        if unmatched:
            n, first = len(unmatched), unmatched[0].custom_id
            asks = f"{n:,} requests ask nothing of {benchmark.benchmark} (first {first!r})"
            print_note(f"{self._path}: {asks}, which leaves out questions that have a fault")
        scores: dict[str, float] = {}
        replied: dict[str, LoggedReply] = {}
        taken: dict[str, str] = {}  # id of the request by name of the item
        for found_request in joined:
            request = found_request.request
            free = [item for item in found_request.candidates if item.name not in taken]
            if not free:
                name = found_request.candidates[-1].name
                raise UserError(
                    f"requests {taken[name]!r} and {request.custom_id!r} ask {name!r} twice",
                    where=self._path,
                    remedy="leave one of them out",
                )
            item = free[0]
            taken[item.name] = request.custom_id
            logged_reply = _read_reply(request, item, found_request.places)
            for key, text in zip(item.keys, item.texts, strict=True):
                scores[key] = float(text == logged_reply.reply)
                replied[key] = logged_reply
        return AnswerLog(BATCH, by_key=scores, reply_by_key=replied)

    def _find_items(self, benchmark: LoggedItems) -> tuple[list[_Joined], list[BatchRequest]]:
        """The requests that ask items of a benchmark, and the others."""
        questions = {request: self._questions_of(request) for request in self._requests}
        asked_questions = set(chain.from_iterable(questions.values()))
        items_by_words: dict[tuple[str, str], list[LoggedItem]] = {}
        for item in benchmark.items:
            if item.question in asked_questions:
                for surface in item.place_by_surface:
                    items_by_words.setdefault((item.question, surface), []).append(item)
        joined: list[_Joined] = []
        unmatched: list[BatchRequest] = []
        for request in self._requests:
            found_request = self._find_candidates(request, questions[request], items_by_words)
            if found_request is None:
                unmatched.append(request)
            else:
                joined.append(found_request)
        return joined, unmatched

    def _questions_of(self, request: BatchRequest) -> tuple[str, ...]:
        """The question with all that the message says, and without lines that all messages share,
        an instruction: those before it, and one after the other of those behind it, since one may
        belong to the question ("Do you agree or disagree with this statement?").
        """
        lines = _lines_of(request.message.question)
        first, last = self._shared_lines
        questions = [normalise_question(request.message.question)]
        for begin, n_left_out in product((0, first), range(last + 1)):
            inner = "\n".join(lines[begin : len(lines) - n_left_out])
            questions.append(normalise_question(inner))
        return tuple(dict.fromkeys(questions))

    def _find_candidates(
        self,
        request: BatchRequest,
        questions: tuple[str, ...],
        items_by_words: Mapping[tuple[str, str], Sequence[LoggedItem]],
    ) -> _Joined | None:
        """The items with the question and the options of a request; None if there are none. Of
        several, those with the options in the same order; UserError if these are none.
        """
        surface = normalise_surface(request.message.options[0])
        for question in questions:
            fitting: list[tuple[LoggedItem, tuple[int, ...]]] = []
            for item in items_by_words.get((question, surface), ()):
                places = item.places_of(request.message.options)
                if places is not None:
                    fitting.append((item, places))
            if len(fitting) > 1:
                authors_order = tuple(range(len(request.message.options)))
                fitting = [(item, places) for item, places in fitting if places == authors_order]
                if not fitting:
                    raise self._order_error(request)
            if fitting:
                items = tuple(item for item, _ in fitting)
                return _Joined(request, items, fitting[0][1])
        return None

    def _order_error(self, request: BatchRequest) -> UserError:
        """The error, not raised here, for a request whose question the benchmark has several times,
        each with the options in another order than the request.
        """
        what = f"request {request.custom_id!r} asks a question that stands twice in the benchmark, "
        what += "with the options in an order of neither"
        return UserError(what, where=self._path, remedy="keep the authors' order of options")

    def _wording_error(
        self, benchmark: LoggedItems, n_matched: int, unmatched: BatchRequest
    ) -> UserError:
        """The error where requests ask in other words, with the question that is nearest."""
        counts = f"{n_matched:,} of {len(self._requests):,} match"
        question = self._questions_of(unmatched)[-1]
        words = set(question.split())
        nearest = max(benchmark.items, key=lambda item: _shared_share(words, item.question))
        texts = ", ".join(nearest.texts)[:100]
        what = f"it asks in another wording than {benchmark.benchmark}'s; {counts}, nearest: "
        what += f"{nearest.question[-100:]!r} ({texts})"
        what += f", in place of {question[-100:]!r} of {unmatched.custom_id!r}"
        return UserError(what, where=self._path, remedy="ask in the benchmark's words")


def _shared_share(words: set[str], question: str) -> float:
    """Share of words that two questions have in common."""
    question_words = set(question.split())
    n_shared = len(words & question_words)
    return n_shared / max(len(words | question_words), 1)


def _lines_of(text: str) -> list[str]:
    """The lines of a text that are not blank, without blanks at their ends."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def _count_shared_lines(texts: Sequence[str]) -> tuple[int, int]:
    """How many first and last lines all texts have in common; none of a single text."""
    lines_by_text = [_lines_of(text) for text in dict.fromkeys(texts)]
    if len(lines_by_text) < 2:
        return 0, 0
    shortest = min(map(len, lines_by_text))
    first = _count_equal([lines[:shortest] for lines in lines_by_text])
    last = _count_equal([lines[first:][::-1] for lines in lines_by_text])
    return first, last


def _count_equal(lines_by_text: Sequence[Sequence[str]]) -> int:
    """How many lines from the first on are the same in all texts."""
    n_equal = 0
    for lines in zip(*lines_by_text, strict=False):
        if len(set(lines)) > 1:
            break
        n_equal += 1
    return n_equal


def _read_reply(request: BatchRequest, item: LoggedItem, places: Sequence[int]) -> LoggedReply:
    """The reply to a request, with the text of the item that it chose."""
    message = request.message
    reading = read_choice(request.reply, message.options, message.labels, message.question)
    texts = tuple(item.texts[place] for place in places)
    chosen = "" if reading.outcome is None else texts[message.options.index(reading.outcome)]
    return LoggedReply(item.question, texts, chosen, reading.rule, request.reply)

"""A measurement by batch files of the OpenAI kind: the requests that are left, and their results.

A request's `custom_id` is the key of its reply in the store, so that results are stored as if the
server had been asked, and figures are the same.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Final, cast

from evenruler.errors import UserError
from evenruler.evaluate.session import MeasurementPlan, Session
from evenruler.files import write_text_atomically
from evenruler.models.answer_logs.batch import is_of_batch
from evenruler.models.answer_logs.logged import read_jsonl_rows
from evenruler.models.backends.openai import OpenAI
from evenruler.models.questions import Prompt, Reply
from evenruler.terminal import print_note

HOLDS_CHATS: Final = "a batch holds requests for replies of a chat on a server"
SAME: Final = "say the benchmarks, size, server (OPENAI_BASE_URL) and options of --batch-out"
REFUSED: Final = 400
"""Status of a request that the server refuses for what it says."""


@dataclass(frozen=True)
class BatchFiles:
    """The files of a measurement that sends nothing itself."""

    requests: Path | None = None
    """Where to write what is left to ask."""
    results: Sequence[Path] = ()
    """Where replies are."""

    def require_chat(self, session: Session, tasks: Sequence[str]) -> None:
        """UserError if there are such files, but the model is no chat on a server, or tasks of
        lm-evaluation-harness are measured.
        """
        if self.requests is None and not self.results:
            return
        subject, reference = session.subject, session.reference
        where = "--batch-in" if self.requests is None else "--batch-out"
        if tasks:
            raise UserError(HOLDS_CHATS, where=f"{where}: {tasks[0]}", remedy="leave the task out")
        if subject.kind != "chat" or not reference.startswith("endpoint:"):
            what = f"{HOLDS_CHATS}; {subject.name} is of kind {subject.kind}"
            remedy = "measure endpoint:NAME, or leave the option out"
            raise UserError(what, where=where, remedy=remedy)

    def exchange_files(self, session: Session, plans: Sequence[MeasurementPlan]) -> Iterator[str]:
        """Store the replies, and then write what is left to ask; yields the line to print on the
        latter.
        """
        if self.results:
            print_note(store_results(self.results, session, plans))
        if self.requests is not None:
            yield write_requests(self.requests, session, plans)


def write_requests(path: Path, session: Session, plans: Sequence[MeasurementPlan]) -> str:
    """Write the requests that the store has no replies to, as JSON lines; returns a line on
    them.
    """
    prompts = _find_prompts_left(session, plans)
    if not prompts:
        return "every reply is stored: nothing is left to ask"
    client = cast("OpenAI", session.model.backend)
    lines: list[str] = []
    for custom_id, prompt in prompts.items():
        request = {"custom_id": custom_id, **client.write_request(prompt)}
        lines.append(json.dumps(request, ensure_ascii=False) + "\n")
    write_text_atomically(path, "".join(lines))
    return f"{path}: {len(lines):,} requests; when they are answered, say --batch-in RESULTS"


def store_results(paths: Sequence[Path], session: Session, plans: Sequence[MeasurementPlan]) -> str:
    """Store the replies in the results of batches, errors included; returns a line on them.

    A request that the server refused for its text (status 400) has no reply, as if it had been
    asked directly; others that failed are left to ask. UserError if a result is to a request that
    the plans do not have, or no request was answered.
    """
    prompts = _find_prompts_left(session, plans)
    client = cast("OpenAI", session.model.backend)
    replies: dict[str, Reply] = {}
    reasons: list[str] = []
    n_answered = 0
    for where, row in chain.from_iterable(map(read_jsonl_rows, paths)):
        custom_id = str(row.get("custom_id"))
        _require_result(row, where)
        if session.model.has_reply(custom_id):
            n_answered += 1
            continue
        if custom_id not in prompts:
            what = f"{custom_id[:12]!r} is the result of a request that is not asked now"
            raise UserError(what, where=where, remedy=SAME)
        status, body = _read_response(row)
        if status < REFUSED:
            replies[custom_id] = client.read_reply(json.dumps(body).encode())
            n_answered += 1
            continue
        error = row.get("error") or body
        reasons.append(f"Error code: {status} - {error}"[:200])
        if status == REFUSED:
            replies[custom_id] = Reply(None, reasons[-1])
    names = ", ".join(map(str, paths))
    if not n_answered:
        first_reason = reasons[0] if reasons else "an empty file"
        what = f"no request was answered ({first_reason})"
        raise UserError(what, where=names, remedy="send the requests again")
    session.model.store_replies(replies)
    counted = f"{n_answered:,} requests are answered"
    if reasons:
        n_failed = len(reasons)
        counted += f", {n_failed:,} failed ({reasons[0]})"
    n_left = len(prompts) - len(replies)
    return f"{names}: {counted}; {n_left:,} are left to ask"


def _require_result(row: Mapping[str, Any], where: str) -> None:
    """UserError if a line is no result of a batch in OpenAI's layout."""
    if not is_of_batch(row) or "response" not in row:
        what = "no result of a batch in OpenAI's layout"
        raise UserError(what, where=where, remedy="name the results of --batch-out's requests")


def _read_response(row: Mapping[str, Any]) -> tuple[int, Any]:
    """Status and body of a result; an error without a status counts as one of the server (500)."""
    response = row.get("response") or {}
    usual = 500 if row.get("error") or not response else 200
    return int(response.get("status_code") or usual), response.get("body")


def _find_prompts_left(session: Session, plans: Sequence[MeasurementPlan]) -> dict[str, Prompt]:
    """Prompts without a stored reply, by the key of their answer in hex."""
    prompts: dict[str, Prompt] = {}
    for plan in plans:
        for _, missing in session.find_missing(plan):
            for key, question in missing.question_by_key.items():
                assert isinstance(question, Prompt)  # a chat is asked nothing else
                prompts[key.hex()] = question
    return prompts

"""Recorded answers from files as a model, which has these answers and no others.

Supported files:

| what | files | answers found by |
| --- | --- | --- |
| StereoSet's published predictions | one JSON | sentence ids |
| BBQ's published predictions | JSON lines, one file or a folder; `FILE#COLUMN` if there are several
| keys |
| lm-evaluation-harness `--log_samples`, multiple choice | JSON lines, one file | exact prompt and
text |
| the same for generation tasks, of questions with options | JSON lines, one file | question and
options |
| inspect_ai, multiple choice | `.eval` or `.json` | question and options |
| `evenruler answers export` | a folder with `answers.parquet` and `model.json` | the whole question
|
"""

import json
import math
import re
import struct
import zipfile
import zlib
from collections.abc import Collection, Iterator, Sequence, Sized
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn

import numpy as np
import pyarrow as pa

from evenruler.errors import UserError
from evenruler.files import MOST_READ, file_sha256, require_regular, zip_members
from evenruler.models.declarations import ModelEntry
from evenruler.models.model import REPLY, Model, form_of
from evenruler.models.questions import LogLikelihoods, Reply
from evenruler.models.sources import declared_at, verified_file
from evenruler.models.store import RowStore
from evenruler.strict import at_home, json_of_others, read_text
from evenruler.tables.contents import schema_of, table_in
from evenruler.tables.ids import canonical_json
from evenruler.terminal import print_note
from evenruler.text.replies import (
    LETTERS,
    UNREAD,
    ParsedReply,
    normalise_surface,
    read_choice,
    states_an_answer,
)

READER: Final = "recorded/2"  # to be increased when the reading of files changes
UNKNOWN_LENGTH: Final = -1  # number of tokens if the recorded answer does not give it
HALVES: Final = frozenset(("intrasentence", "intersentence"))  # keys of StereoSet's two tasks
REMEDY = "take the file as it was written"
LACKING = "the answer is lacking: take a whole log, in which every question has a reply"
SCORED: Final = "scored"
"""The rule of a reply that states no answer, whose letter the scorer of inspect_ai stored."""
PREDICTION: Final = "_pred"  # in the names of columns of BBQ's predictions
EXPORTED: Final = "answers.parquet"
ENTRY: Final = "model.json"  # metadata of an export's model
ZSTANDARD: Final = 93  # zip compression of inspect_ai logs; Python reads it from 3.14 on

LETTERED_LINE: Final = re.compile(
    r"^[ \t]*\(?(?P<letter>[A-J])[).:\]][ \t]+(?P<text>\S.*)$", re.MULTILINE
)
"""An option in a prompt: "A. The baker"."""

ROUNDING: Final = 1e-6
"""Nats above 0 that rounding to float32 can give to a log-likelihood."""

Row = tuple[str, dict[str, Any]]  # where it stands, and what it holds

LABEL: Final = re.compile(
    r"^\s*(?:context|passage|question|q|answer|a)\s*:", re.IGNORECASE | re.MULTILINE
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


def read_log(path: Path, column: str = "") -> AnswerLog:
    """The answers in a file, or in all files of a folder, as listed above; `column`: of BBQ's
    predictions.

    UserError if the format is unknown, the file is truncated, or an answer is duplicate or not a
    number.
    """
    require_regular(path)
    files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
    if not files:
        raise UserError("no *.jsonl in it", where=str(path), remedy="name a file")
    try:
        answer_log = _parse_any_log(path, files, column)
    except UserError:
        raise
    except Exception as error:  # from JSON, zip files and unexpected content
        message = f"not as such a file is written ({type(error).__name__}: {error})"
        what = message.splitlines()[0]
        raise UserError(what, where=str(path), remedy=REMEDY) from None
    if answer_log is None:
        remedy = (
            "take published predictions of StereoSet or BBQ, samples_*.jsonl of "
            "lm-evaluation-harness, or *.eval"
        )
        raise UserError(
            "neither published predictions nor logged samples", where=str(path), remedy=remedy
        )
    return answer_log


def _parse_any_log(path: Path, files: Sequence[Path], column: str) -> AnswerLog | None:
    """The answers by the format that the content shows; None if it shows none."""
    if path.suffix == ".eval" and not path.is_dir():
        header, samples = read_zipped_log(path)
        return AnswerLog("inspect_ai log", replies=_of_inspect(header, samples, str(path)))
    whole = None if path.is_dir() else _parse_whole_json(read_text(path, REMEDY))
    if isinstance(whole, list):
        what = f"a JSON list of {len(whole):,} entries"
        raise UserError(
            what, where=str(path), remedy="write each of them on a line of its own (JSON lines)"
        )
    if not whole:
        rows: list[Row] = []
        for file in files:
            rows += _read_jsonl_rows(file)
        return _parse_rows(rows, column)
    answer_log = _parse_json_object(whole, str(path))
    if answer_log is None:
        return _parse_rows([(f"{path}: line 1", whole)], column)
    return answer_log


def _parse_json_object(log_fields: dict[str, Any], where: str) -> AnswerLog | None:
    """The answers in a file that is one JSON object; None if it may be a row of JSON lines."""
    if set(log_fields) & HALVES:
        return _of_stereoset(log_fields, where)
    if {"status", "eval"} <= set(log_fields):
        samples = log_fields.get("samples") or []
        return AnswerLog("inspect_ai log", replies=_of_inspect(log_fields, samples, where))
    if "results" in log_fields:
        what = "a summary (scores, no answers), as lm-evaluation-harness writes it"
        raise UserError(
            what,
            where=where,
            remedy="take samples_*.jsonl, which --log_samples writes beside it",
        )
    return None


def _parse_rows(rows: list[Row], column: str) -> AnswerLog | None:
    """The answers in JSON lines, by the keys of the first; None if it has those of no format."""
    first_row = rows[0][1] if rows else {}
    if "example_id" in first_row and "question_index" in first_row:
        return AnswerLog("BBQ predictions", replies=_of_bbq(rows, column))
    if "doc_id" not in first_row or "resps" not in first_row:
        return None
    first_request = _values_of(first_row["arguments"])[0]
    if isinstance(_values_of(first_request)[1], dict):
        return AnswerLog("lm-evaluation-harness replies", replies=_replies_of_harness(rows))
    return _likelihoods_of_harness(rows)


def _of_stereoset(predictions_by_task: dict[str, Any], where: str) -> AnswerLog:
    """Sentence scores by id, for two tasks: `{"intrasentence": [{"id": ..., "score": ...}],
    ...}`.
    """
    answer_log = AnswerLog("StereoSet predictions")
    for predictions in predictions_by_task.values():
        for prediction in predictions:
            key = str(prediction.get("id"))
            if key in answer_log.by_key:
                raise UserError(f"{key!r} is answered twice", where=where, remedy=REMEDY)
            answer_log.by_key[key] = _require_finite_number(prediction.get("score"), where, key)
    return answer_log


def _parse_whole_json(text: str) -> dict[str, Any] | list[Any] | None:
    """The JSON object or list that a text is; None if it is anything else, such as several lines of
    JSON.
    """
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict | list) else None


def _of_bbq(rows: list[Row], column: str) -> Replies:
    """Chosen options in a column: as texts, as letters, or all of them as places (0, 1, 2)."""
    names: set[str] = set()
    for _, row in rows:
        names.update(row)
    columns = sorted(name for name in names if PREDICTION in name)
    if column not in columns and (column or len(columns) != 1):
        what = (
            f"no column {column!r} of predictions"
            if column
            else f"{len(columns)} columns of predictions"
        )
        remedy = (
            f"say recorded:FILE#COLUMN with one of {', '.join(columns)}"
            if columns
            else "add the predictions"
        )
        raise UserError(what, where=rows[0][0], remedy=remedy)
    named = column or columns[0]
    rows_of_column: list[Row] = []
    for where, row in rows:
        has_prediction = any(PREDICTION in name for name in row)
        if named in row or not has_prediction:
            rows_of_column.append((where, row))
    rows = rows_of_column
    models = sorted({str(row["model"]) for _, row in rows if "model" in row})
    if len(models) > 1:
        more = ", ..." if len(models) > 3 else ""
        first_models = ", ".join(models[:3])
        what = f"answers of {len(models)} models ({first_models}{more})"
        raise UserError(
            what, where=rows[0][0], remedy="put the rows of each model into a file of its own"
        )
    answered: list[_Answered] = []
    for where, row in rows:
        options = tuple(str(row[f"ans{place}"]) for place in range(3))
        answered.append(_Answered(where, row, options))
    by_place = _are_places(answered, named)
    replies: Replies = {}
    for where, row, options in answered:
        answer = row.get(named)
        is_place = by_place and _is_digit(answer, options)
        reply = options[int(str(answer))] if is_place else _reply_of(answer, where)
        question = normalise_question(f"{row['context']} {row['question']}")
        _add_reply(replies, row, _logged_reply(question, options, reply), where)
    return replies


class _Answered(NamedTuple):
    """A row of predictions and its options."""

    where: str
    row: dict[str, Any]
    options: tuple[str, ...]


def _are_places(answered: Sequence[_Answered], column: str) -> bool:
    """Whether all answers in a column are places of options from 0 on; UserError if their first
    place is not clear.
    """
    digits = [
        answered_row
        for answered_row in answered
        if _is_digit(answered_row.row.get(column), answered_row.options)
    ]
    if not digits:
        return False
    for where, row, options in answered:
        answer = row.get(column)
        if isinstance(answer, str) and answer.strip() and not _is_digit(answer, options):
            if all(isinstance(answered_row.row[column], str) for answered_row in digits):
                return False  # a reply may be a lone digit
            answer_label = repr(answer[:60])
            what = f"{column} is {answer_label}, and a number in {len(digits):,} other rows"
            raise UserError(
                what, where=where, remedy="write texts of options alone, or 0, 1 and 2 alone"
            )
    places = {int(answered_row.row[column]) for answered_row in digits}
    if 0 in places and max(places) < len(answered[0].options):
        return True
    what = (
        f"{column} holds {', '.join(map(str, sorted(places)))}, which may count ans0 as 0 or as 1"
    )
    raise UserError(
        what,
        where=digits[0].where,
        remedy="write 0, 1 and 2 for ans0, ans1 and ans2, or their texts",
    )


def _is_digit(answer: object, options: Sequence[str]) -> bool:
    """Whether an answer is a number of one digit, and no option's text."""
    if isinstance(answer, bool) or not isinstance(answer, str | int):
        return False
    text = str(answer)
    return re.fullmatch(r"\s*\d\s*", text, re.ASCII) is not None and text.strip() not in options


def _reply_of(answer: object, where: str) -> str:
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
    return _parse_reply(reply, tuple(options)).outcome


@lru_cache(maxsize=1024)
def _parse_reply(reply: str, options: tuple[str, ...]) -> ParsedReply:
    return read_choice(reply, options)


def _logged_reply(question: str, options: Sequence[str], written: str) -> LoggedReply:
    """A reply as it is read."""
    reading = _parse_reply(written, tuple(options))
    return LoggedReply(question, tuple(options), reading.outcome or "", reading.rule, written)


def _likelihoods_of_harness(rows: list[Row]) -> AnswerLog:
    """Logged samples of a multiple-choice task: log-likelihoods of each option after its prompt."""
    answer_log = AnswerLog("lm-evaluation-harness samples")
    for where, row in _once_a_document(rows):
        requests = [_values_of(argument) for argument in _values_of(row["arguments"])]
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
    return len(request) == 2 and isinstance(request[1], str)


def _is_likelihood(answer: Sized) -> bool:
    """Whether an answer is a pair: the likelihood, and whether the text was the likeliest one."""
    return not isinstance(answer, str) and len(answer) == 2


def _once_a_document(rows: list[Row]) -> Iterator[Row]:
    """Each document once; several filters log the same answers again, UserError if they are
    others.
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
    is_infinite = value in (-math.inf, "-inf")
    number = -math.inf if is_infinite else _require_finite_number(value, where, text)
    if number == -math.inf:
        what = f"the model gave {text[:60]!r} no finite likelihood ({value})"
        raise UserError(
            what, where=where, remedy="run it in float32 (dtype=float32) and log it again"
        )
    if number > ROUNDING:
        what = f"{number} is no log-likelihood of {text[:60]!r}, which is never above 0"
        raise UserError(what, where=where, remedy="log natural logarithms of probabilities")
    return number


def _read_jsonl_rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, line in enumerate(read_text(path, REMEDY).split("\n"), 1):
        if line.strip():
            where = f"{path}: line {number}"
            row = json_of_others(line, where, REMEDY)
            if not isinstance(row, dict):
                raise UserError("no object of JSON", where=where, remedy=REMEDY)
            yield where, row


def _require_finite_number(value: object, where: str, text_or_key: str) -> float:
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


def _replies_of_harness(rows: list[Row]) -> Replies:
    """Logged samples of a generation task, whose documents contain question and options."""
    replies: Replies = {}
    for where, row in _once_a_document(rows):
        ((reply, *more),), doc, (arguments,) = (
            row["resps"],
            row["doc"],
            _values_of(row["arguments"]),
        )
        if more:
            raise UserError(
                f"{1 + len(more)} replies to a document",
                where=where,
                remedy="log it without repeats",
            )
        parts = [doc[name] for name in ("context", "question") if name in doc]
        prompt = str(_values_of(arguments)[0])
        question = normalise_question(" ".join(parts) if len(parts) == 2 else prompt)
        _add_reply(
            replies,
            doc,
            _logged_reply(question, _options_of(doc, prompt), _reply_of(reply, where)),
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
    listed = _listed_in(prompt)
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


def _listed_in(prompt: str) -> tuple[str, ...]:
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


def _values_of(arguments: dict[str, Any] | list[Any]) -> list[Any]:
    """Values of a list, or of a dict, which lm-evaluation-harness may write instead."""
    return list(arguments.values() if isinstance(arguments, dict) else arguments)


def _of_inspect(header: dict[str, Any], samples: list[dict[str, Any]], where: str) -> Replies:
    """A log of inspect_ai: an `EvalLog` of version 2, and its samples."""
    epochs = max(
        [
            header["eval"]["config"].get("epochs") or 1,
            *(logged_sample["epoch"] for logged_sample in samples),
        ]
    )
    if header["status"] != "success" or not samples or epochs > 1:
        what = (
            f"its run ended as {header['status']!r}, with {len(samples)} samples and {epochs} "
            "epochs"
        )
        raise UserError(
            what, where=where, remedy="take the log of a whole run, with samples, of one epoch"
        )
    failed = [str(logged_sample["id"]) for logged_sample in samples if logged_sample.get("error")]
    if failed:
        amount = f"{len(failed):,} of {len(samples):,} samples"
        what = f"{amount} ended in an error, as {failed[0]}"
        raise UserError(
            what, where=where, remedy="run these again (inspect eval-retry), and take that log"
        )
    results = header.get("results") or {}
    n_declared = results.get("total_samples")
    if not n_declared:
        n_declared = header["eval"].get("dataset", {}).get("samples")
    if n_declared is not None and n_declared != len(samples):
        what = f"its header says {n_declared:,} samples, and it holds {len(samples):,}"
        raise UserError(what, where=where, remedy="take the whole log, as it was written")
    replies: Replies = {}
    turned = 0
    for sample in samples:
        place = f"{where}: sample {sample['id']}"
        attachments = sample.get("attachments") or {}
        if not sample.get("choices"):
            raise UserError(
                "its question has no options", where=place, remedy="take a log of multiple choice"
            )
        options = [_message_text(choice, attachments) for choice in sample["choices"]]
        question = sample["input"]
        if not isinstance(question, str):
            question = [message["content"] for message in question if message["role"] == "user"][-1]
        written = _reply_of(_written_in(sample, attachments), place)
        replied = _logged_reply(
            normalise_question(_message_text(question, attachments)), options, written
        )
        scored, option = _scored_option(sample, options), _option_of(sample, options, attachments)
        turned += scored not in (None, option)
        if option != replied.reply:
            replied = replied._replace(reply=option, rule=SCORED)
        _add_reply(replies, sample.get("metadata") or {}, replied, place)
    if turned:
        of_all = (
            f"in {turned:,} of {len(samples):,} samples the scorer read another answer than "
            "the reply states"
        )
        print_note(f"{where}: {of_all}; the reply counts")
    return replies


def _option_of(sample: dict[str, Any], options: list[str], attachments: dict[str, str]) -> str:
    """The option that a sample's reply chose, or the scorer read where the reply states no answer;
    "" for neither.
    """
    written, scored = _written_in(sample, attachments), _scored_option(sample, options)
    is_silent = _parse_reply(written, tuple(options)) == UNREAD and not states_an_answer(written)
    return scored if scored is not None and is_silent else match_option(written, options) or ""


def _written_in(sample: dict[str, Any], attachments: dict[str, str]) -> str:
    replies = sample["output"]["choices"] or [{"message": {"content": ""}}]
    return _message_text(
        sample["output"].get("completion") or replies[0]["message"]["content"], attachments
    )


def _scored_option(sample: dict[str, Any], options: Sequence[str]) -> str | None:
    """The option whose letter the scorer stored; None if it stored no letter, or several."""
    answer = (sample.get("scores") or {}).get("choice", {}).get("answer")
    option_by_letter = dict(zip(LETTERS, options, strict=False))
    return option_by_letter.get(str(answer).strip().upper())


def _message_text(content: str | list[dict[str, str]], attachments: dict[str, str]) -> str:
    """The text of a message, which may be in parts or an attachment."""
    if isinstance(content, str):
        whole = content
    else:
        whole = "".join(part.get("text", "") for part in content)
    return attachments.get(whole.removeprefix("attachment://"), whole)


def read_zipped_log(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Header and samples of an inspect_ai log in zip format (`.eval`)."""
    with zipfile.ZipFile(path) as archive:
        # Of equal names the last one counts.
        members = {member.filename: member for member in zip_members(archive, MOST_READ)}
        if "header.json" not in members:
            raise UserError(
                "its run did not end", where=str(path), remedy="take the log of a whole run"
            )
        names = sorted(name for name in members if name.startswith("samples/"))
        header, *samples = (
            json.loads(_read_zip_member(archive, members[name])) for name in ("header.json", *names)
        )
    return header, samples


def _read_zip_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    if member.compress_type != ZSTANDARD:
        with archive.open(member) as file:
            return file.read(
                member.file_size + 1
            )  # without a number it may unpack more before it cuts
    assert archive.fp is not None
    archive.fp.seek(member.header_offset + 26)
    lengths = struct.unpack("<HH", archive.fp.read(4))  # of the name and an extra field
    archive.fp.seek(sum(lengths), 1)
    packed = pa.BufferReader(archive.fp.read(member.compress_size))
    content_bytes = bytes(pa.CompressedInputStream(packed, "zstd").read(member.file_size + 1))
    if zlib.crc32(content_bytes) != member.CRC:
        raise zipfile.BadZipFile(f"{member.filename} is damaged")
    return content_bytes


def _add_reply(replies: Replies, about: dict[str, Any], replied: LoggedReply, where: str) -> None:
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


def _match_replies(
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


@lru_cache(maxsize=1 << 18)
def normalise_question(prompt: str) -> str:
    """A question without labels, with single spaces."""
    return " ".join(LABEL.sub(" ", prompt).split())


class LoggedModel(Model):
    """Recorded answers of a file as a model of the catalogue."""

    def __init__(
        self, name: str, entry: ModelEntry, store: RowStore, where: str | None = None
    ) -> None:
        """Read `recorded:FILE`, or `recorded:git:...` with `sha256`; never computes answers.
        UserError as in `read`.
        """
        place = where or declared_at(name)
        source, _, column = entry.locations[0][1].partition("#")
        if source.startswith(("git:", "package:")):
            if entry.sha256 is None:
                raise UserError(
                    "sha256 is missing", where=place, remedy="say the checksum of the file"
                )
            self._path = verified_file(source, entry.sha256, place)
        else:
            self._path = (
                verified_file(f"local:{source}", entry.sha256, place)
                if entry.sha256
                else at_home(source)
            )
        if not self._path.exists():
            raise UserError("no such file", where=f"{place}: {self._path}", remedy="check the name")
        self._log = read_log(self._path, column)
        files = sorted(self._path.glob("*.jsonl")) if self._path.is_dir() else [self._path]
        engine = canonical_json(
            {"reader": READER, "column": column, "files": [file_sha256(file) for file in files]}
        )

        def refuse() -> NoReturn:
            raise UserError(
                "answers that were recorded cannot be asked more",
                where=place,
                remedy="name a model",
            )

        super().__init__(name, entry, "recorded", store, engine.decode, refuse, None, where)

    def loglikelihood(
        self,
        texts: Sequence[str],
        before: Sequence[str] | None = None,
        *,
        between: str = " ",
        keys: Sequence[str] | None = None,
        other_start: bool = False,
    ) -> LogLikelihoods:
        """The recorded score of each text; arguments as for any model, but that no other start can
        be asked for.

        NaN if the file has nothing on a part of the benchmark (a key up to its first slash); token
        counts are -1, unknown. UserError if it belongs to another benchmark, lacks answers within a
        part, or answers other texts.
        """
        contexts = [""] * len(texts) if before is None else before
        named = [""] * len(texts) if keys is None else keys
        replied = self._replied(texts, contexts, named)
        scores = self._recorded_scores(texts, contexts, named, between)
        lacking = [place for place, value in enumerate(scores) if value is None]
        if texts and len(lacking) == len(texts):
            what = f"none of its answers ({self._log.what}) is to one of these {len(texts):,} texts"
            raise UserError(
                what,
                where=str(self._path),
                remedy="name the benchmark that it answers, in that version",
            )
        of_file = {
            named[place].partition("/")[0]
            for place, reply in enumerate(replied)
            if reply is not None
        }
        half = [
            place for place in lacking if not of_file or named[place].partition("/")[0] in of_file
        ]
        if half:
            text = texts[half[0]]
            amount = f"{len(half):,} of {len(texts):,} texts"
            what = f"it lacks the answers to {amount}, as {text[:60]!r}"
            raise UserError(
                what,
                where=str(self._path),
                remedy="take a whole log of this benchmark, in that version",
            )
        nats = np.array(
            [math.nan if value is None else value for value in scores], dtype=np.float64
        )
        tokens = np.full(len(texts), UNKNOWN_LENGTH, dtype=np.int64)
        rules = [None if reply is None else reply.rule for reply in replied]
        return ReadLikelihoods(
            nats, tokens, rules, [None if reply is None else reply.written for reply in replied]
        )

    def answers(
        self, texts: Sequence[str], before: Sequence[str], keys: Sequence[str], between: str
    ) -> bool:
        """Whether the file has an answer to one of these texts, or to another version of one."""
        try:
            return any(
                value is not None for value in self._recorded_scores(texts, before, keys, between)
            )
        except UserError:
            return True

    def _recorded_scores(
        self, texts: Sequence[str], before: Sequence[str], keys: Sequence[str], between: str
    ) -> list[float | None]:
        if self._log.replies is not None:
            replied = zip(texts, self._replied(texts, before, keys), strict=True)
            return [
                None if reply is None else float(text == reply.reply) for text, reply in replied
            ]
        if self._log.by_key:
            return [self._log.by_key.get(key) for key in keys]
        after = [
            f"{between}{text}" if first else text for text, first in zip(texts, before, strict=True)
        ]
        return [
            self._log.by_text.get(context_and_text)
            for context_and_text in zip(before, after, strict=True)
        ]

    def _replied(
        self, texts: Sequence[str], before: Sequence[str], keys: Sequence[str]
    ) -> list[LoggedReply | None]:
        """The reply to the question that each text answers; None where the file holds
        likelihoods.
        """
        if self._log.replies is None:
            return [None] * len(texts)
        return _match_replies(self._log.replies, texts, before, keys, str(self._path))


def said_of(folder: Path) -> dict[str, Any] | None:
    """The model's entry and name in an export; None if the folder is no export."""
    path = folder / ENTRY
    if not path.is_file():
        return None
    export_record = _parse_whole_json(read_text(path, REMEDY))
    if (
        not isinstance(export_record, dict)
        or not {"name", "kind", "sha256"} <= set(export_record)
        or not isinstance(export_record["name"], str)
    ):
        raise UserError(
            "it says nothing of a model", where=str(path), remedy="export the answers again"
        )
    return export_record


def load_exported_model(name: str, entry: ModelEntry, store: RowStore, where: str | None) -> Model:
    """A model with exported answers, never asked; UserError if the file is damaged.

    These answers have a separate store, so that a stranger's data never counts as the model's own
    answers here.
    """
    path = at_home(entry.locations[0][1]) / EXPORTED
    remedy = "get the whole folder again"
    if not path.is_file() or file_sha256(path) != entry.sha256:
        raise UserError(f"not as {ENTRY} says (sha256)", where=str(path), remedy=remedy)
    schema_of(path, remedy)
    export_store = RowStore(store.root / "exported" / str(entry.sha256))
    engines: set[str] = set()
    answers: dict[bytes, bytes] = {}
    try:
        for row in table_in(path, ["engine", "key", "operation", "answer"], remedy).to_pylist():
            form = form_of(row["operation"])
            answer = json.loads(row["answer"])
            if form is REPLY:
                answer = Reply(*answer)
            answers.setdefault(row["key"], form.pack(answer))
            engines.add(row["engine"])
        engine = min(
            engines, key=len, default=""
        )  # of an adapted state it begins with the original model's
        export_store.put(answers.items())
    except (
        LookupError,
        ValueError,
        TypeError,
        AttributeError,
        RecursionError,
        struct.error,
    ) as error:
        raise UserError(
            f"no answers of a model ({error})", where=str(path), remedy=remedy
        ) from None
    return Model(
        name, entry, entry.kind, export_store, lambda: engine, lambda: None, None, where
    ).stored()


def answer_as_json(operation: str, stored: bytes) -> object:
    """A stored answer as JSON: a number, a list of numbers (null for NaN), or a reply's text,
    reason and finish.
    """
    answer = form_of(operation).unpack(stored)
    if isinstance(answer, Reply):
        return answer.as_json
    if isinstance(answer, np.ndarray):
        as_objects = answer.astype(object)
        as_objects[np.isnan(answer)] = None
        return as_objects.tolist()
    return answer

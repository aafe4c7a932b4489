"""Read a log, by the format that its content shows."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from evenruler.errors import UserError
from evenruler.files import require_regular
from evenruler.models.answer_logs.batch import BATCH, is_of_batch, read_batch
from evenruler.models.answer_logs.harness import list_values, parse_likelihoods, parse_replies
from evenruler.models.answer_logs.inspect_ai import parse_inspect, read_zipped_log
from evenruler.models.answer_logs.logged import REMEDY, AnswerLog, Row, read_jsonl_rows
from evenruler.models.answer_logs.published import parse_bbq, parse_stereoset
from evenruler.models.answer_logs.table import TABLES, read_answer_table
from evenruler.strict import read_text

HALVES: Final = frozenset(("intrasentence", "intersentence"))  # keys of StereoSet's two tasks


@dataclass(frozen=True)
class LogOptions:
    """What a user says of a log beside its file."""

    column: str = ""
    """Of BBQ's predictions."""
    requests: str = ""
    """The file of a batch's requests."""
    is_partial: bool = False
    """Whether answers may be missing."""


def read_log(path: Path, options: LogOptions = LogOptions()) -> AnswerLog:
    """The answers in a file, or in all files of a folder, as listed in the package.

    UserError if the format is unknown, the file is truncated, or an answer is duplicate or not a
    number.
    """
    require_regular(path)
    files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
    if not files:
        raise UserError("no *.jsonl in it", where=str(path), remedy="name a file")
    try:
        answer_log = _parse_any_log(path, files, options)
    except UserError:
        raise
    except Exception as error:  # from JSON, zip files and unexpected content
        message = f"not as such a file is written ({type(error).__name__}: {error})"
        what = message.splitlines()[0]
        raise UserError(what, where=str(path), remedy=REMEDY) from None
    if answer_log is None:
        remedy = (
            "take published predictions of StereoSet or BBQ, samples_*.jsonl of "
            "lm-evaluation-harness, *.eval, results of a batch, or a table (.csv, .parquet)"
        )
        raise UserError(
            "neither published predictions nor logged samples", where=str(path), remedy=remedy
        )
    if options.requests and answer_log.what != BATCH:
        what = f"no results of a batch ({answer_log.what})"
        raise UserError(what, where=str(path), remedy="leave --asked out, which is of these")
    return answer_log


def _parse_any_log(path: Path, files: Sequence[Path], options: LogOptions) -> AnswerLog | None:
    """The answers by the format that the content shows; None if it shows none."""
    if path.suffix in TABLES and not path.is_dir():
        return read_answer_table(path)
    if path.suffix == ".eval" and not path.is_dir():
        header, samples = read_zipped_log(path)
        return AnswerLog("inspect_ai log", replies=parse_inspect(header, samples, str(path)))
    whole = None if path.is_dir() else parse_whole_json(read_text(path, REMEDY))
    if isinstance(whole, list):
        what = f"a JSON list of {len(whole):,} entries"
        raise UserError(
            what, where=str(path), remedy="write each of them on a line of its own (JSON lines)"
        )
    rows: list[Row] = []
    if whole:
        answer_log = _parse_json_object(whole, str(path))
        if answer_log is not None:
            return answer_log
        rows.append((f"{path}: line 1", whole))
    else:
        for file in files:
            rows += read_jsonl_rows(file)
    if rows and is_of_batch(rows[0][1]):
        return read_batch(rows, options.requests, path, is_partial=options.is_partial)
    return _parse_rows(rows, options.column)


def _parse_json_object(log_fields: dict[str, Any], where: str) -> AnswerLog | None:
    """The answers in a file that is one JSON object; None if it may be a row of JSON lines."""
    if set(log_fields) & HALVES:
        return parse_stereoset(log_fields, where)
    if {"status", "eval"} <= set(log_fields):
        samples = log_fields.get("samples") or []
        return AnswerLog("inspect_ai log", replies=parse_inspect(log_fields, samples, where))
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
        return AnswerLog("BBQ predictions", replies=parse_bbq(rows, column))
    if "doc_id" not in first_row or "resps" not in first_row:
        return None
    first_request = list_values(first_row["arguments"])[0]
    if isinstance(list_values(first_request)[1], dict):
        return AnswerLog(
            "lm-evaluation-harness replies", replies=parse_replies(rows), is_of_run=True
        )
    return parse_likelihoods(rows)


def is_pll_table(path: Path) -> bool:
    """Whether a file is a table of pseudo-log-likelihoods; UserError as in `read_log`."""
    return path.suffix in TABLES and path.is_file() and read_log(path).is_pll


def parse_whole_json(text: str) -> dict[str, Any] | list[Any] | None:
    """The JSON object or list that a text is; None if it is anything else, such as several lines of
    JSON.
    """
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict | list) else None

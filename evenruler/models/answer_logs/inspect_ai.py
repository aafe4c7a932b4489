"""Logs of inspect_ai: replies to questions of multiple choice."""

import json
import struct
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from evenruler.errors import UserError
from evenruler.files import MOST_READ, zip_members
from evenruler.models.answer_logs.logged import (
    Replies,
    add_reply,
    match_option,
    normalise_question,
    parse_logged_reply,
    parse_reply,
    require_reply,
)
from evenruler.terminal import print_note
from evenruler.text.replies import LETTERS, UNREAD, states_an_answer

SCORED: Final = "scored"
"""The rule of a reply that states no answer, whose letter the scorer of inspect_ai stored."""


ZSTANDARD: Final = 93  # zip compression of inspect_ai logs; Python reads it from 3.14 on


def parse_inspect(header: dict[str, Any], samples: list[dict[str, Any]], where: str) -> Replies:
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
        n_failed, n_samples = len(failed), len(samples)
        amount = f"{n_failed:,} of {n_samples:,} samples"
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
        written = require_reply(_written_in(sample, attachments), place)
        replied = parse_logged_reply(
            normalise_question(_message_text(question, attachments)), options, written
        )
        scored, option = _scored_option(sample, options), _option_of(sample, options, attachments)
        turned += scored not in (None, option)
        if option != replied.reply:
            replied = replied._replace(reply=option, rule=SCORED)
        add_reply(replies, sample.get("metadata") or {}, replied, place)
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
    is_silent = parse_reply(written, tuple(options)) == UNREAD and not states_an_answer(written)
    return scored if scored is not None and is_silent else match_option(written, options) or ""


def _written_in(sample: dict[str, Any], attachments: dict[str, str]) -> str:
    """The text that the model wrote for a sample; "" where it has no reply."""
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
    """The unpacked bytes of a file in a zip archive, also if packed by Zstandard, which `zipfile`
    cannot read; BadZipFile if the checksum (CRC-32) is wrong.
    """
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

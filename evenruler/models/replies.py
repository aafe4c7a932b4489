"""Replies that somebody logged to questions with options, of lm-evaluation-harness and inspect_ai: which was chosen."""

import json
import re
import struct
import zipfile
import zlib
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from evenruler.errors import UserError

ZSTANDARD: Final = 93
"""How inspect_ai packs the files of a log; Python reads it from 3.14 on."""

LABEL: Final = re.compile(r"^\s*(?:context|passage|question|q|answer|a)\s*:", re.IGNORECASE | re.MULTILINE)
"""What tasks write before the parts of a question."""


class Replied(NamedTuple):
    """A reply to a question (less labels), and texts among which its options are."""

    asked: str
    options: frozenset[str]
    reply: str


Replies = dict[str, Replied]
"""All replies of a file, by how the authors of a benchmark know the question, or by the question itself."""


def add(found: Replies, about: dict[str, Any], replied: Replied, where: str) -> None:
    """Keep a reply; `about` may say how BBQ's authors know the question."""
    own = [about.get("category"), about.get("question_index"), about.get("example_id", about.get("source_id"))]
    key = replied.asked if None in own else "/".join(map(str, own))
    if not isinstance(replied.reply, str):
        raise UserError(f"the reply is no text ({replied.reply!r})", where=where, remedy="log replies")
    if found.setdefault(key, replied) is not replied:
        remedy = "take one log of one epoch, with category, question_index and example_id of each question"
        raise UserError(f"{key[-60:]!r} is answered twice", where=where, remedy=remedy)


def told(
    replies: Replies, texts: Sequence[str], before: Sequence[str], keys: Sequence[str], where: str
) -> list[float | None]:
    """1 of an option that was chosen, 0 of the others and where the reply names none; None of what is not in it."""
    items: dict[tuple[str, str], list[int]] = {}
    for place, (prompt, key) in enumerate(zip(before, keys, strict=True)):
        items.setdefault((key.rpartition("/")[0], prompt), []).append(place)
    found: list[float | None] = [None] * len(texts)
    for (key, prompt), places in items.items():
        question, options = asked(prompt), {texts[place] for place in places}
        if (replied := replies.get(key, replies.get(question))) is None:
            continue
        if replied.asked != question or not options <= replied.options:
            what = f"it answers another text than {key or question[-60:]!r} of this benchmark"
            raise UserError(what, where=where, remedy="take the version of the benchmark that was answered")
        said = chosen(replied.reply, options)
        for place in places:
            found[place] = float(texts[place] == said)
    return found


@lru_cache(maxsize=1 << 18)
def asked(prompt: str) -> str:
    """A question less labels, with single spaces."""
    return " ".join(LABEL.sub(" ", prompt).split())


def chosen(reply: str, options: set[str]) -> str | None:
    """The option that a reply is, was cut off in, or begins with where it names no other; None where there is none.

    Case, marks and a first "the" do not count; after `answer:` or `answer is`, what follows is read, of it a line.
    """
    said = _plain(re.split(r"(?i)\banswer(?: is)?\s*:|\banswer is\b", reply)[-1].strip().split("\n")[0])
    plain = {_plain(option): option for option in options}
    fits = [said] if said in plain else [own for own in plain if said and own.startswith(said)]
    if not fits:
        named = [own for own in plain if own and f" {own} " in f" {said} "]
        # An option may be part of another one.
        named = [own for own in named if not any(own != other and own in other for other in named)]
        fits = [own for own in named if len(named) == 1 and said.startswith(own)]
    return plain[fits[0]] if len(fits) == 1 and len(plain) == len(options) else None


def _plain(text: str) -> str:
    return " ".join(re.sub(r"[^\w\s]", "", text.lower()).split()).removeprefix("the ")


def of_harness(rows: list[tuple[str, dict[str, Any]]]) -> Replies:
    """Logged samples of a task of lm-evaluation-harness that generates; its documents hold question and options."""
    found: Replies = {}
    for where, row in rows:
        if row.get("filter") == rows[0][1].get("filter"):  # the others have the same replies
            ((reply, *more),), doc, (given,) = row["resps"], row["doc"], values_of(row["arguments"])
            if more:
                raise UserError(f"{1 + len(more)} replies to a document", where=where, remedy="log it without repeats")
            parts = [doc[name] for name in ("context", "question") if name in doc]
            prompt = " ".join(parts) if len(parts) == 2 else str(values_of(given)[0])
            options = frozenset(map(str, (*doc.values(), *doc.get("choices", ()))))
            add(found, doc, Replied(asked(prompt), options, reply), where)
    return found


def values_of(given: Any) -> list[Any]:
    """Those of a list, or of a dictionary, in which lm-evaluation-harness writes lists."""
    return list(given.values() if isinstance(given, dict) else given)


def of_inspect(header: dict[str, Any], samples: list[dict[str, Any]], where: str) -> Replies:
    """A log of inspect_ai: an `EvalLog` of version 2, and its samples."""
    epochs = max([header["eval"]["config"].get("epochs") or 1, *(own["epoch"] for own in samples)])
    if header["status"] != "success" or not samples or epochs > 1:
        what = f"its run ended as {header['status']!r}, with {len(samples)} samples and {epochs} epochs"
        raise UserError(what, where=where, remedy="take the log of a whole run, with samples, of one epoch")
    found: Replies = {}
    for sample in samples:
        place, kept = f"{where}: sample {sample['id']}", sample.get("attachments") or {}
        if not sample.get("choices"):
            raise UserError("its question has no options", where=place, remedy="take a log of multiple choice")
        options, question = [_text(own, kept) for own in sample["choices"]], sample["input"]
        if not isinstance(question, str):
            question = [own["content"] for own in question if own["role"] == "user"][-1]
        replied = Replied(asked(_text(question, kept)), frozenset(options), _option_of(sample, options, kept))
        add(found, sample.get("metadata") or {}, replied, place)
    return found


def _option_of(sample: dict[str, Any], options: list[str], kept: dict[str, str]) -> str:
    """The option whose letter was scored or replied, else the reply; "" of several letters, or where there is none."""
    replies = sample["output"]["choices"] or [{"message": {"content": ""}}]
    reply = _text(sample["output"].get("completion") or replies[0]["message"]["content"], kept)
    scored = (sample.get("scores") or {}).get("choice", {}).get("answer")
    letters = re.findall(r"(?im)^\W*ANSWER\W*:\W*([A-Z](?:\W+[A-Z])*)\W*$", reply)
    letter = str(scored or "".join(letters[-1:])).strip().upper()
    by_letter = {chr(ord("A") + place): option for place, option in enumerate(options)}
    return by_letter.get(letter, "") if letter else reply


def _text(content: Any, kept: dict[str, str]) -> str:
    """Text of a message, which may come in parts, or lie among attachments."""
    whole = content if isinstance(content, str) else "".join(own.get("text", "") for own in content)
    return kept.get(whole.removeprefix("attachment://"), whole)


def unzipped(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Header and samples of a log of inspect_ai that is a zip file (`.eval`)."""
    with zipfile.ZipFile(path) as archive:
        members = {own.filename: own for own in archive.infolist()}  # of two of a name, the last one holds
        if "header.json" not in members:
            raise UserError("its run did not end", where=str(path), remedy="take the log of a whole run")
        names = sorted(name for name in members if name.startswith("samples/"))
        header, *samples = (json.loads(_member(archive, members[name])) for name in ("header.json", *names))
    return header, samples


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    if member.compress_type != ZSTANDARD:
        return archive.read(member)
    import pyarrow as pa

    assert archive.fp is not None
    archive.fp.seek(member.header_offset + 26)
    archive.fp.seek(sum(struct.unpack("<HH", archive.fp.read(4))), 1)
    packed = pa.BufferReader(archive.fp.read(member.compress_size))
    found = bytes(pa.CompressedInputStream(packed, "zstd").read())
    if zlib.crc32(found) != member.CRC:
        raise zipfile.BadZipFile(f"{member.filename} is damaged")
    return found

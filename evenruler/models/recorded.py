"""Recorded answers from files as a model, which has these answers and no others.

Supported files:

| what | files | answers found by |
| --- | --- | --- |
| StereoSet's published predictions | one JSON | sentence ids |
| BBQ's published predictions | JSON lines, one file or a folder; `FILE#COLUMN` if there are several | keys |
| lm-evaluation-harness `--log_samples`, multiple choice | JSON lines, one file | exact prompt and text |
| the same for generation tasks, of questions with options | JSON lines, one file | question and options |
| inspect_ai, multiple choice | `.eval` or `.json` | question and options |
| `evenruler answers export` | a folder with `answers.parquet` and `model.json` | the whole question |
"""

import json
import math
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from evenruler.errors import UserError
from evenruler.files import MOST_READ, file_sha256, members_of, require_regular
from evenruler.models.declared import ModelEntry
from evenruler.models.model import REPLY, Model, form_of
from evenruler.models.records import LogLikelihoods, Reply
from evenruler.models.sources import declared_at, pinned
from evenruler.models.store import RowStore
from evenruler.strict import at_home, json_of_others, read_text
from evenruler.tables.contents import schema_of, table_in
from evenruler.tables.ids import canonical

READER: Final = "recorded/1"  # to be increased when the reading of files changes
UNKNOWN_LENGTH: Final = -1  # number of tokens if the recorded answer does not give it
HALVES: Final = frozenset(("intrasentence", "intersentence"))  # keys of StereoSet's two tasks
REMEDY = "take the file as it was written"
EXPORTED: Final = "answers.parquet"
ENTRY: Final = "model.json"  # metadata of an export's model
ZSTANDARD: Final = 93  # zip compression of inspect_ai logs; Python reads it from 3.14 on

LABEL: Final = re.compile(r"^\s*(?:context|passage|question|q|answer|a)\s*:", re.IGNORECASE | re.MULTILINE)
"""Labels that tasks write before the parts of a question."""


class Replied(NamedTuple):
    """A reply to a question (without labels), and texts that include its options."""

    asked: str
    options: frozenset[str]
    reply: str


Replies = dict[str, Replied]  # by the authors' key of the question, or by the question itself


@dataclass(frozen=True)
class Log:
    """All answers in a file."""

    what: str
    by_key: dict[str, float] = field(default_factory=dict)
    """Scores by the authors' key of a text; higher is more likely, and only the order within an item counts."""
    by_text: dict[tuple[str, str], float] = field(default_factory=dict)
    """Log-likelihoods in nats by prompt and text, the separator included."""
    replies: Replies | None = None  # of a model that generated text


def read(path: Path, column: str = "") -> Log:
    """The answers in a file, or in all files of a folder, as listed above; `column`: of BBQ's predictions.

    UserError if the format is unknown, the file is truncated, or an answer is duplicate or not a number.
    """
    require_regular(path)
    files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
    if not files:
        raise UserError("no *.jsonl in it", where=str(path), remedy="name a file")
    try:
        if path.suffix == ".eval" and not path.is_dir():
            return Log("inspect_ai log", replies=_of_inspect(*unzipped(path), str(path)))
        said = {} if path.is_dir() else _object(read_text(path, REMEDY))
        if set(said) & HALVES:
            return _of_stereoset(said, str(path))
        if {"status", "eval"} <= set(said):
            return Log("inspect_ai log", replies=_of_inspect(said, said.get("samples") or [], str(path)))
        rows = [row for file in files for row in _lines(file)]
        first = rows[0][1] if rows else {}
        if "example_id" in first and "question_index" in first:
            return Log("BBQ predictions", replies=_of_bbq(rows, column))
        if "doc_id" in first and "resps" in first:
            if isinstance(_values_of(_values_of(first["arguments"])[0])[1], dict):
                return Log("lm-evaluation-harness replies", replies=_replies_of_harness(rows))
            return _likelihoods_of_harness(rows)
    except UserError:
        raise
    except Exception as error:  # from JSON, zip files and unexpected content
        what = f"not as such a file is written ({type(error).__name__}: {error})".splitlines()[0]
        raise UserError(what, where=str(path), remedy=REMEDY) from None
    raise UserError("neither published predictions nor logged samples", where=str(path), remedy=REMEDY)


def _of_stereoset(said: dict[str, Any], where: str) -> Log:
    """Sentence scores by id, for two tasks: `{"intrasentence": [{"id": ..., "score": ...}], ...}`."""
    found = Log("StereoSet predictions")
    for one in (one for own in said.values() for one in own):
        if (key := str(one.get("id"))) in found.by_key:
            raise UserError(f"{key!r} is answered twice", where=where, remedy=REMEDY)
        found.by_key[key] = _finite(one.get("score"), where, key)
    return found


def _object(text: str) -> dict[str, Any]:
    """The JSON object in a text; empty if it is anything else, such as JSON lines."""
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}


def _of_bbq(rows: list[tuple[str, dict[str, Any]]], column: str) -> Replies:
    """Chosen options, as text in a column."""
    columns = sorted(name for name in rows[0][1] if "_pred" in name)
    if column not in columns and (column or len(columns) != 1):
        what = f"no column {column!r} of predictions" if column else f"{len(columns)} columns of predictions"
        remedy = f"say recorded:FILE#COLUMN with one of {', '.join(columns)}"
        raise UserError(what, where=rows[0][0], remedy=remedy)
    found: Replies = {}
    for where, row in rows:
        options = frozenset(str(row[f"ans{place}"]) for place in range(3))
        reply = str(row.get(column or columns[0]))
        _add(found, row, Replied(asked(f"{row['context']} {row['question']}"), options, reply), where)
    return found


def _likelihoods_of_harness(rows: list[tuple[str, dict[str, Any]]]) -> Log:
    """Logged samples of a multiple-choice task: log-likelihoods of each option after its prompt."""
    found, seen = Log("lm-evaluation-harness samples"), set()
    for where, row in rows:
        if row["doc_id"] in seen:
            raise UserError(f"document {row['doc_id']} is answered twice", where=where, remedy=REMEDY)
        seen.add(row["doc_id"])
        requests = [_values_of(one) for one in _values_of(row["arguments"])]
        answers = [one[0] if len(one) == 1 else one for one in row["resps"]]
        of_texts = all(len(one) == 2 and isinstance(one[1], str) for one in requests)
        if not of_texts or any(isinstance(one, str) or len(one) != 2 for one in answers):
            remedy = "log a task of multiple choice, whose samples hold likelihoods"
            raise UserError("its task generates, and likelihoods are needed", where=where, remedy=remedy)
        for (prompt, text), (value, _) in zip(requests, answers, strict=True):
            number = _finite(value, where, text)
            if abs(found.by_text.setdefault((prompt, text), number) - number) > 1e-2:
                raise UserError(f"{text!r} has two other likelihoods", where=where, remedy=REMEDY)
    return found


def _lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, line in enumerate(read_text(path, REMEDY).split("\n"), 1):
        if line.strip():
            where = f"{path}: line {number}"
            row = json_of_others(line, where, REMEDY)
            if not isinstance(row, dict):
                raise UserError("no object of JSON", where=where, remedy=REMEDY)
            yield where, row


def _finite(value: Any, where: str, of: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise UserError(f"the answer to {of[:60]!r} is no number ({value!r})", where=where, remedy=REMEDY)
    return number


def _replies_of_harness(rows: list[tuple[str, dict[str, Any]]]) -> Replies:
    """Logged samples of a generation task, whose documents contain question and options."""
    found: Replies = {}
    for where, row in rows:
        if row.get("filter") == rows[0][1].get("filter"):  # other filters have the same replies
            ((reply, *more),), doc, (given,) = row["resps"], row["doc"], _values_of(row["arguments"])
            if more:
                raise UserError(f"{1 + len(more)} replies to a document", where=where, remedy="log it without repeats")
            parts = [doc[name] for name in ("context", "question") if name in doc]
            prompt = " ".join(parts) if len(parts) == 2 else str(_values_of(given)[0])
            options = frozenset(map(str, (*doc.values(), *doc.get("choices", ()))))
            _add(found, doc, Replied(asked(prompt), options, reply), where)
    return found


def _values_of(given: Any) -> list[Any]:
    """Values of a list, or of a dict, which lm-evaluation-harness may write instead."""
    return list(given.values() if isinstance(given, dict) else given)


def _of_inspect(header: dict[str, Any], samples: list[dict[str, Any]], where: str) -> Replies:
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
        _add(found, sample.get("metadata") or {}, replied, place)
    return found


def _option_of(sample: dict[str, Any], options: list[str], kept: dict[str, str]) -> str:
    """The option whose letter was scored or replied, else the reply; "" for several or unknown letters."""
    replies = sample["output"]["choices"] or [{"message": {"content": ""}}]
    reply = _text(sample["output"].get("completion") or replies[0]["message"]["content"], kept)
    scored = (sample.get("scores") or {}).get("choice", {}).get("answer")
    letters = re.findall(r"(?im)^\W*ANSWER\W*:\W*([A-Z](?:\W+[A-Z])*)\W*$", reply)
    letter = str(scored or "".join(letters[-1:])).strip().upper()
    by_letter = {chr(ord("A") + place): option for place, option in enumerate(options)}
    return by_letter.get(letter, "") if letter else reply


def _text(content: Any, kept: dict[str, str]) -> str:
    """The text of a message, which may be in parts or an attachment."""
    whole = content if isinstance(content, str) else "".join(own.get("text", "") for own in content)
    return kept.get(whole.removeprefix("attachment://"), whole)


def unzipped(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Header and samples of an inspect_ai log in zip format (`.eval`)."""
    with zipfile.ZipFile(path) as archive:
        # Of equal names the last one counts.
        members = {own.filename: own for own in members_of(archive, MOST_READ)}
        if "header.json" not in members:
            raise UserError("its run did not end", where=str(path), remedy="take the log of a whole run")
        names = sorted(name for name in members if name.startswith("samples/"))
        header, *samples = (json.loads(_member(archive, members[name])) for name in ("header.json", *names))
    return header, samples


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    if member.compress_type != ZSTANDARD:
        with archive.open(member) as file:
            return file.read(member.file_size + 1)  # without a number it may unpack more before it cuts
    assert archive.fp is not None
    archive.fp.seek(member.header_offset + 26)
    archive.fp.seek(sum(struct.unpack("<HH", archive.fp.read(4))), 1)
    packed = pa.BufferReader(archive.fp.read(member.compress_size))
    found = bytes(pa.CompressedInputStream(packed, "zstd").read(member.file_size + 1))
    if zlib.crc32(found) != member.CRC:
        raise zipfile.BadZipFile(f"{member.filename} is damaged")
    return found


def _add(found: Replies, about: dict[str, Any], replied: Replied, where: str) -> None:
    """Store a reply; `about` may contain the BBQ authors' key of the question."""
    own = [about.get("category"), about.get("question_index"), about.get("example_id", about.get("source_id"))]
    key = replied.asked if None in own else "/".join(map(str, own))
    if not isinstance(replied.reply, str):
        raise UserError(f"the reply is no text ({replied.reply!r})", where=where, remedy="log replies")
    if found.setdefault(key, replied) is not replied:
        remedy = "take one log of one epoch, with category, question_index and example_id of each question"
        raise UserError(f"{key[-60:]!r} is answered twice", where=where, remedy=remedy)


def _told(
    replies: Replies, texts: Sequence[str], before: Sequence[str], keys: Sequence[str], where: str
) -> list[float | None]:
    """1 for a chosen option, 0 for others and if the reply names none; None for questions without a reply."""
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
    """A question without labels, with single spaces."""
    return " ".join(LABEL.sub(" ", prompt).split())


def chosen(reply: str, options: set[str]) -> str | None:
    """The option that a reply equals, is a truncated form of, or begins with if it names no other; None otherwise.

    Case, punctuation and a leading "the" are ignored; after `answer:` or `answer is`, only the rest of that line
    counts.
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


class Recorded(Model):
    """Recorded answers of a file as a model of the catalogue."""

    def __init__(self, name: str, entry: ModelEntry, store: RowStore, where: str | None = None) -> None:
        """Read `recorded:FILE`, or `recorded:git:...` with `sha256`; never computes answers. UserError as in `read`."""
        place = where or declared_at(name)
        source, _, column = entry.locations[0][1].partition("#")
        if source.startswith(("git:", "package:")):
            if entry.sha256 is None:
                raise UserError("sha256 is missing", where=place, remedy="say the checksum of the file")
            self._path = pinned(source, entry.sha256, place)
        else:
            self._path = pinned(f"local:{source}", entry.sha256, place) if entry.sha256 else at_home(source)
        if not self._path.exists():
            raise UserError("no such file", where=f"{place}: {self._path}", remedy="check the name")
        self._log = read(self._path, column)
        files = sorted(self._path.glob("*.jsonl")) if self._path.is_dir() else [self._path]
        engine = canonical({"reader": READER, "column": column, "files": [file_sha256(file) for file in files]})

        def refuse() -> Any:
            raise UserError("answers that were recorded cannot be asked more", where=place, remedy="name a model")

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
        """The recorded score of each text; arguments as for any model, but that no other start can be asked for.

        NaN if the file has nothing on a part of the benchmark (a key up to its first slash); token counts are -1,
        unknown. UserError if it belongs to another benchmark, lacks answers within a part, or answers other texts.
        """
        given = [""] * len(texts) if before is None else before
        named = [""] * len(texts) if keys is None else keys
        found = self._found(texts, given, named, between)
        lacking = [place for place, value in enumerate(found) if value is None]
        if texts and len(lacking) == len(texts):
            what = f"none of its answers ({self._log.what}) is to one of these {len(texts):,} texts"
            raise UserError(what, where=str(self._path), remedy="name the benchmark that it answers, in that version")
        known = set() if self._log.replies is None else set(range(len(texts))) - {*lacking}
        of_file = {named[place].partition("/")[0] for place in known}
        half = [place for place in lacking if not of_file or named[place].partition("/")[0] in of_file]
        if half:
            text = texts[half[0]]
            what = f"it lacks the answers to {len(half):,} of {len(texts):,} texts, as {text[:60]!r}"
            raise UserError(what, where=str(self._path), remedy="take a whole log of this benchmark, in that version")
        nats = np.array([math.nan if value is None else value for value in found], dtype=np.float64)
        return LogLikelihoods(nats, np.full(len(texts), UNKNOWN_LENGTH, dtype=np.int64))

    def answers(self, texts: Sequence[str], before: Sequence[str], keys: Sequence[str], between: str) -> bool:
        """Whether the file has an answer to one of these texts, or to another version of one."""
        try:
            return any(value is not None for value in self._found(texts, before, keys, between))
        except UserError:
            return True

    def _found(
        self, texts: Sequence[str], before: Sequence[str], keys: Sequence[str], between: str
    ) -> list[float | None]:
        if self._log.replies is not None:
            return _told(self._log.replies, texts, before, keys, str(self._path))
        if self._log.by_key:
            return [self._log.by_key.get(key) for key in keys]
        after = [f"{between}{text}" if first else text for text, first in zip(texts, before, strict=True)]
        return [self._log.by_text.get(one) for one in zip(before, after, strict=True)]


def said_of(folder: Path) -> dict[str, Any] | None:
    """The model's entry and name in an export; None if the folder is no export."""
    path = folder / ENTRY
    if not path.is_file():
        return None
    said = _object(read_text(path, REMEDY))
    if not {"name", "kind", "sha256"} <= set(said) or not isinstance(said["name"], str):
        raise UserError("it says nothing of a model", where=str(path), remedy="export the answers again")
    return said


def exported(name: str, entry: ModelEntry, store: RowStore, where: str | None) -> Model:
    """A model with exported answers, never asked; UserError if the file is damaged.

    These answers have a separate store, so that a stranger's data never counts as the model's own answers here.
    """
    path = at_home(entry.locations[0][1]) / EXPORTED
    remedy = "get the whole folder again"
    if not path.is_file() or file_sha256(path) != entry.sha256:
        raise UserError(f"not as {ENTRY} says (sha256)", where=str(path), remedy=remedy)
    schema_of(path, remedy)
    own, engines, answers = RowStore(store.root / "exported" / str(entry.sha256)), set[str](), dict[bytes, bytes]()
    try:
        for row in table_in(path, ["engine", "key", "operation", "answer"], remedy).to_pylist():
            form, said = form_of(row["operation"]), json.loads(row["answer"])
            answers.setdefault(row["key"], form.pack(Reply(*said) if form is REPLY else said))
            engines.add(row["engine"])
        engine = min(engines, key=len, default="")  # of an adapted state it begins with the original model's
        own.put(answers.items())
    except (LookupError, ValueError, TypeError, AttributeError, RecursionError, struct.error) as error:
        raise UserError(f"no answers of a model ({error})", where=str(path), remedy=remedy) from None
    return Model(name, entry, entry.kind, own, lambda: engine, lambda: None, None, where).stored()


def answer_as_json(operation: str, stored: bytes) -> Any:
    """A stored answer as JSON: a number, a list of numbers, or a reply's text, reason and finish."""
    found = form_of(operation).unpack(stored)
    if isinstance(found, Reply):
        return found.as_json
    return found.tolist() if isinstance(found, np.ndarray) else found

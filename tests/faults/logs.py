"""Answers that somebody recorded, as files that stand for more than they are, or are no answers."""

import hashlib
import json
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq

from evenruler.models.store import RowStore
from evenruler.tables.frames import write_whole
from tests.faults.cases import Seen, doing, refusals, write_terabyte
from tests.tables.test_contents import repeated

HEADER = json.dumps({"status": "success", "eval": {"config": {}}})
ANSWERS = {
    "operation": "likelihood/1",
    "question": "{}",
    "answer": "[-1.5, 3]",
    "engine": "e",
    "key": b"k" * 32,
}
MODEL = {"name": "theirs", "kind": "causal", "licence": "mit", "origin": "somebody"}


def _read(file: str, folder: Path) -> Seen:
    """The answers are read, as `measure recorded:FILE` reads them before it asks anything."""
    from evenruler.evaluate.resolve_model import load

    store = RowStore(folder / "cache")
    return doing(lambda: load(f"recorded:{folder / file}", store=store))


def _eval(method: int, folder: Path) -> Seen:
    """A log of inspect_ai whose one sample is a few kilobytes of zeros that stand for more than is
    read."""
    with zipfile.ZipFile(folder / "log.eval", "w", method) as archive:
        archive.writestr("header.json", HEADER)
        with archive.open("samples/1.json", "w", force_zip64=True) as sample:
            sample.write(bytes(2**20 + 1))
    assert (folder / "log.eval").stat().st_size < 2**20
    with patch("evenruler.models.answer_logs.inspect_ai.MOST_READ", 2**20):
        return _read("log.eval", folder)


def _understated(folder: Path) -> Seen:
    """One that unpacks to 16 MB, and its directory says that it is a kilobyte."""
    path = folder / "log.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", HEADER)
        archive.writestr("samples/1.json", bytes(2**24))
    size, understated = (2**24).to_bytes(4, "little"), (1024).to_bytes(4, "little")
    path.write_bytes(path.read_bytes().replace(size, understated))
    return _read("log.eval", folder)


def _sparse(name: str, folder: Path) -> Seen:
    write_terabyte(folder / name)
    return _read(name, folder)


def _text(name: str, text: str, folder: Path) -> Seen:
    (folder / name).write_text(text)
    return _read(name, folder)


def _exported(write: Callable[[Path], object], folder: Path, **changes: Any) -> Seen:
    """An export of answers whose table is written so, under the checksum that it has."""
    export = folder / "export"
    export.mkdir()
    write(export / "answers.parquet")
    sha256 = hashlib.sha256((export / "answers.parquet").read_bytes()).hexdigest()
    (export / "model.json").write_text(json.dumps(MODEL | {"sha256": sha256} | changes))
    return _read("export", folder)


def _rows(path: Path, **changes: Any) -> None:
    row = {name: cell for name, cell in (ANSWERS | changes).items() if cell is not None}
    write_whole(pa.Table.from_pylist([row]), path)


def _bomb(path: Path) -> None:
    columns = {name: [cell] * 10_000 for name, cell in ANSWERS.items()}
    columns["answer"] = repeated("x" * 1_000_000, 10_000)
    pq.write_table(pa.table(columns), path, compression="zstd")
    assert path.stat().st_size < 2**20


def _zipped(method: int, n_bytes: int, folder: Path) -> Seen:
    """A model in a zip file that has no end: refused before any of it is unpacked."""
    from evenruler.models.sources import unpack

    path, unpacked = folder / "model.zip", folder / "made"
    unpacked.mkdir()
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("model.safetensors", bytes(2**20))
        archive.infolist()[0].file_size = n_bytes
    seen = doing(partial(unpack, path, unpacked, "params.yaml: models.theirs"))
    assert list(unpacked.iterdir()) == []
    return seen


MEASURE = "read recorded answers"
UNPACKS = ("log.eval: not as such a file is written (BadZipFile: it unpacks to",)
NO_ANSWERS = ("answers.parquet: no answers of a model", "get the whole folder again")

NO_JSON_ANSWERS = {
    "answers without keys": {"key": None},
    "answers that are no JSON": {"answer": "{"},
    "answers that are words": {"answer": '"much"'},
    "answers 100,000 levels deep": {"answer": "[" * 100_000},
}
DESCRIPTIONS = {
    "a model whose name is a list": {"name": ["theirs"]},
    "a model whose name leads out": {"name": "../x"},
    "a model of another checksum": {"sha256": "0" * 64},
}

CASES = [
    *refusals(
        MEASURE,
        {
            "a log that unpacks to gigabytes": (partial(_eval, zipfile.ZIP_DEFLATED), *UNPACKS),
            "a log that unpacks to more than it says": (_understated, "log.eval: not as such"),
            "log.json of a terabyte": (partial(_sparse, "log.json"), "bytes, more than the"),
            "log.json, 100,000 levels deep": (
                partial(_text, "log.json", "[" * 100_000),
                "log.json",
            ),
            "answers that unpack to gigabytes": (
                partial(_exported, _bomb),
                "no readable Parquet (more than",
                "get the whole",
            ),
        }
        | {
            fault: (partial(_exported, partial(_rows, **changes)), *NO_ANSWERS)
            for fault, changes in NO_JSON_ANSWERS.items()
        }
        | {
            fault: (partial(_exported, _rows, **changes), "export")
            for fault, changes in DESCRIPTIONS.items()
        },
    ),
    *refusals(
        "convert a model",
        {
            "a zip file that unpacks to more than the disk has": (
                partial(_zipped, zipfile.ZIP_DEFLATED, 2**60),
                "it unpacks to",
            ),
            "a zip file packed by bzip2": (partial(_zipped, zipfile.ZIP_BZIP2, 2**20), "bzip2"),
        },
    ),
]

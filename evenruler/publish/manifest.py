"""`manifest.json`: what a benchmark folder is. It decides identity."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from evenruler.errors import UserError
from evenruler.publish.versions import Version
from evenruler.strict import Strict, Text, validate

NAME = "manifest.json"


class Manifest(Strict):
    """The content of `manifest.json`."""

    name: Text
    version: Version
    location: Text
    """Where the data set lies: `.`, in this folder, or `USER/REPO` on the Hub."""
    content_sha256: Text
    rows: dict[str, int]
    """By config."""
    rejected: int
    """Rows that were left out when it was built."""
    columns: dict[str, dict[str, str]]
    """By config: Arrow type of each column."""
    sources: list[str]
    licences: list[str]
    parameters: dict[str, Any]
    """What it was built from."""
    files: dict[str, str]
    """sha256 of every other file, by path."""


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a benchmark folder.

    Raises:
        UserError: There is none, or it is no manifest.
    """
    path = folder / NAME
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        remedy = "name a folder of a benchmark"
        raise UserError(f"no {NAME} here", where=str(folder), remedy=remedy) from None
    except UnicodeDecodeError:
        raise UserError("not UTF-8", where=str(path), remedy="get the file again") from None
    return parse_manifest(text, path)


def parse_manifest(text: str, path: Path) -> Manifest:
    """The manifest in a text; errors as for `read_manifest`."""
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        raise UserError(f"not JSON ({error})", where=str(path), remedy="get the file again") from None
    return validate(Manifest, content, path)


def as_json(content: object) -> str:
    """How every JSON file of a benchmark is written."""
    return json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"


def columns_of(schema: pa.Schema) -> dict[str, str]:
    """Arrow type by column."""
    return {field.name: str(field.type) for field in schema}


def content_sha256(tables: Mapping[str, pa.Table]) -> str:
    """One checksum of all rows, the same whatever library wrote the Parquet.

    It is the sha256 of the lines `config <tab> id <tab> content_sha256 <newline>`, configs by name, rows by id.
    """
    digest = hashlib.sha256()
    for config in sorted(tables):
        rows = tables[config].select(["id", "content_sha256"]).sort_by("id")
        for batch in rows.to_batches(max_chunksize=65_536):
            lines = zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True)
            digest.update("".join(f"{config}\t{id_}\t{content}\n" for id_, content in lines).encode())
    return digest.hexdigest()


def file_sha256(path: Path) -> str:
    """Checksum of a file, read in pieces."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def bytes_sha256(content: bytes) -> str:
    """Checksum of a file's content."""
    return hashlib.sha256(content).hexdigest()

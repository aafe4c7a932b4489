"""`manifest.json`: what a benchmark folder is. It decides identity."""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Self

import pyarrow as pa
from pydantic import AfterValidator, NonNegativeInt, model_validator

from evenruler.errors import UserError
from evenruler.publish.contents import data_file
from evenruler.publish.reading import json_of
from evenruler.publish.versions import Version
from evenruler.strict import Slug, Strict, Text, validate

NAME = "manifest.json"

PLAN = "plan.json"

LONGEST_PATH = 255
"""Bytes of the path of a file in a benchmark."""


def _inside(name: str) -> str:
    parts = name.split("/")
    if {"", ".", ".."} & {*parts} or "\\" in name or not name.isprintable() or len(name.encode()) > LONGEST_PATH:
        raise ValueError(f"found {name[:LONGEST_PATH]!r}, expected the path of a file in the benchmark's folder")
    return name


class Manifest(Strict):
    """The content of `manifest.json`."""

    name: Slug
    version: Version
    location: Text
    """Where the data set lies: `.`, in this folder, or `USER/REPO` on the Hub."""
    content_sha256: Text
    rows: dict[Slug, NonNegativeInt]
    """By config."""
    rejected: NonNegativeInt
    """Rows that were left out when it was built."""
    columns: dict[Slug, dict[str, str]]
    """By config: Arrow type of each column."""
    sources: list[str]
    licences: list[str]
    parameters: dict[str, Any]
    """What it was built from."""
    files: dict[Annotated[str, AfterValidator(_inside)], str]
    """sha256 of every other file, by path."""

    @model_validator(mode="after")
    def _whole(self) -> Self:
        """No table goes unchecked."""
        if self.rows.keys() != self.columns.keys():
            told = sorted(self.rows.keys() ^ self.columns.keys())
            raise ValueError(f"{', '.join(told)} stands under one of `rows` and `columns`, expected both or none")
        for name in map(data_file, self.rows):
            if name not in self.files:
                raise ValueError(f"`files` lacks {name}")
        return self


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a benchmark folder.

    Raises:
        UserError: There is none, or it is no manifest.
    """
    path = folder / NAME
    if not os.path.lexists(path):
        raise UserError(f"no {NAME} here", where=str(folder), remedy="name a folder of a benchmark")
    return validate(Manifest, json_of(path, "get the file again"), path)


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

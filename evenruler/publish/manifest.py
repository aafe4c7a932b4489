"""`manifest.json`: what a benchmark folder is; and the identity of a version, made of its files."""

import hashlib
import json
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, Self

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import AfterValidator, NonNegativeInt, model_validator

from evenruler.errors import UserError
from evenruler.publish.reading import AGAIN, batches_in, is_file, json_of, text_of
from evenruler.strict import Slug, Strict, Text, validate
from evenruler.versions import Version

NAME = "manifest.json"

PLAN = "plan.json"

HERE = "."
"""Where a benchmark lies until it is published: in its own folder, wherever that is."""

NO_TAG = " No tag names this version yet, so that there is no `revision` to give."
"""What the card of a version that is not released says of loading it."""

KIND = "rows+plan:"
"""Before the digits of an identity: what it is a hash of. Those of another kind, as older evenrulers wrote them, cannot
be held against it."""

LONGEST_PATH = 255
"""Bytes of the path of a file in a benchmark."""


def data_file(config: str) -> str:
    """Where the rows of a config lie in a benchmark folder."""
    return f"{config}/test-00000-of-00001.parquet"


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
    """The identity of the version, as `identity_of` makes it."""
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

    def says_other(self, identity: str) -> bool:
        """Whether it names another identity of the same kind, so that the folder was altered."""
        return self.content_sha256.startswith(KIND) and self.content_sha256 != identity


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


def cell(value: object) -> str:
    """A value inside a Markdown table, where no `<` of it begins an element."""
    return " ".join(str(value).split()).replace("|", "\\|").replace("<", "&lt;")


def columns_of(schema: pa.Schema) -> dict[str, str]:
    """Arrow type by column."""
    return {field.name: str(field.type) for field in schema}


def identity_of(folder: Path, configs: Iterable[str], remedy: str = AGAIN) -> str:
    """What a version of a benchmark is: one hash of every cell of all its tables and of its plan, read from its files.

    It is the same on every machine, whatever library packed the Parquet and in whatever pieces. Every column goes into
    a sha256 of its values as text and into one of their lengths (in bytes, -1 where there is none): texts as UTF-8,
    whole numbers in decimal, others as Python writes them (the shortest that reads back), lists and structs by what is
    in them. The identity is the sha256 of these, with the names and kinds of the columns, and of `plan.json`.

    Args:
        folder: The benchmark; `reading.schema_of` has passed its tables.
        configs: Of its tables.
        remedy: For errors.

    Returns:
        `KIND` and 64 hex digits.

    Raises:
        UserError: A file is missing or damaged, or a column is of a type that no benchmark has.
    """
    plan = folder / PLAN
    told: dict[str, Any] = {"plan": bytes_sha256(text_of(plan, remedy).encode()) if is_file(plan) else None}
    for config in configs:
        path, n_rows = folder / data_file(config), 0
        digests: dict[str, Any] = defaultdict(hashlib.sha256)
        for batch in batches_in(path, remedy):
            n_rows += batch.num_rows
            for name, column in zip(batch.schema.names, batch.columns, strict=True):
                try:
                    for part, content in _in_bytes((name,), column):
                        digests[json.dumps(part)].update(content)
                except TypeError as error:
                    raise UserError(f"column {name} {error}", where=str(path), remedy=remedy) from None
        told[config] = {"rows": n_rows, **{part: found.hexdigest() for part, found in digests.items()}}
    return KIND + bytes_sha256(as_json(told).encode())


def _in_bytes(path: tuple[str, ...], values: pa.Array) -> Iterator[tuple[tuple[str, ...], bytes]]:
    """A piece of a column: by part, what goes into its hash, so that no piece shows where it began and ended."""
    kind, types = values.type, pa.types
    if types.is_dictionary(kind):
        yield from _in_bytes(path, values.dictionary_decode())
    elif types.is_list(kind) or types.is_large_list(kind):
        yield (*path, "list"), _lengths(pc.list_value_length(values))
        yield from _in_bytes((*path, "list"), pc.list_flatten(values))
    elif types.is_struct(kind):
        yield (*path, "struct"), _lengths(pc.if_else(values.is_valid(), 1, None))
        for field, own in zip(kind, values.flatten(), strict=True):
            yield from _in_bytes((*path, "struct", field.name), own)
    elif types.is_floating(kind):
        yield (*path, "float"), _lengths(pc.if_else(values.is_valid(), 1, None))
        numbers = values.drop_null().cast(pa.float64()).to_numpy() + 0.0  # 0 is never negative
        yield (*path, "float", "values"), "\n".join([*map(repr, numbers.tolist()), ""]).encode()
    else:
        known = {"text": types.is_string(kind) or types.is_large_string(kind), "bool": types.is_boolean(kind)}
        called = next((name for name, is_so in known.items() if is_so), "int")
        if called == "int" and not types.is_integer(kind):
            raise TypeError(f"is of {kind}, which no benchmark has")
        texts = values.cast(pa.string()).cast(pa.large_binary())
        yield (*path, called), _lengths(pc.binary_length(texts))
        there = texts.drop_null()
        whole = pa.LargeListArray.from_arrays(pa.array([0, len(there)], pa.int64()), there)
        yield (*path, called, "values"), pc.binary_join(whole, pa.scalar(b"", pa.large_binary()))[0].as_py()


def _lengths(values: pa.Array) -> bytes:
    """Whole numbers in eight bytes each, the least first; -1 for what is not there."""
    found = pc.fill_null(values.cast(pa.int64()), -1).to_numpy(zero_copy_only=False)
    return bytes(found.astype("<i8").tobytes())


def file_sha256(path: Path) -> str:
    """Checksum of a file, read in pieces."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def bytes_sha256(content: bytes) -> str:
    """Checksum of a file's content."""
    return hashlib.sha256(content).hexdigest()

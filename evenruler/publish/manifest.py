"""`manifest.json`: a benchmark folder's content, the identity of its version, and checks of a
folder against it.
"""

import fnmatch
import hashlib
import json
import os
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Self, TypedDict, Unpack

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pydantic import AfterValidator, NonNegativeInt, model_validator
from ruamel.yaml.error import YAMLError

from evenruler import repository
from evenruler.errors import UserError
from evenruler.files import file_sha256
from evenruler.strict import Slug, StrictModel, Text, content_of, validate
from evenruler.tables import contents
from evenruler.terminal import escape_steering
from evenruler.versions import Version

NAME, PLAN = "manifest.json", "plan.json"

PLANTED = "planted.json"
"""Results on planted associations, if the benchmark was tested on reference weights."""

HERE = "."
"""Location of an unpublished benchmark: its own folder."""

NO_TAG = " This version is not released: leave `revision` out."
"""Loading instructions on the card of an unreleased version."""

KIND = "rows+plan:"
"""Prefix of an identity: what is hashed. Identities with another prefix, from older versions, are
not comparable."""

LONGEST = 255
"""Most bytes of a file's path, an `id` or a `content_sha256`."""


def data_file(config: str) -> str:
    """Path of a config's rows in a benchmark folder."""
    return f"{config}/test-00000-of-00001.parquet"


def _validate_path(name: str) -> str:
    """The path unchanged; ValueError unless it is a printable relative path inside the folder, of
    at most `LONGEST` bytes.
    """
    parts = name.split("/")
    if (
        {"", ".", ".."} & {*parts}
        or "\\" in name
        or not name.isprintable()
        or len(name.encode()) > LONGEST
    ):
        raise ValueError(
            f"found {name[:LONGEST]!r}, expected the path of a file in the benchmark's folder"
        )
    return name


class Manifest(StrictModel):
    """The content of `manifest.json`."""

    name: Slug
    version: Version
    location: Text
    """Location of the data set: `.`, in this folder, or `USER/REPO` on the Hub."""
    content_sha256: Text
    """The identity of the version, from `identity_of`."""
    rows: dict[Slug, NonNegativeInt]
    """Row counts by config."""
    rejected: NonNegativeInt
    """Number of rows left out when it was built."""
    columns: dict[Slug, dict[str, str]]
    """By config: Arrow type of each column."""
    sources: list[str]
    licences: list[str]
    parameters: dict[str, Any]
    """Build parameters."""
    files: dict[Annotated[str, AfterValidator(_validate_path)], str]
    """sha256 of every other file, by path."""

    @model_validator(mode="after")
    def _whole(self) -> Self:
        """Ensure that every table has columns and a checksum."""
        if self.rows.keys() != self.columns.keys():
            unmatched_configs = sorted(self.rows.keys() ^ self.columns.keys())
            raise ValueError(
                f"{', '.join(unmatched_configs)} stands under one of `rows` and `columns`, "
                "expected both or none"
            )
        for name in map(data_file, self.rows):
            if name not in self.files:
                raise ValueError(f"`files` lacks {name}")
        called = Counter(unicodedata.normalize("NFC", name.casefold()) for name in self.files)
        twice = [name for name, times in called.items() if times > 1]
        if twice:
            raise ValueError(f"two of `files` are one to file systems that ignore case: {twice[0]}")
        return self


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a benchmark folder; UserError if it is missing or invalid."""
    path = folder / NAME
    if not os.path.lexists(path):
        raise UserError(f"no {NAME} here", where=str(folder), remedy="name a folder of a benchmark")
    return validate(Manifest, contents.json_of(path, "get the file again"), path)


SCHEMA = 1
"""Number of the form in which figures are written; changes when a column's name or meaning does."""


def evidence_as_json(
    evidence: Sequence[Mapping[str, Any]], planted: Sequence[Mapping[str, Any]] = ()
) -> str:
    """Text of `evidence.json`; `planted`: as `report.planted.planted_as_json` gives it, left out
    where nothing was planted.
    """
    content: dict[str, Any] = {"schema": SCHEMA, "figures": evidence}
    if planted:
        content["planted"] = planted
    return as_json(content, sort_keys=False)


def as_json(content: object, sort_keys: bool = True) -> str:
    """Text of a JSON file; False for figures, whose keys stand in the order of their dimensions."""
    text = json.dumps(content, indent=2, sort_keys=sort_keys, ensure_ascii=False, allow_nan=False)
    return f"{escape_steering(text)}\n"


ENTITIES = {"<": "&lt;", "](": "]&#40;", "![": "!&#91;", "\\|": "&#92;|"}
"""How HTML, links, images and bars are begun, as it is written: a backslash could itself follow a
backslash."""


def markdown_cell(value: object) -> str:
    """A value in one line of Markdown, as in a table's cell, without HTML, links and images;
    backticks stay.
    """
    text = " ".join(str(value).split())
    for markup, entity in ENTITIES.items():
        text = text.replace(markup, entity)
    return text.replace("|", "\\|")


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table."""
    lines: list[Sequence[object]] = [head, ["---"] * len(head), *rows]
    inner_lines = [" | ".join(map(markdown_cell, line)) for line in lines]
    return "\n".join(f"| {inner_line} |" for inner_line in inner_lines)


def columns_of(schema: pa.Schema) -> dict[str, str]:
    """Arrow type by column."""
    return {field.name: str(field.type) for field in schema}


class DeclaredFields(TypedDict):
    """Fields of a `Manifest` that cannot be read from files."""

    name: str
    version: str
    rejected: int
    sources: list[str]
    licences: list[str]
    parameters: dict[str, Any]


def manifest_of(
    folder: Path, configs: Iterable[str], **other_fields: Unpack[DeclaredFields]
) -> Manifest:
    """The manifest of a folder just written; `configs`: its tables; `other_fields`: those that
    cannot be read from files.
    """
    rows: dict[str, int] = {}
    columns: dict[str, dict[str, str]] = {}
    for config in configs:
        with pq.ParquetFile(folder / data_file(config)) as file:
            rows[config] = file.metadata.num_rows
            columns[config] = columns_of(file.schema_arrow)
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    files = {path.relative_to(folder).as_posix(): file_sha256(path) for path in paths}
    identity = identity_of(folder, rows)
    return Manifest(
        location=HERE,
        content_sha256=identity,
        rows=rows,
        columns=columns,
        files=files,
        **other_fields,
    )


def identity_of(folder: Path, configs: Iterable[str], remedy: str = contents.AGAIN) -> str:
    """The identity of a version: one hash of every cell of all its tables, and of its plan, read
    from the files.

    It is independent of the machine, the Parquet library and the row groups. Every column goes into
    a sha256 of its values as text and another of their lengths (in bytes, -1 for null): texts as
    UTF-8, integers in decimal, floats as Python's repr, lists and structs by their content. The
    identity is `KIND` and the sha256 (64 hex digits) of these hashes, with the column names and
    types, and of `plan.json`. The tables must have passed `contents.schema_of`. UserError if a file
    is missing or damaged, or a column type is not supported.
    """
    plan = folder / PLAN
    hashes: dict[str, Any] = {"plan": None}
    if contents.is_file(plan):
        hashes["plan"] = hashlib.sha256(contents.text_of(plan, remedy).encode()).hexdigest()
    for config in configs:
        path = folder / data_file(config)
        n_rows = 0
        digests: dict[str, Any] = defaultdict(hashlib.sha256)
        for batch in contents.batches_in(path, remedy):
            n_rows += batch.num_rows
            for name, column in zip(batch.schema.names, batch.columns, strict=True):
                try:
                    for part, content in _in_bytes((name,), column):
                        digests[json.dumps(part)].update(content)
                except TypeError as error:
                    raise UserError(
                        f"column {name} {error}", where=str(path), remedy=remedy
                    ) from None
        hashes[config] = {
            "rows": n_rows,
            **{part: digest.hexdigest() for part, digest in digests.items()},
        }
    return KIND + hashlib.sha256(as_json(hashes).encode()).hexdigest()


def _in_bytes(path: tuple[str, ...], values: pa.Array) -> Iterator[tuple[tuple[str, ...], bytes]]:
    """Yield (part, bytes to hash) for a batch of a column; the hashes do not depend on how the
    column is divided.
    """
    kind, types = values.type, pa.types
    if types.is_dictionary(kind):
        yield from _in_bytes(path, values.dictionary_decode())
    elif types.is_list(kind) or types.is_large_list(kind):
        yield (*path, "list"), _integers_to_bytes(pc.list_value_length(values))
        yield from _in_bytes((*path, "list"), pc.list_flatten(values))
    elif types.is_struct(kind):
        ones = pc.if_else(values.is_valid(), 1, None)
        yield (*path, "struct"), _integers_to_bytes(ones)
        for field, field_values in zip(kind, values.flatten(), strict=True):
            yield from _in_bytes((*path, "struct", field.name), field_values)
    elif types.is_floating(kind):
        ones = pc.if_else(values.is_valid(), 1, None)
        yield (*path, "float"), _integers_to_bytes(ones)
        numbers = values.drop_null().cast(pa.float64()).to_numpy() + 0.0  # no negative zero
        lines = [*map(repr, numbers.tolist()), ""]
        yield (*path, "float", "values"), "\n".join(lines).encode()
    else:
        if types.is_string(kind) or types.is_large_string(kind):
            called = "text"
        elif types.is_boolean(kind):
            called = "bool"
        elif types.is_integer(kind):
            called = "int"
        else:
            raise TypeError(f"is of {kind}, which no benchmark has")
        texts = values.cast(pa.string()).cast(pa.large_binary())
        yield (*path, called), _integers_to_bytes(pc.binary_length(texts))
        there = texts.drop_null()
        offsets = pa.array([0, len(there)], pa.int64())
        whole = pa.LargeListArray.from_arrays(offsets, there)
        joined = pc.binary_join(whole, pa.scalar(b"", pa.large_binary()))
        yield (*path, called, "values"), joined[0].as_py()


def _integers_to_bytes(values: pa.Array) -> bytes:
    """Integers as eight little-endian bytes each; -1 for nulls."""
    integers = pc.fill_null(values.cast(pa.int64()), -1).to_numpy(zero_copy_only=False)
    return bytes(integers.astype("<i8").tobytes())


NOT_OURS = {".gitattributes", NAME}
"""Files that a manifest does not list."""


def manifest_problems(folder: Path) -> list[str]:
    """All deviations from the manifest, one line each: checksums, rows, schemas, ids, card."""
    declared = read_manifest(folder)
    paths = [*folder.rglob("*")]
    there = {path.relative_to(folder).as_posix() for path in paths if contents.is_file(path)}
    linked = sorted(
        path.relative_to(folder).as_posix()
        for path in paths
        if path.is_symlink() and os.path.isdir(path)
    )
    rest = (*_row_problems(folder, declared), *_card_problems(folder, declared, there))
    return [
        *(f"{name}: a link to a folder" for name in linked),
        *_file_problems(folder, declared, there),
        *rest,
    ]


def require_unaltered(folder: Path, declared: Manifest) -> None:
    """UserError if rows or plan differ from the manifest; cards may differ."""
    remedy = "get the benchmark again; `evenruler verify` says all that is wrong"
    for name in (PLAN, *map(data_file, declared.rows)):
        if _sha256(folder / name, remedy) != declared.files.get(name):
            raise UserError(
                "altered: it is not what the manifest names",
                where=str(folder / name),
                remedy=remedy,
            )


def require_identity(folder: Path, declared: Manifest, *, in_git: bool = False) -> str:
    """The identity of files that `schema_of` has passed; UserError if it is not what the manifest
    says.

    Of a version `in_git`, which has its own checksums, one of an older kind may stand there.
    """
    identity = identity_of(folder, declared.rows)
    is_comparable = declared.content_sha256.startswith(KIND)
    if identity == declared.content_sha256 or (in_git and not is_comparable):
        return identity
    what, remedy = "rows or plan are not what the manifest says (content_sha256)", contents.AGAIN
    if not is_comparable:
        what = (
            "content_sha256 of the manifest is of another kind, which this evenruler cannot check"
        )
        remedy = "take another version, or the evenruler that made it"
    raise UserError(what, where=str(folder), remedy=remedy)


def _sha256(path: Path, remedy: str = contents.AGAIN) -> str:
    """The sha256 of a file, in hexadecimal; UserError with `remedy` if it is missing, or if it
    cannot be read.
    """
    contents.require_file(path, remedy=remedy)
    try:
        return file_sha256(path)
    except OSError as error:
        raise UserError(
            f"cannot be read ({error.strerror})", where=str(path), remedy=contents.AGAIN
        ) from None


def _file_problems(folder: Path, declared: Manifest, there: set[str]) -> Iterator[str]:
    """Lines on files that are missing, altered or not in the manifest; `there`: the paths in the
    folder.
    """
    for name, expected in sorted(declared.files.items()):
        try:
            if _sha256(folder / name) != expected:
                yield f"{name}: altered (its sha256 is not the one in the manifest)"
        except UserError as error:
            yield f"{name}: {error.what}"
    # Python compiles `lm_eval/` of installed benchmarks. Downloaded ones must not contain compiled
    # code: it would run instead of the files in the manifest.
    trusted = (
        {"__pycache__"}
        if folder.resolve().parent == repository.shipped_benchmarks().resolve()
        else set()
    )
    for name in sorted(there - declared.files.keys() - NOT_OURS):
        parts = name.split("/")
        if parts[0] != ".cache" and not trusted & {*parts}:  # the Hub's client writes .cache
            yield f"{name}: not in the manifest"


def _row_problems(folder: Path, declared: Manifest) -> Iterator[str]:
    """Lines on tables that are unreadable, whose columns or number of rows differ from the
    manifest, or with repeated ids; then on the identity, if all are sound.
    """
    sound = set()
    for config in declared.columns:
        name = data_file(config)
        path = folder / name
        if not contents.is_file(path):
            continue  # reported by _file_problems
        try:
            schema, n_rows = contents.schema_of(path)
            for problem in _schema_problems(schema, n_rows, declared, config):
                yield f"{name}: {problem}"
            keys = _read_keys(path, schema)
            sound.add(config)
            if len(keys.column("id").unique()) != len(keys):
                yield f"{name}: an id stands twice"
        except UserError as error:
            yield f"{name}: {error.what}"
    if sound != declared.columns.keys():
        return
    try:
        require_identity(folder, declared)
    except UserError as error:
        yield f"content: {error.what}"


def _schema_problems(
    schema: pa.Schema, n_rows: int, declared: Manifest, config: str
) -> Iterator[str]:
    """Deviations of a table's row count and column types from the manifest."""
    n_declared = declared.rows[config]
    if n_rows != n_declared:
        yield f"{n_rows:,} rows, the manifest says {n_declared:,}"
    type_by_column, declared_types = columns_of(schema), declared.columns[config]
    for column in sorted(type_by_column.keys() | declared_types.keys()):
        if type_by_column.get(column) != declared_types.get(column):
            kind = type_by_column.get(column, "missing")
            declared_kind = declared_types.get(column, "no such column")
            yield f"column {column} is {kind}, the manifest says {declared_kind}"


def _read_keys(path: Path, schema: pa.Schema) -> pa.Table:
    """The columns `id` and `content_sha256` of a table; UserError if they are lacking, no texts, or
    too long.
    """
    columns = ["id", "content_sha256"]
    type_by_column = columns_of(schema)
    texts = ("string", "large_string")
    lacking = [column for column in columns if type_by_column.get(column) not in texts]
    if lacking:
        what = f"no column {' and '.join(lacking)} of texts"
        raise UserError(what, where=str(path), remedy=contents.AGAIN)
    keys = contents.table_in(path).select(columns)
    lengths = [pc.max(pc.binary_length(column)).as_py() or 0 for column in keys.columns]
    if max(lengths) > LONGEST:
        what = f"id or content_sha256 of more than {LONGEST} bytes"
        raise UserError(what, where=str(path), remedy=contents.AGAIN)
    return keys


def _card_problems(folder: Path, declared: Manifest, there: set[str]) -> Iterator[str]:
    """Lines on the card: front matter that is missing or lacks keys, configs unlike the manifest's,
    or file patterns that match none of the paths `there`.
    """
    if "README.md" not in there:
        return  # reported by _file_problems
    front = front_matter(folder)
    if front is None:
        yield "README.md: no front matter that can be read"
        return
    for key in (
        "pretty_name",
        "language",
        "license",
        "task_categories",
        "size_categories",
        "tags",
        "configs",
    ):
        if not front.get(key):
            yield f"README.md: front matter lacks {key}"
    listed = front.get("configs")
    configs = (
        [config for config in listed if isinstance(config, dict)]
        if isinstance(listed, list)
        else []
    )
    names = sorted({str(config.get("config_name")) for config in configs})
    # A table without rows may be left out: `datasets` cannot load it.
    needed = {name for name, rows in declared.rows.items() if rows}
    if not needed <= set(names) <= set(declared.rows):
        yield (
            f"README.md: configs {', '.join(names) or 'none'}, the manifest says "
            f"{', '.join(sorted(declared.rows))}"
        )
    if sum(config.get("default") is True for config in configs) != 1:
        yield "README.md: not exactly one default config"
    paths = [name.split("/") for name in there]
    for config in configs:
        for pattern in _file_patterns(config.get("data_files")):
            # Match folder by folder against known files; the disk is not searched, since a pattern
            # may lead anywhere.
            wanted = pattern.split("/")
            as_deep = [parts for parts in paths if len(parts) == len(wanted)]
            if not any(all(map(fnmatch.fnmatchcase, parts, wanted)) for parts in as_deep):
                yield f"README.md: no file matches {pattern}"


def _file_patterns(data_files: object) -> list[str]:
    """The file patterns of a config in the card: one pattern, or a list of patterns or of splits
    with theirs.
    """
    if isinstance(data_files, list):
        patterns: list[str] = []
        for entry in data_files:
            patterns += _file_patterns(entry)
        return patterns
    if isinstance(data_files, dict):
        return _file_patterns(data_files.get("path"))
    return [] if data_files is None else [str(data_files)]


def front_matter(folder: Path) -> dict[str, Any] | None:
    """The YAML header of a card; None if there is none or it is too large (`strict.content_of`)."""
    path = folder / "README.md"
    try:
        contents.require_file(path, contents.MOST_OF_TEXT)
        parts = path.read_text(encoding="utf-8", errors="replace").split("---\n", 2)
        begins_with_front = len(parts) >= 3 and not parts[0]
        if not begins_with_front or len(parts[1]) > 32_768:
            return None
        front = content_of(parts[1], path)
    except (UserError, YAMLError, OSError, ValueError, TypeError, OverflowError, RecursionError):
        return None
    return front if isinstance(front, dict) else None

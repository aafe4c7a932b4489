"""Is a benchmark folder what its manifest says?"""

import fnmatch
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent

from evenruler import shipped
from evenruler.errors import UserError
from evenruler.publish import manifest, reading
from evenruler.publish.manifest import PLAN, Manifest, data_file

NOT_OURS = {".gitattributes", manifest.NAME}
"""Files that a manifest does not list."""

CLIENT = ".cache"
"""What the Hub's client writes beside a download of its own."""

COMPILED = "__pycache__"
"""What Python makes of the modules of `lm_eval/`: of benchmarks that come with the package, when it is installed."""

MOST_OF_FRONT_MATTER, DEEPEST = 32_768, 20
"""Characters and levels of the keys at the head of a card."""

LONGEST_NAME = 255
"""Bytes of an `id` or `content_sha256`."""

TEXTS = {"string", "large_string"}

CARD_KEYS = ("pretty_name", "language", "license", "task_categories", "size_categories", "tags", "configs")


def problems(folder: Path) -> list[str]:
    """Everything that is not as the manifest says, a line each: checksums, rows, schemas, ids, card.

    Raises:
        UserError: There is no readable manifest.
    """
    declared = manifest.read_manifest(folder)
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if reading.is_file(path)}
    return [
        *_file_problems(folder, declared, there),
        *_row_problems(folder, declared),
        *_card_problems(folder, declared, there),
    ]


def require_unaltered(folder: Path, declared: Manifest) -> None:
    """Stop where rows or plan are not those that a manifest names; cards may be.

    Raises:
        UserError: A file is missing or another one.
    """
    remedy = "get the benchmark again; `evenruler verify` says all that is wrong"
    for name in (PLAN, *map(data_file, declared.rows)):
        reading.require_file(folder / name, remedy=remedy)
        if _sha256(folder / name) != declared.files.get(name):
            raise UserError("altered: it is not what the manifest names", where=str(folder / name), remedy=remedy)


def require_identity(folder: Path, declared: Manifest) -> str:
    """The identity of a version, made of its files; `reading.schema_of` has passed its tables.

    Raises:
        UserError: The manifest says another one. What older evenrulers wrote there is of another kind and passes.
    """
    found = manifest.identity_of(folder, declared.rows)
    if declared.says_other(found):
        what = "altered: rows or plan are not those that the manifest names (content_sha256)"
        raise UserError(what, where=str(folder), remedy="get the benchmark again")
    return found


def _sha256(path: Path) -> str:
    try:
        return manifest.file_sha256(path)
    except OSError as error:
        raise UserError(f"cannot be read ({error.strerror})", where=str(path), remedy=reading.AGAIN) from None


def _file_problems(folder: Path, declared: Manifest, there: set[str]) -> Iterator[str]:
    for name, expected in sorted(declared.files.items()):
        try:
            reading.require_file(folder / name)
            if _sha256(folder / name) != expected:
                yield f"{name}: altered (its sha256 is not the one in the manifest)"
        except UserError as error:
            yield f"{name}: {error.what}"
    # What was downloaded brings no compiled code of its own: it would run in the place of what the manifest names.
    trusted = {COMPILED} if folder.resolve().parent == shipped.benchmarks().resolve() else set()
    for name in sorted(there - declared.files.keys() - NOT_OURS):
        parts = name.split("/")
        if parts[0] != CLIENT and not trusted & {*parts}:
            yield f"{name}: not in the manifest"


def _row_problems(folder: Path, declared: Manifest) -> Iterator[str]:
    sound = set()
    for config, columns in declared.columns.items():
        name = data_file(config)
        if not reading.is_file(folder / name):
            continue  # said already
        try:
            schema, rows = reading.schema_of(folder / name)
            found, expected = manifest.columns_of(schema), declared.rows[config]
            if rows != expected:
                yield f"{name}: {rows:,} rows, the manifest says {expected:,}"
            for column in sorted(found.keys() | columns.keys()):
                if found.get(column) != columns.get(column):
                    kinds = (found.get(column, "missing"), columns.get(column, "no such column"))
                    yield f"{name}: column {column} is {kinds[0]}, the manifest says {kinds[1]}"
            if lacking := [key for key in ("id", "content_sha256") if found.get(key) not in TEXTS]:
                yield f"{name}: no column {' and '.join(lacking)} of texts"
                continue
            named = reading.table_in(folder / name).select(["id", "content_sha256"])
            if any((pc.max(pc.binary_length(column)).as_py() or 0) > LONGEST_NAME for column in named.columns):
                yield f"{name}: id or content_sha256 of more than {LONGEST_NAME} bytes"
                continue
            sound.add(config)
            if len(named.column("id").unique()) != len(named):
                yield f"{name}: an id stands twice"
        except UserError as error:
            yield f"{name}: {error.what}"
    if sound != declared.columns.keys():
        return
    if not declared.content_sha256.startswith(manifest.KIND):
        yield f"{manifest.NAME}: its content_sha256 is of another kind, which this evenruler cannot check"
        return
    try:
        if manifest.identity_of(folder, declared.rows) != declared.content_sha256:
            yield "rows or plan: their content is not what the manifest says (content_sha256)"
    except UserError as error:
        yield f"rows: {error.what}"


def _card_problems(folder: Path, declared: Manifest, there: set[str]) -> Iterator[str]:
    if "README.md" not in there:
        return  # said already
    front = front_matter(folder)
    if front is None:
        yield "README.md: no front matter that can be read"
        return
    for key in CARD_KEYS:
        if not front.get(key):
            yield f"README.md: front matter lacks {key}"
    listed = front.get("configs")
    configs = [config for config in listed if isinstance(config, dict)] if isinstance(listed, list) else []
    names = sorted({str(config.get("config_name")) for config in configs})
    # A table without rows may be left out: `datasets` cannot load it.
    if not {name for name, rows in declared.rows.items() if rows} <= {*names} <= {*declared.rows}:
        yield f"README.md: configs {', '.join(names) or 'none'}, the manifest says {', '.join(sorted(declared.rows))}"
    if sum(config.get("default") is True for config in configs) != 1:
        yield "README.md: not exactly one default config"
    for pattern in (pattern for config in configs for pattern in _patterns(config.get("data_files"))):
        # Folder by folder; nothing on the disk is searched, since a pattern may lead anywhere.
        wanted, parts = pattern.split("/"), [name.split("/") for name in there]
        if not any(len(own) == len(wanted) and all(map(fnmatch.fnmatchcase, own, wanted)) for own in parts):
            yield f"README.md: no file matches {pattern}"


def _patterns(data_files: Any) -> list[str]:
    """The files that a config of the card names: one pattern, or a list of patterns or of splits with theirs."""
    if isinstance(data_files, list):
        return [pattern for entry in data_files for pattern in _patterns(entry)]
    if isinstance(data_files, dict):
        return _patterns(data_files.get("path"))
    return [] if data_files is None else [str(data_files)]


def front_matter(folder: Path) -> dict[str, Any] | None:
    """The keys at the head of a benchmark's card; None where there are none that can be read.

    What is long, deep or says one thing by another's name (an alias, which can stand for millions) is not read.
    """
    path = folder / "README.md"
    try:
        reading.require_file(path, reading.MOST_OF_TEXT)
        parts = path.read_text(encoding="utf-8", errors="replace").split("---\n", 2)
        if len(parts) < 3 or parts[0] or len(parts[1]) > MOST_OF_FRONT_MATTER or not _is_plain(parts[1]):
            return None
        front = YAML(typ="safe", pure=True).load(parts[1])
    except (UserError, YAMLError, OSError, ValueError, TypeError, OverflowError):  # ruamel on days that no month has
        return None
    return front if isinstance(front, dict) else None


def _is_plain(text: str) -> bool:
    depth = 0
    for event in YAML(typ="safe", pure=True).parse(text):
        depth += isinstance(event, CollectionStartEvent) - isinstance(event, CollectionEndEvent)
        if isinstance(event, AliasEvent) or depth > DEEPEST:
            return False
    return True

"""Is a benchmark folder what its manifest says?"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from evenruler import shipped
from evenruler.errors import UserError
from evenruler.publish import manifest
from evenruler.publish.contents import data_file
from evenruler.publish.manifest import Manifest

NOT_OURS = {".gitattributes", manifest.NAME}
"""Files that a manifest does not list."""

PLAN = "plan.json"

CLIENT = ".cache"
"""What the Hub's client writes beside a download of its own."""

COMPILED = "__pycache__"
"""What Python makes of the modules of `lm_eval/`: of benchmarks that come with the package, when it is installed."""

CARD_KEYS = ("pretty_name", "language", "license", "task_categories", "size_categories", "tags", "configs")


def problems(folder: Path) -> list[str]:
    """Everything that is not as the manifest says, a line each: checksums, rows, schemas, ids, card.

    Raises:
        UserError: There is no readable manifest.
    """
    declared = manifest.read_manifest(folder)
    return [
        *_file_problems(folder, declared),
        *_row_problems(folder, declared),
        *_card_problems(folder, declared),
    ]


def require_unaltered(folder: Path, declared: Manifest) -> None:
    """Stop where rows or plan are not those that a manifest names; cards may be.

    Raises:
        UserError: A file is missing or another one.
    """
    for name in (PLAN, *map(data_file, declared.rows)):
        remedy = "get the benchmark again; `evenruler verify` says all that is wrong"
        if not (folder / name).is_file():
            raise UserError("missing", where=str(folder / name), remedy=remedy)
        if manifest.file_sha256(folder / name) != declared.files.get(name):
            raise UserError("altered: it is not what the manifest names", where=str(folder / name), remedy=remedy)


def _file_problems(folder: Path, declared: Manifest) -> Iterator[str]:
    for name, expected in sorted(declared.files.items()):
        path = folder / name
        if not path.is_file():
            yield f"{name}: missing"
        elif manifest.file_sha256(path) != expected:
            yield f"{name}: altered (its sha256 is not the one in the manifest)"
    found = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    # What was downloaded brings no compiled code of its own: it would run in the place of what the manifest names.
    trusted = {COMPILED} if folder.resolve().parent == shipped.benchmarks().resolve() else set()
    for path in sorted(path for path in found if path.parts[0] != CLIENT and not trusted & {*path.parts}):
        if path.as_posix() not in declared.files and path.as_posix() not in NOT_OURS:
            yield f"{path.as_posix()}: not in the manifest"


def _row_problems(folder: Path, declared: Manifest) -> Iterator[str]:
    tables: dict[str, pa.Table] = {}
    for config, columns in declared.columns.items():
        name = data_file(config)
        if not (folder / name).is_file():
            continue  # said already
        try:
            with pq.ParquetFile(folder / name) as file:
                rows, found = file.metadata.num_rows, manifest.columns_of(file.schema_arrow)
            expected = declared.rows.get(config)
            if rows != expected:
                yield f"{name}: {rows:,} rows, the manifest says {'none' if expected is None else f'{expected:,}'}"
            for column in sorted(found.keys() | columns.keys()):
                if found.get(column) != columns.get(column):
                    kinds = (found.get(column, "missing"), columns.get(column, "no such column"))
                    yield f"{name}: column {column} is {kinds[0]}, the manifest says {kinds[1]}"
            tables[config] = pq.read_table(folder / name, columns=["id", "content_sha256"])
        except (pa.ArrowException, OSError) as error:
            yield f"{name}: no readable Parquet ({str(error).splitlines()[0]})"
            continue
        ids = tables[config].column("id")
        if len(ids.unique()) != len(ids):
            yield f"{name}: an id stands twice"
    if len(tables) == len(declared.columns) and manifest.content_sha256(tables) != declared.content_sha256:
        yield "rows: their content is not what the manifest says (content_sha256)"


def _card_problems(folder: Path, declared: Manifest) -> Iterator[str]:
    path = folder / "README.md"
    if not path.is_file():
        return  # said already
    front = front_matter(path.read_text(encoding="utf-8", errors="replace"))
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
        if not pattern or pattern.startswith("/") or not any(folder.glob(pattern)):
            yield f"README.md: no file matches {pattern}"


def _patterns(data_files: Any) -> list[str]:
    """The files that a config of the card names: one pattern, or a list of patterns or of splits with theirs."""
    if isinstance(data_files, list):
        return [pattern for entry in data_files for pattern in _patterns(entry)]
    if isinstance(data_files, dict):
        return _patterns(data_files.get("path"))
    return [] if data_files is None else [str(data_files)]


def front_matter(text: str) -> dict[str, Any] | None:
    """The keys at the head of a card; None where there are none that can be read."""
    parts = text.split("---\n", 2)
    if len(parts) < 3 or parts[0]:
        return None
    try:
        front = YAML(typ="safe", pure=True).load(parts[1])
    except YAMLError:
        return None
    return front if isinstance(front, dict) else None

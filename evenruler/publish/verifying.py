"""Is a benchmark folder what its manifest says?"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from evenruler.publish import manifest
from evenruler.publish.benchmark import data_file
from evenruler.publish.manifest import Manifest

NOT_OURS = {".gitattributes", manifest.NAME}
"""Files that a manifest does not list."""

CLIENT = ".cache"
"""What the Hub's client writes beside a download of its own."""

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


def _file_problems(folder: Path, declared: Manifest) -> Iterator[str]:
    for name, expected in sorted(declared.files.items()):
        path = folder / name
        if not path.is_file():
            yield f"{name}: missing"
        elif manifest.file_sha256(path) != expected:
            yield f"{name}: altered (its sha256 is not the one in the manifest)"
    found = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    for path in sorted(path for path in found if path.parts[0] != CLIENT):
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
            if rows != declared.rows.get(config):
                yield f"{name}: {rows:,} rows, the manifest says {declared.rows.get(config):,}"
            if found != columns:
                yield f"{name}: columns {_columns(found)}, the manifest says {_columns(columns)}"
            tables[config] = pq.read_table(folder / name, columns=["id", "content_sha256"])
        except (pa.ArrowException, OSError) as error:
            yield f"{name}: no readable Parquet ({str(error).splitlines()[0]})"
            continue
        ids = tables[config].column("id")
        if len(ids.unique()) != len(ids):
            yield f"{name}: an id stands twice"
    if len(tables) == len(declared.columns) and manifest.content_sha256(tables) != declared.content_sha256:
        yield "rows: their content is not what the manifest says (content_sha256)"


def _columns(columns: dict[str, str]) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in columns.items())


def _card_problems(folder: Path, declared: Manifest) -> Iterator[str]:
    path = folder / "README.md"
    if not path.is_file():
        return  # said already
    front = _front_matter(path.read_text(encoding="utf-8", errors="replace"))
    if front is None:
        yield "README.md: no front matter that can be read"
        return
    for key in CARD_KEYS:
        if not front.get(key):
            yield f"README.md: front matter lacks {key}"
    configs = [config for config in front.get("configs") or [] if isinstance(config, dict)]
    names = {config.get("config_name") for config in configs}
    if names != set(declared.rows):
        listed, expected = ", ".join(sorted(map(str, names))), ", ".join(sorted(declared.rows))
        yield f"README.md: configs {listed}, the manifest says {expected}"
    if sum(config.get("default") is True for config in configs) != 1:
        yield "README.md: not exactly one default config"
    for config in configs:
        for entry in config.get("data_files") or []:
            if not any(folder.glob(str(entry.get("path")))):
                yield f"README.md: no file matches {entry.get('path')}"


def _front_matter(text: str) -> dict[str, Any] | None:
    parts = text.split("---\n", 2)
    if len(parts) < 3 or parts[0]:
        return None
    try:
        front = YAML(typ="safe", pure=True).load(parts[1])
    except YAMLError:
        return None
    return front if isinstance(front, dict) else None

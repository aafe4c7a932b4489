"""A benchmark folder, written beside the old one and swapped in whole."""

import hashlib
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from evenruler.publish.card import distinct, render_card
from evenruler.tables.ids import canonical


@dataclass(frozen=True)
class Config:
    """One table of a benchmark."""

    name: str
    what: str
    """What one row is, for the card."""
    table: pa.Table


@dataclass(frozen=True)
class Benchmark:
    """All that a benchmark folder is made from."""

    name: str
    title: str
    version: str
    language: str
    construct: str
    warning: str | None
    reading: str
    """How a score is read."""
    configs: list[Config]
    """The first is the default."""
    n_rejected: int
    parameters: Mapping[str, Any]
    """What it was built with."""
    evidence: Mapping[str, Any]
    """Figures of quality by set, model and figure."""
    command: str
    """What rebuilds it."""


def write_benchmark(benchmark: Benchmark, folder: Path) -> None:
    """Write the folder; until everything is there, the old one stays untouched."""
    working, old = folder.with_name(f".{folder.name}.partial"), folder.with_name(f".{folder.name}.old")
    if old.exists() and not folder.exists():  # killed between the two renames below
        old.rename(folder)
    for leftover in (working, old):
        shutil.rmtree(leftover, ignore_errors=True)
    working.mkdir(parents=True)
    for config in benchmark.configs:
        path = working / config.name / "test-00000-of-00001.parquet"
        path.parent.mkdir()
        pq.write_table(config.table, path, compression="zstd")
    _write_json(working / "evidence.json", benchmark.evidence)
    (working / "README.md").write_text(render_card(benchmark), encoding="utf-8")
    _write_json(working / "manifest.json", _manifest(benchmark, working))
    if folder.exists():
        folder.rename(old)
    working.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


def _manifest(benchmark: Benchmark, folder: Path) -> dict[str, Any]:
    """What the benchmark is: this decides its identity."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {
        "name": benchmark.name,
        "version": benchmark.version,
        "content_sha256": _content_sha256(benchmark.configs),
        "rows": {config.name: config.table.num_rows for config in benchmark.configs}
        | {"rejected": benchmark.n_rejected},
        "sources": distinct(benchmark, "source"),
        "licences": distinct(benchmark, "licence"),
        "parameters": benchmark.parameters,
        "files": {path.relative_to(folder).as_posix(): _file_sha256(path) for path in files},
    }


def _content_sha256(configs: list[Config]) -> str:
    """The same whatever library wrote the Parquet: over the ids and content hashes of all rows."""
    rows = [
        (config.name, row["id"], row["content_sha256"])
        for config in configs
        for row in config.table.select(["id", "content_sha256"]).to_pylist()
    ]
    return hashlib.sha256(canonical(sorted(rows))).hexdigest()


def _file_sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _write_json(path: Path, content: object) -> None:
    path.write_text(
        json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8"
    )

"""A benchmark folder, written beside the old one and swapped in whole."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from evenruler.declaration.versions import Changelog
from evenruler.folders import swapped
from evenruler.publish import manifest
from evenruler.publish.card import render_card
from evenruler.publish.croissant import render_croissant


@dataclass(frozen=True)
class Config:
    """One table of a benchmark."""

    name: str
    what: str
    """What one row is, for the card."""
    table: pa.Table
    described: Mapping[str, str] = field(default_factory=dict)
    """What the columns hold, for the card."""


@dataclass(frozen=True)
class Quality:
    """A figure of quality that the card shows."""

    figure: str
    heading: str
    meaning: str
    decimals: int = 2


@dataclass(frozen=True)
class Benchmark:
    """All that a benchmark folder is made from."""

    name: str
    title: str
    version: str
    language: str
    task_categories: list[str]
    """Names that the Hub knows."""
    tags: list[str]
    construct: str
    warning: str | None
    reading: str
    """How a score is read, its direction in words."""
    limits: list[str]
    """What it does not show, a sentence each."""
    citations: list[str]
    """BibTeX."""
    configs: list[Config]
    """The first is the default."""
    n_rejected: int
    parameters: Mapping[str, Any]
    """What it was built with."""
    quality: list[Quality]
    """Of each model."""
    quality_of_any: list[Quality]
    """That do not depend on a model."""
    evidence: Mapping[str, Any]
    """Figures of quality by part (a set of templates, a subscale), model and figure."""
    models: Mapping[str, str]
    """Where the models of the evidence come from."""
    command: str
    """What rebuilds it."""
    harness: Mapping[str, str]
    """The files of `lm_eval/`."""
    harness_task: str | None
    """The task (or group) that runs all of them; None where there are none."""
    changelog: Changelog

    @property
    def location(self) -> str:
        """Where its card and tasks load it from, until it is published."""
        return f"./benchmarks/{self.name}"

    @property
    def tables(self) -> dict[str, pa.Table]:
        """By config."""
        return {config.name: config.table for config in self.configs}

    def distinct(self, column: str) -> list[str]:
        """Every value of a column over all tables, sorted."""
        return sorted({value for table in self.tables.values() for value in table.column(column).unique().to_pylist()})


def data_file(config: str) -> str:
    """Where the rows of a config lie in a benchmark folder."""
    return f"{config}/test-00000-of-00001.parquet"


def write_benchmark(benchmark: Benchmark, folder: Path) -> None:
    """Write the folder; until everything is there, the old one stays untouched."""
    with swapped(folder) as working:
        _fill(working, benchmark)


def _fill(folder: Path, benchmark: Benchmark) -> None:
    for config in benchmark.configs:
        path = folder / data_file(config.name)
        path.parent.mkdir(parents=True)
        pq.write_table(config.table, path, compression="zstd")
    texts = {
        "README.md": render_card(benchmark),
        "evidence.json": manifest.as_json(benchmark.evidence),
        **{f"lm_eval/{name}": text for name, text in benchmark.harness.items()},
    }
    for name, text in texts.items():
        _write(folder / name, text)
    _write(folder / "croissant.json", render_croissant(benchmark, folder))
    _write(folder / manifest.NAME, manifest.as_json(_manifest(benchmark, folder).model_dump()))


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")


def _manifest(benchmark: Benchmark, folder: Path) -> manifest.Manifest:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return manifest.Manifest(
        name=benchmark.name,
        version=benchmark.version,
        location=benchmark.location,
        content_sha256=manifest.content_sha256(benchmark.tables),
        rows={config.name: config.table.num_rows for config in benchmark.configs},
        rejected=benchmark.n_rejected,
        columns={name: manifest.columns_of(pq.read_schema(folder / data_file(name))) for name in benchmark.tables},
        sources=benchmark.distinct("source"),
        licences=benchmark.distinct("licence"),
        parameters=dict(benchmark.parameters),
        files={path.relative_to(folder).as_posix(): manifest.file_sha256(path) for path in files},
    )

"""The folder of a benchmark, swapped in whole for the old one."""

from pathlib import Path

import pyarrow.parquet as pq

from evenruler.files import file_sha256, swapped
from evenruler.publish import manifest
from evenruler.publish.benchmark import Benchmark
from evenruler.publish.card import render_card
from evenruler.publish.croissant import render_croissant
from evenruler.publish.manifest import HERE, data_file
from evenruler.tables.frames import for_people


def write_benchmark(benchmark: Benchmark, folder: Path) -> None:
    """Write the folder; until everything is there, the old one stays untouched."""
    with swapped(folder) as working:
        for config in benchmark.configs:
            path = working / data_file(config.name)
            path.parent.mkdir(parents=True)
            pq.write_table(config.as_read, path, compression="zstd")
        texts = {
            "README.md": render_card(benchmark),
            manifest.PLAN: manifest.as_json(benchmark.plan),
            "evidence.json": manifest.as_json(for_people(benchmark.evidence)),
            **{f"lm_eval/{name}": text for name, text in benchmark.harness.items()},
        }
        for name, text in texts.items():
            _write(working / name, text)
        _write(working / "croissant.json", render_croissant(benchmark, working))
        _write(working / manifest.NAME, manifest.as_json(_manifest(benchmark, working).model_dump()))


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")


def _manifest(benchmark: Benchmark, folder: Path) -> manifest.Manifest:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return manifest.Manifest(
        name=benchmark.name,
        version=benchmark.version,
        location=HERE,
        content_sha256=manifest.identity_of(folder, benchmark.tables),
        rows={config.name: config.table.num_rows for config in benchmark.configs},
        rejected=benchmark.n_rejected,
        columns={name: manifest.columns_of(pq.read_schema(folder / data_file(name))) for name in benchmark.tables},
        sources=benchmark.distinct("source"),
        licences=benchmark.distinct("licence"),
        parameters=dict(benchmark.parameters),
        files={path.relative_to(folder).as_posix(): file_sha256(path) for path in files},
    )

"""A folder of a benchmark with little in it, and folders whose files were changed."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from evenruler.files import file_sha256
from evenruler.instruments.instrument import Plan
from evenruler.publish.folder import BenchmarkFolder, Config
from evenruler.publish.manifest import NAME
from evenruler.versions import Changelog


def benchmark_folder(
    name: str,
    source: Any,
    tables: Mapping[str, pa.Table],
    plan: Plan,
    words: Any,
    version: str = "1.0.0",
) -> BenchmarkFolder:
    """A benchmark to be written, with few words beside its tables."""
    return BenchmarkFolder(
        name=name,
        title=source.title,
        version=version,
        language="en",
        task_categories=["text-classification"],
        tags=["questionnaire"],
        construct=source.construct_,
        warning=None,
        reading=words.reading,
        limits=list(words.limits),
        citations=[],
        configs=[Config(table, table, table=rows) for table, rows in tables.items()],
        n_rejected=0,
        parameters=words.parameters,
        plan=plan,
        quality=words.quality,
        quality_of_any=words.quality_of_any,
        listed=[],
        compared=[],
        evidence=[{"figure": "similarity", "model": None, "value": 0.6, "n": 2, "unit": "items"}],
        models={},
        command="make repro",
        harness=words.harness,
        harness_task=words.harness_task,
        changelog=Changelog(),
    )


def declare(folder: Path, *names: str, **changes: Any) -> None:
    """Put the sha256 of files, and other values, into the manifest: what checksums do not show."""
    path = folder / NAME
    content = json.loads(path.read_text(encoding="utf-8")) | changes
    content["files"] |= {name: file_sha256(folder / name) for name in names}
    path.write_text(json.dumps(content), encoding="utf-8")

"""`evenruler answers`: a journal of answers as a release for this repository, or one model's
answers for others.
"""

import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from evenruler.declaration.params_file import ParamsFile
from evenruler.errors import UserError, suggest_nearest
from evenruler.files import file_sha256, replace_folder, write_text_atomically
from evenruler.models.answer_logs.exported import ENTRY, EXPORTED, answer_as_json
from evenruler.models.declarations import NOT_STATED
from evenruler.models.replay import (
    HALF,
    JOURNAL,
    RELEASE,
    JournalEntry,
    answers_file_name,
    read_journal,
)
from evenruler.tables import write_whole
from evenruler.tables.ids import content_sha256

LARGEST = 30_000_000
"""Most bytes of a release, since it is kept in git."""

KEPT = {
    "chat",
    "start",
    "new_tokens",
    "labels",
    "entailment",
    "forms",
    "licence",
    "origin",
    "lineage",
}
"""Fields of a model's entry that an export includes."""

CARD = Path(__file__).with_name("answers.md").read_text(encoding="utf-8")


def write_release(
    folder: Path, out: Path, release: str, licences: Mapping[str, str]
) -> Iterator[str]:
    """Write a journal folder as the repository's recorded answers, atomically.

    `release`: name of the release; `licences`: by model. Yields messages; UserError if the journal
    is empty or the release too large.
    """
    answers = list(read_journal(folder))
    if not answers:
        remedy = "run `make answers`, which writes one"
        raise UserError("no journal of answers", where=str(folder), remedy=remedy)
    with replace_folder(out) as target:
        target.mkdir(parents=True)
        files = {}
        for operation, group in groupby(answers, key=lambda answer: answer.operation):
            rows = list(group)
            path = target / answers_file_name(operation)
            path.write_bytes(_rows_to_parquet(rows))
            files[path.name] = {
                "operation": operation,
                "rows": len(rows),
                "sha256": file_sha256(path),
            }
        models = dict.fromkeys(answer.model for answer in answers)
        engines = dict.fromkeys(answer.engine for answer in answers)
        engine_by_id = {content_sha256(engine)[:12]: json.loads(engine) for engine in engines}
        release_record = {
            "release": release,
            "files": files,
            "models": {name: licences.get(name, NOT_STATED) for name in models},
            "engines": engine_by_id,
        }
        release_text = json.dumps(release_record, indent=1, ensure_ascii=False)
        write_text_atomically(target / RELEASE, f"{release_text}\n")
        size = sum(path.stat().st_size for path in target.iterdir())
        megabytes = f"{size / 1e6:.1f} MB"
        if size > LARGEST:
            what = f"{megabytes}, at most {LARGEST / 1e6:.0f} are allowed"
            raise UserError(what, where=str(out), remedy="record fewer instruments or models")
    counted = f"{len(answers):,} answers of {len(models)} models"
    yield f"release {release}: {counted}, {megabytes} in {out}"
    for name, file in files.items():
        yield f"  {name}: {file['rows']:,} answers"


def write_export(root: Path, name: str, out: Path) -> Iterator[str]:
    """Export everything that the pipeline asks a model, with the answers, as a data set that
    `recorded:` reads.

    Yields messages; UserError if nothing asks the model, the store lacks answers of it, or the
    folder `out` exists.
    """
    params = ParamsFile(root / "params.yaml")
    families = [entry.family for entry in params.active.ask.values() if entry.model == name]
    if not families:
        what = f"no instrument in use asks {name!r}"
        raise UserError(
            what, where="evenruler answers", remedy=suggest_nearest(name, params.catalogue.models)
        )
    if out.exists():
        raise UserError(
            "it exists already", where=str(out), remedy="name a new folder with --out, or remove it"
        )
    with TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "stages.replay", name, *families]
        done = subprocess.run(command, cwd=root, env={**os.environ, JOURNAL: folder}, check=False)
        if done.returncode:
            raise UserError(
                f"answers of {name} are missing",
                remedy="see the reason above; `evenruler repro` asks for them",
            )
        rows = [row for row in read_journal(Path(folder)) if row.model == name]
    answers: list[str] = []
    for row in rows:
        answer = answer_as_json(row.operation, row.answer)
        answers.append(json.dumps(answer, ensure_ascii=False))
    columns: dict[str, list[Any]] = {
        "operation": [row.operation for row in rows],
        "question": [row.question for row in rows],
        "answer": answers,
        "engine": [row.engine for row in rows],
        "key": [row.key for row in rows],
    }
    with replace_folder(out) as target:
        write_whole(pa.table(columns), target / EXPORTED)
        entry = params.catalogue.models[name]
        model_record = entry.model_dump(mode="json", exclude_none=True, include=KEPT)
        model_record |= {
            "kind": params.catalogue.kind(name),
            "sha256": file_sha256(target / EXPORTED),
        }
        if "generate" in entry.operations:
            from evenruler.models.catalogue import load_model

            # Including the model files' settings.
            sampling = load_model(name, params.catalogue).sampling(1)
            model_record["sampling"] = {
                key: getattr(sampling, key) for key in ("temperature", "top_p", "top_k")
            }
        entry_text = json.dumps({"name": name, **model_record}, indent=1, ensure_ascii=False)
        write_text_atomically(target / ENTRY, f"{entry_text}\n")
        card = CARD.format(name=name, rows=len(rows), **model_record)
        write_text_atomically(target / "README.md", card)
    answer_count = f"{len(rows):,} answers of {name}"
    yield f"{answer_count} to {', '.join(families)}: {out}"
    yield f"measure them anywhere: evenruler measure recorded:{out} --with BENCHMARK"


def _rows_to_parquet(rows: Sequence[JournalEntry]) -> bytes:
    """A Parquet file in which similar bytes are adjacent and compress well: fixed-size answers are
    split by byte, and rows are in the order of their answers, the last and highest byte first.
    """
    sizes = {len(row.answer) for row in rows}
    answer = pa.binary(sizes.pop()) if len(sizes) == 1 else pa.binary()
    schema = pa.schema(
        [
            ("key", pa.binary(HALF)),
            ("model", pa.string()),
            ("engine", pa.string()),
            ("answer", answer),
        ]
    )
    by_answer = sorted(rows, key=lambda row: row.answer[::-1])
    records: list[dict[str, object]] = []
    for row in sorted(by_answer, key=lambda row: (row.model, row.engine)):
        engine = content_sha256(row.engine)[:12]
        records.append({**vars(row), "key": row.key[:HALF], "engine": engine})
    table = pa.Table.from_pylist(records, schema=schema)
    settings: dict[str, Any] = {
        "compression": "zstd",
        "compression_level": 19,
        "store_schema": False,
        "use_dictionary": ["model", "engine"],
    }
    if pa.types.is_fixed_size_binary(answer):
        settings["column_encoding"] = {"answer": "BYTE_STREAM_SPLIT"}
    parquet = io.BytesIO()
    pq.write_table(table, parquet, **settings)
    return parquet.getvalue()

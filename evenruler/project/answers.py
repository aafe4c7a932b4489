"""What `evenruler answers` does: answers of models as data, a release for this repository or an export for others.

Both are made of a journal (`evenruler.models.released`), which holds what models answered, whether it was asked now or
found in the store.
"""

import io
import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from evenruler.declared import Declared
from evenruler.errors import UserError
from evenruler.files import file_sha256, replace, swapped
from evenruler.models.released import FOLDER, HALF, RELEASE, Answered, file_of, journal
from evenruler.tables.ids import content_sha256

LARGEST = 12_000_000
"""Bytes that a release may have: it lies in git."""

LEFT_OUT = ("embedding",)
"""Operations that are no part of a release: vectors are large, and asked in a minute."""

SHORT = 12
"""Digits of an engine's checksum."""


def record(root: Path, folder: Path, release: str) -> Iterator[str]:
    """Write what a journal holds as the recorded answers of this repository, whole or not at all.

    Args:
        root: The repository.
        folder: The journal.
        release: What to call it.

    Yields:
        Lines that say what is written.

    Raises:
        UserError: The journal is empty, or the release would be too large.
    """
    answers = [one for one in journal(folder) if one.operation.partition("/")[0] not in LEFT_OUT]
    if not answers:
        remedy = "`make answers` keeps one while it builds and measures"
        raise UserError("no journal of answers", where=str(folder), remedy=remedy)
    catalogue = Declared(root / "params.yaml").catalogue
    with swapped(root / FOLDER) as target:
        files = {}
        for operation, own in groupby(answers, key=lambda one: one.operation):
            rows = list(own)
            path = target / file_of(operation)
            path.write_bytes(_packed(rows))
            files[path.name] = {"operation": operation, "rows": len(rows), "sha256": file_sha256(path)}
        models = dict.fromkeys(one.model for one in answers)
        said = {
            "release": release,
            "files": files,
            "models": {name: catalogue.models[name].licence for name in models if name in catalogue.models},
            "engines": {_short(engine): json.loads(engine) for engine in dict.fromkeys(one.engine for one in answers)},
        }
        replace(target / RELEASE, json.dumps(said, indent=1, ensure_ascii=False) + "\n")
        size = sum(path.stat().st_size for path in target.iterdir())
        if size > LARGEST:
            what = f"{size / 1e6:.1f} MB, of at most {LARGEST / 1e6:.0f}"
            raise UserError(what, where=str(FOLDER), remedy="record fewer instruments or models")
    yield f"release {release}: {len(answers):,} answers of {len(models)} models, {size / 1e6:.1f} MB in {FOLDER}"
    for name, file in files.items():
        yield f"  {name}: {file['rows']:,} answers"


def _short(engine: str) -> str:
    return content_sha256(engine)[:SHORT]


def _packed(rows: Sequence[Answered]) -> bytes:
    """A table of Parquet; numbers byte by byte, so that those that are alike stand together."""
    sizes = {len(one.answer) for one in rows}
    answer = pa.binary(sizes.pop()) if len(sizes) == 1 else pa.binary()
    schema = pa.schema([("key", pa.binary(HALF)), ("model", pa.string()), ("engine", pa.string()), ("answer", answer)])
    table = pa.table(
        {
            "key": [one.key[:HALF] for one in rows],
            "model": [one.model for one in rows],
            "engine": [_short(one.engine) for one in rows],
            "answer": [one.answer for one in rows],
        },
        schema=schema,
    )
    split = {"column_encoding": {"answer": "BYTE_STREAM_SPLIT"}} if answer.byte_width_is_fixed else {}
    made = io.BytesIO()
    pq.write_table(
        table,
        made,
        compression="zstd",
        compression_level=19,
        use_dictionary=["model", "engine"],
        store_schema=False,
        **split,
    )
    return made.getvalue()

"""Parquet with an explicit schema and the same bytes for the same rows."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from evenruler.errors import UserError
from evenruler.files import require_regular

IDENTITY = (
    *("id", "model", "corpus", "fit", "epoch", "configuration", "turn"),
    *("role", "template", "measure", "feature", "form", "repetition"),
)
"""The columns that tell rows apart, in order."""


def table_of(rows: Iterable[Mapping[str, Any]] | pd.DataFrame, schema: pa.Schema) -> pa.Table:
    """Rows as a table, sorted by id (and by the rest of `IDENTITY`, where an id has several rows).

    `rows` (mappings or a frame) have exactly the schema's columns, types and nulls; it is kept without library
    metadata. ValueError: a column is missing or too many, a null where none may be, or an id twice.
    """
    columns: dict[str, Any]
    if isinstance(rows, pd.DataFrame):
        names = [set(map(str, rows.columns))]
        columns = {str(name): rows[name] for name in rows.columns}
    else:
        rows = list(rows)
        names = [set(row) for row in rows]
        columns = {name: [row.get(name) for row in rows] for name in schema.names}
    for found in names:
        if found != set(schema.names):
            raise ValueError(f"columns {sorted(found)}, expected {sorted(schema.names)}")
    arrays = []
    for field in schema:
        values = columns[field.name]
        if pa.types.is_integer(field.type):  # asked for whole numbers outright, pyarrow cuts fractions off
            arrays.append(pa.array(values, from_pandas=True).cast(field.type))
        else:
            arrays.append(pa.array(values, type=field.type, from_pandas=True))
        if not field.nullable and arrays[-1].null_count:
            raise ValueError(f"column {field.name!r} holds {arrays[-1].null_count} nulls")
    table = pa.Table.from_arrays(arrays, schema=schema.remove_metadata())
    if "id" in schema.names:
        identity = [name for name in IDENTITY if name in schema.names]
        table = table.sort_by([(name, "ascending") for name in identity])
        if table.group_by(identity).aggregate([]).num_rows != table.num_rows:
            raise ValueError(f"an {' and '.join(identity)} stands twice")
    return table


def write_table(rows: Iterable[Mapping[str, Any]] | pd.DataFrame, schema: pa.Schema, path: Path) -> None:
    """Write rows as `table_of` has them, arguments and errors as there, whole or not at all; the folder is made."""
    try:
        table = table_of(rows, schema)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    write_whole(table, path)


def write_whole(table: pa.Table, path: Path) -> None:
    """Write a table, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.partial")
    try:
        pq.write_table(table, partial, compression="zstd")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def read_table(path: Path) -> pa.Table:
    """The table of a Parquet file; UserError where there is no such file."""
    require_regular(path)
    if not path.exists():
        raise UserError("not built yet", where=str(path), remedy="run `make repro`")
    return pq.read_table(path)


def read_frame(path: Path) -> pd.DataFrame:
    """The table of a Parquet file as a frame."""
    frame: pd.DataFrame = read_table(path).to_pandas()
    return frame

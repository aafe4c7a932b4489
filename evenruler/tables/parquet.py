"""Parquet with an explicit schema; the same rows give the same bytes."""

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
"""The columns that identify a row, in sort order."""


def table_of(rows: Iterable[Mapping[str, Any]] | pd.DataFrame, schema: pa.Schema) -> pa.Table:
    """Convert rows (mappings or a frame) to a table, sorted by id and the other columns of `IDENTITY`.

    Rows must have exactly the schema's columns and types; library metadata is removed. ValueError: a missing or extra
    column, a null in a non-nullable column, or a repeated identity.
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
        if pa.types.is_integer(field.type):  # cast, since pyarrow truncates fractions if asked for integers directly
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
    """Write rows atomically (arguments and errors as `table_of`); creates the folder."""
    try:
        table = table_of(rows, schema)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    write_whole(table, path)


def write_whole(table: pa.Table, path: Path) -> None:
    """Write a table atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.partial")
    try:
        pq.write_table(table, partial, compression="zstd")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def read_table(path: Path) -> pa.Table:
    """Read a Parquet file; UserError if it does not exist."""
    require_regular(path)
    if not path.exists():
        raise UserError("not built yet", where=str(path), remedy="run `make repro`")
    return pq.read_table(path)


def read_frame(path: Path) -> pd.DataFrame:
    """Read a Parquet file as a data frame."""
    frame: pd.DataFrame = read_table(path).to_pandas()
    return frame

"""Safe reading of untrusted benchmark and result files: within size limits, and only as data."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pydantic_core import from_json

from evenruler.errors import UserError
from evenruler.files import require_regular

MOST_BYTES, MOST_OF_TEXT = 2 * 2**30, 64 * 2**20
"""Most bytes of any file, and of a file read as text."""

MOST_UNPACKED = 2**30
"""Most bytes of a file's rows in memory: a few kilobytes of Parquet can expand to gigabytes."""

MOST_ROWS, MOST_COLUMNS, LONGEST_FIXED = 10_000_000, 1_000, 1_024
"""Most rows and columns of a file, and most bytes of a fixed-length value."""

AGAIN = "get the benchmark again"


is_file = (
    os.path.isfile
)  # whether a path is a file, or a link to one; unlike `Path.is_file`, it never raises


def require_file(path: Path, most: int = MOST_BYTES, remedy: str = AGAIN) -> None:
    """UserError if there is no file or it has more than `most` bytes."""
    require_regular(path, remedy, most)
    if not is_file(path):
        raise UserError("missing", where=str(path), remedy=remedy)


def text_of(path: Path, remedy: str = AGAIN) -> str:
    """The text of a file; UserError if it is missing, too large or not UTF-8."""
    require_file(path, MOST_OF_TEXT, remedy)
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise UserError("not UTF-8", where=str(path), remedy=remedy) from None
    except OSError as error:
        raise UserError(
            f"cannot be read ({error.strerror})", where=str(path), remedy=remedy
        ) from None


def json_of(path: Path, remedy: str = AGAIN) -> Any:
    """JSON of at most 200 levels, without lone surrogates, NaN or infinity; UserError if not, or as
    `text_of`.
    """
    text = text_of(path, remedy)
    try:
        return from_json(text, allow_inf_nan=False)
    except ValueError as error:
        raise UserError(f"not JSON ({error})", where=str(path), remedy=remedy) from None


def is_number(value: object) -> bool:
    """Whether the value is None or a number that a float represents exactly."""
    if value is None or isinstance(value, float):
        return True
    return isinstance(value, int) and abs(value) < 2**53


def schema_of(path: Path, remedy: str = AGAIN) -> tuple[pa.Schema, int]:
    """Columns and row count of a Parquet file, after checking that it fits into memory; errors as
    `table_in`.
    """
    with refuse_unreadable_parquet(path, remedy), pq.ParquetFile(path) as file:
        footer = file.metadata
        if footer.num_rows > MOST_ROWS or footer.num_columns > MOST_COLUMNS:
            raise ValueError(
                f"{footer.num_rows:,} rows of {footer.num_columns:,} columns, more than are read"
            )
        if len({*file.schema_arrow.names}) < len(file.schema_arrow.names):
            raise ValueError("two columns of one name")
        columns = [footer.schema.column(place) for place in range(footer.num_columns)]
        for column in columns:
            if column.physical_type == "FIXED_LEN_BYTE_ARRAY" and column.length > LONGEST_FIXED:
                raise ValueError(f"values of {column.length:,} bytes each")
        texts = [column.path for column in columns if column.physical_type == "BYTE_ARRAY"]
        total = 0
        # Size in memory; dictionary encoding keeps each repeated text only once.
        with pq.ParquetFile(path, read_dictionary=texts) as packed:
            for name in packed.schema_arrow.names:  # one by one, since each loads its dictionary
                n_rows = 0
                for batch in packed.iter_batches(batch_size=131_072, columns=[name]):
                    n_rows += batch.num_rows
                    total += sum(map(_bytes_of, batch.columns))
                    if total > MOST_UNPACKED or n_rows > footer.num_rows:
                        raise ValueError(
                            f"more than {MOST_UNPACKED:,} bytes, or more rows than its footer says"
                        )
                if n_rows < footer.num_rows:
                    raise ValueError(f"{n_rows:,} rows, its footer says {footer.num_rows:,}")
        return file.schema_arrow, footer.num_rows


def table_in(path: Path, columns: Sequence[str] | None = None, remedy: str = AGAIN) -> pa.Table:
    """The rows of a Parquet file checked by `schema_of`, by default all columns; UserError if it is
    corrupt.
    """
    with refuse_unreadable_parquet(path, remedy), pq.ParquetFile(path) as file:
        table: pa.Table = file.read(columns=None if columns is None else [*columns])
        table.validate(full=True)
    return table


def batches_in(path: Path, remedy: str = AGAIN) -> Iterator[pa.RecordBatch]:
    """A Parquet file in batches, the first empty, for its columns; arguments and errors as
    `table_in`.
    """
    with refuse_unreadable_parquet(path, remedy), pq.ParquetFile(path) as file:
        yield pa.RecordBatch.from_pylist([], schema=file.schema_arrow)
        for batch in file.iter_batches():
            batch.validate(full=True)
            yield batch


def _bytes_of(array: pa.Array) -> int:
    """Bytes of an array with dictionaries expanded."""
    if pa.types.is_dictionary(array.type):
        lengths = pc.binary_length(array.dictionary)
        expanded = lengths.take(array.indices).cast(pa.int64())
        return 8 * len(array) + int(pc.sum(expanded).as_py() or 0)
    if pa.types.is_struct(array.type):
        return sum(map(_bytes_of, array.flatten()))
    if pa.types.is_list(array.type) or pa.types.is_large_list(array.type):
        return 8 * len(array) + _bytes_of(array.flatten())
    if pa.types.is_nested(array.type):
        raise ValueError(f"a column of {array.type}")
    return int(array.nbytes)


@contextmanager
def refuse_unreadable_parquet(path: Path, remedy: str) -> Iterator[None]:
    """A context in which a file is read: UserError with `remedy` if it is missing, or if Arrow
    fails to read it as Parquet inside the context.
    """
    require_file(path, remedy=remedy)
    try:
        yield
    except (
        pa.ArrowException,
        OSError,
        ValueError,
        KeyError,
        TypeError,
    ) as error:  # Arrow's, for corrupt files
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise UserError(f"no readable Parquet ({reason})", where=str(path), remedy=remedy) from None

"""Data frames: as Parquet with an explicit schema (same rows, same bytes), stacked, hashed, rounded
and compared.

Rounding removes the last bits of floats, which differ between processors.
"""

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from evenruler.errors import UserError
from evenruler.files import require_regular
from evenruler.tables.contents import refuse_unreadable_parquet
from evenruler.tables.ids import content_sha256

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")

IDENTITY = (
    *("id", "model", "corpus", "fit", "epoch", "method", "prompt_format", "turn"),
    *("role", "template", "measure", "feature", "surface_form", "repetition", "instrument"),
)
"""The columns that identify a row, in sort order. Several instruments may ask the same, such as
facts.
"""


def table_of(rows: Iterable[Mapping[str, Any]] | pd.DataFrame, schema: pa.Schema) -> pa.Table:
    """Convert rows (mappings or a frame) to a table, sorted by id and the other columns of
    `IDENTITY`.

    Rows must have exactly the schema's columns and types; library metadata is removed. ValueError:
    a missing or extra column, a null in a non-nullable column, or a repeated identity.
    """
    columns: dict[str, Any]
    if isinstance(rows, pd.DataFrame):
        names = [set(map(str, rows.columns))]
        columns = {str(name): rows[name] for name in rows.columns}
    else:
        rows = list(rows)
        names = [set(row) for row in rows]
        columns = {}
        for name in schema.names:
            columns[name] = [row.get(name) for row in rows]
    for column_names in names:
        if column_names != set(schema.names):
            raise ValueError(f"columns {sorted(column_names)}, expected {sorted(schema.names)}")
    arrays = []
    for field in schema:
        values = columns[field.name]
        if pa.types.is_integer(
            field.type
        ):  # cast, since pyarrow truncates fractions if asked for integers directly
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


def write_table(
    rows: Iterable[Mapping[str, Any]] | pd.DataFrame, schema: pa.Schema, path: Path
) -> None:
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


RESTORE: Final = "get it again; what a stage wrote, `make repro` restores"
"""The remedy for a damaged file."""


def read_table(path: Path) -> pa.Table:
    """Read a Parquet file; UserError if it does not exist or is damaged."""
    require_regular(path)
    if not path.exists():
        raise UserError("not built yet", where=str(path), remedy="run `make repro`")
    with refuse_unreadable_parquet(path, RESTORE):
        table = pq.read_table(path)
        table.validate(full=True)
    return table


def read_frame(path: Path) -> pd.DataFrame:
    """Read a Parquet file as a data frame."""
    frame: pd.DataFrame = read_table(path).to_pandas()
    return frame


DIGITS = 6  # significant digits of computed numbers in published tables
DECIMALS = 12  # a true zero comes out as 1e-17 on one machine and -3e-18 on another


def concat_frames(frames: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Concatenate frames with a new index; frames without rows are dropped, since they would change
    column types.

    If none has rows, the first is returned for its columns; if there is none at all, an empty
    frame.
    """
    all_frames = list(frames)
    filled = [frame for frame in all_frames if len(frame)] or all_frames[:1]
    return pd.concat(filled, ignore_index=True) if filled else pd.DataFrame()


def group_by_key(pairs: Iterable[tuple[Key, Value]]) -> dict[Key, list[Value]]:
    """Values by key, both in order of first occurrence."""
    values_by_key: dict[Key, list[Value]] = {}
    for key, value in pairs:
        values_by_key.setdefault(key, []).append(value)
    return values_by_key


def evenly_spread(units: Sequence[Value], most: int) -> list[Value]:
    """At most `most` units, evenly spaced over the list, in order."""
    if most >= len(units):
        return list(units)
    n_units = len(units)
    odd_numbers = range(1, 2 * most, 2)
    places = [odd * n_units // (2 * most) for odd in odd_numbers]
    return [units[place] for place in places]


def limit_tables(
    tables: Mapping[str, pd.DataFrame], named: Sequence[str], column: str, n: int
) -> dict[str, pd.DataFrame]:
    """All tables, the `named` ones cut down to rows with `n` evenly spread values of `column`,
    which are drawn from the first named one.
    """
    sampled_values = evenly_spread(sorted(set(tables[named[0]][column])), n)
    limited = dict(tables)
    for name in named:
        table = tables[name]
        limited[name] = table[table[column].isin(sampled_values)]
    return limited


def row_hashes(rows: pd.DataFrame, by: Sequence[str]) -> "pd.Series[str]":
    """Per unit (columns `by`), a hash of its published rows: 16 hex digits, independent of row
    order.

    Covers `id` and every other column except `content_sha256`, which is not trusted.
    """
    ordered = rows.sort_values("id").drop(columns="content_sha256", errors="ignore")
    row_contents = pa.Table.from_pandas(ordered, preserve_index=False).to_pylist()
    hashes = pd.Series(
        [content_sha256(row) for row in row_contents], index=ordered.index, name="told", dtype="str"
    )
    return hashes.groupby([ordered[name] for name in by], sort=True).agg(
        lambda unit_hashes: content_sha256(*unit_hashes)[:16]
    )


def round_significant(value: float) -> float:
    """Round to `DIGITS` significant digits and at most `DECIMALS` decimals; never returns -0.0."""
    if value == 0 or not math.isfinite(value):
        return value + 0.0
    magnitude = math.floor(math.log10(abs(value)))
    decimals = min(DIGITS - 1 - magnitude, DECIMALS)
    return round(value, decimals) + 0.0


def for_people(content: Mapping[str, Any]) -> dict[str, Any]:
    """Round the floats in nested mappings and lists for display: three decimals, probabilities two
    significant digits.

    Expects JSON-like content; a key "p" or "p_..." holds a probability. Figures are rounded nowhere
    else; any display with fewer decimals starts from the number itself.
    """
    rounded_content = {key: _round_nested(value) for key, value in content.items()}
    probabilities = [key for key in content if key == "p" or str(key).startswith("p_")]
    return rounded_content | {
        key: float(f"{content[key]:.1e}")
        for key in probabilities
        if isinstance(content[key], float)
    }


def _round_nested(content: object) -> object:
    """One value for display: a float with three decimals (never -0), mappings and lists likewise
    inside.
    """
    if isinstance(content, Mapping):
        return for_people(content)
    if isinstance(content, list):
        return [_round_nested(value) for value in content]
    return round(content, 3) + 0.0 if isinstance(content, float) else content


FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""How a text begins that a spreadsheet computes."""


def for_spreadsheets(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with a `'` before each text in `FORMULA`'s manner, for CSV files that people open;
    numbers stay.
    """

    def escape(value: object) -> object:
        """A text that a spreadsheet would compute, with `'` before it; anything else unchanged."""
        is_formula = isinstance(value, str) and value.startswith(FORMULA)
        return f"'{value}" if is_formula else value

    return frame.map(escape)


def from_spreadsheet(value: str) -> str:
    """A text without the `'` of `for_spreadsheets`, which a spreadsheet keeps or drops when it
    saves.
    """
    is_escaped = value[:1] == "'" and value[1:].startswith(FORMULA)
    return value[1:] if is_escaped else value


def without_last_bits(table: pd.DataFrame) -> pd.DataFrame:
    """The table with its float columns rounded. Hash rows after this, not before."""
    floats = [str(name) for name in table.columns if pd.api.types.is_float_dtype(table[name])]
    return table.assign(**{name: table[name].map(round_significant) for name in floats})


TOLERANCE = 0.0015
"""Figures have three decimals; the last may be rounded differently on another processor."""


def differing_rows(old: pa.Array, new: pa.Array, tolerance: float) -> NDArray[np.bool_]:
    """[rows] whether values differ; two nulls are equal, and so are two NaNs."""
    if pa.types.is_nested(old.type):
        pairs = zip(old.to_pylist(), new.to_pylist(), strict=True)
        return np.fromiter(
            (not is_nearly_equal(a, b, tolerance) for a, b in pairs), dtype=bool, count=len(old)
        )
    one_is_null = pc.not_equal(old.is_null(), new.is_null())
    is_different: NDArray[np.bool_] = one_is_null.to_numpy(zero_copy_only=False)
    if pa.types.is_null(old.type):
        return is_different
    if pa.types.is_floating(old.type):
        a = old.to_numpy(zero_copy_only=False).astype(np.float64)
        b = new.to_numpy(zero_copy_only=False).astype(np.float64)
        is_different = is_different | ~np.isclose(a, b, rtol=0, atol=tolerance, equal_nan=True)
    else:
        is_unequal = pc.fill_null(pc.not_equal(old, new), False)
        is_different = is_different | is_unequal.to_numpy(zero_copy_only=False)
    return is_different


def is_nearly_equal(old: object, new: object, tolerance: float) -> bool:
    """Whether two nested values are equal, numbers up to the tolerance."""
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(
            is_nearly_equal(a, b, tolerance) for a, b in zip(old, new, strict=True)
        )
    if isinstance(old, dict) and isinstance(new, dict):
        return old.keys() == new.keys() and all(
            is_nearly_equal(old[key], new[key], tolerance) for key in old
        )
    if isinstance(old, int | float) and isinstance(new, int | float):
        if old == new or abs(old - new) <= tolerance:
            return True
        return math.isnan(old) and math.isnan(new)
    return old == new

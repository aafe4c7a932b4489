"""Tables: ids, schemas, rounding, reading and writing Parquet."""

from evenruler.tables.frames import (
    evenly_spread,
    grouped,
    read_frame,
    read_table,
    rounded,
    rows_of,
    stacked,
    table_of,
    without_last_bits,
    write_table,
    write_whole,
)
from evenruler.tables.ids import content_sha256, row_id

__all__ = [
    "content_sha256",
    "evenly_spread",
    "grouped",
    "read_frame",
    "read_table",
    "rounded",
    "row_id",
    "rows_of",
]
__all__ += ["stacked", "table_of", "without_last_bits", "write_table", "write_whole"]

"""Tables: ids, schemas, rounding, reading and writing Parquet."""

from evenruler.tables.frames import (
    concat_frames,
    evenly_spread,
    group_by_key,
    read_frame,
    read_table,
    round_significant,
    row_hashes,
    table_of,
    without_last_bits,
    write_table,
    write_whole,
)
from evenruler.tables.ids import content_sha256, row_id

__all__ = [
    "content_sha256",
    "evenly_spread",
    "group_by_key",
    "read_frame",
    "read_table",
    "round_significant",
    "row_hashes",
    "row_id",
]
__all__ += ["concat_frames", "table_of", "without_last_bits", "write_table", "write_whole"]

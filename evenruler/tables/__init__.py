"""Tables: ids, schemas, reading and writing Parquet."""

from evenruler.tables.ids import content_sha256, row_id
from evenruler.tables.parquet import read_frame, read_table, write_table
from evenruler.tables.units import evenly_spread

__all__ = ["content_sha256", "evenly_spread", "read_frame", "read_table", "row_id", "write_table"]

"""Tables: ids, schemas, reading and writing Parquet."""

from evenruler.tables.ids import content_sha256, row_id
from evenruler.tables.parquet import read_frame, read_table, write_table

__all__ = ["content_sha256", "read_frame", "read_table", "row_id", "write_table"]

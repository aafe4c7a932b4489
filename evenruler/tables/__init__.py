"""Tables: ids, schemas, rounding, reading and writing Parquet."""

from evenruler.tables.frames import evenly_spread, rounded, rows_of, stacked, without_last_bits
from evenruler.tables.ids import content_sha256, row_id
from evenruler.tables.parquet import read_frame, read_table, table_of, write_table, write_whole

__all__ = ["content_sha256", "evenly_spread", "read_frame", "read_table", "rounded", "row_id", "rows_of"]
__all__ += ["stacked", "table_of", "without_last_bits", "write_table", "write_whole"]

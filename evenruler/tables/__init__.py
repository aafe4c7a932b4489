"""Tables: ids, schemas, rounding, reading and writing Parquet."""

from evenruler.tables.frames import evenly_spread as evenly_spread
from evenruler.tables.frames import rounded as rounded
from evenruler.tables.frames import rows_of as rows_of
from evenruler.tables.frames import stacked as stacked
from evenruler.tables.frames import without_last_bits as without_last_bits
from evenruler.tables.ids import content_sha256 as content_sha256
from evenruler.tables.ids import row_id as row_id
from evenruler.tables.parquet import read_frame as read_frame
from evenruler.tables.parquet import read_table as read_table
from evenruler.tables.parquet import table_of as table_of
from evenruler.tables.parquet import write_table as write_table
from evenruler.tables.parquet import write_whole as write_whole

"""Tables of the saged family."""

from pathlib import Path

from evenruler.tables.schemas import declared

__getattr__ = declared(Path(__file__).with_name("schemas.toml"))

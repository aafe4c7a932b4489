"""Columns of the tables of Likert items."""

from pathlib import Path

from evenruler.tables.schemas import schema_getattr

__getattr__ = schema_getattr(Path(__file__).with_name("schemas.toml"))

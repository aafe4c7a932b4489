"""Tables of published benchmarks, and names of roles and conditions."""

from pathlib import Path

from evenruler.tables.schemas import schema_getattr

__getattr__ = schema_getattr(Path(__file__).with_name("schemas.toml"))

FIRST, SECOND, THIRD = "first", "second", "third"
"""Roles of the texts of an item: the one that the score counts (the more stereotypical one, the
biased answer), the one it is compared with, and one that shows whether a model can do the task at
all (unrelated, unknown)."""

ROLES = (FIRST, SECOND, THIRD)

AMBIGUOUS, DISAMBIGUATED = "ambiguous", "disambiguated"
"""Conditions of BBQ: whether the context determines the answer."""

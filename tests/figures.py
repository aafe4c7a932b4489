"""Figures as results and evidence hold them."""

from collections.abc import Iterable
from typing import Any


def find_figure(rows: Iterable[dict[str, Any]], **columns: str | None) -> dict[str, Any]:
    """The only row with these columns, without those that are None."""
    wanted = columns.items()
    (row,) = (row for row in rows if all(row.get(name) == word for name, word in wanted))
    return row

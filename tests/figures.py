"""Figures as results and evidence hold them."""

from collections.abc import Iterable

from evenruler.measurement.figures import Row


def select_figures(rows: Iterable[Row], **columns: str | None) -> list[Row]:
    """The rows with these columns, without those that are None."""
    selected: list[Row] = []
    for row in rows:
        if all(row.get(name) == word for name, word in columns.items()):
            selected.append(row)
    return selected


def find_figure(rows: Iterable[Row], **columns: str | None) -> Row:
    """The only row with these columns, without those that are None."""
    (row,) = select_figures(rows, **columns)
    return row

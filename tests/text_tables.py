"""Tables that tests write as text: they read as on paper, and hold no quotes and brackets."""

from io import StringIO

import pandas as pd


def read_cells(table: str) -> list[tuple[str, ...]]:
    """A row a line, cells between bars, without the spaces around them."""
    rows = []
    for line in table.strip().splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        rows.append(tuple(cells))
    return rows


def read_columns(table: str) -> pd.DataFrame:
    """Names in the first line, columns between spaces; empty cells are written `NaN`."""
    return pd.read_csv(StringIO(table), sep=r"\s+")

"""Tables and mappings that tests write as text: they read as on paper, and hold no quotes and
brackets.
"""

from io import StringIO
from typing import Any

import pandas as pd
from ruamel.yaml import YAML


def read_cells(table: str) -> list[tuple[str, ...]]:
    """A row a line, cells between bars, without the spaces around them."""
    rows = []
    for line in table.strip().splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        rows.append(tuple(cells))
    return rows


def read_words(table: str) -> list[list[str]]:
    """A row a line, words between spaces."""
    return [line.split() for line in table.splitlines()]


def read_columns(table: str) -> pd.DataFrame:
    """Names in the first line, columns between spaces; empty cells are written `NaN`."""
    return pd.read_csv(StringIO(table), sep=r"\s+")


def table_of_text(text: str) -> pd.DataFrame:
    """Names in the first line, columns between bars; empty cells are nothing."""
    return pd.read_csv(StringIO(text), sep="|")


def yaml_of_text(text: str) -> Any:
    return YAML(typ="safe").load(text)

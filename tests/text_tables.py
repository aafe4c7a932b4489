"""Tables and mappings that tests write as text."""

from io import StringIO
from typing import Any

import pandas as pd
from ruamel.yaml import YAML


def table_of_text(text: str) -> pd.DataFrame:
    return pd.read_csv(StringIO(text), sep="|")


def cases(text: str) -> list[list[str]]:
    """The rows of a table of texts: a line each, fields between checks."""
    lines = text.strip().splitlines()
    return [[field.strip() for field in line.split("|")] for line in lines]


def yaml_of_text(text: str) -> Any:
    return YAML(typ="safe").load(text)

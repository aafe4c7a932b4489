"""docs/results.md describes the main keys, and every column of a figure."""

from pathlib import Path

import pytest

from evenruler.measurement.figures import TEXTS
from evenruler.results.every_eval_ever import SCHEMA
from evenruler.tables.schemas import HEADLINES
from evenruler.tables.schemas import NUMBERS as OF_FIGURES

PAGE = (Path(__file__).parents[2] / "docs/results.md").read_text()


@pytest.mark.parametrize(
    "names",
    [
        [
            "benchmark",
            "model",
            "settings",
            "headings",
            "figures",
            "summary",
            "warnings",
            "left_out",
        ],
        HEADLINES.names,
        [
            *OF_FIGURES,
            "n",
            "unit",
            *TEXTS,
        ],
    ],
    ids=str,
)
def test_all_names_stand_on_the_page(names):
    assert [name for name in names if f"`{name}`" not in PAGE] == []


def test_the_schema_that_is_followed_is_named():
    assert f"version **{SCHEMA}** of its schema" in PAGE

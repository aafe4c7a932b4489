"""docs/results.md describes every key and column."""

from pathlib import Path

import pytest

from evenruler.results.every_eval_ever import SCHEMA
from evenruler.results.record import COLUMNS, Heading, MeasuredBenchmark, MeasuredModel, Result, Settings
from evenruler.tables.schemas import HEADLINES

PAGE = (Path(__file__).parents[2] / "docs/results.md").read_text()


@pytest.mark.parametrize(
    "names",
    [
        *(list(model.model_fields) for model in (Result, MeasuredBenchmark, MeasuredModel, Settings, Heading)),
        HEADLINES.names,
        list(COLUMNS),
    ],
    ids=str,
)
def test_all_names_stand_on_the_page(names):
    assert [name for name in names if f"`{name}`" not in PAGE] == []


def test_the_schema_that_is_followed_is_named():
    assert f"version **{SCHEMA}** of its schema" in PAGE

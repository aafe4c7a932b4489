"""docs/results.md describes every key and column."""

from pathlib import Path

import pytest

from evenruler.results.every_eval_ever import SCHEMA
from evenruler.results.record import Heading, MeasuredBenchmark, MeasuredModel, Result, Settings
from evenruler.results.statistics import STATISTICS
from evenruler.results.store import COLUMNS
from evenruler.tables.schemas import UNITS

PAGE = (Path(__file__).parents[2] / "docs/results.md").read_text()


@pytest.mark.parametrize(
    "names",
    [
        *(list(model.model_fields) for model in (Result, MeasuredBenchmark, MeasuredModel, Settings, Heading)),
        UNITS.names,
        list(COLUMNS),
        list(STATISTICS),
    ],
    ids=str,
)
def test_all_names_stand_on_the_page(names):
    assert [name for name in names if f"`{name}`" not in PAGE] == []


def test_the_schema_that_is_followed_is_named():
    assert f"version **{SCHEMA}** of its schema" in PAGE


def test_the_simulated_intervals_cover_what_they_promise():
    rows = [line.split(" | ") for line in PAGE.splitlines() if line.split(" | ")[0].strip("| ") in STATISTICS]
    shares = [
        float(share) for row in rows if len(row) == 6 for cell in row[4:] for share in cell.strip("| ").split(",")
    ]
    assert len(shares) == 2 * 3 * 2 * (5 + 5 + 4)
    assert 0.92 <= min(shares) <= max(shares) <= 0.98

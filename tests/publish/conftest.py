from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from evenruler.publish import Benchmark, Config
from evenruler.tables.schemas import required

COLUMNS = ("id", "content_sha256", "source", "licence", "text")


def table(*rows: tuple[str, str, str, str, str]) -> pa.Table:
    schema = pa.schema([required(name, pa.string()) for name in COLUMNS])
    return pa.Table.from_pylist([dict(zip(COLUMNS, row, strict=True)) for row in rows], schema=schema)


@pytest.fixture
def make_table() -> Callable[..., pa.Table]:
    """Makes a table of rows of id, content hash, source, licence and text."""
    return table


@pytest.fixture
def benchmark() -> Benchmark:
    """Two tables: probes of two sources under two licences, and their template."""
    probes = table(
        ("1", "aa", "Paper", "mit", "He said “no”."),
        ("2", "bb", "Paper", "mit", "Sœur | frère"),
        ("3", "cc", "Even Ruler", "apache-2.0", "two\nlines"),
    )
    templates = table(("4", "dd", "Paper", "mit", "A {ATTRIBUTE} is a {TARGET}."))
    figure = {"value": 0.756, "low": 0.6, "high": 0.849, "n": 43, "reason": None}
    return Benchmark(
        name="probes-jobs",
        title="Jobs and gender",
        version="1.2.3",
        language="en",
        construct="association of jobs with gender",
        warning="These sentences repeat stereotypes.",
        reading="A bias above 0 is closer to men.",
        configs=[Config("probes", "a sentence", probes), Config("templates", "a template", templates)],
        n_rejected=5,
        parameters={"version": "1.2.3", "article": "agree"},
        evidence={
            "hand": {
                "tiny": {
                    "r": figure,
                    "r_exact": figure | {"value": None, "low": None, "high": None, "n": 2, "reason": "fewer than 4"},
                    "alpha": figure | {"value": 0.9, "low": 0.85, "high": 0.94, "n": 50},
                    "omega": figure | {"value": 0.91, "low": None, "high": None, "n": 50},
                    "inter_item_correlation": figure | {"value": 0.5, "low": None, "high": None, "n": 50},
                    "first_component_share": figure | {"value": 0.6, "low": None, "high": None, "n": 50},
                },
                "minilm": {
                    "semantic_diversity": figure | {"value": 0.3, "low": None, "high": None, "n": 8},
                    "lexical_diversity": figure | {"value": 0.7, "low": None, "high": None, "n": 8},
                },
            }
        },
        command="make repro",
    )


@pytest.fixture
def contents() -> Callable[[Path], dict[str, bytes]]:
    """Reads the bytes of every file under a folder."""

    def read(folder: Path) -> dict[str, bytes]:
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    return read

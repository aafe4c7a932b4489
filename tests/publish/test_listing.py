from pathlib import Path

import pytest

from evenruler.publish import Benchmark, write_benchmark
from evenruler.publish.listing import Listed, as_table, listed


@pytest.fixture
def folder(benchmark: Benchmark, tmp_path: Path) -> Path:
    write_benchmark(benchmark, tmp_path / "probes-jobs")
    (tmp_path / "not-built").mkdir()
    return tmp_path


def test_what_lies_there_is_listed(folder) -> None:
    assert listed(folder) == [Listed("probes-jobs", "1.2.3", 4, "Jobs and gender")]


def test_a_card_without_title_is_said(folder, error_of) -> None:
    card = folder / "probes-jobs/README.md"
    card.write_text("# Jobs\n")
    assert error_of(listed, folder) == f"{card}: no `pretty_name` in its front matter; get the file again"


def test_columns_are_aligned() -> None:
    found = [Listed("probes-jobs", "1.2.3", 4, "Jobs and gender"), Listed("saged-x", "10.0.0", 12345, "Of x")]
    assert as_table(found).splitlines() == [
        "name         version    rows  title",
        "probes-jobs  1.2.3         4  Jobs and gender",
        "saged-x      10.0.0   12,345  Of x",
    ]

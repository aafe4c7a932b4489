"""The papers' tables stand beside ours, and are those of what is built."""

import csv
import runpy

import pytest
from ruamel.yaml import YAML

from tests.documents.pages import ROOT

PAPERS = runpy.run_path(str(ROOT / "docs/papers.py"))
DISPARITIES = "data/diagnosis/saged/tables/disparities.parquet"
BUILT = pytest.mark.skipif(
    not (ROOT / DISPARITIES).exists(), reason="nothing is built here; `make repro` does"
)


@pytest.fixture(scope="module")
def cells() -> list[dict[str, str]]:
    with (ROOT / "docs/papers.csv").open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


@BUILT
def test_the_tables_are_those_of_what_is_built() -> None:
    for path, text in PAPERS["written"]().items():
        assert path.read_text(encoding="utf-8") == text, "run `python docs/papers.py`"


@BUILT
def test_every_figure_that_is_named_is_there_where_its_benchmark_was_asked(cells) -> None:
    figures = PAPERS["figures"](ROOT)
    benchmarks = {benchmark for benchmark, _, _ in figures}
    named = {(cell["benchmark"], cell["figure"], cell["dimensions"]) for cell in cells}
    lacking = {key for key in named - set(figures) if key[0] in benchmarks}
    # No model is adapted at the quick scale.
    assert {figure for _, figure, _ in lacking} <= {"moved"}


def test_every_model_of_ours_is_declared(cells) -> None:
    declared = YAML(typ="safe").load(ROOT / "params.yaml")
    names = {cell["ours"] for cell in cells}
    assert names - declared["models"].keys() == {"", "all models"}
    instruments = declared["instruments"]
    benchmarks = {f"{instruments[name]['family']}-{name}" for name in instruments}
    assert {cell["benchmark"] for cell in cells} - benchmarks == {""}

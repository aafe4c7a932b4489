"""The papers' tables stand beside ours, and are those of what is built."""

import csv
import json
import runpy
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from tests.documents.pages import ROOT
from tests.text_tables import table_of_text, yaml_of_text

PAPERS = runpy.run_path(str(ROOT / "docs/papers.py"))
DISPARITIES = "data/diagnosis/saged/tables/disparities.parquet"
BUILT = pytest.mark.skipif(
    not (ROOT / DISPARITIES).exists(), reason="nothing is built here; `make repro` does"
)
UNDECLARED = {"gemma2-9b", "llama3-1-8b", "mistral-7b", "qwen2-7b"}
"""Of SAGED: the page says that they are to be declared under these names."""


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
    assert {cell["ours"] for cell in cells} - set(declared["models"]) == {
        "",
        "all models",
        *UNDECLARED,
    }
    instruments = declared["instruments"]
    benchmarks = {f"{instruments[name]['family']}-{name}" for name in instruments}
    assert {cell["benchmark"] for cell in cells} - benchmarks == {""}


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """Two of the paper's models and one of ours were asked, and one about a domain."""
    (tmp_path / "benchmarks/probes-x").mkdir(parents=True)
    figures = yaml_of_text("""
- {model: small-1, value: 0.5, low: 0.25, high: 0.75, n: 43, control: 0.1, verdict: detected}
- {model: small-2, value: null, n: 0, reason: all equal}
- {model: own, value: 0.2, n: 9, reason: over one task alone}
""")
    for figure in figures:
        figure.update({"figure": "r", "set": "seed", "method": "mlm"})
    (tmp_path / "benchmarks/probes-x/evidence.json").write_text(json.dumps({"figures": figures}))
    disparities = table_of_text("""\
domain|model|role|template|feature|reason|grouping|statistic|metric|calibration|value|p
d|own|no-role|plain|vader||concept|mean|range|raw|0.1|0.2
d|own|no-role|plain|vader||concept|mean|range|calibrated|0.3|
""")
    (tmp_path / DISPARITIES).parent.mkdir(parents=True)
    disparities.astype({"reason": object}).to_parquet(tmp_path / DISPARITIES)
    return tmp_path


def cell(model: str, printed: str, ours: str, **place: str) -> dict[str, str]:
    where = {"benchmark": "probes-x", "figure": "r", "dimensions": "set=seed"} | place
    return {
        "paper": "A",
        "table": "table 1",
        "what": "r",
        "model": model,
        "printed": printed,
        "ours": ours,
        **where,
    }


def test_who_was_asked_has_value_control_and_verdict_and_who_was_not_is_not_run(built) -> None:
    figures = PAPERS["figures"](built)
    paper = [
        cell("Small 1", "0.80", "small-1 (mlm)"),
        cell("Small 2", "0.81", "small-2 (mlm)"),
        cell("Large", "0.9", "large"),
        cell("all", "mostly 0.8", "", benchmark="", figure="", dimensions=""),
    ]
    rows = list(PAPERS["beside"](paper, figures))
    assert [row[3:] for row in rows] == [
        ("Small 1", "0.80", "small-1 (mlm)", "0.500 [0.250, 0.750], n = 43", "0.10", "detected"),
        ("Small 2", "0.81", "small-2 (mlm)", "none (all equal)", "", ""),
        ("Large", "0.9", "large", "not run", "", ""),
        ("all", "mostly 0.8", "", "", "", ""),
        ("", "", "own (mlm)", "0.200, n = 9", "", "over one task alone"),
    ]
    ours = "`small-1 (mlm)` 0.500 [0.250, 0.750] (control 0.10; detected)"
    assert PAPERS["line"](rows[:1]) == f"| r | Small 1: 0.80 | {ours} |"
    assert PAPERS["line"](rows[2:4]) == "| r | Large: 0.9; all: mostly 0.8 | not run |"

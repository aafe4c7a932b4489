"""The papers' tables stand beside ours, and are those of what is built."""

import csv
import runpy
from io import StringIO

import pandas as pd
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
    # No model is adapted at the profile quick, and none without a chat template writes replies.
    assert {figure for _, figure, _ in lacking} <= {"moved", "coverage"}
    plain = {dimensions for _, figure, dimensions in lacking if figure == "coverage"}
    assert all(dimensions.startswith("prompt_format=plain,") for dimensions in plain)


CELLS = pd.read_csv(
    StringIO("""
paper,table,cells
PMPO,table 1,16
PMPO,table 2,10
PMPO,table 3,12
PMPO,table 4,9
PMPO,table 5,10
EMPALC,table 1,12
EMPALC,table 2,36
EMPALC,section 4.3,3
EMPALC,table 3,9
Gao and Kreiss,figures 1 to 3,8
Gao and Kreiss,table 2,66
Gao and Kreiss,table 4,16
Gao and Kreiss,table 5,40
SAGED,table 1,27
SAGED,table 2,5
SAGED,table 7,16
SAGED,table 8,8
SAGED,table 9,60
SAGED,table 10,36
""")
)
"""By table, its cells, counted on paper. Below table 2 of PMPO stands the share of a component;
table 1 of SAGED has no baseline where it is calibrated."""


def test_every_cell_of_the_papers_tables_is_a_row(cells) -> None:
    printed = [cell for cell in cells if cell["model"] and cell["printed"]]
    table = pd.DataFrame(printed)
    counts = table.groupby(["paper", "table"], sort=False).size().reset_index(name="cells")
    pd.testing.assert_frame_equal(counts, CELLS)
    assert not table.duplicated(["paper", "table", "what", "model"]).any()


def test_a_cell_without_a_figure_of_ours_says_why(cells) -> None:
    unexplained = [cell for cell in cells if not (cell["ours"] or cell["note"])]
    assert [cell["what"] for cell in unexplained if cell["printed"]] == []


def test_a_table_of_a_paper_is_a_line_with_its_cells_and_what_becomes_of_them() -> None:
    common = {"paper": "P", "table": "table 1", "printed": "0.5", "ours": "", "note": ""}
    named = {**common, "model": "big", "ours": "tiny"}
    nameless = {**common, "model": "old", "note": "nobody has it"}
    no_cell = {**common, "model": "", "printed": "", "note": "no cell"}
    table = [named, nameless, nameless, no_cell]
    assert PAPERS["count_line"](table) == "| P | table 1 | 3 | 1 | nobody has it |"


def test_every_model_of_ours_is_declared(cells) -> None:
    declared = YAML(typ="safe").load(ROOT / "params.yaml")
    names = {cell["ours"] for cell in cells}
    assert names - declared["models"].keys() == {"", "all models"}
    instruments = declared["instruments"]
    benchmarks = {f"{instruments[name]['family']}-{name}" for name in instruments}
    assert {cell["benchmark"] for cell in cells} - benchmarks == {""}


CORRECTION = {
    "correction": "names masked",
    "name": "range of means",
    "figure": "range",
    "published": "saged-a",
    "published_dimensions": "all",
    "ours": "saged-b",
    "ours_dimensions": "all",
    "here": "",
}


def test_a_correction_has_figures_of_both_benchmarks_or_was_not_measured() -> None:
    figure = PAPERS["Ours"]
    published = {("saged-a", "range", "all"): {"tiny": figure("0.2"), "big": figure("0.3")}}
    ours = {("saged-b", "range", "all"): {"tiny": figure("0.1")}}
    line = PAPERS["correction_line"]
    words = "| names masked | range of means | not measured |"
    assert line(CORRECTION, published) == f"{words} not measured |"
    assert line({**CORRECTION, "here": "0.5; 0.4"}, published | ours) == (
        "| names masked | range of means | 0.5; 0.4 | `big` 0.3, `tiny` 0.2; `tiny` 0.1 |"
    )


def test_every_benchmark_of_a_correction_is_built_at_the_profile_of_the_paper() -> None:
    with (ROOT / "docs/corrections.csv").open(newline="", encoding="utf-8") as lines:
        corrections = list(csv.DictReader(lines))
    declared = YAML(typ="safe").load(ROOT / "params.yaml")["instruments"]
    at_paper = {
        f"{entry['family']}-{name}"
        for name, entry in declared.items()
        if entry.get("profile") in (None, "paper")
    }
    named = {correction[side] for correction in corrections for side in ("published", "ours")}
    assert named <= at_paper
    assert len({correction["published"] for correction in corrections}) == 4

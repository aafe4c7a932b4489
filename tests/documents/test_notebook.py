"""The example notebook runs, cell by cell, as somebody runs it who has nothing but the package and
SmolLM2."""

import ast
import json
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import evenruler
from evenruler.measurement.figures import Verdict
from evenruler.models.store import RowStore
from tests.documents.pages import ROOT

NOTEBOOK = ROOT / "docs/example.ipynb"


def read_code_cells() -> list[dict[str, Any]]:
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def shown(cell: str, names: dict[str, Any]) -> Any:
    """What a cell shows: the value of the expression that it ends with."""
    *before, last = ast.parse(cell).body
    assert isinstance(last, ast.Expr), cell
    exec(compile(ast.Module(before, []), "cell", "exec"), names)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names)


@pytest.mark.slow
@pytest.mark.long
def test_every_cell_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packaged_store: RowStore
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EVENRULER_CACHE", str(packaged_store.root))
    cells = ["".join(cell["source"]) for cell in read_code_cells()]
    names: dict[str, Any] = {}
    result, verdicts, units, plot, headlines, replies, answer = [
        shown(cell, names) for cell in cells
    ]
    assert "probes-occupation-gender@" in result._repr_html_()
    assert set(verdicts) == {"gain:set=next-word"}
    assert len(units) == 10
    assert units["value"].is_monotonic_decreasing
    assert units["axis_position"].corr(units["value"], method="spearman") > 0.5, (
        "it knows who works in what"
    )
    assert len(plot.to_dict()["vconcat"]) == 1
    by_model = headlines.set_index("model")
    assert list(by_model.index) == ["smollm2", "untrained"]
    assert by_model["verdict"]["untrained"] == "invalid"
    assert by_model["value"]["smollm2"] > 10 * abs(by_model["value"]["untrained"])
    assert isinstance(replies, pd.DataFrame)
    assert replies["reply"].str.len().gt(0).all()
    labels = tuple(map(str, Verdict))
    assert answer[0].startswith(labels)
    assert all(
        line.startswith(("compared", "sensitive", "It does not", *labels)) for line in answer
    )


def test_each_cell_is_saved_with_what_it_shows() -> None:
    """Viewers do not run it; progress is left out."""
    cells = read_code_cells()
    for number, cell in enumerate(cells, start=1):
        (output,) = cell["outputs"]
        assert (cell["execution_count"], output["output_type"]) == (number, "execute_result")
    saved = json.dumps([cell["outputs"] for cell in cells])
    assert "image/svg+xml" in saved
    assert "invalid" in saved


def test_it_imports_public_names_alone() -> None:
    source = "\n".join("".join(cell["source"]) for cell in read_code_cells())
    imported = re.findall(r"^(?:from|import) (evenruler\S*)", source, flags=re.M)
    assert imported == ["evenruler"]
    used = set(re.findall(r"\bevenruler\.(\w+)", source))
    assert used == set(evenruler.__all__)

"""The example notebook runs, cell by cell, as somebody runs it who has nothing but the package and
SmolLM2."""

import ast
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from evenruler.measurement.figures import Verdict
from evenruler.models.store import RowStore
from tests.documents.pages import ROOT

NOTEBOOK = ROOT / "docs/example.ipynb"


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
    cells = [
        "".join(cell["source"])
        for cell in json.loads(NOTEBOOK.read_text())["cells"]
        if cell["cell_type"] == "code"
    ]
    names: dict[str, Any] = {}
    result, verdicts, units, plot, compared, replies, answer = [
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
    assert compared["verdict"].item() == "invalid"
    assert compared["first_value"].item() > 10 * abs(compared["second_value"].item())
    assert isinstance(replies, pd.DataFrame)
    assert replies["reply"].str.len().gt(0).all()
    labels = tuple(map(str, Verdict))
    assert answer[0].startswith(labels)
    assert all(
        line.startswith(("compared", "sensitive", "It does not", *labels)) for line in answer
    )


def test_it_holds_no_outputs() -> None:
    for cell in json.loads(NOTEBOOK.read_text())["cells"]:
        assert not cell.get("outputs")

"""What the gate says to machines, and the workflow that runs it."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from ruamel.yaml import YAML
from typer.testing import CliRunner

from evenruler.cli import app
from evenruler.errors import UserError
from evenruler.instruments.card import GATED
from evenruler.results import gate_files
from evenruler.results.ci import WORKFLOW, render_workflow, write_workflow
from evenruler.results.comparison import FAILED, NOT_MEASURED, UNDECIDED, gate
from tests.documents.pages import blocks
from tests.results.synthetic import figure_row, stored, synthetic
from tests.results.test_gate import result


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three results: one of each outcome."""
    for name, verdict in (("bad", "detected"), ("good", "below"), ("open", "inconclusive")):
        result(tmp_path / "results" / name, verdict, name=name)
    return tmp_path / "results"


def test_junit_has_a_case_for_each_headline(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "gate.xml"
    done = CliRunner().invoke(app, ["gate", str(folder), "--junit", str(path)])
    assert done.exit_code == FAILED
    assert done.stdout.splitlines()[-2:] == [
        "1 failed, 1 passed",
        "nothing decided: 1 inconclusive",
    ]
    suite = ElementTree.parse(path).getroot()
    counts = {"tests": "3", "failures": "1", "errors": "0", "skipped": "1"}
    assert suite.attrib == {"name": "evenruler gate", **counts}
    cases = {str(case.get("name")): case for case in suite}
    assert set(cases) == {f"{name}: gain:set=seed" for name in ("bad", "good", "open")}
    assert {case.get("classname") for case in suite} == {"probes-made-up@1.0.0"}
    (failure,) = cases["bad: gain:set=seed"]
    assert (failure.tag, failure.get("message")) == (
        "failure",
        "probes-made-up@1.0.0, bad: gain:set=seed is detected",
    )
    assert [part.tag for part in cases["open: gain:set=seed"]] == ["skipped"]
    assert not list(cases["good: gain:set=seed"])


def test_what_is_not_decided_is_an_error_where_that_has_a_status(tmp_path: Path) -> None:
    measured = result(tmp_path, "inconclusive", why="A \x1b[31mword\x00.")
    outcome = gate([measured], strict=True)
    assert outcome.status == UNDECIDED
    (case,) = ElementTree.fromstring(gate_files.as_junit(outcome))
    (error,) = case
    assert error.tag == "error"
    assert r"A \u001b[31mword\u0000." in str(error.get("message"))


def test_nothing_measured_is_an_error(tmp_path: Path) -> None:
    measured = stored(tmp_path, synthetic(figures=[figure_row("alpha", 0.9)]))
    outcome = gate([measured])
    suite = ElementTree.fromstring(gate_files.as_junit(outcome))
    assert (suite.get("tests"), suite.get("errors")) == ("1", "1")
    assert json.loads(gate_files.as_json(outcome)) == {
        "status": NOT_MEASURED,
        "strict": False,
        "passed": 0,
        "failed": 0,
        "not_decided": {},
        "checks": [],
    }


def test_json_is_one_line(folder: Path) -> None:
    done = CliRunner().invoke(app, ["gate", str(folder), "--format", "json"])
    (line,) = done.stdout.splitlines()
    content = json.loads(line)
    assert (done.exit_code, content["status"]) == (FAILED, FAILED)
    assert (content["failed"], content["passed"]) == (1, 1)
    assert content["not_decided"] == {"inconclusive": 1}
    outcomes = {check["name"]: check["outcome"] for check in content["checks"]}
    assert outcomes == {
        "probes-made-up@1.0.0, bad: gain:set=seed": "failed",
        "probes-made-up@1.0.0, good: gain:set=seed": "passed",
        "probes-made-up@1.0.0, open: gain:set=seed": "not decided",
    }


def test_the_help_and_the_cards_agree_on_what_may_be_gated() -> None:
    words = " ".join(CliRunner().invoke(app, ["gate", "--help"]).stdout.split())
    assert "passes certifies nothing" in words
    assert GATED.endswith("that a model passes certifies nothing.")


def test_the_workflow_is_the_one_that_the_page_shows() -> None:
    (block,) = (block for block in blocks("docs/results.md") if block.title == str(WORKFLOW))
    assert block.text == render_workflow()


def test_a_workflow_names_the_model_and_the_benchmarks() -> None:
    text = render_workflow(
        "./my model", ["bbq", "you/jobs@v1"], requirement="evenruler[measure]", baseline="old"
    )
    content = YAML(typ="safe").load(text)
    assert content["env"] == {"EVENRULER": "evenruler[measure]"}
    steps = content["jobs"]["gate"]["steps"]
    runs = {step["name"]: step["run"] for step in steps if "run" in step}
    assert runs["Measure"] == "evenruler measure './my model' --with bbq --with you/jobs@v1\n"
    assert "evenruler gate results --baseline old --junit gate.xml" in runs["Gate"]


def test_a_workflow_is_written_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        done = CliRunner().invoke(app, ["ci", "init"])
        assert done.exit_code == 0
        assert done.stdout.splitlines()[0] == f"written: {WORKFLOW}"
    assert (tmp_path / WORKFLOW).read_text() == render_workflow()
    with pytest.raises(UserError, match="another workflow is there"):
        write_workflow(tmp_path, render_workflow("./other"))
    assert (tmp_path / WORKFLOW).read_text() == render_workflow(), "nothing is written over"

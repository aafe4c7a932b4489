"""Results that stop a pipeline, and results that do not."""

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from evenruler.cli import app
from evenruler.errors import UserError
from evenruler.results.comparison import FAILED, NOT_MEASURED, OPEN, PASSED, gate
from evenruler.results.record import Heading
from evenruler.results.store import StoredResult
from tests.results.synthetic import CONFIRMED, figure, gain_of, stored, synthetic

GAIN = Heading(figure="gain", heading="gain", meaning="how much", role="headline")
NAME = "probes-made-up:gain"


def result(
    folder: Path, verdict: str, *, name: str = "one", slope: float = 1.0, **more: Any
) -> StoredResult:
    record = {
        **figure(slope, **{**CONFIRMED, "smallest": 0.693}),
        "verdict": verdict,
        "why": "So.",
        **more,
    }
    base = synthetic(name, figures={"seed": {name: {"gain": record}}}).model_copy(
        update={"headings": [GAIN]}
    )
    return stored(folder, base, gain_of(name, slope, figure="gain"))


@pytest.mark.parametrize(
    ("verdict", "fail_on", "status"),
    [
        ("effect", ("effect",), FAILED),
        ("effect", ("not specific",), PASSED),
        ("inconclusive", ("effect",), OPEN),
        ("invalid on this model", ("effect",), OPEN),
    ],
)
def test_a_verdict(tmp_path: Path, verdict: str, fail_on: tuple[str, ...], status: int) -> None:
    assert gate([result(tmp_path, verdict)], fail_on).status == status


@pytest.mark.parametrize(
    ("low", "high", "status"),
    [
        (0.2, 0.9, FAILED),
        (-0.9, -0.2, FAILED),
        (-0.05, 0.08, PASSED),
        (0.05, 0.3, OPEN),
        (None, None, OPEN),
    ],
)
def test_a_bound_fails_where_the_whole_interval_lies_beyond(
    tmp_path: Path, low: float | None, high: float | None, status: int
) -> None:
    measured = result(tmp_path, "no effect", low=low, high=high)
    assert gate([measured], most={NAME: 0.1}).status == status


def test_worse_than_the_baseline_fails_and_better_passes(tmp_path: Path) -> None:
    small, large = (
        result(tmp_path, "effect", name="old", slope=1.0),
        result(tmp_path, "effect", name="new", slope=3.0),
    )
    (line,) = gate([large], ["worse"], baseline=[small]).failed
    assert line == "probes-made-up, seed, gain, new against old: new: more than old"
    assert "worse" not in gate([small], ["worse"], baseline=[large]).failed
    assert gate([small], ["worse"], baseline=[large]).status == PASSED


def test_a_result_without_a_headline_does_not_pass(tmp_path: Path) -> None:
    figures = {"seed": {"one": {"alpha": figure(0.9)}}}
    measured = stored(tmp_path, synthetic("one", figures=figures))
    assert gate([measured]).status == NOT_MEASURED
    assert [*gate([measured]).lines] == [
        "0 failed, 0 not told, 0 passed: no result has a headline with a verdict"
    ]


def test_what_only_one_of_two_has_is_not_told(tmp_path: Path) -> None:
    old, new = result(tmp_path, "no effect", name="old"), result(tmp_path, "no effect", name="new")
    other = old.result.model_copy(update={"figures": {"other": old.result.figures["seed"]}})
    judgement = gate([new], ["worse"], baseline=[type(old)(other, old.folder)])
    assert judgement.status == OPEN
    assert judgement.open == [
        "probes-made-up, other, gain, new against old: inconclusive. only old has it",
        "probes-made-up, seed, gain, new against old: inconclusive. only new has it",
    ]


def test_what_cannot_be_judged_is_a_line(tmp_path: Path, error_of: Any) -> None:
    measured = result(tmp_path, "no effect")
    assert "nothing measured is called 'probes-made-up:gian'" in error_of(
        gate, [measured], most={"probes-made-up:gian": 1}
    )
    assert "no 'efect' to fail on" in error_of(gate, [measured], ["efect"])
    with pytest.raises(UserError, match="`worse` and --baseline go together"):
        gate([measured], ["worse"])
    with pytest.raises(UserError, match="no result"):
        gate([])
    command = ["gate", str(tmp_path), "--max", f"{NAME}=-1"]
    done = CliRunner().invoke(app, command)
    assert isinstance(done.exception, UserError)
    assert "say BENCHMARK:FIGURE=SIZE" in str(done.exception)


def test_the_command_ends_with_the_status(tmp_path: Path) -> None:
    result(tmp_path / "results", "effect")
    done = CliRunner().invoke(app, ["gate", str(tmp_path / "results")])
    assert done.exit_code == FAILED
    assert done.stdout.splitlines() == [
        "failed: probes-made-up@1.0.0, seed, one: gain is effect",
        "1 failed, 0 not told, 0 passed",
    ]
    passing = ["gate", str(tmp_path / "results"), "--fail-on", "not specific", "--max", f"{NAME}=9"]
    assert CliRunner().invoke(app, passing).exit_code == PASSED

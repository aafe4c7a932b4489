"""Results that stop a pipeline, and results that do not."""

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from evenruler.cli import app
from evenruler.errors import UserError
from evenruler.results.comparison import FAILED, NOT_MEASURED, OPEN, PASSED, gate
from evenruler.results.store import StoredResult
from tests.results.synthetic import CONFIRMED, figure_row, gain_of, stored, synthetic

NAME = "probes-made-up:gain"


def result(
    folder: Path, verdict: str, *, name: str = "one", slope: float = 1.0, **more: Any
) -> StoredResult:
    confirmed = {**CONFIRMED, "smallest": 0.693, "verdict": verdict, "why": "So.", **more}
    measured = synthetic(name, figures=[figure_row("gain", slope, name, **confirmed)])
    return stored(folder, measured, gain_of(name, slope, figure="gain"))


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


@pytest.mark.parametrize("wanted", ["", ":set=seed", ":polarity=plain:set=seed"])
def test_a_bound_holds_for_all_rows_that_have_its_dimensions(tmp_path: Path, wanted: str) -> None:
    measured = result(tmp_path, "no effect", low=0.2, high=0.9, polarity="plain")
    assert len(gate([measured], most={NAME + wanted: 0.1}).failed) == 1


def test_worse_than_the_baseline_fails_and_better_passes(tmp_path: Path) -> None:
    small, large = (
        result(tmp_path, "effect", name="old", slope=1.0),
        result(tmp_path, "effect", name="new", slope=3.0),
    )
    (line,) = gate([large], ["worse"], baseline=[small]).failed
    assert line == "probes-made-up, gain:set=seed, new against old: new: more than old"
    assert "worse" not in gate([small], ["worse"], baseline=[large]).failed
    assert gate([small], ["worse"], baseline=[large]).status == PASSED


def test_a_result_without_a_headline_does_not_pass(tmp_path: Path) -> None:
    measured = stored(tmp_path, synthetic(figures=[figure_row("alpha", 0.9)]))
    assert gate([measured]).status == NOT_MEASURED
    assert [*gate([measured]).lines] == [
        "0 failed, 0 not told, 0 passed: no result has a headline with a verdict"
    ]


def test_what_only_one_of_two_has_is_not_told(tmp_path: Path) -> None:
    old = result(tmp_path, "no effect", name="old", set="other")
    new = result(tmp_path, "no effect", name="new")
    judgement = gate([new], ["worse"], baseline=[old])
    assert judgement.status == OPEN
    assert judgement.open == [
        "probes-made-up, gain:set=other, new against old: inconclusive. only old has it",
        "probes-made-up, gain:set=seed, new against old: inconclusive. only new has it",
    ]


def test_what_cannot_be_judged_is_a_line(tmp_path: Path, error_of: Any) -> None:
    measured = result(tmp_path, "no effect")
    for name in ("probes-made-up:gian", f"{NAME}:set=sead"):
        message = error_of(gate, [measured], most={name: 1})
        assert f"nothing measured is called '{name}'" in message
    assert "no 'efect' to fail on" in error_of(gate, [measured], ["efect"])
    with pytest.raises(UserError, match="`worse` and --baseline go together"):
        gate([measured], ["worse"])
    with pytest.raises(UserError, match="no result"):
        gate([])
    command = [
        "gate",
        str(tmp_path),
        "--max",
        f"{NAME}=-1",
    ]
    done = CliRunner().invoke(app, command)
    assert isinstance(done.exception, UserError)
    assert "say BENCHMARK:FIGURE" in str(done.exception)


def test_the_command_ends_with_the_status(tmp_path: Path) -> None:
    result(tmp_path / "results", "effect")
    done = CliRunner().invoke(app, ["gate", str(tmp_path / "results")])
    assert done.exit_code == FAILED
    assert done.stdout.splitlines() == [
        "failed: probes-made-up@1.0.0, one: gain:set=seed is effect",
        "1 failed, 0 not told, 0 passed",
    ]
    passing = [
        "gate",
        str(tmp_path / "results"),
        "--fail-on",
        "not specific",
        "--max",
        f"{NAME}:set=seed=9",
    ]
    assert CliRunner().invoke(app, passing).exit_code == PASSED

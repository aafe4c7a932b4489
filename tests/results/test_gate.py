"""Results that stop a pipeline, and results that do not."""

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from evenruler.cli import app
from evenruler.errors import UserError
from evenruler.results.comparison import FAILED, NOT_MEASURED, PASSED, UNDECIDED, gate
from evenruler.results.store import StoredResult
from tests.results.synthetic import CONFIRMED, figure_row, gain_of, stored, synthetic

NAME = "probes-made-up:gain"
NO_ENDS = {"low": None, "high": None}


def result(
    folder: Path, verdict: str, *, name: str = "one", slope: float = 1.0, **more: Any
) -> StoredResult:
    confirmed = {**CONFIRMED, "bound": 0.693, "verdict": verdict, "why": "So.", **more}
    measured = synthetic(name, figures=[figure_row("gain", slope, name, **confirmed)])
    return stored(folder, measured, gain_of(name, slope, figure="gain"))


@pytest.mark.parametrize(
    ("verdict", "status", "strict_status"),
    [
        ("detected", FAILED, FAILED),
        ("detected, below", PASSED, PASSED),
        ("inconclusive", PASSED, UNDECIDED),
        ("invalid", PASSED, UNDECIDED),
    ],
)
def test_a_verdict(tmp_path: Path, verdict: str, status: int, strict_status: int) -> None:
    measured = result(tmp_path, verdict)
    assert gate([measured]).status == status
    assert gate([measured], strict=True).status == strict_status


def test_what_is_not_decided_is_never_silent(tmp_path: Path) -> None:
    """Section 12, test 21."""
    verdicts = ["inconclusive"] * 3 + ["invalid"]
    results = [
        result(tmp_path, verdict, name=f"m{n}", positive_p=0.5)
        for n, verdict in enumerate(verdicts)
    ]
    outcome = gate(results[:3])
    assert outcome.status == PASSED
    assert list(outcome.lines)[-2:] == ["0 failed, 0 passed", "nothing decided: 3 inconclusive"]
    assert len(list(outcome.lines)) == 5
    *_, line = gate(results).lines
    assert line == "nothing decided: 3 inconclusive, 1 invalid"


@pytest.mark.parametrize(
    ("low", "high", "status"),
    [
        (0.2, 0.9, FAILED),
        (-0.05, 0.08, PASSED),
        (0.05, 0.3, UNDECIDED),
        (None, None, UNDECIDED),
    ],
)
def test_a_bound_fails_where_the_whole_interval_lies_beyond(
    tmp_path: Path, low: float | None, high: float | None, status: int
) -> None:
    ends = {} if low is None else {"low": low, "high": high}
    measured = result(tmp_path, "below", **{**NO_ENDS, **ends})
    assert gate([measured], most={NAME: 0.1}, strict=True).status == status


@pytest.mark.parametrize("wanted", ["", ":polarity=plain:set=seed"])
def test_a_bound_holds_for_all_rows_that_have_its_dimensions(tmp_path: Path, wanted: str) -> None:
    measured = result(tmp_path, "below", low=0.2, high=0.9, polarity="plain")
    assert len(gate([measured], most={NAME + wanted: 0.1}).failed_lines) == 1


@pytest.mark.parametrize("fail_on", [(), ("worse",)])
def test_worse_than_the_baseline_fails_and_better_passes(
    tmp_path: Path, fail_on: tuple[str, ...]
) -> None:
    """What is detected in both models fails nothing there."""
    small, large = (
        result(tmp_path, "detected", name="old", slope=1.0),
        result(tmp_path, "detected", name="new", slope=3.0),
    )
    (line,) = gate([large], fail_on, baseline=[small]).failed_lines
    assert line == "probes-made-up, gain:set=seed, new against old: new: more than old"
    assert gate([small], fail_on, baseline=[large]).status == PASSED
    assert len(gate([large], ["detected", "worse"], baseline=[small]).failed_lines) == 2


def test_a_little_worse_passes(tmp_path: Path) -> None:
    old = result(tmp_path, "detected", name="old", slope=1.0)
    new = result(tmp_path, "detected", name="new", slope=1.05)
    outcome = gate([new], baseline=[old])
    assert (outcome.failed_lines, outcome.n_passed) == ([], 1)


def test_a_result_without_a_headline_does_not_pass(tmp_path: Path) -> None:
    measured = stored(tmp_path, synthetic(figures=[figure_row("alpha", 0.9)]))
    assert gate([measured]).status == NOT_MEASURED
    assert [*gate([measured]).lines] == ["0 failed, 0 passed: no result has a headline"]


def test_what_only_one_of_two_has_is_not_decided(tmp_path: Path) -> None:
    old = result(tmp_path, "below", name="old", set="other")
    new = result(tmp_path, "below", name="new")
    judgement = gate([new], ["worse"], baseline=[old])
    assert judgement.status == PASSED
    assert judgement.undecided_lines == [
        "probes-made-up, gain:set=other, new against old: inconclusive. only old has it",
        "probes-made-up, gain:set=seed, new against old: inconclusive. only new has it",
    ]


def test_what_cannot_be_judged_is_a_line(tmp_path: Path, error_of: Any) -> None:
    measured = result(tmp_path, "below")
    for name in ("probes-made-up:gian", f"{NAME}:set=sead"):
        message = error_of(gate, [measured], most={name: 1})
        assert f"nothing measured is called '{name}'" in message
    assert "no 'detectd' to fail on" in error_of(gate, [measured], ["detectd"])
    with pytest.raises(UserError, match="`worse` and --baseline go together"):
        gate([measured], ["worse"])
    with pytest.raises(UserError, match="no result"):
        gate([])
    done = CliRunner().invoke(app, ["gate", str(tmp_path), "--max", f"{NAME}=-1"])
    assert "say BENCHMARK:FIGURE" in str(done.exception)


def test_the_command_ends_with_the_status(tmp_path: Path) -> None:
    result(tmp_path / "results", "detected")
    command = ["gate", str(tmp_path / "results")]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == FAILED
    assert done.stdout.splitlines() == [
        "failed: probes-made-up@1.0.0, one: gain:set=seed is detected",
        "1 failed, 0 passed",
    ]
    result(tmp_path / "results", "inconclusive")
    bounds = ["--bound", f"{NAME}:set=seed=9", "--max", f"{NAME}=9"]
    done = CliRunner().invoke(app, [*command, *bounds])
    assert done.exit_code == PASSED
    assert done.stdout.splitlines()[1:] == [
        "0 failed, 2 passed",
        "nothing decided: 1 inconclusive",
    ]
    assert CliRunner().invoke(app, [*command, "--strict"]).exit_code == UNDECIDED

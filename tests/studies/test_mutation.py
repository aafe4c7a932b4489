"""What `python -m studies.mutation` does with a module that no test runs."""

from pathlib import Path

import pytest

from studies.mutation import __main__ as mutation
from studies.mutation import trials

MODULE = Path("evenruler/terminal.py")
MUTANT = {
    "function": "say",
    "lines": [[3, 3]],
    "before": "err=False",
    "after": "err=True",
    "source": "err = True\n",
}


def test_mutants_of_a_module_that_no_test_runs_are_alive_and_no_test_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse_to_run(*arguments: object) -> tuple[str, str]:
        pytest.fail("tests were started")

    monkeypatch.setattr(mutation, "HOME", tmp_path)
    monkeypatch.setattr(mutation, "run_baseline", lambda tests, files: trials.Baseline())
    monkeypatch.setattr(trials, "run_mutant", refuse_to_run)
    mutation.try_modules({MODULE: [MUTANT]}, ("tests/test_terminal.py",), budget=20, alive=False)
    assert capsys.readouterr().err.splitlines() == [
        f"{MODULE}: 1 mutants, 0 tests",
        f"{MODULE}: no test runs it, so that all its mutants are alive",
    ]
    mutation.print_results([MODULE])
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == [
        f"{MODULE}:3 unreached",
        "- `` err=False `` -> `` err=True ``",
    ]
    assert lines[-2] == f"| `{MODULE}` | 1 | 0 | 0 | 1 | 0.0% |"

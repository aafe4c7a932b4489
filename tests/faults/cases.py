"""A fault, the operation that meets it, and what a user then sees.

Each module beside this one holds the faults of one place (`CASES`); `test_faults` tries them all.
"""

import contextlib
import io
import os
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest

from evenruler.errors import run_program


class Outcome(StrEnum):
    """What may become of an operation that meets a fault; nothing else may."""

    REFUSED = "one line, status 2"
    RESUMED = "the next run finishes"
    UNHARMED = "finishes, as if nothing were wrong"
    REASON = "finishes; the value is null, with a reason"


@dataclass(frozen=True)
class Seen:
    """What an operation left: its status and what it printed."""

    status: int
    errors: str


@dataclass(frozen=True)
class Case:
    """One line of the table.

    Args:
        fault: What is wrong, in a few words.
        operation: What the user does: a command, or a stage.
        outcome: What becomes of it.
        act: Makes the fault in an empty folder, does the operation and gives what was seen. Of
            `RESUMED` it is the run after the fault; what must hold beside the status (same bytes,
            nothing asked twice) it asserts itself.
        says: Words that the line holds; of `REFUSED` alone.
        slow: It takes more than a few seconds.
        long: It kills something or takes longer still, and CI does without it.
    """

    fault: str
    operation: str
    outcome: Outcome
    act: Callable[[Path], Seen]
    says: tuple[str, ...] = ()
    slow: bool = False
    long: bool = False

    def __str__(self) -> str:
        return f"{self.operation}: {self.fault}"


def refusals(operation: str, acts: Mapping[str, tuple[Any, ...]], **marks: bool) -> list[Case]:
    """Lines of the table for what an operation refuses, by fault: `act`, and what is said."""
    return [
        Case(fault, operation, Outcome.REFUSED, act, tuple(says), **marks)
        for fault, (act, *says) in acts.items()
    ]


def write_terabyte(path: Path) -> None:
    """Make a file of a terabyte, which takes no room."""
    with path.open("wb") as file:
        file.truncate(2**40)


def check(case: Case, seen: Seen) -> None:
    """What was seen is what the table says."""
    assert "Traceback" not in seen.errors, seen.errors
    if case.outcome is not Outcome.REFUSED:
        assert seen.status == 0, seen.errors
        return
    assert seen.status == 2, seen.errors
    lines = [line for line in seen.errors.splitlines() if line.startswith("error: ")]
    assert len(lines) == 1, seen.errors
    assert seen.errors.splitlines()[-1] == lines[0], "the line is the last that is printed"
    for words in case.says:
        assert words in lines[0], lines[0]


def doing(call: Callable[[], object]) -> Seen:
    """Do something in this process as a program would: what it raises is printed as a user would
    see it."""
    errors = io.StringIO()
    status = 0
    with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
        try:
            run_program(call)
        except SystemExit as ended:
            code = ended.code
            status = code if isinstance(code, int) else int(code is not None)
        except Exception:
            traceback.print_exc()
            status = 1
    return Seen(status, errors.getvalue())


def evenruler(*words: str, folder: Path, env: Mapping[str, str] | None = None) -> Seen:
    """`evenruler WORDS` in a folder, in this process."""
    from evenruler.cli import main

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(sys, "argv", ["evenruler", *words])
        for name, value in (env or {}).items():
            patch.setenv(name, value)
        return doing(main)


def program(*words: str, folder: Path, env: Mapping[str, str] | None = None) -> Seen:
    """A command in a process of its own, for what is killed, limited or run twice at once."""
    done = subprocess.run(
        words,
        cwd=folder,
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    return Seen(done.returncode, done.stderr)

"""A build that is killed while it writes `dvc.lock`, or while a stage begins; and what the next run
makes of it."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from evenruler.project import dvc
from tests.faults.cases import Case, Outcome, Seen, evenruler, program
from tests.faults.declarations import UNDECLARED, contents, locked, project

ROOT = Path(__file__).parents[2]
DVC = (sys.executable, "-m", "dvc", "repro")
ENV = {"PYTHONPATH": str(ROOT), "DVC_NO_ANALYTICS": "1"}
WHOLE = locked("data/built/framing/hair")
CONFIG = "[core]\n    no_scm = true\n    analytics = false\n"


def _folder_of_dvc(root: Path, stages: str) -> None:
    """A repository of DVC without git."""
    (root / ".dvc").mkdir(parents=True)
    (root / ".dvc/config").write_text(CONFIG)
    (root / "dvc.yaml").write_text(stages)


TWO = (
    "stages: {rows: {foreach: [age, hair], do: {cmd: 'echo ${item} > ${item}', outs: "
    "['${item}']}}}\n"
)


def _built_then_cut(root: Path, until: str, more: int) -> str:
    """What a kill of DVC leaves of the file after a whole build: what is before some text, and a
    few letters more."""
    _folder_of_dvc(root, TWO)
    assert program(*DVC, folder=root, env=ENV).status == 0
    whole = (root / dvc.LOCK).read_text()
    (root / dvc.LOCK).write_text(whole[: whole.rindex(until) + more])
    return whole


def _resumed(until: str, more: int) -> Callable[[Path], Seen]:
    """The real DVC on a cut lock: what is left in it is read, and the rest is built again."""

    def act(root: Path) -> Seen:
        whole = _built_then_cut(root, until, more)
        seen = program(*DVC, folder=root, env=ENV)
        assert (root / dvc.LOCK).read_text() == whole
        return seen

    return act


def _checked(text: str) -> Callable[[Path], Seen]:
    """`check` on what is left of a lock."""

    def act(root: Path) -> Seen:
        project(root)
        shutil.rmtree(root / UNDECLARED)
        (root / dvc.LOCK).write_text(text)
        before = contents(root)
        seen = evenruler("check", folder=root)
        if seen.status:
            assert contents(root) == before, "something was written or removed"
        assert (root / dvc.LOCK).read_text() == text
        return seen

    return act


def _list_of_what_runs(root: Path) -> Seen:
    """What a kill of DVC leaves of its list of what runs, with which it refuses every run."""
    project(root)
    (root / dvc.RUNNING).parent.mkdir(parents=True)
    (root / dvc.RUNNING).write_text("")
    seen = evenruler("check", folder=root)
    assert not (root / dvc.RUNNING).exists()
    return seen


def wait_until(there: Callable[[], bool], process: "subprocess.Popen[bytes]") -> None:
    """Watch as often as can be, since what is waited for may last for milliseconds."""
    deadline = time.monotonic() + 120
    while not there():
        assert process.poll() is None, "it ended first"
        assert time.monotonic() < deadline
        time.sleep(0.0005)


STAGE = """\
import time
from pathlib import Path
from stages.running import run

def main():
    while not Path("enough").exists():
        time.sleep(0.05)
    Path("answers").touch()

run(main)
"""


def _dvc_killed_as_its_stage_begins(tmp: Path) -> Seen:
    """The stage asks nothing afterwards."""
    root = tmp / "repository"
    _folder_of_dvc(root, f"stages: {{ask: {{cmd: '{sys.executable} ask.py', outs: [answers]}}}}\n")
    (root / "ask.py").write_text(STAGE)
    killed = subprocess.Popen(DVC, cwd=root, env=os.environ | ENV)
    above = psutil.Process(killed.pid)
    begun: list[psutil.Process] = []

    def begins() -> bool:
        children = above.children(recursive=True)
        begun[:] = [child for child in children if "ask.py" in " ".join(child.cmdline())]
        return bool(begun)

    wait_until(begins, killed)
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait()
    _, alive = psutil.wait_procs(begun, timeout=120)
    assert not alive, "the stage outlived dvc"
    (root / "enough").touch()
    assert not (root / "answers").exists()
    return program(*DVC, folder=root, env=ENV)


CASES = [
    Case("a kill left half a line of dvc.lock", "dvc repro", Outcome.RESUMED, _resumed("cmd: echo", 6), long=True),
    Case("a kill left dvc.lock without its last output", "check", Outcome.UNHARMED,
         _checked(WHOLE[: WHOLE.index("    outs:")])),
    Case("a kill left DVC's list of what runs empty", "check", Outcome.RESUMED, _list_of_what_runs),
    Case("dvc killed as a stage begins", "dvc repro", Outcome.RESUMED, _dvc_killed_as_its_stage_begins, long=True),
]  # fmt: skip

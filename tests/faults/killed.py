"""A build that is killed while it writes `dvc.lock`, or while a stage begins; and what the next run makes of it."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from evenruler.project import pipeline
from tests.faults.cases import Case, Outcome, Seen, evenruler, program
from tests.faults.declarations import UNDECLARED, locked, project

ROOT = Path(__file__).parents[2]
DVC = (sys.executable, "-m", "dvc", "repro")
ENV = {"PYTHONPATH": str(ROOT), "DVC_NO_ANALYTICS": "1"}
OUTS = ("data/built/framing/hair", "data/report")
WHOLE = locked(*OUTS)
CONFIG = "[core]\n    no_scm = true\n    analytics = false\n"


def _cut(length: int, *, copied: bool = True) -> Callable[[Path], Seen]:
    """What a kill of DVC leaves of the file: its beginning; that of a first build where no copy was kept."""

    def act(root: Path) -> Seen:
        project(root)
        shutil.rmtree(root / UNDECLARED)
        (root / pipeline.LOCK).write_text(WHOLE)
        for out in OUTS:
            (root / out).mkdir(parents=True, exist_ok=True)
        if copied:
            pipeline.keep_lock(root, sure=True)
        (root / pipeline.LOCK).write_text(WHOLE[:length])
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(pipeline, "STILL", 0.0)
            seen = evenruler("check", folder=root)
        assert (root / pipeline.LOCK).read_text() == (WHOLE if copied else "schema: '2.0'\nstages: {}\n")
        return seen

    return act


def _list_of_what_runs(root: Path) -> Seen:
    """What a kill of DVC leaves of its list of what runs, without which it refuses every run."""
    project(root)
    (root / pipeline.RUNNING).parent.mkdir(parents=True)
    (root / pipeline.RUNNING).write_text("")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipeline, "STILL", 0.0)
        seen = evenruler("check", folder=root)
    assert not (root / pipeline.RUNNING).exists()
    return seen


def _start(folder: Path, *words: str, log: Path) -> "subprocess.Popen[bytes]":
    with log.open("wb") as out:
        return subprocess.Popen([*DVC, *words], cwd=folder, env=os.environ | ENV, stdout=out, stderr=out)


def _wait(until: Callable[[], bool], process: "subprocess.Popen[bytes]", log: Path) -> None:
    """Watch as often as can be, since what is waited for may last for milliseconds."""
    deadline = time.monotonic() + 120
    while not until():
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.0005)


def _killed_at_the_lock(tmp: Path) -> Seen:
    """The real DVC, and a file as long as that of this repository; nothing of it is lost."""
    root, many = tmp / "repository", 1200
    root.mkdir()
    outs = [f"data/many/{number}" for number in range(many)]
    items = ", ".join(str(number) for number in range(many))
    stages = f"stages:\n  rows:\n    foreach: [{items}]\n    do:\n      cmd: mkdir -p data/many/${{item}}\n"
    (root / "dvc.yaml").write_text(f"{stages}      outs: ['data/many/${{item}}']\n")
    (root / ".dvc").mkdir()
    (root / ".dvc/config").write_text(CONFIG)
    path = root / pipeline.LOCK
    path.write_text(whole := locked(*outs))
    pipeline.keep_lock(root, sure=True)
    dvc = _start(root, "--single-item", "rows@7", log=tmp / "log")
    _wait(lambda: path.stat().st_size < len(whole), dvc, tmp / "log")
    dvc.kill()
    dvc.wait()
    assert path.stat().st_size < len(whole), "it was over before it could be killed"
    found = pipeline.examine_lock(root)
    assert found is not None
    assert found.wrong
    assert sorted(found.stages) == sorted(pipeline.Lock(whole).stages)
    pipeline.write_lock(root, found)
    return program(*DVC, "--single-item", "rows@7", folder=root, env=ENV)


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
    (root / ".dvc").mkdir(parents=True)
    (root / ".dvc/config").write_text(CONFIG)
    (root / "ask.py").write_text(STAGE)
    (root / "dvc.yaml").write_text(f"stages: {{ask: {{cmd: '{sys.executable} ask.py', outs: [answers]}}}}\n")
    dvc = _start(root, log=tmp / "log")
    above = psutil.Process(dvc.pid)
    begun: list[psutil.Process] = []

    def begins() -> bool:
        begun[:] = [one for one in above.children(recursive=True) if "ask.py" in " ".join(one.cmdline())]
        return bool(begun)

    _wait(begins, dvc, tmp / "log")
    os.kill(dvc.pid, signal.SIGKILL)
    dvc.wait()
    _, alive = psutil.wait_procs(begun, timeout=120)
    assert not alive, "the stage outlived dvc"
    (root / "enough").touch()
    assert not (root / "answers").exists()
    return program(*DVC, folder=root, env=ENV)


CASES = [
    Case("a kill left dvc.lock empty", "check", Outcome.RESUMED, _cut(0)),
    Case("a kill left half a line of dvc.lock", "check", Outcome.RESUMED, _cut(len(WHOLE) // 2 - 3)),
    Case("a kill left dvc.lock as valid YAML without its last stages", "check", Outcome.RESUMED,
         _cut(WHOLE.index("  rows@report"))),
    Case("a kill of the first build left dvc.lock empty", "check", Outcome.RESUMED, _cut(0, copied=False)),
    Case("a kill of the first build left half a line of dvc.lock", "check", Outcome.RESUMED, _cut(90, copied=False)),
    Case("a kill left DVC's list of what runs empty", "check", Outcome.RESUMED, _list_of_what_runs),
    Case("dvc killed while it writes dvc.lock", "dvc repro", Outcome.RESUMED, _killed_at_the_lock, slow=True),
    Case("dvc killed as a stage begins", "dvc repro", Outcome.RESUMED, _dvc_killed_as_its_stage_begins, slow=True),
]  # fmt: skip

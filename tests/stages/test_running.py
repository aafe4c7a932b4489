"""A stage does not outlive the DVC that started it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from evenruler.errors import UserError
from stages import running
from stages.files import read_json

ROOT = Path(__file__).parents[2]
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has such a signal")

SLOW_IMPORT = "import stages, time; open({mark!r}, 'w').close(); time.sleep(600)"
"""A stage that comes no further than its imports: nothing watches yet."""


def start(code: str, env: dict[str, str]) -> "subprocess.Popen[str]":
    """Python as somebody's child."""
    script = f"import subprocess, sys; sys.exit(subprocess.call([sys.executable, '-c', {code!r}]))"
    return subprocess.Popen(
        [sys.executable, "-c", script], cwd=ROOT, env=os.environ | env, text=True
    )


@LINUX
def test_killed_during_its_imports_nothing_is_left(tmp_path: Path) -> None:
    mark = tmp_path / "imported"
    parent = start(SLOW_IMPORT.format(mark=str(mark)), {"DVC_STAGE": "slow"})
    deadline = time.monotonic() + 60
    while not mark.exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    (stage,) = psutil.Process(parent.pid).children()
    parent.kill()
    parent.wait()
    stage.wait(timeout=120)


class First:
    """The process of number 1, as `psutil` describes it."""

    pid = 1

    def name(self) -> str:
        return "init"

    def cmdline(self) -> list[str]:
        return ["/sbin/init"]


def test_handed_on_to_the_first_process_it_asks_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DVC_STAGE", "score@tiny")
    monkeypatch.setattr(psutil.Process, "parents", lambda self: [First()])
    with pytest.raises(
        UserError, match="score@tiny: the dvc that started it is gone; run `dvc repro` again"
    ):
        running.watch_dvc()


@LINUX
def test_dvc_gone_while_a_shell_stands_between(tmp_path: Path) -> None:
    """The shell lives on; the stage that it started ends."""
    mark = tmp_path / "running"
    code = (
        f"from stages.running import run; import time; run(lambda: (open({str(mark)!r}, 'w'), "
        "time.sleep(600)))"
    )
    program = tmp_path / "dvc"
    command = ["sh", "-c", f'"{sys.executable}" -c "$CODE"; exit $?']
    program.write_text(f"import subprocess\nsubprocess.call({command!r})\n")
    env = os.environ | {"CODE": code, "DVC_STAGE": "slow"}
    dvc = subprocess.Popen(
        [sys.executable, str(program)],
        cwd=ROOT,
        env=env,
    )
    deadline = time.monotonic() + 60
    while not mark.exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    below = psutil.Process(dvc.pid).children(recursive=True)
    os.kill(dvc.pid, signal.SIGKILL)
    dvc.wait()
    psutil.wait_procs(below, timeout=120)
    assert not any(
        process.is_running() and process.status() != psutil.STATUS_ZOMBIE for process in below
    )


@pytest.mark.parametrize("content", [b'{"asked": tr', b"\xff\xfe", b""])
def test_a_damaged_file_of_another_stage_is_named(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_bytes(content)
    with pytest.raises(UserError) as caught:
        read_json(path)
    line = str(caught.value)
    assert line.startswith(f"{path}: no readable JSON (")
    assert line.endswith("); get it again; what a stage wrote, `make repro` restores")

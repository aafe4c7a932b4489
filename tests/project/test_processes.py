"""Processes side by side: who goes when, on which GPU, what is passed on, and how they end."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from evenruler.models.engines import Machine
from evenruler.project.processes import Job, Run, ask_all, gpus_of, in_time, side_by_side

ROOT = Path(__file__).parents[2]
A, B, A2 = Job("a", ("probes",)), Job("b", ("probes",)), Job("a", ("saged",))

NOTES = """import json, os, sys, time
from pathlib import Path
began, name = time.monotonic(), sys.argv[1]
Path(name).touch()
print("half\\rwhole")
while name == "probes-a" and not Path("probes-b").exists():
    time.sleep(0.01)
sys.stderr.write("done")
with open(name + ".json", "w") as file:
    json.dump([time.monotonic() - began, os.environ.get("CUDA_VISIBLE_DEVICES")], file)
sys.exit(2 if name == "probes-b" else 0)
"""
"""Of probes of a: until those of b have begun, which it is side by side with."""


def test_a_job_goes_by_the_family_if_it_has_one() -> None:
    assert [A.name, Job("a", ("probes", "saged")).name] == ["probes-a", "a"]


@pytest.mark.parametrize(
    ("count", "visible", "expected"),
    [(2, None, ["0", "1"]), (2, "5, 3", ["5", "3"]), (0, None, []), (0, "", []), (1, "GPU-8f,GPU-9a", ["GPU-8f"])],
)
def test_gpus_have_the_names_that_they_were_given(
    count: int, visible: str | None, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert gpus_of(Machine("cuda", count, 0)) == expected
    assert gpus_of(Machine("cuda", count, 1)) == []  # a cluster shares them out


def test_side_by_side_each_with_a_gpu_and_its_name_before_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    over: dict[Job, bool] = {}

    def command(job: Job) -> list[str]:
        over[job] = (tmp_path / f"{A.name}.json").exists()
        return [sys.executable, "-c", NOTES, job.name]

    began = time.monotonic()
    ended = list(side_by_side([A, A2, B], command, tmp_path / "logs", ["4", "7"], at_once=3))
    took = time.monotonic() - began
    seen = {job: json.loads((tmp_path / f"{job.name}.json").read_text()) for job in (A, A2, B)}
    assert sorted(seen[job][1] for job in (A, B)) == ["4", "7"]
    assert over == {A: False, B: False, A2: True}, "two processes asked one model at once"
    assert {(one.job, one.status, one.said) for one in ended} == {(A, 0, "done"), (A2, 0, "done"), (B, 2, "done")}
    assert all(seen[one.job][0] < one.seconds < took for one in ended)
    said = [f"{job.name}: {line}" for job in (A, A2, B) for line in ("half", "whole", "done")]
    assert sorted(capsys.readouterr().out.splitlines()) == sorted(said)
    assert (tmp_path / "logs/probes-a.log").read_bytes() == b"half\rwhole\ndone"


def test_how_far_it_is_and_who_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EVENRULER_CACHE", str(tmp_path))
    (tmp_path / "stages").mkdir()
    (tmp_path / "stages/__init__.py").touch()
    (tmp_path / "stages/filling.py").write_text(
        "import sys\nif sys.argv[2] == 'b': sys.exit('error: no; do')\nprint(*sys.argv[1:])\n"
    )
    failed = ask_all({A: 10.0, B: 30.0, A2: 4.0}, "ask", Machine("cpu", 0, 0), 1)
    assert [(run.job, run.reason) for run in failed] == [(B, "no; do")]
    took = re.sub(r", \d+\.\d s", ", T", capsys.readouterr().out).splitlines()
    assert took == [
        "probes-a: ask a probes",
        "[1/3] probes-a done, T; about 34.0 s more",
        "probes-b: error: no; do",
        "[2/3] probes-b could not be asked, T; about 4.0 s more",
        "saged-a: ask a saged",
        "[3/3] saged-a done, T",
    ]


def test_the_reason_is_its_error_whatever_it_says_later(tmp_path: Path) -> None:
    program = "import sys\nprint('error: no; do')\nprint('later')\nsys.exit(2)"
    (run,) = side_by_side([A], lambda job: [sys.executable, "-c", program], tmp_path, [], 1)
    assert run.reason == "no; do"
    killed = "its process was ended by SIGKILL, perhaps for lack of memory"
    assert Run(A, status=-9, said="some").reason == killed
    assert Run(A, status=-11, said="some").reason == "its process was ended by SIGSEGV"
    assert Run(A, status=1).reason == "its process ended with status 1"


def test_seconds_in_words() -> None:
    assert [in_time(value) for value in (None, 2.41, 60, 3599, 5400)] == ["?", "2.4 s", "1 min", "60 min", "1.5 h"]


WAITS = """
import sys
from pathlib import Path
from evenruler.project.processes import Job, side_by_side

child = "import os, time; print(os.getpid(), flush=True); time.sleep(100)"
jobs = [Job(model, ("probes",)) for model in "abc"]
try:
    list(side_by_side(jobs, lambda job: [sys.executable, "-c", child], Path("logs"), [], 2))
except KeyboardInterrupt as broken:
    print(*broken.args, flush=True)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_none_outlives_the_one_that_started_it(number: signal.Signals, tmp_path: Path) -> None:
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, "-c", WAITS], cwd=tmp_path, env=env, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        children = [int(process.stdout.readline().split()[1]) for _ in range(2)]
        process.send_signal(number)
        rest = process.stdout.read()
        assert process.wait(timeout=120) == (0 if number != signal.SIGKILL else -signal.SIGKILL)
    assert rest == ("" if number == signal.SIGKILL else f"{number.value}\n")
    deadline = time.monotonic() + 120
    while any(map(is_alive, children)):
        assert time.monotonic() < deadline, "it outlived the command"
        time.sleep(0.01)


def is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False

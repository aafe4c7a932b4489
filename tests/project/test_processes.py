"""Processes side by side: who goes when, on which GPU, what is passed on, and how they end."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from evenruler.machine import Machine
from evenruler.project.asking.planning import Pair
from evenruler.project.processes import Ended, Processes, gpus_of, next_of, reason

ROOT = Path(__file__).parents[2]
A, B, A2 = Pair("probes", "a"), Pair("probes", "b"), Pair("saged", "a")

NOTES = """import json, os, sys, time
began = time.time()
time.sleep(0.3)
print("half\\rwhole")
sys.stderr.write("done")
with open(sys.argv[1] + ".json", "w") as file:
    json.dump([began, time.time(), os.environ.get("CUDA_VISIBLE_DEVICES")], file)
sys.exit(2 if sys.argv[1] == "probes-b" else 0)
"""


def test_a_model_is_asked_by_one_process_at_a_time() -> None:
    assert next_of([A, A2, B], []) == A
    assert next_of([A2, B], ["a"]) == B
    assert next_of([A2], ["a"]) is None
    assert next_of([], []) is None


@pytest.mark.parametrize(
    ("count", "visible", "expected"),
    [(2, None, ["0", "1"]), (2, "5, 3", ["5", "3"]), (0, None, []), (0, "", []), (1, "GPU-8f,GPU-9a", ["GPU-8f"])],
)
def test_gpus_have_the_names_that_they_were_given(count: int, visible: str | None, expected: list[str]) -> None:
    assert gpus_of(Machine("cuda", count, 0), visible) == expected
    assert gpus_of(Machine("cuda", count, 1), visible) == []  # a cluster shares them out


def test_side_by_side_each_with_a_gpu_and_its_name_before_what_it_says(tmp_path: Path) -> None:
    processes = Processes(
        lambda pair: [sys.executable, "-c", NOTES, pair.name], tmp_path, tmp_path / "logs", ["4", "7"], 3
    )
    said: list[str] = []
    ended = list(processes.run([A, A2, B], said.append))
    seen = {pair: json.loads((tmp_path / f"{pair.name}.json").read_text()) for pair in (A, A2, B)}
    assert sorted(seen[pair][2] for pair in (A, B)) == ["4", "7"]
    assert seen[A2][0] >= seen[A][1], "two processes asked one model at once"
    assert {(one.job, one.status, one.said) for one in ended} == {(A, 0, "done"), (A2, 0, "done"), (B, 2, "done")}
    assert sorted(said) == sorted(f"{pair.name}: {line}" for pair in (A, A2, B) for line in ("half", "whole", "done"))
    assert (tmp_path / "logs/probes-a.log").read_bytes() == b"half\rwhole\ndone\n"


def test_the_reason_is_its_error_whatever_it_says_later(tmp_path: Path) -> None:
    program = "import sys\nprint('error: no; do')\nprint('later')\nsys.exit(2)"
    processes = Processes(lambda pair: [sys.executable, "-c", program], tmp_path, tmp_path, [], 1)
    (ended,) = processes.run([A], lambda line: None)
    assert reason(ended) == "no; do"
    killed = "its process was ended by SIGKILL, as where memory is used up"
    assert reason(Ended(A, -9, "some", 1.0)) == killed
    assert reason(Ended(A, -11, "some", 1.0)) == "its process was ended by SIGSEGV"
    assert reason(Ended(A, 1, "", 1.0)) == "its process ended with status 1"


WAITS = """
import sys, time
from pathlib import Path
from evenruler.project.asking.planning import Pair
from evenruler.project.processes import Processes

child = "import os, time; print(os.getpid(), flush=True); time.sleep(100)"
processes = Processes(lambda pair: [sys.executable, "-c", child], Path(), Path("logs"), [], 2)
pairs = [Pair("probes", model) for model in "abc"]
ended = list(processes.run(pairs, lambda line: print(line, flush=True)))
print(ended, processes.broken, flush=True)
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
        assert process.wait(timeout=30) == (0 if number != signal.SIGKILL else -signal.SIGKILL)
    assert rest == ("" if number == signal.SIGKILL else f"[] {number.value}\n")
    deadline = time.monotonic() + 30
    while any(map(is_alive, children)):
        assert time.monotonic() < deadline, "it outlived the command"
        time.sleep(0.01)


def is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False

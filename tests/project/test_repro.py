"""`evenruler repro` with the real DVC and a pipeline of a few lines."""

import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time
from contextlib import suppress
from pathlib import Path

import pytest

from evenruler.project import pipeline
from evenruler.project.repro import first_result

ROOT = Path(__file__).parents[2]

PROGRAM = """
import sys
from pathlib import Path
from evenruler.project import repro
repro.check = lambda root: ["checked: all"]
sys.exit(repro.repro(Path(), sys.argv[1:]))
"""

FIRST = "print('12 answers asked')\nopen('a', 'w').write('1')\n"
SECOND = "import shutil\nshutil.copy('a', 'b')\n"
BARS = "import sys\nfrom tqdm import tqdm\nlist(tqdm(range(3), desc='bar', mininterval=0))\n"
FAILS = "import sys\nprint('error: params.yaml: models: no such; fix it', file=sys.stderr)\nsys.exit(2)\n"
WAITS = """import time
from evenruler.errors import as_program

def wait():
    open("started", "w").close()
    time.sleep(600)

as_program(wait)
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Two stages, one after the other."""
    (tmp_path / ".dvc").mkdir()
    (tmp_path / ".dvc/config").write_text("[core]\n    no_scm = true\n    analytics = false\n")
    stages = {
        "first": {"cmd": "python first.py", "deps": ["first.py"], "outs": ["a"]},
        "second": {"cmd": "python second.py", "deps": ["a", "second.py"], "outs": ["b"]},
    }
    (tmp_path / "dvc.yaml").write_text(json.dumps({"stages": stages}))
    (tmp_path / "params.yaml").write_text("{}\n")
    (tmp_path / "first.py").write_text(FIRST)
    (tmp_path / "second.py").write_text(SECOND)
    return tmp_path


def command(*words: str) -> list[str]:
    return [sys.executable, "-c", PROGRAM, *words]


ENV = {key: value for key, value in os.environ.items() if key != "DVC_STAGE"} | {"PYTHONPATH": str(ROOT)}


def run(root: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command(*words), cwd=root, env=ENV, capture_output=True, text=True, check=False)


def timeless(text: str) -> list[str]:
    return re.sub(r"\d+\.\d s", "T s", text).splitlines()


def test_a_line_for_every_stage_and_a_summary_then_nothing_to_do(root: Path) -> None:
    (root / "data/report").mkdir(parents=True)
    (root / "data/report/index.html").touch()
    done = run(root)
    assert (done.returncode, done.stderr) == (0, "")
    lines = timeless(done.stdout)
    assert lines[:6] == [
        "checked: all",
        "[1/2] first ...",
        "12 answers asked",
        "[1/2] first T s",
        "[2/2] second ...",
        "[2/2] second T s",
    ]
    assert lines[6] == "built 2 stages in T s"
    assert lines[7] in ("longest: first T s, second T s", "longest: second T s, first T s")
    assert lines[8:] == ["report: data/report/index.html"]
    kept = json.loads((root / ".cache/repro.json").read_text())
    assert list(kept["stages"]) == kept["run"]["built"] == ["first", "second"]
    assert (root / pipeline.KEPT).read_text() == (root / "dvc.lock").read_text()

    again = run(root)
    assert timeless(again.stdout) == [
        "checked: all",
        "built nothing in T s, 2 unchanged",
        "report: data/report/index.html",
    ]
    kept_again = json.loads((root / ".cache/repro.json").read_text())
    assert kept_again["stages"] == kept["stages"]
    assert (kept_again["run"]["built"], kept_again["run"]["unchanged"]) == ([], 2)


@pytest.mark.slow
def test_further_words_are_dvc_s(root: Path) -> None:
    done = run(root, "--force", "first")
    assert [line for line in timeless(done.stdout) if line.startswith("[")] == [
        "[1] first ...",
        "12 answers asked",
        "[1] first T s",
    ][::2]
    assert not (root / "b").exists()


def test_a_mistake_is_the_last_line_and_the_status_is_dvc_s(root: Path) -> None:
    (root / "second.py").write_text(FAILS)
    done = run(root)
    assert done.returncode == 255
    assert done.stderr == "error: params.yaml: models: no such; fix it\n"
    assert timeless(done.stdout)[-1] == "[2/2] second failed after T s"
    assert "first" in (root / pipeline.KEPT).read_text(), "what is done is kept"


@pytest.mark.slow
def test_a_traceback_stays_and_is_pointed_at(root: Path) -> None:
    (root / "second.py").write_text("1 / 0\n")
    done = run(root)
    assert "ZeroDivisionError" in done.stderr
    assert done.stderr.splitlines()[-1] == "error: second failed; see its output above"


def test_what_dvc_refuses_is_one_line(root: Path) -> None:
    done = run(root, "third")
    assert (done.returncode, done.stderr.count("\n")) == (255, 1)
    assert done.stderr.startswith("error: dvc: ")
    assert "third" in done.stderr


@pytest.mark.slow
def test_no_bars_in_a_log(root: Path) -> None:
    (root / "second.py").write_text(BARS + SECOND)
    assert run(root).stderr == ""


@pytest.mark.slow
def test_bars_on_a_terminal(root: Path) -> None:
    (root / "second.py").write_text(BARS + SECOND)
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    drawn: list[bytes] = []
    process = subprocess.Popen(command(), cwd=root, env=ENV, stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    with suppress(OSError):  # Linux says so where the other side is closed
        while chunk := os.read(ours, 65536):
            drawn.append(chunk)
    os.close(ours)
    assert process.wait() == 0
    assert b"bar: 100%" in b"".join(drawn), drawn


@pytest.mark.slow
def test_ctrl_c_is_130_without_a_traceback(root: Path) -> None:
    (root / "second.py").write_text(WAITS + SECOND)
    process = subprocess.Popen(
        command(), cwd=root, env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    deadline = time.monotonic() + 120
    while not (root / "started").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert err == "interrupted; answers are kept: `make repro` resumes there\n"
    assert timeless(out)[-1] == "[2/2] second interrupted after T s"


def test_what_came_from_dvc_s_cache_of_runs_is_a_stage_too(root: Path) -> None:
    run(root)
    (root / "first.py").write_text(FIRST.replace("'1'", "'2'"))
    run(root)
    (root / "first.py").write_text(FIRST)
    assert timeless(run(root).stdout)[1:-1] == [
        "[1/2] first ...",
        "[1/2] first T s",
        "[2/2] second ...",
        "[2/2] second T s",
        "built 2 stages in T s",
    ]


def test_the_first_result(tmp_path: Path) -> None:
    assert first_result(tmp_path.glob("benchmarks/*/evidence.json")) is None
    path = tmp_path / "benchmarks/probes-jobs/evidence.json"
    path.parent.mkdir(parents=True)
    figure = {"value": 0.8, "low": 0.7, "high": 0.9, "n": 43, "unit": "attributes"}
    figure |= {"placebo": 0.4, "levels": "43 attributes"}
    judged = figure | {"verdict": "effect"}
    nothing = {"value": None, "n": 43, "unit": "attributes", "reason": "constant", "verdict": "inconclusive"}
    path.write_text(json.dumps({"seed": {"b": {"r": judged}}, "validation": {"a": {"r": nothing}}}))
    assert (first_result(tmp_path.glob("benchmarks/*/evidence.json")) or "").startswith(
        "probes-jobs (seed), b: effect, r 0.80 [0.70, 0.90], placebo 0.40."
    )
    of_seed = {"b": {"r": judged | {"value": 0.1}}}
    path.write_text(json.dumps({"seed": of_seed, "validation": {"a": {"r": judged, "spread": figure}}}))
    assert first_result(tmp_path.glob("benchmarks/*/evidence.json")) == (
        "probes-jobs (validation), a: effect, r 0.80 [0.70, 0.90], placebo 0.40."
    )
    # What nothing may be said of is no result, nor is what stands beside others.
    compared = {"compared": {"seed": {"r": judged}}}
    path.write_text(json.dumps({"validation": {"a": {"r": figure, "alpha": {"value": 0.9}, **compared}}}))
    assert first_result(tmp_path.glob("benchmarks/*/evidence.json")) is None

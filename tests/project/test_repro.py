"""`evenruler repro` with the real DVC and a pipeline of a few lines."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from evenruler.project import repro
from evenruler.project.repro import batch_stages, name_gpus

ROOT = Path(__file__).parents[2]

PROGRAM = """
import sys
from pathlib import Path
from evenruler.project import dvc, repro
repro.check = lambda root: ["checked: all"]
repro.TOGETHER = [(kinds, 1) for kinds, _ in repro.TOGETHER]
dvc.STAGGER = 0.2
sys.exit(repro.repro(Path(), sys.argv[1:]))
"""

DECLARED = "import shutil\nshutil.copy('params.yaml', 'declared')\n"
TOGETHER = """\
import sys, time
from pathlib import Path

group, name = sys.argv[1:]
Path(f"begun-{group}-{name}").touch()
deadline = time.monotonic() + 60
while len(list(Path().glob(f"begun-{group}-*"))) < 2:
    assert time.monotonic() < deadline, "it runs alone"
    time.sleep(0.02)
Path(f"{group}-{name}").write_text(name)
"""
"""Waits until the other one of its group has begun, too."""
REPORT = "import shutil\nprint('reported')\nshutil.copy('ask-x', 'report')\n"
FAILS = (
    "import sys\nprint('error: params.yaml: models: no such; fix it', "
    "file=sys.stderr)\nsys.exit(2)\n"
)
WAITS = """\
import time
from pathlib import Path
from evenruler.errors import run_program

def wait():
    Path("started").touch()
    time.sleep(600)

run_program(wait)
"""

PIPELINE = """\
stages:
  declared: {cmd: python declared.py, deps: [params.yaml, declared.py], outs: [declared]}
  rows:
    foreach: [a, b]
    do:
      cmd: python together.py rows ${item}
      deps: [declared, together.py]
      outs: ["rows-${item}"]
  ask:
    foreach: [x, y]
    do:
      cmd: python together.py ask ${item}
      deps: [rows-a, rows-b, together.py]
      outs: ["ask-${item}"]
  report: {cmd: python report.py, deps: [ask-x, ask-y, report.py], outs: [report]}
"""

TWO_CORES = pytest.mark.skipif(
    (os.cpu_count() or 1) < 2, reason="on one core stages run one after the other"
)
ENV = {key: setting for key, setting in os.environ.items() if key != "DVC_STAGE"} | {
    "PYTHONPATH": str(ROOT)
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A declaration, two stages that make rows, two that ask, and a report."""
    (tmp_path / ".dvc").mkdir()
    (tmp_path / ".dvc/config").write_text("[core]\n    no_scm = true\n    analytics = false\n")
    (tmp_path / "dvc.yaml").write_text(PIPELINE)
    (tmp_path / "params.yaml").write_text("{}\n")
    for name, code in (("declared", DECLARED), ("together", TOGETHER), ("report", REPORT)):
        (tmp_path / f"{name}.py").write_text(code)
    return tmp_path


def start(root: Path, *words: str) -> "subprocess.Popen[str]":
    """The command, left running in a session of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *words],
        cwd=root,
        env=ENV,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(
            signal.SIGINT, signal.SIG_DFL
        ),  # a shell's background ignores it
    )


def run(root: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    process = start(root, *words)
    out, err = process.communicate(timeout=300)
    return subprocess.CompletedProcess(words, process.returncode, out, err)


@pytest.mark.slow
@TWO_CORES
def test_all_is_built_rows_and_models_at_once_then_what_is_out_of_date(root: Path) -> None:
    done = run(root)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[0] == "checked: all"
    assert (root / "report").read_text() == "x"
    again = run(root)
    assert again.returncode == 0
    assert again.stdout.splitlines()[-2] == "Data and pipelines are up to date."
    assert "Running stage" not in again.stdout
    (root / "report.py").write_text(REPORT.replace("ask-x", "ask-y"))
    began = [line for line in run(root).stdout.splitlines() if line.startswith("Running stage")]
    assert began == ["Running stage 'report':"]
    assert (root / "report").read_text() == "y"


def test_the_status_is_dvc_s_and_the_error_of_a_stage_is_shown(root: Path) -> None:
    (root / "declared.py").write_text(FAILS)
    done = run(root)
    assert done.returncode == 255
    assert "error: params.yaml: models: no such; fix it\n" in done.stderr
    assert "ERROR: failed to reproduce 'declared'" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
@TWO_CORES
def test_where_one_of_several_fails_the_others_are_kept(root: Path) -> None:
    (root / "together.py").write_text(f"{TOGETHER}sys.exit(name == 'y')\n")
    done = run(root)
    assert done.returncode == 255
    locked = (root / "dvc.lock").read_text()
    assert "  ask@x:\n" in locked
    assert "  ask@y:\n" not in locked
    hint = (
        "to build without ask@y: write `left_out: {ask@y: REASON}` into params.yaml, then `make "
        "repro`"
    )
    assert done.stdout.splitlines()[-1] == hint


def test_stages_of_one_name_go_to_one_process_in_order() -> None:
    stages = ["declared", "scrape@b", "evolve@c", "rows@a", "rows@b", "rows@c", "rows@d", "ask@a"]
    kinds = ("scrape", "evolve", "rows")
    batches = [["scrape@b", "rows@b", "evolve@c", "rows@c"], ["rows@a", "rows@d"]]
    assert batch_stages(stages, kinds, 2) == batches


def test_of_a_batch_that_failed_the_first_stage_left_is_the_one_that_failed() -> None:
    batches = [["ask@a", "ask@b", "ask@c"], ["rows@d"]]
    assert repro._stages_that_failed(batches, ["ask@b", "ask@c", "report"]) == ["ask@b"]


def test_stages_that_ask_one_model_go_to_one_process() -> None:
    stages = ["ask@probes-a-b", "ask@probes-c", "ask@external-a-b"]
    batches = [["ask@probes-a-b", "ask@external-a-b"], ["ask@probes-c"]]
    assert batch_stages(stages, ("ask",), 1) == batches


@pytest.mark.parametrize(
    ("cores", "n_batches", "threads"),
    [
        (1, 9, ["1"]),
        (2, 9, ["1", "1"]),
        (3, 9, ["2", "2"]),
        (16, 9, ["8", "8"]),
    ],
)
def test_two_batches_share_the_processor(
    cores: int, n_batches: int, threads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    environments = repro._batch_environments(n_batches, asking=False)
    assert environments == [{"OMP_NUM_THREADS": number} for number in threads]


def test_where_nothing_is_out_of_date_dvc_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[tuple[str, ...]] = []

    def run_dvc(root: Path, *words: str) -> int:
        commands.append(words)
        return 0

    def outdated_stages(root: Path) -> list[str]:
        commands.append(("status",))
        return []

    monkeypatch.setattr(repro, "check", lambda root: [])
    monkeypatch.setattr(repro, "run_dvc", run_dvc)
    monkeypatch.setattr(repro, "outdated_stages", outdated_stages)
    handler = signal.getsignal(signal.SIGTERM)
    try:
        assert repro.repro(ROOT, []) == 0
    finally:
        signal.signal(signal.SIGTERM, handler)
    assert commands == [("repro", "--quiet", "declared"), ("status",), ("repro",)]


@pytest.mark.parametrize(("active", "typed"), [(True, ""), (False, "source .venv/bin/activate; ")])
def test_what_to_type_after_a_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, active: bool, typed: str
) -> None:
    """`make` has the commands on its PATH, and the shell that called it has not."""
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    if active:
        monkeypatch.setenv("VIRTUAL_ENV", "/somewhere")
    command = f"next:  {typed}evenruler measure --demo"
    assert list(repro.describe_next_steps(tmp_path)) == [command]
    page = tmp_path / "data/report/index.html"
    page.parent.mkdir(parents=True)
    page.touch()
    assert list(repro.describe_next_steps(tmp_path)) == [f"built: open {page}", command]


def test_make_runs_the_command() -> None:
    """What has to be set up first is left out."""
    recipe = subprocess.run(
        ["make", "--no-print-directory", "--dry-run", "--assume-old=.venv/ready", "repro"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert recipe.stdout.splitlines() == ["evenruler repro"]


@pytest.mark.parametrize(
    ("count", "visible", "expected"),
    [
        (2, None, ["0", "1"]),
        (1, "GPU-8f,GPU-9a", ["GPU-8f"]),
        (2, "", ["0", "1"]),
    ],
)
def test_gpus_have_the_names_by_which_this_process_sees_them(
    count: int, visible: str | None, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert name_gpus(count) == expected


def test_further_words_are_all_that_dvc_is_told(root: Path) -> None:
    done = run(root, "--force", "declared")
    assert done.returncode == 0
    assert done.stdout.splitlines()[:2] == ["checked: all", "Running stage 'declared':"]
    assert sorted(path.name for path in root.glob("rows-*")) == []


@pytest.mark.slow
def test_a_signal_ends_dvc_and_its_stage(root: Path) -> None:
    """Sent to the command alone, as `kill` does."""
    (root / "declared.py").write_text(WAITS)
    check_interrupt(root, signal.SIGINT, "declared.py")


@pytest.mark.slow
@TWO_CORES
def test_a_signal_ends_all_stages_that_run_at_once(root: Path) -> None:
    both = """Path(f"ready-{name}").touch()
    while len(list(Path().glob("ready-*"))) < 2:
        time.sleep(0.02)
    Path("started").touch()"""
    (root / "together.py").write_text(TOGETHER + WAITS.replace('Path("started").touch()', both))
    check_interrupt(root, signal.SIGTERM, "together.py")


def check_interrupt(root: Path, sent: signal.Signals, script: str) -> None:
    """Send a signal once a stage runs: the status is 130, and no process is left."""
    process = start(root)
    deadline = time.monotonic() + 120
    while not (root / "started").exists():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    below = psutil.Process(process.pid).children(recursive=True)
    assert any(script in process_below.cmdline() for process_below in below)
    process.send_signal(sent)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert err.splitlines()[-1] == "interrupted; answers are kept: `make repro` resumes there"
    assert "Traceback" not in err, err
    _, alive = psutil.wait_procs(below, timeout=10)
    assert not alive

"""Runs DVC as a user does: in a process of its own, which writes to the same terminal."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from evenruler.declaration.params_file import Active
from evenruler.errors import UserError
from evenruler.strict import read_yaml
from evenruler.terminal import die_with_parent

LOCK = "dvc.lock"

RUNNING = Path(".dvc/tmp/rwlock")
"""DVC's list of running stages, as JSON."""

SECTION = re.compile(r"\$\{active\.(\w+)\}")
"""What `foreach` of a stage goes through in dvc.yaml."""

POLL = 0.05
"""Seconds between looks at running stages."""


def environment() -> dict[str, str]:
    """The environment with this Python first in PATH, unbuffered output, and no progress bars outside a terminal."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    quiet = {} if sys.stderr.isatty() else {"TQDM_DISABLE": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
    return quiet | os.environ | {"PATH": path, "PYTHONUNBUFFERED": "1"}


def start_dvc(root: Path, *words: str, slot: Mapping[str, str] | None = None) -> "subprocess.Popen[bytes]":
    """Start a command of DVC in a session of its own, which ends with this process; `slot`: further environment."""
    return subprocess.Popen(
        [sys.executable, "-m", "dvc", *words],
        cwd=root,
        env={**environment(), **(slot or {})},
        start_new_session=True,
        preexec_fn=die_with_parent,
    )


def run_dvc(root: Path, *words: str) -> int:
    """Run a command of DVC and return its exit status; an interrupt reaches DVC and its stages."""
    process = start_dvc(root, *words)
    try:
        return process.wait()
    except KeyboardInterrupt:
        _interrupt([process])
        raise


def run_stages(root: Path, stages: Iterable[str], slots: Sequence[Mapping[str, str]]) -> set[str]:
    """Run stages whose dependencies are built, one a slot at once; returns those that failed.

    A slot is an environment, such as the one GPU that a stage is to see.
    """
    waiting, free, failed = list(stages), list(slots), set[str]()
    running: list[tuple[str, Mapping[str, str], subprocess.Popen[bytes]]] = []
    try:
        while waiting or running:
            while waiting and free:
                stage, slot = waiting.pop(0), free.pop(0)
                process = start_dvc(root, "repro", "--quiet", "--single-item", stage, slot=slot)
                running.append((stage, slot, process))
            time.sleep(POLL)
            ended = [entry for entry in running if entry[2].poll() is not None]
            running = [entry for entry in running if entry not in ended]
            free += [slot for _, slot, _ in ended]
            failed |= {stage for stage, _, process in ended if process.returncode}
    except KeyboardInterrupt:
        _interrupt(process for _, _, process in running)
        raise
    return failed


def _interrupt(processes: Iterable["subprocess.Popen[bytes]"]) -> None:
    """Send Ctrl-C to commands of DVC and their stages, and wait until they have ended."""
    running = [process for process in processes if process.poll() is None]
    for process in running:
        os.killpg(process.pid, signal.SIGINT)
    for process in running:
        process.wait()


def outdated_stages(root: Path, stages: Iterable[str] = (), *, with_deps: bool = False) -> set[str]:
    """Stages that are out of date, by default of all; `with_deps`: also those that they depend on."""
    words = [*(["--with-deps"] if with_deps else []), *stages]
    status = subprocess.run(
        [sys.executable, "-m", "dvc", "status", "--json", *words],
        cwd=root,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    if status.returncode:
        reason = " ".join(status.stderr.split()) or "no reason given"
        remedy = "fix it, or `git checkout dvc.lock`"
        raise UserError(f"`dvc status` failed ({reason})", where="dvc.yaml", remedy=remedy)
    return set(json.loads(status.stdout))


def read_lock(root: Path) -> dict[str, list[dict[str, str]]]:
    """The outputs of each stage in `dvc.lock`, none where there is no file; UserError if DVC could not read it.

    A file that was cut off when DVC was killed may still be read; outputs without a path or hash are left out.
    """
    path = root / LOCK
    if not path.is_file():
        return {}
    try:
        stages = YAML(typ="safe").load(path.read_text(encoding="utf-8"))["stages"] or {}
        outputs = {stage: entry.get("outs", []) if entry else [] for stage, entry in stages.items()}
    except (YAMLError, UnicodeDecodeError, TypeError, KeyError, AttributeError):
        raise UserError("DVC cannot read it", where=LOCK, remedy=f"`git checkout {LOCK}`") from None
    return {stage: [out for out in outs or [] if {"path", "md5"} <= out.keys()] for stage, outs in outputs.items()}


def repair_running_list(root: Path) -> list[str]:
    """Remove DVC's list of running stages where a kill left it cut, since DVC would refuse to run; returns messages."""
    path = root / RUNNING
    if not path.exists():
        return []
    try:
        json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        path.unlink(missing_ok=True)
        return [f"removed {RUNNING}, cut off when DVC was killed"]
    return []


def forget_stages(root: Path, active: Active) -> list[str]:
    """Remove entries from `dvc.lock` whose instrument or model is no longer in use; returns their names."""
    pipeline, in_use = read_yaml(root / "dvc.yaml")["stages"], active.model_dump()
    gone = []
    for stage in read_lock(root):
        group, _, key = stage.partition("@")
        section = SECTION.fullmatch(str(pipeline.get(group, {}).get("foreach", "")))
        if group not in pipeline or (section and key not in in_use[section[1]]):
            gone.append(stage)
    if gone:
        from dvc.utils.serialize import modify_yaml  # slow import

        with modify_yaml(root / LOCK) as lock:
            for stage in gone:
                del lock["stages"][stage]
    return gone

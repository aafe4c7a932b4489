"""Runs DVC as a user does: in a process of its own, which writes to the same terminal."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from evenruler.declaration.params_file import Active
from evenruler.errors import UserError
from evenruler.strict import read_text, read_yaml
from evenruler.terminal import die_with_parent

LOCK = "dvc.lock"

RUNNING = Path(".dvc/tmp/rwlock")
"""DVC's list of running stages, as JSON."""

SECTION = re.compile(r"\$\{active\.(\w+)\}")
"""What `foreach` of a stage goes through in dvc.yaml."""

HASH = re.compile(r"[0-9a-f]{32}(\.dir)?")

STAGGER = 2.0
"""Seconds between starts: DVC holds its lock while it begins, and another one gives up after three
seconds."""

POLL = 0.05
"""Seconds between looks at running stages."""


def subprocess_environment() -> dict[str, str]:
    """A copy of this process's environment with this Python first in PATH, unbuffered output, and
    no progress bars where standard error is no terminal.
    """
    environment: dict[str, str] = {}
    if not sys.stderr.isatty():
        environment |= {"TQDM_DISABLE": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
    environment |= os.environ
    usual_path = os.environ.get("PATH", "")
    path = f"{Path(sys.executable).parent}{os.pathsep}{usual_path}"
    return environment | {"PATH": path, "PYTHONUNBUFFERED": "1"}


def start_dvc(
    root: Path, *words: str, slot: Mapping[str, str] | None = None
) -> "subprocess.Popen[bytes]":
    """Start a command of DVC in a session of its own, which ends with this process; `slot`: further
    environment.
    """
    return subprocess.Popen(
        [sys.executable, "-m", "dvc", *words],
        cwd=root,
        env={**subprocess_environment(), **(slot or {})},
        start_new_session=True,
        preexec_fn=_prepare_process,
    )


def _prepare_process() -> None:
    """End with the parent, and take Ctrl-C from it also where that was started in the background,
    which ignores it.
    """
    die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def run_dvc(root: Path, *words: str) -> int:
    """Run a command of DVC and return its exit status; an interrupt reaches DVC and its stages."""
    process = start_dvc(root, *words)
    try:
        return process.wait()
    except KeyboardInterrupt:
        _interrupt([process])
        raise


_RunningBatch = tuple[Sequence[str], Mapping[str, str], "subprocess.Popen[bytes]"]
"""Stages, the environment that they run in, and their process."""


def run_stages(
    root: Path, batches: Iterable[Sequence[str]], slots: Sequence[Mapping[str, str]]
) -> list[Sequence[str]]:
    """Run stages whose dependencies are built, a batch a slot at once; returns the batches that
    failed.

    A slot is an environment, such as the one GPU that a batch is to see. DVC runs the stages of a
    batch one after the other, up to the first that fails.
    """
    waiting, free = list(batches), list(slots)
    failed: list[Sequence[str]] = []
    running: list[_RunningBatch] = []
    last_start = -STAGGER
    try:
        while waiting or running:
            if waiting and free and time.monotonic() - last_start >= STAGGER:
                batch, slot = waiting.pop(0), free.pop(0)
                process = start_dvc(root, "repro", "--quiet", "--single-item", *batch, slot=slot)
                running.append((batch, slot, process))
                last_start = time.monotonic()
            time.sleep(POLL)
            ended = [entry for entry in running if entry[2].poll() is not None]
            running = [entry for entry in running if entry not in ended]
            free += [slot for _, slot, _ in ended]
            for batch, _, process in ended:
                if process.returncode:
                    failed.append(batch)
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


def outdated_stages(root: Path) -> list[str]:
    """Stages of the pipeline in a folder that are out of date, in the order of `dvc.yaml`."""
    status = subprocess.run(
        [sys.executable, "-m", "dvc", "status", "--json", "dvc.yaml"],
        cwd=root,
        env=subprocess_environment(),
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if status.returncode:
        reason = " ".join(status.stderr.split()) or "no reason given"
        remedy = "fix it, or `git checkout dvc.lock`"
        raise UserError(f"`dvc status` failed ({reason})", where="dvc.yaml", remedy=remedy)
    return list(json.loads(status.stdout))


def read_pipeline(root: Path) -> dict[str, dict[str, Any]]:
    """The stages of `dvc.yaml`; UserError if it is no mapping of stages."""
    content = read_yaml(root / "dvc.yaml")
    stages = content.get("stages") if isinstance(content, dict) else None
    if not isinstance(stages, dict) or not all(
        isinstance(stage, dict) for stage in stages.values()
    ):
        remedy = "fix it, or `git checkout dvc.yaml`"
        raise UserError("not a mapping of stages", where="dvc.yaml: stages", remedy=remedy)
    return stages


def read_lock(root: Path) -> dict[str, list[dict[str, str]]]:
    """The outputs of each stage in `dvc.lock`, none where there is no file; UserError if it is not
    YAML of stages.

    DVC goes on with a file that was cut off when it was killed, as far as it can be read. Outputs
    that are not whole are left out here.
    """
    path = root / LOCK
    if not path.exists():
        return {}
    try:
        return _parse_lock(read_text(path))
    except (YAMLError, TypeError, KeyError, AttributeError):
        raise UserError("DVC cannot read it", where=LOCK, remedy=f"`git checkout {LOCK}`") from None


@cache
def _parse_lock(text: str) -> dict[str, list[dict[str, str]]]:
    """The outputs of each stage; `check` asks for them at several places, and parsing takes a
    second.
    """
    stages = YAML(typ="safe").load(text)["stages"]
    return {str(stage): _whole_outputs(entry) for stage, entry in stages.items()}


def _whole_outputs(entry: object) -> list[dict[str, str]]:
    """The outputs of an entry of `dvc.lock` that have a path and a whole hash."""
    outputs = entry.get("outs") if isinstance(entry, dict) else None
    if not isinstance(outputs, list):
        return []
    whole = [
        output
        for output in outputs
        if isinstance(output, dict) and {"path", "md5", "size"} <= output.keys()
    ]
    return [output for output in whole if HASH.fullmatch(str(output["md5"]))]


def repair_running_list(root: Path) -> list[str]:
    """Remove DVC's list of running stages where a kill left it cut, since DVC would refuse to run;
    returns messages.
    """
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
    """Remove entries from `dvc.lock` whose instrument or model is no longer in use; returns their
    names.
    """
    pipeline, in_use = read_pipeline(root), active.model_dump()
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

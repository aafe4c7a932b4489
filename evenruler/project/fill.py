"""Fill the store with answers before DVC asks for them: as many models side by side as the machine has cores or GPUs.

DVC runs one stage after another, and one process of two threads needs 1.28 times as long as two processes of one
(docs/scale.md). So the models of all stages that are out of date are asked first, one process a model for all its
families; the stages then find what they ask in the store. Tools are left to the stages: what a tool says to a text that
two models share would else hang, in its last bits, on who came first.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import psutil

from evenruler.declared import Active
from evenruler.errors import UserError
from evenruler.machine import machine
from evenruler.models.engines.choice import RAY, chosen
from evenruler.models.store import cache_root
from evenruler.project.processes import Processes, gpus_of

LOGS = "ask"
"""Below the folder of the answers: what each process said."""

MAKES_ROWS = ("scrape", "evolve", "rows")
"""Stages that what is asked hangs on."""


@dataclass(frozen=True)
class Job:
    """A model, and the families that ask it."""

    model: str
    families: tuple[str, ...]

    @property
    def name(self) -> str:
        """The model's."""
        return self.model


def outdated(root: Path, names: Iterable[str] = ()) -> set[str]:
    """The stages that `dvc repro` would run first; those that hang on them are not in it.

    Args:
        root: The repository.
        names: Look at these; at all by default.

    Raises:
        UserError: DVC refuses what it finds.
    """
    command = [sys.executable, "-m", "dvc", "status", "--json", *names]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    try:
        return set(json.loads(done.stdout))
    except ValueError:
        said = " ".join(done.stderr.replace("ERROR:", "").split("\n\n")[0].split())
        where = next((name for name in ("dvc.lock", "params.yaml", "dvc.yaml") if name in said), "dvc.yaml")
        raise UserError(f"DVC cannot tell what is out of date ({said})", where=where, remedy="mend it") from None


def jobs_of(active: Active, stages: Iterable[str]) -> list[Job]:
    """What is asked by some stages, a job a model, in the order of the declaration."""
    families: dict[str, list[str]] = {}
    wanted = set(stages)
    for name, entry in active.ask.items():
        if f"ask@{name}" in wanted:
            families.setdefault(entry.model, []).append(entry.family)
    return [Job(model, tuple(own)) for model, own in families.items()]


def fill(root: Path, jobs: list[Job]) -> int:
    """Ask all that the store lacks; the number of the signal that broke it off, else 0.

    Who could not be asked is no matter here: the stage says why.
    """
    on = machine()
    together = on.gpus or len(psutil.Process().cpu_affinity() if hasattr(psutil.Process, "cpu_affinity") else [0])
    if chosen()[0] == RAY or len(jobs) < 2 or together < 2:
        return 0
    at_once = min(together, len(jobs))
    processes = Processes[Job](
        lambda job: [sys.executable, "-m", "stages.filling", "ask-model", job.model, *job.families],
        root,
        cache_root() / LOGS,
        gpus_of(on, os.environ.get("CUDA_VISIBLE_DEVICES")),
        at_once,
        threads=None if on.gpus else max(1, together // at_once),
    )
    print(f"asking {len(jobs)} models, {at_once} at once; the stages find their answers in the store", flush=True)
    for done, ended in enumerate(processes.run(jobs, lambda line: print(f"    {line}", flush=True)), 1):
        how = "left to its stages" if ended.status else "asked"
        print(f"[{done}/{len(jobs)}] {ended.job.name} {how}, {ended.seconds:.1f} s", flush=True)
    return processes.broken

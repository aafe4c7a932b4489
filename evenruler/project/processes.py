"""Runs several processes at once, each asking one model, and prefixes their output with their names."""

import os
import re
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

import psutil

from evenruler.models.engines import Machine
from evenruler.models.store import cache_root
from evenruler.terminal import die_with_parent, say

PATIENCE = 15.0
"""Seconds that an interrupted process has to end before it is killed."""

LOGS = "ask"
"""Folder in the answer store with the output of each process."""


@dataclass(frozen=True)
class Job:
    """A model, and the families whose instruments one process asks it."""

    model: str
    families: tuple[str, ...]

    @property
    def name(self) -> str:
        """Prefix of the output; with one family, the name under `active.ask`."""
        return f"{self.families[0]}-{self.model}" if len(self.families) == 1 else self.model


@dataclass
class Run:
    """One process and its outcome."""

    job: Job
    slot: int = 0
    status: int = 0
    said: str = ""
    """Its last line; if it failed, its error."""
    seconds: float = field(default_factory=time.monotonic)
    """Its duration; while it runs, its start time."""
    rest: bytes = b""
    """An unfinished line of output."""

    def take(self, chunk: bytes) -> Iterator[str]:
        """Record output; yields completed lines."""
        *lines, self.rest = re.split(rb"[\r\n]+", self.rest + chunk)  # progress bars use carriage returns
        for line in filter(None, (line.decode(errors="replace").strip() for line in lines)):
            if not self.said.startswith("error: "):
                self.said = line
            yield line

    @property
    def reason(self) -> str:
        """Why it failed, in one line."""
        if self.status < 0 and not self.said.startswith("error: "):
            why = ", perhaps for lack of memory" if self.status == -signal.SIGKILL else ""
            return f"its process was ended by {signal.Signals(-self.status).name}{why}"
        return self.said.removeprefix("error: ") or f"its process ended with status {self.status}"


def ask_all(
    jobs: Mapping[Job, float | None],
    what: str,
    on: Machine,
    at_once: int,
    *,
    threads: int | None = None,
    failing: str = "could not be asked",
) -> list[Run]:
    """Ask models in parallel with progress messages; returns failed runs.

    `jobs`: in order of start, with estimated seconds if known. `what`: a command of `stages.filling`: `ask`, or
    `ask-model`, which skips tools. `threads`: per process (None: torch's default); `failing`: message for failed jobs.
    KeyboardInterrupt as in `passing_on`.
    """
    words, left, failed = [sys.executable, "-m", "stages.filling", what], dict(jobs), []
    for run in side_by_side(
        list(jobs), lambda job: [*words, job.model, *job.families], cache_root() / LOGS, gpus_of(on), at_once, threads
    ):
        del left[run.job]
        known = [took for took in left.values() if took is not None]
        more = f"; about {in_time(sum(known) / max(at_once, on.together))} more" if known else ""
        how = failing if run.status else "done"
        more = more if len(known) == len(left) else ""
        say(f"[{len(jobs) - len(left)}/{len(jobs)}] {run.job.name} {how}, {in_time(run.seconds)}{more}")
        failed += [run] if run.status else []
    return failed


def gpus_of(machine: Machine) -> list[str]:
    """GPUs to distribute over processes, as `CUDA_VISIBLE_DEVICES` takes them; none on a cluster."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
    named = [word.strip() for word in visible if word.strip()] or list(map(str, range(machine.gpus)))
    return [] if machine.nodes else named[: machine.gpus]


def side_by_side(
    jobs: Sequence[Job],
    command: Callable[[Job], Sequence[str]],
    logs: Path,
    gpus: Sequence[str],
    at_once: int,
    threads: int | None = None,
) -> Iterator[Run]:
    """Run processes in order, at most `at_once`, and print their output; yields each run when it ends.

    Only one process per model runs at a time, since a second would wait for its lease. Each process sees one of the
    `gpus`, if any, and its output is saved in the folder `logs`. KeyboardInterrupt as in `passing_on`, after all have
    ended.
    """
    logs.mkdir(parents=True, exist_ok=True)
    waiting, running = list(jobs), dict[Job, Run]()
    with passing_on() as broken, selectors.DefaultSelector() as selector:
        while running or (waiting and not broken):
            asked = {job.model for job in running}
            job = next((job for job in waiting if job.model not in asked), None)
            if job and not broken and len(running) < at_once:
                waiting.remove(job)
                run = running[job] = Run(job, min(set(range(at_once)) - {other.slot for other in running.values()}))
                process = _started(command(job), gpus[run.slot % len(gpus)] if gpus else None, threads)
                log = (logs / f"{job.name}.log").open("wb")
                assert process.stdout is not None
                selector.register(process.stdout, selectors.EVENT_READ, (run, process, log))
                continue
            for key, _ in selector.select():
                run, process, log = key.data
                silent, chunk = bool(broken), os.read(key.fd, 65536)
                log.write(chunk)
                for line in run.take(chunk or b"\n"):
                    if not silent:  # after an interrupt every process reports it
                        say(f"{run.job.name}: {line}")
                if chunk:
                    continue
                selector.unregister(key.fileobj)
                process.stdout.close()
                log.close()
                run.status, run.seconds = process.wait(), time.monotonic() - run.seconds
                del running[run.job]
                if not broken:
                    yield run


def _started(command: Sequence[str], gpu: str | None, threads: int | None) -> "subprocess.Popen[bytes]":
    own = {"CUDA_VISIBLE_DEVICES": gpu, "OMP_NUM_THREADS": threads}
    return subprocess.Popen(
        command,
        env=environment() | {key: str(value) for key, value in own.items() if value is not None},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,  # Ctrl-C is forwarded once, by passing_on
        preexec_fn=die_with_parent,
    )


def environment() -> dict[str, str]:
    """The environment with this Python first in PATH, unbuffered output, and no progress bars outside a terminal."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    quiet = {} if sys.stderr.isatty() else {"TQDM_DISABLE": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
    return quiet | os.environ | {"PATH": path, "PYTHONUNBUFFERED": "1"}


@contextmanager
def passing_on() -> Iterator[list[int]]:
    """Forward Ctrl-C and SIGTERM to all child processes; those that do not end within `PATIENCE` seconds are killed.

    Yields the list of signals received; raises KeyboardInterrupt with the first signal number at the end.
    """
    came: list[int] = []

    def pass_on(number: int, _: FrameType | None) -> None:
        if number != signal.SIGALRM:
            came.append(number)
            signal.setitimer(signal.ITIMER_REAL, PATIENCE)
        below = psutil.Process().children(recursive=True)
        for process in below:
            with suppress(psutil.Error):
                process.send_signal(signal.SIGKILL if number == signal.SIGALRM else signal.SIGINT)
        if not below:
            raise KeyboardInterrupt

    before = {number: signal.signal(number, pass_on) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)}
    try:
        yield came
    except KeyboardInterrupt:
        if not came:
            raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)
    if came:
        raise KeyboardInterrupt(came[0])


def in_time(seconds: float | None) -> str:
    """Seconds in words; `?` if unknown."""
    if seconds is None:
        return "?"
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 3600 else f"{seconds / 3600:.1f} h"

"""Several processes at once, each of which asks one model; what they say, with their names before it."""

import ctypes
import os
import re
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import BinaryIO, Generic, Protocol, TypeVar

from evenruler.machine import Machine

PATIENCE = 15.0
"""Seconds that a process has to end after it was interrupted."""

LINE = re.compile(rb"[\r\n]+")
"""Ends a line, or what a bar showed."""


class Job(Protocol):
    """What one process does."""

    @property
    def name(self) -> str:
        """What stands before its lines."""

    @property
    def model(self) -> str:
        """Whom it asks."""


AnyJob = TypeVar("AnyJob", bound=Job)


def next_of(waiting: Sequence[AnyJob], running: Collection[str]) -> AnyJob | None:
    """The first whose model nobody asks now: a second process would wait for the first one's lease.

    Args:
        waiting: Jobs in their order.
        running: Models that are being asked.
    """
    return next((pair for pair in waiting if pair.model not in running), None)


def gpus_of(machine: Machine, visible: str | None) -> list[str]:
    """The GPUs that processes share out, by the names that `CUDA_VISIBLE_DEVICES` takes; those of a cluster it shares.

    Args:
        machine: With as many as torch sees.
        visible: `CUDA_VISIBLE_DEVICES`, None where it is not set.
    """
    if machine.nodes:
        return []
    named = [word.strip() for word in (visible or "").split(",") if word.strip()]
    return named[: machine.gpus] if named else [str(number) for number in range(machine.gpus)]


@dataclass
class Run(Generic[AnyJob]):
    """One process."""

    job: AnyJob
    slot: int
    process: "subprocess.Popen[bytes]"
    log: BinaryIO
    began: float = field(default_factory=time.monotonic)
    rest: bytes = b""
    """Of a line that has no end yet."""
    last: str = ""
    """What it said last, or its error."""

    def take(self, chunk: bytes) -> Iterator[str]:
        """Keep what it said; the lines that are whole now."""
        self.log.write(chunk)
        *lines, self.rest = LINE.split(self.rest + chunk)
        for line in lines:
            said = line.decode(errors="replace").strip()
            if said:
                if not self.last.startswith("error: "):
                    self.last = said
                yield said


@dataclass(frozen=True)
class Ended(Generic[AnyJob]):
    """How a process ended."""

    job: AnyJob
    status: int
    said: str
    """Its last line; of one that failed, its error."""
    seconds: float


class Processes(Generic[AnyJob]):
    """Processes that run side by side."""

    def __init__(
        self,
        command: Callable[[AnyJob], Sequence[str]],
        root: Path,
        logs: Path,
        gpus: Sequence[str],
        at_once: int,
        threads: int | None = None,
    ) -> None:
        """Say what is run; nothing is started.

        Args:
            command: Of a job.
            root: Where it runs.
            logs: A folder with a file for each job: all that its process said.
            gpus: Each process sees one of them; none where all compute on the CPU.
            at_once: So many at the most.
            threads: That each computes with; torch decides where it is None.
        """
        self._command, self._root, self._logs, self._gpus = command, root, logs, gpus
        self._at_once, self._threads = at_once, threads
        self._running: list[Run[AnyJob]] = []
        self._selector = selectors.DefaultSelector()
        self.broken = 0
        """The signal that broke it off."""

    def run(self, jobs: Sequence[AnyJob], say: Callable[[str], None]) -> Iterator[Ended[AnyJob]]:
        """Run all, once, unless a signal breaks it off.

        Args:
            jobs: In the order in which they are begun.
            say: Takes a line.

        Returns:
            How each ended, as it ends; those that were broken off are left out.
        """
        self._logs.mkdir(parents=True, exist_ok=True)
        waiting = list(jobs)
        with self._passing_on(), self._selector:
            while self._running or (waiting and not self.broken):
                while not self.broken and len(self._running) < self._at_once:
                    job = next_of(waiting, [run.job.model for run in self._running])
                    if job is None:
                        break
                    waiting.remove(job)
                    self._start(job)
                for run in self._heard(say):
                    ended = self._end(run)
                    if not self.broken:
                        yield ended

    def _start(self, job: AnyJob) -> None:
        slot = min(set(range(self._at_once)) - {run.slot for run in self._running})
        env = {**os.environ, "PYTHONUNBUFFERED": "1"}
        if self._gpus:
            env["CUDA_VISIBLE_DEVICES"] = self._gpus[slot % len(self._gpus)]
        if self._threads is not None:
            env["OMP_NUM_THREADS"] = str(self._threads)
        if not sys.stderr.isatty():
            env.setdefault("TQDM_DISABLE", "1")
            env.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
        process = subprocess.Popen(
            self._command(job),
            cwd=self._root,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # so that Ctrl-C reaches it once, by us
            preexec_fn=die_with_parent if sys.platform == "linux" else None,
        )
        assert process.stdout is not None
        run = Run(job, slot, process, (self._logs / f"{job.name}.log").open("wb"))
        self._running.append(run)
        self._selector.register(process.stdout, selectors.EVENT_READ, run)

    def _heard(self, say: Callable[[str], None]) -> list[Run[AnyJob]]:
        """Pass on what they say; those that have closed their side."""
        closed = []
        for key, _ in self._selector.select():
            run: Run[AnyJob] = key.data
            chunk = os.read(key.fd, 65536)
            for line in run.take(chunk or b"\n"):
                if not self.broken:  # then each says where it was interrupted
                    say(f"{run.job.name}: {line}")
            if not chunk:
                closed.append(run)
        return closed

    def _end(self, run: Run[AnyJob]) -> Ended[AnyJob]:
        assert run.process.stdout is not None
        self._selector.unregister(run.process.stdout)
        run.process.stdout.close()
        run.log.close()
        status = run.process.wait()
        self._running.remove(run)
        return Ended(run.job, status, run.last, time.monotonic() - run.began)

    @contextmanager
    def _passing_on(self) -> Iterator[None]:
        """Pass Ctrl-C and SIGTERM on; who does not end within `PATIENCE` seconds is killed."""

        def pass_on(number: int, _: FrameType | None) -> None:
            if number != signal.SIGALRM:
                self.broken = self.broken or number
                signal.setitimer(signal.ITIMER_REAL, PATIENCE)
            for run in self._running:
                with suppress(ProcessLookupError):
                    os.killpg(run.process.pid, signal.SIGKILL if number == signal.SIGALRM else signal.SIGINT)

        before = {number: signal.signal(number, pass_on) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)}
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            for number, handler in before.items():
                signal.signal(number, handler)


def reason(ended: Ended[AnyJob]) -> str:
    """Why a process failed, in one line."""
    if ended.said.startswith("error: "):
        return ended.said.removeprefix("error: ")
    if ended.status < 0:
        return f"its process was ended by {signal.Signals(-ended.status).name}" + (
            ", as where memory is used up" if ended.status == -signal.SIGKILL else ""
        )
    return ended.said or f"its process ended with status {ended.status}"


def die_with_parent() -> None:
    """Have Linux end a process when the one that started it is killed; called in the new one."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)

"""What `evenruler repro` does: check, then `dvc repro`, with a line for every stage and a few words at the end.

The lines are made of what DVC prints (read with DVC 3.67). What stages print on standard output stays, indented;
standard error, where bars are drawn, passes through as it comes, by a terminal of its own where ours is one.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, TextIO

from evenruler.declared import Declared
from evenruler.files import replace
from evenruler.project import lock
from evenruler.project.check import check
from evenruler.project.fill import MAKES_ROWS, fill, jobs_of, outdated
from evenruler.project.pipeline import stage_names
from evenruler.project.processes import PATIENCE, die_with_parent

TIMINGS = Path(".cache/repro.json")
REPORT = Path("data/report/index.html")
LONGEST = 5
"""Stages that are named at the end."""

VALIDATION = "validation"
"""The set whose figure goes before those of others."""

_RUNS = re.compile(r"Running stage '(.+)':$")
_RESTORED = re.compile(r"Stage '(.+)' is cached - skipping run, checking out outputs$")
_UNCHANGED = re.compile(r"(?:Stage )?'(.+)' didn't change, skipping$")
_ADVICE = re.compile(
    r"$|> |To track the changes with git, run:|\tgit add |To enable auto staging, run:|\tdvc config core\.autostage "
    r"|Use `dvc push` to send|Data and pipelines are up to date\.|Updating lock file |Generating lock file "
)


@dataclass
class Progress:
    """What DVC has said so far, told line by line."""

    total: int | None
    """Stages in all; None where only some were asked for."""
    say: Callable[[str], None]
    """Takes text, which goes on in the same line unless it ends one."""
    between: Callable[[], None] = lambda: None
    """Called when a stage has ended, and dvc.lock is written."""
    seconds: dict[str, float] = field(default_factory=dict)
    """Of every stage that ran, by its name."""
    unchanged: int = 0
    started: float = 0.0
    """When the build began."""
    running: str | None = None
    began: float = 0.0
    in_line: bool = False
    """Whether the line that says what runs has no end yet."""

    @property
    def seen(self) -> int:
        """Stages that DVC came to."""
        return self.unchanged + len(self.seconds) + (self.running is not None)

    def line(self, text: str) -> None:
        """Take one line of standard output."""
        if match := _RUNS.match(text) or _RESTORED.match(text):
            self.end()
            self.running, self.began = match[1], time.monotonic()
            self.say(f"{self._place()} {match[1]} ...")
            self.in_line = True
        elif match := _UNCHANGED.match(text):
            self.end()
            self.unchanged += 1
            self.say(f"{self._place()} {match[1]} unchanged\n")
        elif not _ADVICE.match(text):
            self.break_line()
            self.say(f"    {text}\n")

    def break_line(self) -> None:
        """End the line that says what runs: something else is to be printed."""
        if self.in_line:
            self.say("\n")
            self.in_line = False

    def end(self, how: str = "") -> None:
        """The stage that ran has ended."""
        if self.running is None:
            return
        took = time.monotonic() - self.began
        head = "" if self.in_line else f"{self._place()} {self.running} ..."
        self.say(f"{head} {how}{took:.1f} s\n")
        self.seconds[self.running] = round(took, 1)
        self.running, self.in_line = None, False
        self.between()

    def _place(self) -> str:
        return f"[{self.seen}/{self.total}]" if self.total else f"[{self.seen}]"


def repro(root: Path, words: Sequence[str]) -> int:
    """Check the declaration, then build what is out of date.

    Args:
        root: The repository.
        words: Further arguments of `dvc repro`, such as names of stages.

    Returns:
        The exit status of DVC; 128 and the number of the signal where one broke it off.

    Raises:
        UserError: The declaration is not valid; nothing has been built then.
    """
    for line in check(root):
        print(line, flush=True)
    progress = Progress(None, _say, lambda: lock.keep(root), started=time.monotonic())
    if not words:
        stages = outdated(root)
        if not stages:
            progress.unchanged = len(_stage_names(root))
            _keep_timings(root, progress, 0)
            print(*_summary(root, progress), sep="\n", flush=True)
            return 0
        if status := _fill(root, stages, progress):
            return status
    return build(root, words, progress=progress)


def _fill(root: Path, stages: set[str], progress: Progress) -> int:
    """Build what models are asked, then ask them side by side; a status other than 0 where that was broken off."""
    if not any(name.partition("@")[0] in (*MAKES_ROWS, "ask") for name in stages):
        return 0
    active = Declared(root / "params.yaml").active
    if any(name.partition("@")[0] in MAKES_ROWS for name in stages):
        rows = [f"rows@{name}" for name in active.instruments]
        if status := build(root, rows, told=False, progress=progress):
            return status
    broken = fill(root, jobs_of(active, outdated(root, [f"ask@{name}" for name in active.ask])))
    if broken:
        print("interrupted; what was answered is kept, and `make repro` goes on from there", file=sys.stderr)
    return 128 + broken if broken else 0


def _stage_names(root: Path) -> list[str]:
    return stage_names(*((root / name).read_text(encoding="utf-8") for name in ("dvc.yaml", "params.yaml")))


def build(root: Path, words: Sequence[str], *, told: bool = True, progress: Progress | None = None) -> int:
    """Build what is out of date, of a declaration that is in step; arguments and status as of `repro`.

    Args:
        root: The repository.
        words: Further arguments of `dvc repro`.
        told: Whether to say at the end what was built, and where the report is.
        progress: Of an earlier part of the same build.
    """
    some = any(not word.startswith("-") for word in words)
    progress = progress or Progress(None, _say, lambda: lock.keep(root), started=time.monotonic())
    progress.total, progress.unchanged = None if some else len(_stage_names(root)), -len(progress.seconds)
    status, said = _run_dvc(root, words, progress)
    if status == 0:
        lock.keep(root, sure=True)
    _keep_timings(root, progress, status)
    for line in _summary(root, progress) if told and status == 0 else ():
        print(line)
    sys.stdout.flush()
    for line in said:
        print(line, file=sys.stderr, flush=True)
    return status


def _say(text: str) -> None:
    print(text, end="", flush=True)


class Errors:
    """Standard error of DVC and its stages: passed on as it comes, but for the lines that are to stand last."""

    def __init__(self, out: TextIO, progress: Progress, locked: threading.Lock) -> None:
        self._out, self._progress, self._locked = out, progress, locked
        self._begun, self._open = b"", False
        self.silent = False
        """After Ctrl-C, when every process says where it was interrupted."""
        self.of_stage: list[str] = []
        self.of_dvc: list[str] = []

    def read(self, source: int) -> None:
        """Pass everything on until the other side is closed."""
        while chunk := _chunk(source):
            *lines, rest = (self._begun + chunk).split(b"\n")
            for line in lines:
                self._take(line.decode(errors="replace").rstrip("\r"), "\n")
            # Bars end no lines. What may be the beginning of an error is held back until its line is whole.
            self._begun = rest
            if rest and (len(rest) > 4096 or not rest.lstrip(b"\r").startswith((b"e", b"E", b"\x1b"))):
                self._take(rest.decode(errors="replace"), "")
                self._begun = b""
        self._take(self._begun.decode(errors="replace"), "")

    def _take(self, line: str, end: str) -> None:
        plain = re.sub(r"\x1b\[[0-9;]*m", "", line).strip("\r")
        if plain.startswith("error: "):
            self.of_stage.append(plain)
        elif plain.startswith("ERROR: "):
            self.of_dvc.append(plain.removeprefix("ERROR: "))
        elif (line or end) and not self.silent and not (self.of_dvc and not plain.strip()):
            with self._locked:
                self._progress.break_line()
                self._out.write(line + end)
                self._out.flush()
                self._open = not end

    def close(self) -> None:
        """End the line of a bar that was broken off."""
        if self._open:
            self._out.write("\n")
            self._out.flush()


def _chunk(source: int) -> bytes:
    try:
        return os.read(source, 65536)
    except OSError:  # a terminal whose other side is closed
        return b""


def _run_dvc(root: Path, words: Sequence[str], progress: Progress) -> tuple[int, list[str]]:
    """Run DVC; its exit status, and what is to be said on standard error at the end."""
    locked = threading.Lock()
    errors = Errors(sys.stderr, progress, locked)
    ours, theirs = _pair()
    process = subprocess.Popen(
        [sys.executable, "-m", "dvc", "repro", *words],
        cwd=root,
        env=_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=theirs,
        start_new_session=True,  # so that Ctrl-C reaches DVC and its stages once, by us
        preexec_fn=die_with_parent if sys.platform == "linux" else None,
    )
    os.close(theirs)
    reader = threading.Thread(target=errors.read, args=(ours,), daemon=True)
    reader.start()
    broken: list[int] = []

    def pass_on(number: int, _: FrameType | None) -> None:
        broken.append(number)
        errors.silent = True
        _kill(process, signal.SIGINT)
        last = threading.Timer(PATIENCE, _kill, (process, signal.SIGKILL))
        last.daemon = True
        last.start()

    before = {number: signal.signal(number, pass_on) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        assert process.stdout is not None
        for raw in process.stdout:
            with locked:
                if not broken:
                    progress.line(raw.decode(errors="replace").rstrip("\n"))
        status = process.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    reader.join(timeout=2)
    os.close(ours)
    errors.close()
    stage = progress.running
    progress.end("broken off after " if broken else "failed after " if status else "")
    if broken:
        return 128 + broken[0], ["interrupted; what was answered is kept, and `make repro` goes on from there"]
    return status, _last_words(stage, errors) if status else [*errors.of_stage, *errors.of_dvc]


def _last_words(stage: str | None, errors: Errors) -> list[str]:
    """Of a build that failed: the stage's own line, else what DVC says."""
    if errors.of_stage:
        return errors.of_stage
    if stage:
        return [f"error: {stage} failed; what it said stands above"]
    return [f"error: dvc: {' '.join(errors.of_dvc) or 'failed'}"]


def _pair() -> tuple[int, int]:
    """Two ends of a pipe; of a terminal as wide as ours where standard error is one, so that bars are drawn."""
    if not sys.stderr.isatty():
        return os.pipe()
    import fcntl
    import pty
    import struct
    import termios

    ours, theirs = pty.openpty()
    size = shutil.get_terminal_size()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", size.lines, size.columns, 0, 0))
    settings = termios.tcgetattr(theirs)
    settings[1] &= ~termios.ONLCR  # our own terminal adds the carriage returns
    termios.tcsetattr(theirs, termios.TCSANOW, settings)
    return ours, theirs


def _environment() -> dict[str, str]:
    """As ours, with this Python first, lines as they are printed, and no bars where they would fill a log."""
    folder = str(Path(sys.executable).parent)
    found = {**os.environ, "PATH": os.pathsep.join([folder, os.environ.get("PATH", "")]), "PYTHONUNBUFFERED": "1"}
    if not sys.stderr.isatty():
        found.setdefault("TQDM_DISABLE", "1")
        found.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    return found


def _kill(process: "subprocess.Popen[bytes]", number: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def _keep_timings(root: Path, progress: Progress, status: int) -> None:
    """Seconds of every stage when it last ran, and what this run was."""
    path = root / TIMINGS
    try:
        known = json.loads(path.read_text(encoding="utf-8"))["stages"]
    except (OSError, ValueError, KeyError, TypeError):
        known = {}
    run = {
        "built": list(progress.seconds),
        "unchanged": progress.unchanged,
        "seconds": round(time.monotonic() - progress.started, 1),
    }
    content = {"stages": {**known, **progress.seconds}, "run": {**run, "status": status}}
    replace(path, json.dumps(content, indent=2) + "\n")


def _summary(root: Path, progress: Progress) -> Iterator[str]:
    took = time.monotonic() - progress.started
    built = progress.seconds
    unchanged = f", {progress.unchanged} unchanged" if progress.unchanged else ""
    stages = "stage" if len(built) == 1 else "stages"
    yield f"built {len(built) or 'nothing'}{f' {stages}' if built else ''} in {duration(took)}{unchanged}"
    if len(built) > 1:
        longest = sorted(built, key=lambda name: -built[name])[:LONGEST]
        yield f"longest: {', '.join(f'{name} {duration(built[name])}' for name in longest)}"
    if (root / REPORT).exists():
        yield f"report: {REPORT}"
    if said := first_result(root):
        yield f"first result: {said}"


def duration(seconds: float) -> str:
    """Seconds, or minutes and seconds, in words."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{seconds:.1f} s"


def first_result(root: Path) -> str | None:
    """A figure that has a verdict, with its control; None where no benchmark has one.

    One of a set that validates comes first, and a correlation with an outside criterion.
    """
    found = [figure for path in sorted((root / "benchmarks").glob("*/evidence.json")) for figure in _judged(path)]
    if not found:
        return None
    name, part, model, figure, one = min(found, key=lambda each: (each[1] != VALIDATION, each[3] != "r"))
    return (
        f"{name} ({part}), {model}: {figure} is {one['value']:z.3f} [{one['low']:z.3f}, {one['high']:z.3f}], "
        f"{one['n']} {one['unit']}; control {one['control']:z.3f}: {one['verdict']}"
    )


def _judged(path: Path) -> Iterator[tuple[str, str, str, str, dict[str, Any]]]:
    """Benchmark, part, model, name and record of the figures that have a verdict and all that stands beside it."""
    try:
        evidence = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        return
    for part, models in evidence.items():
        for model, figures in models.items():
            for name, record in figures.items():
                whole = isinstance(record, dict) and all(
                    isinstance(record.get(key), float) for key in ("value", "low", "high", "control")
                )
                if whole and "verdict" in record:
                    yield path.parent.name, part, model, name, record

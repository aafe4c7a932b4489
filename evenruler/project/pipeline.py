"""Runs DVC: stages of dvc.yaml, which of them are out of date, and builds with one line per stage.

DVC runs in this process, so stages write to the terminal directly. Progress is read from DVC's log messages (DVC 3.67).
"""

import logging
import os
import re
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path

from evenruler.errors import UserError
from evenruler.project import lock
from evenruler.project.processes import environment, passing_on
from evenruler.strict import content_of
from evenruler.terminal import say

BEGINS = ("Running stage '%s':", "Stage '%s' is cached - skipping run, checking out outputs")
UNCHANGED = ("Stage '%s' didn't change, skipping", "'%s' didn't change, skipping")


def stage_names(pipeline: str, params: str) -> list[str]:
    """Stage names from the texts of dvc.yaml and params.yaml; `foreach` stages by key, such as `rows@gad-7`.

    Other errors in stages are left to `dvc repro`, since DVC would take two seconds to validate them. UserError if
    there are no stages, or a `foreach` has nothing to iterate over.
    """
    stages = (content_of(pipeline, Path("dvc.yaml")) or {}).get("stages")
    declared, names = content_of(params, Path("params.yaml")), list[str]()
    if not isinstance(stages, dict) or not all(isinstance(entry, dict) for entry in stages.values()):
        raise UserError("no mapping of stages", where="dvc.yaml: stages", remedy="mend it, or `git checkout dvc.yaml`")
    for name, entry in stages.items():
        if "foreach" not in entry:
            names.append(name)
            continue
        found = entry["foreach"]
        if isinstance(found, str) and (key := re.fullmatch(r"\$\{([\w.-]+)\}", found)):
            found = declared
            for part in key[1].split("."):
                found = found.get(part) if isinstance(found, dict) else None
        if not isinstance(found, dict | list):
            where = f"dvc.yaml: stages.{name}.foreach"
            raise UserError(f"nothing to go through ({entry['foreach']})", where=where, remedy="mend it")
        names += [f"{name}@{each}" for each in found]
    return names


def outdated(root: Path, names: Iterable[str] = (), *, with_deps: bool = False) -> set[str]:
    """Stages that are out of date, optionally with their dependencies (`with_deps`); UserError if DVC refuses."""
    from dvc.exceptions import DvcException
    from dvc.repo import Repo

    try:
        with Repo(str(root)) as repo:
            return set(repo.status(targets=list(names), with_deps=with_deps))
    except DvcException as error:
        said = _in_one_line(error)
        where = next((name for name in ("dvc.lock", "params.yaml", "dvc.yaml") if name in said), "dvc.yaml")
        raise UserError(f"DVC cannot tell what is out of date ({said})", where=where, remedy="mend it") from None


def _in_one_line(error: BaseException | None) -> str:
    """The messages of a DVC error and its causes."""
    parts = []
    while error:
        parts.append(" ".join(str(error).split("\n\n")[0].split()))
        error = error.__cause__
    return ": ".join(filter(None, parts))


class Progress(logging.Handler):
    """Log handler for DVC: prints which stage runs and how long it took."""

    def __init__(self, root: Path) -> None:
        super().__init__(logging.INFO)
        self._root, self._out = root, sys.stdout
        self.total: int | None = None
        """Number of all stages; None if only some were requested."""
        self.seconds: dict[str, float] = {}
        """Duration of every stage that ran, by name."""
        self.unchanged = 0
        self.started = time.monotonic()
        self.failed: list[str] = []
        """Error messages of DVC."""
        self.running, self._began = "", 0.0

    def emit(self, record: logging.LogRecord) -> None:
        """Handle one log record."""
        if record.msg in BEGINS + UNCHANGED and isinstance(record.args, tuple):
            self.end()
            name = str(record.args[0])
            if record.msg in BEGINS:
                self.running, self._began = name, time.monotonic()
            else:
                self.unchanged += 1
            self._say(name, "..." if record.msg in BEGINS else "unchanged")
        elif record.levelno >= logging.ERROR:
            error = record.exc_info[1] if record.exc_info else None
            self.failed += filter(None, [record.getMessage(), _in_one_line(error)])
        elif record.levelno == logging.WARNING:
            say(f"warning: dvc: {record.getMessage()}", err=True)

    def end(self, how: str = "") -> None:
        """Record that the running stage has ended and dvc.lock is written."""
        if self.running:
            took = time.monotonic() - self._began
            self._say(self.running, f"{how}{took:.1f} s")
            self.seconds[self.running], self.running = round(took, 1), ""
            lock.keep(self._root)

    def _say(self, name: str, how: str) -> None:
        seen = self.unchanged + len(self.seconds) + bool(self.running)
        place = f"[{seen}/{self.total}]" if self.total else f"[{seen}]"
        print(place, name, how, file=self._out, flush=True)


def build(root: Path, words: Sequence[str], progress: Progress) -> int:
    """Build what is out of date and report errors in one line; `check` must have run before.

    `words`: further arguments of `dvc repro`, such as stage names; `progress` may come from an earlier part of the
    build. Returns DVC's exit status; KeyboardInterrupt, with the signal number, if interrupted by a signal.
    """
    from dvc.cli import main

    progress.total = None if any(not word.startswith("-") for word in words) else len(all_stages(root))
    again = {"-f", "--force"} & set(words)  # stages built earlier run again and are not counted as unchanged
    progress.unchanged, progress.failed = 0 if again else -len(progress.seconds), []
    os.environ.update(environment())
    with passing_on() as came, _logged(progress):
        status: int = main(["--cd", str(root), "repro", *words])
        stage, ended = progress.running, re.search(r"exited with (-?\d+)$", " ".join(progress.failed))
        how = int(ended[1]) if ended else None
        if came or how in (-2, 130) or status == 252:  # exit statuses of a stage or DVC after Ctrl-C
            progress.end("broken off after ")
            raise KeyboardInterrupt
        progress.end("failed after " if status else "")
    if status == 0:
        lock.keep(root, sure=True)
    elif stage and how != 2:  # 2: the stage itself has reported a user error
        say(f"error: {stage} failed; what it said stands above", err=True)
    elif not stage:
        say(f"error: dvc: {' '.join(progress.failed) or 'failed'}", err=True)
    return status


def all_stages(root: Path, params: str | None = None) -> list[str]:
    """The names of all stages; `params`: a new text of params.yaml that is not written yet."""
    pipeline, said = ((root / name).read_text(encoding="utf-8") for name in ("dvc.yaml", "params.yaml"))
    return stage_names(pipeline, said if params is None else params)


@contextmanager
def _logged(progress: Progress) -> Iterator[None]:
    """Route DVC's log to the handler only; stages keep the process's streams."""
    dvc = logging.getLogger("dvc")
    before, dvc.handlers = dvc.handlers, [progress]
    propagates, dvc.propagate = dvc.propagate, False
    try:
        with redirect_stdout(StringIO()):
            yield
    finally:
        dvc.handlers, dvc.propagate = before, propagates

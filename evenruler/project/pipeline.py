"""Runs DVC: stages of dvc.yaml, which of them are out of date, builds with one line per stage, and a whole `dvc.lock`.

DVC runs in this process, so stages write to the terminal directly. Progress is read from DVC's log messages (DVC 3.67).

After every stage DVC rewrites the whole of `dvc.lock` in the order of its entries, so a kill leaves a prefix of a
complete text: empty, ending within a line, or valid YAML with stages missing. A complete copy is kept, and put back
then. What an older copy lacks DVC finds in its run cache, without running anything again.
"""

import json
import logging
import os
import re
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from evenruler.declaration.params_file import ACTIVE
from evenruler.errors import UserError
from evenruler.files import replace
from evenruler.project.processes import environment, passing_on
from evenruler.repository import git
from evenruler.strict import content_of
from evenruler.terminal import say

BEGINS = ("Running stage '%s':", "Stage '%s' is cached - skipping run, checking out outputs")
UNCHANGED = ("Stage '%s' didn't change, skipping", "'%s' didn't change, skipping")


def stage_names(pipeline: str, active: str) -> list[str]:
    """Stage names from the texts of dvc.yaml and active.yaml; `foreach` stages by key, such as `rows@gad-7`.

    Other errors in stages are left to `dvc repro`, since DVC would take two seconds to validate them. UserError if
    there are no stages, or a `foreach` has nothing to iterate over.
    """
    stages = (content_of(pipeline, Path("dvc.yaml")) or {}).get("stages")
    declared, names = content_of(active, Path(ACTIVE)), list[str]()
    if not isinstance(stages, dict) or not all(isinstance(entry, dict) for entry in stages.values()):
        raise UserError(
            "not a mapping of stages", where="dvc.yaml: stages", remedy="fix it, or `git checkout dvc.yaml`"
        )
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
            raise UserError(f"nothing to iterate over ({entry['foreach']})", where=where, remedy="fix it")
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
        where = next((name for name in ("dvc.lock", ACTIVE, "params.yaml", "dvc.yaml") if name in said), "dvc.yaml")
        raise UserError(f"DVC cannot tell what is out of date ({said})", where=where, remedy="fix it") from None


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
            keep_lock(self._root)

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
            progress.end("interrupted after ")
            raise KeyboardInterrupt
        progress.end("failed after " if status else "")
    if status == 0:
        keep_lock(root, sure=True)
    elif stage and how != 2:  # 2: the stage itself has reported a user error
        say(f"error: {stage} failed; see its output above", err=True)
    elif not stage:
        say(f"error: dvc: {' '.join(progress.failed) or 'failed'}", err=True)
    return status


def all_stages(root: Path, active: str | None = None) -> list[str]:
    """The names of all stages; `active`: a new text of active.yaml that is not written yet."""
    pipeline = (root / "dvc.yaml").read_text(encoding="utf-8")
    return stage_names(pipeline, (root / ACTIVE).read_text(encoding="utf-8") if active is None else active)


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


LOCK = "dvc.lock"
RUNNING = Path(".dvc/tmp/rwlock")
"""DVC's list of running stages, as JSON."""

KEPT = Path(".cache/dvc.lock")
"""The last complete copy; inside the repository, since a cache shared by clones would mix them up."""

STILL = 1.0
"""Seconds to wait for a change of a truncated file; DVC writes one of 300 KB in half of that."""

HEADER = "schema: '2.0'\nstages:\n"
EMPTY = "schema: '2.0'\nstages: {}\n"
STRANGE = "not in the format of DVC"

_ENTRY = re.compile(r"^  (\S.*):\n", re.MULTILINE)


@dataclass(frozen=True)
class Lock:
    """The content of dvc.lock, actual or restored."""

    text: str
    wrong: str = ""
    """What is wrong with the file and where the text comes from; empty if it is the file's own."""

    @property
    def stages(self) -> list[str]:
        """Stages with an entry, in order."""
        return list(_entries(self.text))

    def without(self, gone: Iterable[str]) -> "Lock":
        """A copy without some entries."""
        left = [entry for name, entry in _entries(self.text).items() if name not in set(gone)]
        return Lock(HEADER + "".join(left) if left else EMPTY, self.wrong)


def examine_lock(root: Path) -> Lock | None:
    """Read dvc.lock, or the last complete text if it is truncated; None if there is none. Writes nothing.

    The last complete text is the kept copy, else git's; in a first build there is neither, and DVC starts from an empty
    file. UserError if the file is not DVC's and no other is known, or it has merge conflict markers.
    """
    if (root / LOCK).is_dir():
        raise UserError("a folder, expected a file", where=LOCK, remedy="move it away")
    text, copy = _read(root / LOCK), _read(root / KEPT)
    if text is None:
        return None
    if re.search(r"^(?:<{7}|={7}|>{7})(?: |$)", text, re.MULTILINE):
        remedy = f"run `git checkout --ours {LOCK}` (or --theirs), then `make repro`"
        raise UserError("an unresolved merge conflict", where=LOCK, remedy=remedy)
    committed = None if text == copy else _committed(root)
    wrong = "" if text in (copy, committed) else _wrong(root, text, committed if copy is None else copy)
    if not wrong:
        return Lock(text)
    time.sleep(STILL)
    if _read(root / LOCK) != text:  # not truncated: DVC is writing it right now
        return examine_lock(root)
    if copy is not None:
        return Lock(copy, f"{wrong}; restored from {KEPT}")
    if committed is not None:
        return Lock(committed, f"{wrong}; restored from git")
    if wrong == STRANGE:
        raise UserError(wrong, where=LOCK, remedy="delete it; every stage then runs again")
    return Lock(EMPTY, f"{wrong}; missing stages are built again")


def write_lock(root: Path, lock: Lock) -> None:
    """Write dvc.lock and its copy where they differ."""
    for path in (root / LOCK, root / KEPT):
        if _read(path) != lock.text:
            replace(path, lock.text)


def keep_lock(root: Path, *, sure: bool = False) -> None:
    """Copy dvc.lock if it is complete (`sure`: known to be); remove the copy if there is no dvc.lock."""
    text, copy = _read(root / LOCK), _read(root / KEPT)
    if text is None:
        (root / KEPT).unlink(missing_ok=True)
    elif text != copy:
        committed = None if sure else _committed(root)
        if sure or text == committed or not _wrong(root, text, committed if copy is None else copy):
            replace(root / KEPT, text)


def unblock(root: Path) -> str | None:
    """Remove DVC's list of running stages if truncated, since DVC would refuse to run; returns a message or None."""
    text = _read(root / RUNNING)
    try:
        json.loads(text or "" if text is not None else "{}")
    except ValueError:
        time.sleep(STILL)
        if _read(root / RUNNING) != text:
            return unblock(root)
        (root / RUNNING).unlink(missing_ok=True)
        return f"removed {RUNNING}, truncated when DVC was killed"
    return None


def known_outs(root: Path) -> set[str]:
    """Paths of all stage outputs in dvc.lock or its copy."""
    texts = filter(None, (_read(root / LOCK), _read(root / KEPT)))
    return {path for text in texts for entry in _entries(text).values() for path in _outs(entry)}


def _read(path: Path) -> str | None:
    """The text; None if there is no file. A truncated file may end within a character."""
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else None


def _wrong(root: Path, text: str, whole: str | None) -> str:
    """Why a text is incomplete; empty if it is complete. `whole`: a complete text to compare with, possibly older."""
    if not text.strip() or text == EMPTY:
        return "" if text.strip() else "empty"
    if HEADER.startswith(text) or not text.startswith(HEADER):
        return "truncated before its first stage" if HEADER.startswith(text) else STRANGE
    if not text.endswith("\n"):
        return "truncated within a line"
    found = _entries(text)
    try:
        stages = YAML(typ="safe").load(text).get("stages")
    except (YAMLError, AttributeError):
        return STRANGE
    if not found or not isinstance(stages, dict) or list(stages) != list(found):
        return STRANGE
    last, entries = list(found)[-1], _entries(whole or "")
    out = (stages[last].get("outs") or [{}])[-1] if isinstance(stages[last], dict) else {}
    said = {"path", "md5", "size", *(["nfiles"] if str(out.get("md5")).endswith(".dir") else [])}
    if not said <= out.keys() or (last in entries and _begins(_outs(found[last]), _outs(entries[last]))):
        return f"truncated within the entry of {last}"
    # DVC itself writes fewer stages if one was removed, but then its outputs are gone, too.
    lacking = list(entries)[len(found) :]
    if _begins(list(found), list(entries)) and any(
        (root / out).exists() for name in lacking for out in _outs(entries[name])
    ):
        return f"truncated: {len(lacking)} of {len(entries)} stages are missing"
    return ""


def _begins(some: list[str], more: list[str]) -> bool:
    return len(some) < len(more) and more[: len(some)] == some


def _entries(text: str) -> Mapping[str, str]:
    """The text of every entry by stage, in order."""
    starts = list(_ENTRY.finditer(text, len(HEADER) if text.startswith(HEADER) else len(text)))
    ends = [*(start.start() for start in starts[1:]), len(text)]
    return {start[1].strip("'\""): text[start.start() : end] for start, end in zip(starts, ends, strict=False)}


def _outs(entry: str) -> list[str]:
    paths = re.findall(r"^    - path: (.+)$", entry.partition("\n    outs:\n")[2], re.MULTILINE)
    return [path.strip("'\"") for path in paths]


def _committed(root: Path) -> str | None:
    """The file in git's HEAD; None if there is none, or no git."""
    found = git(root, "show", f"HEAD:./{LOCK}")
    return None if found is None else found.decode().replace("\r\n", "\n")

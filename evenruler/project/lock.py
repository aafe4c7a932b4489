"""Protects `dvc.lock`: a complete copy is kept, and restored if a kill of DVC truncated the file.

After every stage DVC rewrites the whole file in the order of its entries, so a kill leaves a prefix of a complete text:
empty, ending within a line, or valid YAML with stages missing. What an older copy lacks DVC finds in its run cache,
without running anything again.
"""

import json
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from evenruler.errors import UserError
from evenruler.files import replace
from evenruler.repository import git

NAME = "dvc.lock"
RUNNING = Path(".dvc/tmp/rwlock")
"""DVC's list of running stages, as JSON."""

KEPT = Path(".cache/dvc.lock")
"""The last complete copy; inside the repository, since a cache shared by clones would mix them up."""

STILL = 1.0
"""Seconds to wait for a change of a truncated file; DVC writes one of 300 KB in half of that."""

HEADER = "schema: '2.0'\nstages:\n"
EMPTY = "schema: '2.0'\nstages: {}\n"
STRANGE = "not as DVC writes it"

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


def examine(root: Path) -> Lock | None:
    """Read dvc.lock, or the last complete text if it is truncated; None if there is none. Writes nothing.

    The last complete text is the kept copy, else git's; in a first build there is neither, and DVC starts from an empty
    file. UserError if the file is not DVC's and no other is known, or it has merge conflict markers.
    """
    if (root / NAME).is_dir():
        raise UserError("a folder, expected a file", where=NAME, remedy="move it away")
    text, copy = _read(root / NAME), _read(root / KEPT)
    if text is None:
        return None
    if re.search(r"^(?:<{7}|={7}|>{7})(?: |$)", text, re.MULTILINE):
        remedy = f"run `git checkout --ours {NAME}` (or --theirs), then `make repro`"
        raise UserError("holds the marks of a merge that nobody resolved", where=NAME, remedy=remedy)
    committed = None if text == copy else _committed(root)
    wrong = "" if text in (copy, committed) else _wrong(root, text, committed if copy is None else copy)
    if not wrong:
        return Lock(text)
    time.sleep(STILL)
    if _read(root / NAME) != text:  # not truncated: DVC is writing it right now
        return examine(root)
    if copy is not None:
        return Lock(copy, f"{wrong}; put back from {KEPT}")
    if committed is not None:
        return Lock(committed, f"{wrong}; put back from git")
    if wrong == STRANGE:
        raise UserError(wrong, where=NAME, remedy="delete it, and every stage is run again")
    return Lock(EMPTY, f"{wrong}; what it lacks is built again")


def write(root: Path, lock: Lock) -> None:
    """Write dvc.lock and its copy where they differ."""
    for path in (root / NAME, root / KEPT):
        if _read(path) != lock.text:
            replace(path, lock.text)


def keep(root: Path, *, sure: bool = False) -> None:
    """Copy dvc.lock if it is complete (`sure`: known to be); remove the copy if there is no dvc.lock."""
    text, copy = _read(root / NAME), _read(root / KEPT)
    if text is None:
        (root / KEPT).unlink(missing_ok=True)
    elif text != copy:
        committed = None if sure else _committed(root)
        if sure or text == committed or not _wrong(root, text, committed if copy is None else copy):
            replace(root / KEPT, text)


def free(root: Path) -> str | None:
    """Remove DVC's list of running stages if truncated, since DVC would refuse to run; returns a message or None."""
    text = _read(root / RUNNING)
    try:
        json.loads(text or "" if text is not None else "{}")
    except ValueError:
        time.sleep(STILL)
        if _read(root / RUNNING) != text:
            return free(root)
        (root / RUNNING).unlink(missing_ok=True)
        return f"removed {RUNNING}, which a kill of DVC had cut"
    return None


def known_outs(root: Path) -> set[str]:
    """Paths of all stage outputs in dvc.lock or its copy."""
    texts = filter(None, (_read(root / NAME), _read(root / KEPT)))
    return {path for text in texts for entry in _entries(text).values() for path in _outs(entry)}


def _read(path: Path) -> str | None:
    """The text; None if there is no file. A truncated file may end within a character."""
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else None


def _wrong(root: Path, text: str, whole: str | None) -> str:
    """Why a text is incomplete; empty if it is complete. `whole`: a complete text to compare with, possibly older."""
    if not text.strip() or text == EMPTY:
        return "" if text.strip() else "empty"
    if HEADER.startswith(text) or not text.startswith(HEADER):
        return "cut before its first stage" if HEADER.startswith(text) else STRANGE
    if not text.endswith("\n"):
        return "cut in the middle of a line"
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
        return f"cut inside the entry of {last}"
    # DVC itself writes fewer stages if one was removed, but then its outputs are gone, too.
    lacking = list(entries)[len(found) :]
    if _begins(list(found), list(entries)) and any(
        (root / out).exists() for name in lacking for out in _outs(entries[name])
    ):
        return f"cut: {len(lacking)} of {len(entries)} stages are missing"
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
    found = git(root, "show", f"HEAD:./{NAME}")
    return None if found is None else found.decode().replace("\r\n", "\n")

"""`dvc.lock`: a whole copy of it is kept, and put back where a kill of DVC cut the file.

After every stage DVC writes the whole file anew, in the order of its entries. A kill therefore leaves the beginning of
a whole text. That may be nothing, may end in the middle of a line, or may be valid YAML that lacks stages.
"""

import json
import re
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from evenruler.errors import UserError
from evenruler.files import replace

NAME = "dvc.lock"
RUNNING = Path(".dvc/tmp/rwlock")
"""DVC's list of the processes that run stages, as JSON."""

KEPT = Path(".cache/dvc.lock")
"""The last whole one, below the repository: a cache that several clones share would mix them up."""

STILL = 1.0
"""Seconds that a cut file is watched for; DVC writes one of 300 KB in half of that."""

HEADER = "schema: '2.0'\nstages:\n"
CUT = ("empty", "cut")
"""What is said of the beginning of a file."""

_ENTRY = re.compile(r"^  (\S.*):\n", re.MULTILINE)
_CONFLICT = re.compile(r"^(?:<{7}|={7}|>{7})(?: |$)", re.MULTILINE)


@dataclass(frozen=True)
class Lock:
    """The text that the file has, or shall have."""

    text: str
    wrong: str | None = None
    """What is wrong with the file, where the text is not its own."""
    is_whole: bool = True
    """Whether nothing lacks. In a first build nothing was ever kept, and what was cut off is built again."""

    @property
    def stages(self) -> list[str]:
        """The stages with an entry, in order."""
        return list(_entries(self.text))

    def without(self, gone: Iterable[str]) -> "Lock":
        """The same without some entries."""
        left = {name: entry for name, entry in _entries(self.text).items() if name not in set(gone)}
        return Lock(_joined(left), self.wrong, self.is_whole)


def examine(root: Path) -> Lock | None:
    """What dvc.lock says, mended where it was cut; None where there is none. Nothing is written.

    Entries that are whole in a cut file are kept: they may be newer than the copy, which gives the others.

    Raises:
        UserError: The file was cut, no copy was kept and git has it; or it is not of DVC, or holds marks of a merge.
    """
    if (root / NAME).is_dir():
        raise UserError("a folder, expected a file", where=NAME, remedy="move it away")
    text = _read(root / NAME)
    if text is None:
        return None
    if _CONFLICT.search(text):
        remedy = f"run `git checkout --ours {NAME}` (or --theirs), then `make repro`"
        raise UserError("holds the marks of a merge that nobody resolved", where=NAME, remedy=remedy)
    copy = _read(root / KEPT)
    if text == copy:
        return Lock(text)
    wrong = _wrong(root, text, copy)
    if wrong is None:
        return Lock(text)
    time.sleep(STILL)
    if _read(root / NAME) != text:  # not cut: a DVC writes it at this moment
        return examine(root)
    if copy is None and _committed(root):
        raise UserError(f"{wrong}, as a kill of DVC leaves it", where=NAME, remedy=f"run `git checkout {NAME}`")
    if copy is None and not wrong.startswith(CUT):
        raise UserError(wrong, where=NAME, remedy="delete it, and every stage is run again")
    return Lock(_merged(text, copy or ""), wrong, copy is not None)


def write(root: Path, lock: Lock) -> None:
    """Write dvc.lock, where it says something else, and the copy."""
    for path in (root / NAME, root / KEPT):
        if _read(path) != lock.text:
            replace(path, lock.text)


def keep(root: Path, *, sure: bool = False) -> None:
    """Keep a copy of dvc.lock, if it is whole; forget the copy where there is no dvc.lock.

    Args:
        root: The repository.
        sure: Whether the file is known to be whole, as after DVC ended of itself.
    """
    text, copy = _read(root / NAME), _read(root / KEPT)
    if text is None:
        (root / KEPT).unlink(missing_ok=True)
    elif text != copy and (sure or _wrong(root, text, copy) is None):
        replace(root / KEPT, text)


def free(root: Path) -> str | None:
    """Remove DVC's list of what runs, where a kill cut it: DVC would refuse every further run.

    What the list said is of no worth then: DVC takes it for gone, once its process is.

    Returns:
        A line that says so; None where the list is whole, or a DVC writes it at this moment.
    """
    text = _read(root / RUNNING)
    if text is None or _is_json(text):
        return None
    time.sleep(STILL)
    if _read(root / RUNNING) != text:
        return free(root)
    (root / RUNNING).unlink(missing_ok=True)
    return f"removed {RUNNING}, which a kill of DVC had cut"


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def known_outs(root: Path) -> set[str]:
    """The paths of everything that dvc.lock, or the copy of it, says a stage made."""
    texts = filter(None, (_read(root / NAME), _read(root / KEPT)))
    return {path for text in texts for entry in _entries(text).values() for path in _outs(entry)}


def _read(path: Path) -> str | None:
    """The text; None where there is no file. A cut may fall inside a letter."""
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else None


def _wrong(root: Path, text: str, copy: str | None) -> str | None:
    """What shows that a text is not whole; None where nothing does."""
    if not text.strip():
        return "empty"
    if not text.startswith(HEADER) and text != HEADER.replace(":\n", ": {}\n"):
        return "cut" if HEADER.startswith(text) else "not as DVC writes it"
    if not text.endswith("\n"):
        return "cut in the middle of a line"
    try:
        content = YAML(typ="safe").load(text)
    except YAMLError:
        return "not YAML"
    stages = content.get("stages")
    if not isinstance(stages, dict) or list(stages) != list(_entries(text)):
        return "cut before its first stage" if stages is None else "not as DVC writes it"
    if stages and not _is_complete(stages[last := list(stages)[-1]]):
        return f"cut inside the entry of {last}"
    committed = _committed(root)
    whole = copy if copy is not None else committed
    return None if whole is None or text == committed else _cut_from(root, _entries(text), _entries(whole))


def _cut_from(root: Path, found: Mapping[str, str], whole: Mapping[str, str]) -> str | None:
    """Whether entries are the beginning of others while what the missing ones made is in place."""
    names, last = list(found), list(found)[-1] if found else ""
    if last in whole and _begins(found[last], whole[last]):
        return f"cut inside the entry of {last}"
    lacking = list(whole)[len(names) :]
    in_place = any((root / out).exists() for name in lacking for out in _outs(whole[name]))
    if names == list(whole)[: len(names)] and in_place:
        return f"cut: {len(lacking)} of {len(whole)} stages are missing"
    return None


def _merged(text: str, copy: str) -> str:
    """The copy, with every entry of a cut text that is whole for certain."""
    fragment = text[text.rfind("\n") + 1 :]
    found, known = _entries(text.removesuffix(fragment)), _entries(copy)
    if found and not re.match(r"  \S", fragment):  # else the next entry has begun
        last = list(found)[-1]
        if fragment or _shape(found[last]) != _shape(known.get(last, "")):
            del found[last]
    return _joined({**known, **found})


def _entries(text: str) -> dict[str, str]:
    """The text of every entry, by stage, in order."""
    starts = list(_ENTRY.finditer(text, len(HEADER) if text.startswith(HEADER) else len(text)))
    ends = [*(start.start() for start in starts[1:]), len(text)]
    return {start[1].strip("'\""): text[start.start() : end] for start, end in zip(starts, ends, strict=False)}


def _joined(entries: Mapping[str, str]) -> str:
    return HEADER + "".join(entries.values()) if entries else HEADER.replace(":\n", ": {}\n")


def _outs(entry: str) -> Iterator[str]:
    _, _, outs = entry.partition("\n    outs:\n")
    for path in re.findall(r"^    - path: (.+)$", outs, re.MULTILINE):
        yield path.strip("'\"")


def _is_complete(entry: Any) -> bool:
    """Whether an entry says all that DVC writes of a stage that makes something."""
    if not isinstance(entry, dict) or "cmd" not in entry or not entry.get("outs"):
        return False
    for one in [*(entry.get("deps") or []), *entry["outs"]]:
        needed = {"path", "md5", "size"} | ({"nfiles"} if str(one.get("md5")).endswith(".dir") else set())
        if not needed <= one.keys():
            return False
    return True


def _shape(entry: str) -> list[str]:
    """Its lines without values."""
    return [line.split(":")[0] for line in entry.splitlines()]


def _begins(entry: str, whole: str) -> bool:
    """Whether an entry has only the first of the lines that a whole one has."""
    lines, all_lines = _shape(entry), _shape(whole)
    return len(lines) < len(all_lines) and lines == all_lines[: len(lines)]


def _committed(root: Path) -> str | None:
    """The file as it is in git's HEAD; None where there is none, or no git."""
    command = ["git", "show", f"HEAD:./{NAME}"]
    try:
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, encoding="utf-8", check=False)
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None

"""The store of answers, damaged, in use, full or read-only."""

import json
import os
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from evenruler.models.store import RowStore
from tests.faults.cases import Case, Outcome, Seen, doing, program, refusals

READ, KEEP = "read answers", "keep answers"
ANSWERS = {number.to_bytes(32, "big"): b"%d" % number * 9 for number in range(500)}
NEW = b"n" * 32


def _store(folder: Path) -> Path:
    """The file of a store that holds `ANSWERS`, closed, with nothing left in its log."""
    store = RowStore(folder)
    store.put(ANSWERS.items())
    store._connection.close()
    return store.path


def _reading(folder: Path) -> Seen:
    return doing(lambda: RowStore(folder).get(list(ANSWERS)))


def _holds(content: Callable[[bytes], bytes], folder: Path) -> Seen:
    path = _store(folder)
    path.write_bytes(content(path.read_bytes()))
    return _reading(folder)


def _other_schema(folder: Path) -> Seen:
    with sqlite3.connect(folder / "rows.sqlite") as connection:
        connection.execute("CREATE TABLE kept (a INT)")
    connection.close()
    return _reading(folder)


def _folder_in_its_place(folder: Path) -> Seen:
    (folder / "rows.sqlite").mkdir()
    return _reading(folder)


def _file_in_the_place_of_its_folder(folder: Path) -> Seen:
    (folder / "store").touch()
    return _reading(folder / "store")


def _bits(folder: Path) -> Seen:
    """Of 200 bits, one at a time, none gives another answer; nearly always the next run has them
    all again."""
    content = _store(folder / "whole").read_bytes()
    draw = np.random.default_rng(22)
    statuses, healed = [], 0
    for number in range(200):
        damaged = folder / str(number)
        damaged.mkdir()
        flipped = bytearray(content)
        place = int(draw.integers(len(content)))
        bit = int(draw.integers(8))
        flipped[place] ^= 1 << bit
        (damaged / "rows.sqlite").write_bytes(flipped)
        seen = doing(partial(_asked_again, damaged))
        assert "Traceback" not in seen.errors
        statuses.append(seen.status)
        if seen.status == 0:
            healed += RowStore(damaged).get(list(ANSWERS)) == ANSWERS
    assert healed > 150
    assert set(statuses) == {0, 2}
    return Seen(0, "")


def _asked_again(folder: Path) -> None:
    """A run, and the next one: what is there is right, what is missing is kept again."""
    for _ in range(2):
        store = RowStore(folder)
        assert store.get(list(ANSWERS)).items() <= ANSWERS.items()
        store.put(ANSWERS.items())


def _cut_log(folder: Path) -> Seen:
    """As after a power cut: half of the log is on the disk. What it held of whole batches is
    there."""
    store = RowStore(folder / "own")
    store.put(ANSWERS.items())
    store.put([(NEW, b"new")])
    copy = folder / "copy"
    copy.mkdir()
    for name in ("rows.sqlite", "rows.sqlite-wal"):
        (copy / name).write_bytes((store.root / name).read_bytes())
    log = copy / "rows.sqlite-wal"
    log.write_bytes(log.read_bytes()[:-100])
    assert RowStore(copy).get([*ANSWERS, NEW]) == ANSWERS
    return _reading(copy)


def _held(folder: Path) -> Seen:
    other, store = RowStore(folder), RowStore(folder)
    other._connection.execute("BEGIN IMMEDIATE")
    store._connection.execute("PRAGMA busy_timeout = 10")
    return doing(lambda: store.put(ANSWERS.items()))


def keep_much(folder: Path) -> None:
    """More than the disk takes."""
    keys = [bytes([number]) * 32 for number in range(200)]
    RowStore(folder).put((key, bytes(10_000)) for key in keys)


_KEEP_MUCH = """
import sys
from pathlib import Path
from evenruler.errors import run_program
from tests.faults.answers import keep_much
run_program(lambda: keep_much(Path(sys.argv[1])))
"""
_ON_300_KB = """
mount -t tmpfs -o size=300k x "$1/disk" && cp "$1/rows.sqlite" "$1/disk" && "$2" -c "$3" "$1/disk"
said=$?
cp "$1/disk/rows.sqlite" "$1"
exit $said
"""
_ROOT = Path(__file__).parents[2]


def _full(folder: Path) -> Seen:
    """A disk of 300 KB; where none can be made, a store that may not have more pages."""
    _store(folder)
    (folder / "disk").mkdir()
    alone = ["unshare", "-rm"]
    mount = [*alone, "mount", "-t", "tmpfs", "x", folder]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        store = RowStore(folder)
        store._connection.execute("PRAGMA max_page_count = 30")
        seen = doing(lambda: store.put([(NEW, bytes(500_000))]))
    else:
        words = [str(folder), sys.executable, _KEEP_MUCH]
        seen = program(*alone, "sh", "-c", _ON_300_KB, "sh", *words, folder=_ROOT)
    assert RowStore(folder).get(list(ANSWERS)) == ANSWERS
    return seen


def _limited(folder: Path) -> Seen:
    """A file may not be longer than 200 KB."""
    _store(folder)

    def act() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
        keep_much(folder)

    seen = _apart(act)
    assert RowStore(folder).get(list(ANSWERS)) == ANSWERS
    return seen


def _read_only(keys: list[bytes], folder: Path) -> Seen:
    """Nobody but its owner may write; what is missing would be asked of a model."""
    with tempfile.TemporaryDirectory() as place:  # that another user can come to
        root = Path(place, "store")
        path = _store(root)
        for file, mode in ((Path(place), 0o755), (path, 0o444), (root, 0o555)):
            file.chmod(mode)

        def act() -> None:
            if os.getuid() == 0:
                os.setgid(65534)
                os.setuid(65534)
            store = RowStore(root)
            answers = store.get(keys)
            assert answers.items() <= ANSWERS.items()
            if len(answers) < len(keys):
                store.require_writable(len(keys) - len(answers))

        seen = _apart(act)
        root.chmod(0o755)
    return seen


def _apart(act: Callable[[], None]) -> Seen:
    """What a process of its own sees that does something; one without rights, or with less room."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        seen = doing(act)
        os.write(write, json.dumps([seen.status, seen.errors]).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        status, errors = json.loads(pipe.read())
    os.waitpid(child, 0)
    return Seen(status, errors)


DAMAGED = ("damaged", "move it away")

CASES = [
    *refusals(
        READ,
        {
            "the file holds something else": (
                partial(_holds, lambda content: b"no base" * 999),
                *DAMAGED,
            ),
            "the file is cut": (
                partial(_holds, lambda content: content[: len(content) // 2]),
                *DAMAGED,
            ),
            "its head is another": (
                partial(_holds, lambda content: b"x" * 16 + content[16:]),
                *DAMAGED,
            ),
            "another schema": (_other_schema, *DAMAGED),
            "a folder in its place": (_folder_in_its_place, "cannot be opened", "EVENRULER_CACHE"),
            "a file in the place of its folder": (_file_in_the_place_of_its_folder, "no folder"),
            "read-only, something is missing": (
                partial(_read_only, [*ANSWERS, NEW]),
                "1 answers are missing",
                "make it writable",
            ),
        },
    ),
    Case("the file is empty", READ, Outcome.UNHARMED, partial(_holds, lambda content: b"")),
    Case("one bit is another (200 times)", READ, Outcome.RESUMED, _bits),
    Case("half of the last batch is on the disk", READ, Outcome.RESUMED, _cut_log),
    Case(
        "read-only, everything is there", READ, Outcome.UNHARMED, partial(_read_only, list(ANSWERS))
    ),
    *refusals(
        KEEP,
        {
            "another process writes for minutes": (_held, "another process", "run again"),
            "the disk is full": (_full, "no space left", "free some"),
            "the file may not grow": (_limited, "the disk fails", "free space"),
        },
    ),
]

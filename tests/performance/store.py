"""The store of answers with 10 million rows: its size, reading 100,000 of them, writing, and what
checksums cost.

At most 5 seconds and 500 MB are wanted for 100,000 answers read, and at most 5% for checksums. The
figures stand in docs/tested.md.

Run by hand: `python -m tests.performance.store`. It takes ten minutes and 4 GB below the temporary
folder (`TMPDIR`). Nine answers in ten are likelihoods of 16 bytes, one is a reply of 200. Keys are
hashes, as they are in use, so rows lie where chance puts them. Reading is done by a process of its
own: first of a file that the system has dropped from memory, then again. What checksums cost is
told by two stores of a million rows in turn, in one of which the checksum is a constant.
"""

import argparse
import hashlib
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path

from evenruler.models import store as module
from evenruler.models.store import RowStore

ROWS, READ = 10_000_000, 100_000
PAIRED, PAIRED_READ, TURNS = 1_000_000, 20_000, 61
AT_A_TIME = 500_000
"""Rows a transaction while a store is filled."""
BATCH, BATCHES = 32, 100
"""Answers that a model gives at a time, and how many times they are written."""


def key(i: int) -> bytes:
    return hashlib.sha256(i.to_bytes(8, "big")).digest()


def answer(i: int, own: bytes) -> bytes:
    return own[:16] if i % 10 else own * 6 + own[:8]


def rows(first: int, n: int) -> list[tuple[bytes, bytes]]:
    """Keys and answers, in the order in which they come in use: any."""
    return [(own := key(i), answer(i, own)) for i in range(first, first + n)]


def fill(root: Path, n: int) -> float:
    """Seconds that it took to write n rows, with all pages in memory; they lie as if they had come
    one by one."""
    store, took = RowStore(root), 0.0
    store._connection.execute("PRAGMA cache_size = -3000000")
    for first in range(0, n, AT_A_TIME):
        new = rows(first, min(AT_A_TIME, n - first))
        start = time.perf_counter()
        store.put(new)
        took += time.perf_counter() - start
    store._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    store._connection.close()
    return took


def spread(n: int, of: int, turn: int = 0) -> list[int]:
    """n numbers of rows, evenly spread; others in each turn."""
    return [(i * (of // n) + 7919 * turn) % of for i in range(n)]


def timed(call: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    start = clock()
    call()
    return clock() - start


def read(root: Path, of: int, turn: int) -> str:
    """Seconds for `READ` answers, and the memory of the process, in MB: before, and at most."""
    wanted = {key(i): answer(i, key(i)) for i in spread(READ, of, turn)}
    before = peak()
    start = time.perf_counter()
    found = RowStore(root).get(list(wanted))
    took = time.perf_counter() - start
    assert found == wanted
    return f"{took:.2f} s; {peak():.0f} MB ({before:.0f} before)"


def peak() -> float:
    """Megabytes, of this program alone: what `getrusage` says begins with those of the process that
    started it."""
    (kilobytes,) = re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(kilobytes) / 1024


def drop_from_memory(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def batches(first: int) -> Iterator[list[tuple[bytes, bytes]]]:
    for batch in range(BATCHES):
        yield [
            (own := key(i), answer(i, own))
            for i in range(first + batch * BATCH, first + (batch + 1) * BATCH)
        ]


def write(store: RowStore, new: Sequence[Sequence[tuple[bytes, bytes]]]) -> None:
    """Write batches as a model gives them, a transaction each."""
    for batch in new:
        store.put(batch)


@contextmanager
def unchecked() -> Iterator[None]:
    """The checksum is a constant."""
    own = module._crc
    module._crc = lambda content: 0
    try:
        yield
    finally:
        module._crc = own


def paired(folder: Path) -> None:
    """What checksums cost, in seconds of the processor, when reading and writing in turn with them
    and without."""
    fill(folder / "checked", PAIRED)
    with unchecked():
        fill(folder / "unchecked", PAIRED)
    checked, plain = RowStore(folder / "checked"), RowStore(folder / "unchecked")
    took: dict[str, tuple[list[float], list[float]]] = {"reading": ([], []), "writing": ([], [])}
    for turn in range(TURNS):
        keys = [key(i) for i in spread(PAIRED_READ, PAIRED, turn)]
        new = list(batches(PAIRED + turn * BATCHES * BATCH))
        for with_them in (True, False) if turn % 2 else (False, True):
            store = checked if with_them else plain
            with nullcontext() if with_them else unchecked():
                took["reading"][not with_them].append(
                    timed(partial(store.get, keys), time.process_time)
                )
                took["writing"][not with_them].append(
                    timed(partial(write, store, new), time.process_time)
                )
    for what, (ours, least) in took.items():
        ratios = sorted(a / b - 1 for a, b in zip(ours, least, strict=True))
        low, high = ratios[TURNS // 4], ratios[-TURNS // 4]
        print(
            f"{what}: {statistics.median(ours):.4f} s with checksums, "
            f"{statistics.median(least):.4f} s without; "
            f"median of {TURNS} ratios {statistics.median(ratios):+.1%} (half of them {low:+.1%} "
            f"to {high:+.1%})",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--read", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--turn", type=int, default=0, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.read:
        print(read(given.read, given.rows, given.turn))
        return
    with tempfile.TemporaryDirectory() as folder:
        paired(Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        took = fill(root, given.rows)
        path = root / "rows.sqlite"
        print(
            f"{given.rows:,} rows in {took:.0f} s, {path.stat().st_size / 1e9:.2f} GB", flush=True
        )
        for turn, what in enumerate(
            ("dropped from memory", "again", "others, dropped again", "again")
        ):
            if "dropped" in what:
                drop_from_memory(path)
            words = ["--rows", str(given.rows), "--read", str(root), "--turn", str(turn // 2)]
            done = subprocess.run(
                [sys.executable, "-m", "tests.performance.store", *words], check=True, stdout=-1
            )
            print(f"{READ:,} read, {what}: {done.stdout.decode().strip()}", flush=True)
        store, new = RowStore(root), list(batches(given.rows))
        took = timed(partial(write, store, new))
        print(
            f"{BATCHES} batches of {BATCH} written: {took:.2f} s, {BATCHES * BATCH / took:,.0f} "
            "answers/s"
        )


if __name__ == "__main__":
    main()

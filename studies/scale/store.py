"""The size of a store of answers with 10 million rows.

It takes minutes and 1 GB below the temporary
folder (`TMPDIR`). Nine answers in ten are likelihoods of 16 bytes, one is a reply of 200. Keys are
hashes, as they are in use, so rows lie where chance puts them. The figure stands in docs/tested.md.
"""

import hashlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

import typer

from evenruler.models.store import RowStore

N_AT_A_TIME = 500_000
"""Rows a transaction while a store is filled."""


def make_rows(first: int, n: int) -> Iterator[tuple[bytes, bytes]]:
    """Yield keys and answers."""
    for number in range(first, first + n):
        key = hashlib.sha256(number.to_bytes(8, "big")).digest()
        yield key, key[:16] if number % 10 else key * 6 + key[:8]


def main(rows: int = 10_000_000) -> None:
    """Fill a store with so many rows and print its size."""
    with tempfile.TemporaryDirectory() as folder:
        store = RowStore(Path(folder))
        # With all pages in memory; they lie as if they had come one by one.
        store._connection.execute("PRAGMA cache_size = -3000000")
        for first in range(0, rows, N_AT_A_TIME):
            store.put(make_rows(first, min(N_AT_A_TIME, rows - first)))
        store._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        print(f"{rows:,} rows, {store.path.stat().st_size / 1e9:.2f} GB")


if __name__ == "__main__":
    typer.run(main)

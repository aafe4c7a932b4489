"""The row store: every answer of every model, paid for once.

SQLite in WAL mode, one row an answer. The key says everything that the answer depends on, so nothing is ever stale:
a changed weight, library or template is another key. Answers never change once written.
"""

import hashlib
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from evenruler.tables.ids import canonical

_SCHEMA = """
CREATE TABLE IF NOT EXISTS answers (key BLOB PRIMARY KEY, answer BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS checksums (path TEXT PRIMARY KEY, bytes INT, mtime_ns INT, sha256 TEXT) WITHOUT ROWID;
"""
_KEYS_A_QUERY = 500


def cache_root() -> Path:
    """Where runtime state lives: `$EVENRULER_CACHE`, else `.cache` here."""
    return Path(os.environ.get("EVENRULER_CACHE", ".cache"))


class Keys:
    """Makes the keys of one engine and operation."""

    def __init__(self, engine: str, operation: str) -> None:
        """Fix what all keys share.

        Args:
            engine: What answers (`evenruler.models.engine`).
            operation: What is asked, with the version of how it is computed, as in "loglikelihood/1".
        """
        self._prefix = hashlib.sha256(canonical([engine, operation]))

    def key(self, question: object) -> bytes:
        """The key of one question: 32 bytes over engine, operation and the whole input."""
        digest = self._prefix.copy()
        digest.update(canonical(question))
        return digest.digest()


class RowStore:
    """Answers by key, on disk."""

    def __init__(self, root: Path | None = None) -> None:
        """Open (or make) the store under a folder, `cache_root()` by default."""
        root = root or cache_root()
        root.mkdir(parents=True, exist_ok=True)
        self.root = root
        self._connection = sqlite3.connect(root / "rows.sqlite", timeout=120, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = NORMAL")
        self._connection.executescript(_SCHEMA)

    def get(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """The answers that are there."""
        found: dict[bytes, bytes] = {}
        for chunk in _chunks(keys):
            marks = ",".join("?" * len(chunk))
            found.update(self._connection.execute(f"SELECT key, answer FROM answers WHERE key IN ({marks})", chunk))
        return found

    def put(self, answers: Iterable[tuple[bytes, bytes]]) -> None:
        """Write answers in one transaction, whole or not at all; one that is there stays as it is."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            self._connection.executemany("INSERT OR IGNORE INTO answers VALUES (?, ?)", answers)
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def count(self) -> int:
        """How many answers are held."""
        (count,) = self._connection.execute("SELECT count(*) FROM answers").fetchone()
        return int(count)

    def file_sha256(self, path: Path) -> str:
        """The sha256 of a file, remembered for as long as its length and time of change stay."""
        stat = path.stat()
        known = (str(path.resolve()), stat.st_size, stat.st_mtime_ns)
        row = self._connection.execute(
            "SELECT sha256 FROM checksums WHERE path = ? AND bytes = ? AND mtime_ns = ?", known
        ).fetchone()
        if row is not None:
            return str(row[0])
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        self._connection.execute("INSERT OR REPLACE INTO checksums VALUES (?, ?, ?, ?)", (*known, digest))
        return digest


def _chunks(keys: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    for first in range(0, len(keys), _KEYS_A_QUERY):
        yield keys[first : first + _KEYS_A_QUERY]

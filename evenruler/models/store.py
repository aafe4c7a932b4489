"""The row store: persistent answers of all models.

SQLite in WAL mode, one row per answer. The key covers everything that the answer depends on, so
entries are never stale: a changed weight, library or template gives another key. Answers are
immutable and have a checksum; a damaged one is dropped and computed again.
"""

import errno
import hashlib
import os
import sqlite3
import subprocess
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

from filelock import FileLock

from evenruler import repository
from evenruler.errors import UserError
from evenruler.files import file_sha256
from evenruler.strict import at_home
from evenruler.tables.ids import canonical_json
from evenruler.terminal import print_note

_SCHEMA = """
CREATE TABLE IF NOT EXISTS kept (key BLOB PRIMARY KEY, crc INT NOT NULL, answer BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS files
(path TEXT PRIMARY KEY, bytes INT, mtime_ns INT, ctime_ns INT, inode INT, sha256 TEXT) WITHOUT ROWID;
"""
_KEYS_A_QUERY = 500
_PAGES_A_KEY = 8  # pages read sequentially in the time of one random lookup
_PAGE = 4096
_LARGE = 2**26  # file size in bytes from which reading ahead pays off
_crc = zlib.crc32
_FILE = "rows.sqlite"


def cache_root() -> Path:
    """The cache folder: `$EVENRULER_CACHE`, else the repository's `.cache`, outside a repository
    the user's.
    """
    chosen = os.environ.get("EVENRULER_CACHE")
    if chosen:
        return at_home(chosen)
    repository_root = repository.find_repository_root()
    if repository_root:
        # So that an experiment asks for nothing that is known.
        outer = repository.outside_experiments(repository_root)
        if outer:
            return outer / ".cache"
        return Path(".cache") if repository_root == Path.cwd() else repository_root / ".cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "evenruler"


def keys_of(engine: str, operation: str, questions: Iterable[object]) -> list[bytes]:
    """Cache keys: sha256 (32 bytes) of engine (`engine_string`), operation ("words/2") and each
    question.
    """
    beginning, keys = hashlib.sha256(canonical_json([engine, operation])), []
    for question in questions:
        digest = beginning.copy()
        digest.update(canonical_json(question))
        keys.append(digest.digest())
    return keys


class RowStore:
    """Persistent answers by key."""

    def __init__(self, root: Path | None = None) -> None:
        """Open or create the store in a folder, by default `cache_root()`; UserError if it is
        damaged.

        A read-only store still returns the answers it has.
        """
        self.root = root or cache_root()
        self.path = self.root / _FILE
        self.is_writable = True
        self._dropped = self._is_read = False
        self._lock = FileLock(self.root / "rows.lock")
        with self._convert_errors():
            self._connection = self._opened()
            self._connection.text_factory = _as_text

    def get(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """The stored answers with a valid checksum; UserError if the store is damaged."""
        answer_by_key: dict[bytes, bytes] = {}
        damaged: list[bytes] = []
        with self._convert_errors():
            self._read_ahead(len(keys))
        ordered = sorted(keys)  # so that each page is read once
        for first in range(0, len(ordered), _KEYS_A_QUERY):
            chunk = ordered[first : first + _KEYS_A_QUERY]
            query = f"SELECT key, crc, answer FROM kept WHERE key IN ({','.join('?' * len(chunk))})"
            with self._convert_errors():
                rows = self._connection.execute(query, chunk).fetchall()
            for key, crc, answer in rows:
                if (
                    isinstance(key, bytes)
                    and isinstance(answer, bytes)
                    and crc == _crc(key + answer)
                ):
                    answer_by_key[key] = answer
                else:
                    damaged.append(key)
        if damaged and not self._dropped:
            print_note(
                f"{self.path}: some answers were damaged on the disk; they are dropped and asked "
                "again"
            )
            self._dropped = True
        if damaged and self.is_writable:
            with self._convert_errors(), self._transaction():
                self._connection.executemany(
                    "DELETE FROM kept WHERE key = ?", [(key,) for key in damaged]
                )
        return answer_by_key

    def put(self, answers: Iterable[tuple[bytes, bytes]]) -> None:
        """Store answers in one transaction; existing ones are not replaced.

        UserError if the store is damaged or read-only, or the disk is full.
        """
        with self._convert_errors(), self._transaction():
            rows = ((key, _crc(key + answer), answer) for key, answer in answers)
            self._connection.executemany("INSERT OR IGNORE INTO kept VALUES (?, ?, ?)", rows)

    def count(self) -> int:
        """Number of stored answers."""
        with self._convert_errors():
            (count,) = self._connection.execute("SELECT count(*) FROM kept").fetchone()
        return int(count)

    def require_writable(self, missing: int) -> None:
        """UserError if the store is read-only, before a model is asked for answers that could not
        be stored.
        """
        if not self.is_writable:
            what = f"{missing} answers are missing, and it can only be read"
            raise UserError(
                what, where=str(self.path), remedy="make it writable, or set EVENRULER_CACHE"
            )

    def file_sha256(self, path: Path) -> str:
        """The sha256 of a file, cached until its size, times of change or inode change."""
        stat = path.stat()
        file_state = (
            str(path.resolve()),
            stat.st_size,
            stat.st_mtime_ns,
            stat.st_ctime_ns,
            stat.st_ino,
        )
        query = (
            "SELECT sha256 FROM files WHERE path = ? AND bytes = ? AND mtime_ns = ? AND "
            "ctime_ns = ? AND inode = ?"
        )
        with self._convert_errors():
            row = self._connection.execute(query, file_state).fetchone()
        if row is not None:
            return str(row[0])
        digest = file_sha256(path)
        if self.is_writable:
            with self._convert_errors(), self._transaction():
                self._connection.execute(
                    "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?)", (*file_state, digest)
                )
        return digest

    def _opened(self) -> sqlite3.Connection:
        """A writable connection, or a read-only one if writing is not permitted."""
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(self.path, timeout=120, isolation_level=None)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.executescript(_SCHEMA)
            connection.execute(
                "DELETE FROM kept WHERE FALSE"
            )  # detects a file without write permission
        except (sqlite3.OperationalError, OSError):
            if not self.path.is_file() or (
                os.access(self.path, os.W_OK) and os.access(self.root, os.W_OK)
            ):
                raise
            self.is_writable = False
            # With an empty log the file alone is the whole store.
            log = self.path.with_name(f"{_FILE}-wal")
            how = "mode=ro" if log.exists() and log.stat().st_size else "immutable=1"
            uri = f"{self.path.resolve().as_uri()}?{how}"
            connection = sqlite3.connect(uri, uri=True)
        return connection

    def _read_ahead(self, wanted: int) -> None:
        """Load the file into the system's page cache if many keys are wanted, since keys are
        scattered over it.
        """
        size = self.path.stat().st_size
        if self._is_read or size < _LARGE or wanted * _PAGES_A_KEY * _PAGE < size:
            return
        self._is_read = True
        # In another process: closing the file here would release SQLite's locks on it, and the next
        # connection to close would take itself for the last one and delete the log that this one
        # writes to.
        with suppress(OSError):
            subprocess.run(["cat", str(self.path)], stdout=subprocess.DEVNULL, check=False)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """A transaction, one at a time across processes: SQLite before 3.51.3 may else corrupt the
        file.
        """
        with self._lock if self.is_writable else nullcontext():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                with suppress(sqlite3.Error):  # SQLite may have rolled back already
                    self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    @contextmanager
    def _convert_errors(self) -> Iterator[None]:
        """Turn errors of SQLite and the file system into a UserError."""
        try:
            yield
        except sqlite3.Error as error:
            what, remedy = _describe_error(error)
            raise UserError(what, where=str(self.path), remedy=remedy) from None
        except OSError as error:
            if error.errno == errno.ENOSPC:
                raise
            what = f"no folder to keep answers in ({error.strerror})"
            raise UserError(
                what, where=str(self.root), remedy="make it one, or set EVENRULER_CACHE"
            ) from None


def _as_text(value: bytes) -> str:
    """Text of bytes that SQLite returns, where invalid UTF-8 becomes a replacement character."""
    return value.decode(errors="replace")


def _describe_error(error: sqlite3.Error) -> tuple[str, str]:
    """What went wrong with the store, and the remedy, by SQLite's error code."""
    code = getattr(error, "sqlite_errorcode", None)
    primary = None if code is None else code & 0xFF
    if primary == sqlite3.SQLITE_FULL:
        return (
            "no space left to keep answers",
            "free some and run again; what was kept is not asked again",
        )
    if primary in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return "another process holds the store of answers", "run again when it is done"
    if primary in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        return (
            f"the store of answers cannot be opened or written ({error})",
            "make it writable, or set EVENRULER_CACHE",
        )
    if primary == sqlite3.SQLITE_IOERR:
        return f"the disk fails ({error})", "free space or fix the disk, and run again"
    return f"the store of answers is damaged ({error})", "move it away; what it held is asked again"

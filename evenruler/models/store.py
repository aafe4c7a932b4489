"""The row store: every answer of every model, paid for once.

SQLite in WAL mode, one row an answer. The key says everything that the answer depends on, so nothing is ever stale:
a changed weight, library or template is another key. Answers never change once written, and each has a checksum: one
that was damaged on the disk is dropped, and so asked anew.
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
from evenruler.tables.ids import canonical
from evenruler.terminal import note

_SCHEMA = """
CREATE TABLE IF NOT EXISTS kept (key BLOB PRIMARY KEY, crc INT NOT NULL, answer BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS files
(path TEXT PRIMARY KEY, bytes INT, mtime_ns INT, ctime_ns INT, inode INT, sha256 TEXT) WITHOUT ROWID;
"""
_KEYS_A_QUERY = 500
_PAGES_A_KEY = 8  # pages that are read in the order of the file in the time in which one is looked for
_PAGE = 4096
_LARGE = 2**26  # bytes from which on it is worth while to read the whole file
_crc = zlib.crc32
_FILE = "rows.sqlite"


def cache_root() -> Path:
    """Where runtime state lives: `$EVENRULER_CACHE`; else `.cache` of the repository, and outside one the user's."""
    if chosen := os.environ.get("EVENRULER_CACHE"):
        return Path(chosen)
    if found := repository.root():
        return Path(".cache") if found == Path.cwd() else found / ".cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "evenruler"


def keys_of(engine: str, operation: str, questions: Iterable[object]) -> list[bytes]:
    """Keys of questions: 32 bytes over what answers (`engines.described`), what is asked ("words/2"), and all of it."""
    beginning, found = hashlib.sha256(canonical([engine, operation])), []
    for question in questions:
        digest = beginning.copy()
        digest.update(canonical(question))
        found.append(digest.digest())
    return found


class RowStore:
    """Answers by key, on disk."""

    def __init__(self, root: Path | None = None) -> None:
        """Open (or make) the store under a folder, `cache_root()` by default; UserError where it is damaged.

        A store that cannot be written, as in a folder that is read-only, still gives what it has.
        """
        self.root = root or cache_root()
        self.path = self.root / _FILE
        self.is_writable = True
        self._dropped = self._is_read = False
        self._lock = FileLock(self.root / "rows.lock")
        with self._told():
            self._connection = self._opened()
            self._connection.text_factory = _as_text

    def get(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """The answers that are there, and are what was written; UserError where the store is damaged."""
        found: dict[bytes, bytes] = {}
        damaged: list[bytes] = []
        with self._told():
            self._read_ahead(len(keys))
        ordered = sorted(keys)  # so that a page is come to once
        for first in range(0, len(ordered), _KEYS_A_QUERY):
            chunk = ordered[first : first + _KEYS_A_QUERY]
            query = f"SELECT key, crc, answer FROM kept WHERE key IN ({','.join('?' * len(chunk))})"
            with self._told():
                rows = self._connection.execute(query, chunk).fetchall()
            for key, crc, answer in rows:
                if isinstance(key, bytes) and isinstance(answer, bytes) and crc == _crc(key + answer):
                    found[key] = answer
                else:
                    damaged.append(key)
        if damaged and not self._dropped:
            note(f"{self.path}: some answers were damaged on the disk; they are dropped and asked anew")
            self._dropped = True
        if damaged and self.is_writable:
            with self._told(), self._transaction():
                self._connection.executemany("DELETE FROM kept WHERE key = ?", [(key,) for key in damaged])
        return found

    def put(self, answers: Iterable[tuple[bytes, bytes]]) -> None:
        """Write answers in one transaction, whole or not at all; one that is there stays as it is.

        UserError where the store is damaged, the disk full, or the folder read-only.
        """
        with self._told(), self._transaction():
            rows = ((key, _crc(key + answer), answer) for key, answer in answers)
            self._connection.executemany("INSERT OR IGNORE INTO kept VALUES (?, ?, ?)", rows)

    def count(self) -> int:
        """How many answers are held."""
        with self._told():
            (count,) = self._connection.execute("SELECT count(*) FROM kept").fetchone()
        return int(count)

    def require_writable(self, missing: int) -> None:
        """Stop (UserError) before a model is asked so many questions whose answers could not be kept."""
        if not self.is_writable:
            what = f"{missing} answers are missing, and it can only be read"
            raise UserError(what, where=str(self.path), remedy="make it writable, or set EVENRULER_CACHE")

    def file_sha256(self, path: Path) -> str:
        """The sha256 of a file, remembered for as long as its length, its times of change and its inode stay."""
        stat = path.stat()
        known = (str(path.resolve()), stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino)
        query = "SELECT sha256 FROM files WHERE path = ? AND bytes = ? AND mtime_ns = ? AND ctime_ns = ? AND inode = ?"
        with self._told():
            row = self._connection.execute(query, known).fetchone()
        if row is not None:
            return str(row[0])
        digest = file_sha256(path)
        if self.is_writable:
            with self._told(), self._transaction():
                self._connection.execute("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?)", (*known, digest))
        return digest

    def _opened(self) -> sqlite3.Connection:
        """A connection to write by, or where that is forbidden one to read by."""
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(self.path, timeout=120, isolation_level=None)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.executescript(_SCHEMA)
            connection.execute("DELETE FROM kept WHERE FALSE")  # a file without the right to write is only noticed now
        except (sqlite3.OperationalError, OSError):
            if not self.path.is_file() or (os.access(self.path, os.W_OK) and os.access(self.root, os.W_OK)):
                raise
            self.is_writable = False
            # Where nothing waits to be moved from the log, the file alone is the whole store.
            log = self.path.with_name(f"{_FILE}-wal")
            how = "mode=ro" if log.exists() and log.stat().st_size else "immutable=1"
            connection = sqlite3.connect(f"{self.path.resolve().as_uri()}?{how}", uri=True)
        return connection

    def _read_ahead(self, wanted: int) -> None:
        """Have the whole file in the system's memory where a good part of it is wanted; keys are all over it."""
        size = self.path.stat().st_size
        if self._is_read or size < _LARGE or wanted * _PAGES_A_KEY * _PAGE < size:
            return
        self._is_read = True
        # By another process: one that closes a file loses all its locks on it, those of SQLite too. The next to close
        # its connection would take itself for the last one, and remove the log that this one writes.
        with suppress(OSError):
            subprocess.run(["cat", str(self.path)], stdout=subprocess.DEVNULL, check=False)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """One at a time, whatever process: SQLite before 3.51.3 may damage a file whose log two write back at once."""
        with self._lock if self.is_writable else nullcontext():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                with suppress(sqlite3.Error):  # SQLite has rolled back by itself where it could not write
                    self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Turn what SQLite and the folder raise into a line for the user."""
        try:
            yield
        except sqlite3.Error as error:
            what, remedy = _in_words(error)
            raise UserError(what, where=str(self.path), remedy=remedy) from None
        except OSError as error:
            if error.errno == errno.ENOSPC:
                raise
            what = f"no folder to keep answers in ({error.strerror})"
            raise UserError(what, where=str(self.root), remedy="make it one, or set EVENRULER_CACHE") from None


def _as_text(value: bytes) -> str:
    return value.decode(errors="replace")


def _in_words(error: sqlite3.Error) -> tuple[str, str]:
    code = getattr(error, "sqlite_errorcode", None)
    primary = None if code is None else code & 0xFF
    if primary == sqlite3.SQLITE_FULL:
        return "no space left to keep answers", "free some and run again; what was kept is not asked again"
    if primary in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return "another process holds the store of answers", "run again when it is done"
    if primary in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        return f"the store of answers cannot be opened or written ({error})", "make it writable, or set EVENRULER_CACHE"
    if primary == sqlite3.SQLITE_IOERR:
        return f"the disk fails ({error})", "free space or mend the disk, and run again"
    return f"the store of answers is damaged ({error})", "move it away; what it held is asked again"

import hashlib
import os
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread
from types import SimpleNamespace

import pytest

from evenruler.models import store as store_module
from evenruler.models.store import RowStore, cache_root, keys_of


def key_of(number: int) -> bytes:
    return number.to_bytes(32, "big")


ONE_AND_TWO = {
    key_of(1): b"one",
    key_of(2): b"\x00\xff",
}


class TestAnswers:
    def test_what_is_put_is_there_for_whoever_opens_the_folder_next(self, store) -> None:
        store.put(ONE_AND_TWO.items())

        again = RowStore(store.root)

        assert again.get([*ONE_AND_TWO, key_of(3)]) == ONE_AND_TWO
        assert again.count() == 2

    def test_more_keys_than_a_query_takes(self, store) -> None:
        answers = {key_of(number): str(number).encode() for number in range(1201)}
        store.put(answers.items())

        assert store.get([*answers, key_of(9999)]) == answers

    def test_a_batch_is_written_whole_or_not_at_all(self, store) -> None:
        def breaks() -> Iterator[tuple[bytes, bytes]]:
            yield key_of(1), b"one"
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            store.put(breaks())

        assert store.count() == 0
        store.put(ONE_AND_TWO.items())  # and it goes on
        assert RowStore(store.root).get([*ONE_AND_TWO]) == ONE_AND_TWO

    def test_two_who_have_it_open_see_each_other_and_the_first_answer_stays(self, store) -> None:
        other = RowStore(store.root)
        other.put([(key_of(1), b"one")])
        store.put([(key_of(1), b"mine"), (key_of(2), b"\x00\xff")])

        assert other.get([*ONE_AND_TWO]) == ONE_AND_TWO

    def test_whoever_reads_the_whole_file_keeps_the_locks_of_sqlite_on_it(
        self, store, monkeypatch
    ) -> None:
        """Else another process that closes the store takes itself for the last, and removes the
        log."""
        monkeypatch.setattr(store_module, "_LARGE", 0)
        store.put([(key_of(1), b"one")])
        store.get([key_of(1)])
        assert store._is_read
        counts = (
            f"c = sqlite3.connect({str(store.path)!r}); c.execute('SELECT * FROM kept').close()"
        )
        code = f"import sqlite3; {counts}; c.close()"

        subprocess.run([sys.executable, "-c", code], check=True)

        assert store.path.with_name("rows.sqlite-wal").exists()
        store.put(ONE_AND_TWO.items())
        assert RowStore(store.root).get([*ONE_AND_TWO]) == ONE_AND_TWO

    def test_two_do_not_write_at_once(self, store) -> None:
        writer = Thread(target=lambda: RowStore(store.root).put(ONE_AND_TWO.items()))
        with store._lock:
            writer.start()
            writer.join(0.3)
            assert writer.is_alive()
            assert store.count() == 0
        writer.join(60)
        assert store.count() == 2


class TestKeys:
    def test_a_key_is_a_hash_of_engine_operation_and_question(self) -> None:
        hashed = b'["engine","likelihood/1"]["","n\xc3\xa4he"]'

        (key,) = keys_of("engine", "likelihood/1", [["", "nähe"]])
        assert key == hashlib.sha256(hashed).digest()

    def test_the_order_in_which_settings_are_named_does_not_matter(self) -> None:
        first, second = keys_of(
            "engine", "operation/1", [{"seed": 1, "text": "x"}, {"text": "x", "seed": 1}]
        )

        assert first == second


class TestChecksums:
    @pytest.fixture
    def path(self, store, tmp_path):
        """A file whose checksum is known."""
        path = tmp_path / "file"
        path.write_bytes(b"content")
        assert store.file_sha256(path) == hashlib.sha256(b"content").hexdigest()
        return path

    def test_it_is_remembered_while_nothing_changes(self, store, path, monkeypatch) -> None:
        before = store.file_sha256(path)
        monkeypatch.setattr(hashlib, "file_digest", lambda *_: pytest.fail("it was read again"))

        assert RowStore(store.root).file_sha256(path) == before

    def test_a_file_that_was_written_over_and_dated_back_is_read_again(self, store, path) -> None:
        stat = path.stat()
        path.write_bytes(b"CONTENT")
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))

        assert store.file_sha256(path) == hashlib.sha256(b"CONTENT").hexdigest()

    def test_another_file_in_its_place_is_read(self, store, path, monkeypatch) -> None:
        """Whatever a file system says of times: the inode is another."""
        old = path.stat()
        other = path.with_name("other")
        other.write_bytes(b"CONTENT")
        other.rename(path)
        assert path.stat().st_ino != old.st_ino
        fields = [name for name in dir(old) if name.startswith("st_")]
        stat = SimpleNamespace(**{name: getattr(old, name) for name in fields})
        stat.st_ino = path.stat().st_ino
        real = type(path).stat
        stat_of = lambda self, **how: stat if self == path else real(self, **how)  # noqa: E731
        monkeypatch.setattr(type(path), "stat", stat_of)

        assert store.file_sha256(path) == hashlib.sha256(b"CONTENT").hexdigest()


class TestPlace:
    @pytest.mark.parametrize(
        ("variables", "root"),
        [
            ({"EVENRULER_CACHE": "elsewhere"}, "elsewhere"),
            ({"HOME": "home"}, "home/.cache/evenruler"),
        ],
    )
    def test_it_lies_where_the_environment_says_or_with_the_user(
        self, variables, root, tmp_path, monkeypatch
    ) -> None:
        for name in ("EVENRULER_CACHE", "XDG_CACHE_HOME"):
            monkeypatch.delenv(name, raising=False)
        for name, folder in variables.items():
            monkeypatch.setenv(name, str(tmp_path / folder))
        monkeypatch.chdir(tmp_path)

        assert RowStore().root == cache_root() == tmp_path / root
        assert (tmp_path / root / "rows.sqlite").exists()

    def test_a_tilde_is_the_home_of_the_user(self, tmp_path, monkeypatch, error_of) -> None:
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.setenv("EVENRULER_CACHE", "~/cache")
        assert cache_root() == tmp_path / "cache"
        monkeypatch.setenv("EVENRULER_CACHE", "~nobody-of-this-name/cache")
        assert error_of(cache_root).startswith("~nobody-of-this-name/cache: no such user here")

    def test_or_else_under_cache_of_the_repository(self, tmp_path, monkeypatch) -> None:
        monkeypatch.delenv("EVENRULER_CACHE", raising=False)
        (tmp_path / "params.yaml").touch()
        (tmp_path / "below").mkdir()
        for folder, root in (("", Path(".cache")), ("below", tmp_path / ".cache")):
            monkeypatch.chdir(tmp_path / folder)
            assert RowStore().root == root
        assert (tmp_path / ".cache" / "rows.sqlite").exists()


NUMBERS = {
    key_of(i): struct.pack(
        "<d",
        -i / 7,
    )
    for i in range(60)
}


def numbers_without(*lost: int) -> dict[bytes, bytes]:
    keys = set(map(key_of, lost))
    return {key: answer for key, answer in NUMBERS.items() if key not in keys}


class TestDamage:
    def test_an_answer_that_was_changed_on_the_disk_is_asked_anew_and_kept_again(
        self, store, capsys
    ) -> None:
        store.put(NUMBERS.items())
        change = store._connection.execute
        change("UPDATE kept SET answer = ? WHERE key = ?", (b"other", key_of(3)))
        change("UPDATE kept SET crc = crc + 1 WHERE key = ?", (key_of(4),))

        assert store.get([*NUMBERS]) == numbers_without(3, 4)
        assert store.count() == 58
        store.put([(key_of(3), NUMBERS[key_of(3)])])
        assert store.get([*NUMBERS]) == numbers_without(4)
        change("UPDATE kept SET crc = 0 WHERE key = ?", (key_of(5),))
        assert store.get([key_of(5)]) == {}
        assert capsys.readouterr().err.count("damaged on the disk") == 1

    def test_an_answer_under_the_key_of_another_is_dropped(self, store) -> None:
        store.put([(key_of(1), b"one")])
        store._connection.execute("UPDATE kept SET key = ? WHERE key = ?", (key_of(2), key_of(1)))

        assert store.get([key_of(2)]) == {}

    def test_a_key_that_became_text_is_dropped(self, store) -> None:
        """Among many keys SQLite finds it by its bytes, whatever the row's header says they are."""
        store.put(NUMBERS.items())
        store._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        store._connection.close()
        content = bytearray(store.path.read_bytes())
        kind = content.find(key_of(3)) - 3  # of the key, before those of checksum and answer
        assert content[kind] == 12 + 2 * len(key_of(3))
        content[kind] += 1  # odd is text
        store.path.write_bytes(content)

        answers = RowStore(store.root).get(list(NUMBERS))

        assert answers == numbers_without(3)


def as_another_user(call: Callable[[], None]) -> str:
    """Run something in a process that may not write everywhere; what it raised, or nothing."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.getuid() == 0:
                os.setgid(65534)
                os.setuid(65534)
            call()
        except BaseException as error:
            os.write(write, repr(error).encode())
        os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    with os.fdopen(read) as pipe:
        return pipe.read()


class TestReadOnly:
    @pytest.fixture
    def root(self) -> Iterator[Path]:
        """A folder that another user comes to."""
        with tempfile.TemporaryDirectory() as folder:
            Path(folder).chmod(0o755)
            root = Path(folder, "store")
            yield root
            root.chmod(0o755)

    def test_what_still_waits_in_the_log_is_read_too(self, root) -> None:
        store = RowStore(root)
        store.put(NUMBERS.items())
        assert store.path.with_name("rows.sqlite-wal").stat().st_size
        for path in root.iterdir():
            path.chmod(0o444)
        root.chmod(0o555)

        def use() -> None:
            assert RowStore(root).get([*NUMBERS]) == NUMBERS

        assert as_another_user(use) == ""
        assert store.count() == len(NUMBERS)  # it was open all the time

import hashlib
import os
import sqlite3
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from evenruler.models import store as store_module
from evenruler.models.store import RowStore, _as_text, _in_words, cache_root, keys_of


def key_of(number: int) -> bytes:
    return number.to_bytes(32, "big")


class TestAnswers:
    def test_what_is_put_is_there_for_whoever_opens_the_folder_next(self, store) -> None:
        store.put([(key_of(1), b"one"), (key_of(2), b"\x00\xff")])

        again = RowStore(store.root)

        assert again.get([key_of(2), key_of(3), key_of(1)]) == {
            key_of(1): b"one",
            key_of(2): b"\x00\xff",
        }
        assert again.count() == 2

    def test_the_first_answer_stays(self, store) -> None:
        store.put([(key_of(1), b"first")])
        store.put([(key_of(1), b"second"), (key_of(2), b"new")])

        assert store.get([key_of(1), key_of(2)]) == {key_of(1): b"first", key_of(2): b"new"}

    def test_more_keys_than_a_query_takes(self, store) -> None:
        answers = {key_of(i): str(i).encode() for i in range(1201)}
        store.put(answers.items())

        assert store.get([*answers, key_of(9999)]) == answers

    def test_no_keys(self, store) -> None:
        assert store.get([]) == {}
        store.put([])
        assert store.count() == 0

    def test_a_batch_is_written_whole_or_not_at_all(self, store) -> None:
        def breaks() -> Iterator[tuple[bytes, bytes]]:
            yield key_of(1), b"one"
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            store.put(breaks())

        assert store.count() == 0
        store.put([(key_of(2), b"two")])  # and it goes on
        assert RowStore(store.root).get([key_of(1), key_of(2)]) == {key_of(2): b"two"}

    def test_two_who_have_it_open_see_each_other(self, store) -> None:
        other = RowStore(store.root)
        other.put([(key_of(1), b"one")])
        store.put([(key_of(1), b"mine"), (key_of(2), b"two")])

        assert other.get([key_of(1), key_of(2)]) == {key_of(1): b"one", key_of(2): b"two"}

    def test_it_writes_ahead_and_waits_for_the_disk_when_it_moves_the_log(self, store) -> None:
        """Readers are not held up, and a power cut loses the last batches at most, never the
        file."""
        settings = [
            store._connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "synchronous", "busy_timeout")
        ]

        assert settings == ["wal", 1, 120_000]

    def test_a_store_is_read_in_its_order_once_where_a_good_part_of_it_is_wanted(
        self, store, monkeypatch
    ) -> None:
        monkeypatch.setattr(store_module, "_LARGE", 2**20)
        keys = [key_of(number) for number in range(2000)]
        store.put((key, bytes(1000)) for key in keys)  # 2 MB and more
        store._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        reads: list[Path] = []
        monkeypatch.setattr(
            store_module.subprocess, "run", lambda command, **_: reads.append(Path(command[-1]))
        )

        for n, n_reads in ((10, 0), (1500, 1), (2000, 1)):
            assert len(store.get(keys[:n])) == n
            assert len(reads) == n_reads
        assert reads == [store.path]

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
            f"c = sqlite3.connect({str(store.path)!r}); print(*c.execute('SELECT count(*) "
            "FROM kept')); c.close()"
        )
        assert (
            subprocess.check_output([sys.executable, "-c", f"import sqlite3; {counts}"], text=True)
            == "(1,)\n"
        )

        assert store.path.with_name("rows.sqlite-wal").exists()
        store.put([(key_of(2), b"two")])
        assert RowStore(store.root).get([key_of(1), key_of(2)]) == {
            key_of(1): b"one",
            key_of(2): b"two",
        }

    def test_two_processes_do_not_write_at_once(self, store) -> None:
        writes = (
            "from evenruler.models.store import RowStore; store = "
            "RowStore(Path(sys.argv[1])); print(flush=True)"
        )
        program = (
            f"import sys; from pathlib import Path; {writes}; store.put([(bytes(32), b'one')])"
        )
        command = [sys.executable, "-c", program, str(store.root)]
        root = Path(__file__).parents[2]
        with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=root) as writer:
            with store._lock:
                assert writer.stdout is not None
                writer.stdout.readline()
                with pytest.raises(subprocess.TimeoutExpired):
                    writer.wait(0.5)
                assert store.count() == 0
            assert writer.wait(60) == 0
        assert store.count() == 1


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
    def test_it_is_remembered_while_nothing_changes(self, store, tmp_path, monkeypatch) -> None:
        path = tmp_path / "file"
        path.write_bytes(b"content")
        before = store.file_sha256(path)
        assert before == hashlib.sha256(b"content").hexdigest()
        monkeypatch.setattr(
            hashlib, "file_digest", lambda *_: pytest.fail("the file was read again")
        )

        assert RowStore(store.root).file_sha256(path) == before

    def test_a_file_that_was_written_over_and_dated_back_is_read_again(
        self, store, tmp_path
    ) -> None:
        path = tmp_path / "file"
        path.write_bytes(b"content")
        store.file_sha256(path)
        stat = path.stat()
        path.write_bytes(b"CONTENT")
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))

        assert store.file_sha256(path) == hashlib.sha256(b"CONTENT").hexdigest()

    def test_another_file_in_its_place_is_read(self, store, tmp_path, monkeypatch) -> None:
        """Whatever a file system says of times: the inode is another."""
        path, other = tmp_path / "file", tmp_path / "other"
        path.write_bytes(b"content")
        other.write_bytes(b"CONTENT")
        store.file_sha256(path)
        old_stat = path.stat()
        other.rename(path)
        inode = path.stat().st_ino
        assert inode != old_stat.st_ino
        stat = type(
            "Stat",
            (),
            {name: getattr(old_stat, name) for name in dir(old_stat) if name.startswith("st_")},
        )()
        stat.st_ino = inode
        real_stat = type(path).stat
        monkeypatch.setattr(
            type(path),
            "stat",
            lambda self, **options: stat if self == path else real_stat(self, **options),
        )

        assert store.file_sha256(path) == hashlib.sha256(b"CONTENT").hexdigest()


class TestPlace:
    def test_the_store_lies_where_the_environment_says(self, tmp_path, monkeypatch) -> None:
        monkeypatch.setenv("EVENRULER_CACHE", str(tmp_path / "elsewhere"))

        RowStore().put([(key_of(1), b"one")])

        assert cache_root() == tmp_path / "elsewhere"
        assert (tmp_path / "elsewhere" / "rows.sqlite").exists()

    def test_or_else_under_cache_of_the_repository(self, tmp_path, monkeypatch) -> None:
        monkeypatch.delenv("EVENRULER_CACHE", raising=False)
        (tmp_path / "params.yaml").touch()
        (tmp_path / "below").mkdir()
        monkeypatch.chdir(tmp_path)

        assert RowStore().root == Path(".cache")
        assert (tmp_path / ".cache" / "rows.sqlite").exists()
        monkeypatch.chdir(tmp_path / "below")
        assert RowStore().root == tmp_path / ".cache"

    def test_and_outside_a_repository_in_that_of_the_user(self, tmp_path, monkeypatch) -> None:
        monkeypatch.delenv("EVENRULER_CACHE", raising=False)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "own"))
        monkeypatch.chdir(tmp_path)

        assert RowStore().root == tmp_path / "own" / "evenruler"
        monkeypatch.delenv("XDG_CACHE_HOME")
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        assert RowStore().root == tmp_path / "home" / ".cache" / "evenruler"


NUMBERS = {key_of(i): struct.pack("<d", -i / 7) for i in range(60)}


def numbers_without(*lost: int) -> dict[bytes, bytes]:
    keys = set(map(key_of, lost))
    return {key: answer for key, answer in NUMBERS.items() if key not in keys}


class TestDamage:
    def test_an_answer_that_was_changed_on_the_disk_is_asked_anew_and_kept_again(
        self, store, capsys
    ) -> None:
        store.put(NUMBERS.items())
        other = struct.pack("<d", 1.0)
        store._connection.execute("UPDATE kept SET answer = ? WHERE key = ?", (other, key_of(3)))
        store._connection.execute("UPDATE kept SET crc = crc + 1 WHERE key = ?", (key_of(4),))

        answers = store.get(list(NUMBERS))

        assert answers == numbers_without(3, 4)
        assert store.count() == 58
        again = {key_of(3): NUMBERS[key_of(3)]}
        store.put(again.items())
        assert store.get([key_of(3)]) == again
        store._connection.execute("UPDATE kept SET crc = 0 WHERE key = ?", (key_of(5),))
        assert store.get([key_of(5)]) == {}
        assert capsys.readouterr().err.count("damaged on the disk") == 1

    def test_an_error_that_sqlite_gives_no_code_is_told_as_damage(self) -> None:
        assert _in_words(sqlite3.Error("odd"))[0] == "the store of answers is damaged (odd)"

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

    def test_text_that_is_none_is_no_error(self) -> None:
        assert _as_text(b"a\xff") == "a\ufffd"


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

    @pytest.mark.parametrize(("file", "folder"), [(0o666, 0o555), (0o444, 0o777)])
    def test_what_is_there_can_be_read_and_nothing_asked(
        self, file, folder, root, error_of
    ) -> None:
        store = RowStore(root)
        store.put(NUMBERS.items())
        checksum = store.file_sha256(Path(__file__))
        store._connection.close()
        (root / "rows.sqlite").chmod(file)
        root.chmod(folder)

        def use() -> None:
            opened = RowStore(root)
            assert opened.get(list(NUMBERS)) == NUMBERS
            assert not opened.is_writable
            assert opened.file_sha256(Path(__file__)) == checksum
            assert len(opened.file_sha256(root / "rows.sqlite")) == 64
            line = error_of(opened.require_writable, 2)
            assert line.startswith(
                f"{opened.path}: 2 answers are missing, and it can only be read; "
            )
            assert "can" in error_of(opened.put, [(key_of(1000), b"new")])

        assert as_another_user(use) == ""

    def test_what_still_waits_in_the_log_is_read_too(self, root) -> None:
        store = RowStore(root)
        store.put(NUMBERS.items())
        assert root.joinpath("rows.sqlite-wal").stat().st_size
        for path in root.iterdir():
            path.chmod(0o444)
        root.chmod(0o555)

        def use() -> None:
            assert RowStore(root).get(list(NUMBERS)) == NUMBERS

        assert as_another_user(use) == ""
        assert store.count() == len(NUMBERS)  # it was open all the time

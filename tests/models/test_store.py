import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from evenruler.models.store import Keys, RowStore, cache_root


def key_of(number: int) -> bytes:
    return number.to_bytes(32, "big")


class TestAnswers:
    def test_what_is_put_is_there_for_whoever_opens_the_folder_next(self, store) -> None:
        store.put([(key_of(1), b"one"), (key_of(2), b"\x00\xff")])

        again = RowStore(store.root)

        assert again.get([key_of(2), key_of(3), key_of(1)]) == {key_of(1): b"one", key_of(2): b"\x00\xff"}
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

    def test_nobody_waits_to_read_while_one_writes(self, store) -> None:
        other = RowStore(store.root)
        other._connection.execute("BEGIN IMMEDIATE")
        other._connection.execute("INSERT INTO answers VALUES (?, ?)", (key_of(1), b"not yet"))

        assert store.get([key_of(1)]) == {}
        other._connection.execute("COMMIT")
        assert store.get([key_of(1)]) == {key_of(1): b"not yet"}


class TestKeys:
    def test_a_key_is_a_hash_of_engine_operation_and_question(self) -> None:
        said = b'["engine","likelihood/1"]["","n\xc3\xa4he"]'

        assert Keys("engine", "likelihood/1").key(["", "nähe"]) == hashlib.sha256(said).digest()

    @pytest.mark.parametrize(
        ("engine", "operation", "question"),
        [
            ("other", "operation/1", ["", "text"]),
            ("engine", "operation/2", ["", "text"]),
            ("engine", "operation/1", ["text", ""]),
            ("engine", "operation/1", ["", "Text"]),
            ("engine", "operation/1", ["", "text "]),
            ("engine", "operation/1", ["te", "xt"]),
            ("engine", "operation/1", "text"),
        ],
    )
    def test_any_other_question_has_another(self, engine, operation, question) -> None:
        assert Keys(engine, operation).key(question) != Keys("engine", "operation/1").key(["", "text"])

    def test_the_order_in_which_settings_are_named_does_not_matter(self) -> None:
        keys = Keys("engine", "operation/1")

        assert keys.key({"seed": 1, "text": "x"}) == keys.key({"text": "x", "seed": 1})


class TestChecksums:
    def test_the_checksum_is_that_of_the_content(self, store, tmp_path) -> None:
        path = tmp_path / "file"
        path.write_bytes(b"content")

        assert store.file_sha256(path) == hashlib.sha256(b"content").hexdigest()

    def test_it_is_remembered_while_length_and_time_of_change_stay(self, store, tmp_path) -> None:
        path = tmp_path / "file"
        path.write_bytes(b"content")
        before, stat = store.file_sha256(path), path.stat()
        path.write_bytes(b"CONTENT")
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))

        assert RowStore(store.root).file_sha256(path) == before  # not read again
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns + 1))
        assert store.file_sha256(path) == hashlib.sha256(b"CONTENT").hexdigest()

    def test_a_file_of_another_length_is_read_again(self, store, tmp_path) -> None:
        path = tmp_path / "file"
        path.write_bytes(b"content")
        store.file_sha256(path)
        stat = path.stat()
        path.write_bytes(b"contents")
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))

        assert store.file_sha256(path) == hashlib.sha256(b"contents").hexdigest()


class TestPlace:
    def test_the_store_lies_where_the_environment_says(self, tmp_path, monkeypatch) -> None:
        monkeypatch.setenv("EVENRULER_CACHE", str(tmp_path / "elsewhere"))

        RowStore().put([(key_of(1), b"one")])

        assert cache_root() == tmp_path / "elsewhere"
        assert (tmp_path / "elsewhere" / "rows.sqlite").exists()

    def test_or_else_under_cache_here(self, tmp_path, monkeypatch) -> None:
        monkeypatch.delenv("EVENRULER_CACHE", raising=False)
        monkeypatch.chdir(tmp_path)

        assert RowStore().root == Path(".cache")
        assert (tmp_path / ".cache" / "rows.sqlite").exists()

import os
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from evenruler.errors import UserError
from evenruler.files import read_json_file, replace_folder, require_regular
from evenruler.models.declarations import ModelEntry, TrainingData
from evenruler.models.sources import locate_model
from evenruler.models.store import RowStore
from evenruler.strict import read_text
from evenruler.tables import read_table
from evenruler.tables.contents import text_of
from evenruler.tables.records import read_text_table
from evenruler.training.fit import read_data
from tests.tiny import tiny_params

TERMS = {"licence": "cc0-1.0", "origin": "nowhere"}


def entry_of(path: Path) -> ModelEntry:
    return tiny_params({"tiny": path}).models["tiny"]


class Killed(BaseException):
    """What ends a process, where it is enough to end the call."""


@pytest.mark.parametrize("content", [None, b'{"a": ', b"\xff", b"[" * 100_000])
def test_json_that_was_cut_off_is_empty(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "kept.json"
    if content is not None:
        path.write_bytes(content)
    assert read_json_file(path, dict) == {}


def test_json_is_of_the_kind_that_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    path.write_text('{"a": [1]}')
    assert read_json_file(path, dict) == {"a": [1]}
    assert read_json_file(path, list) == []


def write(folder: Path, **files: str) -> Path:
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


def read(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path / "made", a="old", b="old")


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    """Who reads it anyway finds it empty, and does not wait for ever."""
    path = tmp_path / "pipe.csv"
    os.mkfifo(path)
    threading.Thread(target=lambda: path.open("wb").close(), daemon=True).start()
    return path


@pytest.mark.parametrize(
    "read_it",
    [
        pytest.param(read_text, id="text"),
        pytest.param(partial(read_text_table, remedy="put it there"), id="table of a source"),
        pytest.param(read_table, id="parquet"),
        pytest.param(text_of, id="file of a benchmark or result"),
        pytest.param(
            lambda path: read_data("it", TrainingData(source=f"local:{path}", **TERMS)),
            id="labelled rows",
        ),
        pytest.param(
            lambda path: locate_model("tiny", entry_of(path), RowStore(path.parent / "store")),
            id="model",
        ),
    ],
)
def test_what_is_no_file_is_one_line(pipe: Path, read_it: Callable[[Path], object]) -> None:
    with pytest.raises(UserError, match="a named pipe, expected a file") as error:
        read_it(pipe)
    assert str(pipe) in str(error.value)


def test_a_device_and_a_link_to_one_are_no_files(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/dev/zero")
    for path in (Path("/dev/null"), tmp_path / "link"):
        with pytest.raises(UserError, match="a device, expected a file"):
            require_regular(path)
    for path in (tmp_path, tmp_path / "missing", Path("x" * 300)):
        require_regular(path)


def test_a_new_folder(tmp_path) -> None:
    with replace_folder(tmp_path / "made") as place:
        assert not place.exists()
        assert place.parent == tmp_path
        write(place, a="new")
        assert not (tmp_path / "made").exists()
    assert read(tmp_path / "made") == {"a": "new"}
    assert [path.name for path in tmp_path.iterdir()] == ["made"]


def test_the_old_one_goes_whole(folder) -> None:
    with replace_folder(folder) as place:
        write(place, a="new", c="new")
        assert read(folder) == {"a": "old", "b": "old"}
    assert read(folder) == {"a": "new", "c": "new"}
    assert list(folder.parent.iterdir()) == [folder]


def fail(folder: Path, error: type[BaseException] = Killed) -> None:
    """Break off when something new has been written."""
    with replace_folder(folder) as place:
        write(place, a="new")
        raise error


@pytest.mark.parametrize("error", [ValueError, Killed])
def test_the_old_one_stays_where_the_new_one_fails(error, folder) -> None:
    with pytest.raises(error):
        fail(folder, error)
    with pytest.raises(error):
        fail(folder.with_name("first"), error)
    assert read(folder) == {"a": "old", "b": "old"}
    assert list(folder.parent.iterdir()) == [folder]


def test_what_a_killed_one_left_is_not_taken_for_new(folder) -> None:
    write(folder.with_name(".made.partial"), leftover="x")
    write(folder.with_name(".made.old"), leftover="x")
    with replace_folder(folder) as place:
        assert not place.exists()
        write(place, a="new")
    assert read(folder) == {"a": "new"}
    assert list(folder.parent.iterdir()) == [folder]


def test_one_that_was_killed_between_the_old_and_the_new_is_put_back(folder, monkeypatch) -> None:
    real = Path.rename

    def once(self: Path, target: Path) -> Path:
        if self.name == ".made.partial":
            raise Killed
        return real(self, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", once)
        with pytest.raises(Killed), replace_folder(folder) as place:
            write(place, a="new")
    assert not folder.exists()

    with pytest.raises(Killed):
        fail(folder)
    assert read(folder) == {"a": "old", "b": "old"}
    assert list(folder.parent.iterdir()) == [folder]

from pathlib import Path

import pytest

from evenruler.files import swapped


class Killed(BaseException):
    """What ends a process, where it is enough to end the call."""


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


def test_a_new_folder(tmp_path) -> None:
    with swapped(tmp_path / "made") as place:
        assert not place.exists()
        assert place.parent == tmp_path
        write(place, a="new")
        assert not (tmp_path / "made").exists()
    assert read(tmp_path / "made") == {"a": "new"}
    assert [path.name for path in tmp_path.iterdir()] == ["made"]


def test_the_old_one_goes_whole(folder) -> None:
    with swapped(folder) as place:
        write(place, a="new", c="new")
        assert read(folder) == {"a": "old", "b": "old"}
    assert read(folder) == {"a": "new", "c": "new"}
    assert list(folder.parent.iterdir()) == [folder]


def fail(folder: Path, error: type[BaseException] = Killed) -> None:
    """Break off when something new has been written."""
    with swapped(folder) as place:
        write(place, a="new")
        raise error


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, Killed])
def test_the_old_one_stays_where_the_new_one_fails(error, folder) -> None:
    with pytest.raises(error):
        fail(folder, error)
    assert read(folder) == {"a": "old", "b": "old"}
    assert list(folder.parent.iterdir()) == [folder]


def test_nothing_comes_of_a_first_one_that_fails(tmp_path) -> None:
    with pytest.raises(Killed):
        fail(tmp_path / "made")
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_one_left_is_not_taken_for_new(folder) -> None:
    write(folder.with_name(".made.partial"), leftover="x")
    write(folder.with_name(".made.old"), leftover="x")
    with swapped(folder) as place:
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
        with pytest.raises(Killed), swapped(folder) as place:
            write(place, a="new")
    assert not folder.exists()

    with pytest.raises(Killed):
        fail(folder)
    assert read(folder) == {"a": "old", "b": "old"}
    assert list(folder.parent.iterdir()) == [folder]

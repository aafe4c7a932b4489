"""A tiny model in a folder, and benchmarks as they are shipped."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from evenruler import repository
from tests.tiny import save_tiny

ErrorOf = Callable[..., str]
"""What the fixture `error_of` is: the line of an error of the user."""


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A causal model that chats, with random weights."""
    return save_tiny(
        tmp_path_factory.mktemp("models") / "tiny", chat=True, max_position_embeddings=1024
    )


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of no repository, with a cache of its own."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("EVENRULER_CACHE", str(tmp_path / "cache"))
    return folder


def copied(name: str, folder: Path) -> Path:
    """A shipped benchmark in another folder, alone."""
    return Path(shutil.copytree(repository.shipped_benchmarks() / name, folder / name))


Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run_command(elsewhere: Path, run_evenruler: Command) -> Command:
    """Runs `evenruler ...` in the empty folder."""
    return run_evenruler


def refused(run: Command, *words: str) -> str:
    """The one line of an error."""
    status, out, err = run(*words)
    lines = [line for line in err.splitlines() if line.startswith("error: ")]
    assert (status, len(lines)) == (2, 1), err
    assert not out
    return lines[0]

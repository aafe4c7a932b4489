"""What `dvc push` passes on: everything but text that may not be."""

import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.stages.conftest import ROOT, Clone


def cloned(tmp_path: Path, name: str) -> Clone:
    """A clone of this repository, with the lock of what is built here: last digits may be those of this machine."""
    Clone(tmp_path, ROOT / ".cache").run("git", "clone", "--quiet", str(ROOT), name)
    shutil.copy(ROOT / "dvc.lock", tmp_path / name / "dvc.lock")
    return Clone(tmp_path / name, ROOT / ".cache")


def holds_nothing(path: Path) -> bool:
    """Whether it is a table without rows or an empty object, which many outputs share."""
    return path.read_bytes() == b"{}\n" or pq.read_metadata(path).num_rows == 0


@pytest.mark.slow
def test_text_that_may_not_be_passed_on_is_pushed_nowhere_else(tmp_path: Path) -> None:
    """Slow: copies all that is built in this repository."""
    publisher = cloned(tmp_path, "publisher")
    publisher.run("dvc", "cache", "dir", "--local", str(ROOT / ".dvc/cache"))
    publisher.run("dvc", "remote", "add", "--default", "public", str(tmp_path / "public"))
    publisher.run("dvc", "push")
    pushed = {path for path in (tmp_path / "public").rglob("*") if path.is_file()}
    private = {path for path in (publisher.folder / ".cache/private").rglob("*") if path.is_file()}
    assert private
    names = {path.name for path in pushed}
    assert all(holds_nothing(path) for path in private if path.name in names)

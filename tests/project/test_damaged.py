"""Damaged objects of DVC's cache, with the real DVC and a pipeline of two stages."""

import hashlib
import json
import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from evenruler.errors import UserError
from evenruler.project.damaged import damaged_outputs, remove_damaged
from evenruler.project.dvc import subprocess_environment

FIRST = """
from pathlib import Path
Path("data/texts").mkdir(parents=True)
Path("data/texts/one").write_text("one 1")
Path("data/texts/two").write_text("two 1")
"""
SECOND = """
from pathlib import Path
Path("joined").write_text("|".join(Path("data/texts", name).read_text() for name in ("one", "two")))
"""


STAGES = """\
stages:
  texts: {cmd: python texts.py, deps: [texts.py], outs: [data/texts]}
  joined: {cmd: python joined.py, deps: [data/texts, joined.py], outs: [joined]}
"""


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A stage that writes a folder of two files, and one that writes a file of both; built."""
    folder = tmp_path_factory.mktemp("pipeline")
    (folder / ".dvc").mkdir()
    (folder / ".dvc/config").write_text("[core]\n    no_scm = true\n    analytics = false\n")
    (folder / "dvc.yaml").write_text(STAGES)
    (folder / "params.yaml").write_text("{}\n")
    (folder / "texts.py").write_text(FIRST)
    (folder / "joined.py").write_text(SECOND)
    assert ran(build(folder)) == ["texts", "joined"]
    assert (folder / "joined").read_text() == "one 1|two 1"
    return folder


@pytest.fixture
def root(pipeline: Path, tmp_path: Path) -> Path:
    """A copy of the pipeline, whose files DVC has not looked at yet."""
    return shutil.copytree(pipeline, tmp_path / "copy")


def build(root: Path) -> str:
    """What is said when damaged files are removed, and what `dvc repro` then prints."""
    messages = remove_damaged(root)
    command = [sys.executable, "-m", "dvc", "repro"]
    done = subprocess.run(
        command, cwd=root, env=subprocess_environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return "\n".join([*messages, done.stdout])


def object_of(root: Path, text: str) -> Path:
    """The object in DVC's cache of a file with this text."""
    md5 = hashlib.md5(text.encode()).hexdigest()
    return root / ".dvc/cache/files/md5" / md5[:2] / md5[2:]


def damage(path: Path) -> None:
    """Overwrite bytes of a file as a fault of the disk does: its size, time and mode stay."""
    before = path.stat()
    path.chmod(0o644)
    path.write_bytes(b"?" * before.st_size)
    path.chmod(stat.S_IMODE(before.st_mode))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def ran(printed: str) -> list[str]:
    """The stages that were built or restored, in order."""
    return re.findall(
        r"^(?:Running stage|Stage) '(.+)'(?::| is cached - skipping run)", printed, re.MULTILINE
    )


def test_nothing_is_damaged_nor_without_a_lock_or_with_an_empty_one(root: Path) -> None:
    assert (damaged_outputs(root), remove_damaged(root)) == ([], [])
    (root / "dvc.lock").write_text("schema: '2.0'\nstages: {}\n")
    assert (damaged_outputs(root), remove_damaged(root)) == ([], [])
    (root / "dvc.lock").unlink()
    assert (damaged_outputs(root), remove_damaged(root)) == ([], [])


@pytest.mark.slow
def test_a_damaged_object_is_removed_and_its_stage_runs(root: Path) -> None:
    damage(object_of(root, "two 1"))
    shutil.rmtree(root / "data/texts")
    printed = build(root)
    assert (
        f"{object_of(root, 'two 1')}: damaged in DVC's cache, and removed; texts writes it again"
        in printed
    )
    assert ran(printed) == ["texts"]
    assert (root / "data/texts/two").read_text() == object_of(root, "two 1").read_text() == "two 1"
    assert ran(build(root)) == []


@pytest.mark.slow
def test_a_damaged_object_of_an_earlier_run_is_not_taken_back(root: Path) -> None:
    """DVC restores what a stage wrote when it was as it is again; `dvc.lock` does not name that."""
    (root / "texts.py").write_text(FIRST.replace("1", "2"))
    build(root)
    damage(object_of(root, "two 1"))
    (root / "texts.py").write_text(FIRST)
    printed = build(root)
    removed = f"{object_of(root, 'two 1')}: damaged in DVC's cache, and removed"
    assert f"{removed}; a stage that needs it writes it again" in printed
    assert (root / "data/texts/two").read_text() == "two 1"


@pytest.mark.slow
def test_a_damaged_list_of_a_folder_is_removed(root: Path) -> None:
    (listed,) = (root / ".dvc/cache/files/md5").rglob("*.dir")
    damage(listed)
    assert ran(build(root)) == ["texts"]
    assert len(json.loads(listed.read_text())) == 2


@pytest.mark.slow
def test_a_damaged_output_is_restored(root: Path) -> None:
    """DVC alone finds nothing: time and size are those that it knows."""
    assert ran(build(root)) == []
    damage(root / "joined")
    alone = subprocess.run(
        [sys.executable, "-m", "dvc", "repro"],
        cwd=root,
        env=subprocess_environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Data and pipelines are up to date" in alone.stdout
    assert (root / "joined").read_text() == "?" * 11
    assert [file.path for file in damaged_outputs(root)] == [root / "joined"]
    assert ran(build(root)) == ["joined"]
    assert (root / "joined").read_text() == "one 1|two 1"


def test_the_cache_may_lie_elsewhere(root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    cache = tmp_path_factory.mktemp("cache")
    (root / ".dvc/cache").rename(cache / "dvc")
    with (root / ".dvc/config").open("a") as config:
        config.write(f"[cache]\n    dir = {cache / 'dvc'}\n")
    moved = cache / "dvc" / object_of(Path(), "one 1").relative_to(".dvc/cache")
    damage(moved)
    (message,) = remove_damaged(root)
    assert (
        message == f"warning: {moved}: damaged in DVC's cache, and removed; texts writes it again"
    )
    assert not moved.exists()


def test_a_configuration_that_dvc_cannot_read(root: Path) -> None:
    (root / ".dvc/config").write_text("[core\n")
    with pytest.raises(UserError, match=r"^\.dvc/config: DVC cannot read it"):
        remove_damaged(root)

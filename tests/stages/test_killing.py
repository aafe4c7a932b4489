"""kill -9 in the middle of scoring a real model: nothing stays behind, nothing is paid twice, the same numbers."""

import os
import signal
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.stages.conftest import Clone, clone_into, shorten

MODEL = "smollm2-135m-instruct"
SCORES = f"data/scores/probes/{MODEL}.parquet"
SENTENCES = 16 * 8 * 12


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> tuple[Clone, bytes]:
    """A clone that scored the real model in one go, and what it wrote."""
    folder = tmp_path_factory.mktemp("kill")
    clone = clone_into(folder / "clone", folder / "cache")
    clone.edit("data/sources/probes/occupation-gender.yaml", shorten(16, ("validation",)))
    assert f"{SENTENCES:,} of them asked" in clone.run("dvc", "repro", f"score@{MODEL}")
    return clone, (clone.folder / SCORES).read_bytes()


def answers(cache: Path) -> int:
    try:
        with sqlite3.connect(f"file:{cache / 'rows.sqlite'}?mode=ro", uri=True) as connection:
            return int(connection.execute("SELECT count(*) FROM answers").fetchone()[0])
    except sqlite3.OperationalError:
        return 0


def stages_of(clone: Clone) -> Iterator[psutil.Process]:
    for process in psutil.process_iter(["cmdline", "cwd"]):
        if "stages.score" in " ".join(process.info["cmdline"] or ()) and process.info["cwd"] == str(clone.folder):
            yield process


@pytest.mark.slow
@pytest.mark.parametrize("victim", ["stage", "dvc"])
def test_killed_and_run_again(unbroken: tuple[Clone, bytes], victim: str, tmp_path: Path) -> None:
    """Slow: it needs a model that takes seconds, so that there is a middle to be killed in."""
    clone, expected = unbroken
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / "models").symlink_to((Path(clone.env["EVENRULER_CACHE"]) / "models").resolve())
    broken = Clone(clone.folder, cache)
    (broken.folder / SCORES).unlink()
    dvc = broken.start("dvc", "repro", "--force", "--single-item", "--no-run-cache", f"score@{MODEL}")
    try:
        deadline = time.monotonic() + 90
        while not answers(cache):
            assert time.monotonic() < deadline, "the stage never stored an answer"
            time.sleep(0.05)
        target = dvc.pid if victim == "dvc" else max(process.pid for process in stages_of(broken))
        os.kill(target, signal.SIGKILL)
        dvc.wait(timeout=30)
        deadline = time.monotonic() + 10
        while list(stages_of(broken)):
            assert time.monotonic() < deadline, "the stage outlived dvc"
            time.sleep(0.1)
    finally:
        for process in stages_of(broken):
            process.kill()
    kept = answers(cache)
    assert 0 < kept < SENTENCES
    assert not (broken.folder / SCORES).exists()

    output = broken.run("dvc", "repro", "--force", "--single-item", "--no-run-cache", f"score@{MODEL}")
    assert f"{SENTENCES - kept:,} of them asked" in output
    assert (broken.folder / SCORES).read_bytes() == expected

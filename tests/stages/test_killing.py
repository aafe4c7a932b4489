"""kill -9 of DVC in the middle of asking a real model: nothing stays behind, nothing is paid twice,
the same numbers.

`python -m studies.faults.kills` kills every stage at random moments.
"""

import os
import re
import signal
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.stages.conftest import Clone, clone_into, shorten
from tests.stages.evolving import two_targets
from tests.warm import Warm

MODEL = "smollm2-135m-instruct"
TARGET = f"ask@probes-{MODEL}"
COMMAND = ("dvc", "repro", "--force", "--no-run-cache", "--single-item", TARGET)


def keep_little(params: dict) -> None:
    """One model and one small instrument, with little after prefixes."""
    models = params["models"]
    params["models"] = {name: models[name] for name in (MODEL, "all-minilm-l6-v2")}
    params["instruments"] = {"occupation-gender": {"family": "probes", "prefixed": 1}}


@pytest.fixture
def unbroken(tmp_path: Path, warm: Warm | None) -> Clone:
    """A clone with few sentences to ask about, asked once."""
    clone = clone_into(tmp_path / "clone", tmp_path / "cache", warm)
    clone.edit("params.yaml", keep_little)
    source = "data/sources/probes/occupation-gender.yaml"
    clone.edit(source, shorten(6, ("validation",)))
    clone.edit(source, two_targets)
    clone.run("evenruler", "check")
    clone.run("dvc", "repro", TARGET)
    return clone


def count_stored(cache: Path) -> int:
    """How many answers a store has, without the fingerprints of models."""
    try:
        with sqlite3.connect(f"file:{cache / 'rows.sqlite'}?mode=ro", uri=True) as connection:
            fingerprints = """substr(answer, 1, 9) = CAST('{"notes":' AS BLOB)"""
            query = f"SELECT count(*) FROM kept WHERE NOT {fingerprints}"
            ((n_answers,),) = connection.execute(query)
            return int(n_answers)
    except sqlite3.OperationalError:
        return 0


def find_stages(clone: Clone) -> Iterator[psutil.Process]:
    for process in psutil.process_iter(["cmdline", "cwd"]):
        is_here = process.info["cwd"] == str(clone.folder)
        if is_here and "stages.ask" in (process.info["cmdline"] or ()):
            yield process


@pytest.mark.slow
@pytest.mark.long
def test_killed_and_run_again(unbroken: Clone, tmp_path: Path) -> None:
    """Slow: it needs a model that takes seconds, so that there is a middle to be killed in."""
    output = unbroken.folder / f"data/answers/probes/{MODEL}/likelihoods.parquet"
    expected, whole = output.read_bytes(), count_stored(tmp_path / "cache")
    output.unlink()
    cache = tmp_path / "other-cache"
    cache.mkdir()
    (cache / "models").symlink_to((tmp_path / "cache/models").resolve())
    broken = Clone(unbroken.folder, cache)
    kill_once(broken, cache)
    n_stored = count_stored(cache)
    assert n_stored
    assert not output.exists()

    (again,) = re.findall(r"([\d,]+) (?:of them|answers) asked", broken.run(*COMMAND))
    n_again = int(again.replace(",", ""))
    assert n_again > 0
    assert n_stored + n_again == count_stored(cache) <= whole
    assert output.read_bytes() == expected


def kill_once(broken: Clone, cache: Path) -> None:
    """Kill dvc as soon as the stage has something to show; nothing may go on after."""
    dvc = broken.start(*COMMAND)
    try:
        deadline = time.monotonic() + 200
        while not count_stored(cache):
            assert dvc.poll() is None, "it was over before it could be killed"
            assert time.monotonic() < deadline, "the stage had nothing to show"
            time.sleep(0.05)
        os.kill(dvc.pid, signal.SIGKILL)
        dvc.wait(timeout=120)
        deadline = time.monotonic() + 120
        while list(find_stages(broken)):
            assert time.monotonic() < deadline, "the stage outlived dvc"
            time.sleep(0.1)
    finally:
        for process in find_stages(broken):
            process.kill()

"""kill -9 in the middle of asking a real model: nothing stays behind, nothing is paid twice, the
same numbers.

And in the middle of a diagnosis, which asks no model: what it reads stays, what it wrote is whole
or written anew.
"""

import os
import re
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.stages.conftest import Clone, clone_into, shorten
from tests.stages.evolving import two_targets
from tests.warm import Warm

MODEL = "smollm2-135m-instruct"
TABLES = {"probes": "likelihoods", "saged": "replies"}
"""A table of answers of each family."""

DIAGNOSED_FROM, DIAGNOSIS = ("data/built/saged", "data/answers/saged"), "data/diagnosis/saged"
DIAGNOSE = ("dvc", "repro", "--no-run-cache", "--single-item", "diagnose@saged")

STAGES = ["stages.ask", "stages.diagnose"]
FAMILIES_AND_VICTIMS = [("probes", "dvc"), ("saged", "stage")]


def little(params: dict) -> None:
    """One model, a small instrument a family, a domain in a few waves of replies; little after
    prefixes."""
    for name in ("gemma-3-270m", "mpnet-nli-a", "mpnet-nli-b", "mpnet-nli-c"):
        del params["models"][name]
    params["instruments"] = {
        "occupation-gender": {"family": "probes", "prefixed": 1},
        "fruit": {"family": "saged", "items": 12, "new_tokens": 4, "prefixed": 1},
    }


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory, warm: Warm | None) -> Clone:
    """A clone with few sentences and prompts to ask about."""
    folder = tmp_path_factory.mktemp("kill")
    clone = clone_into(folder / "clone", folder / "cache", warm)
    clone.edit("params.yaml", little)
    clone.edit("data/sources/probes/occupation-gender.yaml", shorten(6, ("validation",)))
    clone.edit("data/sources/probes/occupation-gender.yaml", two_targets)
    clone.run("evenruler", "check")
    return clone


def answers(cache: Path) -> int:
    """How many answers a store has, without the fingerprints of models."""
    try:
        with sqlite3.connect(f"file:{cache / 'rows.sqlite'}?mode=ro", uri=True) as connection:
            fingerprints = """substr(answer, 1, 9) = CAST('{"notes":' AS BLOB)"""
            query = f"SELECT count(*) FROM kept WHERE NOT {fingerprints}"
            ((n_answers,),) = connection.execute(query)
            return int(n_answers)
    except sqlite3.OperationalError:
        return 0


def stages_of(clone: Clone) -> Iterator[psutil.Process]:
    for process in psutil.process_iter(["cmdline", "cwd"]):
        words = process.info["cmdline"] or ()
        is_here = process.info["cwd"] == str(clone.folder)
        if is_here and any(word in STAGES for word in words):
            yield process


def count_asked(output: str) -> int:
    """How many answers a stage says that the model gave."""
    (number,) = re.findall(r"([\d,]+) (?:of them|answers) asked", output)
    return int(number.replace(",", ""))


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize(("family", "victim"), FAMILIES_AND_VICTIMS)
def test_killed_and_run_again(unbroken: Clone, family: str, victim: str, tmp_path: Path) -> None:
    """Slow: it needs a model that takes seconds, so that there is a middle to be killed in."""
    output = unbroken.folder / f"data/answers/{family}/{MODEL}/{TABLES[family]}.parquet"
    target = f"ask@{family}-{MODEL}"
    command = ("dvc", "repro", "--force", "--no-run-cache", target)
    unbroken.run("dvc", "repro", target)  # once for all that are killed in it
    expected, whole = output.read_bytes(), answers(Path(unbroken.env["EVENRULER_CACHE"]))
    output.unlink()
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / "models").symlink_to((Path(unbroken.env["EVENRULER_CACHE"]) / "models").resolve())
    broken = Clone(unbroken.folder, cache)
    _kill_once(broken, (*command, "--single-item"), victim, lambda: answers(cache) > 0)
    n_stored = answers(cache)
    assert n_stored
    assert not output.exists()

    again = count_asked(broken.run(*command, "--single-item"))
    assert again > 0
    assert n_stored + again == answers(cache) <= whole
    assert output.read_bytes() == expected


@pytest.fixture
def never_diagnosed(unbroken: Clone) -> Iterator[Clone]:
    """The clone with a diagnosis that DVC does not know of, so that it has no other outputs to put
    in their place."""
    unbroken.run("dvc", "repro", "diagnose@saged")
    lock = unbroken.folder / "dvc.lock"
    locked = lock.read_bytes()
    lock.unlink()
    yield unbroken
    lock.write_bytes(locked)


WAITS = """import sys, time

def wait(event, arguments):
    if event == "os.rename" and str(arguments[1]).endswith("tables/figures.parquet"):
        time.sleep(1000)

sys.addaudithook(wait)
"""
"""For a `sitecustomize`: the process comes no further than that table, which lacks its name."""


@pytest.mark.slow
@pytest.mark.long
def test_diagnosis_killed_and_run_again(never_diagnosed: Clone, tmp_path: Path) -> None:
    clone = never_diagnosed
    inputs, expected = clone.contents(*DIAGNOSED_FROM), clone.contents(DIAGNOSIS)
    cache, waits = tmp_path / "cache", tmp_path / "waits"  # no model and no answer is in the cache
    waits.mkdir()
    (waits / "sitecustomize.py").write_text(WAITS)
    broken = Clone(clone.folder, cache)
    broken.env["PYTHONPATH"] = str(waits)
    name = f"{DIAGNOSIS}/tables/figures.parquet"
    unfinished = clone.folder / f"{name}.partial"
    _kill_once(broken, DIAGNOSE, "stage", unfinished.exists)
    left = clone.contents(DIAGNOSIS)
    assert name not in left
    del left[f"{name}.partial"]
    assert left.items() < expected.items()

    del broken.env["PYTHONPATH"]
    assert "Running stage 'diagnose@saged'" in broken.run(*DIAGNOSE)
    assert clone.contents(DIAGNOSIS) == expected
    assert clone.contents(*DIAGNOSED_FROM) == inputs
    assert not cache.exists()


def _kill_once(
    broken: Clone, command: tuple[str, ...], victim: str, started: Callable[[], bool]
) -> None:
    """Kill the stage, or dvc, as soon as it has something to show; nothing may go on after."""
    dvc = broken.start(*command)
    try:
        deadline = time.monotonic() + 200
        while not started():
            assert dvc.poll() is None, "it was over before it could be killed"
            assert time.monotonic() < deadline, "the stage had nothing to show"
            time.sleep(0.05)
        pids = [dvc.pid] if victim == "dvc" else [process.pid for process in stages_of(broken)]
        target = max(pids)
        os.kill(target, signal.SIGKILL)
        dvc.wait(timeout=120)
        deadline = time.monotonic() + 120
        while list(stages_of(broken)):
            assert time.monotonic() < deadline, "the stage outlived dvc"
            time.sleep(0.1)
    finally:
        for process in stages_of(broken):
            process.kill()

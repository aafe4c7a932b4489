"""kill -9 in the middle of asking a real model: nothing stays behind, nothing is paid twice, the same numbers."""

import os
import re
import signal
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.stages.conftest import FEW, Clone, clone_into, shorten, shorten_items

MODEL = "smollm2-135m-instruct"
OUTPUTS = {
    "score": f"data/scores/probes/{MODEL}.parquet",
    "assess": f"data/scores/questionnaires/{MODEL}.parquet",
    "generate": f"data/generations/{MODEL}.parquet",
    "extract": f"data/features/{MODEL}/features.parquet",
}
AT_MOST_AGAIN = dict.fromkeys(OUTPUTS, 0) | {"generate": 128}
"""Answers that may be paid for twice: replies are written in waves, and a wave that breaks off is written anew."""

STAGES = [f"stages.{stage}" for stage in OUTPUTS]
STAGES_AND_VICTIMS = [
    ("score", "stage"),
    ("score", "dvc"),
    ("assess", "stage"),
    ("generate", "stage"),
    ("extract", "stage"),
]


def little(params: dict) -> None:
    """One questionnaire, one contrast, one domain in two waves of replies."""
    params["questionnaires"] = {"gad-7": {}}
    params["contrasts"] = {"age": FEW}
    params["domains"] = {"fruit": {"items": {"quick": 24, "paper": 24}, "new_tokens": {"quick": 6, "paper": 6}}}
    params["active"] |= {"ours": ["fruit"], "others": []}


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> Clone:
    """A clone with few sentences and prompts to ask about."""
    folder = tmp_path_factory.mktemp("kill")
    clone = clone_into(folder / "clone", folder / "cache")
    clone.edit("params.yaml", little)
    clone.edit("data/sources/probes/occupation-gender.yaml", shorten(16, ("validation",)))
    clone.edit("data/sources/questionnaires/gad-7.yaml", shorten_items)
    return clone


def answers(cache: Path) -> int:
    try:
        with sqlite3.connect(f"file:{cache / 'rows.sqlite'}?mode=ro", uri=True) as connection:
            return int(connection.execute("SELECT count(*) FROM answers").fetchone()[0])
    except sqlite3.OperationalError:
        return 0


def stages_of(clone: Clone) -> Iterator[psutil.Process]:
    for process in psutil.process_iter(["cmdline", "cwd"]):
        words = process.info["cmdline"] or ()
        if any(word in STAGES for word in words) and process.info["cwd"] == str(clone.folder):
            yield process


def asked(output: str) -> int:
    """How many answers a stage says that the model gave."""
    (number,) = re.findall(r"([\d,]+) (?:of them|answers) asked", output)
    return int(number.replace(",", ""))


@pytest.mark.slow
@pytest.mark.parametrize(("stage", "victim"), STAGES_AND_VICTIMS)
def test_killed_and_run_again(unbroken: Clone, stage: str, victim: str, tmp_path: Path) -> None:
    """Slow: it needs a model that takes seconds, so that there is a middle to be killed in."""
    output, command = (
        unbroken.folder / OUTPUTS[stage],
        ("dvc", "repro", "--force", "--no-run-cache", f"{stage}@{MODEL}"),
    )
    unbroken.run(*command)
    expected, whole = output.read_bytes(), answers(Path(unbroken.env["EVENRULER_CACHE"]))
    output.unlink()
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / "models").symlink_to((Path(unbroken.env["EVENRULER_CACHE"]) / "models").resolve())
    broken = Clone(unbroken.folder, cache)
    _kill_in_the_middle(broken, (*command, "--single-item"), victim)
    kept = answers(cache)
    assert kept
    assert not output.exists()

    again = asked(broken.run(*command, "--single-item"))
    assert again > 0
    assert 0 <= kept + again - answers(cache) <= AT_MOST_AGAIN[stage]
    assert answers(cache) <= whole
    assert output.read_bytes() == expected


def _kill_in_the_middle(broken: Clone, command: tuple[str, ...], victim: str) -> None:
    """Kill the stage, or dvc, as soon as an answer is stored; nothing may go on after."""
    dvc = broken.start(*command)
    try:
        deadline = time.monotonic() + 90
        while not answers(Path(broken.env["EVENRULER_CACHE"])):
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

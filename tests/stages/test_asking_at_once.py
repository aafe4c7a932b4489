"""`evenruler ask`: several models at once, killed and run again; who cannot be had is left out."""

import os
import signal
import sqlite3
import time
from pathlib import Path

import psutil
import pytest

from evenruler.strict import read_yaml
from tests.performance.kills import LOGGED
from tests.stages.conftest import Clone, clone_into, entry, shorten
from tests.tiny import save_tiny
from tests.warm import Warm

KINDS = {"tiny-a": "llama", "tiny-b": "gemma3", "tiny-c": "mistral"}
"""They stand in for three of the paper's."""

GONE = {"source": "hub:nobody/gone", "revision": "a" * 40}
BY_DVC = ("dvc", "repro", "--force", "--no-run-cache", "--single-item", *(f"ask@probes-{name}" for name in KINDS))
AT_ONCE = ("evenruler", "ask", "--all", "--at-once", "3")


@pytest.fixture
def declared(tmp_path: Path, warm: Warm | None) -> Clone:
    """A clone with three models that answer, one that the Hub cannot be asked for, and one without weights."""
    clone = clone_into(tmp_path / "clone", tmp_path / "cache", warm)
    for name, kind in KINDS.items():
        save_tiny(tmp_path / name, kind=kind)
    (save_tiny(tmp_path / "torn") / "model.safetensors").unlink()

    def few(params: dict) -> None:
        models = {name: entry(tmp_path / name) for name in ("gone", *KINDS, "torn")}
        models["gone"] |= GONE
        params["models"] = {**models, "all-minilm-l6-v2": params["models"]["all-minilm-l6-v2"]}
        params["instruments"] = {"occupation-gender": {"family": "probes"}}

    clone.edit("params.yaml", few)
    clone.edit("data/sources/probes/occupation-gender.yaml", shorten(6, ("validation",)))
    return clone


def logged(clone: Clone, folder: Path) -> Path:
    """Have all that the store says that it keeps written into a file: 32 bytes each."""
    hook = folder / "hook"
    hook.mkdir()
    (hook / "sitecustomize.py").write_text(LOGGED)
    clone.env |= {"ACKNOWLEDGED": str(folder / "log"), "PYTHONPATH": f"{hook}{os.pathsep}{clone.folder}"}
    return folder / "log"


def kept(cache: Path) -> set[bytes]:
    """The keys of all answers in the store."""
    try:
        with sqlite3.connect(f"file:{cache / 'rows.sqlite'}?mode=ro", uri=True) as connection:
            return {key for (key,) in connection.execute("SELECT key FROM kept")}
    except sqlite3.OperationalError:
        return set()


def kill(clone: Clone, cache: Path) -> None:
    """Kill the asking as soon as an answer is kept; no process goes on after."""
    command = clone.start(*AT_ONCE)
    deadline = time.monotonic() + 200
    while not kept(cache):
        assert command.poll() is None, "it was over before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.02)
    below = psutil.Process(command.pid).children(recursive=True)
    assert below, "nobody was being asked"
    command.send_signal(signal.SIGKILL)
    command.wait(timeout=120)
    assert psutil.wait_procs(below, timeout=120)[1] == []


@pytest.mark.slow
def test_killed_and_run_again_it_leaves_what_dvc_alone_makes(declared: Clone, tmp_path: Path) -> None:
    """Slow: some ten processes that load a model each."""
    cache, log = tmp_path / "cache", logged(declared, tmp_path)
    kill(declared, cache)
    first = kept(cache)
    said = declared.run(*AT_ONCE, status=1)
    assert "plan at the scale quick: 5 of 5 to ask, 3 at once on the CPU" in said
    assert said.endswith("2 of 5 left out; their full output: " + str(cache / "ask") + "\n")
    assert read_yaml(declared.folder / "params.yaml")["left_out"] == {
        "ask@probes-gone": "params.yaml: models.gone: nobody/gone is not downloaded and the Hub cannot be reached; "
        "try again with a network",
        "ask@probes-torn": f"params.yaml: models.torn: {tmp_path}/torn: no weights (*.safetensors); save the model "
        "there",
    }
    written = log.read_bytes()
    keys = {written[at : at + 32] for at in range(0, len(written), 32)}
    assert len(keys) == len(written) / 32, "an answer was kept twice"
    # The kill may fall between the commit of answers and their line in the log.
    assert keys <= kept(cache) <= keys | first
    assert first
    assert not keys <= first

    asked = declared.run(*BY_DVC)
    assert asked.count("; 0 of them asked of models") == len(KINDS)
    found = declared.contents("data/answers")
    declared.env["EVENRULER_CACHE"] = str(tmp_path / "other")
    assert "; 0 of them asked of models" not in declared.run(*BY_DVC)
    assert declared.contents("data/answers") == found

"""`evenruler ask`: several models at once, killed and run again; who cannot be had is left out."""

import os
import shutil
import signal
import sqlite3
import time
from pathlib import Path

import psutil
import pytest

from evenruler.strict import read_yaml
from tests.performance.kills import LOGGED
from tests.stages.conftest import FRUIT, Clone, clone_into, entry, shorten
from tests.tiny import save_tiny

KINDS = {"tiny-a": "llama", "tiny-b": "gemma3", "tiny-c": "mistral"}
"""They stand in for three of the paper's."""

GONE = {"source": "hub:nobody/gone", "revision": "a" * 40, "families": ["probes"]}
ASKED = ("probes-tiny-a", "probes-tiny-b", "probes-tiny-c", "saged-tiny-a", "saged-tiny-b", "saged-tiny-c")
BY_DVC = ("dvc", "repro", "--force", "--no-run-cache", "--single-item", *(f"ask@{name}" for name in ASKED))
AT_ONCE = ("evenruler", "ask", "--all", "--at-once", "3")


@pytest.fixture
def declared(tmp_path: Path) -> Clone:
    """A clone with two families, three models that answer, one that the Hub has not, and one without weights."""
    clone = clone_into(tmp_path / "clone", tmp_path / "cache")
    for name, kind in KINDS.items():
        save_tiny(tmp_path / name, kind=kind)
    (save_tiny(tmp_path / "torn") / "model.safetensors").unlink()

    def few(params: dict) -> None:
        models = {name: entry(tmp_path / name) for name in (*KINDS, "gone", "torn")}
        models["gone"] |= GONE
        models["torn"]["families"] = ["probes"]
        params["models"] = {**models, "all-minilm-l6-v2": params["models"]["all-minilm-l6-v2"]}
        params["instruments"] = {"occupation-gender": {"family": "probes"}, "fruit": {"family": "saged", **FRUIT}}
        params["families"]["saged"]["features"] = {"distance": {"kind": "distance", "metric": "cosine"}}

    clone.edit("params.yaml", few)
    clone.edit("data/sources/probes/occupation-gender.yaml", shorten(6, ("validation",)))
    hook = tmp_path / "hook"
    hook.mkdir()
    (hook / "sitecustomize.py").write_text(LOGGED)
    clone.env |= {"ACKNOWLEDGED": str(tmp_path / "acknowledged"), "PYTHONPATH": f"{hook}{os.pathsep}{clone.folder}"}
    return clone


def kept(cache: Path) -> int:
    try:
        with sqlite3.connect(f"file:{cache / 'rows.sqlite'}?mode=ro", uri=True) as connection:
            return int(connection.execute("SELECT count(*) FROM kept").fetchone()[0])
    except sqlite3.OperationalError:
        return 0


def break_off(clone: Clone, number: signal.Signals, more: int) -> None:
    """Have a signal break the asking off as soon as so many more answers are kept; no process goes on after."""
    cache = Path(clone.env["EVENRULER_CACHE"])
    before, command = kept(cache), clone.start(*AT_ONCE)
    deadline = time.monotonic() + 200
    while kept(cache) < before + more:
        assert command.poll() is None, "it was over before it could be broken off"
        assert time.monotonic() < deadline
        time.sleep(0.02)
    below = psutil.Process(command.pid).children(recursive=True)
    assert below
    command.send_signal(number)
    assert command.wait(timeout=30) == (128 + number if number == signal.SIGINT else -number)
    assert psutil.wait_procs(below, timeout=10)[1] == []


@pytest.mark.slow
def test_killed_and_run_again_it_leaves_what_dvc_alone_makes(declared: Clone, tmp_path: Path) -> None:
    """Slow: some twenty processes that load a model each."""
    log = tmp_path / "acknowledged"
    break_off(declared, signal.SIGKILL, more=1)
    break_off(declared, signal.SIGINT, more=1)
    said = declared.run(*AT_ONCE, status=1)
    assert "2 of 8 left out" in said
    assert read_yaml(declared.folder / "params.yaml")["left_out"] == {
        "ask@probes-gone": "params.yaml: models.gone: nobody/gone is not downloaded and the Hub cannot be reached; "
        "try again with a network",
        "ask@probes-torn": f"params.yaml: models.torn: {tmp_path}/torn: no weights (*.safetensors); save the model "
        "there",
    }
    keys = [log.read_bytes()[first : first + 32] for first in range(0, log.stat().st_size, 32)]
    assert len(keys) == len(set(keys)) == kept(tmp_path / "cache")

    assert declared.run("evenruler", "repro", *BY_DVC[2:]).count("; 0 of them asked of models") == len(ASKED)
    found = declared.contents("data/answers")
    shutil.rmtree(tmp_path / "cache")
    declared.run(*BY_DVC)
    assert declared.contents("data/answers") == found
    assert len(keys) == kept(tmp_path / "cache")

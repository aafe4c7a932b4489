"""What `dvc push` passes on, and what a stranger gets by it: everything but text that may not be
passed on."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler
from pathlib import Path
from threading import Thread
from typing import Any

import pyarrow.parquet as pq
import pytest
from ruamel.yaml import YAML

from tests.loopback import LoopbackServer
from tests.stages.conftest import ROOT, UP_TO_DATE, Clone, ran

PRIVATE = "ideologies"
"""The instrument whose text is of others."""


@contextmanager
def serve(folder: Path) -> Iterator[str]:
    """Yield the address of a plain web server of a folder's files."""
    server = LoopbackServer(
        ("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=str(folder))
    )
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def clone_repository(tmp_path: Path, name: str) -> Clone:
    """Clone this repository, with the lock of what is built here: last digits may be those of this
    machine."""
    Clone(tmp_path, ROOT / ".cache").run("git", "clone", "--quiet", str(ROOT), name)
    shutil.copy(ROOT / "dvc.lock", tmp_path / name / "dvc.lock")
    return Clone(tmp_path / name, ROOT / ".cache")


def list_files(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file()}


def holds_no_text(path: Path) -> bool:
    """Return whether it is a table without rows or an object of JSON, as many outputs share: what a
    model is, or evidence of nothing.
    """
    return path.read_bytes().startswith(b"{") or pq.read_metadata(path).num_rows == 0


def read_stages(clone: Clone) -> dict[str, Any]:
    return YAML(typ="safe").load((clone.folder / "dvc.lock").read_text())["stages"]


@pytest.mark.slow
@pytest.mark.long
def test_a_stranger_gets_all_but_text_that_may_not_be_passed_on(tmp_path: Path) -> None:
    """Slow: copies all that is built in this repository, twice, and makes what was not pushed."""
    publisher, stranger = (
        clone_repository(tmp_path, "publisher"),
        clone_repository(tmp_path, "stranger"),
    )
    publisher.run("dvc", "cache", "dir", "--local", str(ROOT / ".dvc/cache"))
    publisher.run("dvc", "remote", "add", "--default", "public", str(tmp_path / "public"))
    publisher.run("dvc", "push")
    private = list_files(publisher.folder / ".cache/private")
    assert private
    pushed_names = {path.name for path in list_files(tmp_path / "public")}
    assert all(holds_no_text(path) for path in private if path.name in pushed_names)

    with serve(tmp_path / "public") as url:
        stranger.run("dvc", "remote", "add", "--default", "public", url)
        stranger.run("dvc", "pull", "--allow-missing")
    models = [path.name for path in (ROOT / "data/answers/saged").iterdir()]
    behind = {"diagnose@saged", "report", *(f"ask@saged-{model}" for model in models)}
    not_pushed = {f"{stage}@{PRIVATE}" for stage in ("scrape", "rows", "card-third-party")}
    assert set(json.loads(stranger.run("dvc", "status", "--json"))) == not_pushed | behind

    before = read_stages(stranger)
    output = stranger.run("dvc", "repro")
    assert not_pushed <= set(ran(output)) <= not_pushed | behind
    assert stranger.run("dvc", "status") == f"{UP_TO_DATE}\n"
    assert read_stages(stranger) == before
    assert stranger.run("git", "status", "--short", "--", "benchmarks", "data") == ""

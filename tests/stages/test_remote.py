"""What a stranger gets from a remote that somebody pushed to: everything but text that may not be passed on."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tests.stages.conftest import ROOT, Clone

PRIVATE = "ideologies"


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a plain web server of a folder's files."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=str(folder)))
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def cloned(tmp_path: Path, name: str) -> Clone:
    """A clone of this repository, with the lock of what is built here: last digits may be those of this machine."""
    Clone(tmp_path, ROOT / ".cache").run("git", "clone", "--quiet", str(ROOT), name)
    shutil.copy(ROOT / "dvc.lock", tmp_path / name / "dvc.lock")
    return Clone(tmp_path / name, ROOT / ".cache")


@pytest.mark.slow
def test_a_stranger_gets_all_but_text_that_may_not_be_passed_on(tmp_path: Path) -> None:
    """Slow: fetches all that is built in this repository, and makes what was not pushed."""
    publisher, stranger = cloned(tmp_path, "publisher"), cloned(tmp_path, "stranger")
    publisher.run("dvc", "cache", "dir", "--local", str(ROOT / ".dvc/cache"))
    publisher.run("dvc", "remote", "add", "--default", "public", str(tmp_path / "public"))
    publisher.run("dvc", "push")
    pushed = {path for path in (tmp_path / "public").rglob("*") if path.is_file()}
    private = {path for path in (publisher.folder / ".cache/private").rglob("*") if path.is_file()}
    assert private
    assert not {path.name for path in private} & {path.name for path in pushed}

    with served(tmp_path / "public") as url:
        stranger.run("dvc", "remote", "add", "--default", "public", url)
        stranger.run("dvc", "pull", "--allow-missing")
    status = set(json.loads(stranger.run("dvc", "status", "--json")))
    models = [path.name for path in (ROOT / "data/answers/saged").iterdir()]
    assert status == {
        *(f"{stage}@{PRIVATE}" for stage in ("scrape", "rows", "card-of-others")),
        *(f"ask@saged-{model}" for model in models),
        "diagnose@saged",
        "report",
    }
    lock = (stranger.folder / "dvc.lock").read_bytes()
    output = stranger.run("dvc", "repro")
    assert "Running stage 'rows@" + PRIVATE in output
    assert "ask@probes" not in "".join(line for line in output.splitlines() if line.startswith("Running"))
    assert stranger.run("dvc", "status") == "Data and pipelines are up to date.\n"
    assert (stranger.folder / "dvc.lock").read_bytes() == lock
    assert stranger.run("git", "status", "--short", "--", "benchmarks", "data") == ""

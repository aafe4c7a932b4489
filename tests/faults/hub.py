"""A Hub on loopback that answers what no Hub should, or breaks off in the middle; its client is the
real one.

The client reads where the Hub is when it is imported; in this process it is told for each case
(`talking_to`).
"""

import contextlib
import hashlib
import json
import os
import queue
import shutil
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.faults.cases import Case, Outcome, Seen, doing, evenruler, program, refusals
from tests.loopback_hub import WRITE_TOKEN, Blob, LoopbackHub, RefusalError, Repo, running

ORIGINAL = Path(__file__).parents[2] / "benchmarks/framing-age"
REPO, TAG = "you/it", "v0.1.0"
HOTEL = b"<html><body>Sign in to the hotel's network</body></html>"


@contextlib.contextmanager
def talking_to(
    endpoint: str, home: Path, token: str = WRITE_TOKEN, *, xet: bool = False
) -> Iterator[None]:
    """The client of the Hub in this process asks there, with a cache of its own."""
    from huggingface_hub import close_session, constants

    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of httpx2, which the client uses
        patch.setenv("HF_TOKEN", token)
        for name, value in {
            "ENDPOINT": endpoint,
            "HUGGINGFACE_CO_URL_TEMPLATE": endpoint + "/{repo_id}/resolve/{revision}/{filename}",
            "HF_HUB_OFFLINE": False,
            "HF_HUB_CACHE": str(home / "hub"),
            "HF_HUB_DISABLE_XET": not xet,
        }.items():
            patch.setattr(constants, name, value)
        try:
            yield
        finally:
            close_session()


@contextlib.contextmanager
def answering(status: int, body: bytes) -> Iterator[str]:
    """A server that answers everything so; its address."""

    class Same(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Keep the output clean."""

        def _same(self) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        do_GET = do_HEAD = do_POST = do_PUT = _same  # noqa: N815

    server = ThreadingHTTPServer(("127.0.0.1", 0), Same)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def _published(folder: Path) -> None:
    from evenruler.publish.publication import publish

    for _ in publish(folder, REPO):
        pass


def _verified(place: str) -> None:
    from evenruler.publish.locate import open_place
    from evenruler.publish.manifest import manifest_problems

    with open_place(place) as folder:
        assert manifest_problems(folder) == []


def _strange(status: int, body: bytes, call: Callable[[], None], folder: Path) -> Seen:
    with answering(status, body) as endpoint, talking_to(endpoint, folder):
        return doing(call)


def _measured() -> None:
    from evenruler.evaluate.benchmark import open_benchmark

    with open_benchmark(REPO):
        pass


def _broken(request: str, fault: Exception | Callable[[LoopbackHub], None], folder: Path) -> Seen:
    """One run of publish that meets a fault."""
    with running() as hub, talking_to(hub.endpoint, folder):
        hub.once(request, fault if isinstance(fault, Exception) else partial(fault, hub))
        return doing(partial(_published, ORIGINAL))


def _resumed(request: str, fault: Exception, folder: Path) -> Seen:
    """The run after it: one commit of ours, one tag on it, and what is there is what its manifest
    says."""
    with running() as hub, talking_to(hub.endpoint, folder):
        hub.once(request, fault)
        assert doing(partial(_published, ORIGINAL)).status == 2
        assert hub.repos[REPO].tags == {}
        seen = doing(partial(_published, ORIGINAL))
        assert len(hub.repos[REPO].commits) == 2
        _verified(f"{REPO}@{TAG}")
        return seen


def _published_once(repo: Repo) -> None:
    """One commit is ours, with its tag."""
    messages = [commit.message for commit in repo.commits.values()]
    assert messages == ["initial", f"Publish {TAG}"]
    assert repo.tags == {TAG: repo.head}


def _killed(request: str, folder: Path) -> Seen:
    """The Hub does what it was asked, and nobody is there to be told; then one commit is ours, with
    its tag."""
    read, write = os.pipe()
    child = os.fork()  # while no server runs here
    if child == 0:
        with talking_to(os.read(read, 100).decode(), folder / "killed"):
            _published(ORIGINAL)
        os._exit(0)

    def kill() -> None:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        threads.put(threading.current_thread())

    threads: queue.Queue[threading.Thread] = queue.Queue()
    with running() as hub, talking_to(hub.endpoint, folder):
        hub.once(request, kill)
        os.write(write, hub.endpoint.encode())
        threads.get(timeout=60).join(60)
        seen = doing(partial(_published, ORIGINAL))
        repo = hub.repos[REPO]
        _published_once(repo)
        _verified(f"{REPO}@{TAG}")
        return seen


def _twice(request: str, folder: Path) -> Seen:
    """Somebody else publishes the same meanwhile: it is there once, and whoever comes again finds
    it."""
    with running() as hub, talking_to(hub.endpoint, folder):
        hub.once(request, partial(_published, ORIGINAL))
        seen = doing(partial(_published, ORIGINAL))
        repo = hub.repos[REPO]
        _published_once(repo)
        assert doing(partial(_published, ORIGINAL)).status == 0
        _verified(f"{REPO}@{TAG}")
        return seen


def _edited(name: str, folder: Path) -> Seen:
    """Somebody edits a file between the commit and the tag of a run that broke off; the tag is on
    our files."""
    with running() as hub, talking_to(hub.endpoint, folder):
        hub.once("POST .*/tag/", RefusalError(500, "oops"))
        assert doing(partial(_published, ORIGINAL)).status == 2
        repo = hub.repos[REPO]
        files = dict(repo.files("main"))
        files[name] = replace(files.get(name, Blob(b"", False)), data=b"theirs")
        repo.commit(files, "an edit on the Hub")
        seen = doing(partial(_published, ORIGINAL))
        assert repo.tags == {TAG: repo.head}
        _verified(f"{REPO}@{TAG}")
        return seen


def _moved(folder: Path) -> Seen:
    """The tag stands on another commit than ours: nothing is tagged anew, and the difference is
    named."""
    with running() as hub, talking_to(hub.endpoint, folder):
        assert doing(partial(_published, ORIGINAL)).status == 0
        repo: Repo = hub.repos[REPO]
        files = dict(repo.files(TAG))
        files["README.md"] = Blob(files["README.md"].data + b"more", False)
        repo.tags[TAG] = moved = repo.commit(files, "theirs")
        seen = doing(partial(_published, ORIGINAL))
        assert repo.tags == {TAG: moved}
        return seen


def _repeats_the_token(folder: Path) -> Seen:
    """A server that repeats the token in what it says."""
    with running() as hub, talking_to(hub.endpoint, folder):
        message = f"no rights with {WRITE_TOKEN}" + " and so on" * 500
        hub.once("POST .*/commit/", RefusalError(400, message))
        seen = doing(partial(_published, ORIGINAL))
        assert WRITE_TOKEN not in seen.errors
        assert len(seen.errors.splitlines()[-1]) < 500
        return seen


def _above(folder: Path) -> Seen:
    """A data set with a file whose name leads out of it."""
    with running() as hub, talking_to(hub.endpoint, folder):
        repo = hub.repos[REPO] = Repo(private=False)
        blobs = {"manifest.json": Blob(b"{}", False), "../../../secret": Blob(b"x", False)}
        repo.tags[TAG] = repo.commit(blobs, "x")
        seen = doing(partial(_verified, f"{REPO}@{TAG}"))
        for path in folder.rglob("secret"):
            assert {"blobs", "it"} & set(path.parts)
        return seen


def _redirected(folder: Path) -> Seen:
    """The rows of a data set are a page to sign in: `verify` names them, with status 1."""
    with running() as hub, talking_to(hub.endpoint, folder):
        _published(ORIGINAL)
        files = hub.repos[REPO].files(TAG)
        name = next(name for name in files if name.endswith(".parquet"))
        files[name] = Blob(HOTEL, True)
        patched = folder / "root"
        patched.mkdir()
        seen = evenruler("verify", f"{REPO}@{TAG}", folder=patched)
        assert seen.status == 1
        return Seen(0, seen.errors)


XET = {"X-Xet-Access-Token": "token", "X-Xet-Token-Expiration": str(2**40)}
NO_TOKEN = RefusalError(500, "oops")
"""What is answered where a client asks for a token of Xet, the Hub's store of large files."""


def _xet(answer: RefusalError | dict[str, str], folder: Path) -> Seen:
    """Rows lie in Xet, and the client uses it, as it does unless HF_HUB_DISABLE_XET is set."""
    from huggingface_hub.utils import http_backoff

    with (
        running() as hub,
        talking_to(hub.endpoint, folder, xet=True),
        pytest.MonkeyPatch.context() as patch,
    ):
        once = partial(http_backoff, max_retries=0)
        patch.setattr("huggingface_hub.utils._xet.http_backoff", once)
        _in_xet(hub, answer)
        return doing(partial(_verified, f"{REPO}@{TAG}"))


def _in_xet(hub: LoopbackHub, answer: RefusalError | dict[str, str]) -> None:
    repo = hub.repos[REPO] = Repo(private=False)
    blobs = {}
    for path in ORIGINAL.rglob("*"):
        if path.is_file():
            name = path.relative_to(ORIGINAL).as_posix()
            blobs[name] = Blob(path.read_bytes(), name == "plan.json")
    repo.tags[TAG] = repo.commit(blobs, "files")
    hub.xet = answer


def _xet_elsewhere(address: str, folder: Path) -> Seen:
    """A token that names an address where nobody answers. The client of Xet keeps threads: in a
    process of its own."""
    with running() as hub:
        _in_xet(hub, XET | {"X-Xet-Cas-Url": address})
        env = {
            "HF_ENDPOINT": hub.endpoint,
            "HF_HOME": str(folder / "home"),
            "HF_HUB_DISABLE_XET": "0",
            "HF_HUB_OFFLINE": "0",
        }
        env |= {"HF_XET_CLIENT_RETRY_MAX_ATTEMPTS": "1", "HF_XET_CLIENT_RETRY_MAX_DURATION": "1s"}
        command = ("-c", "from evenruler.cli import main; main()", "verify", f"{REPO}@{TAG}")
        seen = program(sys.executable, *command, folder=folder, env=env)
        assert any("xet-read-token" in request for request in hub.log)
        return seen


def _without_xet(folder: Path) -> Seen:
    """The same with HF_HUB_DISABLE_XET=1, as the line says."""
    with running() as hub, talking_to(hub.endpoint, folder):
        _in_xet(hub, NO_TOKEN)
        return doing(partial(_verified, f"{REPO}@{TAG}"))


def _linked(name: str, folder: Path) -> Seen:
    """A file of the benchmark is a link to one with the same content, outside of it."""
    copy = Path(shutil.copytree(ORIGINAL, folder / "it"))
    (copy / name).rename(folder / "outside")
    (copy / name).symlink_to(folder / "outside")
    with running() as hub, talking_to(hub.endpoint, folder):
        seen = doing(partial(_published, copy))
        assert hub.repos == {}
        return seen


def _answers(name: str, folder: Path) -> Seen:
    """The card of exported answers is a link to something else, or is not there."""
    export = folder / "answers"
    export.mkdir()
    (folder / "secret").write_text("secret")
    (export / "answers.parquet").write_bytes(b"rows")
    description = {
        "name": "them",
        "kind": "causal",
        "licence": "mit",
        "sha256": hashlib.sha256(b"rows").hexdigest(),
    }
    (export / "model.json").write_text(json.dumps(description))
    if name == "linked":
        (export / "README.md").symlink_to(folder / "secret")
    with running() as hub, talking_to(hub.endpoint, folder):
        seen = evenruler("publish", str(export), "--to", REPO, folder=folder)
        assert hub.repos == {}
        return seen


STRANGE = {
    "a page to sign in": (200, HOTEL),
    "a list": (200, b"[]"),
    "an empty object": (200, b"{}"),
    "null": (200, b"null"),
    "nothing": (200, b""),
    "a redirect to nowhere": (302, b""),
    "levels without end": (200, b"[" * 100_000),
}
NOT_HUBS = "the "
"""Every line begins with what the Hub, or its answer, is; which of the two hangs on its client."""

CALLS: dict[str, Callable[[], None]] = {
    "publish": partial(_published, ORIGINAL),
    "verify USER/REPO@TAG": partial(_verified, f"{REPO}@{TAG}"),
    "measure USER/REPO": _measured,
}

WITHOUT_XET = ("Xet, the Hub's store of large files, fails", "set HF_HUB_DISABLE_XET=1")

CASES = [
    *(
        Case(
            f"the Hub answers {fault}",
            operation,
            Outcome.REFUSED,
            partial(_strange, *answer, call),
            (NOT_HUBS,),
        )
        for fault, answer in STRANGE.items()
        for operation, call in CALLS.items()
        if fault == "a page to sign in" or operation.startswith("verify")
    ),
    Case(
        "a fault of the Hub as rows are sent",
        "publish",
        Outcome.RESUMED,
        partial(_resumed, "PUT /_lfs/", RefusalError(400, "oops")),
    ),
    *refusals(
        "publish",
        {
            "the rate is limited": (
                partial(
                    _broken,
                    "POST .*/commit/",
                    RefusalError(
                        429, "slow", headers={"Retry-After": "²".encode().decode("latin-1")}
                    ),
                ),
                "429",
            ),
            "somebody moved the tag": (_moved, "published with other content"),
            "the Hub repeats the token": (_repeats_the_token, "HF_TOKEN"),
            "README.md is a link": (partial(_linked, "README.md"), "a link, which is not sent"),
        },
    ),
    *(
        Case(
            f"killed as the Hub makes {what}",
            "publish",
            Outcome.RESUMED,
            partial(_killed, request),
            slow=True,
            long=what == "the data set",
        )
        for what, request in (
            ("the data set", "POST .*/create"),
            ("the commit", "POST .*/commit/"),
            ("the tag", "POST .*/tag/"),
        )
    ),
    Case(
        "another publishes the same before the commit",
        "publish",
        Outcome.REFUSED,
        partial(_twice, "POST .*/commit/"),
        ("somebody else committed meanwhile", "run it again"),
        slow=True,
    ),
    Case(
        "another publishes the same before the tag",
        "publish",
        Outcome.REFUSED,
        partial(_twice, "POST .*/tag/"),
        ("somebody else made the same meanwhile (409)", "run it again"),
        long=True,
    ),
    Case(
        "somebody edits the card between commit and tag",
        "publish",
        Outcome.RESUMED,
        partial(_edited, "README.md"),
    ),
    *refusals(
        "verify USER/REPO@TAG",
        {
            "a file of the data set is named ../../../secret": (_above,),
            "the token of Xet is 500": (partial(_xet, NO_TOKEN), *WITHOUT_XET),
        },
    ),
    Case("the rows are a page to sign in", "verify USER/REPO@TAG", Outcome.UNHARMED, _redirected),
    Case(
        "the store of Xet is closed",
        "verify USER/REPO@TAG",
        Outcome.REFUSED,
        partial(_xet_elsewhere, "http://127.0.0.1:9"),
        WITHOUT_XET,
        slow=True,
    ),
    Case(
        "the token of Xet fails, without Xet",
        "verify USER/REPO@TAG",
        Outcome.UNHARMED,
        _without_xet,
    ),
    *refusals(
        "publish answers",
        {
            "the card of answers is a link": (
                partial(_answers, "linked"),
                "README.md: a link, which is not sent",
            ),
            "the card of answers is missing": (partial(_answers, "none"), "README.md: missing"),
        },
    ),
]

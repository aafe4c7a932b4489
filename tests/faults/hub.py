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
from pathlib import Path

import pytest

from tests.faults.cases import Case, Outcome, Seen, doing, evenruler, program, refusals
from tests.loopback_hub import WRITE_TOKEN, Blob, LoopbackHub, RefusalError, Repo, running
from tests.loopback_openai import talking
from tests.text_tables import yaml_of_text

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
def talking_hub(folder: Path) -> Iterator[LoopbackHub]:
    """A Hub on loopback that this process asks."""
    with running() as hub, talking_to(hub.endpoint, folder):
        yield hub


def _published(folder: Path) -> None:
    from evenruler.publish.publication import publish

    for _ in publish(folder, REPO):
        pass


def _publishes() -> Seen:
    return doing(partial(_published, ORIGINAL))


def _verified(place: str) -> None:
    from evenruler.publish.locate import open_place
    from evenruler.publish.manifest import manifest_problems

    with open_place(place) as folder:
        assert manifest_problems(folder) == []


def _strange(status: int, body: bytes, call: Callable[[], None], folder: Path) -> Seen:
    """A server answers everything so."""
    head = f"HTTP/1.1 {status} so\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    with (
        talking(lambda line: line.sendall(head.encode() + body)) as url,
        talking_to(url.removesuffix("/v1"), folder),
    ):
        return doing(call)


def _measured() -> None:
    from evenruler.evaluate.benchmark import open_benchmark

    with open_benchmark(REPO):
        pass


def _limited(folder: Path) -> Seen:
    """The rate is limited, for seconds that are no number."""
    waits = {"Retry-After": "²".encode().decode("latin-1")}
    with talking_hub(folder) as hub:
        hub.once("POST .*/commit/", RefusalError(429, "slow", headers=waits))
        return _publishes()


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
    with talking_hub(folder) as hub:
        hub.once(request, kill)
        os.write(write, hub.endpoint.encode())
        threads.get(timeout=60).join(60)
        seen = _publishes()
        repo = hub.repos[REPO]
        _published_once(repo)
        _verified(f"{REPO}@{TAG}")
        return seen


def _twice(request: str, folder: Path) -> Seen:
    """Somebody else publishes the same meanwhile: it is there once, and whoever comes again finds
    it."""
    with talking_hub(folder) as hub:
        hub.once(request, partial(_published, ORIGINAL))
        seen = _publishes()
        repo = hub.repos[REPO]
        _published_once(repo)
        assert _publishes().status == 0
        _verified(f"{REPO}@{TAG}")
        return seen


def _edited(folder: Path) -> Seen:
    """Somebody edits the card between the commit and the tag of a run that broke off; the tag is on
    our files."""
    with talking_hub(folder) as hub:
        hub.once("POST .*/tag/", RefusalError(500, "oops"))
        assert _publishes().status == 2
        repo = hub.repos[REPO]
        files = dict(repo.files("main"))
        files["README.md"] = replace(files["README.md"], data=b"theirs")
        repo.commit(files, "an edit on the Hub")
        seen = _publishes()
        assert repo.tags == {TAG: repo.head}
        _verified(f"{REPO}@{TAG}")
        return seen


def _repeats_the_token(folder: Path) -> Seen:
    """A server that repeats the token in what it says."""
    with talking_hub(folder) as hub:
        message = f"no rights with {WRITE_TOKEN}" + " and so on" * 500
        hub.once("POST .*/commit/", RefusalError(400, message))
        seen = _publishes()
        assert WRITE_TOKEN not in seen.errors
        assert len(seen.errors.splitlines()[-1]) < 500
        return seen


def _above(folder: Path) -> Seen:
    """A data set with a file whose name leads out of it."""
    with talking_hub(folder) as hub:
        repo = hub.repos[REPO] = Repo(private=False)
        blobs = {"manifest.json": Blob(b"{}", False), "../../../secret": Blob(b"x", False)}
        repo.tags[TAG] = repo.commit(blobs, "x")
        seen = doing(partial(_verified, f"{REPO}@{TAG}"))
        for path in folder.rglob("secret"):
            assert {"blobs", "it"} & set(path.parts)
        return seen


XET = {
    "X-Xet-Access-Token": "token",
    "X-Xet-Token-Expiration": str(2**40),
    "X-Xet-Cas-Url": "http://127.0.0.1:9",
}
NO_TOKEN = RefusalError(500, "oops")
"""What is answered where a client asks for a token of Xet, the Hub's store of large files."""


def _xet(folder: Path) -> Seen:
    """Rows lie in Xet, and the client uses it, as it does unless HF_HUB_DISABLE_XET is set."""
    from huggingface_hub.utils import http_backoff

    with (
        running() as hub,
        talking_to(hub.endpoint, folder, xet=True),
        pytest.MonkeyPatch.context() as patch,
    ):
        once = partial(http_backoff, max_retries=0)
        patch.setattr("huggingface_hub.utils._xet.http_backoff", once)
        _in_xet(hub, NO_TOKEN)
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


def _xet_elsewhere(folder: Path) -> Seen:
    """A token that names an address where nobody answers. The client of Xet keeps threads: in a
    process of its own."""
    with running() as hub:
        _in_xet(hub, XET)
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
    with talking_hub(folder) as hub:
        _in_xet(hub, NO_TOKEN)
        return doing(partial(_verified, f"{REPO}@{TAG}"))


def _linked(name: str, folder: Path) -> Seen:
    """A file of the benchmark is a link to one with the same content, outside of it."""
    copy = Path(shutil.copytree(ORIGINAL, folder / "it"))
    (copy / name).rename(folder / "outside")
    (copy / name).symlink_to(folder / "outside")
    with talking_hub(folder) as hub:
        seen = doing(partial(_published, copy))
        assert hub.repos == {}
        return seen


def _answers(name: str, folder: Path) -> Seen:
    """The card of exported answers is a link to something else, or is not there."""
    export = folder / "answers"
    export.mkdir()
    (folder / "secret").write_text("secret")
    (export / "answers.parquet").write_bytes(b"rows")
    sha256 = hashlib.sha256(b"rows").hexdigest()
    description = f"name: them\nkind: causal\nlicence: mit\nsha256: {sha256}\n"
    (export / "model.json").write_text(json.dumps(yaml_of_text(description)))
    if name == "linked":
        (export / "README.md").symlink_to(folder / "secret")
    with talking_hub(folder) as hub:
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
WITHOUT_XET = ("Xet, the Hub's store of large files, fails", "set HF_HUB_DISABLE_XET=1")
VERIFY = "verify USER/REPO@TAG"

CASES = [
    *refusals(
        VERIFY,
        {
            f"the Hub answers {fault}": (
                partial(_strange, *answer, partial(_verified, f"{REPO}@{TAG}")),
                NOT_HUBS,
            )
            for fault, answer in STRANGE.items()
        },
    ),
    *refusals(
        "measure USER/REPO",
        {"the Hub answers a page to sign in": (partial(_strange, 200, HOTEL, _measured), NOT_HUBS)},
    ),
    *refusals(
        "publish",
        {
            "the Hub answers a page to sign in": (
                partial(_strange, 200, HOTEL, partial(_published, ORIGINAL)),
                NOT_HUBS,
            ),
            "the rate is limited": (_limited, "429"),
            "the Hub repeats the token": (_repeats_the_token, "HF_TOKEN"),
            "README.md is a link": (partial(_linked, "README.md"), "a link, which is not sent"),
        },
    ),
    *(
        Case(
            f"killed as the Hub makes {what}",
            "publish",
            Outcome.RESUMED,
            partial(_killed, f"POST .*/{request}"),
            slow=True,
            long=what == "the data set",
        )
        for what, request in (
            ("the data set", "create"),
            ("the commit", "commit/"),
            ("the tag", "tag/"),
        )
    ),
    *refusals(
        "publish",
        {
            "another publishes the same before the commit": (
                partial(_twice, "POST .*/commit/"),
                "somebody else committed meanwhile",
                "run it again",
            )
        },
        slow=True,
    ),
    *refusals(
        "publish",
        {
            "another publishes the same before the tag": (
                partial(_twice, "POST .*/tag/"),
                "somebody else made the same meanwhile (409)",
                "run it again",
            )
        },
        long=True,
    ),
    Case("somebody edits between commit and tag", "publish", Outcome.RESUMED, _edited),
    *refusals(
        VERIFY,
        {
            "a file of the data set is named ../../../secret": (_above,),
            "the token of Xet is 500": (_xet, *WITHOUT_XET),
        },
    ),
    *refusals(VERIFY, {"the store of Xet is closed": (_xet_elsewhere, *WITHOUT_XET)}, slow=True),
    Case("the token of Xet fails, without Xet", VERIFY, Outcome.UNHARMED, _without_xet),
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

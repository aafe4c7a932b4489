"""Servers that speak the OpenAI protocol badly, over HTTP on loopback."""

import gzip
import socket
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from itertools import count
from pathlib import Path
from unittest.mock import patch

from evenruler.models import load
from evenruler.models.backends.server import KEY, URL
from evenruler.models.model import Model
from evenruler.models.store import RowStore
from tests.faults.cases import Case, Outcome, Seen, doing, refusals
from tests.loopback_openai import NO_ANSWERS, ScriptedServer, dripping, running, talking
from tests.tiny import catalogue_of, tiny_declaration

SECRET = "secret-word"
ASK = "ask a server for replies"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
LONG = 120
"""Seconds in which an answer must be there, however busy the machine."""


def _model(folder: Path) -> Model:
    declaration = tiny_declaration({})
    entry = {"kind": "chat", "source": "endpoint:big-one", "licence": "by its terms", "origin": "x"}
    declaration["models"]["big"] = entry
    return load("big", catalogue_of(declaration), store=RowStore(folder))


def _addressed(url: str) -> AbstractContextManager[object]:
    return patch.dict("os.environ", {URL: url, KEY: SECRET})


def _asking(folder: Path, url: str, *prompts: str, attempts: int = 2) -> Seen:
    """What a user sees who asks; a fault is met twice, so that nobody waits."""
    server = "evenruler.models.backends.server"
    settings = patch.multiple(server, ATTEMPTS=attempts, SECONDS=LONG)
    with _addressed(url), settings:
        seen = doing(lambda: _model(folder).replies(prompts))
    assert SECRET not in seen.errors
    return seen


def _says(status: int, body: object, folder: Path) -> Seen:
    """Nothing of it is kept: the server is asked again once it is well."""
    server = ScriptedServer(faults=[(status, body)] * 2)
    with running(server):
        seen = _asking(folder, server.url, "hello")
        server.faults.clear()
        with _addressed(server.url):
            model = _model(folder)
            assert model.generate(["hello"]) == ["HELLO"]
            assert model.asked == 1
    return seen


def _breaks(handle: Callable[[socket.socket], None], folder: Path) -> Seen:
    with talking(handle) as url:
        seen = _asking(folder, url, "hello")
    assert RowStore(folder).count() == 0
    return seen


def _drips(folder: Path) -> Seen:
    """Never long enough without a byte for a pause to be noticed."""
    with dripping([b" "] * 100, LONG / 5) as url:
        seen = _asking(folder, url, "hello", attempts=1)
    assert RowStore(folder).count() == 0
    return seen


def _never_ends(line: socket.socket) -> None:
    line.sendall(HEAD + b"Connection: close\r\n\r\n")
    for _ in count():
        line.sendall(b"x" * (1 << 16))


def _hangs_up(line: socket.socket) -> None:
    line.sendall(HEAD + b'Content-Length: 100\r\n\r\n{"choices"')


def _huge(folder: Path) -> Seen:
    with patch("evenruler.models.backends.server.LONGEST", 1 << 20):
        return _breaks(_never_ends, folder)


def _packed(content: bytes, packing: bytes, folder: Path) -> Seen:
    """An answer that is packed; nobody unpacks more of it than is read."""
    head = HEAD + b"Content-Encoding: %s\r\nContent-Length: %d\r\n\r\n" % (packing, len(content))
    with patch("evenruler.models.backends.server.LONGEST", 1 << 20):
        return _breaks(lambda line: line.sendall(head + content), folder)


def _elsewhere(folder: Path) -> Seen:
    """To another server, which would answer: its words must not become those of the one that is
    named."""
    with running(ScriptedServer()) as other:
        to = (
            f"HTTP/1.1 307 Moved\r\nLocation: {other.url}/chat/completions\r\nContent-Length: "
            "0\r\n\r\n"
        ).encode()
        seen = _breaks(lambda line: line.sendall(to), folder)
        assert other.asked == []
    return seen


def _fails_midway(folder: Path) -> Seen:
    """The answers before the fault are kept, and only the rest is asked by the next run."""
    prompts = [f"prompt-{number}." for number in range(24)]
    with running(ScriptedServer()) as server:
        _asking(folder, server.url, *prompts[:15])
        server.faults = [(500, {})] * 18  # two for each of the other nine
        assert _asking(folder, server.url, *prompts).status == 2
        server.faults, server.asked = [], []
        n_kept = RowStore(folder).count()
        assert n_kept >= 15
        seen = _asking(folder, server.url, *prompts)
        assert len(server.asked) == 24 - n_kept
    return seen


def _nobody_listens(folder: Path) -> Seen:
    with running(ScriptedServer()) as gone:
        pass
    return _asking(folder, gone.url, "hello")


SAYS = {
    "wrong key": ("401", "OPENAI_API_KEY"),
    "no such model": ("does not exist", "endpoint:"),
    "nothing with length": ("cut off", "--thinking 4096", "--new-tokens"),
    "html": ("is no answer", "Sign in"),
}
"""Words of some lines; by default that the server is at fault."""

CASES = [
    *(
        Case(
            f"says: {what}",
            ASK,
            Outcome.REFUSED,
            partial(_says, *answer),
            SAYS.get(what, ("big: ", "the server ")),
        )
        for what, answer in NO_ANSWERS.items()
    ),
    *refusals(
        ASK,
        {
            "drips an answer": (_drips, "timed out"),
            "an answer without end": (_huge, "is no answer", "1,048,576 bytes and more"),
            "a packed answer of 64 times what is read": (
                partial(_packed, gzip.compress(b" " * (1 << 26)), b"gzip"),
                "is no answer",
                "1,048,576 bytes and more",
            ),
            "packs as nobody asked for": (partial(_packed, b"{}", b"br"), "packed as br"),
            "hangs up in the middle": (partial(_breaks, _hangs_up), "Connection error"),
            "sends to another server": (_elsewhere, "sends elsewhere (http", f"set {URL}"),
            "nobody listens": (_nobody_listens, "Connection error", URL),
        },
    ),
    Case("fails in the middle of 24", ASK, Outcome.RESUMED, _fails_midway),
]

"""A wiki that answers what no wiki should.

Answers of another shape, waits of years, drips and redirects are tried one by one in `test_answers`
of tests/instruments/saged/scrape. Here are those that would fill memory, and one of each other kind
for the table.
"""

import gzip
import threading
from collections.abc import Sequence
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from evenruler.instruments.saged.scrape import wiki as asking
from evenruler.instruments.saged.scrape.pages import MissingPage
from evenruler.instruments.saged.scrape.wiki import RetryPolicy, Wiki
from tests.faults.cases import Case, Outcome, Seen, doing
from tests.instruments.saged.domains import places
from tests.local_wiki import Fault, FaultyProxy, answering, dripping

LIMIT = 1_000_000
"""Bytes of an answer, here; 64 millions else."""


def _page_read(faults: Sequence[Fault], folder: Path, seconds: float = 0) -> Seen:
    """Read one page; one that the wiki gives no answer about is a row with a reason, and not kept
    as absent.

    The clock goes on by so many seconds each time that somebody looks at it.
    """
    patience = RetryPolicy(
        requests_per_second=1e9, attempts=2, now=count(0, seconds).__next__, sleep=lambda _: None
    )
    with FaultyProxy("http://127.0.0.1:9/api.php") as server, pytest.MonkeyPatch.context() as patch:
        patch.setattr(asking, "_MOST_BYTES", LIMIT)
        server.plan("Tol", *faults, *faults)

        def read() -> None:
            with Wiki(places(server.api), "tests@example.org", patience) as wiki:
                page = wiki.read_page("Tol")
                assert isinstance(page, MissingPage)
                assert page.unanswered
                assert page.reason

        return doing(read)


def _dripped(folder: Path) -> Seen:
    released = threading.Event()
    seen = _page_read([dripping(released)], folder, 10)
    released.set()
    return seen


def _packed(how: str, body: bytes) -> Fault:
    return answering(200, body, {"Content-Encoding": how})


BOMB = gzip.compress(b" " * 10_000_000)
TOO_MUCH = ("an answer of more than 1,000,000 bytes; fix the address of api.php",)

CASES = [
    Case(fault, "ask a wiki", outcome, partial(_page_read, faults), says)
    for fault, faults, outcome, says in (
        (
            "10 MB that unpack from 10 KB",
            [_packed("gzip", BOMB)],
            Outcome.REFUSED,
            TOO_MUCH,
        ),
        ("an answer without end", [answering(200, b" " * 2 * LIMIT)], Outcome.REFUSED, TOO_MUCH),
        (
            "an answer packed in another way than was asked for",
            [_packed("br", b"x")],
            Outcome.REASON,
            (),
        ),
        ("an answer that does not unpack", [_packed("gzip", b"x" * 100)], Outcome.REASON, ()),
    )
]
CASES += [Case("an answer that drips", "ask a wiki", Outcome.REASON, _dripped)]

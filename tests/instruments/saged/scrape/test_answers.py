"""Wikis that answer what no wiki should: a line says what came, or it is asked again; nothing of it
is kept."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from evenruler.instruments.saged.declare.source import Direction
from evenruler.instruments.saged.scrape.pages import MissingPage, Page
from evenruler.instruments.saged.scrape.wiki import RetryPolicy, Wiki
from tests.instruments.saged.domains import places
from tests.local_wiki import FaultyProxy, answering

NOWHERE = "http://127.0.0.1:9/api.php"
WHOLE = {
    "pageid": 7,
    "ns": 0,
    "title": "Tol",
    "lastrevid": 9,
    "fullurl": "http://w.example/Tol",
    "pagelanguage": "en",
    "extract": "Tol is a hill.",
}


@pytest.fixture
def faulty() -> Iterator[FaultyProxy]:
    """A server that only knows faults."""
    with FaultyProxy(NOWHERE) as server:
        yield server


@pytest.fixture
def waits() -> list[float]:
    return []


@pytest.fixture
def wiki(faulty: FaultyProxy, waits: list[float]) -> Iterator[Wiki]:
    patience = RetryPolicy(
        requests_per_second=1e9, attempts=2, now=lambda: sum(waits), sleep=waits.append
    )
    with Wiki(places(faulty.api), "tests@example.org", patience) as wiki:
        yield wiki


def of_page(page: Any = None, **changes: Any) -> bytes:
    """An answer with one page, some of it wrong."""
    pages = {"7": page or WHOLE | changes}
    return json.dumps({"query": {"pages": pages}}).encode()


def without(key: str) -> bytes:
    return of_page({name: WHOLE[name] for name in WHOLE if name != key})


def test_an_answer_without_a_fault_is_kept(wiki: Wiki, faulty: FaultyProxy) -> None:
    """Without an address it has that of its revision."""
    faulty.plan("Tol", answering(200, b"\xef\xbb\xbf" + without("fullurl")))
    page = wiki.read_page("Tol")
    assert isinstance(page, Page)
    assert (page.page_id, page.revision_id, page.sections) == (7, 9, (("", "Tol is a hill."),))
    assert page.url == faulty.api.replace("api.php", "index.php?oldid=9")


NO_ANSWER = {
    "a page to sign in": b"<html>sign in</html>",
    "half of a letter": b'{"query": {"pages": {"7": {"title": "\\ud800"}}}}',
    "no UTF-8": b'{"query": "\xff"}',
    "too deep": b"[" * 100_000,
    "an endless number": b'{"query": ' + b"9" * 5000 + b"}",
    "no number": b'{"query": NaN}',
    "null": b"null",
    "an error that is a text": b'{"error": "text"}',
    "an error whose code is a number": b'{"error": {"code": 7}}',
}
STRANGE = {
    "an empty object": b"{}",
    "pages is a list": b'{"query": {"pages": [{"title": "Tol"}]}}',
    "a number that is a word": of_page(pageid="seven"),
    "text that is a list": of_page(extract=["Tol"]),
    "text without a revision": without("lastrevid"),
}


@pytest.mark.parametrize("answer", (NO_ANSWER | STRANGE).values(), ids=NO_ANSWER | STRANGE)
def test_an_answer_that_is_not_mediawiki_s_is_none(
    wiki: Wiki, faulty: FaultyProxy, waits: list[float], answer: bytes
) -> None:
    faulty.plan("Tol", *[answering(200, answer)] * 2)
    page = wiki.read_page("Tol")
    assert isinstance(page, MissingPage)
    assert page.unanswered
    assert page.reason.startswith("the wiki does not answer (its answer is not MediaWiki's: ")
    assert len(page.reason) < 200
    assert (1.0 in waits) == (
        answer in NO_ANSWER.values()
    )  # without an object, or a code, it is asked once more


LINKS = {
    "links are null": ("forward", of_page({"pageid": 7, "title": "Tol", "links": None})),
    "no title": ("forward", of_page({"pageid": 7, "title": "Tol", "links": [{"ns": 0}]})),
    "back links are null": ("back", b'{"query": {"backlinks": null}}'),
}


@pytest.mark.parametrize(("direction", "answer"), LINKS.values(), ids=LINKS)
def test_links_of_another_shape(
    wiki: Wiki,
    faulty: FaultyProxy,
    error_of: Callable[..., str],
    direction: Direction,
    answer: bytes,
) -> None:
    faulty.plan("Tol", answering(200, answer))
    message = "links of 'Tol': the wiki does not answer (its answer is not MediaWiki's: "
    assert error_of(wiki.links, "Tol", direction).startswith(f"{faulty.api}: {message}")


ENDLESS = {"pageid": 7, "title": "Tol", "links": [{"ns": 0, "title": "Sarn"}]}


def batch(number: int = 7) -> bytes:
    return json.dumps(
        {"query": {"pages": {number: ENDLESS}}, "continue": {"plcontinue": "7|0|Sarn"}}
    ).encode()


def test_a_list_without_end_ends(wiki: Wiki, faulty: FaultyProxy) -> None:
    faulty.plan("Tol", *[answering(200, batch())] * 3)
    assert wiki.links("Tol", most=900) == ["Sarn"]
    assert faulty.asked == ["Tol"] * 2
    assert wiki.links("Tol") == ["Sarn"]


def test_batches_of_different_pages(
    wiki: Wiki, faulty: FaultyProxy, error_of: Callable[..., str]
) -> None:
    faulty.plan("Tol", answering(200, batch()), answering(200, batch(8)))
    assert "links of 'Tol': the wiki does not answer (its" in error_of(wiki.links, "Tol", most=900)


@pytest.mark.parametrize(
    "query",
    [
        {"interwiki": [{"title": "w:Tol", "iw": "w"}]},
        {"redirects": [{"from": "Tol", "to": "Tol"}]},
    ],
)
def test_a_title_of_another_wiki_or_a_circle_is_no_page(
    wiki: Wiki, faulty: FaultyProxy, query: Any
) -> None:
    answer = answering(200, json.dumps({"query": query}).encode())
    faulty.plan("Tol", answer, answer)
    assert wiki.read_page("Tol") == MissingPage("Tol", "no page of this wiki")
    assert wiki.links("Tol") == []


@pytest.mark.parametrize(
    ("retry_after", "waited"),
    [
        ("²", 1.0),  # an isdigit() that is no number
        ("soon", 1.0),
        ("Wed, 21 Oct 99999 07:28:00 GMT", 1.0),
        ("Wed, 21 Oct 2015 07:28:00 +9999999999", 1.0),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
    ],
)
def test_a_retry_after_of_any_kind(
    wiki: Wiki, faulty: FaultyProxy, waits: list[float], retry_after: str, waited: float
) -> None:
    faulty.plan(
        "Tol", answering(429, headers={"Retry-After": retry_after}), answering(200, of_page())
    )
    assert isinstance(wiki.read_page("Tol"), Page)
    assert sum(waits) == pytest.approx(waited, abs=1e-6)


@pytest.mark.parametrize("retry_after", ["9" * 400, "Wed, 21 Oct 9999 07:28:00 GMT"])
def test_a_retry_after_of_years_is_not_waited(
    wiki: Wiki, faulty: FaultyProxy, waits: list[float], retry_after: str
) -> None:
    faulty.plan("Tol", answering(503, headers={"Retry-After": retry_after}))
    page = wiki.read_page("Tol")
    assert isinstance(page, MissingPage)
    assert page.unanswered
    assert "HTTP 503, to be asked again in" in page.reason
    assert len(page.reason) < 100
    assert waits == []


@pytest.mark.parametrize(
    ("location", "message"),
    [
        (
            "http://127.0.0.2:{port}/w/api.php",
            "the wiki leads to another host, http://127.0.0.2:{port}/w/api.php; name",
        ),
        (
            "http://127.0.0.1:9/w/api.php",
            "the wiki leads to another host, http://127.0.0.1:9/w/api.php; name",
        ),
        (
            "//evil.example/w/api.php",
            "the wiki leads to another host, http://evil.example/w/api.php; name",
        ),
        ("http://[", "the wiki leads to another host, http://%5b; name"),
        ("ftp://127.0.0.1/", "the wiki leads to another host, ftp://127.0.0.1/; name"),
    ],
)
def test_redirects_elsewhere_are_refused(
    wiki: Wiki, faulty: FaultyProxy, error_of: Callable[..., str], location: str, message: str
) -> None:
    port = faulty.api.split(":")[2].split("/")[0]
    away = answering(302, headers={"Location": location.format(port=port)})
    faulty.plan("Tol", away)
    line = error_of(wiki.read_page, "Tol")
    assert line.startswith(f"{faulty.api}: {message.format(port=port)}")


def test_a_redirect_on_the_host_is_followed(wiki: Wiki, faulty: FaultyProxy) -> None:
    faulty.plan(
        "Tol",
        answering(301, headers={"Location": "/other/api.php?titles=Tol"}),
        answering(200, of_page()),
    )
    assert isinstance(wiki.read_page("Tol"), Page)
    assert faulty.asked == ["Tol", "Tol"]


@pytest.mark.parametrize(
    ("location", "error"),
    [
        ("http://\xdf\xdf.\xad/", "RemoteProtocolError"),
        ("/w/api.php?titles=Tol", "TooManyRedirects"),
    ],
)
def test_a_redirect_to_no_address_or_without_end_counts_as_unanswered(
    wiki: Wiki, faulty: FaultyProxy, location: str, error: str
) -> None:
    faulty.plan("Tol", *[answering(302, headers={"Location": location})] * 50)
    reason = f"the wiki does not answer (the connection failed ({error}))"
    assert wiki.read_page("Tol") == MissingPage("Tol", reason, unanswered=True)

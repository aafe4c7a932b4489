"""Wikis that answer what no wiki should: a line says what came, or it is asked again; nothing of it is kept."""

import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from evenruler.instruments.saged.scrape.api import Patience
from evenruler.instruments.saged.scrape.pages import Missing, Page
from evenruler.instruments.saged.scrape.wiki import Wiki
from tests.instruments.saged.domains import places
from tests.local_wiki import FaultyProxy, answering, dripping

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


def wiki_of(faulty: FaultyProxy, waits: list[float], timeout: float) -> Wiki:
    time: dict[str, Any] = {"now": lambda: sum(waits), "sleep": waits.append}
    patience = Patience(requests_per_second=1e9, attempts=2, timeout=timeout, **time)
    return Wiki(places(faulty.api), "tests@example.org", patience)


@pytest.fixture
def wiki(faulty: FaultyProxy, waits: list[float]) -> Iterator[Wiki]:
    with wiki_of(faulty, waits, 60) as w:
        yield w


def of_page(**changes: Any) -> bytes:
    """An answer with one page, some of it wrong."""
    return json.dumps({"query": {"pages": [WHOLE | changes]}}).encode()


def without(key: str) -> bytes:
    return json.dumps({"query": {"pages": [{name: WHOLE[name] for name in WHOLE if name != key}]}}).encode()


def test_an_answer_without_a_fault_is_kept(wiki: Wiki, faulty: FaultyProxy) -> None:
    faulty.plan("Tol", answering(200, b"\xef\xbb\xbf" + of_page()))
    page = wiki.read_page("Tol")
    assert isinstance(page, Page)
    assert (page.page_id, page.revision_id, page.sections) == (7, 9, (("", "Tol is a hill."),))


STRANGE = {
    "a page to sign in": (b"<html>sign in</html>", "Invalid JSON"),
    "nothing": (b"", "Invalid JSON"),
    "half of a letter": (b'{"query": {"pages": [{"title": "\\ud800"}]}}', "Invalid JSON"),
    "no UTF-8": (b'{"query": "\xff"}', "Invalid JSON"),
    "too deep": (b"[" * 100_000, "Invalid JSON"),
    "an endless number": (b'{"query": ' + b"9" * 5000 + b"}", "Invalid JSON"),
    "no number": (b'{"query": NaN}', "query: Input should be an object"),
    "an empty object": (b"{}", "Value error, neither `query` nor `parse`"),
    "null": (b"null", "Input should be an object"),
    "an error whose code is a number": (b'{"error": {"code": 7}}', "error: code: Input should be a valid string"),
    "query is a list": (b'{"query": []}', "query: Input should be an object"),
    "pages is an object": (b'{"query": {"pages": {"7": {}}}}', "query: pages: Input should be a valid array"),
    "two pages": (
        b'{"query": {"pages": [{"title": "a"}, {"title": "b"}]}}',
        "query: pages: List should have at most 1",
    ),
    "a number that is a text": (of_page(pageid="7"), "query: pages: 0: pageid: Input should be a valid integer"),
    "a number that no table holds": (of_page(lastrevid=2**70), "query: pages: 0: lastrevid: Input should be less"),
    "text that is a list": (of_page(extract=["Tol"]), "query: pages: 0: extract: Input should be a valid string"),
    "no title": (without("title"), "query: pages: 0: title: Field required"),
    "an address that is none": (of_page(fullurl="javascript:x"), "query: pages: 0: fullurl: String should match"),
}


@pytest.mark.parametrize(("answer", "said"), STRANGE.values(), ids=STRANGE)
def test_an_answer_that_is_not_mediawiki_s_is_none(
    wiki: Wiki, faulty: FaultyProxy, waits: list[float], answer: bytes, said: str
) -> None:
    faulty.plan("Tol", *[answering(200, answer)] * 2)
    page = wiki.read_page("Tol")
    assert isinstance(page, Missing)
    assert page.unanswered
    assert page.reason.startswith(f"the wiki does not answer (its answer is not MediaWiki's: {said}")
    assert len(page.reason) < 200
    assert waits == [1.0]  # it was asked once more


LINKS = {
    "links are null": ({"pageid": 7, "title": "Tol", "links": None}, "links: Input should be a valid array"),
    "a link without a title": ({"pageid": 7, "title": "Tol", "links": [{"ns": 0}]}, "links: 0: title: Field required"),
}


@pytest.mark.parametrize(("answer", "said"), LINKS.values(), ids=LINKS)
def test_links_of_another_shape(
    wiki: Wiki, faulty: FaultyProxy, error_of: Callable[..., str], answer: Any, said: str
) -> None:
    faulty.plan("Tol", *[answering(200, json.dumps({"query": {"pages": [answer]}}).encode())] * 2)
    assert f"its answer is not MediaWiki's: query: pages: 0: {said}" in error_of(wiki.links, "Tol")


def test_back_links_of_another_shape(wiki: Wiki, faulty: FaultyProxy, error_of: Callable[..., str]) -> None:
    faulty.plan("Tol", *[answering(200, b'{"query": {"backlinks": null}}')] * 2)
    assert "links of 'Tol': the wiki does not answer (its" in error_of(wiki.links, "Tol", "back")


def test_a_list_without_end_ends(wiki: Wiki, faulty: FaultyProxy) -> None:
    own = {"pageid": 7, "title": "Tol", "links": [{"ns": 0, "title": "Sarn"}]}
    endless = {"query": {"pages": [own]}, "continue": {"plcontinue": "7|0|Sarn"}}
    faulty.plan("Tol", *[answering(200, json.dumps(endless).encode())] * 2)
    assert wiki.links("Tol", most=900) == ["Sarn"]


def test_text_is_of_a_revision_and_has_an_address(wiki: Wiki, faulty: FaultyProxy) -> None:
    faulty.plan("Tol", *[answering(200, without(key)) for key in ("lastrevid", "fullurl")])
    assert wiki.read_page("Tol") == Missing("Tol", "no such page")
    page = wiki.read_page("Tol")
    assert isinstance(page, Page)
    assert page.url == faulty.api.replace("api.php", "index.php?oldid=9")


@pytest.mark.parametrize(
    "query",
    [{"interwiki": [{"title": "w:Tol", "iw": "w"}]}, {"redirects": [{"from": "Tol", "to": "Tol"}]}, {"pages": []}],
)
def test_a_title_of_another_wiki_or_a_circle_is_no_page(wiki: Wiki, faulty: FaultyProxy, query: Any) -> None:
    faulty.plan("Tol", *[answering(200, json.dumps({"query": query}).encode())] * 2)
    assert wiki.read_page("Tol") == Missing("Tol", "no page of this wiki")
    assert wiki.links("Tol") == []


@pytest.mark.parametrize(
    ("retry_after", "waited"),
    [
        ("²", 1.0),  # an isdigit() that is no number
        ("-5", 1.0),
        ("1.5", 1.0),
        ("soon", 1.0),
        ("Wed, 21 Oct 99999 07:28:00 GMT", 1.0),
        ("Wed, 21 Oct 2015 07:28:00 +9999999999", 1.0),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
        ("0", 0.0),
    ],
)
def test_a_retry_after_of_any_kind(
    wiki: Wiki, faulty: FaultyProxy, waits: list[float], retry_after: str, waited: float
) -> None:
    faulty.plan("Tol", answering(429, headers={"Retry-After": retry_after}), answering(200, of_page()))
    assert isinstance(wiki.read_page("Tol"), Page)
    assert sum(waits) == pytest.approx(waited, abs=1e-6)


@pytest.mark.parametrize("retry_after", ["9" * 400, "999999999999", "Wed, 21 Oct 9999 07:28:00 GMT"])
def test_a_retry_after_of_years_is_not_waited(
    wiki: Wiki, faulty: FaultyProxy, waits: list[float], retry_after: str
) -> None:
    faulty.plan("Tol", answering(503, headers={"Retry-After": retry_after}))
    found = wiki.read_page("Tol")
    assert isinstance(found, Missing)
    assert found.unanswered
    assert "HTTP 503, to be asked again in" in found.reason
    assert len(found.reason) < 100
    assert waits == []


@pytest.mark.parametrize("head", [True, False], ids=["of headers", "of the body"])
def test_an_answer_that_drips_ends(faulty: FaultyProxy, waits: list[float], head: bool) -> None:
    released = threading.Event()
    faulty.plan("Tol", *[dripping(released, head=head)] * 2)
    reason = "the wiki does not answer (the connection failed (TimeoutError))"
    with wiki_of(faulty, waits, 0.5) as wiki:
        assert wiki.read_page("Tol") == Missing("Tol", reason, unanswered=True)
    released.set()


@pytest.mark.parametrize(
    ("location", "said"),
    [
        (
            "http://127.0.0.2:{port}/w/api.php",
            "the wiki leads to another host, http://127.0.0.2:{port}/w/api.php; name",
        ),
        ("http://127.0.0.1:9/w/api.php", "the wiki leads to another host, http://127.0.0.1:9/w/api.php; name"),
        ("//evil.example/w/api.php", "the wiki leads to another host, http://evil.example/w/api.php; name"),
        ("http://[", "the wiki leads to another host, http://%5b; name"),
        ("ftp://127.0.0.1/", "the wiki leads to another host, ftp://127.0.0.1/; name"),
    ],
)
def test_redirects_elsewhere_are_refused(
    wiki: Wiki, faulty: FaultyProxy, error_of: Callable[..., str], location: str, said: str
) -> None:
    port = faulty.api.split(":")[2].split("/")[0]
    away = answering(302, headers={"Location": location.format(port=port)})
    faulty.plan("Tol", away)
    assert error_of(wiki.read_page, "Tol").startswith(f"{faulty.api}: {said.format(port=port)}")


def test_a_redirect_on_the_host_is_followed(wiki: Wiki, faulty: FaultyProxy) -> None:
    faulty.plan("Tol", answering(301, headers={"Location": "/other/api.php?titles=Tol"}), answering(200, of_page()))
    assert isinstance(wiki.read_page("Tol"), Page)
    assert faulty.asked == ["Tol", "Tol"]


@pytest.mark.parametrize(
    ("location", "error"),
    [
        ("http://\xdf\xdf.\xad/", "RemoteProtocolError"),
        ("http://127.0.0.1:x/", "RemoteProtocolError"),
        ("/w/api.php?titles=Tol", "TooManyRedirects"),
    ],
)
def test_a_redirect_to_no_address_or_without_end_counts_as_unanswered(
    wiki: Wiki, faulty: FaultyProxy, location: str, error: str
) -> None:
    faulty.plan("Tol", *[answering(302, headers={"Location": location})] * 50)
    reason = f"the wiki does not answer (the connection failed ({error}))"
    assert wiki.read_page("Tol") == Missing("Tol", reason, unanswered=True)

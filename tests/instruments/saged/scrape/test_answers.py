"""Wikis that answer what no wiki should: a line says what came, or it is asked again; nothing of it is kept."""

import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from evenruler.instruments.saged.scrape.pages import Missing, Page
from evenruler.instruments.saged.scrape.polite import Clock, Patience
from evenruler.instruments.saged.scrape.wiki import Wiki, WikiSettings
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


def wiki_of(faulty: FaultyProxy, waits: list[float], deadline: float) -> Wiki:
    patience = Patience(requests_per_second=1e9, attempts=2, first_wait=1, timeout=60, deadline=deadline)
    clock = Clock(now=lambda: sum(waits), sleep=waits.append)
    settings = WikiSettings("tests@example.org", api=faulty.api, licence="cc0-1.0", patience=patience)
    return Wiki(settings, clock=clock)


@pytest.fixture
def wiki(faulty: FaultyProxy, waits: list[float]) -> Iterator[Wiki]:
    with wiki_of(faulty, waits, 60) as w:
        yield w


def of_page(**changes: Any) -> bytes:
    """An answer with one page, some of it wrong."""
    return json.dumps({"query": {"pages": {"7": {**WHOLE, **changes}}}}).encode()


def without(key: str) -> bytes:
    return json.dumps({"query": {"pages": {"7": {name: WHOLE[name] for name in WHOLE if name != key}}}}).encode()


def test_an_answer_without_a_fault_is_kept(wiki: Wiki, faulty: FaultyProxy) -> None:
    faulty.plan("Tol", answering(200, b"\xef\xbb\xbf" + of_page()))
    page = wiki.read_page("Tol")
    assert isinstance(page, Page)
    assert (page.page_id, page.revision_id, page.sections) == (7, 9, (("", "Tol is a hill."),))


STRANGE = {
    "an empty object": (b"{}", "query: Field required: {}"),
    "null": (b"null", "no object: null"),
    "an error whose code is a number": (b'{"error": {"code": 7}}', "code: Input should be a valid string"),
    "query is a list": (b'{"query": []}', "query: Input should be a valid dictionary"),
    "query is empty": (b'{"query": {}}', "no `pages`"),
    "pages is a list": (b'{"query": {"pages": [{}]}}', "query.pages: Input should be a valid dictionary"),
    "pages is empty": (b'{"query": {"pages": {}}}', "no `pages`"),
    "a page that is neither there nor absent": (
        b'{"query": {"pages": {"-1": {"title": "Tol"}}}}',
        "query: a page that is neither there nor absent",
    ),
    "two pages": (
        b'{"query": {"pages": {"7": {"pageid": 7, "title": "a"}, "8": {"pageid": 8, "title": "b"}}}}',
        "query: several pages for one title",
    ),
    "a page under another number": (of_page(pageid=8), "query: a page under another number than its own"),
    "a number that is a text": (of_page(pageid="7"), "query.pages.7.pageid: Input should be a valid integer"),
    "a number that no table holds": (of_page(lastrevid=2**70), "query.pages.7.lastrevid: Input should be less"),
    "text that is a list": (of_page(extract=["Tol"]), "query.pages.7.extract: Input should be a valid string"),
    "text without a revision": (without("lastrevid"), "query: text of a page without its lastrevid"),
    "text without an address": (without("fullurl"), "query: text of a page without its fullurl"),
    "no title": (without("title"), "query.pages.7.title: Field required"),
    "an address that is none": (of_page(fullurl="javascript:x"), "query.pages.7.fullurl: String should match"),
}


@pytest.mark.parametrize(("answer", "said"), STRANGE.values(), ids=STRANGE)
def test_an_answer_of_another_shape_is_one_line(
    wiki: Wiki, faulty: FaultyProxy, waits: list[float], error_of: Callable[..., str], answer: bytes, said: str
) -> None:
    faulty.plan("Tol", *[answering(200, answer)] * 2)
    line = error_of(wiki.read_page, "Tol")
    assert line.startswith(f"{faulty.api}: the wiki's answer is not MediaWiki's: {said}")
    assert line.endswith("; mend the address of api.php, or run it again later")
    assert len(line) < 300
    assert waits == [1.0]  # it was asked once more


UNREADABLE = {
    "a page to sign in": b"<html>sign in</html>",
    "nothing": b"",
    "half of a letter": b'{"query": {"pages": {"7": {"title": "\\ud800"}}}}',
    "no UTF-8": b'{"query": "\xff"}',
    "no number": b'{"query": NaN}',
    "too deep": b"[" * 100_000,
    "an endless number": b'{"query": ' + b"9" * 5000 + b"}",
}


@pytest.mark.parametrize("answer", UNREADABLE.values(), ids=UNREADABLE)
def test_what_is_no_json_counts_as_unanswered(wiki: Wiki, faulty: FaultyProxy, answer: bytes) -> None:
    faulty.plan("Tol", *[answering(200, answer)] * 2)
    reason = "the wiki does not answer (an answer that is no JSON, 2 attempts)"
    assert wiki.read_page("Tol") == Missing("Tol", reason, unanswered=True)


LINKS = {
    "links are null": (
        {"query": {"pages": {"7": {"pageid": 7, "title": "Tol", "links": None}}}},
        "query.pages.7.links",
    ),
    "a link without a title": (
        {"query": {"pages": {"7": {"pageid": 7, "title": "Tol", "links": [{"ns": 0}]}}}},
        "query.pages.7.links.0.title: Field required",
    ),
    "it goes on nowhere": (
        {"query": {"pages": {"7": {"pageid": 7, "title": "Tol", "links": []}}}, "continue": {"continue": "||"}},
        "it goes on without `plcontinue`",
    ),
}


@pytest.mark.parametrize(("answer", "said"), LINKS.values(), ids=LINKS)
def test_links_of_another_shape(
    wiki: Wiki, faulty: FaultyProxy, error_of: Callable[..., str], answer: Any, said: str
) -> None:
    faulty.plan("Tol", *[answering(200, json.dumps(answer).encode())] * 2)
    assert error_of(wiki.links, "Tol").startswith(f"{faulty.api}: the wiki's answer is not MediaWiki's: {said}")


def test_back_links_of_another_shape(wiki: Wiki, faulty: FaultyProxy, error_of: Callable[..., str]) -> None:
    faulty.plan("Tol", *[answering(200, b'{"query": {}}')] * 2)
    assert "not MediaWiki's: no `backlinks`" in error_of(wiki.links, "Tol", "back")


def test_batches_of_different_pages(wiki: Wiki, faulty: FaultyProxy, error_of: Callable[..., str]) -> None:
    own = {"pageid": 7, "title": "Tol", "links": [{"ns": 0, "title": "Sarn"}]}
    one = {"query": {"pages": {"7": own}}, "continue": {"plcontinue": "7|0|Sarn"}}
    other = {"query": {"pages": {"8": {**own, "pageid": 8}}}}
    faulty.plan("Tol", *[answering(200, json.dumps(each).encode()) for each in (one, other)])
    assert "links of 'Tol': the batches of its answer do not belong together" in error_of(wiki.links, "Tol", most=900)


@pytest.mark.parametrize(
    "query", [{"interwiki": [{"title": "w:Tol", "iw": "w"}]}, {"redirects": [{"from": "Tol", "to": "Tol"}]}]
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
    reason = "the wiki does not answer (no whole answer within 0.5 s, 2 attempts)"
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
        ("/w/api.php?titles=Tol", "more than 5 redirects; mend the address of api.php"),
    ],
)
def test_redirects_elsewhere_or_without_end_are_refused(
    wiki: Wiki, faulty: FaultyProxy, error_of: Callable[..., str], location: str, said: str
) -> None:
    port = faulty.api.split(":")[2].split("/")[0]
    away = answering(302, headers={"Location": location.format(port=port)})
    faulty.plan("Tol", *[away] * 6)
    assert error_of(wiki.read_page, "Tol").startswith(f"{faulty.api}: {said.format(port=port)}")


def test_a_redirect_on_the_host_is_followed(wiki: Wiki, faulty: FaultyProxy) -> None:
    faulty.plan("Tol", answering(301, headers={"Location": "/other/api.php?titles=Tol"}), answering(200, of_page()))
    assert isinstance(wiki.read_page("Tol"), Page)
    assert faulty.asked == ["Tol", "Tol"]


@pytest.mark.parametrize("location", ["http://\xdf\xdf.\xad/", "http://127.0.0.1:x/"])
def test_a_redirect_to_no_address_counts_as_unanswered(wiki: Wiki, faulty: FaultyProxy, location: str) -> None:
    faulty.plan("Tol", *[answering(302, headers={"Location": location})] * 2)
    reason = "the wiki does not answer (the connection failed (RemoteProtocolError), 2 attempts)"
    assert wiki.read_page("Tol") == Missing("Tol", reason, unanswered=True)

"""Pages and links of a real MediaWiki, and of wikis that answer what none should."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pytest

from evenruler.instruments.saged.declare.source import Direction, LinkCrawl
from evenruler.instruments.saged.scrape.pages import MissingPage, Page
from evenruler.instruments.saged.scrape.wiki import Wiki, fetch_pages
from tests.instruments.saged import conftest
from tests.instruments.saged.domains import places
from tests.instruments.saged.scrape.conftest import CONTACT
from tests.local_wiki import FaultyProxy, LocalWiki, answering


def page(wiki: Wiki, title: str) -> Page:
    answer = wiki.read_page(title)
    assert isinstance(answer, Page)
    return answer


def missing(wiki: Wiki, title: str) -> MissingPage:
    answer = wiki.read_page(title)
    assert isinstance(answer, MissingPage)
    assert answer.requested_title == title
    return answer


def test_a_page_has_its_sections_and_where_it_is_from(wiki, wiki_server) -> None:
    veloria = page(wiki, "Veloria")
    assert veloria.sections == (
        (
            "",
            "Veloria is an invented country. Its capital is Port Amber.\nIt borders on Sarn and on "
            "Unwritten land.",
        ),
        ("Geography", "Rivers cross Veloria."),
        ("Rivers", "The Long River is long. It ends at the sea."),
    )
    assert (veloria.title, veloria.language) == ("Veloria", "en")
    assert veloria.url == f"http://127.0.0.1:{wiki_server.port}/index.php/Veloria"
    assert (veloria.source, veloria.licence) == ("Testers", "cc0-1.0")
    assert veloria.page_id > 1  # 1 is the main page


def test_a_page_without_a_lead_does_not_repeat_its_sections(wiki) -> None:
    assert page(wiki, "Sarn").sections == (
        ("Name", "Sarn has no lead. It borders on Veloria and Tol."),
    )


def test_a_redirect_is_followed_and_what_was_asked_for_is_kept(wiki) -> None:
    port = page(wiki, "Amberport")
    assert (port.requested_title, port.title) == ("Amberport", "Port Amber")
    assert port.sections == (
        ("", "Port Amber is a city in Veloria.\nIt has a harbour.\nIt has a Lighthouse."),
    )
    assert port.page_id == page(wiki, "Port Amber").page_id


@pytest.mark.parametrize(
    ("title", "reason"),
    [
        ("Nowhere", "no such page"),
        ("Amber", "a disambiguation page"),
        ("Empty", "a page without text"),
        ("Special:Version", "no such page"),
        ("wikipedia:Veloria", "no page of this wiki"),
        ("Veloria|Tol", "no title that a page can have"),
    ],
)
def test_what_cannot_be_read_has_a_reason(wiki, title, reason) -> None:
    assert missing(wiki, title) == MissingPage(title, reason)


def test_a_page_takes_one_request_which_says_who_asks(wiki, proxy) -> None:
    page(wiki, "Veloria")
    missing(wiki, "Amber")
    missing(wiki, "Nowhere")
    assert proxy.asked == ["Veloria", "Amber", "Nowhere"]
    for agent in proxy.agents:
        assert agent.startswith("evenruler/")
        assert f"({CONTACT})" in agent
    assert all(parameters["maxlag"] == ["5"] for parameters in proxy.parameters)


class TestRevisions:
    """Text of an old revision, from the HTML that a wiki makes of it."""

    @pytest.fixture
    def pinned(self, proxy: FaultyProxy, wiki_server: LocalWiki) -> Iterator[Callable[..., Wiki]]:
        """A wiki that reads titles in their present revisions, or in those that are given."""
        with ExitStack() as stack:

            def read(*titles: str, **numbers: int) -> Wiki:
                revisions = {title: wiki_server.revision(title) for title in titles} | numbers
                return stack.enter_context(Wiki(places(proxy.api, revisions=revisions), CONTACT))

            yield read

    def test_its_text_is_that_of_the_page_as_it_was(self, wiki, pinned, proxy, wiki_server) -> None:
        titles = ("Veloria", "Port Amber", "Sarn")
        latest = {title: page(wiki, title) for title in titles}
        reader = pinned(*titles)
        wiki_server.write(dict.fromkeys(titles, "Another text."))
        old = {title: page(reader, title) for title in titles}
        now = [page(wiki, title).sections for title in titles]
        wiki_server.write({title: conftest.PAGES[title] for title in titles})
        assert now == [(("", "Another text."),)] * 3
        place = f"{proxy.api.removesuffix('api.php')}index.php?oldid="
        for title, before in latest.items():
            assert old[title] == replace(before, url=f"{place}{before.revision_id}")
        assert page(reader, "Tol").url.endswith("/index.php/Tol")
        assert all(parameters["maxlag"] == ["5"] for parameters in proxy.parameters)

    @pytest.mark.parametrize(
        ("title", "reason"), [("Amber", "a disambiguation page"), ("Empty", "a page without text")]
    )
    def test_what_holds_no_text(self, pinned, title, reason) -> None:
        assert missing(pinned(title), title) == MissingPage(title, reason)

    def test_a_revision_that_is_not_there_is_listed(self, pinned) -> None:
        absent = missing(pinned(Tol=999_999), "Tol")
        assert (
            absent.reason
            == "revision 999999: the wiki refuses: There is no revision with ID 999999."
        )
        assert not absent.unanswered


def test_links(wiki) -> None:
    assert wiki.links("Veloria") == ["Long River", "Port Amber", "Sarn", "Unwritten land"]
    assert wiki.links("Veloria", "back") == ["Cuisine", "Music", "Port Amber", "Sarn"]
    assert wiki.links("Lonely") == wiki.links("Lonely", "back") == wiki.links("Nowhere") == []
    # Without the redirect, which is no article.
    assert wiki.links("Port Amber", "back") == ["Amber", "Veloria"]


def test_as_many_links_as_wanted_take_no_further_batches(wiki, proxy) -> None:
    assert wiki.links("Veloria", most=3) == ["Long River", "Port Amber", "Sarn"]
    assert len(wiki.links("Veloria", "back", most=1)) == 1
    assert wiki.links("Veloria", "back", most=0) == []
    assert proxy.asked == ["Veloria", "Veloria"]
    assert wiki.links("Veloria") == ["Long River", "Port Amber", "Sarn", "Unwritten land"]


def test_around_goes_breadth_first_without_loops(wiki, proxy) -> None:
    near = ["Veloria", "Long River", "Port Amber", "Sarn", "Unwritten land"]
    assert wiki.around("Veloria", LinkCrawl(depth=9, most=1)) == ["Veloria"]
    assert proxy.asked == []
    assert wiki.around("Veloria", LinkCrawl(depth=1, most=9)) == near
    # Amberport is a redirect to what was found before; its own links lead nowhere new.
    every = [*near, "Tol", "Lighthouse", "Amberport"]
    assert wiki.around("Veloria", LinkCrawl(depth=9, most=99)) == every
    titles = wiki.around("Tol", LinkCrawl(depth=2, most=4, direction="back"))
    assert titles[:3] == ["Tol", "Long River", "Sarn"]
    assert len(set(titles)) == 4


LAGGING = json.dumps({"error": {"code": "maxlag", "info": "7 seconds lagged"}}).encode()


@pytest.mark.parametrize(
    ("faults", "waited"),
    [
        ([answering(503)], [1.0]),
        ([answering(500), answering(429, headers={"Retry-After": "7"})], [1.0, 7.0]),
        ([answering(200, LAGGING, {"Retry-After": "5"})], [5.0]),
        ([answering(200, LAGGING)], [1.0]),
    ],
)
def test_what_passes_is_asked_again(wiki, proxy, waits, faults, waited) -> None:
    proxy.plan("Tol", *faults)
    assert page(wiki, "Tol").sections == (("", "Tol is a hill in Sarn."),)
    assert waits == waited


@pytest.mark.parametrize(
    ("fault", "reason"),
    [(answering(503), "HTTP 503"), (answering(200, LAGGING), "it asks to wait")],
)
def test_what_does_not_pass_is_listed(
    wiki,
    proxy,
    waits,
    error_of,
    fault,
    reason,
) -> None:
    proxy.plan("Tol", *[fault] * 10)
    reason = f"the wiki does not answer ({reason})"
    assert missing(wiki, "Tol") == MissingPage("Tol", reason, unanswered=True)
    assert waits == [1.0, 2.0, 4.0, 8.0]
    line = error_of(wiki.around, "Tol", LinkCrawl(depth=1, most=5))
    assert line == f"{proxy.api}: links of 'Tol': {reason}; run it again later"


def test_a_long_wait_is_not_waited(wiki, proxy, waits) -> None:
    proxy.plan("Tol", answering(429, headers={"Retry-After": "121"}))
    assert "it asks to wait for more than 120 s" in missing(wiki, "Tol").reason
    assert waits == []


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (answering(403), "the wiki refuses (HTTP 403); give a contact address"),
        (answering(404), "no MediaWiki there (HTTP 404); fix the address of api.php"),
        (
            answering(200, b'{"error": {"code": "readapidenied", "info": "Permission needed."}}'),
            "the wiki refuses: Permission needed.; ask those who run it",
        ),
        (
            answering(200, b'{"query": {"pages": {"7": {"pageid": 7, "title": "Tol"}}}}'),
            "the wiki gives no plain text; have its extension TextExtracts switched on",
        ),
        (
            answering(302, headers={"Location": "//evil.example/w/api.php?titles=Tol"}),
            "the wiki leads to another host, http://evil.example/w/api.php; name",
        ),
        (
            answering(302, headers={"Location": "http://127.0.0.1:9/w/api.php"}),
            "the wiki leads to another host, http://127.0.0.1:9/w/api.php; name",
        ),
    ],
)
def test_what_a_user_can_mend_is_one_line(
    faulty_wiki,
    faulty,
    waits,
    error_of,
    answer,
    message,
) -> None:
    faulty.plan("Tol", answer)
    assert error_of(faulty_wiki.read_page, "Tol").startswith(f"{faulty.api}: {message}")
    assert waits == []


def test_without_an_address_it_is_wikipedia_through_the_proxy_of_the_machine(
    proxy, monkeypatch
) -> None:
    monkeypatch.delenv("https_proxy", raising=False)
    monkeypatch.setenv("HTTPS_PROXY", proxy.api.removesuffix("/w/api.php"))
    with Wiki(places(language="de"), CONTACT) as wiki:
        assert "ProxyError" in missing(wiki, "Tol").reason
    assert set(proxy.asked) == {"de.wikipedia.org:443"}


WHOLE = {
    "pageid": 7,
    "ns": 0,
    "title": "Tol",
    "lastrevid": 9,
    "fullurl": "http://w.example/Tol",
    "pagelanguage": "en",
    "extract": "Tol is a hill.",
}


def of_page(**fields: Any) -> bytes:
    """An answer with one page."""
    return json.dumps({"query": {"pages": {"7": fields}}}).encode()


def test_a_page_without_an_address_has_that_of_its_revision_and_redirects_are_followed(
    faulty_wiki, faulty
) -> None:
    fields = {key: value for key, value in WHOLE.items() if key != "fullurl"}
    here = {"Location": "/other/api.php?titles=Tol"}
    faulty.plan("Tol", answering(301, headers=here), answering(200, of_page(**fields)))
    tol = page(faulty_wiki, "Tol")
    assert (tol.page_id, tol.revision_id, tol.sections) == (7, 9, (("", "Tol is a hill."),))
    assert tol.url == faulty.api.replace("api.php", "index.php?oldid=9")


STRANGE = {
    "too deep": b"[" * 100_000,
    "null": b"null",
    "an error that is a text": b'{"error": "text"}',
    "pages is a list": b'{"query": {"pages": [{"title": "Tol"}]}}',
    "a number that is a word": of_page(**WHOLE | {"pageid": "seven"}),
    "text that is a list": of_page(**WHOLE | {"extract": ["Tol"]}),
}


@pytest.mark.parametrize("answer", STRANGE.values(), ids=STRANGE)
def test_an_answer_that_is_not_mediawiki_s_is_none(faulty_wiki, faulty, answer) -> None:
    # The library may ask twice.
    faulty.plan("Tol", *[answering(200, answer)] * 2)
    strange = missing(faulty_wiki, "Tol")
    assert strange.unanswered
    assert strange.reason.startswith("the wiki does not answer (its answer is not MediaWiki's: ")
    assert len(strange.reason) < 200


def batch(page_id: int = 7) -> bytes:
    """One batch of an endless list of links."""
    page = {"pageid": page_id, "title": "Tol", "links": [{"ns": 0, "title": "Sarn"}]}
    query = {"pages": {page_id: page}}
    return json.dumps({"query": query, "continue": {"plcontinue": "7|0|Sarn"}}).encode()


STRANGE_LINKS: dict[str, tuple[Direction, list[bytes]]] = {
    "links are null": ("forward", [of_page(pageid=7, title="Tol", links=None)]),
    "back links are null": ("back", [b'{"query": {"backlinks": null}}']),
    "batches of different pages": ("forward", [batch(), batch(8)]),
}


@pytest.mark.parametrize(("direction", "answers"), STRANGE_LINKS.values(), ids=STRANGE_LINKS)
def test_links_of_another_shape(
    faulty_wiki,
    faulty,
    error_of,
    direction,
    answers,
) -> None:
    faulty.plan("Tol", *[answering(200, answer) for answer in answers])
    message = "links of 'Tol': the wiki does not answer (its answer is not MediaWiki's: "
    line = error_of(faulty_wiki.links, "Tol", direction, most=900)
    assert line.startswith(f"{faulty.api}: {message}")


def test_a_list_without_end_ends(faulty_wiki, faulty) -> None:
    faulty.plan("Tol", *[answering(200, batch())] * 3)
    assert faulty_wiki.links("Tol", most=900) == ["Sarn"]
    assert faulty.asked == ["Tol"] * 2


@pytest.mark.parametrize(
    "query",
    [
        {"interwiki": [{"title": "w:Tol", "iw": "w"}]},
        {"redirects": [{"from": "Tol", "to": "Tol"}]},
    ],
)
def test_a_title_of_another_wiki_or_a_circle_is_no_page(faulty_wiki, faulty, query) -> None:
    answer = json.dumps({"query": query}).encode()
    faulty.plan("Tol", *[answering(200, answer)] * 2)
    assert missing(faulty_wiki, "Tol") == MissingPage("Tol", "no page of this wiki")
    assert faulty_wiki.links("Tol") == []


TITLES = {"river": ["Long River", "Nowhere", "Sarn"], "hill": ["Tol", "Sarn", "Tol"]}


def test_each_page_is_read_once_and_comes_at_once(wiki, proxy) -> None:
    known_pages = {"Nowhere": page(wiki, "Sarn")}
    proxy.asked.clear()
    run = fetch_pages(wiki.read_page, TITLES, known_pages)
    assert next(run)[1].requested_title == "Long River"
    assert proxy.asked == ["Long River"]
    pairs = [(concept, answer.requested_title) for concept, answer in run]
    assert pairs == [("river", "Sarn"), ("river", "Sarn"), ("hill", "Sarn"), ("hill", "Tol")]
    assert proxy.asked == ["Long River", "Sarn", "Tol"]


def test_a_wiki_that_went_away_ends_the_run(error_of) -> None:
    titles = ["Veloria", "Sarn", "Cuisine", "Tol", "Lonely", "Music", "Amber"]
    absent = ("Sarn", "Tol", "Lonely", "Music")
    seen: list[str] = []

    def read(title: str) -> Page | MissingPage:
        return MissingPage(title, "no answer", unanswered=title in absent)

    def run() -> None:
        for _, answer in fetch_pages(read, {"all": titles}, {}):
            seen.append(answer.requested_title)

    assert error_of(run) == (
        "refresh: 3 pages in a row without an answer, 'Music' the last; run it again later: "
        "what was read is not read again"
    )
    assert seen == titles[:-1]

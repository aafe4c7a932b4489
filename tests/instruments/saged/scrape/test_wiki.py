import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pyarrow as pa
import pytest

from evenruler.instruments.saged.schemas import PAGES
from evenruler.instruments.saged.scrape.pages import MissingPage, Page, known_pages
from evenruler.instruments.saged.scrape.wiki import RetryPolicy, Wiki, fetch_pages
from tests.instruments.saged import conftest
from tests.instruments.saged.domains import places
from tests.local_wiki import FaultyProxy, LocalWiki, answering, cut, slow

CONTACT = "tests@example.org"
Waits = list[float]


@pytest.fixture
def waits() -> Waits:
    return []


def opened(
    api: str, waits: Waits, revisions: Mapping[str, int] | None = None, **changes: Any
) -> Wiki:
    """A wiki for which time passes only by waiting."""

    def sleep(seconds: float) -> None:
        waits.append(round(seconds, 3))

    time = {"now": lambda: sum(waits), "sleep": sleep}
    patience = RetryPolicy(**{"requests_per_second": 1e9, "attempts": 3, **time, **changes})
    return Wiki(places(api, revisions=revisions), CONTACT, patience)


@pytest.fixture
def wiki(proxy: FaultyProxy, waits: Waits) -> Iterator[Wiki]:
    with opened(proxy.api, waits) as wiki:
        yield wiki


def page(wiki: Wiki, title: str) -> Page:
    answer = wiki.read_page(title)
    assert isinstance(answer, Page)
    return answer


def missing(wiki: Wiki, title: str) -> MissingPage:
    answer = wiki.read_page(title)
    assert isinstance(answer, MissingPage)
    assert answer.asked == title
    return answer


def test_a_page_has_its_sections_and_where_it_is_from(wiki: Wiki, wiki_server: LocalWiki) -> None:
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
    assert (veloria.asked, veloria.title, veloria.language) == ("Veloria", "Veloria", "en")
    assert veloria.url == f"http://127.0.0.1:{wiki_server.port}/index.php/Veloria"
    assert (veloria.source, veloria.licence) == ("Testers", "cc0-1.0")
    assert veloria.page_id is not None
    assert veloria.page_id > 1  # 1 is the main page


def test_a_page_without_a_lead_does_not_repeat_its_sections(wiki: Wiki) -> None:
    assert page(wiki, "Sarn").sections == (
        ("Name", "Sarn has no lead. It borders on Veloria and Tol."),
    )


def test_a_redirect_is_followed_and_what_was_asked_for_is_kept(wiki: Wiki) -> None:
    port = page(wiki, "Amberport")
    assert (port.asked, port.title) == ("Amberport", "Port Amber")
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
def test_what_cannot_be_read_has_a_reason(wiki: Wiki, title: str, reason: str) -> None:
    assert missing(wiki, title) == MissingPage(title, reason)


def test_a_page_takes_one_request_which_says_who_asks(wiki: Wiki, proxy: FaultyProxy) -> None:
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
    def pinned(
        self, proxy: FaultyProxy, waits: Waits, wiki_server: LocalWiki
    ) -> Iterator[Callable[..., Wiki]]:
        """A wiki that reads titles in their present revisions, or in those that are given."""
        with ExitStack() as stack:

            def read(*titles: str, **numbers: int) -> Wiki:
                revisions = {title: wiki_server.revision(title) for title in titles} | numbers
                return stack.enter_context(opened(proxy.api, waits, revisions))

            yield read

    def test_its_text_is_that_of_the_page_as_it_was(
        self, wiki: Wiki, pinned: Callable[..., Wiki], proxy: FaultyProxy, wiki_server: LocalWiki
    ) -> None:
        titles = ("Veloria", "Port Amber", "Sarn")
        latest = {title: page(wiki, title) for title in titles}
        numbers = {title: wiki_server.revision(title) for title in titles}
        wiki_server.write(dict.fromkeys(titles, "Another text."))
        old = {title: page(pinned(**{title: numbers[title]}), title) for title in titles}
        now = [page(wiki, title).sections for title in titles]
        wiki_server.write({title: conftest.PAGES[title] for title in titles})
        assert now == [(("", "Another text."),)] * 3
        place = f"{proxy.api.removesuffix('api.php')}index.php?oldid="
        for title, number in numbers.items():
            assert old[title] == replace(latest[title], url=f"{place}{number}")
            assert old[title].revision_id == number

    def test_a_title_without_a_number_is_read_as_it_is(
        self, pinned: Callable[..., Wiki], proxy: FaultyProxy
    ) -> None:
        wiki = pinned("Tol")
        assert (page(wiki, "Tol").title, page(wiki, "Sarn").title) == ("Tol", "Sarn")
        number = str(page(wiki, "Tol").revision_id)
        assert proxy.asked == [number, "Sarn", number]
        assert all(parameters["maxlag"] == ["5"] for parameters in proxy.parameters)

    @pytest.mark.parametrize(
        ("title", "reason"), [("Amber", "a disambiguation page"), ("Empty", "a page without text")]
    )
    def test_what_holds_no_text(self, pinned: Callable[..., Wiki], title: str, reason: str) -> None:
        assert missing(pinned(title), title) == MissingPage(title, reason)

    def test_a_revision_that_is_not_there_is_listed(self, pinned: Callable[..., Wiki]) -> None:
        absent = missing(pinned(Tol=999_999), "Tol")
        assert (
            absent.reason
            == "revision 999999: the wiki refuses: There is no revision with ID 999999."
        )
        assert not absent.unanswered

    def test_it_is_asked_for_as_patiently(
        self, pinned: Callable[..., Wiki], proxy: FaultyProxy, waits: Waits, wiki_server: LocalWiki
    ) -> None:
        number = str(wiki_server.revision("Tol"))
        proxy.plan(number, answering(503), answering(429, headers={"Retry-After": "7"}))
        assert page(pinned("Tol"), "Tol").sections == (("", "Tol is a hill in Sarn."),)
        assert waits == [1.0, 7.0]


def test_links(wiki: Wiki) -> None:
    assert wiki.links("Veloria") == ["Long River", "Port Amber", "Sarn", "Unwritten land"]
    assert wiki.links("Veloria", "back") == ["Cuisine", "Music", "Port Amber", "Sarn"]
    assert wiki.links("Lonely") == wiki.links("Lonely", "back") == wiki.links("Nowhere") == []
    assert wiki.links("Port Amber", "back") == [
        "Amber",
        "Veloria",
    ]  # and the redirect, which is no article


def test_as_many_links_as_wanted_take_no_further_batches(wiki: Wiki, proxy: FaultyProxy) -> None:
    assert wiki.links("Veloria", most=3) == ["Long River", "Port Amber", "Sarn"]
    assert len(wiki.links("Veloria", "back", most=1)) == 1
    assert wiki.links("Veloria", "back", most=0) == []
    assert proxy.asked == ["Veloria", "Veloria"]
    assert wiki.links("Veloria") == ["Long River", "Port Amber", "Sarn", "Unwritten land"]


def test_around_goes_breadth_first_without_loops(wiki: Wiki, proxy: FaultyProxy) -> None:
    near = ["Veloria", "Long River", "Port Amber", "Sarn", "Unwritten land"]
    assert wiki.around("Veloria", depth=0, most=9) == ["Veloria"]
    assert proxy.asked == []
    assert wiki.around("Veloria", depth=1, most=9) == near
    assert wiki.around("Veloria", depth=2, most=9) == [*near, "Tol", "Lighthouse"]
    # Amberport is a redirect to what was found before; its own links lead nowhere new.
    assert wiki.around("Veloria", depth=9, most=99) == [*near, "Tol", "Lighthouse", "Amberport"]
    assert wiki.around("Tol", depth=2, most=99, direction="back")[:3] == [
        "Tol",
        "Long River",
        "Sarn",
    ]


def test_around_stops_at_the_cap(wiki: Wiki, proxy: FaultyProxy) -> None:
    titles = wiki.around("Veloria", depth=9, most=6)
    assert titles == ["Veloria", "Long River", "Port Amber", "Sarn", "Unwritten land", "Tol"]
    assert proxy.asked == ["Veloria", "Long River"]
    assert wiki.around("Veloria", depth=9, most=1) == ["Veloria"]


LAGGING = json.dumps(
    {"error": {"code": "maxlag", "info": "Waiting: 7 seconds lagged", "lag": 7}}
).encode()


@pytest.mark.parametrize(
    ("faults", "expected"),
    [
        ([answering(503)], [1.0]),
        ([answering(500), answering(502)], [1.0, 2.0]),
        ([cut], [1.0]),
        ([answering(429, headers={"Retry-After": "7"})], [7.0]),
        (
            [
                answering(503, headers={"Retry-After": "3"}),
                answering(429, headers={"Retry-After": "soon"}),
            ],
            [3.0, 2.0],
        ),
        ([answering(200, LAGGING, {"Retry-After": "5"})], [5.0]),
    ],
)
def test_what_passes_is_tried_again(
    wiki: Wiki, proxy: FaultyProxy, waits: Waits, faults: list[Any], expected: Waits
) -> None:
    proxy.plan("Tol", *faults)
    assert page(wiki, "Tol").sections == (("", "Tol is a hill in Sarn."),)
    assert waits == expected
    assert proxy.asked == ["Tol"] * (len(faults) + 1)


def test_retry_after_may_be_a_date(wiki: Wiki, proxy: FaultyProxy, waits: Waits) -> None:
    then = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
    past = "Wed, 21 Oct 2015 07:28:00 GMT"
    proxy.plan(
        "Tol",
        answering(429, headers={"Retry-After": then}),
        answering(429, headers={"Retry-After": past}),
    )
    page(wiki, "Tol")
    assert 30 < waits[0] <= 60
    assert waits[1] == 0


def test_a_slow_answer_is_tried_again(proxy: FaultyProxy, waits: Waits) -> None:
    released = threading.Event()
    proxy.plan("Tol", slow(released))
    with opened(proxy.api, waits, timeout=2, attempts=9) as wiki:
        assert page(wiki, "Tol").title == "Tol"
    released.set()
    assert waits[0] == 1.0
    assert len(proxy.asked) > 1


def test_what_does_not_pass_is_listed(wiki: Wiki, proxy: FaultyProxy, waits: Waits) -> None:
    proxy.plan("Tol", *[answering(503)] * 3)
    assert missing(wiki, "Tol") == MissingPage(
        "Tol", "the wiki does not answer (HTTP 503)", unanswered=True
    )
    assert waits == [1.0, 2.0]
    proxy.plan("Tol", cut, cut, answering(200, b"{"))
    assert "(its answer is not MediaWiki's: ValueError(" in missing(wiki, "Tol").reason
    assert page(wiki, "Tol").title == "Tol"


def test_doubled_waits_have_a_limit(proxy: FaultyProxy, waits: Waits) -> None:
    proxy.plan("Tol", *[answering(503)] * 4)
    with opened(proxy.api, waits, attempts=5, longest_wait=3.0) as wiki:
        page(wiki, "Tol")
    assert waits == [1.0, 2.0, 3.0, 3.0]


def test_requests_keep_to_the_rate(proxy: FaultyProxy, waits: Waits) -> None:
    proxy.plan("Tol", answering(503))
    with opened(proxy.api, waits, requests_per_second=0.25) as wiki:
        wiki.read_page("Veloria")
        wiki.read_page("Sarn")
        wiki.read_page("Tol")
    assert waits == [
        4.0,
        4.0,
        1.0,
        3.0,
    ]  # before Sarn, before Tol; then what failed waits one second, and three more


TITLES = {"river": ["Long River", "Nowhere", "Sarn"], "hill": ["Tol", "Sarn", "Tol"]}


def test_refresh_reads_what_is_not_known_and_lists_the_rest(wiki: Wiki, proxy: FaultyProxy) -> None:
    fetched = list(fetch_pages(wiki.read_page, TITLES, {}))
    assert [(concept, answer.asked) for concept, answer in fetched] == [
        ("river", "Long River"),
        ("river", "Nowhere"),
        ("river", "Sarn"),
        ("hill", "Sarn"),
        ("hill", "Tol"),
    ]
    assert [answer.asked for _, answer in fetched if isinstance(answer, MissingPage)] == ["Nowhere"]
    assert proxy.asked == ["Long River", "Nowhere", "Sarn", "Tol"]


Rows = list[dict[str, Any]]


def stored(fetched: list[tuple[str, Page | MissingPage]]) -> Rows:
    """Rows after a round through the table's own schema."""
    rows: Rows = []
    for concept, answer in fetched:
        if isinstance(answer, Page):
            rows += answer.rows(concept)
    stored_rows: Rows = pa.Table.from_pylist(rows, schema=PAGES).to_pylist()
    assert stored_rows == rows
    return stored_rows


def test_a_second_run_reads_nothing(wiki: Wiki, proxy: FaultyProxy) -> None:
    titles = {"country": ["Veloria", "Amberport"], "city": ["Amberport"]}
    once = list(fetch_pages(wiki.read_page, titles, {}))
    assert proxy.asked == ["Veloria", "Amberport"]
    proxy.asked.clear()
    assert list(fetch_pages(wiki.read_page, titles, known_pages(stored(once)))) == once
    assert proxy.asked == []


def test_after_faults_a_second_run_reads_only_what_is_lacking(
    wiki: Wiki, proxy: FaultyProxy
) -> None:
    proxy.plan("Tol", *[cut] * 3)
    proxy.plan("Sarn", answering(503))
    once = list(fetch_pages(wiki.read_page, TITLES, {}))
    assert [
        (concept, answer.asked) for concept, answer in once if isinstance(answer, MissingPage)
    ] == [
        ("river", "Nowhere"),
        ("hill", "Tol"),
    ]
    proxy.asked.clear()
    again = list(fetch_pages(wiki.read_page, TITLES, known_pages(stored(once))))
    assert proxy.asked == ["Nowhere", "Tol"]
    assert [answer.asked for _, answer in again if isinstance(answer, MissingPage)] == ["Nowhere"]


def test_pages_come_one_by_one(wiki: Wiki, proxy: FaultyProxy) -> None:
    run = fetch_pages(wiki.read_page, TITLES, {})
    assert next(run)[1].asked == "Long River"
    assert proxy.asked == ["Long River"]


def test_a_wiki_that_went_away_ends_the_run(
    proxy: FaultyProxy, waits: Waits, error_of: Callable[..., str]
) -> None:
    titles = {"all": ["Veloria", "Sarn", "Cuisine", "Tol", "Lonely", "Music"]}
    for title in ("Sarn", "Tol", "Lonely", "Music"):
        proxy.plan(title, answering(503))
    read_titles: list[str] = []

    def run(wiki: Wiki) -> None:
        for _, answer in fetch_pages(wiki.read_page, titles, {}):
            read_titles.append(answer.asked)

    with opened(proxy.api, waits, attempts=1) as wiki:
        assert error_of(run, wiki) == (
            "refresh: 3 pages in a row without an answer, 'Music' the last; run it again later: "
            "what was read is not"
            " read again"
        )
    assert read_titles == titles["all"]


def test_links_of_a_wiki_that_does_not_answer(
    wiki: Wiki, proxy: FaultyProxy, error_of: Callable[..., str]
) -> None:
    proxy.plan("Tol", *[answering(503)] * 3)
    line = error_of(wiki.around, "Tol", depth=1, most=5)
    assert "links of 'Tol': the wiki does not answer (HTTP 503)" in line


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (answering(403), "the wiki refuses (HTTP 403); give a contact address"),
        (answering(404), "no MediaWiki there (HTTP 404); fix the address of api.php"),
        (
            answering(
                200, b'{"error": {"code": "readapidenied", "info": "You need permission to read."}}'
            ),
            "the wiki refuses: You need permission to read.; ask those who run it",
        ),
        (
            answering(
                200, b'{"query": {"pages": {"7": {"pageid": 7, "lastrevid": 9, "title": "Tol"}}}}'
            ),
            "the wiki gives no plain text; have its extension TextExtracts switched on",
        ),
    ],
)
def test_what_a_user_can_mend_is_one_line(
    wiki: Wiki,
    proxy: FaultyProxy,
    waits: Waits,
    error_of: Callable[..., str],
    answer: Any,
    message: str,
) -> None:
    proxy.plan("Tol", answer)
    line = error_of(wiki.read_page, "Tol")
    assert line.startswith(f"{proxy.api}: {message}")
    assert waits == []


def test_nobody_at_the_address(waits: Waits, wiki_server: LocalWiki) -> None:
    with FaultyProxy(wiki_server.api) as gone:
        api = gone.api
    with opened(api, waits) as wiki:
        answer = wiki.read_page("Tol")
    assert answer == MissingPage(
        "Tol", "the wiki does not answer (the connection failed (ConnectError))", unanswered=True
    )


def test_without_an_address_it_is_wikipedia_through_the_proxy_of_the_machine(
    proxy: FaultyProxy, waits: Waits, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("https_proxy", raising=False)
    monkeypatch.setenv("HTTPS_PROXY", proxy.api.removesuffix("/w/api.php"))
    with Wiki(places(language="de"), CONTACT, RetryPolicy(attempts=1)) as wiki:
        assert "ProxyError" in missing(wiki, "Tol").reason
    assert proxy.asked == ["de.wikipedia.org:443"]

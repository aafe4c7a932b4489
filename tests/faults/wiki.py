"""A wiki whose answers cannot be read: the page is listed with a reason, and asked for again later.

Answers of another shape, long waits and redirects are in tests/instruments/saged/scrape/test_wiki.
"""

from functools import partial
from pathlib import Path

from evenruler.instruments.saged.scrape.pages import MissingPage
from evenruler.instruments.saged.scrape.wiki import Wiki
from tests.faults.cases import Case, Outcome, Seen, doing
from tests.instruments.saged.domains import places
from tests.local_wiki import Fault, FaultyProxy, answering, cut


def _page_read(fault: Fault, folder: Path) -> Seen:
    with FaultyProxy("http://127.0.0.1:9/api.php") as server:
        server.plan("Tol", fault)

        def read() -> None:
            with Wiki(places(server.api), "tests@example.org") as wiki:
                page = wiki.read_page("Tol")
                assert isinstance(page, MissingPage)
                assert page.unanswered
                assert page.reason

        return doing(read)


FAULTS = {
    "an answer packed in another way than was asked for": answering(
        200, b"x", {"Content-Encoding": "br"}
    ),
    "an answer that does not unpack": answering(200, b"x" * 100, {"Content-Encoding": "gzip"}),
    "an answer that ends in its middle": cut,
}
CASES = [
    Case(name, "ask a wiki", Outcome.REASON, partial(_page_read, fault))
    for name, fault in FAULTS.items()
]

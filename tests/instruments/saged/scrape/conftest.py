"""Wikis that are asked without waiting, and what they answer."""

from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from evenruler.instruments.saged.scrape.wiki import Wiki
from tests.instruments.saged.domains import places
from tests.local_wiki import FaultyProxy

CONTACT = "tests@example.org"


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that the library would wait between attempts."""
    seconds: list[float] = []
    monkeypatch.setattr("tenacity.nap.time", SimpleNamespace(sleep=seconds.append))
    return seconds


@pytest.fixture
def wiki(proxy: FaultyProxy) -> Iterator[Wiki]:
    """A real MediaWiki behind a proxy that makes faults."""
    with Wiki(places(proxy.api), CONTACT) as wiki:
        yield wiki


@pytest.fixture
def faulty(monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyProxy]:
    """A server that only knows faults."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with FaultyProxy("http://127.0.0.1:9/api.php") as server:
        yield server


@pytest.fixture
def faulty_wiki(faulty: FaultyProxy) -> Iterator[Wiki]:
    with Wiki(places(faulty.api), CONTACT) as wiki:
        yield wiki

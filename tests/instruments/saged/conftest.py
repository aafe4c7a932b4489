from collections.abc import Iterator

import pytest

from tests.local_wiki import FaultyProxy, LocalWiki, lacking

VELORIA = """'''Veloria''' is an invented country.<ref>A footnote of no use.</ref> Its capital is [[Port Amber]].

It borders on [[Sarn]] and on [[Unwritten land]].

== Geography ==
Rivers cross [[Veloria]].

{| class="wikitable"
! Name !! Length
|-
| Long River || 300 km
|}

=== Rivers ===
The Long River is long. It ends at the [[Long River|sea]].

== Notes ==
<references />
"""

PAGES = {
    "Veloria": VELORIA,
    "Port Amber": "'''Port Amber''' is a city in [[Veloria]].\n* It has a harbour.\n* It has a "
    "[[Lighthouse]].",
    "Sarn": "== Name ==\nSarn has no lead. It borders on [[Veloria]] and [[Tol]].",
    "Long River": "The river rises in [[Tol]].",
    "Lighthouse": "A lighthouse stands in [[Amberport]].",
    "Tol": "Tol is a hill in [[Sarn]].",
    "Lonely": "Nobody links here.",
    "Cuisine": "Food of [[Veloria]].",
    "Music": "Songs of [[Veloria]].",
    "Empty": "{| \n|}",
    "Amberport": "#REDIRECT [[Port Amber]]",
    "Amber": "'''Amber''' may refer to:\n* [[Port Amber]]\n{{Disambiguation}}",
    "Template:Disambiguation": "This page lists others.",
}
"""Ten articles, one with a table and footnotes; a redirect; a disambiguation page, its template.
None: "Nowhere"."""


@pytest.fixture(scope="session")
def wiki_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalWiki]:
    """A wiki with a few pages, the same for all tests of a run: what one changes, it puts back."""
    reason = lacking()
    if reason:
        pytest.skip(f"no MediaWiki here: {reason}")
    with LocalWiki(tmp_path_factory.mktemp("wiki") / "local") as server:
        server.write(PAGES)
        yield server


@pytest.fixture
def proxy(wiki_server: LocalWiki, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyProxy]:
    """Before the wiki; makes faults and counts what is asked for."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with FaultyProxy(wiki_server.api) as proxy:
        yield proxy

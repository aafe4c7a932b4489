"""Pages and links of Wikipedia, or of any other MediaWiki (SAGED, 2.1 and A.1).

`wikipedia-api` asks, one request after the other as MediaWiki's etiquette wants it, and tries again
what may pass. What is here: any wiki's address, MediaWiki's own errors, and old revisions.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from importlib.metadata import version
from typing import Any, TypeVar

import httpx
import wikipediaapi

from evenruler.errors import UserError
from evenruler.instruments.saged.declare.source import Direction, LinkCrawl, Source
from evenruler.instruments.saged.scrape.pages import (
    MissingPage,
    Page,
    Sections,
    html_sections,
    sections_of,
)
from evenruler.tables import group_by_key

STRANGE = (AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""Exceptions from reading an answer that is not MediaWiki's."""

_RETRIES = 4  # of a request, after 1, 2, 4 and 8 seconds, or as long as the wiki asks for
_TIMEOUT = 60.0  # seconds without any data
_LONGEST_WAIT = 120  # seconds; a wiki that asks for more counts as not answering
_MOST_LAG = 5  # seconds by which its databases may lag; it postpones requests otherwise
_PASSING = ("maxlag", "ratelimited", "readonly", "internal_api_error")
"""Prefixes of the codes of MediaWiki's temporary errors."""


class WikiUnavailableError(Exception):
    """A wiki gave no answer of MediaWiki's; with the reason."""


class WikiRefusedError(UserError):
    """MediaWiki answered with an error that is not temporary."""


class WikiClient(wikipediaapi.Wikipedia):  # type: ignore[misc]  # it ships no types
    """The library's client for the API at any address; to be closed."""

    def __init__(
        self, address: str, contact: str, language: str, parameters: Mapping[str, str | int]
    ) -> None:
        """Set up without a request; `address`: of api.php; `contact`: named to the wiki;
        `parameters`: sent with every request.
        """
        self.address = address
        self.batches = 1
        """Answers left until `continue` is removed, which ends the library's requests for further
        batches of a list."""
        hooks = {"request": [self._require_same_host], "response": [self._require_answer]}
        super().__init__(
            f"evenruler/{version('evenruler')} ({contact})",
            language,
            extra_api_params={"maxlag": _MOST_LAG, **parameters},
            max_retries=_RETRIES,
            timeout=_TIMEOUT,
            follow_redirects=True,
            event_hooks=hooks,
            transport=None,  # that of httpx, which goes through the machine's proxies
        )

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def parse_revision(self, revision: int) -> dict[str, Any]:
        """The answer of `action=parse` about an old revision, which the library cannot read."""
        parameters = {**_PARSE, **self._extra_api_params, "oldid": revision}
        parsed: dict[str, Any] = self._get(self.language, parameters)["parse"]
        return parsed

    def _build_url(self, language: str) -> str:
        """The address of this wiki, where the library would put that of a Wikipedia."""
        return self.address

    def _get(self, language: str, params: dict[str, Any]) -> Any:
        """The answer to a request; after `batches` of them without `continue`, so that no more are
        sent.
        """
        answer = super()._get(language, params)
        self.batches -= 1
        if self.batches <= 0:
            answer.pop("continue", None)
        return answer

    def _require_answer(self, response: httpx.Response) -> None:
        """Raise the errors of MediaWiki, which come with status 200, and do not wait for long."""
        asked_to_wait = response.headers.get("retry-after", "")
        wait = int(asked_to_wait) if asked_to_wait.isdecimal() else None
        if wait is not None and wait > _LONGEST_WAIT:
            raise WikiUnavailableError(f"it asks to wait for more than {_LONGEST_WAIT} s")
        if response.status_code != 200:
            return
        response.read()
        refusal: Any = response.json().get("error")
        if not refusal:
            return
        if refusal["code"].startswith(_PASSING):
            raise wikipediaapi.WikiRateLimitError(self.address, wait)
        what = refusal.get("info") or refusal["code"]
        remedy = "ask those who run it, or name another"
        raise WikiRefusedError(f"the wiki refuses: {what}", where=self.address, remedy=remedy)

    def _require_same_host(self, request: httpx.Request) -> None:
        """Refuse another host, which is another wiki, whose text has another licence; http to https
        is allowed.
        """
        wiki, requested = httpx.URL(self.address), request.url
        allowed = {(wiki.host, wiki.scheme, wiki.port), (wiki.host, "https", None)}
        if (requested.host, requested.scheme, requested.port) not in allowed:
            what = f"the wiki leads to another host, {requested.copy_with(query=None)}"
            remedy = (
                "name that address as `api`, with the licence of its text, if it is the wiki "
                "that you want"
            )
            raise UserError(what, where=self.address, remedy=remedy)


Answer = TypeVar("Answer")


def _answer_of(address: str, ask: Callable[[], Answer]) -> Answer | None:
    """What the library answers; None where the wiki lists no page at all: a title of another wiki,
    or circular redirects.

    WikiUnavailableError: no answer of MediaWiki's; UserError: no wiki is there, or it refuses.
    """
    try:
        return ask()
    except wikipediaapi.WikiHttpError as error:
        status = error.status_code
        if status == 403:
            what = "the wiki refuses (HTTP 403)"
            remedy = "give a contact address that its owners can write to"
            raise UserError(what, where=address, remedy=remedy) from error
        if status < 429:
            what = f"no MediaWiki there (HTTP {status})"
            raise UserError(what, where=address, remedy="fix the address of api.php") from error
        reason = "it asks to wait" if status == 429 else f"HTTP {status}"
        raise WikiUnavailableError(reason) from error
    except wikipediaapi.WikipediaException as error:
        reason = f"the connection failed ({type(error.__cause__).__name__})"
        raise WikiUnavailableError(reason) from error
    except STRANGE as error:
        if isinstance(error, KeyError) and error.args == ("pages",):
            return None
        raise WikiUnavailableError(f"its answer is not MediaWiki's: {error!r:.99}") from error


_BATCH = 500  # most links that a wiki gives per request
_AWAY = 3  # pages in a row without an answer after which a wiki counts as unavailable

_NO_TITLE = re.compile(r"[<>\[\]{}|]|^\s*$")
_AMBIGUOUS = "a disambiguation page"
_DISAMBIGUATION = re.compile(r":Disambig(uation)?$")
"""Templates of disambiguation pages, besides the property by which the wiki marks them."""

_EXTRACT: dict[str, str | int] = {
    "prop": "info|extracts|pageprops|templates",
    "inprop": "url",
    "explaintext": 1,
    "exsectionformat": "wiki",
    "ppprop": "disambiguation",
    "tltemplates": "Template:Disambiguation|Template:Disambig",
}
"""Text and revision come from one request: between two, an edit may happen."""
_PARSE: dict[str, str | int] = {
    "action": "parse",
    "format": "json",
    "formatversion": 2,
    "prop": "text|revid|properties|templates",
    "disableeditsection": 1,
}

_CLASSES = "reference references gallery mw-editsection error nomobile noprint noexcerpt sortkey"
_NO_PROSE = " | ".join(
    [
        "//table | //figure | //style | //script | //input | //math",
        "//div[not(contains(@class, 'mw-parser-output') or contains(@class, 'mw-heading'))]",
        *(f"//*[contains(concat(' ', @class, ' '), ' {name} ')]" for name in _CLASSES.split()),
    ]
)
"""Elements that MediaWiki's extension TextExtracts leaves out, too; and formulas, which it gives as
TeX."""


class Wiki(AbstractContextManager["Wiki"]):
    """Reader of a domain's pages and links, one request at a time; a context manager.

    `contact`: mail or web address of the user; Wikimedia throttles requests without one. UserError
    where the domain's text is local, or contact or language code is invalid.
    """

    def __init__(self, source: Source, contact: str | None) -> None:
        """Check source, contact and language, and set up; nothing is requested yet."""
        if source.material.is_ours:
            remedy = "there is nothing to fetch; edit the file"
            raise UserError("its text is local", where=f"{source.title}: material", remedy=remedy)
        if not re.fullmatch(r"\S+@\S+\.\S+|https?://\S+", contact or ""):
            what = f"{contact!r} is no mail or web address, which those who run a wiki want"
            where = "params.yaml: families.saged.contact"
            raise UserError(what, where=where, remedy="write one to be reached at")
        if not re.fullmatch(r"[a-z]{2,}(-[a-z]+)*", source.language):
            what = f"{source.language!r} is no code of a language"
            raise UserError(what, where=f"{source.title}: language", remedy="write one such as en")
        self._source = source
        self.where = source.material.api or f"https://{source.language}.wikipedia.org/w/api.php"
        """The API's address."""
        self._reading = WikiClient(self.where, str(contact), source.language, _EXTRACT)
        self._listing = WikiClient(self.where, str(contact), source.language, {})

    def __exit__(self, *_: object) -> None:
        """Close the connections."""
        self._reading.close()
        self._listing.close()

    def read_page(self, title: str) -> Page | MissingPage:
        """Read a page in one request: the latest revision, along redirects, or a declared one.
        UserError: a refusal.
        """
        if _NO_TITLE.search(title):
            return MissingPage(title, "no title that a page can have")
        revision = (self._source.material.revisions or {}).get(title)
        try:
            if revision is None:
                page = _answer_of(self.where, lambda: self._fetch_latest_revision(title))
            else:
                page = _answer_of(self.where, lambda: self._fetch_revision(title, revision))
        except WikiUnavailableError as error:
            return MissingPage(title, f"the wiki does not answer ({error})", unanswered=True)
        except WikiRefusedError as error:
            if revision is None:
                raise
            # There is no such revision, or it was deleted.
            return MissingPage(title, f"revision {revision}: {error.what}")
        return page or MissingPage(title, "no page of this wiki")

    def _fetch_latest_revision(self, title: str) -> Page | MissingPage:
        """The latest revision of a page, or why there is none: no such page, a disambiguation page,
        or no text. UserError where the wiki gives no plain text.
        """
        wiki_page = self._reading.page(title)
        if not wiki_page.exists():
            return MissingPage(title, "no such page")
        if hasattr(wiki_page, "pageprops") or hasattr(wiki_page, "templates"):
            return MissingPage(title, _AMBIGUOUS)
        if not hasattr(wiki_page, "extract"):
            remedy = "have its extension TextExtracts switched on"
            raise UserError("the wiki gives no plain text", where=self.where, remedy=remedy)
        identity = (wiki_page.title, wiki_page.pageid, wiki_page.lastrevid)
        sections = sections_of(wiki_page.extract)
        return self._page(title, identity, sections, wiki_page.fullurl, wiki_page.pagelanguage)

    def _fetch_revision(self, title: str, revision: int) -> Page | MissingPage:
        """A revision of a page, or why there is none: a disambiguation page, or no text."""
        parsed = self._listing.parse_revision(revision)
        templates = [template["title"] for template in parsed["templates"]]
        if "disambiguation" in parsed["properties"] or any(map(_DISAMBIGUATION.search, templates)):
            return MissingPage(title, _AMBIGUOUS)
        identity = (parsed["title"], parsed["pageid"], parsed["revid"])
        return self._page(title, identity, html_sections(parsed["text"], _NO_PROSE))

    def _page(
        self,
        requested_title: str,
        identity: tuple[str, int, int],
        sections: Sections,
        url: str = "",
        language: str = "",
    ) -> Page | MissingPage:
        """The page of a title, page id and revision id."""
        if not sections:
            return MissingPage(requested_title, "a page without text")
        source, material = self._source, self._source.material
        title, page, revision = identity
        if not url:
            wiki_root = self.where.removesuffix("api.php")
            url = f"{wiki_root}index.php?oldid={revision}"
        return Page(
            requested_title=requested_title,
            title=title,
            page_id=int(page),
            revision_id=int(revision),
            url=url,
            language=language or source.language,
            source=source.source if material.api else "Wikipedia",
            licence=material.licence or "cc-by-sa-4.0",
            sections=tuple(sections),
        )

    def links(self, title: str, direction: Direction = "forward", most: int = _BATCH) -> list[str]:
        """Titles of the articles that a page links to, including articles not yet written, in order
        of title.

        `back`: articles that link to it, without redirects. At most `most` of them, the first by
        title, or the oldest for `back` (in the wiki's order); none for a missing page. UserError
        where the wiki refuses or does not answer.
        """
        if _NO_TITLE.search(title) or most < 1:
            return []
        wiki, limit = self._listing, min(most, _BATCH)
        page = wiki.page(title)
        # The library requests batches to the end, which are thousands for a well-known page.
        wiki.batches = math.ceil(most / limit)

        def ask() -> Mapping[str, object]:
            """The pages linked to or from, by title, as the library gives them."""
            if direction == "forward":
                linked: Mapping[str, object] = wiki.links(page, plnamespace=0, pllimit=limit)
                return linked
            parameters = {"blnamespace": 0, "blfilterredir": "nonredirects", "bllimit": limit}
            linking: Mapping[str, object] = wiki.backlinks(page, **parameters)
            return linking

        try:
            titles = list(_answer_of(self.where, ask) or ())
        except WikiUnavailableError as error:
            what = f"the wiki does not answer ({error})"
            where = f"{self.where}: links of {title!r}"
            raise UserError(what, where=where, remedy="run it again later") from error
        return sorted(titles[:most])

    def around(self, title: str, how: LinkCrawl) -> list[str]:
        """Titles along links from a page, itself first, breadth-first, without repeats."""
        most = how.most
        steps, titles = {title: 0}, [title]
        for near in titles:  # grows in the loop
            if steps[near] == how.depth or len(titles) >= most:
                break
            # So many that enough remain even if all titles found so far are among them.
            linked = self.links(near, how.direction, most)
            unseen = [linked_title for linked_title in linked if linked_title not in steps]
            fresh = unseen[: most - len(titles)]
            steps |= dict.fromkeys(fresh, steps[near] + 1)
            titles += fresh
        return titles


def fetch_pages(
    read: Callable[[str], Page | MissingPage],
    titles: Mapping[str, Sequence[str]],
    known_pages: Mapping[str, Page],
) -> Iterator[tuple[str, Page | MissingPage]]:
    """Pairs of concept and page, or why there is none; known pages included; one by one, to be
    stored at once.

    `titles`: of each concept; `known_pages`: those of earlier runs, by the title asked for. A page
    wanted for two concepts is read once. UserError where the wiki refuses, or is unavailable.
    """
    pairs: list[tuple[str, str]] = []
    for concept, wanted in titles.items():
        pairs += [(title, concept) for title in dict.fromkeys(wanted)]
    concepts = group_by_key(pairs)
    in_a_row = 0
    for title, askers in concepts.items():
        page = known_pages.get(title) or read(title)
        if title not in known_pages:
            in_a_row = in_a_row + 1 if isinstance(page, MissingPage) and page.unanswered else 0
        for concept in askers:
            yield concept, page
        if in_a_row == _AWAY:
            what = f"{_AWAY} pages in a row without an answer, {title!r} the last"
            raise UserError(
                what, where="refresh", remedy="run it again later: what was read is not read again"
            )

"""Pages and links of Wikipedia, or of any other MediaWiki (SAGED, 2.1 and A.1).

Requests are rate-limited, give a contact, and are retried where the failure may be temporary.
"""

import email.utils
import math
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from typing import Any, TypeVar

import httpx
import wikipediaapi
from pydantic_core import from_json
from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception,
    stop_after_attempt,
    wait_exponential,
)

from evenruler.errors import UserError
from evenruler.instruments.saged.declare.source import Direction, Source
from evenruler.instruments.saged.scrape.pages import (
    MissingPage,
    Page,
    Sections,
    html_sections,
    sections_of,
)
from evenruler.tables import group_by_key

STRANGE = (AttributeError, LookupError, TypeError, ValueError)
"""Exceptions from reading an answer that is not MediaWiki's."""

_MEND = "fix the address of api.php"
_MOST_BYTES = 64_000_000  # of an answer, unpacked: the longest page of Wikipedia has two million
_PASSING = ("maxlag", "ratelimited", "readonly", "internal_api_error")
"""Prefixes of the codes of MediaWiki's temporary errors."""


@dataclass(frozen=True)
class RetryPolicy:
    """Rate limit (retries included), timeouts and retries for a wiki; times in seconds.

    `timeout`: without any data, and for a whole answer; `attempts`: of one request, with waits
    between them that double from `first_wait` on. A wiki that asks for a wait above `longest_wait`
    counts as not answering.
    """

    requests_per_second: float = 2.0
    timeout: float = 60.0
    attempts: int = 5
    first_wait: float = 1.0
    longest_wait: float = 120.0
    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


class WikiUnavailableError(Exception):
    """A wiki gave no answer of MediaWiki's; with the reason. `wait`: the seconds that it asked to
    wait.
    """

    def __init__(self, reason: str, wait: float | None = None) -> None:
        message = reason
        if wait is not None:
            message = f"{reason}, to be asked again in {wait:.0f} s"
        super().__init__(message)
        self.wait = wait


class WikiRefusedError(UserError):
    """MediaWiki answered with an error that is not temporary."""


class RateLimitedTransport(httpx.BaseTransport):
    """Transport to one wiki's API, whatever address a request names; to be closed. Uses the
    environment's proxies.
    """

    def __init__(self, address: str, contact: str, patience: RetryPolicy) -> None:
        self._address, self._patience = httpx.URL(address), patience
        user_agent = f"evenruler/{version('evenruler')} ({contact})"
        self._client = httpx.Client(
            headers={"User-Agent": user_agent, "Accept-Encoding": "gzip"},
            timeout=patience.timeout,
            follow_redirects=True,
            event_hooks={"request": [self._require_same_host]},
        )
        self._next_at = patience.now()
        self.batches = 1
        """Answers left until `continue` is removed, which ends the library's requests for further
        batches of a list."""

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """The answer to a request's parameters; errors as for `ask`."""
        answer = self.ask(request.url.params)
        self.batches -= 1
        if self.batches <= 0:
            answer.pop("continue", None)
        return httpx.Response(200, json=answer)

    def ask(self, params: Mapping[str, str | int]) -> dict[str, Any]:
        """Request an answer, with retries after waits that double, or that are as long as the wiki
        asks for.

        NoAnswerError: no attempt succeeded; UserError: the wiki refuses, leads to another host or
            is none.
        """
        patience = self._patience
        doubled = wait_exponential(multiplier=patience.first_wait, max=patience.longest_wait)

        def asked_for(state: RetryCallState) -> float:
            error = state.outcome.exception() if state.outcome else None
            if isinstance(error, WikiUnavailableError) and error.wait is not None:
                return error.wait
            return doubled(state)

        def may_pass(error: BaseException) -> bool:
            return (
                isinstance(error, WikiUnavailableError)
                and (error.wait or 0) <= patience.longest_wait
            )

        retrying = Retrying(
            retry=retry_if_exception(may_pass),
            stop=stop_after_attempt(patience.attempts),
            wait=asked_for,
            sleep=patience.sleep,
            reraise=True,
        )
        # `maxlag`: the wiki postpones requests while its own databases lag by more than so many
        # seconds.
        return retrying(self._attempt, {"format": "json", "maxlag": 5, **params})

    def _attempt(self, params: Mapping[str, str | int]) -> dict[str, Any]:
        wait = self._next_at - self._patience.now()
        if wait > 0:
            self._patience.sleep(wait)
        self._next_at = self._patience.now() + 1 / self._patience.requests_per_second
        try:
            response, body = self._fetch(params)
        except (httpx.RequestError, TimeoutError) as error:
            raise WikiUnavailableError(f"the connection failed ({type(error).__name__})") from error
        status, where = response.status_code, str(self._address)
        asked_to_wait = _parse_retry_after(response.headers.get("retry-after", ""))
        if status == 429 or status >= 500:
            raise WikiUnavailableError(f"HTTP {status}", asked_to_wait)
        if status == 403:
            what, remedy = (
                "the wiki refuses (HTTP 403)",
                "give a contact address that its owners can write to",
            )
            raise UserError(what, where=where, remedy=remedy)
        if status != 200:
            raise UserError(f"no MediaWiki there (HTTP {status})", where=where, remedy=_MEND)
        try:
            answer: dict[str, Any] = from_json(
                body.removeprefix(b"\xef\xbb\xbf"), allow_inf_nan=False
            )
            refusal: Any = answer.get("error")
            passing = refusal and refusal["code"].startswith(_PASSING)
        except STRANGE as error:
            raise WikiUnavailableError(f"its answer is not MediaWiki's: {error!r:.99}") from error
        if passing:
            raise WikiUnavailableError(f"it says {refusal['code']}", asked_to_wait)
        if refusal:
            what, remedy = (
                refusal.get("info") or refusal["code"],
                "ask those who run it, or name another",
            )
            raise WikiRefusedError(f"the wiki refuses: {what}", where=where, remedy=remedy)
        return answer

    def _fetch(self, params: Mapping[str, str | int]) -> tuple[httpx.Response, bytearray]:
        body, until = bytearray(), self._patience.now() + self._patience.timeout
        with self._client.stream("GET", self._address, params=params) as response:
            for piece in response.iter_bytes():
                body += piece
                if len(body) > _MOST_BYTES:
                    what = f"an answer of more than {_MOST_BYTES:,} bytes"
                    raise UserError(what, where=str(self._address), remedy=_MEND)
                if self._patience.now() > until:  # though each piece was in time
                    raise TimeoutError
        return response, body

    def _require_same_host(self, request: httpx.Request) -> None:
        """Refuse another host, which is another wiki, whose text has another licence; http to https
        is allowed.
        """
        wiki_address, request_url = self._address, request.url
        same = (request_url.scheme, request_url.port) in {
            (wiki_address.scheme, wiki_address.port),
            ("https", None),
        }
        if wiki_address.host != request_url.host or not same:
            what = f"the wiki leads to another host, {request_url.copy_with(query=None)}"
            remedy = (
                "name that address as `api`, with the licence of its text, if it is the wiki "
                "that you want"
            )
            raise UserError(what, where=str(wiki_address), remedy=remedy)


def _parse_retry_after(retry_after: str) -> float | None:
    """The value of a Retry-After header, a number or a date, in seconds from now; None where it is
    neither.
    """
    if retry_after.isascii() and retry_after.isdigit():
        return float(retry_after)
    try:
        then = email.utils.parsedate_to_datetime(retry_after)
        return max(
            0.0, (then.replace(tzinfo=then.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
        )
    except (ValueError, TypeError, OverflowError):
        return None


_BATCH = 500  # most links that a wiki gives per request
_AWAY = 3  # pages in a row without an answer after which a wiki counts as unavailable

_NO_TITLE = re.compile(r"[<>\[\]{}|]|^\s*$")
_AMBIGUOUS = "a disambiguation page"
_DISAMBIGUATION = re.compile(r":Disambig(uation)?$")
"""Templates of disambiguation pages, besides the property by which the wiki marks them."""

_EXTRACT = {
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

    def __init__(
        self, source: Source, contact: str | None, patience: RetryPolicy | None = None
    ) -> None:
        if source.material.is_ours:
            remedy = "there is nothing to fetch; edit the file"
            raise UserError("its text is local", where=f"{source.title}: material", remedy=remedy)
        if not re.fullmatch(r"\S+@\S+\.\S+|https?://\S+", contact or ""):
            what = f"{contact!r} is no mail or web address, which those who run a wiki want"
            raise UserError(
                what,
                where="params.yaml: families.saged.contact",
                remedy="write one to be reached at",
            )
        if not re.fullmatch(r"[a-z]{2,}(-[a-z]+)*", source.language):
            what = f"{source.language!r} is no code of a language"
            raise UserError(what, where=f"{source.title}: language", remedy="write one such as en")
        self._source = source
        self.where = source.material.api or f"https://{source.language}.wikipedia.org/w/api.php"
        """The API's address."""
        self._transport = RateLimitedTransport(self.where, str(contact), patience or RetryPolicy())
        # The transport sets address, contact and rate, as the library knows Wikipedia alone and
        # retries few errors.
        client = partial(
            wikipediaapi.Wikipedia,
            "evenruler",
            source.language,
            max_retries=0,
            transport=self._transport,
        )
        self._reading, self._listing = client(extra_api_params=_EXTRACT), client()

    def __exit__(self, *_: object) -> None:
        self._transport.close()

    def read_page(self, title: str) -> Page | MissingPage:
        """Read a page in one request: the latest revision, along redirects, or a declared one.
        UserError: a refusal.
        """
        if _NO_TITLE.search(title):
            return MissingPage(title, "no title that a page can have")
        revision = (self._source.material.revisions or {}).get(title)
        read = (
            partial(self._latest, title)
            if revision is None
            else partial(self._old, title, revision)
        )
        try:
            page = _parse_answer(read)
        except WikiUnavailableError as error:
            return MissingPage(title, f"the wiki does not answer ({error})", unanswered=True)
        except WikiRefusedError as error:
            if revision is None:
                raise
            return MissingPage(
                title, f"revision {revision}: {error.what}"
            )  # there is none, or it was deleted
        return page or MissingPage(title, "no page of this wiki")

    def _latest(self, title: str) -> Page | MissingPage:
        wiki_page = self._reading.page(title)
        if not wiki_page.exists():
            return MissingPage(title, "no such page")
        if hasattr(wiki_page, "pageprops") or hasattr(wiki_page, "templates"):
            return MissingPage(title, _AMBIGUOUS)
        if not hasattr(wiki_page, "extract"):
            remedy = "have its extension TextExtracts switched on"
            raise UserError("the wiki gives no plain text", where=self.where, remedy=remedy)
        identity, sections = (
            (wiki_page.title, wiki_page.pageid, wiki_page.lastrevid),
            sections_of(wiki_page.extract),
        )
        return self._page(title, *identity, sections, wiki_page.fullurl, wiki_page.pagelanguage)

    def _old(self, title: str, revision: int) -> Page | MissingPage:
        parsed_page = self._transport.ask({**_PARSE, "oldid": revision})["parse"]
        templates = [template["title"] for template in parsed_page["templates"]]
        if "disambiguation" in parsed_page["properties"] or any(
            map(_DISAMBIGUATION.search, templates)
        ):
            return MissingPage(title, _AMBIGUOUS)
        sections = html_sections(parsed_page["text"], _NO_PROSE)
        return self._page(
            title, parsed_page["title"], parsed_page["pageid"], parsed_page["revid"], sections
        )

    def _page(
        self,
        requested_title: str,
        title: str,
        page: int,
        revision: int,
        sections: Sections,
        url: str = "",
        language: str = "",
    ) -> Page | MissingPage:
        if not sections:
            return MissingPage(requested_title, "a page without text")
        source, material = self._source, self._source.material
        if not url:
            wiki_root = self.where.removesuffix("api.php")
            url = f"{wiki_root}index.php?oldid={revision}"
        origin = source.source if material.api else "Wikipedia"
        return Page(
            asked=requested_title,
            title=title,
            page_id=int(page),
            revision_id=int(revision),
            url=url,
            language=language or source.language,
            source=origin,
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
        page, limit = self._listing.page(title), min(most, _BATCH)
        # The library requests batches to the end, which are thousands for a well-known page.
        self._transport.batches = math.ceil(most / limit)
        ask = partial(self._listing.links, page, plnamespace=0, pllimit=limit)
        if direction == "back":
            ask = partial(
                self._listing.backlinks,
                page,
                blnamespace=0,
                blfilterredir="nonredirects",
                bllimit=limit,
            )
        try:
            linked_pages = _parse_answer(ask) or ()
        except WikiUnavailableError as error:
            where = f"{self.where}: links of {title!r}"
            raise UserError(
                f"the wiki does not answer ({error})", where=where, remedy="run it again later"
            ) from error
        return sorted(list(linked_pages)[:most])

    def around(
        self, title: str, *, depth: int, most: int, direction: Direction = "forward"
    ) -> list[str]:
        """Titles along links from a page, itself first, breadth-first, without repeats, up to
        `depth` and `most`.
        """
        steps, titles = {title: 0}, [title]
        for near in titles:  # grows in the loop
            if steps[near] == depth or len(titles) >= most:
                break
            # So many that enough remain even if all titles found so far are among them.
            linked = self.links(near, direction, most)
            unseen = [linked_title for linked_title in linked if linked_title not in steps]
            fresh = unseen[: most - len(titles)]
            steps |= dict.fromkeys(fresh, steps[near] + 1)
            titles += fresh
        return titles


Answer = TypeVar("Answer")


def _parse_answer(answer: Callable[[], Answer]) -> Answer | None:
    """The parsed answer; None where it lists no page at all: a title of another wiki, or circular
    redirects.
    """
    try:
        return answer()
    except STRANGE as error:
        if isinstance(error, KeyError) and error.args == ("pages",):
            return None
        raise WikiUnavailableError(f"its answer is not MediaWiki's: {error!r:.99}") from error


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

"""Pages and links of Wikipedia, or of any other MediaWiki (SAGED, 2.1 and A.1).

They are asked for unhurried, with who asks, and again where what failed may pass.
"""

import email.utils
import math
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any, Literal

import httpx
from pydantic_core import from_json
from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt, wait_exponential

from evenruler.errors import UserError
from evenruler.instruments.saged.declare.source import Source
from evenruler.instruments.saged.scrape.pages import Missing, Page, Sections, html_sections, sections_of

_MEND = "mend the address of api.php"
_MOST_BYTES = 64_000_000
"""Of an answer, unpacked: the longest page of Wikipedia has two millions."""
_MAX_LAG = 5
"""Seconds that the wiki's own databases may lag before it puts requests like ours off."""
_PASSING = ("maxlag", "ratelimited", "readonly", "internal_api_error")
"""What errors of MediaWiki's API begin with that pass by themselves."""

Params = Mapping[str, str | int]


@dataclass(frozen=True)
class Patience:
    """How often, and how long, in seconds.

    Attributes:
        requests_per_second: At most so many, repeated ones included.
        timeout: Without a sign of the wiki, or until an answer's body is there as a whole; else it counts as none.
        attempts: Of one request, the first included.
        first_wait: Before the second attempt; doubled from one to the next.
        longest_wait: A wiki that asks for a longer wait counts as one that does not answer.
        now, sleep: What tells the time between requests, and what waits.
    """

    requests_per_second: float = 2.0
    timeout: float = 60.0
    attempts: int = 5
    first_wait: float = 1.0
    longest_wait: float = 120.0
    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


class NoAnswerError(Exception):
    """A wiki gave no answer of MediaWiki's; says why. `wait`: the seconds that it asked for."""

    def __init__(self, reason: str, wait: float | None = None) -> None:
        super().__init__(reason if wait is None else f"{reason}, to be asked again in {wait:.0f} s")
        self.wait = wait


class RefusedError(UserError):
    """MediaWiki says that it will not give what was asked for."""


@contextmanager
def _read_as_mediawiki() -> Iterator[None]:
    """What comes of reading an answer that is not MediaWiki's is a NoAnswerError."""
    try:
        yield
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise NoAnswerError(f"its answer is not MediaWiki's: {error!r:.99}") from error


class Api:
    """Asks one wiki's API; to be closed. Proxies are those of the environment."""

    def __init__(self, address: str, contact: str, patience: Patience) -> None:
        self._address, self._patience = httpx.URL(address), patience
        self._client = httpx.Client(
            headers={"User-Agent": f"evenruler/{version('evenruler')} ({contact})", "Accept-Encoding": "gzip"},
            timeout=patience.timeout,
            follow_redirects=True,
            event_hooks={"request": [self._require_same_host]},
        )
        self._next_at = patience.now()
        self.close = self._client.close

    def ask(self, params: Params) -> dict[str, Any]:
        """An answer; asked for again with waits that double, or as long as the wiki says, where there was none.

        Raises:
            NoAnswerError: No attempt succeeded.
            UserError: The wiki refuses or leads to another host, or there is none.
        """
        patience = self._patience
        doubled = wait_exponential(multiplier=patience.first_wait, max=patience.longest_wait)

        def asked_for(state: RetryCallState) -> float:
            error = state.outcome.exception() if state.outcome else None
            return error.wait if isinstance(error, NoAnswerError) and error.wait is not None else doubled(state)

        def may_pass(error: BaseException) -> bool:
            return isinstance(error, NoAnswerError) and (error.wait or 0) <= patience.longest_wait

        retrying = Retrying(
            retry=retry_if_exception(may_pass),
            stop=stop_after_attempt(patience.attempts),
            wait=asked_for,
            sleep=patience.sleep,
            reraise=True,
        )
        return retrying(self._attempt, {"format": "json", "maxlag": _MAX_LAG, **params})

    def _attempt(self, params: Params) -> dict[str, Any]:
        if (wait := self._next_at - self._patience.now()) > 0:
            self._patience.sleep(wait)
        self._next_at = self._patience.now() + 1 / self._patience.requests_per_second
        try:
            response, body = self._fetch(params)
        except (httpx.RequestError, TimeoutError) as error:
            raise NoAnswerError(f"the connection failed ({type(error).__name__})") from error
        status, where = response.status_code, str(self._address)
        asked_to_wait = _seconds(response.headers.get("retry-after", ""))
        if status == 429 or status >= 500:
            raise NoAnswerError(f"HTTP {status}", asked_to_wait)
        if status == 403:
            what, remedy = "the wiki refuses (HTTP 403)", "give a contact address that its owners can write to"
            raise UserError(what, where=where, remedy=remedy)
        if status != 200:
            raise UserError(f"no MediaWiki there (HTTP {status})", where=where, remedy=_MEND)
        with _read_as_mediawiki():
            answer: dict[str, Any] = from_json(body.removeprefix(b"\xef\xbb\xbf"), allow_inf_nan=False)
            refusal: Any = answer.get("error")
            passing = refusal and refusal["code"].startswith(_PASSING)
        if passing:
            raise NoAnswerError(f"it says {refusal['code']}", asked_to_wait)
        if refusal:
            what, remedy = refusal.get("info") or refusal["code"], "ask those who run it, or name another"
            raise RefusedError(f"the wiki refuses: {what}", where=where, remedy=remedy)
        return answer

    def _fetch(self, params: Params) -> tuple[httpx.Response, bytearray]:
        body, until = bytearray(), time.monotonic() + self._patience.timeout
        with self._client.stream("GET", self._address, params=params) as response:
            for piece in response.iter_bytes():
                body += piece
                if len(body) > _MOST_BYTES:
                    what = f"an answer of more than {_MOST_BYTES:,} bytes"
                    raise UserError(what, where=str(self._address), remedy=_MEND)
                if time.monotonic() > until:  # each piece was in time
                    raise TimeoutError
        return response, body

    def _require_same_host(self, request: httpx.Request) -> None:
        """Another host is another wiki, whose text has another licence; https in place of http is the same one."""
        asked, there = self._address, request.url
        same = (there.scheme, there.port) in {(asked.scheme, asked.port), ("https", None)}
        if asked.host != there.host or not same:
            what = f"the wiki leads to another host, {there.copy_with(query=None)}"
            remedy = "name that address as `api`, with the licence of its text, if it is the wiki that you want"
            raise UserError(what, where=str(asked), remedy=remedy)


def _seconds(retry_after: str) -> float | None:
    """The header's value, which is a number of seconds or a date, as seconds from now; none where it is neither."""
    if retry_after.isascii() and retry_after.isdigit():
        return float(retry_after)
    try:
        then = email.utils.parsedate_to_datetime(retry_after)
        return max(0.0, (then.replace(tzinfo=then.tzinfo or UTC) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return None


Direction = Literal["forward", "back"]

_BATCH = 500
"""Links that a wiki gives at once, at most."""

_AWAY = 3
"""After so many pages in a row without an answer, a wiki is taken to be away."""

_NO_TITLE = re.compile(r"[<>\[\]{}|]|^\s*$")
_AMBIGUOUS = "a disambiguation page"
_DISAMBIGUATION = re.compile(r":Disambig(uation)?$")
"""Templates of pages that are taken for disambiguation pages, beside those that the wiki marks."""

_EXTRACT: Params = {
    "action": "query",
    "redirects": 1,
    "prop": "info|extracts|pageprops|templates",
    "inprop": "url",
    "explaintext": 1,
    "exsectionformat": "wiki",
    "ppprop": "disambiguation",
    "tltemplates": "Template:Disambiguation|Template:Disambig",
}
"""Text and revision belong together; asked for apart, an edit may come between."""
_PARSE: Params = {
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
"""What MediaWiki's extension TextExtracts leaves out of a page, too; and formulas, which it gives as TeX."""


class Wiki(AbstractContextManager["Wiki"]):
    """Reads a domain's pages and links, one request after the other; to be used in a `with`.

    Args:
        source: The domain, which says where its pages are.
        contact: Mail or web address of whoever asks, for those who run the wiki; Wikimedia throttles who gives none.
        patience: Rate limit, attempts, waits.

    Raises:
        UserError: Its text is local, or there is no contact, or no such Wikipedia.
    """

    def __init__(self, source: Source, contact: str | None, patience: Patience | None = None) -> None:
        if source.material.is_ours:
            remedy = "there is nothing to fetch; edit the file"
            raise UserError("its text is local", where=f"{source.title}: material", remedy=remedy)
        if not re.fullmatch(r"\S+@\S+\.\S+|https?://\S+", contact or ""):
            what = f"{contact!r} is no mail or web address, which those who run a wiki want"
            raise UserError(what, where="params.yaml: families.saged.contact", remedy="write one to be reached at")
        if not re.fullmatch(r"[a-z]{2,}(-[a-z]+)*", source.language):
            what = f"{source.language!r} is no code of a language"
            raise UserError(what, where=f"{source.title}: language", remedy="write one such as en")
        self._source = source
        self.where = source.material.api or f"https://{source.language}.wikipedia.org/w/api.php"
        """The API's address."""
        self._api = Api(self.where, str(contact), patience or Patience())

    def __exit__(self, *_: object) -> None:
        self._api.close()

    def read_page(self, title: str) -> Page | Missing:
        """A page as it is now, along redirects, or in its revision: one request. UserError where the wiki refuses."""
        if _NO_TITLE.search(title):
            return Missing(title, "no title that a page can have")
        revision = (self._source.material.revisions or {}).get(title)
        try:
            return self._latest(title) if revision is None else self._old(title, revision)
        except NoAnswerError as error:
            return Missing(title, f"the wiki does not answer ({error})", unanswered=True)
        except RefusedError as error:
            if revision is None:
                raise
            return Missing(title, f"revision {revision}: {error.what}")  # there is none, or it was deleted

    @_read_as_mediawiki()
    def _latest(self, title: str) -> Page | Missing:
        pages = self._api.ask({**_EXTRACT, "titles": title})["query"].get("pages")
        if pages is None:  # the title is of another wiki, or a circle of redirects
            return Missing(title, "no page of this wiki")
        ((number, found),) = pages.items()
        if int(number) < 0:
            return Missing(title, "no such page")
        if found.keys() & {"pageprops", "templates"}:
            return Missing(title, _AMBIGUOUS)
        if "extract" not in found:
            remedy = "have its extension TextExtracts switched on"
            raise UserError("the wiki gives no plain text", where=self.where, remedy=remedy)
        return self._page(title, found, found["lastrevid"], sections_of(found["extract"]))

    @_read_as_mediawiki()
    def _old(self, title: str, revision: int) -> Page | Missing:
        found = self._api.ask({**_PARSE, "oldid": revision})["parse"]
        templates = [template["title"] for template in found["templates"]]
        if "disambiguation" in found["properties"] or any(map(_DISAMBIGUATION.search, templates)):
            return Missing(title, _AMBIGUOUS)
        return self._page(title, found, found["revid"], html_sections(found["text"], _NO_PROSE))

    def _page(self, asked: str, found: Mapping[str, Any], revision: Any, sections: Sections) -> Page | Missing:
        if not sections:
            return Missing(asked, "a page without text")
        source, material = self._source, self._source.material
        return Page(
            asked=asked,
            title=found["title"],
            page_id=int(found["pageid"]),
            revision_id=int(revision),
            url=found.get("fullurl") or f"{self.where.removesuffix('api.php')}index.php?oldid={revision}",
            language=found.get("pagelanguage") or source.language,
            source=source.source if material.api else "Wikipedia",
            licence=material.licence or "cc-by-sa-4.0",
            sections=tuple(sections),
        )

    def links(self, title: str, direction: Direction = "forward", most: int = _BATCH) -> list[str]:
        """Titles of the articles that a page links to, or that link to it, in order of title.

        Args:
            title: The page; none or a missing one links to nothing.
            direction: Forward, those that nobody wrote yet included; or back, redirects left out.
            most: At most so many: the first ones by title, or the oldest ones back (which the wiki gives first).

        Raises:
            UserError: The wiki refuses or does not answer.
        """
        if _NO_TITLE.search(title) or most < 1:
            return []
        try:
            return sorted(self._linked(title, direction, most)[:most])
        except NoAnswerError as error:
            where = f"{self.where}: links of {title!r}"
            raise UserError(f"the wiki does not answer ({error})", where=where, remedy="run it again later") from error

    @_read_as_mediawiki()
    def _linked(self, title: str, direction: Direction, most: int) -> list[str]:
        """In the wiki's order, in no more batches than are wanted: there are thousands for a well-known page."""
        limit, number, found = min(most, _BATCH), "", dict[str, None]()
        params: dict[str, Any] = {"titles": title, "prop": "links", "plnamespace": 0, "pllimit": limit}
        if direction == "back":
            params = {"list": "backlinks", "bltitle": title, "blnamespace": 0, "bllimit": limit}
            params["blfilterredir"] = "nonredirects"
        for _ in range(math.ceil(most / limit)):
            answer = self._api.ask({"action": "query", "redirects": 1, **params})
            if direction == "back":
                listed = answer["query"]["backlinks"]
            elif pages := answer["query"].get("pages"):
                number = number or next(iter(pages))
                listed = pages[number].get("links", [])
            else:
                break
            found |= dict.fromkeys(link["title"] for link in listed)
            if "continue" not in answer:
                break
            params |= answer["continue"]
        return list(found)

    def around(self, title: str, *, depth: int, most: int, direction: Direction = "forward") -> list[str]:
        """Titles along links from a page, itself and the nearest first, each once, as far as `depth` and `most` say."""
        steps, titles = {title: 0}, [title]
        for near in titles:  # which grows meanwhile
            if steps[near] == depth or len(titles) >= most:
                break
            # So many that enough remain even if all that are found already are among them.
            linked = self.links(near, direction, most)
            fresh = [each for each in linked if each not in steps][: most - len(titles)]
            steps |= dict.fromkeys(fresh, steps[near] + 1)
            titles += fresh
        return titles


def refresh(
    read: Callable[[str], Page | Missing], titles: Mapping[str, Sequence[str]], known: Mapping[str, Page]
) -> Iterator[tuple[str, Page | Missing]]:
    """Pages of concepts, read only where they are not known, one by one so that each can be stored as it comes.

    `titles`: of each concept; `known`: pages of runs before, by the title that was asked for (`pages.known_pages`).

    Yields:
        Concept and page, or why there is none: all that was asked for, known ones included, in order of title as given;
        what two concepts ask for is read once.

    Raises:
        UserError: The wiki refuses, or is away.
    """
    concepts: dict[str, list[str]] = {}
    for concept, wanted in titles.items():
        for title in dict.fromkeys(wanted):
            concepts.setdefault(title, []).append(concept)
    in_a_row = 0
    for title, askers in concepts.items():
        if title in known:
            page: Page | Missing = known[title]
        else:
            page = read(title)
            in_a_row = in_a_row + 1 if isinstance(page, Missing) and page.unanswered else 0
        for concept in askers:
            yield concept, page
        if in_a_row == _AWAY:
            what = f"{_AWAY} pages in a row without an answer, {title!r} the last"
            raise UserError(what, where="refresh", remedy="run it again later: what was read is not read again")

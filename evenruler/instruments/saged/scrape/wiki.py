"""Pages and links of Wikipedia, or of any other MediaWiki (SAGED, 2.1 and A.1)."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Literal

import wikipediaapi

from evenruler.errors import UserError
from evenruler.instruments.saged.scrape.pages import Closed, Missing, Page, Reader, tidy
from evenruler.instruments.saged.scrape.polite import Clock, NoAnswerError, OtherWikiError, Patience, PoliteTransport

Direction = Literal["forward", "back"]

_BATCH = 500
"""Links that a wiki gives at once, at most."""

_HEADING = re.compile(r"^(={1,6})[ \t]*(.+?)[ \t]*\1[ \t]*$", re.MULTILINE)
_NO_TITLE = re.compile(r"[<>\[\]{}|]|^\s*$")


@dataclass(frozen=True)
class WikiSettings:
    """Which wiki is asked, and how.

    Attributes:
        contact: Mail or web address of whoever asks, for those who run the wiki; Wikimedia throttles who gives none.
        language: Code of the language; which Wikipedia is asked, where `api` is none.
        api: Address of another wiki's `api.php`.
        source: Whom to attribute the text to.
        licence: The text's licence; that of Wikipedia if it is none, to be given where `api` is.
        disambiguation_templates: Pages with one are taken for disambiguation pages, beside those that the wiki marks.
        maxlag: Seconds that the wiki's own databases may lag before it puts requests like ours off.
        patience: Rate limit, attempts, waits.

    Raises:
        UserError: No contact, or a language, address or licence that cannot be.
    """

    contact: str
    language: str = "en"
    api: str | None = None
    source: str = "Wikipedia"
    licence: str | None = None
    disambiguation_templates: tuple[str, ...] = ("Disambiguation", "Disambig")
    maxlag: int = 5
    patience: Patience = field(default_factory=Patience)

    def __post_init__(self) -> None:
        for key, pattern, what, remedy in (
            ("contact", r"\S+@\S+\.\S+|https?://\S+", "mail or web address", "give one to be reached at"),
            ("language", r"[a-z]{2,}(-[a-z]+)*", "code of a language", "write one such as en"),
            ("api", r"https?://[^/?#]+(/[^?#]*)?/api\.php", "address of an API", "write https://HOST/PATH/api.php"),
        ):
            value = getattr(self, key)
            if value is not None and not re.fullmatch(pattern, value):
                raise UserError(f"{value!r} is no {what}", where=f"wiki: {key}", remedy=remedy)
        if self.api is not None and not self.licence:
            raise UserError("the licence of its text is not given", where=f"wiki: {self.api}", remedy="add `licence`")

    @property
    def where(self) -> str:
        """The API's address."""
        return self.api or f"https://{self.language}.wikipedia.org/w/api.php"


class Wiki(Closed):
    """Reads pages and links, one request after the other; to be closed, or used in a `with`.

    Args:
        settings: Which wiki, and how to ask it.
        clock: What waits.
    """

    def __init__(self, settings: WikiSettings, *, clock: Clock | None = None) -> None:
        self._settings = settings
        self._transport = PoliteTransport(settings.api, settings.patience, clock or Clock())
        # Text and revision of one request belong together; asked for apart, an edit may come between.
        self._reading = self._client(
            prop="info|extracts|pageprops|templates",
            inprop="url",
            explaintext=1,
            exsectionformat="wiki",
            ppprop="disambiguation",
            tltemplates="|".join(f"Template:{name}" for name in settings.disambiguation_templates),
        )
        self._listing = self._client()

    def _client(self, **extra: str | int) -> wikipediaapi.Wikipedia:
        return wikipediaapi.Wikipedia(
            f"evenruler/{version('evenruler')} ({self._settings.contact})",
            self._settings.language,
            extra_api_params={"maxlag": self._settings.maxlag, **extra},
            max_retries=0,  # the transport repeats, since the library does so for some faults only
            transport=self._transport,
        )

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def read_page(self, title: str) -> Page | Missing:
        """A page as it is now, in one request, along redirects; UserError where the wiki refuses."""
        if _NO_TITLE.search(title):
            return Missing(title, "no title that a page can have")
        found = self._reading.page(title)
        try:
            exists = found.exists()
        except NoAnswerError as error:
            return Missing(title, f"the wiki does not answer ({error})", unanswered=True)
        except OtherWikiError:
            return Missing(title, "no page of this wiki")
        if not exists:
            return Missing(title, "no such page")
        if hasattr(found, "pageprops") or hasattr(found, "templates"):
            return Missing(title, "a disambiguation page")
        extract = getattr(found, "extract", None)
        if extract is None:
            remedy = "have its extension TextExtracts switched on"
            raise UserError("the wiki gives no plain text", where=self._settings.where, remedy=remedy)
        sections = sections_of(extract)
        if not sections:
            return Missing(title, "a page without text")
        return Page(
            asked=title,
            title=found.title,
            page_id=int(found.pageid),
            revision_id=int(found.lastrevid),
            url=str(found.fullurl),
            language=str(found.pagelanguage),
            source=self._settings.source,
            licence=self._settings.licence or "cc-by-sa-4.0",
            sections=sections,
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
        page, limit = self._listing.page(title), min(most, _BATCH)
        where = f"{self._settings.where}: links of {title!r}"
        try:
            # The library asks for batches until there are no more, which are thousands for a well-known page.
            with self._transport.batches(math.ceil(most / limit)):
                if direction == "forward":
                    found = self._listing.links(page, plnamespace=0, pllimit=limit)
                else:
                    found = self._listing.backlinks(page, blnamespace=0, blfilterredir="nonredirects", bllimit=limit)
        except NoAnswerError as error:
            what = f"the wiki does not answer ({error})"
            raise UserError(what, where=where, remedy="run it again later") from error
        except OtherWikiError:
            return []
        except KeyError as error:  # of the library, which adds each batch to the first one
            what = "the batches of its answer do not belong together"
            raise UserError(what, where=where, remedy="run it again later") from error
        return sorted(list(found)[:most])

    def around(self, title: str, *, depth: int, most: int, direction: Direction = "forward") -> list[str]:
        """Titles along links from a page, itself and the nearest first, each once, as far as `depth` and `most` say."""
        found, edge = {title: None}, [title]
        for _ in range(depth):
            beyond: list[str] = []
            for near in edge:
                if len(found) >= most:
                    return list(found)
                # So many that enough remain even if all that are found already are among them.
                linked = self.links(near, direction, most)
                fresh = [each for each in linked if each not in found][: most - len(found)]
                found.update(dict.fromkeys(fresh))
                beyond += fresh
            edge = beyond
        return list(found)


def sections_of(extract: str) -> tuple[tuple[str, str], ...]:
    """Heading and text of each section (`== History ==`) that has text of its own; the lead's heading is empty."""
    parts = _HEADING.split(extract)
    pairs = zip(["", *parts[2::3]], parts[::3], strict=True)
    return tuple((heading, text) for heading, text in ((heading, tidy(text)) for heading, text in pairs) if text)


def refresh(
    reader: Reader, titles: Mapping[str, Sequence[str]], known: Mapping[str, Page], *, unanswered: int = 3
) -> Iterator[tuple[str, Page | Missing]]:
    """Pages of concepts, read only where they are not known, one by one so that each can be stored as it comes.

    Args:
        reader: Where pages are read.
        titles: Of each concept.
        known: Pages of runs before, by the title that was asked for (`pages.known_pages`).
        unanswered: After so many pages in a row without an answer, the wiki is taken to be away.

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
            page = reader.read_page(title)
            in_a_row = in_a_row + 1 if isinstance(page, Missing) and page.unanswered else 0
        for concept in askers:
            yield concept, page
        if in_a_row == unanswered:
            what = f"{unanswered} pages in a row without an answer, {title!r} the last"
            raise UserError(what, where="refresh", remedy="run it again later: what was read is not read again")

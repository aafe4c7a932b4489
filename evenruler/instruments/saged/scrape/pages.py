"""Pages as they were read, wherever from, and what could not be read."""

import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, Self

_KEPT = ("title", "page_id", "revision_id", "url", "language", "source", "licence")
"""Attributes of a page that stand in tables under their names."""


@dataclass(frozen=True)
class Page:
    """A page or file that was read.

    Attributes:
        asked: The title that was asked for, which a redirect may have led elsewhere from; a source's tag.
        title: The title that the text stands under.
        page_id: The wiki's number of the page; none for what is no wiki.
        revision_id: The wiki's number of the revision that the text is of; none for what is no wiki.
        url: Where readers find it.
        language: Code of the text's language.
        source: Whom to attribute it to.
        licence: The text's licence, as the Hub spells it.
        sections: Heading and text of each section that has text, the lead's heading empty; a paragraph a line.
    """

    asked: str
    title: str
    page_id: int | None
    revision_id: int | None
    url: str
    language: str
    source: str
    licence: str
    sections: tuple[tuple[str, str], ...]

    @property
    def provenance(self) -> dict[str, Any]:
        """What every table says of the page that a row is from."""
        return {"source_tag": self.asked, **{name: getattr(self, name) for name in _KEPT}}

    def rows(self, concept: str) -> list[dict[str, Any]]:
        """Rows by `schemas.PAGES`, one a section."""
        here = {"concept": concept, **self.provenance}
        return [{**here, "section": section, "text": text} for section, text in self.sections]


@dataclass(frozen=True)
class Missing:
    """A title without a page to read.

    Attributes:
        asked: The title that was asked for.
        reason: Why there is nothing.
        unanswered: Whether the source did not answer, so that a later run may find the page.
    """

    asked: str
    reason: str
    unanswered: bool = False


class Closed(ABC):
    """What may be used in a `with`, and is closed at its end."""

    @abstractmethod
    def close(self) -> None:
        """Let go of what it holds."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Reader(Protocol):
    """What gives pages by title."""

    def read_page(self, title: str) -> Page | Missing:
        """The page of a title, or why there is none."""


def known_pages(rows: Iterable[Mapping[str, Any]]) -> dict[str, Page]:
    """The pages that rows of `schemas.PAGES`, in the order of sections, were made from, by the title asked for."""
    sections: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        sections.setdefault((row["source_tag"], row["concept"]), []).append(row)
    known: dict[str, Page] = {}
    for (asked, _), found in sections.items():
        texts = tuple((row["section"], row["text"]) for row in found)
        known.setdefault(asked, Page(asked=asked, **{name: found[0][name] for name in _KEPT}, sections=texts))
    return known


def as_titled(title: str) -> str:
    """As MediaWiki takes titles: underscores are spaces, and the first letter is a capital."""
    spaced = " ".join(title.replace("_", " ").split())
    return spaced[:1].upper() + spaced[1:]


def tidy(text: str) -> str:
    """A paragraph a line, without blank lines, doubled spaces and letters in two pieces (NFC)."""
    lines = (" ".join(line.split()) for line in unicodedata.normalize("NFC", text).splitlines())
    return "\n".join(line for line in lines if line)

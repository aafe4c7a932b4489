"""Texts that stand for something, found in a reply as whole words."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

_QUOTES = str.maketrans(dict.fromkeys("\u2018\u2019\u201a", "'") | dict.fromkeys("\u201c\u201d\u201e\u00ab\u00bb", '"'))
_EMPHASIS = re.compile(r"[*_`#~]+")
_BULLET = re.compile(r"^([ \t]*)[*\u2022](?=[ \t])", re.MULTILINE)

_FIRST_SENTENCE = re.compile(r"[\W\d_]*[^\W\d_][^.!?\n]*")
_ALTERNATIVE = re.compile(r"[\s)\"']*(?P<link>(?:,\s*)?\(?(?:and/)?or\b|/|,|\band\b)[\s(\"']*", re.IGNORECASE)
_OR = re.compile(r"or\b|/", re.IGNORECASE)


@dataclass(frozen=True)
class Mention:
    """A surface form or an option in a reply, with what stands in alternative to it."""

    surface: str
    slugs: tuple[str, ...]
    begin: int
    end: int
    by_itself: bool
    """Whether no word goes on after it."""


class Surfaces:
    """Texts that stand for slugs, found as whole words in any case, the longest first."""

    def __init__(self, slugs: Mapping[str, str]) -> None:
        self._slugs = {normalised(text): slug for text, slug in slugs.items()}
        self._longest_first = sorted(filter(None, self._slugs), key=len, reverse=True)
        texts = [r"\s+".join(map(re.escape, text.split())) for text in self._longest_first]
        whole = rf"(?<!\w)(?<!\w-)(?:{'|'.join(f'({text})' for text in texts) or '(?!)'})(?!\w|-\w)"
        self._anywhere = re.compile(whole, re.IGNORECASE)
        self._next = re.compile(rf"\W*{whole}", re.IGNORECASE)

    def slug(self, text: str) -> str | None:
        """What a text stands for."""
        return self._slugs.get(normalised(text))

    def first(self, text: str) -> Mention | None:
        """The first of them in a text."""
        return self._mention(text, self._anywhere.search(text))

    def every(self, text: str) -> list[Mention]:
        """All of them in a text."""
        return [said for found in self._anywhere.finditer(text) if (said := self._mention(text, found))]

    def places(self, text: str) -> list[tuple[int, int]]:
        """Where each of them begins and ends, alternatives on their own."""
        return [found.span() for found in self._anywhere.finditer(text)]

    def at(self, text: str, begin: int) -> Mention | None:
        """That which comes next in a text, punctuation aside."""
        return self._mention(text, self._next.match(text, begin))

    def without(self, text: str, instead: str) -> str:
        """A text with something else in the place of each of them."""
        return self._anywhere.sub(instead, text)

    def _mention(self, text: str, found: re.Match[str] | None) -> Mention | None:
        if found is None:
            return None
        surfaces, links, end = [self._surface(found)], [], found.end()
        while (link := _ALTERNATIVE.match(text, end)) and (also := self._next.match(text, link.end())):
            surfaces.append(self._surface(also))
            links.append(link["link"])
            end = also.end()
        # "He, she" is a choice of both, "To him, she is" is none.
        if not any(_OR.search(link) for link in links) and not by_itself(text, end):
            surfaces, end = surfaces[:1], found.end()
        slugs = tuple(dict.fromkeys(self._slugs[surface] for surface in surfaces))
        return Mention(surfaces[0], slugs, found.start(found.lastindex or 0), end, by_itself(text, end))

    def _surface(self, found: re.Match[str]) -> str:
        """Which of them was found: not by its letters, since "h\u0131s" is "his" in another case too."""
        return self._longest_first[(found.lastindex or 0) - 1]


def plain(text: str) -> str:
    """Without emphasis, quotes and bullets all of one kind."""
    return _EMPHASIS.sub("", _BULLET.sub(r"\1-", text.translate(_QUOTES)))


def normalised(text: str) -> str:
    """As surfaces are compared: lower case, single spaces, no punctuation around."""
    return " ".join(plain(text).lower().split()).strip(" .,;:!?\"'")


def first_sentence(text: str) -> str:
    """Up to a full stop or a line break after the first letter."""
    found = _FIRST_SENTENCE.match(text)
    return found.group() if found else text


def by_itself(text: str, end: int) -> bool:
    """Whether no word goes on after a place in a text."""
    return re.match(r"[ \t]*'?\w", text[end:]) is None

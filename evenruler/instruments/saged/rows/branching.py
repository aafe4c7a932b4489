"""Counterfactual branching: what a root text says about one concept, said about others (SAGED, 2.3).

Words are found as `evenruler.text.whole_words` says.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal, NamedTuple

from evenruler.instruments.saged.declare.replacements import Replacements
from evenruler.text.inflection import article_for
from evenruler.text.whole_words import Match, begins_sentence, finder

Shape = Literal["as given", "capital", "capitals"]

_ARTICLE = re.compile(r"\b(an?|the)\s+\Z", re.IGNORECASE)
_LONGEST_ARTICLE = 20  # characters, its white space included
_POSSESSIVE = re.compile(r"['\u2019][sS](?!\w)")
_QUOTE = re.compile(r"(?<!\w)['\u2018]\w")


@dataclass(frozen=True, slots=True)
class Span:
    """A replacement: its place in the branched text (characters, `end` exclusive), what stood in the root, and now."""

    begin: int
    end: int
    word: str
    replacement: str


@dataclass(frozen=True, slots=True)
class Branched:
    """A branched text, and every difference from its root, from left to right."""

    text: str
    spans: tuple[Span, ...]

    @property
    def root(self) -> str:
        """The text that it was branched from."""
        parts, done = [], 0
        for span in self.spans:
            parts += [self.text[done : span.begin], span.word]
            done = span.end
        return "".join([*parts, self.text[done:]])


def branch(text: str, replacements: Replacements) -> Branched:
    """The text with every word replaced.

    Capitals are kept: all of them, or the first one of a sentence or of a word that the map has in lower case; a name
    keeps its own anywhere. "a" and "an" follow the replacement, a "the" that the replacement brings is left out after
    an article. A possessive has the form that its name asks for: "'s", but after an s a bare apostrophe where the name
    is plural in form (`is_plural`) or where the text had one ("Paris's", "the Netherlands'", "the smiths'").

    Returns:
        The branched text with its spans, which hold articles and apostrophes that changed.
    """
    return branches(text, {"": replacements})[""]


def branches(text: str, maps: Mapping[str, Replacements]) -> dict[str, Branched]:
    """The text branched to several concepts; the places are found once for all maps of the same words.

    Args:
        text: The root.
        maps: Replacements by branch.

    Returns:
        What `branch` gives, by branch.
    """
    places: dict[tuple[str, ...], list[_Place]] = {}
    found = {}
    for name, replacements in maps.items():
        key = replacements.key
        if key not in places:
            places[key] = [_place(text, match) for match in finder(key).matches(text)]
        found[name] = _filled(text, places[key], replacements)
    return found


class _Place(NamedTuple):
    """A match with all that its replacement has to fit, whatever the branch."""

    match: Match
    shape: Shape
    article: str
    article_begin: int
    bare_apostrophe: bool


def _place(text: str, match: Match) -> _Place:
    written, begin = text[match.begin : match.end], match.begin
    shape: Shape = "as given"
    if written.isupper() and sum(map(str.isalpha, written)) > 1 and not match.word.isupper():
        shape = "capitals"
    elif written[0].isupper() and (match.word[0].islower() or begins_sentence(text, begin)):
        shape = "capital"
    article, article_begin = "", begin
    before = _ARTICLE.search(text, max(0, begin - _LONGEST_ARTICLE), begin)
    # The A of "grade A pears" is a letter.
    if before and (before[1] != "A" or shape == "capitals" or begins_sentence(text, before.start())):
        article, article_begin = before[1], before.start()
    bare = (
        written[-1] in "sS"
        and text[match.end : match.end + 1] in ("'", "\u2019")
        and not text[match.end + 1 : match.end + 2].isalnum()
        and not _QUOTE.search(text, 0, begin + 1)  # else it may close a quotation
    )
    return _Place(match, shape, article, article_begin, bare)


def _filled(text: str, places: Sequence[_Place], replacements: Replacements) -> Branched:
    parts: list[str] = []
    spans: list[Span] = []
    done = length = 0  # characters of the root that are dealt with, and of the branched text so far
    for place in places:
        begin, end, new = _replacement(text, place, replacements, done)
        same = text[done:begin]
        length += len(same)
        spans.append(Span(length, length + len(new), text[begin:end], new))
        parts += (same, new)
        length += len(new)
        done = end
    parts.append(text[done:])
    return Branched("".join(parts), tuple(spans))


def _replacement(text: str, place: _Place, replacements: Replacements, done: int) -> tuple[int, int, str]:
    """Beginning and end in the root of what is replaced, and by what."""
    (begin, end, word, plural), shape, article, article_begin, bare_apostrophe = place
    given = (replacements.plurals if plural else replacements.words)[word]
    if article_begin < done:  # replaced as a word
        article = ""
    if article and given[:4].lower() == "the ":
        given = given[4:]
    new = _cased(given, shape)
    if bare_apostrophe and new[-1] not in "sS":
        new += text[end] + ("S" if shape == "capitals" else "s")
        end += 1
    elif is_plural(given, replacements.words.values()) and _POSSESSIVE.match(text, end):
        new += text[end]
        end += 2
    right = _article(article, given, shape) if article else ""
    if right != article:
        new = right + text[article_begin + len(article) : begin] + new
        begin = article_begin
    return begin, end, new


def is_plural(name: str, names: Iterable[str]) -> bool:
    """Whether a replacement is plural in form: it ends in s, and has "the" (the Netherlands) or is another one with s.

    A word in lower case that ends in s is taken for a plural unless it ends in ss.
    """
    if not name.endswith("s") or name.endswith("ss"):
        return False
    return name[:4].lower() == "the " or name.split()[-1].islower() or name[:-1] in names


@cache
def _cased(given: str, shape: Shape) -> str:
    if shape == "capitals":
        return given.upper()
    # What begins with a name of mixed case (eSwatini) stays.
    return given[0].upper() + given[1:] if shape == "capital" and given.split()[0].islower() else given


@cache
def _article(written: str, given: str, shape: Shape) -> str:
    if written.lower() == "the":
        return written
    right = article_for(given)
    if written.isupper() and (len(written) > 1 or shape == "capitals"):
        return right.upper()
    return right.capitalize() if written[0].isupper() else right

"""Sentences of a text, and the keywords that they hold (section 2.1)."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from evenruler.text.pipeline import BATCH, pipeline
from evenruler.text.whole_words import finder, spaced

_PARSED_AT_ONCE = 10_000
"""Characters, about: longer paragraphs are parsed in parts."""

_WRAPPED = 40
"""Characters from which on a line without an end is taken for the beginning of the next, not for a title."""

_TITLE = 12
"""Words up to which a line that ends without a mark is taken for a title."""

_BULLET = re.compile(r"\A(?:[-*+\u2022\u2013\u25aa\u25cf\u25e6]|\(?(?:\d{1,3}|[a-zA-Z])[.)])\s+")
_END = re.compile(r"""[.?!:;\u2026]["'\u2019\u201d\u00bb)\]*_]*$""")
_FOOTNOTE = re.compile(r"\[\^?\w{1,3}\]:?|\[(?:citation|clarification) needed\]")
_ENDED = re.compile(r"""[.?!\u2026]["'\u2019\u201d\u00bb)\]]*$""")
_ABBREVIATED = re.compile(r"\b(?:approx|ca|c|cf|e\.g|fig|i\.e|no|nos|pp?|vol|vs)\.$", re.IGNORECASE)


class Match(NamedTuple):
    """A sentence that holds a keyword of a concept."""

    sentence: str
    concept: str
    keyword: str


def sentences(text: str) -> list[str]:
    """The sentences of a text of a paragraph a line, in its order, each on one line with single spaces.

    Short lines without an end, which are titles and entries of lists, are passed over; bullets and the marks of
    footnotes are taken off. UserError where the spaCy model is not installed.
    """
    lines: list[str] = []
    for line in text.splitlines():
        if lines and not _ENDED.search(lines[-1]) and (len(lines[-1]) >= _WRAPPED or line[:1].islower()):
            lines[-1] += f" {line}"
        else:
            lines.append(line)
    parts = [part for line in lines for part in _parts(_bare(line))]
    parsed = pipeline("sentences").pipe(parts, batch_size=BATCH)
    return [sentence for doc in parsed for sentence in _repaired([span.text for span in doc.sents])]


def matched(sentences: Sequence[str], keywords: Mapping[str, Sequence[str]]) -> list[Match]:
    """Which sentences hold keywords of which concepts; of equal sentences the first counts.

    Each stands there once for each concept in it, with its first keyword there as `keywords` of that concept writes it.
    Keywords are found as `evenruler.text.whole_words` says, without plurals that are no keywords.
    """
    owners: dict[str, list[tuple[str, str]]] = {}
    for concept, words in keywords.items():
        for word in words:
            owners.setdefault(spaced(word), []).append((concept, word))
    sought = finder(tuple(owners))
    found = []
    for sentence in dict.fromkeys(sentences):
        first: dict[str, str] = {}
        for match in sought.matches(sentence):
            for concept, keyword in owners[match.word] if not match.plural else []:
                first.setdefault(concept, keyword)
        found += [Match(sentence, *own) for own in first.items()]
    return found


def _bare(line: str) -> str:
    """A line without marks; empty where it is a title."""
    bare = " ".join(_BULLET.sub("", _FOOTNOTE.sub("", line).strip()).split())
    return bare if any(map(str.isalnum, bare)) and (_END.search(bare) or len(bare.split()) > _TITLE) else ""


def _parts(paragraph: str) -> Iterator[str]:
    """A paragraph, or its parts where it is too long to parse at once, cut where sentences seem to end."""
    begin = 0
    while len(paragraph) - begin > _PARSED_AT_ONCE:
        window = paragraph[begin : begin + _PARSED_AT_ONCE]
        ends = [match.end() for match in re.finditer(r"[a-z]{3}[.?!]\s(?=[A-Z])", window)]
        end = ends[-1] if ends else window.rfind(" ") + 1 or len(window)
        yield window[:end].strip()
        begin += end
    if paragraph[begin:].strip():
        yield paragraph[begin:].strip()


def _repaired(spans: Sequence[str]) -> Iterator[str]:
    """Sentences from what the parser takes for them: none ends without a mark, or at an abbreviation, or is a mark."""
    sentence = ""
    for span in filter(None, map(str.strip, spans)):
        goes_on = sentence and (
            not _ENDED.search(sentence)
            or (_ABBREVIATED.search(sentence) and not _ABBREVIATED.fullmatch(sentence))
            or span[0].islower()
            or not any(map(str.isalnum, span))
        )
        if sentence and not goes_on:
            yield sentence
        sentence = f"{sentence} {span}" if goes_on else span
    if sentence:
        yield sentence

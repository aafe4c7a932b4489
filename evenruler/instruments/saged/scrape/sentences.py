"""Sentences of a text, and the keywords that they hold (section 2.1)."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from evenruler.text.pipeline import BATCH, pipeline
from evenruler.text.whole_words import finder, spaced

_PARSED_AT_ONCE = 10_000
"""Characters, about: longer paragraphs are parsed in parts."""

_WRAPPED = 40
"""Characters from which on a line without an end is taken for wrapped text, not for a title."""

_TITLE = 12
"""Words up to which a line of its own that ends without a mark is taken for a title."""

_PASSED_OVER = re.compile(
    r"(#{1,6}(\s|$)|=+\s?[^=]+=+\s*$|([-*_=]\s*){3,}$|\||!\[[^]]*\]\([^)]*\)\s*$|\[[^]]+\]:\s*\S+$|:?-+:?\s*\|)"
)
_BULLET = re.compile(r"(?:[-*+\u2022\u2013\u25aa\u25cf\u25e6]|\(?(?:\d{1,3}|[a-zA-Z])[.)])\s+")
_QUOTED = re.compile(r"(?:>\s?)+")
_UNDERLINE = re.compile(r"(=+|-{2,})\s*$")
_FENCE = re.compile(r"(```|~~~)")
_END = re.compile(r"""[.?!:;\u2026]["'\u2019\u201d\u00bb)\]*_]*(?:\[\w+\])*$""")
_MARKS = [
    (re.compile(r"<!--.*?-->|</?[a-zA-Z][^<>]*>"), ""),
    (re.compile(r"!\[[^]]*\]\([^)]*\)"), ""),
    (re.compile(r"\[\^?\w{1,3}\]:?(?!\()|\[(?:citation|clarification) needed\]"), ""),
    (re.compile(r"\[([^]]+)\](?:\([^)]*\)|\[[^]]*\])"), r"\1"),
    (re.compile(r"`+([^`]+)`+"), r"\1"),
    (re.compile(r"(?<![\w*\\])(\*{1,3})(?=\S)([^*]+?)(?<=\S)\1(?![\w*])"), r"\2"),
    (re.compile(r"(?<![\w\\])(_{1,3})(?=\S)([^_]+?)(?<=\S)\1(?!\w)"), r"\2"),
    (re.compile(r"~~(?=\S)(.+?)~~"), r"\1"),
    (re.compile(r"\\([\\`*_{}\[\]()#+.!|>~-])"), r"\1"),
]
_ENDED = re.compile(r"""[.?!\u2026]["'\u2019\u201d\u00bb)\]]*$""")
_ABBREVIATED = re.compile(r"\b(?:approx|ca|c|cf|e\.g|fig|i\.e|no|nos|pp?|vol|vs)\.$", re.IGNORECASE)


class Match(NamedTuple):
    """A sentence that holds a keyword of a concept."""

    sentence: int
    """Its index."""
    concept: str
    keyword: str


def sentences(text: str) -> list[str]:
    """The sentences of a text, in its order, each on one line with single spaces.

    Titles (marked as such, or short lines of their own without an end), tables, code and rules are passed over; the
    marks of lists, quotations, emphasis, links and footnotes are taken off. A list item is at least one sentence.

    Args:
        text: Plain text or Markdown, of any length; the time grows with it in proportion.

    Raises:
        UserError: The spaCy model is not installed.
    """
    parts = [part for block in _blocks(text) for part in _parts(block)]
    parsed = pipeline("sentences").pipe(parts, batch_size=BATCH)
    return [sentence for doc in parsed for sentence in _repaired([span.text for span in doc.sents])]


def matched(sentences: Sequence[str], keywords: Mapping[str, Sequence[str]]) -> list[Match]:
    """Which sentences hold keywords of which concepts.

    Keywords are found as `evenruler.text.whole_words` says, without plurals that are no keywords. The time grows with
    the sentences, not with the number of keywords.

    Args:
        sentences: Of one page or section. Of equal ones the first counts.
        keywords: By concept.

    Returns:
        By sentence, and for each concept in it once, with its first keyword there as `keywords` writes it. A sentence
        about several concepts is listed under each of them.
    """
    owners: dict[str, list[tuple[str, str]]] = {}
    for concept, words in keywords.items():
        for word in words:
            owners.setdefault(spaced(word), []).append((concept, word))
    sought = finder(tuple(owners))
    found = []
    seen: set[str] = set()
    for index, sentence in enumerate(sentences):
        if sentence in seen:
            continue
        seen.add(sentence)
        first: dict[str, str] = {}
        for match in sought.matches(sentence):
            for concept, keyword in owners[match.word] if not match.plural else []:
                first.setdefault(concept, keyword)
        found += [Match(index, concept, keyword) for concept, keyword in first.items()]
    return found


def _blocks(text: str) -> Iterator[str]:
    """Paragraphs and list items, without marks, each on one line; titles left out."""
    lines = list(_lines(text.splitlines()))
    for _, group in groupby(lines, key=lambda line: line[0]):
        words = [line[1] for line in group]
        block = " ".join(" ".join(words).split())
        for mark, instead in _MARKS:
            block = mark.sub(instead, block)
        block = " ".join(block.split())
        item = bool(_BULLET.match(words[0]))
        block = _BULLET.sub("", block, count=1) if item else block
        if any(map(str.isalnum, block)) and (item or _END.search(block) or len(block.split()) > _TITLE):
            yield block


def _lines(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Each line that is text, with the number of the block that it belongs to."""
    block, coded, open_line = 0, False, ""
    for number, raw in enumerate(lines):
        line = _QUOTED.sub("", raw.strip(), count=1) if raw.lstrip().startswith(">") else raw.strip()
        fence = bool(_FENCE.match(line))
        coded ^= fence
        below = lines[number + 1].strip() if number + 1 < len(lines) else ""
        titled = not open_line and bool(_UNDERLINE.fullmatch(below)) and not _END.search(line)
        if coded or fence or not line or titled or _PASSED_OVER.match(line) or _UNDERLINE.fullmatch(line):
            block, open_line = block + 1, ""
            continue
        goes_on = len(open_line) >= _WRAPPED or line[0].islower() or raw[0].isspace()
        wrapped = open_line and goes_on and not _BULLET.match(line)
        block += not wrapped
        open_line = "" if _END.search(line) and len(line) < _WRAPPED else line
        yield block, line


def _parts(block: str) -> Iterator[str]:
    """A paragraph, or its parts where it is too long to parse at once, cut where sentences seem to end."""
    begin = 0
    while len(block) - begin > _PARSED_AT_ONCE:
        window = block[begin : begin + _PARSED_AT_ONCE]
        ends = [match.end() for match in re.finditer(r"[a-z]{3}[.?!]\s(?=[A-Z])", window)]
        end = ends[-1] if ends else window.rfind(" ") + 1 or len(window)
        yield window[:end].strip()
        begin += end
    if block[begin:].strip():
        yield block[begin:].strip()


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

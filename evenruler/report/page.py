"""One self-contained page: first the grid, then each instrument with text, tables and pictures; it
needs no network.
"""

import base64
import gzip
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from itertools import chain
from typing import Any, Final

from markupsafe import Markup, escape

from evenruler.files import jinja_environment
from evenruler.measurement.figures import ORDER, WHOLE, Verdict
from evenruler.report.formats import with_interval
from evenruler.report.grid import (
    FigureCell,
    FiguresByModel,
    InstrumentView,
    figure_table,
    figures_by_model,
    make_family_views,
    verdict_count_sentences,
)
from evenruler.report.sentences import (
    VERDICT_MEANINGS,
    claim_text,
    control_text,
    in_unit,
    verdict_words,
)
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


FINDINGS_TITLE: Final = "What was measured"
FINDINGS_TEXT: Final = (
    "One row a headline and model. Effects are no grades: no word says that a model is good. "
    "More than: the share of alternatives, drawn by rule, that it is further from 0 than."
)
FINDINGS_HEAD: Final = (
    "instrument",
    "model",
    "claim in words",
    "value [95%]",
    "word",
    "more than",
    "would have detected",
    "positive control",
)


def findings_table(instruments: Sequence[InstrumentView]) -> Table | None:
    """All headlines, a row each, by verdict in the order of `ORDER`; None where there is none."""
    keyed: list[tuple[int, str, list[str | Cell]]] = []
    for instrument in instruments:
        for figure_cell in instrument.figures:
            if figure_cell.is_headline and figure_cell.model:
                place = ORDER.index(Verdict(figure_cell.verdict))
                keyed.append((place, instrument.title, _finding_row(instrument, figure_cell)))
    keyed.sort(key=lambda entry: entry[:2])
    return Table(FINDINGS_HEAD, [row for *_, row in keyed]) if keyed else None


def _finding_row(instrument: InstrumentView, figure_cell: FigureCell) -> list[str | Cell]:
    """A headline on a model as a row of `FINDINGS_HEAD`; an invalid one has no numbers but its
    control's.
    """
    record, words = figure_cell.record, figure_cell.word
    verdict = Verdict(figure_cell.verdict)
    value = compared = detects = ""
    if verdict != Verdict.INVALID:
        unit = f" {words.measured_in}" if words and words.measured_in else ""
        low, high = record.get("low"), record.get("high")
        shown = with_interval(record.get("value"), low, high, 2)
        value = f"{shown}{unit}" if shown else ""
        if "percentile" in record:
            alternatives = words.alternatives if words else ""
            compared = f"{record['percentile']:.0f}% of {alternatives or 'its reference set'}"
        if "detects" in record:
            detects = in_unit(record["detects"], words)
    part = "" if figure_cell.part == WHOLE else f" ({figure_cell.part})"
    judged = Cell(verdict_words(record, words), verdict.mark)
    return [
        f"{instrument.title}{part}",
        figure_cell.model,
        claim_text(record, words),
        value,
        judged,
        compared,
        detects,
        control_text(record, words),
    ]


TYPES: Final = {"validity": "How well it measures", "descriptive": "What else it measures"}
"""Titles of tables of figures, by the type of their headings."""
MOST_ROWS = 60
"""Rows of such a table; longer ones are left to the table of all figures."""


@dataclass(frozen=True)
class PageSection:
    """A part of the page that is folded until a reader opens it, with its data."""

    anchor: str
    title: str
    instrument: InstrumentView | None
    sections: Sequence[Section]

    @property
    def figure_tables(self) -> list[tuple[str, FiguresByModel]]:
        """Its figures by type, without headlines, which the grid shows."""
        tables: list[tuple[str, FiguresByModel]] = []
        for figure_type, title in TYPES.items():
            if self.instrument:
                table = figures_by_model(self.instrument, figure_type)
                if 0 < len(table.rows) <= MOST_ROWS:
                    tables.append((title, table))
        return tables

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
    models: Sequence[str] = (),
    shared: Mapping[str, Sequence[Section]] | None = None,
    opening: Sequence[Section] = (),
) -> str:
    """The page as HTML, instruments in reading order, models by column; `shared`: sections by
    family; `opening`: sections before all others.
    """
    first: list[Section] = []
    rest: dict[str, list[Section]] = {}
    for name, family_sections in (shared or {}).items():
        first += [section for section in family_sections if section.first]
        rest[name] = [section for section in family_sections if not section.first]
    findings = findings_table(instruments)
    if findings:
        lead_section = Section(FINDINGS_TITLE, FINDINGS_TEXT, [findings], first=True)
        first = [lead_section, *first]
    first = [*opening, *first]
    family_views = make_family_views(instruments, models, rest)
    folded: dict[str, list[PageSection]] = {}
    for family in family_views:
        of_all = enumerate(family.sections, 1)
        page_sections = folded[family.name] = []
        with_verdict = [instrument for instrument, _ in family.blocks]
        for instrument in [*with_verdict, *family.without]:
            page_sections.append(
                PageSection(instrument.name, instrument.title, instrument, instrument.sections)
            )
        page_sections += [
            PageSection(f"{family.name}--{number}", section.title, None, [section])
            for number, section in of_all
        ]
    vega = ""
    folded_parts = chain.from_iterable(folded.values())
    if any(list(_collect_pictures(part.sections)) for part in folded_parts):
        import vl_convert as vlc

        vega = packed_text(vlc.javascript_bundle("window.vegaEmbed = vegaEmbed;"))
    environment = jinja_environment("evenruler.report", autoescape=True)
    # Renders `words` as code, as cards do.
    environment.filters["prose"] = lambda text: Markup(
        re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text)))
    )
    environment.filters["family_title"] = lambda name: (
        name.upper() if name == "saged" else name.capitalize()
    )
    widths = {len(family.models) for family in family_views if family.models}
    template = environment.get_template("page.html.j2")
    style, script = _read_package_file("page.css"), _read_package_file("page.js")
    return template.render(
        title=title,
        lead=lead,
        counted=verdict_count_sentences(instruments),
        meanings=VERDICT_MEANINGS,
        first=first,
        families=family_views,
        folded=folded,
        widths=sorted(widths),
        style=style,
        script=script,
        colours=gzip_base64(DARK),  # for the page's script, by the light colours that they replace
        vega=vega,
    )  # fmt: skip


def _collect_pictures(sections: Sequence[Section]) -> Iterator[Picture]:
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

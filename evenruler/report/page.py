"""One self-contained page: Vega once, a chart a picture, no network."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import altair as alt
import jinja2
import vl_convert as vlc

Mark = Literal["good", "weak", "poor", "told"]
"""A traffic light; `told`: there is nothing to judge by."""


@dataclass(frozen=True)
class Picture:
    """A chart with what a reader should see in it."""

    title: str
    caption: str
    chart: alt.TopLevelMixin


@dataclass(frozen=True)
class Cell:
    """A text of a table with a traffic light before it, which never says more than the text."""

    text: str
    mark: Mark | None = None
    columns: int = 1
    """How many columns it reaches over."""


@dataclass(frozen=True)
class Table:
    """A small table of texts."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str | Cell]]
    title: str = ""
    caption: str = ""

    @property
    def cells(self) -> list[list[Cell]]:
        """The rows, every text as a cell."""
        return [[cell if isinstance(cell, Cell) else Cell(cell) for cell in row] for row in self.rows]


@dataclass(frozen=True)
class Section:
    """A part of the page."""

    title: str
    text: str
    parts: Sequence[Table | Picture] = field(default_factory=tuple)
    """In reading order."""


def render_page(title: str, lead: str, sections: Sequence[Section]) -> str:
    """The page as HTML that opens from disk.

    Args:
        title: Of the page.
        lead: What it is, in a sentence or two.
        sections: In reading order.
    """
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("evenruler.report", "."),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=True,
    )
    pictures = [part for section in sections for part in section.parts if isinstance(part, Picture)]
    specs = [picture.chart.to_dict() for picture in pictures]
    return environment.get_template("page.html.j2").render(
        title=title,
        lead=lead,
        sections=sections,
        specs=_as_json(specs).replace("</", "<\\/"),
        vega=vlc.javascript_bundle("window.vegaEmbed = vegaEmbed;"),
    )


def _as_json(specs: object) -> str:
    """JSON as a browser reads it: what is no number is null there, and one NaN would leave every picture undrawn."""
    strict = json.loads(json.dumps(specs, sort_keys=True), parse_constant=lambda _: None)
    return json.dumps(strict, allow_nan=False)

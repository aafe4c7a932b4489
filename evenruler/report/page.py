"""One self-contained page: Vega once, a chart a picture, no network."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

import altair as alt
import jinja2
import vl_convert as vlc


@dataclass(frozen=True)
class Picture:
    """A chart with what a reader should see in it."""

    title: str
    caption: str
    chart: alt.TopLevelMixin


@dataclass(frozen=True)
class Table:
    """A small table of texts."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Section:
    """A part of the page."""

    title: str
    text: str
    table: Table | None = None
    pictures: Sequence[Picture] = field(default_factory=tuple)


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
    specs = [picture.chart.to_dict() for section in sections for picture in section.pictures]
    return environment.get_template("page.html.j2").render(
        title=title,
        lead=lead,
        sections=sections,
        specs=json.dumps(specs, sort_keys=True).replace("</", "<\\/"),
        vega=vlc.javascript_bundle("window.vegaEmbed = vegaEmbed;"),
    )

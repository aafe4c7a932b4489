"""What the page says."""

from evenruler.instruments.instrument import Shown
from evenruler.report import Section


def sections(shown: Shown) -> list[Section]:
    """A section an instrument."""
    figures = shown.tables["figures"]
    return [
        Section(source.title, figures[figures["benchmark"] == name].to_html(index=False))
        for name, source in shown.sources.items()
    ]

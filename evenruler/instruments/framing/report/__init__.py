"""What the page says of framing: how far cues move answers, and in which direction."""

from evenruler.instruments.framing.report.section import section
from evenruler.instruments.instrument import Shown
from evenruler.report.page import Section

__all__ = ["sections"]


def sections(shown: Shown) -> list[Section]:
    """A section for every contrast.

    Args:
        shown: Sources and tables of the diagnosis, by `diagnose.TABLES`.
    """
    return [section(name, source, shown.tables) for name, source in shown.sources.items()]

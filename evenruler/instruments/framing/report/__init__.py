"""Sections of the report on framings: how much cues change answers, and which classes."""

from evenruler.instruments.framing.declare.source import ContrastSource, Settings
from evenruler.instruments.instrument import ReportInput
from evenruler.report.page import Section
from evenruler.report.pictures import draw_sections, read_declarations

DECLARED = read_declarations(__file__)


def sections(shown: ReportInput[Settings, ContrastSource]) -> list[Section]:
    """A section for every contrast."""
    return draw_sections(DECLARED, shown.sources, shown.tables)

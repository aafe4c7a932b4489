"""Sections of the report on framings: how much cues change answers, and which classes."""

from pathlib import Path

from evenruler.instruments.framing.declare.source import ContrastSource, Settings
from evenruler.instruments.framing.declare.task_prompts import alternative_of
from evenruler.instruments.instrument import ReportInput
from evenruler.report.page import Section
from evenruler.report.pictures import draw_sections, read_declarations

DECLARED = read_declarations(Path(__file__).with_name("pictures.yaml"))


def sections(shown: ReportInput[Settings, ContrastSource]) -> list[Section]:
    """A section for every contrast."""
    exclusions = shown.tables["exclusions"]
    is_real = exclusions["framing"].map(alternative_of) == 0
    tables = {**shown.tables, "exclusions": exclusions[is_real]}
    return draw_sections(DECLARED, shown.sources, tables)

"""Sections of the report on questionnaires: scores, items, interventions, and the models."""

from pathlib import Path

from evenruler.instruments.instrument import ReportInput
from evenruler.instruments.questionnaires.declare import Settings, Source
from evenruler.report.page import Section
from evenruler.report.pictures import draw_sections, read_declarations

DECLARED = read_declarations(Path(__file__).with_name("pictures.yaml"))


def sections(shown: ReportInput[Settings, Source]) -> list[Section]:
    """The sections of every questionnaire, and one on the models."""
    return draw_sections(DECLARED, shown.sources, shown.tables)

"""What the page says of each family: sections out of the tables of its diagnosis."""

from evenruler.report.sections.framing import of_framing
from evenruler.report.sections.interventions import of_interventions
from evenruler.report.sections.questionnaires import of_questionnaires
from evenruler.report.sections.saged import of_saged

__all__ = ["of_framing", "of_interventions", "of_questionnaires", "of_saged"]

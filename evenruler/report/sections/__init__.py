"""What the page says of each family: sections out of the tables of its diagnosis."""

from evenruler.report.sections.evolution import of_evolution
from evenruler.report.sections.framing import of_framing
from evenruler.report.sections.interventions import of_interventions
from evenruler.report.sections.probes import of_probes
from evenruler.report.sections.questionnaires import of_questionnaires

__all__ = ["of_evolution", "of_framing", "of_interventions", "of_probes", "of_questionnaires"]

"""What the page says of questionnaires."""

from evenruler.instruments.instrument import Shown
from evenruler.instruments.questionnaires.report.interventions import of_interventions
from evenruler.instruments.questionnaires.report.questionnaires import of_questionnaires
from evenruler.report import Section

__all__ = ["sections"]


def sections(shown: Shown) -> list[Section]:
    """The models, their scores and the items; and how scores move where models were adapted to corpora.

    Args:
        shown: Sources, and the tables of the diagnosis.
    """
    corpora = {name: corpus for source in shown.sources.values() for name, corpus in source.corpora.items()}
    adapted = of_interventions(corpora, shown.tables) if len(shown.tables["trajectories"]) else []
    return [*of_questionnaires(shown.sources, shown.tables), *adapted]

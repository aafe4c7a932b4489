"""Questionnaires as prompts for natural-language inference, with checks of how well they measure
(EMPALC).
"""

from typing import TYPE_CHECKING

from evenruler.lazy import lazy_getattr

if TYPE_CHECKING:
    from evenruler.instruments.questionnaires.ask.item_scores import (
        entailment_share,
        item_score,
        two_way,
        two_way_of_logs,
    )

__all__ = ["entailment_share", "item_score", "two_way", "two_way_of_logs"]

__getattr__ = lazy_getattr(__name__, **dict.fromkeys(__all__, "ask.item_scores"))

if TYPE_CHECKING:
    from evenruler.instruments.family import Family
    from evenruler.instruments.questionnaires import ask, card, declare, diagnose, report, rows
    from evenruler.instruments.questionnaires.declare import Settings, Source
    from evenruler.instruments.questionnaires.declare.plan import QuestionnairePlan

    Family[Settings, Source, QuestionnairePlan](
        declare, rows, ask, diagnose, report, card, diagnose
    )

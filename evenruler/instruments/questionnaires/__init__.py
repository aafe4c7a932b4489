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

"""Questionnaires as prompts for natural-language inference, and how well they measure (EMPALC)."""

from typing import TYPE_CHECKING

from evenruler.lazy import lazily

if TYPE_CHECKING:
    from evenruler.instruments.questionnaires.scoring import (
        entailment_share,
        item_effect,
        item_score,
        two_way,
        two_way_of_logs,
    )

__all__ = ["entailment_share", "item_effect", "item_score", "two_way", "two_way_of_logs"]

__getattr__ = lazily(
    __name__,
    entailment_share="scoring",
    item_effect="scoring",
    item_score="scoring",
    two_way="scoring",
    two_way_of_logs="scoring",
)

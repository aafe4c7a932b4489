"""Questionnaires as prompts for natural-language inference, and how well they measure (EMPALC)."""

from evenruler.questionnaires.diagnosis import Diagnosis, Settings, diagnose, source_prompts
from evenruler.questionnaires.scoring import (
    entailment_share,
    item_effect,
    item_score,
    two_way,
    two_way_of_logs,
)
from evenruler.questionnaires.translating import Translated, translate

__all__ = [
    "Diagnosis",
    "Settings",
    "Translated",
    "diagnose",
    "entailment_share",
    "item_effect",
    "item_score",
    "source_prompts",
    "translate",
    "two_way",
    "two_way_of_logs",
]

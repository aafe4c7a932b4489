"""Questionnaires as prompts for natural-language inference, and how well they measure (EMPALC)."""

from evenruler.instruments.questionnaires.acceptability import (
    ACCEPTABILITY,
    SLOR,
    acceptability,
    probability_of_acceptable,
    sentences,
)
from evenruler.instruments.questionnaires.build import Translated, translate
from evenruler.instruments.questionnaires.diagnosis import Diagnosis, diagnose, source_prompts
from evenruler.instruments.questionnaires.intervening import Intervention, changes, trajectories
from evenruler.instruments.questionnaires.item_scores import Settings, score_items
from evenruler.instruments.questionnaires.scoring import (
    entailment_share,
    item_effect,
    item_score,
    two_way,
    two_way_of_logs,
)

__all__ = [
    "ACCEPTABILITY",
    "SLOR",
    "Diagnosis",
    "Intervention",
    "Settings",
    "Translated",
    "acceptability",
    "changes",
    "diagnose",
    "entailment_share",
    "item_effect",
    "item_score",
    "probability_of_acceptable",
    "score_items",
    "sentences",
    "source_prompts",
    "trajectories",
    "translate",
    "two_way",
    "two_way_of_logs",
]

"""Framing: the same question with and without cues that it is a test, and what that does to the answers."""

from evenruler.framing.asking import BARE_PROMPT, CHAT, asked_forms, asked_replies
from evenruler.framing.composing import Composed, compose
from evenruler.framing.diagnosis import Diagnosis, all_of, diagnose
from evenruler.framing.sensitivity import apd

__all__ = [
    "BARE_PROMPT",
    "CHAT",
    "Composed",
    "Diagnosis",
    "all_of",
    "apd",
    "asked_forms",
    "asked_replies",
    "compose",
    "diagnose",
]

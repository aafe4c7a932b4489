"""Framing: the same question with and without cues that it is a test, and what that does to the answers."""

from evenruler.instruments.framing.build import Composed, compose
from evenruler.instruments.framing.diagnosis import Diagnosis, all_of, diagnose
from evenruler.instruments.framing.requests import BARE_PROMPT, CHAT, asked_forms, asked_replies
from evenruler.instruments.framing.sensitivity import apd

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

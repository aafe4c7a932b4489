"""Framing: the same question with and without cues that it is a test, and how that changes the
answers.
"""

from typing import TYPE_CHECKING

from evenruler.lazy import lazy_getattr

if TYPE_CHECKING:
    from evenruler.instruments.framing.diagnose.effects import apd

__all__ = ["apd"]

__getattr__ = lazy_getattr(__name__, apd="diagnose.effects")

if TYPE_CHECKING:
    from evenruler.instruments.family import Family
    from evenruler.instruments.framing import ask, card, declare, diagnose, report, rows
    from evenruler.instruments.framing.declare import WrittenPlan
    from evenruler.instruments.framing.declare.source import ContrastSource, Settings

    Family[Settings, ContrastSource, WrittenPlan](
        declare, rows, ask, diagnose, report, card, diagnose
    )

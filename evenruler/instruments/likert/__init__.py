"""Likert items: a chat is asked items verbatim, with their own options, as people are."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenruler.instruments.family import Family
    from evenruler.instruments.likert import ask, card, declare, diagnose, report, rows
    from evenruler.instruments.likert.declare import LikertPlan, LikertSource, Settings

    Family[Settings, LikertSource, LikertPlan](
        declare, rows, ask, diagnose, report, card, headlines=diagnose
    )

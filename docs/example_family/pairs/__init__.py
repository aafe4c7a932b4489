"""Minimal pairs: how often a model finds the stereotypical one of two sentences likelier."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenruler.instruments.family import Family

    from . import ask, card, declare, diagnose, report, rows
    from .declare import PairsPlan, Settings, Source

    Family[Settings, Source, PairsPlan](
        declare, rows, ask, diagnose, report, card, headlines=diagnose
    )

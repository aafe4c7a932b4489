"""Published benchmarks as instruments: items of two or three texts, compared by their
likelihood.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenruler.instruments.family import Family
    from evenruler.instruments.fixed import ask, card, declare, diagnose, report, rows
    from evenruler.instruments.fixed.declare import FixedPlan, Settings, Source

    Family[Settings, Source, FixedPlan](declare, rows, ask, diagnose, report, card, diagnose)

"""Published benchmarks as instruments: items of two or three texts, compared by their
likelihood.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenruler.instruments.external import ask, card, declare, diagnose, report, rows
    from evenruler.instruments.external.declare import ExternalPlan, Settings, Source
    from evenruler.instruments.family import Family

    Family[Settings, Source, ExternalPlan](declare, rows, ask, diagnose, report, card, diagnose)

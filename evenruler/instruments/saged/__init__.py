"""SAGED: text about concepts becomes prompts with baselines, and replies become disparities between
concepts.
"""

from typing import TYPE_CHECKING

from evenruler.lazy import lazy_getattr

if TYPE_CHECKING:
    from evenruler.instruments.saged.diagnose.disparities import (
        METRICS,
        Disparity,
        disparity,
        metric_values,
    )
    from evenruler.instruments.saged.diagnose.group_statistics import summarise, summarise_each
    from evenruler.instruments.saged.diagnose.statistics import OPTIONS, STATISTICS, USES_BASELINE

__all__ = [
    "METRICS",
    "OPTIONS",
    "STATISTICS",
    "USES_BASELINE",
    "Disparity",
    "disparity",
    "metric_values",
    "summarise",
    "summarise_each",
]

__getattr__ = lazy_getattr(
    __name__,
    **dict.fromkeys(["METRICS", "Disparity", "disparity", "metric_values"], "diagnose.disparities"),
    **dict.fromkeys(["OPTIONS", "STATISTICS", "USES_BASELINE"], "diagnose.statistics"),
    **dict.fromkeys(["summarise", "summarise_each"], "diagnose.group_statistics"),
)

if TYPE_CHECKING:
    from evenruler.instruments.family import Family
    from evenruler.instruments.saged import ask, card, declare, diagnose, report, rows
    from evenruler.instruments.saged.declare.plan import SagedPlan
    from evenruler.instruments.saged.declare.settings import Settings
    from evenruler.instruments.saged.declare.source import Source

    Family[Settings, Source, SagedPlan](declare, rows, ask, diagnose, report, card, diagnose)

"""SAGED: text about concepts becomes prompts with baselines, and replies become disparities between concepts."""

from evenruler.saged.diagnose.disparities import METRICS, Disparity, disparity, metric_values
from evenruler.saged.diagnose.statistic_options import OPTIONS
from evenruler.saged.diagnose.statistics import STATISTICS, USES_BASELINE
from evenruler.saged.diagnose.summaries import summarise, summarise_each

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

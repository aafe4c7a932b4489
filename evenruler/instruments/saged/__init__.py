"""SAGED: text about concepts becomes prompts with baselines, and replies become disparities between concepts."""

from evenruler.instruments.saged.diagnose.disparities import METRICS, Disparity, disparity, metric_values
from evenruler.instruments.saged.diagnose.statistic_options import OPTIONS
from evenruler.instruments.saged.diagnose.statistics import STATISTICS, USES_BASELINE
from evenruler.instruments.saged.diagnose.summaries import summarise, summarise_each

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

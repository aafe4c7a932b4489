"""Altair charts. Each takes tidy frames and returns a chart."""

from evenruler.report.charts.choices import EVERY, Choices
from evenruler.report.charts.probes import correlations, distributions, validity
from evenruler.report.charts.questionnaires import heat_maps, scatter, trajectories
from evenruler.report.charts.saged import (
    by_role,
    calibration,
    composition,
    concepts,
    context_bias,
    disparities,
    tool_bias,
)

__all__ = [
    "EVERY",
    "Choices",
    "by_role",
    "calibration",
    "composition",
    "concepts",
    "context_bias",
    "correlations",
    "disparities",
    "distributions",
    "heat_maps",
    "scatter",
    "tool_bias",
    "trajectories",
    "validity",
]

"""Altair charts. Each takes tidy frames and returns a chart."""

from evenruler.report.charts.choices import EVERY, Choices
from evenruler.report.charts.framing import effects, metrics, replications, shift_probability, shifts
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
    "disparities",
    "effects",
    "heat_maps",
    "metrics",
    "replications",
    "scatter",
    "shift_probability",
    "shifts",
    "tool_bias",
    "trajectories",
]

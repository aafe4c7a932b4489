"""Altair charts. Each takes tidy frames and returns a chart."""

from evenruler.report.charts.choices import EVERY, Choices
from evenruler.report.charts.framing import effects, metrics, replications, shift_probability, shifts
from evenruler.report.charts.probes import correlations, distributions, validity
from evenruler.report.charts.questionnaires import heat_maps, scatter, trajectories

__all__ = [
    "EVERY",
    "Choices",
    "correlations",
    "distributions",
    "effects",
    "heat_maps",
    "metrics",
    "replications",
    "scatter",
    "shift_probability",
    "shifts",
    "trajectories",
    "validity",
]

"""Altair charts. Each takes tidy frames and returns a chart."""

from evenruler.report.charts.probes import correlations, distributions, validity
from evenruler.report.charts.questionnaires import heat_maps, scatter, trajectories

__all__ = ["correlations", "distributions", "heat_maps", "scatter", "trajectories", "validity"]

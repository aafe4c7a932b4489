"""How often a model prefers the stereotype."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import pandas as pd

from evenruler.instruments.instrument import Plan, Record, Subject, Tables
from evenruler.measurement import Resampling, as_metrics
from evenruler.measurement.figures import bootstrapped
from evenruler.tables.schemas import figures_of

TABLES = {"figures": figures_of("part")}


def figures(name: str, tables: Tables, plan: Plan, scores: Tables, subject: Subject, resampling: Resampling) -> Tables:
    """The share of pairs, with a bootstrap interval over pairs."""
    values = scores["preferred"]["preferred"].to_numpy()
    figure = bootstrapped("preference", lambda drawn: float(drawn.mean()), values, resampling, "pairs")
    return {"figures": pd.DataFrame([{"benchmark": name, "part": "pairs", "model": subject.name, **asdict(figure)}])}


def across(records: Sequence[Record], resampling: Resampling) -> Tables:
    """Nothing is of several models."""
    return {}


def evidence(tables: Tables) -> dict[str, Any]:
    """All figures."""
    return as_metrics(tables["figures"], "part")

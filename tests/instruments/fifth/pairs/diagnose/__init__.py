"""How often a model prefers the stereotype."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import pandas as pd

from evenruler.instruments.instrument import Record, SchemasByTable, Subject, Tables
from evenruler.measurement import Resampling, as_metrics
from evenruler.measurement.estimates import jackknife_figure
from evenruler.measurement.resampling import PLAIN
from evenruler.tables.schemas import FIGURES

from ..declare import PairsPlan

TABLES: SchemasByTable = {"figures": FIGURES}


def figures(
    name: str,
    tables: Tables,
    plan: PairsPlan,
    scores: Tables,
    subject: Subject,
    resampling: Resampling,
) -> Tables:
    """The share of pairs, with an interval over pairs."""
    values = scores["preferred"]["preferred"].to_numpy()
    figure = jackknife_figure(
        "preference", lambda row: float(row.mean()), values, PLAIN, resampling.level, "pairs"
    )
    row = {"benchmark": name, "part": "pairs", "model": subject.name, **asdict(figure)}
    return {"figures": pd.DataFrame([row]).reindex(columns=TABLES["figures"].names)}


def across(records: Sequence[Record[PairsPlan]], resampling: Resampling) -> Tables:
    """Nothing is of several models."""
    return {}


def evidence(tables: Tables) -> dict[str, Any]:
    """All figures."""
    return as_metrics(tables["figures"], "part")

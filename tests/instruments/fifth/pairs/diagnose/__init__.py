"""How often a model prefers the stereotype."""

from collections.abc import Mapping, Sequence

import pandas as pd

from evenruler.instruments.instrument import Evidence, ModelMeta, Record, SchemasByTable, Tables
from evenruler.measurement import Resampling, rows_by_benchmark
from evenruler.measurement.estimates import jackknife_figure
from evenruler.measurement.figures import as_rows
from evenruler.measurement.resampling import PLAIN

from .. import schemas
from ..declare import PairsPlan

TABLES: SchemasByTable = {"figures": schemas.FIGURES}


def figures(
    name: str,
    tables: Tables,
    plan: PairsPlan,
    scores: Tables,
    subject: ModelMeta,
    resampling: Resampling,
) -> Tables:
    """The share of pairs, with an interval over pairs."""
    values = scores["preferred"]["preferred"].to_numpy()
    figure = jackknife_figure(
        "preference", lambda row: float(row.mean()), values, PLAIN, resampling.level, "pairs"
    )
    rows = pd.DataFrame(list(as_rows([figure], name, subject.name, readout="likelihood")))
    return {"figures": rows.reindex(columns=schemas.FIGURES.names)}


def across(records: Sequence[Record[PairsPlan]], resampling: Resampling) -> Tables:
    """Nothing is of several models."""
    return {}


def evidence(tables: Tables) -> Mapping[str, Evidence]:
    """All figures."""
    return rows_by_benchmark(tables["figures"])

"""Joins the diagnoses of a family's instruments; headlines, which alone have a verdict, as a table
and as metrics.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from evenruler.instruments.instrument import Evidence, FigureHeading, Plan, Record, Tables
from evenruler.measurement.figures import (
    OF_LABEL,
    dimensions_of,
    figure_key,
    model_label,
    rows_with_verdict,
    with_extreme_units,
)
from evenruler.measurement.inputs import Resampling
from evenruler.tables import concat_frames

if TYPE_CHECKING:
    from evenruler.instruments.family import DiagnoseModule


def diagnose_family(
    door: "DiagnoseModule[Plan]", records: Sequence[Record[Plan]], resampling: Resampling
) -> dict[str, pd.DataFrame]:
    """Every table of a family's diagnosis (`TABLES` of its room `diagnose`), of all records
    together.
    """
    parts = [_with_ends(record.diagnosis) for record in records]
    parts.append(door.across(records, resampling))
    diagnosis: dict[str, pd.DataFrame] = {}
    for name in door.TABLES:
        frames = [tables[name] for tables in parts if name in tables]
        diagnosis[name] = concat_frames(frames)
    return diagnosis


def _with_ends(tables: Tables) -> Tables:
    """Tables whose figures have the interval's ends of their headlines."""
    if "headlines" not in tables:
        return tables
    return {**tables, "figures": with_extreme_units(tables["figures"], tables["headlines"])}


def require_confirmed(figures: pd.DataFrame, columns: Sequence[FigureHeading]) -> None:
    """ValueError if a headline has no verdict, or another figure has one: `judge` confirms exactly
    the headlines.
    """
    headlines = {column.figure for column in columns if column.figure_type == "headline"}
    of_models = figures[figures["model"].notna()]
    confirmed = of_models["bound"].notna() & of_models["verdict"].notna()
    bare = sorted(set(of_models["figure"][~confirmed]) & headlines)
    if bare:
        raise ValueError(
            f"{', '.join(bare)}: a headline needs a bound and a verdict "
            "(measurement.verdicts.judge)"
        )
    hidden = sorted(set(of_models["figure"][confirmed]) - headlines)
    if hidden:
        raise ValueError(
            f"{', '.join(hidden)}: confirmed, but no headline among the figures that people are "
            "shown"
        )


COLUMNS = ["value", "low", "high", "p", "bound", "percentile", "verdict"]
"""Columns of `headline_table` after those that identify a figure."""


def headline_table(evidence: Mapping[str, Evidence]) -> pd.DataFrame:
    """The figures that have a verdict, a row each: benchmark, figure, model, `key` (its dimensions)
    and `COLUMNS`.
    """
    rows: list[dict[str, Any]] = []
    for benchmark, figure_rows in evidence.items():
        for row in rows_with_verdict(figure_rows):
            dimensions = dimensions_of(row)
            for name in OF_LABEL:
                dimensions.pop(name, None)
            labels = {"model": model_label(row), "key": figure_key(dimensions)}
            rows.append({"benchmark": benchmark, **row, **labels})
    return pd.DataFrame(rows, columns=["benchmark", "figure", "key", "model", *COLUMNS])


Metrics = dict[str, dict[str, Any]]
"""Values of headlines by benchmark, then by model, figure and key."""


def as_metrics(headlines: pd.DataFrame) -> Metrics:
    """Values of headlines by benchmark, model, figure and dimensions, for `dvc metrics`; None if
    one has no value.
    """
    metrics: Metrics = {}
    for row in headlines.to_dict("records"):
        value = None if pd.isna(row["value"]) else float(row["value"])
        by_model = metrics.setdefault(row["benchmark"], {})
        by_figure = by_model.setdefault(row["model"], {})
        by_figure.setdefault(row["figure"], {})[row["key"]] = value
    return metrics

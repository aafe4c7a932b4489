"""The report's section on published benchmarks, one row per benchmark and model."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from evenruler.instruments.external.declare import (
    GAIN,
    KEYED_LEAN,
    LEAN,
    LOG_ODDS,
    Settings,
    Source,
)
from evenruler.instruments.instrument import ReportInput
from evenruler.measurement.figures import Row, dimensions_of, rows_by_benchmark
from evenruler.report.formats import format_figure
from evenruler.report.page import Section, Table

TEXT = (
    "The headline of each published benchmark, tested against what a liking for words would give, "
    "with checks that its authors do not report. Turned and moved: the share of items whose "
    "direction changes after another sentence, and the change of the score. Blank: the answers do "
    "not allow it, as authors' answers are to their texts alone."
)
DESCRIBED = ("shorter_wins", "share_equal", "design_effect", "turned", "moved")


def sections(shown: ReportInput[Settings, Source]) -> list[Section]:
    """One table of all benchmarks, on models that were asked and on models whose answers authors
    published.
    """
    figures = shown.tables["figures"]
    of_authors = [source.of_authors for source in shown.sources.values()]
    published = [frame.reindex(columns=figures.columns) for frame in of_authors]
    all_figures = pd.concat([figures, *published])
    rows: list[list[Any]] = []
    for benchmark, figures_of_benchmark in rows_by_benchmark(all_figures).items():
        title = shown.sources[benchmark].title
        for figure in figures_of_benchmark:
            if figure["figure"] in (LEAN, GAIN, KEYED_LEAN, LOG_ODDS):
                rows.append(_headline_cells(title, figure, figures_of_benchmark))
    heads = ("benchmark", "model", "headline", "value", *DESCRIBED, "verdict")
    columns = [head.replace("_", " ") for head in heads]
    if not rows:
        return []
    return [Section("Published benchmarks", TEXT, [Table(columns, sorted(rows))])]


def _headline_cells(title: str, headline: Row, figures: Sequence[Row]) -> list[Any]:
    """The cells of a headline, with figures of the same items, or of all."""
    dimensions = dimensions_of(headline)
    near: dict[str, Row] = {}
    for row in figures:
        is_near = dimensions_of(row).items() <= dimensions.items()
        if row["model"] == headline["model"] and is_near:
            near[row["figure"]] = row
    amounts = (headline, *map(near.get, DESCRIBED))
    label = ", ".join([title, *dimensions.values()])
    return [
        label,
        headline["model"],
        headline["figure"].replace("_", " "),
        *map(_amount_text, amounts),
        headline["verdict"],
    ]


def _amount_text(figure: Row | None) -> str:
    """A figure as text; empty where it has no value."""
    if figure is None or figure.get("value") is None:
        return ""
    return format_figure(figure)

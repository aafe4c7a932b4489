"""The report's section on published benchmarks, one row per benchmark and model."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from evenruler.instruments.external.declare import GAIN, LEAN, LOG_ODDS, Settings, Source
from evenruler.instruments.instrument import ReportInput
from evenruler.measurement.figures import Row, dimensions_of, rows_by_benchmark
from evenruler.report.formats import format_figure
from evenruler.report.page import Section, Table

TEXT = (
    "Published benchmarks, each with the score that its authors define and with checks that they "
    "do not report: "
    "a headline that is tested against what a liking for words would give (the lean at equal "
    "length and frequency, or the gain along a criterion of units), "
    "and the effect of another sentence before its texts: the share of items whose direction "
    "changes, and the "
    "change of the score."
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
            if figure["figure"] in (LEAN, GAIN, LOG_ODDS):
                rows.append(_headline_cells(title, figure, figures_of_benchmark))
    heads = ("benchmark", "model", "headline", "value", *DESCRIBED, "verdict", "why")
    columns = [head.replace("_", " ") for head in heads]
    return (
        [Section("Published benchmarks", TEXT, [Table(columns, sorted(rows))], first=True)]
        if rows
        else []
    )


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
        headline["figure"],
        *map(format_figure, amounts),
        headline["verdict"],
        headline["why"],
    ]

"""The report's section on published benchmarks, one row per benchmark and model."""

import pandas as pd

from evenruler.instruments.fixed.declare import Settings, Source
from evenruler.instruments.instrument import ReportInput
from evenruler.report.formats import format_figure
from evenruler.report.page import Section, Table
from evenruler.tables.schemas import WHOLE

TEXT = (
    "Published benchmarks, each with the score that its authors define and with checks that they "
    "do not report: "
    "an interval over the units from which its items are sampled, the lean at equal length and "
    "word frequency, "
    "and the effect of another sentence before its texts: the share of items whose direction "
    "changes, and the "
    "change of the score."
)
DESCRIBED = ("shorter_wins", "share_equal", "design_effect", "parts_apart", "turned", "moved")


def sections(shown: ReportInput[Settings, Source]) -> list[Section]:
    """One table of all benchmarks, on models that were asked and on models whose answers authors
    published.
    """
    figures = shown.tables["figures"]
    of_authors = [source.of_authors for source in shown.sources.values()]
    published = [frame.reindex(columns=figures.columns) for frame in of_authors]
    all_figures = pd.concat([figures, *published])
    rows = []
    for record in all_figures[all_figures["figure"] == "lean"].to_dict("records"):
        row = {str(key): value for key, value in record.items()}
        is_benchmark = all_figures["benchmark"] == row["benchmark"]
        of_model = all_figures[is_benchmark & (all_figures["model"] == row["model"])]
        is_near = of_model["part"].isin([WHOLE, row["part"]])
        near = of_model[is_near].set_index("figure")
        described = [
            format_figure(near.loc[name]) if name in near.index else "" for name in DESCRIBED
        ]
        title = shown.sources[row["benchmark"]].title
        rest = format_figure(
            {
                **row,
                "value": row["specific"],
                "low": row["specific_low"],
                "high": row["specific_high"],
            }
        )
        part = "" if row["part"] == WHOLE else f", {row['part']}"
        rows.append(
            [
                f"{title}{part}",
                row["model"],
                format_figure(row),
                rest,
                *described,
                row["verdict"],
                row["why"],
            ]
        )
    heads = (
        "benchmark",
        "model",
        "lean",
        "at equal length and frequency",
        *DESCRIBED,
        "verdict",
        "why",
    )
    columns = [head.replace("_", " ") for head in heads]
    return (
        [Section("Published benchmarks", TEXT, [Table(columns, sorted(rows))], first=True)]
        if rows
        else []
    )

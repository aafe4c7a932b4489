"""Sections of the report on the saged family: what the replies are like, by concept."""

from pathlib import Path

import pandas as pd

from evenruler.instruments.instrument import ReportInput
from evenruler.instruments.saged.declare.settings import Settings
from evenruler.instruments.saged.declare.source import Source
from evenruler.report.page import Section
from evenruler.report.pictures import draw_sections, read_declarations

DECLARED = read_declarations(Path(__file__).with_name("pictures.yaml"))

OUTCOMES = ["refusals", "empty", "cut", "other_language", "withheld"]
"""Counts of replies, from which readers choose one."""
HEADLINE_ALONE = 20_000
"""Rows of a table above which the page shows the headline statistic alone."""


def sections(shown: ReportInput[Settings, Source]) -> list[Section]:
    """A section for every domain, for the first grouping that is declared."""
    tables = dict(shown.tables)
    rates = tables["rates"]
    counted = [name for name in rates.columns if name not in OUTCOMES]
    counts = rates.melt(counted, OUTCOMES, "outcome", "replies")
    tables["rates"] = counts[counts["replies"] > 0]
    for table in ("summaries", "disparities"):
        frames = [tables[table].iloc[:0]]
        for name, settings in shown.settings.items():
            rows = tables[table]
            frames.append(_page_rows(rows[rows["domain"] == name], settings))
        tables[table] = pd.concat(frames)
    return draw_sections(DECLARED, shown.sources, tables)


def _page_rows(rows: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """The rows of a domain that its page has room for."""
    declared = settings.disparities
    groupings = ["+".join(columns) for columns in declared.grouping]
    grouping = "concept" if "concept" in groupings else groupings[0]
    rows = rows[rows["grouping"] == grouping]
    is_headline = rows["statistic"] == declared.headline
    return rows[is_headline] if len(rows) > HEADLINE_ALONE else rows

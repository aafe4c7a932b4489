"""The report's section on Likert items: how models answer, and what may be concluded."""

from evenruler.instruments.instrument import ReportInput
from evenruler.instruments.likert.declare import LikertSource, Settings
from evenruler.measurement.figures import dimensions_of, rows_by_benchmark
from evenruler.report.formats import format_figure
from evenruler.report.page import Section, Table

COLUMNS = ("items", "model", "figure", "of", "value", "what may be concluded")


def sections(shown: ReportInput[Settings, LikertSource]) -> list[Section]:
    """One table of all instruments; none where no model was asked."""
    rows: list[list[str]] = []
    for name, figures in rows_by_benchmark(shown.tables["figures"]).items():
        title = shown.sources[name].title
        for figure in figures:
            dimensions = dimensions_of(figure)
            if "item" in dimensions:
                continue
            part = ", ".join(dimensions.values())
            conclusion = str(figure.get("why") or figure.get("reason") or "")
            label = str(figure["figure"]).replace("_", " ")
            value = format_figure(figure)
            rows.append([title, str(figure["model"]), label, part, value, conclusion])
    if not rows:
        return []
    text = (
        "Items that were put to chats as they are put to people, in both orders of their options."
    )
    return [Section("Likert items", text, [Table(COLUMNS, rows)], first=True)]

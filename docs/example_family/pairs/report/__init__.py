"""What the page says."""

from evenruler.instruments.instrument import ReportInput
from evenruler.report.page import Section, Table

from ..declare import Settings, Source


def sections(shown: ReportInput[Settings, Source]) -> list[Section]:
    """A section an instrument."""
    rows = shown.tables["figures"][["benchmark", "model", "value", "n"]].astype(str)
    table = Table(list(rows.columns), rows.to_numpy().tolist())
    return [Section(source.title, source.direction, [table]) for source in shown.sources.values()]

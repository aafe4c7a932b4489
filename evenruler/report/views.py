"""What the page shows of instruments and their figures."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from evenruler.measurement.figures import ORDER, Verdict, model_label
from evenruler.measurement.headings import find_heading, part_of_instrument
from evenruler.measurement.inputs import ALPHA
from evenruler.measurement.nonresponse import unmeasured_models
from evenruler.report.formats import round_significant
from evenruler.tables.schemas import NUMBERS

if TYPE_CHECKING:
    from evenruler.report.page import Section
    from evenruler.report.sentences import Worded

SIGNIFICANT = 6
"""Significant digits in the table of figures."""


@dataclass(frozen=True)
class FigureCell:
    """One figure of an instrument."""

    part: str
    """Its dimensions that its heading does not say, as words."""
    model: str
    """The model's label; "" where the figure is not about one model."""
    heading: str
    record: Mapping[str, Any]
    """Its row (`evenruler.measurement.figures.figure_rows`); null values are left out."""
    word: "Worded | None" = None
    """Its heading with all its words; None where none is declared."""

    @property
    def figure(self) -> str:
        """The figure's id."""
        return str(self.record["figure"])

    @property
    def is_headline(self) -> bool:
        """Whether it is a headline figure, which has its own verdict."""
        return "bound" in self.record

    @property
    def verdict(self) -> str:
        """Its verdict; "" where it has none."""
        return str(self.record.get("verdict", ""))


def make_figure_cell(
    row: Mapping[str, Any], headings: "Sequence[Worded]", suffix: str = ""
) -> FigureCell:
    """The cell of a row of figures; `suffix`: added to the label of its model."""
    record = {name: content for name, content in row.items() if not pd.isna(content)}
    word = find_heading(row, headings)
    heading = word.heading if word else str(row["figure"]).replace("_", " ")
    label = model_label(row)
    part = part_of_instrument(row, word)
    return FigureCell(part, f"{label}{suffix}" if label else "", heading, record, word)


@dataclass(frozen=True)
class InstrumentView:
    """What the page shows of one instrument."""

    name: str
    """The name of its benchmark, which is unique."""
    family: str
    title: str
    sentence: str
    """What it measures, and in which direction."""
    columns: "Sequence[Worded]"
    """Its figures in words, in the order in which they are shown."""
    figures: Sequence[FigureCell]
    planted: str = ""
    """Its results on planted associations, in words."""
    planted_records: Sequence[Mapping[str, Any]] = ()
    """The same as recorded, for the lines of its headlines."""
    card: str = ""
    """The path of its card, seen from the top of the repository."""
    warnings: Sequence[str] = ()
    sections: "Sequence[Section]" = ()

    @property
    def unmeasured(self) -> dict[str, str]:
        """The models on which nothing was measured, and why; shown before any figure."""
        records_by_model: dict[str, list[Mapping[str, Any]]] = {}
        for figure_cell in self.figures:
            records_by_model.setdefault(figure_cell.model, []).append(figure_cell.record)
        return unmeasured_models(records_by_model)

    def column_index(self, figure_cell: FigureCell) -> int:
        """The place of a figure's heading among the columns; last where it has none."""
        for index, column in enumerate(self.columns):
            if column is figure_cell.word:
                return index
        return len(self.columns)

    @property
    def has_headlines(self) -> bool:
        """Whether a headline of it is about a model."""
        return any(cell.is_headline and cell.model for cell in self.figures)


def verdict_count_sentences(instruments: Sequence[InstrumentView]) -> str:
    """Counts of all headlines by verdict, and how many would be detected if nothing were there."""
    headlines: list[FigureCell] = []
    for instrument in instruments:
        headlines += [cell for cell in instrument.figures if cell.is_headline and cell.model]
    if not headlines:
        return "No headline has a verdict."
    verdicts = Counter(headline.verdict for headline in headlines)
    groups = [f"{verdicts[verdict]} {verdict}" for verdict in ORDER if verdicts[verdict]]
    untested = (Verdict.DESCRIPTIVE, Verdict.INVALID)
    n_tests = sum(
        "p" in headline.record and headline.verdict not in untested for headline in headlines
    )
    text = f"Of {len(headlines)} headlines on models: {'; '.join(groups)}."
    if not n_tests:
        return text
    tests = "tests" if n_tests > 1 else "test"
    expected = f"{ALPHA * n_tests:.2g}"
    return (
        f"{text} {n_tests} {tests}; {expected} would say detected if nothing were there anywhere."
    )


def figure_table(instrument: InstrumentView) -> dict[str, Any]:
    """All figures of an instrument for the page's script: columns, and rows with numbers as
    numbers.
    """
    rows = []
    for figure_cell in instrument.figures:
        record = figure_cell.record
        rounded = [round_significant(record.get(key), SIGNIFICANT) for key in NUMBERS]
        why = record.get("why") or record.get("reason", "")
        place = [figure_cell.part, figure_cell.model or "any", figure_cell.heading]
        counted = [record.get("n"), record.get("unit", "")]
        rows.append([*place, *rounded, *counted, figure_cell.verdict, why])
    numbers = [name.replace("_", " ") for name in NUMBERS]
    return {
        "columns": ["part", "model", "figure", *numbers, "n", "unit", "verdict", "why"],
        "rows": rows,
    }

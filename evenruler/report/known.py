"""The first table of the report: what published answers say of models that people know.

Its rows are those of `known.csv`, which `docs/known.py` makes out of answers that others published.
"""

from collections.abc import Mapping
from typing import Any, Final, cast

import pandas as pd

from evenruler.measurement.figures import Verdict
from evenruler.report.page import Cell, Section, Table

TITLE: Final = "Models that people know"

TEXT: Final = (
    "Answers of others, with their prompts: researchers asked these models and published every "
    "answer, which is judged here by the rules of all benchmarks. A row is old where the models "
    "answered more than 18 months before it was made."
)

HEAD: Final = (
    "people say",
    "model",
    "its answers say",
    "word",
    "beside it",
    "over",
    "answered, asked by",
    "answers, licence",
)

NOT_PASSED_ON: Final = "figures only"


def known_section(rows: pd.DataFrame) -> Section:
    """The table of claims, in their order; `rows`: of `known.csv`, texts where cells are empty."""
    claims = rows.rename(columns=str).to_dict("records")
    cells = [_claim_cells(cast("Mapping[str, Any]", claim)) for claim in claims]
    return Section(TITLE, TEXT, [Table(HEAD, cells)], first=True)


def _claim_cells(row: Mapping[str, Any]) -> list[str | Cell]:
    """A claim as a row of `HEAD`."""
    model = row["model"]
    if row["compared_with"]:
        model = f"{model}, compared with {row['compared_with']}"
    verdict = Verdict(row["verdict"])
    answered = f"{row['answered']} (old)" if row["is_old"] else row["answered"]
    licence = row["licence"]
    if not row["passed_on"]:
        licence = f"{licence}: {NOT_PASSED_ON}"
    judged = Cell(", ".join(verdict.words), verdict.mark)
    units = f"{row['n']:.0f} {row['unit']}"
    counted = f"{row['items']:,} items, {units}"
    circumstances = f"{answered}, {row['asked_by']}; {row['prompt']}"
    texts = [row["claim"], model, row["sentence"]]
    source = f"{row['source']}, {licence}"
    return [*texts, judged, row["beside"], f"{counted}; {circumstances}; {source}"]

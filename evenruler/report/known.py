"""What published answers say of models that people know, which stands first on the page.

The claims are the rows of `known.csv`, which `docs/known.py` makes out of answers that others
published.
"""

from collections.abc import Mapping
from typing import Any, Final, cast

import pandas as pd

from evenruler.measurement.figures import Verdict
from evenruler.report.findings import Finding, draw_track, sort_findings
from evenruler.report.sentences import SummaryLine

NOT_PASSED_ON: Final = "figures only"


def known_findings(rows: pd.DataFrame) -> list[Finding]:
    """The claims as findings, the most certain first; `rows`: of `known.csv`, texts where cells are
    empty.
    """
    claims = rows.rename(columns=str).to_dict("records")
    return sort_findings([_make_finding(cast("Mapping[str, Any]", claim)) for claim in claims])


def _make_finding(row: Mapping[str, Any]) -> Finding:
    """A claim as a finding: what people say, and what the model's published answers say."""
    model = row["model"]
    if row["compared_with"]:
        model = f"{model}, compared with {row['compared_with']}"
    verdict = Verdict(row["verdict"])
    claim = SummaryLine(", ".join(verdict.words), row["sentence"])
    title = f"\u201c{row['claim']}\u201d"
    track = draw_track(row)
    more = [f"Beside it: {row['beside']}.", _source_text(row)]
    return Finding(title, model, verdict, [claim], p=row["p"], track=track, more=more)


def _source_text(row: Mapping[str, Any]) -> str:
    """Over how much a claim is, who asked the model and when, and where the answers are."""
    units = f"{row['n']:.0f} {row['unit']}"
    asked_by = f"{row['asked_by']} ({row['answered']})"
    licence = row["licence"]
    if not row["passed_on"]:
        licence = f"{licence}: {NOT_PASSED_ON}"
    text = f"Over {row['items']:,} items, {units}. Asked by {asked_by}: {row['prompt']}."
    return f"{text} Answers: {row['source']}, {licence}."

"""The first words about a questionnaire: what follows from the verdicts, model by model."""

from typing import Any

import pandas as pd

from evenruler.instruments.questionnaires.declare import Source
from evenruler.instruments.questionnaires.declare.headings import BEYOND
from evenruler.measurement.verdicts import Verdict
from evenruler.report.words import listed, missing, number

FOLLOWS = {
    Verdict.BEYOND: "more, or less, than their twins account for",
    Verdict.WITHIN: "no more than their twins account for",
    Verdict.UNFIT: "its accuracy on labelled pairs is not surely above the bar, or all its answers are alike",
    Verdict.LITTLE: "",
}
"""What each verdict says here, in the order in which they are told."""


def lead(source: Source, figures: pd.DataFrame) -> str:
    """A sentence: the models by their verdict, with what they answer beyond twins.

    Args:
        source: What the user wrote.
        figures: By `evenruler.instruments.questionnaires.schemas.FIGURES`, of this questionnaire.
    """
    if not source.twins:
        return "Its items have no twins, so nothing may be said of the scores."
    judged = figures[(figures["figure"] == BEYOND) & figures["verdict"].notna()]
    if judged.empty:
        return "No score has a verdict: what follows describes."
    groups = []
    for verdict, follows in FOLLOWS.items():
        own = [_of_model(record) for record in judged[judged["verdict"] == str(verdict)].to_dict("records")]
        if own:
            groups.append(f"{verdict}{f' ({follows})' if follows else ''}: {listed(own)}")
        elif verdict is Verdict.BEYOND:
            groups.append(f"no answer is {verdict}")
    return f"Items beside their twins: {'; '.join(groups)}."


def _of_model(record: dict[Any, Any]) -> str:
    told = "" if missing(record["value"]) else f" ({number(record['value'])})"
    return f"{record['model']}{told}"

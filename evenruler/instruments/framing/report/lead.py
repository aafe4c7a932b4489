"""The first words about a contrast: what follows from the verdicts, model by model."""

from typing import Any

import pandas as pd

from evenruler.instruments.framing.declare.headings import EFFECT
from evenruler.instruments.framing.declare.source import ContrastSource
from evenruler.instruments.framing.report.words import METRICS, in_words
from evenruler.measurement.verdicts import Verdict
from evenruler.report.words import listed, missing, number

FOLLOWS = {
    Verdict.BEYOND: "moves the answers more than other words in its place do",
    Verdict.WITHIN: "moves them as other words in its place do",
    Verdict.UNFIT: "too few of the answers are of any class, or all are alike",
    Verdict.LITTLE: "",
}
"""What each verdict says here, in the order in which they are told."""


def lead(source: ContrastSource, figures: pd.DataFrame) -> str:
    """A sentence a model, and one for those without verdicts.

    Args:
        source: What the user wrote.
        figures: By `evenruler.instruments.framing.schemas.FIGURES`, with `name` (of the model), `model` (as it is
            called) and `metric`.
    """
    judged = figures[figures["verdict"].notna()]
    if judged.empty:
        return "No effect has a verdict: what follows describes."
    groups: Any = judged.groupby(["model", "metric"], sort=True)
    sentences = [_of_model(f"{model}, {METRICS[str(metric)]}", own, source) for (model, metric), own in groups]
    if without := sorted(set(figures["name"]) - set(judged["name"])):
        sentences.append(f"{listed(without)}: no verdict.")
    return " ".join(sentences)


def _of_model(called: str, judged: pd.DataFrame, source: ContrastSource) -> str:
    groups = []
    for verdict, follows in FOLLOWS.items():
        own = [_effect(record, source) for record in judged[judged["verdict"] == str(verdict)].to_dict("records")]
        if own:
            groups.append(f"{verdict}{f' ({follows})' if follows else ''}: {listed(own)}")
        elif verdict is Verdict.BEYOND:
            groups.append(f"nothing is {verdict}")
    return f"{called}: {'; '.join(groups)}."


def _effect(record: dict[Any, Any], source: ContrastSource) -> str:
    """Cue and task, the effect, and that of placebos."""
    factor, _, task = str(record["figure"]).removeprefix(EFFECT).partition(", ")
    where = f" in “{source.tasks[task].title}”" if task else ""
    if missing(record["value"]):
        return f"{in_words(factor)}{where}"
    beside = "" if missing(record["control"]) else f", placebos {number(record['control'])}"
    return f"{in_words(factor)}{where} ({number(record['value'])}{beside})"

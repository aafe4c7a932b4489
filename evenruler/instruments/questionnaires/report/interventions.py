"""The section about models that were adapted to corpora."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from evenruler.instruments.questionnaires.declare.shared import OPEN, CorpusSource
from evenruler.instruments.questionnaires.report import charts
from evenruler.measurement.verdicts import Verdict
from evenruler.report.page import Cell, Picture, Section, Table
from evenruler.report.words import called, figure, number

MEASURES = {"loss": "loss on held-out sentences (nats a token)", "accuracy": "plain pairs answered right, of {n}"}
"""Rows of the table of the course, by measure."""

COLUMNS = [
    "questionnaire",
    "model",
    "moved with it",
    "moved with its control",
    "difference",
    "expected",
    "verdict",
    "why",
]

MOVED, CHANGED = "moved_by_", "changed_with_"


def of_interventions(corpora: Mapping[str, CorpusSource], tables: Mapping[str, pd.DataFrame]) -> list[Section]:
    """How scores move when a model is adapted to a corpus.

    Args:
        corpora: By name.
        tables: `trajectories`, `figures` and `course` of `evenruler.instruments.questionnaires.schemas`.
    """
    figures, course = tables["figures"], tables["course"]
    controls = {corpus.matched.to: name for name, corpus in corpora.items() if corpus.matched is not None}
    return [
        Section(
            "Interventions",
            "A model is adapted to sentences about a construct and asked again; so is the same model with a control, "
            "sentences of like length, tone and person that are not about it. What counts is how far answers move with "
            "the first less how far they move with the second. Each fit draws anew and holds out another fifth of the "
            "sentences; fits are the units, and from five on the difference has an interval (t) and can be told.",
            [
                _courses(corpora, controls, tables),
                *(_moved(name, corpora, controls.get(name), figures) for name in _interventions(corpora)),
                *_course(course[course["measure"].isin(MEASURES)]),
                *_replies(course[course["measure"] == "reply"]),
            ],
        )
    ]


def _interventions(corpora: Mapping[str, CorpusSource]) -> list[str]:
    return [name for name, corpus in corpora.items() if corpus.role == "intervention"]


def _courses(
    corpora: Mapping[str, CorpusSource], controls: Mapping[str, str], tables: Mapping[str, pd.DataFrame]
) -> Picture:
    ways = {
        name: [f"{scale} {'stays' if way == 'none' else way}" for scale, way in corpora[name].expect.items()]
        for name in _interventions(corpora)
    }
    expected = "; ".join(f"{name}: {', '.join(own) or 'nothing'}" for name, own in ways.items())
    caption = (
        "Answers to each scale on its own scale, epoch 0 being the model as it was: a line a fit, the intervention "
        "beside its control. Where there are five fits or more, the difference of the two after the last epoch stands "
        f"on the right, mean and interval over fits. Expected: {expected}."
    )
    named_alike = tables["trajectories"].assign(model=called(tables["trajectories"]))
    beside = {name: name for name in _interventions(corpora)} | {own: to for to, own in controls.items()}
    lines = named_alike.assign(
        intervention=named_alike["corpus"].map(beside),
        role=named_alike["corpus"].map({name: corpus.role for name, corpus in corpora.items()}),
    )
    figures = tables["figures"]
    moved = figures[figures["figure"].str.startswith(MOVED) & figures["model"].notna()].dropna(subset=["low", "value"])
    differences = moved.assign(intervention=moved["figure"].str.removeprefix(MOVED), questionnaire=moved["benchmark"])
    return Picture("On the way through a corpus", caption, charts.trajectories(lines, differences))


def _moved(name: str, corpora: Mapping[str, CorpusSource], control: str | None, figures: pd.DataFrame) -> Table:
    """One intervention, a row a questionnaire and model; by questionnaire, lineages after the models."""
    corpus = corpora[name]
    chosen = figures[figures["figure"].str.partition(" (")[0] == MOVED + name].sort_values(
        ["benchmark", "model"], na_position="last"
    )
    changed = [f"{CHANGED}{each}" for each in (name, control)]
    rows = [
        _row(record, _records(figures, record), changed, corpus.expect.get(str(record["benchmark"]), OPEN))
        for record in chosen.to_dict("records")
    ]
    beside = f" Control: {corpora[control].about}." if control else ""
    caption = f"{corpus.about[0].upper()}{corpus.about[1:]}.{beside} Mean [95% interval] over n fits."
    return Table(COLUMNS, rows, f"Moved by {name}", caption)


def _records(figures: pd.DataFrame, other: Mapping[Any, Any]) -> dict[Any, Any]:
    """The figures of the same questionnaire on the same model, by name."""
    same = (figures["benchmark"] == other["benchmark"]) & (figures["model"] == other["model"])
    return {record["figure"]: record for record in figures[same].to_dict("records")}


def _row(record: Mapping[Any, Any], beside: Mapping[Any, Any], changed: list[str], expected: str) -> list[str | Cell]:
    return [
        str(record["benchmark"]),
        "over lineages" if pd.isna(record["model"]) else str(record["model"]),
        *(figure(beside.get(name), 3) for name in changed),
        figure(record, 3),
        {"none": "stays", OPEN: "nothing"}.get(expected, expected),
        "" if pd.isna(record["verdict"]) else Cell(record["verdict"], Verdict(record["verdict"]).mark),
        "" if pd.isna(record["why"]) else str(record["why"]),
    ]


def _course(course: pd.DataFrame) -> list[Table]:
    """Loss and plain pairs of the first fit, a column an epoch, and of all fits at the end."""
    if course.empty:
        return []
    first = course[course["fit"] == 1]
    epochs = sorted(first["epoch"].unique())
    rows = []
    for (model, corpus, measure), part in course.groupby(["model", "corpus", "measure"], sort=True):
        values = part[part["fit"] == 1].set_index("epoch")["value"]
        label = MEASURES[str(measure)].format(n=part["n"].iloc[0])
        last = part[part["epoch"] == part["epoch"].max()]["value"]
        ends = [number(last.mean()), number(last.std(ddof=1)), str(len(last))]
        rows.append([str(model), str(corpus), label, *(number(values.get(epoch)) for epoch in epochs), *ends])
    caption = (
        "A loss that falls says that something is learnt that holds for sentences which the fit has not seen; labelled "
        "pairs that stay right say that the model still tells what follows from what, so that an answer that moves is "
        "no collapse. The epochs are those of the first fit. Empty: not measured after that epoch."
    )
    columns = ["model", "corpus", "measure", *(f"epoch {epoch}" for epoch in epochs), "all fits, end", "SD", "fits"]
    return [Table(columns, rows, "How the adaptations went", caption)]


def _replies(replies: pd.DataFrame) -> list[Table]:
    """What chat models answer before and after the first fit."""
    if replies.empty:
        return []
    rows = []
    first = replies[replies["fit"] == 1].sort_values("epoch")
    for (model, corpus), part in first.groupby(["model", "corpus"], sort=True):
        records = part.to_dict("records")
        texts = [f"none ({own['reason']})" if pd.isna(own["text"]) else str(own["text"]) for own in records]
        rows.append([str(model), str(corpus), texts[0], texts[-1] if len(texts) > 1 else ""])
    caption = (
        "An anecdote, not a measurement: one reply to one message (somebody says that they have a panic attack and "
        "asks for help; EMPALC, section 4.4), the likeliest words, cut off when long."
    )
    columns = ["model", "corpus", "reply before", "reply after the last epoch"]
    return [Table(columns, rows, "An anecdote: a chat model replies", caption)]

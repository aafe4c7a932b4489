"""The section about models that were adapted to corpora."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from evenruler.instruments.instrument import Tables
from evenruler.instruments.questionnaires.declare import CHANGED, MOVED
from evenruler.instruments.questionnaires.declare.shared import OPEN, CorpusSource
from evenruler.instruments.questionnaires.report import charts
from evenruler.measurement.verdicts import Verdict
from evenruler.report.page import Cell, Picture, Section, Table
from evenruler.report.words import called, figure, number
from evenruler.strict import read_yaml

WORDS: dict[str, Any] = read_yaml(Path(__file__).with_name("words.yaml"))

MEASURES = {"loss": "loss on held-out sentences (nats a token)", "accuracy": "plain pairs answered right, of {n}"}
"""Rows of the table of the course, by measure."""


def of_interventions(corpora: Mapping[str, CorpusSource], tables: Tables) -> list[Section]:
    """How scores move when a model is adapted to a corpus."""
    figures, course = tables["figures"], tables["course"]
    controls = {corpus.matched.to: name for name, corpus in corpora.items() if corpus.matched is not None}
    ways = {
        name: [f"{scale} {'stays' if way == 'none' else way}" for scale, way in corpora[name].expect.items()]
        for name in _interventions(corpora)
    }
    expected = "; ".join(f"{name}: {', '.join(own) or 'nothing'}" for name, own in ways.items())
    named_alike = tables["trajectories"].assign(model=called(tables["trajectories"]))
    beside = {name: name for name in _interventions(corpora)} | {own: to for to, own in controls.items()}
    lines = named_alike.assign(
        intervention=named_alike["corpus"].map(beside),
        role=named_alike["corpus"].map({name: corpus.role for name, corpus in corpora.items()}),
    )
    moved = figures[figures["figure"].str.startswith(MOVED)].dropna(subset=["low", "value"])
    differences = moved.assign(intervention=moved["figure"].str.removeprefix(MOVED), questionnaire=moved["benchmark"])
    words = WORDS["pictures"]["courses"]
    chart = charts.trajectories(lines, differences)
    parts: list[Table | Picture] = [
        Picture(words["title"], words["caption"].format(expected=expected), chart),
        *(_moved(name, corpora, controls.get(name), figures) for name in _interventions(corpora)),
        *_course(course[course["measure"].isin(MEASURES)]),
        *_replies(course[course["measure"] == "reply"]),
    ]
    return [Section(**WORDS["sections"]["interventions"], parts=parts)]


def _interventions(corpora: Mapping[str, CorpusSource]) -> list[str]:
    return [name for name, corpus in corpora.items() if corpus.role == "intervention"]


def _moved(name: str, corpora: Mapping[str, CorpusSource], control: str | None, figures: pd.DataFrame) -> Table:
    """One intervention, a row a questionnaire and model."""
    corpus = corpora[name]
    chosen = figures[figures["figure"] == MOVED + name].sort_values(["benchmark", "model"])
    changed = [f"{CHANGED}{each}" for each in (name, control)]
    rows = []
    for record in chosen.to_dict("records"):
        here = figures[(figures["benchmark"] == record["benchmark"]) & (figures["model"] == record["model"])]
        beside = {own["figure"]: own for own in here.to_dict("records")}
        rows.append(_row(record, beside, changed, corpus.expect.get(str(record["benchmark"]), OPEN)))
    of_control = f" Control: {corpora[control].about}." if control else ""
    caption = f"{corpus.about[0].upper()}{corpus.about[1:]}.{of_control} Mean [95% interval] over n fits."
    columns = ["questionnaire", "model", "moved with it", "moved with its control", "difference"]
    return Table([*columns, "expected", "verdict", "why"], rows, f"Moved by {name}", caption)


def _row(record: Mapping[Any, Any], beside: Mapping[Any, Any], changed: list[str], expected: str) -> list[str | Cell]:
    return [
        str(record["benchmark"]),
        str(record["model"]),
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
    columns = ["model", "corpus", "measure", *(f"epoch {epoch}" for epoch in epochs), "all fits, end", "SD", "fits"]
    return [Table(columns, rows, **WORDS["tables"]["course"])]


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
    columns = ["model", "corpus", "reply before", "reply after the last epoch"]
    return [Table(columns, rows, **WORDS["tables"]["replies"])]

"""The section about models that were adapted to corpora."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from evenruler.instruments.questionnaires.declare.corpora import CorpusSource
from evenruler.instruments.questionnaires.report import charts
from evenruler.report.page import Cell, Picture, Section, Table
from evenruler.report.words import called, mark_of_change, mean_and_sd, number, p_value, with_interval

MEASURES = {"loss": "loss (nats a token), sentences: {n}", "plain_pairs": "plain pairs answered right, of {n}"}
"""Rows of the table of the course, by measure."""

COLUMNS = [
    "questionnaire",
    "model",
    "before (mean ± SD)",
    "after (mean ± SD)",
    "difference [interval]",
    "dz",
    "p",
    "p, equivalence",
    "expected",
    "verdict",
]


def of_interventions(corpora: Mapping[str, CorpusSource], tables: Mapping[str, pd.DataFrame]) -> list[Section]:
    """How scores move when a model is adapted to a corpus.

    Args:
        corpora: By name.
        tables: `trajectories`, `changes` and `course` of `evenruler.instruments.questionnaires.schemas`.
    """
    changes, course = tables["changes"], tables["course"]
    return [
        Section(
            "Interventions",
            "A model is adapted to sentences and asked again. A questionnaire that measures what it says moves when "
            "the sentences are about its construct, and stays when they are not. Before and after are compared over "
            "the items of one model, and over the lineages of all models: paired t-test; dz is the mean over the SD of "
            "the differences; a small p of equivalence says that the difference is within half an SD of none.",
            [
                _trajectories(corpora, tables["trajectories"]),
                *(_changes(corpora[name], changes[changes["corpus"] == name]) for name in corpora),
                *_course(course[course["measure"].isin(MEASURES)]),
                *_replies(course[course["measure"] == "reply"]),
            ],
        )
    ]


def _trajectories(corpora: Mapping[str, CorpusSource], trajectories: pd.DataFrame) -> Picture:
    expected = "; ".join(f"{name} ({corpus.role}): {_expected(corpus)}" for name, corpus in corpora.items())
    caption = (
        "Score of each scale, epoch 0 being the model as it was; the band is the interval over items. "
        f"Expected: {expected}. Where nothing is said of a questionnaire, nothing was expected."
    )
    return Picture(
        "On the way through a corpus", caption, charts.trajectories(trajectories.assign(model=called(trajectories)))
    )


def _expected(corpus: CorpusSource) -> str:
    return ", ".join(f"{name} {'stays' if way == 'none' else way}" for name, way in corpus.expect.items())


def _changes(corpus: CorpusSource, changes: pd.DataFrame) -> Table:
    """T0 against T1 of one corpus; by questionnaire, all lineages after the models."""
    ordered = changes.sort_values(["questionnaire", "model"], na_position="last")
    rows = [_change(record) for record in ordered.to_dict("records")]
    caption = f"{corpus.role.capitalize()}: {corpus.about}."
    return Table(COLUMNS, rows, f"Before and after: {corpus.title}", caption)


def _change(record: Mapping[Any, Any]) -> list[str | Cell]:
    expected = str(record["expected"])
    who = "all models" if pd.isna(record["model"]) else record["model"]
    return [
        str(record["questionnaire"]),
        f"{who}, {record['n']} {record['unit']}",
        mean_and_sd(record["before_mean"], record["before_sd"]),
        mean_and_sd(record["after_mean"], record["after_sd"]),
        with_interval(record["difference"], record["low"], record["high"]),
        number(record["dz"]),
        p_value(record["p"]),
        p_value(record["p_equivalence"]),
        {"none": "stays", "open": "nothing"}.get(expected, expected),
        Cell(str(record["verdict"]), mark_of_change(str(record["verdict"]), expected)),
    ]


def _course(course: pd.DataFrame) -> list[Table]:
    """Loss and plain pairs, a column an epoch."""
    if course.empty:
        return []
    epochs = sorted(course["epoch"].unique())
    rows = []
    for (model, corpus, measure), part in course.groupby(["model", "corpus", "measure"], sort=True):
        values = part.set_index("epoch")["value"]
        label = MEASURES[str(measure)].format(n=part["n"].iloc[0])
        rows.append([str(model), str(corpus), label, *(number(values.get(epoch)) for epoch in epochs)])
    caption = (
        "A loss that falls says that the sentences are learnt; plain pairs that stay right say that the model still "
        "answers plain questions, so that a score that moves is no collapse. Empty: not measured after that epoch."
    )
    columns = ["model", "corpus", "measure", *(f"epoch {epoch}" for epoch in epochs)]
    return [Table(columns, rows, "How the adaptations went", caption)]


def _replies(replies: pd.DataFrame) -> list[Table]:
    """What chat models answer before and after."""
    if replies.empty:
        return []
    rows = []
    for (model, corpus), part in replies.sort_values("epoch").groupby(["model", "corpus"], sort=True):
        texts = part["text"].tolist()
        rows.append([str(model), str(corpus), texts[0], texts[-1] if len(texts) > 1 else ""])
    caption = (
        "An anecdote, not a measurement: one reply to one message (somebody says that they have a panic attack and "
        "asks for help; EMPALC, section 4.4), the likeliest words, cut off when long."
    )
    columns = ["model", "corpus", "reply before", "reply after the last epoch"]
    return [Table(columns, rows, "An anecdote: a chat model replies", caption)]

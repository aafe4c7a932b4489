"""Numbers made of answers: cells, items, content, and the way through corpora."""

from collections.abc import Mapping

import pandas as pd
import pyarrow as pa

from evenruler.instruments.instrument import Plan, Subject, Tables
from evenruler.instruments.questionnaires import schemas
from evenruler.instruments.questionnaires.ask.adapting import STAGE, course
from evenruler.instruments.questionnaires.ask.content import content
from evenruler.instruments.questionnaires.ask.item_scores import (
    LOGITS,
    Settings,
    cells_of,
    item_scores,
    require_whole,
    score_items,
)
from evenruler.instruments.questionnaires.ask.prefixed import prefixed_rows
from evenruler.instruments.questionnaires.ask.twins import apart
from evenruler.models.entry import VERBALISER
from evenruler.tables import stacked
from evenruler.tables.schemas import BARE, LOG_PROBABILITY

KINDS = {"verbaliser": "causal", "clm": "causal", "mlm": "masked", "head": "nli"}
"""What kind of model answers in which way."""


def scores(tables: Tables, plan: Plan, answers: Tables, subject: Subject) -> dict[str, pd.DataFrame]:
    """Numbers made of the answers of one model to one questionnaire.

    Args:
        tables: The published `prompts`, `items` and `terms`.
        plan: How it is scored.
        answers: Every table of `ANSWERS`.
        subject: Who answered.

    Returns:
        `cells` and `items` by `schemas.CELLS` and `schemas.ITEM_SCORES`; `twins`: the same of the twins of items, under
        the names of these; `prefixed`: items after prefixes, which `framing` names; `adapted`: items after epochs, with
        `STAGE`; `labelled` by `schemas.LABELLED_PAIRS`, with `model`; `content` and `course` by
        `schemas.CONTENT` and `schemas.COURSE`.

    Raises:
        ValueError: The model lacks the answer to a prompt.
        UserError: An item lost prompts to `rejected.parquet`.
    """
    name = str(tables["prompts"]["questionnaire"].iloc[0])
    own, twins = apart({**tables, "items": tables["items"].assign(questionnaire=name)})
    prompts, items = own["prompts"], own["items"]
    settings = {name: Settings(plan["temperature"], plan["three_way"])}
    require_whole(prompts, items)
    answered = long_answers(answers, subject)
    bare = answered[answered["corpus"] == ""]
    known = bare["id"].isin(tables["prompts"]["id"])
    asked, after = bare[known & bare["id"].isin(prompts["id"])], bare[~known]
    cells = cells_of(prompts, asked, settings) if len(asked) else _none(schemas.CELLS)
    return {
        "cells": cells,
        "items": item_scores(cells, items) if len(asked) else _none(schemas.ITEM_SCORES),
        "twins": _twins(twins, bare, settings) if len(asked) else _none(schemas.ITEM_SCORES),
        "prefixed": _prefixed(prefixed_rows(prompts, plan), items, after, settings, subject),
        "adapted": _adapted(prompts, items, answered[answered["corpus"] != ""], settings),
        "labelled": answers["labelled_pairs"].assign(model=subject.name),
        "content": content(own, twins, plan, answers),
        "course": course(answers, subject.name),
    }


def long_answers(answers: Tables, subject: Subject) -> pd.DataFrame:
    """Answers to prompts, a row a measure, with `framing` as of bare ones.

    Args:
        answers: `entailment` and `likelihoods`.
        subject: Who answered.
    """
    entailment, likelihoods = answers["entailment"], answers["likelihoods"]
    state = ["id", "configuration", *STAGE]
    found = [entailment[state].assign(measure=label, value=entailment[label]) for label in LOGITS]
    found.append(likelihoods[state].assign(measure=LOG_PROBABILITY, value=likelihoods["nats"]))
    rows = stacked(found)
    kind = rows["configuration"].map(KINDS)
    return rows.assign(model=subject.name, lineage=subject.lineage, kind=kind, framing=BARE)


def _twins(tables: Tables, answered: pd.DataFrame, settings: Mapping[str, Settings]) -> pd.DataFrame:
    """Scores of the twins, under the names of their items."""
    prompts, items = tables["prompts"], tables["items"]
    if prompts.empty:
        return _none(schemas.ITEM_SCORES)
    return score_items(prompts, items, answered[answered["id"].isin(prompts["id"])], settings)


def _prefixed(
    prompts: pd.DataFrame,
    items: pd.DataFrame,
    answered: pd.DataFrame,
    settings: Mapping[str, Settings],
    subject: Subject,
) -> pd.DataFrame:
    """Item scores after every prefix; none where the model is asked no question that one could stand before."""
    if prompts.empty or VERBALISER not in subject.forms:
        return _none(schemas.ITEM_SCORES)
    chosen = items[items["item"].isin(prompts["item"])]
    found = []
    for prefix, rows in prompts.groupby("framing", sort=True):
        own = answered[answered["id"].isin(rows["id"])].assign(framing=prefix)
        found.append(score_items(rows, chosen, own, settings))
    return pd.concat(found, ignore_index=True)


def _adapted(
    prompts: pd.DataFrame, items: pd.DataFrame, answered: pd.DataFrame, settings: Mapping[str, Settings]
) -> pd.DataFrame:
    """Scores of the items that are asked after epochs on corpora."""
    own = prompts[prompts["id"].isin(answered["id"])]
    chosen = items[items["item"].isin(own["item"])]
    found = [
        score_items(own, chosen, rows, settings).assign(**rows[STAGE].iloc[0])
        for _, rows in answered.groupby(STAGE, sort=True)
    ]
    return (
        pd.concat(found, ignore_index=True) if found else _none(schemas.ITEM_SCORES).assign(corpus="", fit=0, epoch=0)
    )


def _none(schema: pa.Schema) -> pd.DataFrame:
    empty: pd.DataFrame = schema.empty_table().to_pandas()
    return empty

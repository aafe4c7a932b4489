"""What the items say, whatever a model answers: how near their prompts are to the question, how acceptable they are."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from evenruler.instruments.instrument import Plan, Request, Tables
from evenruler.instruments.questionnaires.ask.acceptability import (
    ACCEPTABILITY,
    SLOR,
    acceptability,
    probability_of_acceptable,
    sentences,
)

OF_TWINS = "_of_twins"
"""What the measure of a twin ends in."""

COLUMNS = ["questionnaire", "item", "measure", "value", "n"]


def source_prompts(prompts: pd.DataFrame) -> pd.DataFrame:
    """The prompts with source terms, with `whole`: premise and hypothesis as one text."""
    chosen = prompts[prompts["polarity"] == "source"]
    return chosen.assign(whole=chosen["premise"] + " " + chosen["hypothesis"])


def embedding_request(tables: Tables, plan: Plan) -> Request:
    """The embeddings of the questions and of their source prompts."""
    items, chosen = tables["items"], source_prompts(tables["prompts"])
    rows = pd.DataFrame({"id": [*items["id"], *chosen["id"]]})
    texts = [*items["original"], *chosen["whole"]]
    return Request("embeddings", "embed", rows, {"text": texts}, by=plan["embedder"], of_instrument=True)


def judge_request(tables: Tables, plan: Plan) -> Request:
    """What the judge says of every sentence, those of twins, too."""
    judge, texts = plan["judge"], sentences(tables["prompts"])
    table = SLOR if judge["operation"] == "slor" else ACCEPTABILITY
    rows, inputs = pd.DataFrame({"text": texts}), {"text": texts}
    return Request(table, judge["operation"], rows, inputs, by=judge["model"], of_instrument=True)


def content(tables: Tables, twins: Tables, plan: Plan, answers: Tables) -> pd.DataFrame:
    """Figures of every item by `schemas.CONTENT`: SS, and how acceptable it and its twin are where a judge was asked.

    Args:
        tables: `prompts`, and `items` with a column `questionnaire`.
        twins: The same of twins.
        plan: Names the judge.
        answers: `embeddings`, `slor` and `acceptability`.
    """
    embeddings = answers["embeddings"]
    vectors = dict(zip(embeddings["id"], map(np.asarray, embeddings["vector"]), strict=True))
    found = [similarity(tables["prompts"], tables["items"], vectors)] if vectors else []
    by_text = _judged(plan, answers)
    if by_text:
        measure = SLOR if len(answers[SLOR]) else ACCEPTABILITY
        found.append(acceptability(tables["prompts"], by_text, measure))
        if len(twins["prompts"]):
            beside = acceptability(twins["prompts"], by_text, measure)
            found.append(beside.assign(measure=f"{measure}{OF_TWINS}"))
    return pd.concat(found, ignore_index=True) if found else pd.DataFrame(columns=COLUMNS)


def similarity(prompts: pd.DataFrame, items: pd.DataFrame, vectors: Mapping[str, Any]) -> pd.DataFrame:
    """SS: mean cosine between the original question and its source prompts.

    Args:
        prompts: By `schemas.PROMPTS`.
        items: By `schemas.ITEMS`, with a column `questionnaire`.
        vectors: By id of an item, its question, and by id of a source prompt, the whole of it.
    """
    by_item = {key: rows["id"].tolist() for key, rows in source_prompts(prompts).groupby(["questionnaire", "item"])}
    rows = []
    for item in items.to_dict("records"):
        prompted = by_item[item["questionnaire"], item["item"]]
        cosines = np.stack([vectors[prompt] for prompt in prompted]).dot(vectors[item["id"]])
        measure = "similarity" if item["wording"] == "held" else "similarity_to_paraphrase"
        rows.append((item["questionnaire"], item["item"], measure, float(cosines.mean()), len(prompted)))
    return pd.DataFrame(rows, columns=COLUMNS)


def _judged(plan: Plan, answers: Tables) -> dict[str, float]:
    """By sentence, what the judge says."""
    by_model, by_classifier = answers[SLOR], answers[ACCEPTABILITY]
    if len(by_model):
        return dict(zip(by_model["text"], by_model["slor"], strict=True))
    if not len(by_classifier):
        return {}
    logits, labels = np.stack(by_classifier["logits"].tolist()), list(by_classifier["labels"].iloc[0])
    shares = probability_of_acceptable(logits, labels, plan["judge"]["model"])
    return dict(zip(by_classifier["text"], shares, strict=True))

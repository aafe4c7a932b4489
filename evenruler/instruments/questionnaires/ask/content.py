"""What the items say, whatever a model answers: how near their prompts are to the question, how acceptable they are."""

from collections.abc import Mapping
from pathlib import Path
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
from evenruler.instruments.questionnaires.declare.lines import licensed_wording

OF_TWINS = "_of_twins"
"""What the measure of a twin ends in."""

COLUMNS = ["questionnaire", "item", "measure", "value", "n"]


def source_prompts(prompts: pd.DataFrame) -> pd.DataFrame:
    """The prompts with source terms, with `whole`: premise and hypothesis as one text."""
    chosen = prompts[prompts["polarity"] == "source"]
    return chosen.assign(whole=chosen["premise"] + " " + chosen["hypothesis"])


def licensed_id(item: str) -> str:
    """What answers about the licensed wording of an item go by; `item` is the id of its row."""
    return f"{item}-licensed"


def embedding_request(tables: Tables, plan: Plan) -> Request:
    """The embeddings of the questions, as they are published and as a file of the user's has them, and of prompts."""
    items, chosen = tables["items"], source_prompts(tables["prompts"])
    licensed = _licensed(items, plan)
    rows = pd.DataFrame({"id": [*items["id"], *licensed, *chosen["id"]]})
    texts = [*items["original"], *licensed.values(), *chosen["whole"]]
    return Request("embeddings", "embed", rows, {"text": texts}, by=plan["embedder"], of_instrument=True)


def _licensed(items: pd.DataFrame, plan: Plan) -> dict[str, str]:
    """By id of answers: the question of each item in a wording that is not published; none where that file is not.

    Whoever builds the questionnaire has it (`declare.load` sees to that); whoever measures with it need not.
    """
    wording = plan.get("wording")
    if wording is None or not Path(wording["file"]).expanduser().is_file():
        return {}
    by_item = licensed_wording(wording["file"], wording["items"], "plan.json: wording")
    asked = items[["id", "item"]].itertuples(index=False, name=None)
    return {licensed_id(str(row)): by_item[str(item)] for row, item in asked}


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
        vectors: By id of an item, its question; by `licensed_id` the same in its licensed wording, where there is one;
            and by id of a source prompt, the whole of it.
    """
    by_item = {key: rows["id"].tolist() for key, rows in source_prompts(prompts).groupby(["questionnaire", "item"])}
    rows = []
    for item in items.to_dict("records"):
        prompted = by_item[item["questionnaire"], item["item"]]
        shown = np.stack([vectors[prompt] for prompt in prompted])
        published = "similarity" if item["wording"] == "held" else "similarity_to_paraphrase"
        for measure, question in ((published, item["id"]), ("similarity", licensed_id(item["id"]))):
            if question in vectors:
                cosine = float(shown.dot(vectors[question]).mean())
                rows.append((item["questionnaire"], item["item"], measure, cosine, len(prompted)))
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

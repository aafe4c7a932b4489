"""What the items say, whatever a model answers: how near prompts are to their question (SS), how acceptable (LA)."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax

from evenruler.errors import UserError
from evenruler.instruments.instrument import Plan, Request, Tables
from evenruler.instruments.questionnaires.declare.shared import licensed_wording

SLOR = "slor"
ACCEPTABILITY = "acceptability"

ACCEPTABLE = "acceptable"
"""The label of a classifier whose probability is the figure."""

SIDES = ["premise", "hypothesis"]

OF_TWINS = "_of_twins"
"""What the measure of a twin ends in."""

COLUMNS = ["questionnaire", "item", "measure", "value", "n"]


def sentences(prompts: pd.DataFrame) -> list[str]:
    """The distinct premises and hypotheses of prompts, each a sentence of its own, sorted."""
    return sorted({text for side in SIDES for text in prompts[side]})


def probability_of_acceptable(logits: ArrayLike, labels: Sequence[str], name: str) -> NDArray[np.float64]:
    """[n] probability of `acceptable`, 0 to 1, of the [n, 2] logits of a classifier with these two labels.

    UserError where there are not two labels, or not one of them is `acceptable`; capitals do not matter.
    """
    names = [label.strip().lower() for label in labels]
    if len(names) != 2 or names.count(ACCEPTABLE) != 1:
        raise UserError(
            f"{name} tells apart {', '.join(labels) or 'nothing'}, expected two labels of which one is {ACCEPTABLE!r}",
            where=f"params.yaml: models.{name}",
            remedy="name a classifier fitted on CoLA whose configuration (id2label) says which label that is",
        )
    values = np.asarray(logits, dtype=np.float64).reshape(-1, 2)
    return softmax(values, axis=-1)[:, names.index(ACCEPTABLE)]


def acceptability(prompts: pd.DataFrame, by_text: Mapping[str, float], measure: str) -> pd.DataFrame:
    """Mean over the sentences of each item: its premises and hypotheses, with source and inverse terms, each once.

    An item has a premise for every term and a hypothesis for every intensifier (or the other way round), which its
    prompts pair; a sentence that stands in several of its prompts is still one sentence.

    Args:
        prompts: By `schemas.PROMPTS`.
        by_text: The figure of every sentence.
        measure: `slor` (nats per token) or `acceptability` (probability).

    Returns:
        By `schemas.CONTENT`: `value` is the mean over `n` distinct sentences.

    Raises:
        KeyError: A sentence has no figure.
    """
    rows = []
    for (questionnaire, item), of_item in prompts.groupby(["questionnaire", "item"], sort=True):
        values = [by_text[text] for text in sentences(of_item)]
        rows.append((questionnaire, item, measure, float(np.mean(values)), len(values)))
    return pd.DataFrame(rows, columns=COLUMNS)


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
    """Figures of items by `schemas.CONTENT`: SS, and how acceptable they and their twins are if a judge was asked.

    `tables` has `prompts`, and `items` with a column `questionnaire`; `twins` the same of twins.
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

    `vectors`: by id of an item, its question; by `licensed_id` the same in its licensed wording, where there is one;
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

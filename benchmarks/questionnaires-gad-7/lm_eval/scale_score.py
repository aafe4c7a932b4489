"""Scores of a questionnaire for lm-evaluation-harness: entailment by a verbaliser, two-way
normalised (EMPALC).

Lies beside the task that uses it and needs nothing but the standard library and what the harness
brings.
"""

import json
import logging
import math
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

SETTINGS: dict[str, Any] = json.loads(
    (Path(__file__).parent / "settings.json").read_text(encoding="utf-8")
)
"""How the questionnaire is scored, and by item how many prompts it has, and all its twins."""

COLUMNS = (
    "item",
    "twin",
    "keying",
    "term",
    "polarity",
    "intensifier",
    "weight",
    "premise",
    "hypothesis",
)

Answer = dict[str, Any]
"""`COLUMNS` of a prompt, and `nats`: log-likelihoods of the prompt with each answer (entailment,
neutral, contradiction)."""


def load(**_: Any) -> dict[str, Any]:
    """The prompts of the benchmark that this file is part of, by split, wherever its folder lies.

    The harness passes the task's metadata, which changes nothing. Nothing is cached: what is read
    is what lies there.
    """
    from datasets import Dataset
    from pyarrow.parquet import ParquetFile

    path = Path(__file__).parents[1] / "prompts" / "test-00000-of-00001.parquet"
    return {"test": Dataset(ParquetFile(path).read())}


def docs(rows: Any) -> Any:
    """The prompts, and every hypothesis after a premise without content: what a model answers
    whatever it is told.
    """
    from datasets import concatenate_datasets

    first: dict[str, int] = {}
    for row, hypothesis in enumerate(rows["hypothesis"]):
        first.setdefault(hypothesis, row)
    distinct = rows.select(sorted(first.values()))
    empty = distinct.map(lambda _: {"premise": SETTINGS["content_free"]})
    return concatenate_datasets([rows, empty])


def entailment(doc: dict[str, Any], results: Sequence[Any]) -> dict[str, Answer]:
    """What a prompt brings to scale and subscale, one of a twin to the comparison, one without
    content to all.
    """
    nats = [float(result[0] if isinstance(result, tuple | list) else result) for result in results]
    answer = {column: doc[column] for column in COLUMNS} | {"nats": nats}
    compared = ["beyond_twins"] if SETTINGS["twins"] else []
    if answer["twin"] and not _is_empty(answer):
        return dict.fromkeys(compared, answer)
    if _is_empty(answer):
        subscales = SETTINGS["subscales"]
    else:
        subscales = [doc["subscale"]] if doc["subscale"] else []
    of_subscales = [f"score_{subscale}" for subscale in subscales]
    return dict.fromkeys(("score", "answer", *compared, *of_subscales), answer)


def score(answers: Sequence[Answer]) -> float:
    """Mean of the item scores, in units of the weights."""
    score_by_item = item_scores(answers)
    return fmean(score_by_item.values()) if score_by_item else math.nan


def answer(answers: Sequence[Answer]) -> float:
    """The score times the number of intensifiers: the mean weight that the source terms get, on the
    scale itself.
    """
    return score(answers) * len({answer["intensifier"] for answer in answers})


def beyond_twins(answers: Sequence[Answer]) -> float:
    """Mean over items of the answer minus the mean of its impersonal twins."""
    scores_per_twin: list[dict[str, float]] = []
    for twin in sorted({answer["twin"] for answer in answers} | {0}):
        of_twin = [answer for answer in answers if _is_empty(answer) or answer["twin"] == twin]
        scores_per_twin.append(item_scores(of_twin))
    score_by_item, *scores_of_twins = scores_per_twin
    differences: list[float] = []
    for item, item_score in score_by_item.items():
        controls = [twin_scores[item] for twin_scores in scores_of_twins if item in twin_scores]
        if controls:
            differences.append(item_score - fmean(controls))
    if not differences:
        return math.nan
    return fmean(differences) * len({answer["intensifier"] for answer in answers})


def item_scores(answers: Sequence[Answer]) -> dict[str, float]:
    """Keyed score of each item; one that lacks prompts (as with `--limit`) has none, and that is
    logged.

    Args:
        answers: To items alone, or to one twin of each, and to what has no content.
    """
    empty = {answer["hypothesis"]: answer["nats"] for answer in answers if _is_empty(answer)}
    items: dict[str, list[Answer]] = defaultdict(list)
    lacking = set()
    for answer in answers:
        if not _is_empty(answer):
            items[answer["item"]].append(answer)
            if answer["hypothesis"] not in empty:
                lacking.add(answer["item"])
    lacking |= {
        item
        for item, prompts in items.items()
        if len(prompts) != _count_expected_prompts(item, prompts[0]["twin"])
    }
    if lacking:
        logging.getLogger(__name__).warning("%d of %d items lack prompts", len(lacking), len(items))
    return {
        item: _item_score(prompts, empty) for item, prompts in items.items() if item not in lacking
    }


def _count_expected_prompts(item: str, twin: int) -> int:
    """How many prompts an item has, or one of its twins."""
    n: int = SETTINGS["twins"][item][twin - 1] if twin else SETTINGS["items"][item]
    return n


def _item_score(prompts: Sequence[Answer], empty: dict[str, list[float]]) -> float:
    """Two-way normalisation over terms, then over intensifiers; weighted mean over the source
    terms.
    """
    shares = {
        (p["term"], p["intensifier"]): _log_entailment_share(p["nats"], empty[p["hypothesis"]])
        for p in prompts
    }
    terms = {p["term"]: p["polarity"] == "source" for p in prompts}
    weights = {p["intensifier"]: p["weight"] for p in prompts}
    by_intensifier: dict[str, list[float]] = {}
    for word in weights:
        by_intensifier[word] = _normalise_log_values([shares[term, word] for term in terms])
    weighted = []
    for row, is_source in enumerate(terms.values()):
        over_intensifiers = _normalise_log_values([by_intensifier[word][row] for word in weights])
        if is_source:
            weighted += [
                math.exp(log_pss) * weight
                for log_pss, weight in zip(over_intensifiers, weights.values(), strict=True)
            ]
    return float(prompts[0]["keying"] * fmean(weighted))


def _log_entailment_share(nats: Sequence[float], empty: Sequence[float]) -> float:
    """Logarithm of entailment's share, minus the answer without content; neutral left out by
    default.
    """
    logits = [answer_nats - empty_nats for answer_nats, empty_nats in zip(nats, empty, strict=True)]
    return _log_softmax(logits if SETTINGS["three_way"] else [logits[0], logits[2]])[0]


def _normalise_log_values(log_values: Sequence[float]) -> list[float]:
    return _log_softmax([value / SETTINGS["temperature"] for value in log_values])


def _log_softmax(values: Sequence[float]) -> list[float]:
    top = max(values)
    total = top + math.log(math.fsum(math.exp(value - top) for value in values))
    return [value - total for value in values]


def _is_empty(answer: Answer) -> bool:
    return bool(answer["premise"] == SETTINGS["content_free"])

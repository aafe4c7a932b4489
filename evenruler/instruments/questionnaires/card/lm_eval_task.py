"""The task of a questionnaire for lm-evaluation-harness: entailment by a verbaliser, two-way
normalised (EMPALC).
"""

import json
import logging
import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from evenruler.models.questions import CONTENT_FREE

if TYPE_CHECKING:
    import pyarrow as pa
    from datasets import Dataset

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


class QuestionnaireTask:
    """The functions that the task of one benchmark folder names; `folder`: with its `plan.json`."""

    def __init__(self, folder: Path) -> None:
        """Read temperature and `three_way` from the plan, and from `prompts` the subscales and how
        many prompts each item and twin has.
        """
        plan = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
        self.temperature: float = plan["temperature"]
        self.three_way: bool = plan["three_way"]
        self._file = folder / "prompts" / "test-00000-of-00001.parquet"
        prompts = self._read_prompts().to_pylist()
        self.n_prompts = Counter((prompt["item"], prompt["twin"]) for prompt in prompts)
        """Number of prompts of each item and each of its twins."""
        subscales = [prompt["subscale"] for prompt in prompts if prompt["subscale"]]
        self.subscales = list(dict.fromkeys(subscales))
        self.has_twins = any(prompt["twin"] for prompt in prompts)

    def load_docs(self, **_: object) -> "dict[str, Dataset]":
        """The prompts, and every hypothesis after a premise without content: what a model answers
        whatever it is told.

        The harness passes the task's metadata, which changes nothing. Nothing is cached: what is
        read is what lies there.
        """
        from datasets import Dataset, concatenate_datasets

        prompts = Dataset(self._read_prompts())
        first_rows: dict[str, int] = {}
        for row, hypothesis in enumerate(prompts["hypothesis"]):
            first_rows.setdefault(hypothesis, row)
        distinct = prompts.select(sorted(first_rows.values()))
        empty = distinct.map(lambda _: {"premise": CONTENT_FREE})
        return {"test": concatenate_datasets([prompts, empty])}

    def _read_prompts(self) -> "pa.Table":
        """The table `prompts` of the benchmark, from its only Parquet file."""
        from pyarrow.parquet import ParquetFile

        return ParquetFile(self._file).read()

    def entailment(self, doc: dict[str, Any], results: Sequence[Any]) -> dict[str, Answer]:
        """What a prompt brings to scale and subscale, one of a twin to the comparison, one without
        content to all.
        """
        nats = [
            float(result[0] if isinstance(result, tuple | list) else result) for result in results
        ]
        answer = {column: doc[column] for column in COLUMNS} | {"nats": nats}
        compared = ["beyond_twins"] if self.has_twins else []
        if answer["twin"] and not _is_content_free(answer):
            return dict.fromkeys(compared, answer)
        if _is_content_free(answer):
            subscales = self.subscales
        else:
            subscales = [doc["subscale"]] if doc["subscale"] else []
        of_subscales = [f"score_{subscale}" for subscale in subscales]
        return dict.fromkeys(("score", "answer", *compared, *of_subscales), answer)

    def score(self, answers: Sequence[Answer]) -> float:
        """Mean of the item scores, in units of the weights."""
        score_by_item = self.item_scores(answers)
        return fmean(score_by_item.values()) if score_by_item else math.nan

    def answer(self, answers: Sequence[Answer]) -> float:
        """The score times the number of intensifiers: the mean weight that the source terms get,
        on the scale itself.
        """
        return self.score(answers) * len({answer["intensifier"] for answer in answers})

    def beyond_twins(self, answers: Sequence[Answer]) -> float:
        """Mean over items of the answer minus the mean of its impersonal twins."""
        scores_per_twin: list[dict[str, float]] = []
        for twin in sorted({answer["twin"] for answer in answers} | {0}):
            of_twin = [
                answer for answer in answers if _is_content_free(answer) or answer["twin"] == twin
            ]
            scores_per_twin.append(self.item_scores(of_twin))
        score_by_item, *scores_of_twins = scores_per_twin
        differences: list[float] = []
        for item, item_score in score_by_item.items():
            controls = [twin_scores[item] for twin_scores in scores_of_twins if item in twin_scores]
            if controls:
                differences.append(item_score - fmean(controls))
        if not differences:
            return math.nan
        return fmean(differences) * len({answer["intensifier"] for answer in answers})

    def item_scores(self, answers: Sequence[Answer]) -> dict[str, float]:
        """Keyed score of each item; one that lacks prompts (as with `--limit`) has none, and that
        is logged.

        Args:
            answers: To items alone, or to one twin of each, and to what has no content.
        """
        empty = {
            answer["hypothesis"]: answer["nats"] for answer in answers if _is_content_free(answer)
        }
        items: dict[str, list[Answer]] = defaultdict(list)
        lacking = set()
        for answer in answers:
            if not _is_content_free(answer):
                items[answer["item"]].append(answer)
                if answer["hypothesis"] not in empty:
                    lacking.add(answer["item"])
        lacking |= {
            item
            for item, prompts in items.items()
            if len(prompts) != self.n_prompts[item, prompts[0]["twin"]]
        }
        if lacking:
            logging.getLogger(__name__).warning(
                "%d of %d items lack prompts", len(lacking), len(items)
            )
        return {
            item: self._item_score(prompts, empty)
            for item, prompts in items.items()
            if item not in lacking
        }

    def _item_score(self, prompts: Sequence[Answer], empty: dict[str, list[float]]) -> float:
        """Two-way normalisation over terms, then over intensifiers; weighted mean over the source
        terms.
        """
        shares = {
            (p["term"], p["intensifier"]): self._log_entailment_share(
                p["nats"], empty[p["hypothesis"]]
            )
            for p in prompts
        }
        terms = {p["term"]: p["polarity"] == "source" for p in prompts}
        weights = {p["intensifier"]: p["weight"] for p in prompts}
        by_intensifier: dict[str, list[float]] = {}
        for word in weights:
            by_intensifier[word] = self._normalise_log_values(
                [shares[term, word] for term in terms]
            )
        weighted = []
        for row, is_source in enumerate(terms.values()):
            over_intensifiers = self._normalise_log_values(
                [by_intensifier[word][row] for word in weights]
            )
            if is_source:
                weighted += [
                    math.exp(log_pss) * weight
                    for log_pss, weight in zip(over_intensifiers, weights.values(), strict=True)
                ]
        return float(prompts[0]["keying"] * fmean(weighted))

    def _log_entailment_share(self, nats: Sequence[float], empty: Sequence[float]) -> float:
        """Logarithm of entailment's share, minus the answer without content; neutral left out by
        default.
        """
        logits = [
            answer_nats - empty_nats for answer_nats, empty_nats in zip(nats, empty, strict=True)
        ]
        return _log_softmax(logits if self.three_way else [logits[0], logits[2]])[0]

    def _normalise_log_values(self, log_values: Sequence[float]) -> list[float]:
        """Logarithms (nats) of shares that sum to 1, from values divided by the temperature."""
        return _log_softmax([value / self.temperature for value in log_values])


def _log_softmax(values: Sequence[float]) -> list[float]:
    """Logarithms of the softmax of values in nats; stable where they are large."""
    top = max(values)
    exponentials = (math.exp(value - top) for value in values)
    total = top + math.log(math.fsum(exponentials))
    return [value - total for value in values]


def _is_content_free(answer: Answer) -> bool:
    """Whether an answer is to the premise without content, which serves as calibration."""
    return bool(answer["premise"] == CONTENT_FREE)

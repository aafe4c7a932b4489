"""The tasks of a probe benchmark for lm-evaluation-harness: equation 1 of PMPO over the likelihoods
of its sentences.
"""

import logging
import math
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import correlation, fmean, stdev
from typing import TYPE_CHECKING, Any

import pandas as pd

if TYPE_CHECKING:
    from datasets import Dataset

Answer = tuple[str, str, int, int, float]
"""Template, attribute, keying, pole (+1: the first group, -1: the second), log-likelihood of the
sentence in nats."""


class ProbeTask:
    """The functions that the tasks of one benchmark folder name; `folder`: with its tables."""

    def __init__(self, folder: Path) -> None:
        """Read the table of attributes; `criterion` holds those with a published number."""
        self.folder = folder
        attributes = self._read_table("attributes")
        published = attributes.dropna(subset=["criterion"])
        self.criterion: dict[str, float] = dict(
            zip(published["attribute"], published["criterion"], strict=True)
        )
        """A published number by attribute, where the benchmark has any."""

    def load_docs(self, **_: object) -> "dict[str, Dataset]":
        """The sentences that scores are made of, with each template set as a split.

        The harness passes the task's metadata, which changes nothing. Nothing is cached: what is
        read is what lies there.
        """
        from datasets import Dataset

        probes = self._read_table("probes")
        scored = probes[~probes["control"]]
        return {
            str(name): Dataset.from_pandas(sentences, preserve_index=False)
            for name, sentences in scored.groupby("set", sort=True)
        }

    def likelihood(self, doc: dict[str, Any], results: Sequence[Any]) -> dict[str, Answer]:
        """What one sentence brings to every metric."""
        response = results[0]
        nats = float(response[0] if isinstance(response, tuple | list) else response)
        answer = (doc["template"], doc["attribute"], doc["keying"], doc["pole"], nats)
        answer_by_metric = {"spread": answer, "offset": answer}
        if self.criterion:
            answer_by_metric["validity"] = answer
        return answer_by_metric

    def spread(self, answers: Sequence[Answer]) -> float:
        """Standard deviation over attributes of their mean bias over templates, nats: how far they
        are told apart.
        """
        means = list(_bias_by_attribute(answers).values())
        return stdev(means) if len(means) > 1 else math.nan

    def offset(self, answers: Sequence[Answer]) -> float:
        """Mean bias over templates and attributes, nats; positive: closer to the first group.
        Mostly about wordings.
        """
        bias_by_pair = pair_biases(answers)
        return fmean(bias_by_pair.values()) if bias_by_pair else math.nan

    def validity(self, answers: Sequence[Answer]) -> float:
        """Pearson correlation of the attributes' mean bias over templates with the criterion."""
        means: list[float] = []
        published: list[float] = []
        for attribute, mean in _bias_by_attribute(answers).items():
            if attribute in self.criterion:
                means.append(mean)
                published.append(self.criterion[attribute])
        if len(set(published)) < 2 or len(set(means)) < 2:
            return math.nan
        return correlation(means, published)

    def _read_table(self, config: str) -> pd.DataFrame:
        """The rows of one config of the benchmark, such as `probes`, from its Parquet file."""
        return pd.read_parquet(self.folder / config / "test-00000-of-00001.parquet")


def pair_biases(answers: Sequence[Answer]) -> dict[tuple[str, str], float]:
    """By template and attribute, nats: mean over the first group's sentences minus mean over the
    second's, keyed.

    Where a group has no sentence (as with `--limit`) there is no bias, and that is logged.
    """
    cells: dict[tuple[str, str, int], dict[int, list[float]]] = {}
    for template, attribute, keying, pole, nats in answers:
        groups = cells.setdefault((template, attribute, keying), {1: [], -1: []})
        groups[pole].append(nats)
    bias_by_pair: dict[tuple[str, str], float] = {}
    for (template, attribute, keying), groups in cells.items():
        first, second = groups[1], groups[-1]
        if first and second:
            bias_by_pair[template, attribute] = keying * (fmean(first) - fmean(second))
    if len(bias_by_pair) < len(cells):
        lost = len(cells) - len(bias_by_pair)
        logging.getLogger(__name__).warning(
            "%d of %d biases lack the sentences of a group", lost, len(cells)
        )
    return bias_by_pair


def _bias_by_attribute(answers: Sequence[Answer]) -> dict[str, float]:
    """Mean bias of each attribute over templates."""
    by_attribute = defaultdict(list)
    for (_, attribute), bias in pair_biases(answers).items():
        by_attribute[attribute].append(bias)
    return {attribute: fmean(values) for attribute, values in by_attribute.items()}

"""Metrics of a probe benchmark for lm-evaluation-harness: equation 1 of PMPO over the likelihoods
of its sentences.

Lies beside the tasks that use it and needs nothing but the standard library.
"""

import json
import logging
import math
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import correlation, fmean, stdev
from typing import Any

Answer = tuple[str, str, int, int, float]
"""Template, attribute, keying, pole (+1: the first group, -1: the second), log-likelihood of the
sentence in nats."""

_beside = Path(__file__).parent / "criterion.json"
CRITERION: dict[str, float] = (
    json.loads(_beside.read_text(encoding="utf-8")) if _beside.exists() else {}
)
"""A published number by attribute, where the benchmark has any."""


def likelihood(doc: dict[str, Any], results: Sequence[Any]) -> dict[str, Answer]:
    """What one sentence brings to every metric."""
    response = results[0]
    nats = float(response[0] if isinstance(response, tuple | list) else response)
    answer = (doc["template"], doc["attribute"], doc["keying"], doc["pole"], nats)
    answer_by_metric = {"spread": answer, "offset": answer}
    if CRITERION:
        answer_by_metric["validity"] = answer
    return answer_by_metric


def biases(answers: Sequence[Answer]) -> dict[tuple[str, str], float]:
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


def spread(answers: Sequence[Answer]) -> float:
    """Standard deviation over attributes of their mean bias over templates, nats: how far they are
    told apart.
    """
    means = list(_by_attribute(answers).values())
    return stdev(means) if len(means) > 1 else math.nan


def offset(answers: Sequence[Answer]) -> float:
    """Mean bias over templates and attributes, nats; positive: closer to the first group. Mostly
    about wordings.
    """
    pair_biases = biases(answers).values()
    return fmean(pair_biases) if pair_biases else math.nan


def validity(answers: Sequence[Answer]) -> float:
    """Pearson correlation of the attributes' mean bias over templates with the criterion."""
    means = {name: mean for name, mean in _by_attribute(answers).items() if name in CRITERION}
    criterion = [CRITERION[attribute] for attribute in means]
    if len(set(criterion)) < 2 or len(set(means.values())) < 2:
        return math.nan
    return correlation(list(means.values()), criterion)


def _by_attribute(answers: Sequence[Answer]) -> dict[str, float]:
    """Mean bias of each attribute over templates."""
    by_attribute = defaultdict(list)
    for (_, attribute), value in biases(answers).items():
        by_attribute[attribute].append(value)
    return {attribute: fmean(values) for attribute, values in by_attribute.items()}

"""LA: how acceptable the sentences of an item are, as English and apart from what they say (EMPALC, section 3.3.1).

Two measures, each under its own name and never mixed: `slor`, nats per token by a causal model
(`Model.slor`), and `acceptability`, the probability that a classifier fitted on CoLA gives to `acceptable`.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax

from evenruler.errors import UserError

SLOR = "slor"
ACCEPTABILITY = "acceptability"

ACCEPTABLE = "acceptable"
"""The label of a classifier whose probability is the figure."""

SIDES = ["premise", "hypothesis"]


def sentences(prompts: pd.DataFrame) -> list[str]:
    """The distinct premises and hypotheses of prompts, each a sentence of its own, sorted."""
    return sorted({text for side in SIDES for text in prompts[side]})


def probability_of_acceptable(logits: ArrayLike, labels: Sequence[str], name: str) -> NDArray[np.float64]:
    """What a classifier of acceptability says of each sentence.

    Args:
        logits: [n, 2].
        labels: What the two outputs mean, in order; capitals do not matter.
        name: Of the classifier, for the error.

    Returns:
        [n] probability of `acceptable`, from 0 to 1.

    Raises:
        UserError: There are not two labels, or not one of them is `acceptable`.
    """
    names = [label.strip().lower() for label in labels]
    if len(names) != 2 or names.count(ACCEPTABLE) != 1:
        raise UserError(
            f"{name} tells apart {', '.join(labels) or 'nothing'}, expected two labels of which one is {ACCEPTABLE!r}",
            where=f"params.yaml: models.{name}",
            remedy="name a classifier fitted on CoLA whose configuration (id2label) says which label that is",
        )
    values = np.asarray(logits, dtype=np.float64).reshape(-1, 2)
    found: NDArray[np.float64] = softmax(values, axis=-1)[:, names.index(ACCEPTABLE)]
    return found


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
        ValueError: There is no such measure.
        KeyError: A sentence has no figure.
    """
    if measure not in (SLOR, ACCEPTABILITY):
        raise ValueError(f"measure is {measure!r}, expected {SLOR!r} or {ACCEPTABILITY!r}")
    rows = []
    for (questionnaire, item), of_item in prompts.groupby(["questionnaire", "item"], sort=True):
        values = [by_text[text] for text in sentences(of_item)]
        rows.append(
            {
                "questionnaire": questionnaire,
                "item": item,
                "measure": measure,
                "value": float(np.mean(values)),
                "n": len(values),
            }
        )
    return pd.DataFrame(rows, columns=["questionnaire", "item", "measure", "value", "n"])

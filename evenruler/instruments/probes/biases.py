"""Propositional likelihood comparison (PMPO, section 3.1), and its table over templates, attributes and models."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

CELL = ["benchmark", "set", "model", "lineage", "configuration", "framing", "variant"]
"""What one measurement of one instrument is told apart by."""

BY = [*CELL, "template", "attribute", "keying"]
"""What one bias is told apart by."""


def bias(scores: ArrayLike, groups: Sequence[object]) -> NDArray[np.float64]:
    """How much likelier the sentences are with the first group's targets (PMPO, equation 1).

    Bias(t, a) = mean over w in G1 of S(t(a, w)) - mean over w in G2 of S(t(a, w)).

    Args:
        scores: [..., targets] log-likelihoods of whole sentences, nats.
        groups: [targets] the group of each target; G1 is the group that is named first.

    Returns:
        [...] nats; positive means closer to G1.

    Raises:
        ValueError: There are not exactly two groups, or not one for each target.
    """
    values = np.asarray(scores, dtype=np.float64)
    names = list(dict.fromkeys(groups))
    if len(names) != 2:
        raise ValueError(f"found {len(names)} groups, expected two")
    if values.shape[-1] != len(groups):
        raise ValueError(f"scores of {values.shape[-1]} targets, groups of {len(groups)}")
    first = np.array([group == names[0] for group in groups])
    difference: NDArray[np.float64] = values[..., first].mean(-1) - values[..., ~first].mean(-1)
    return difference


def likelihoods_of(scores: pd.DataFrame) -> pd.DataFrame:
    """The scores that are log-likelihoods of sentences."""
    return scores[scores["measure"] == "loglikelihood"]


def signed_biases(sentences: pd.DataFrame, likelihoods: pd.DataFrame) -> pd.DataFrame:
    """Equation 1, signed by keying, one row per template, attribute and model; none where a sentence is lacking.

    Args:
        sentences: By `schemas.PROBES`, with a column `benchmark`.
        likelihoods: Scores by `evenruler.tables.schemas.SCORES`; those of other sentences are left alone.

    Returns:
        By `schemas.BIASES`.
    """
    joined = sentences.merge(likelihoods[["id", "model", "lineage", "configuration", "value"]], on="id", validate="1:m")
    joined = joined.sort_values("pole", ascending=False, kind="stable")  # the positive pole is G1
    targets = sentences.groupby("benchmark")["target"].nunique().to_dict()
    signed = [
        {
            **dict(zip(BY, key, strict=True)),
            "bias": float(bias(cell["value"].to_numpy(), cell["pole"].tolist())) * cell["keying"].iloc[0],
        }
        for key, cell in joined.groupby(BY, sort=True)
        if cell["pole"].nunique() == 2 and len(cell) == targets[key[0]]
    ]
    return pd.DataFrame(signed, columns=[*BY, "bias"])

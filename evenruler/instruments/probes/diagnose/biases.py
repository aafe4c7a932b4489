"""Biases over templates, attributes and models."""

import pandas as pd

from evenruler.instruments.probes.declare import bias

CELL = ["benchmark", "set", "model", "lineage", "configuration", "framing", "variant"]
"""What one measurement of one instrument is told apart by."""

BY = [*CELL, "template", "attribute", "keying"]
"""What one bias is told apart by."""


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

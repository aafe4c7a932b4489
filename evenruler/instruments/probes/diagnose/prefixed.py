"""Brittleness of probes: how far their biases move when a prefix stands before the sentences."""

from dataclasses import asdict

import pandas as pd

from evenruler import measurement
from evenruler.instruments.probes.diagnose.biases import likelihoods_of, signed_biases
from evenruler.instruments.probes.diagnose.figuring import UNIT
from evenruler.measurement import Resampling
from evenruler.tables import asked_units

OF_SET = ["benchmark", "set", "model", "configuration"]
"""What framed biases share with bare ones."""


def framed_biases(framed: pd.DataFrame, scores: pd.DataFrame) -> pd.DataFrame:
    """Biases of the framed sentences that were asked.

    Args:
        framed: By `evenruler.instruments.probes.ask.after_prefixes`, with a column `benchmark`.
        scores: Of bare and framed sentences.

    Returns:
        By `schemas.BIASES`.

    Raises:
        ValueError: A model was asked for no framed sentence of a domain that has some, or for an attribute in part.
    """
    likelihoods = likelihoods_of(scores)
    for model, own in likelihoods.groupby("model"):
        for benchmark, rows in framed.groupby("benchmark"):
            asked_units(rows, "attribute", own["id"], str(model), f"framed sentences of {benchmark}")
    return signed_biases(framed, likelihoods)


def of_set(matrix: pd.DataFrame, framed: pd.DataFrame, resampling: Resampling) -> pd.DataFrame:
    """Brittleness of one set on one model: the score of an attribute is its mean bias over the set's templates.

    Args:
        matrix: attributes x templates, bias in nats without a framing.
        framed: Biases of the same set and model under framings, by `schemas.BIASES`; empty where
            the domain declares none.
        resampling: How intervals are computed.
    """
    if framed.empty:
        figures = measurement.no_brittleness("no attributes were asked after a framing", UNIT)
    else:
        by_template = framed.pivot(index="attribute", columns=["framing", "template"], values="bias")
        under = [
            by_template[framing].reindex(index=matrix.index, columns=matrix.columns).mean(axis=1, skipna=False)
            for framing in sorted(set(framed["framing"]))
        ]
        figures = measurement.brittleness_figures(matrix.mean(axis=1), under, resampling, UNIT)
    return pd.DataFrame([asdict(figure) for figure in figures])

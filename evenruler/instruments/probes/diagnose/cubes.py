"""Scores of one set on one model, as attributes x templates x targets."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenruler.instruments.probes.declare import bias

CELL = ["benchmark", "set", "model", "lineage", "configuration", "framing", "variant"]
"""What one measurement of one set is told apart by."""


Cell = tuple[str, ...]
"""Values of `CELL`."""


@dataclass(frozen=True, eq=False)
class Cube:
    """What a model said of every sentence of a set, signed by keying."""

    scores: NDArray[np.float64]
    """[attributes, templates, targets] log-likelihoods, nats; their sign is changed where keying is -1."""
    attributes: list[str]
    templates: list[str]
    targets: list[str]
    poles: NDArray[np.int8]
    """[targets] 1 for the group that a positive bias is closer to, -1 for the other."""
    tokens: NDArray[np.float64]
    """[targets] mean number of tokens of a sentence."""

    @property
    def balanced(self) -> bool:
        """Whether both groups have as many targets, two at least."""
        return bool(self.poles.sum() == 0 and len(self.poles) > 3)

    def biases(self) -> pd.DataFrame:
        """Equation 1 of PMPO: attributes x templates, nats."""
        return pd.DataFrame(bias(self.scores, self.poles.tolist()), index=self.attributes, columns=self.templates)


def likelihoods_of(scores: pd.DataFrame) -> pd.DataFrame:
    """The scores that are log-likelihoods of sentences."""
    return scores[scores["measure"] == "loglikelihood"]


def cubes(sentences: pd.DataFrame, likelihoods: pd.DataFrame) -> Iterator[tuple[Cell, Cube]]:
    """The scores of every set on every model.

    An attribute that lacks a sentence in one template is left out, and so is a template that lacks them all.

    Args:
        sentences: By `schemas.PROBES`, with a column `benchmark`; controls are no part of a set's scores.
        likelihoods: By `evenruler.tables.schemas.SCORES`.

    Yields:
        Values of `CELL`, and the cube.
    """
    joined = sentences.merge(likelihoods[["id", "model", "lineage", "configuration", "value", "n_tokens"]], on="id")
    joined = joined.assign(value=joined["value"] * joined["keying"])
    for cell, rows in joined.groupby(CELL, sort=True):
        yield tuple(map(str, cell)), _cube(rows)


def _cube(rows: pd.DataFrame) -> Cube:
    poles = rows.drop_duplicates("target").set_index("target")["pole"].sort_values(ascending=False, kind="stable")
    wide = rows.pivot(index="attribute", columns=["template", "target"], values="value")
    templates = sorted(set(rows["template"]))
    known = {name: wide[name].reindex(columns=poles.index) for name in templates}
    templates = [name for name in templates if known[name].notna().all(axis=1).any()]
    stacked = np.stack([known[name].to_numpy() for name in templates or known], axis=1)
    complete = ~np.isnan(stacked).any(axis=(1, 2)) & (len(set(poles)) == 2)
    tokens = rows.groupby("target")["n_tokens"].mean().reindex(poles.index)
    return Cube(
        stacked[complete],
        [str(name) for name in wide.index[complete]],
        templates,
        [str(name) for name in poles.index],
        poles.to_numpy(dtype=np.int8),
        tokens.to_numpy(dtype=np.float64),
    )

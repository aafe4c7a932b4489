"""Scores of one set on one model, as attributes x templates x targets, bare and after prefixes."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenruler.instruments.probes.declare.settings import bias
from evenruler.measurement.shifts import of_prefixes
from evenruler.tables.schemas import BARE

CELL = ["benchmark", "set", "model", "lineage", "configuration", "framing", "variant"]
"""Columns that identify one measurement of one set."""

Cell = tuple[str, ...]
"""Values of `CELL`."""


@dataclass(frozen=True, eq=False)
class Cube:
    """A model's scores of every sentence of a set, signed by keying."""

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
        """Whether both groups have equally many targets, at least two."""
        return bool(self.poles.sum() == 0 and len(self.poles) > 3)

    def biases(self) -> pd.DataFrame:
        """Equation 1 of PMPO: attributes x templates, nats."""
        return pd.DataFrame(bias(self.scores, self.poles.tolist()), index=self.attributes, columns=self.templates)


def cubes(sentences: pd.DataFrame, likelihoods: pd.DataFrame) -> Iterator[tuple[Cell, Cube]]:
    """The scores of each set on each model, by `CELL`; attributes with gaps and templates without scores left out."""
    joined = sentences.merge(likelihoods[["id", "model", "lineage", "configuration", "value", "n_tokens"]], on="id")
    joined = joined.assign(value=joined["value"] * joined["keying"])
    for cell, rows in joined.groupby(CELL, sort=True):
        poles = rows.drop_duplicates("target").set_index("target")["pole"].sort_values(ascending=False, kind="stable")
        wide = rows.pivot(index="attribute", columns=["template", "target"], values="value")
        known = {name: wide[name].reindex(columns=poles.index) for name in sorted(set(rows["template"]))}
        templates = [name for name, own in known.items() if own.notna().all(axis=1).any()]
        stacked = np.stack([known[name].to_numpy() for name in templates or known], axis=1)
        complete = ~np.isnan(stacked).any(axis=(1, 2)) & (len(set(poles)) == 2)
        tokens = rows.groupby("target")["n_tokens"].mean().reindex(poles.index).to_numpy(dtype=np.float64)
        attributes, targets = (list(map(str, names)) for names in (wide.index[complete], poles.index))
        cube = Cube(stacked[complete], attributes, templates, targets, poles.to_numpy(dtype=np.int8), tokens)
        yield tuple(map(str, cell)), cube


def cubes_after_prefixes(prefixed: pd.DataFrame, likelihoods: pd.DataFrame) -> dict[Cell, dict[str, Cube]]:
    """The scores of the sentences that were asked after prefixes, and of the same sentences without.

    By `CELL` of the set without prefix, then by prefix; `BARE` is the same sentences without one. `prefixed` has a
    column `benchmark`. ValueError where a model lacks scores of all the sentences, or of some of an attribute.
    """
    if prefixed.empty:
        return {}
    for model, own in likelihoods.groupby("model"):
        for benchmark, rows in prefixed.groupby("benchmark"):
            scored = rows["id"].isin(own["id"])
            asked = rows["attribute"].isin(rows.loc[scored, "attribute"])
            if lacking := int((asked & ~scored).sum()) if scored.any() else len(rows):
                raise ValueError(f"{model}: {lacking} sentences of {benchmark} after prefixes have no score")
    bare = prefixed.drop_duplicates("bare_id").assign(id=lambda rows: rows["bare_id"], framing=BARE)
    found: dict[Cell, dict[str, Cube]] = {}
    for cell, cube in cubes(pd.concat([prefixed, bare]), likelihoods):
        place = CELL.index("framing")
        found.setdefault((*cell[:place], BARE, *cell[place + 1 :]), {})[cell[place]] = cube
    return found


def shifts(of_set: dict[str, Cube], placebos: set[str]) -> pd.DataFrame:
    """How every prefix shifts the biases of one set on one model: `schemas.SHIFTS` without its key columns."""
    biases = {prefix: cube.biases().mean(axis=1) for prefix, cube in of_set.items()}
    return of_prefixes(biases.pop(BARE), biases, placebos) if BARE in biases else pd.DataFrame()

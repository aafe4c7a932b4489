"""How far what stands before sentences moves biases: cues and an instruction, beside placebos of like length."""

import pandas as pd

from evenruler.instruments.probes.diagnose.cubes import CELL, Cell, Cube, cubes, likelihoods_of
from evenruler.measurement.shifts import of_prefixes
from evenruler.tables import asked_units
from evenruler.tables.schemas import BARE


def after_prefixes(prefixed: pd.DataFrame, scores: pd.DataFrame) -> dict[Cell, dict[str, Cube]]:
    """The scores of the sentences that were asked after prefixes, and of the same sentences without.

    Args:
        prefixed: By `evenruler.instruments.probes.ask.after_prefixes`, with a column `benchmark`.
        scores: Of bare and prefixed sentences.

    Returns:
        By `CELL` of the set without prefix, then by prefix; `BARE` is the same sentences without one.

    Raises:
        ValueError: A model was asked for none of the sentences, or for an attribute in part.
    """
    if prefixed.empty:
        return {}
    likelihoods = likelihoods_of(scores)
    for model, own in likelihoods.groupby("model"):
        for benchmark, rows in prefixed.groupby("benchmark"):
            asked_units(rows, "attribute", own["id"], str(model), f"sentences of {benchmark} after prefixes")
    bare = prefixed.drop_duplicates("bare_id").assign(id=lambda rows: rows["bare_id"], framing=BARE)
    found: dict[Cell, dict[str, Cube]] = {}
    for cell, cube in cubes(pd.concat([prefixed, bare]), likelihoods):
        place = CELL.index("framing")
        found.setdefault((*cell[:place], BARE, *cell[place + 1 :]), {})[cell[place]] = cube
    return found


def shifts(of_set: dict[str, Cube], placebos: set[str]) -> pd.DataFrame:
    """What every prefix does to the biases of one set on one model.

    Args:
        of_set: By prefix.
        placebos: Which of the prefixes are.

    Returns:
        By `schemas.SHIFTS`, less what they are of; empty where nothing was asked, or of too few attributes.
    """
    biases = {prefix: cube.biases().mean(axis=1) for prefix, cube in of_set.items()}
    return of_prefixes(biases.pop(BARE), biases, placebos) if BARE in biases else pd.DataFrame()

"""How far what stands before sentences moves biases: cues and an instruction, beside placebos of like length."""

import numpy as np
import pandas as pd

from evenruler.instruments.probes.diagnose.cubes import CELL, Cell, Cube, cubes, likelihoods_of
from evenruler.instruments.probes.diagnose.figuring import UNIT
from evenruler.measurement import Figure
from evenruler.measurement.shifts import FEWEST_PLACEBOS, FEWEST_UNITS, of_placebos, shift
from evenruler.tables import asked_units
from evenruler.tables.schemas import BARE

LEVEL, REORDERING = "level_shift", "reordering"
"""Root mean square over cues: of the mean change of the biases, and of the SD of the changes about it, both in standard
deviations of the biases. The control is the same of the placebos."""


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
    if BARE not in of_set or len(of_set[BARE].attributes) < FEWEST_UNITS:
        return pd.DataFrame()
    bare = of_set[BARE].biases().mean(axis=1)
    rows = []
    for prefix in sorted(set(of_set) - {BARE}):
        found = shift(bare, of_set[prefix].biases().mean(axis=1).reindex(bare.index))
        rows.append(
            {
                "prefix": prefix,
                "placebo": prefix in placebos,
                "level": found.level,
                "level_in_sd": found.level_in_sd,
                "reordering": found.reordering,
                "reordering_in_sd": found.reordering / float(bare.std()) if bare.std() > 0 else np.nan,
                "rank_agreement": found.rank_agreement,
                "n": found.n,
            }
        )
    return pd.DataFrame(rows)


def figures(rows: pd.DataFrame, level: float) -> list[Figure]:
    """How far cues move a set on a model, in standard deviations of its biases, beside what placebos do.

    Args:
        rows: By `shifts`.
        level: Of the interval of the placebos, `placebo_...`, in which prefixes are the units.
    """
    found = []
    for figure, column in ((LEVEL, "level_in_sd"), (REORDERING, "reordering_in_sd")):
        values = rows[column] if len(rows) else pd.Series(dtype=float)
        cues, placebos = (values[rows["placebo"] == which] if len(rows) else values for which in (False, True))
        n = int(rows["n"].iloc[0]) if len(rows) else 0
        if not len(cues) or cues.isna().any():
            why = "nothing was asked after prefixes" if not len(cues) else "all biases are equal without a prefix"
            found.append(Figure(figure, None, n, UNIT, reason=why))
            continue
        control = None
        if len(placebos) >= FEWEST_PLACEBOS:
            interval = of_placebos(placebos, level)
            control = interval.value
            found.append(Figure(f"placebo_{figure}", control, len(placebos), "placebos", interval.low, interval.high))
        found.append(Figure(figure, float(np.sqrt((cues**2).mean())), n, UNIT, control=control))
    return found

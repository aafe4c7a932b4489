"""Figures of classes: how much more or less of each there is with the cues, beside placebos (section 5.3)."""

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenruler.instruments.framing.diagnose.effects import UNIT, with_control
from evenruler.measurement import Figure
from evenruler.measurement.figures import jackknifed
from evenruler.measurement.resampling import PLAIN
from evenruler.measurement.shifts import Units, cue_minus_placebos

Floats = NDArray[np.float64]

_PAIR = ["factor", "task", "at"]

SHIFT = "shift: "
"""Before the name of a class, or of two with a minus between."""


def figures(shifts: pd.DataFrame, outcomes: Sequence[str], level: float) -> Iterator[Figure]:
    """The mean shift of every class, and the difference of every two, of one model in one part.

    Means are over factors, tasks and pairs of cells, then over stimuli. A placebo is compared with the cue in the pairs
    that it has, on the stimuli that it was asked about.

    Args:
        shifts: By `schemas.SHIFTS`, of the pairs whose cells count.
        outcomes: The classes, in their order; a difference is of a later one less an earlier one.
        level: Of intervals.
    """
    if not (shifts["placebo"] == 0).any():  # a cell with the cue may be excluded, and placebos stay
        return
    by_class = {
        outcome: own.pivot(index=[*_PAIR, "stimulus"], columns="placebo", values="shift")
        for outcome, own in shifts.groupby("outcome")
    }
    for outcome in outcomes:
        yield _figure(f"{SHIFT}{outcome}", by_class[outcome], level)
    for first, second in combinations(outcomes, 2):
        yield _figure(f"{SHIFT}{second} - {first}", by_class[second] - by_class[first], level)


def _figure(name: str, by_placebo: pd.DataFrame, level: float) -> Figure:
    """Of [pairs and stimuli, placebos], the cue at 0."""
    cue = by_placebo[0].dropna()
    means = cue.groupby(level="stimulus").mean().to_numpy(dtype=np.float64)
    found = jackknifed(name, lambda rows: float(rows.mean()), means, PLAIN, level, UNIT)
    stimuli = pd.Index(cue.index.get_level_values("stimulus").unique())
    less, units = [], []
    for placebo in by_placebo.columns[1:]:
        beyond = (cue - by_placebo[placebo]).dropna().groupby(level="stimulus").mean().reindex(stimuli)
        values = beyond.to_numpy(dtype=np.float64)
        if (known := np.flatnonzero(~np.isnan(values))).size:
            less.append(_mean_of(values))
            units.append(known)
    return with_control(found, cue_minus_placebos(less, units, level)) if less else found


def _mean_of(values: Floats) -> Callable[[Units], float]:
    return lambda units: float(values[units].mean()) if len(units) else math.nan

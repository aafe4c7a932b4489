"""What APD comes to where two cells differ in nothing but which replies were drawn."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import hypergeom

from evenruler.instruments.framing.diagnose import choices
from evenruler.instruments.framing.diagnose.sensitivity import BY_STIMULUS, pairs

Floats = NDArray[np.float64]


def with_chance(effects: pd.DataFrame, distributions: pd.DataFrame, factors: Sequence[str]) -> pd.DataFrame:
    """Effects with the column `chance`: of choices, the mean APD over all ways to deal the replies to the two cells.

    Args:
        effects: By `schemas.EFFECTS`, less this column.
        distributions: By `schemas.DISTRIBUTIONS`, those that effects are of.
        factors: Of the contrast, in order.

    Returns:
        `effects` with the column, null for the metric `token`, where nothing is drawn.
    """
    sampled = distributions[distributions["metric"] == choices.METRIC]
    counted = sampled.assign(count=(sampled["mass"] * sampled["n"]).round().where(sampled["coverage"] > 0))
    found = [
        of.assign(chance=apd_by_chance(less.to_numpy(), more.to_numpy()))
        for of, less, more in pairs(counted, factors, "count")
    ]
    if not found:
        return effects.assign(chance=np.nan)
    means = pd.concat(found).groupby(BY_STIMULUS, sort=True)["chance"].mean().reset_index()
    return effects.merge(means, on=BY_STIMULUS, how="left", validate="1:1")


def apd_by_chance(first: Floats, second: Floats) -> Floats:
    """Mean APD over all ways to deal the replies of two cells to them anew, exact.

    Args:
        first: [n, classes] counts of replies.
        second: The same of the other cell.

    Returns:
        [n]; 0 for none to differ, above it for few replies though the cells be alike.
    """
    return np.array([_by_chance(*rows) for rows in zip(first, second, strict=True)])


def _by_chance(first: Floats, second: Floats) -> float:
    n, m = int(first.sum()), int(second.sum())
    total = 0.0
    for both in (first + second).astype(int):
        drawn = np.arange(max(0, both - m), min(both, n) + 1)
        weights = hypergeom.pmf(drawn, n + m, both, n)
        total += float((weights * np.abs(drawn / n - (both - drawn) / m)).sum())
    return total / 2

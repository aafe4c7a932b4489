"""Two models on other scales than that of a headline: in nats, and in nats by the SD of items
within units (d/SD).

A model that is surer of everything has larger differences in nats; d/SD takes that off. Both are
printed below a comparison, and are never part of its verdict. Source: spec/fixed-models.md, section
3.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd

from evenruler.measurement.facets import Estimate
from evenruler.measurement.inputs import Floats
from evenruler.measurement.resampling import FEWEST_UNITS, Interval

SCALES_FILE = "scales.parquet"

DISAGREE = "The scales disagree: by d/SD the other model has more."
"""Where a headline and d/SD both leave out 0, on different sides."""


class ScaleDifferences(NamedTuple):
    """What one model has more than another, paired over units, with 95% intervals."""

    nats: Interval
    d_sd: Interval


def compare_scales(first: pd.DataFrame, second: pd.DataFrame) -> ScaleDifferences | None:
    """First model minus second, over the units of both: means in nats, and means divided by a
    model's SD of items within units (d/SD); by the paired jackknife.

    `first`, `second`: by `tables.schemas.SCALES`, of one headline. None where they share fewer than
    five units, or where items of units do not vary: nats are never shown without d/SD.
    """
    both = first.merge(second, on="unit", suffixes=("_first", "_second"), validate="one_to_one")
    if len(both) < FEWEST_UNITS:
        return None
    weights = both["weight_first"].to_numpy(dtype=np.float64)
    sides = [_jackknife_scales(both, side, weights) for side in ("first", "second")]
    differences = sides[0] - sides[1]
    if not np.isfinite(differences).all():
        return None
    squares = float((weights**2).sum())
    effective = float(weights.sum()) ** 2 / squares
    df, g = max(1.0, effective - 1), len(both)
    intervals: list[Interval] = []
    for column in differences.T:
        deviations = column[1:] - column[1:].mean()
        variance = (g - 1) / g * float(deviations @ deviations)
        intervals.append(Estimate(float(column[0]), variance, df).interval())
    return ScaleDifferences(*intervals)


def _jackknife_scales(both: pd.DataFrame, side: str, weights: Floats) -> Floats:
    """[1 + g, 2] the mean in nats and in d/SD of one model: of all units, then leaving out each.

    The SD is pooled over units, by degrees of freedom.
    """
    values = both[f"value_{side}"].to_numpy(dtype=np.float64)
    df = both[f"n_{side}"].to_numpy(dtype=np.float64) - 1
    sd = both[f"sd_{side}"].fillna(0.0)
    variances = sd.to_numpy(dtype=np.float64) ** 2
    means = _without_each(weights * values) / _without_each(weights)
    with np.errstate(invalid="ignore", divide="ignore"):
        pooled = np.sqrt(_without_each(df * variances) / _without_each(df))
        scaled = means / pooled
    return np.column_stack([means, scaled])


def _without_each(sums: Floats) -> Floats:
    """The sum over all units, then leaving out each."""
    without: Floats = np.concatenate([[sums.sum()], sums.sum() - sums])
    return without


def scales_disagree(low: float | None, high: float | None, d_sd: Interval) -> bool:
    """Whether a headline's difference and that in d/SD leave out 0, with opposite signs."""
    if low is None or high is None:
        return False
    if low > 0:
        return d_sd.high < 0
    return high < 0 < d_sd.low

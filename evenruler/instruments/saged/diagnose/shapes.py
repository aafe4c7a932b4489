"""Whether a disparity is concentrated on one group or dispersed over many (SAGED, section 4.2): a shape, no verdict."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from evenruler.instruments.saged.diagnose.blocks import Floats, count, means, ratio
from evenruler.instruments.saged.diagnose.cells import Cells
from evenruler.instruments.saged.diagnose.disparities import std
from evenruler.instruments.saged.diagnose.dixon import CRITICAL, FEWEST, MOST, dixon_ratios

ALPHA = 0.05
"""Of Grubbs' test, and of the test that groups differ at all."""

CONCENTRATED, DISPERSED, MIXED = "concentrated", "dispersed", "mixed"


def grubbs(n: NDArray[np.intp]) -> Floats:
    """Critical value of Grubbs' test for one outlier of n numbers, two-sided: of the largest |z| (ddof 1).

    Args:
        n: How many numbers, 3 at least; NaN below.

    Source: Grubbs (1969), Procedures for detecting outlying observations in samples.
    """
    n = np.asarray(n, dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        t = stats.t.isf(ALPHA / (2 * n), n - 2)
        found: Floats = np.where(n >= FEWEST, (n - 1) / np.sqrt(n) * np.sqrt(t**2 / (n - 2 + t**2)), np.nan)
    return found


def shapes(cells: Cells, p: Floats) -> pd.DataFrame:
    """The shape of every cell of one statistic.

    `concentrated` where the group that lies farthest out is an outlier by Grubbs' test; `dispersed` where neither
    Grubbs' nor Dixon's test finds one at any end; `mixed` where Dixon's alone does. Where groups do not differ beyond
    chance, what they show has no shape.

    Args:
        cells: Of one statistic.
        p: [series] of the test that groups differ at all (permutation test of the range).

    Returns:
        By `schemas.SHAPES`; null with the reason where p is not below `ALPHA`, below three groups, beyond the thirty
        that Dixon's test has critical values for, and where all groups are equal. The group that lies farthest out is
        named in any case.

    Source: section 4.2 names the measures; the bounds are a decision of ours.
    """
    values = cells.values
    n = count(values).astype(np.intp)
    z = ratio(values - means(values)[:, None], std(values)[:, None])
    defined = np.asarray(~np.isnan(z).all(axis=1))
    place = np.argmax(np.nan_to_num(np.abs(z), nan=-1.0), axis=1)
    farthest = np.take_along_axis(z, place[:, None], axis=1)[:, 0]
    critical = np.array([CRITICAL.get(int(groups), np.nan) for groups in n])
    high, low = dixon_ratios(values, "high") > critical, dixon_ratios(values, "low") > critical
    outlier = np.abs(farthest) > grubbs(n)
    shape = np.select([outlier, ~high & ~low], [CONCENTRATED, DISPERSED], MIXED).astype(object)
    group, end = np.array(cells.groups.names, dtype=object)[place], np.where(farthest > 0, "high", "low").astype(object)
    reasons = [_reason(*told) for told in zip(n.tolist(), defined.tolist(), p.tolist(), strict=True)]
    shape[[reason is not None for reason in reasons]] = None
    few = ~defined | (n < FEWEST)
    group[few], end[few], farthest[few] = None, None, np.nan
    rows = {"shape": shape, "group": group, "end": end, "z": farthest, "n_groups": n, "reason": reasons}
    return pd.concat([cells.names(), pd.DataFrame(rows)], axis=1)


def _reason(groups: int, defined: bool, p: float) -> str | None:
    if groups < FEWEST:
        return f"{groups or 'no'} group{'' if groups == 1 else 's'} with a value, needs {FEWEST}"
    if groups > MOST:
        return f"{groups} groups: critical values of Dixon's ratio go to {MOST}"
    if not defined:
        return "all groups are equal"
    if not p < ALPHA:
        return "no p" if np.isnan(p) else f"not apart beyond chance (p = {p:.2g})"
    return None

"""Whether a disparity is concentrated on one group or dispersed over many (SAGED, section 4.2)."""

import numpy as np
import pandas as pd

from evenruler.instruments.saged.diagnose.blocks import count, means, ratio
from evenruler.instruments.saged.diagnose.cells import Cells
from evenruler.instruments.saged.diagnose.disparities import std
from evenruler.instruments.saged.diagnose.dixon import CRITICAL, FEWEST, MOST, dixon_ratios

FAR = 2.0
"""A group whose z is beyond it lies far out."""

CONCENTRATED, DISPERSED, MIXED = "concentrated", "dispersed", "mixed"


def verdicts(cells: Cells) -> pd.DataFrame:
    """A verdict on every cell of one statistic.

    `concentrated` where the group that lies farthest out has |z| over `FAR`, and Dixon's test says that it is an
    outlier; `dispersed` where neither is so at any end; `mixed` between. Below six groups no |z| can be over 2
    (Shiffler 1988), so that none is concentrated.

    Returns:
        By `schemas.VERDICTS`; null with the reason below three groups, beyond the thirty that Dixon's
        test has critical values for, and where all groups are equal.

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
    far, outlier = np.abs(farthest) > FAR, np.where(farthest > 0, high, low)
    verdict = np.select([far & outlier, ~far & ~high & ~low], [CONCENTRATED, DISPERSED], MIXED).astype(object)
    group, end = np.array(cells.groups.names, dtype=object)[place], np.where(farthest > 0, "high", "low").astype(object)
    reasons = [_reason(int(groups), known) for groups, known in zip(n, defined.tolist(), strict=True)]
    verdict[[reason is not None for reason in reasons]] = None
    few = ~defined | (n < FEWEST)
    group[few], end[few], farthest[few] = None, None, np.nan
    rows = {"verdict": verdict, "group": group, "end": end, "z": farthest, "n_groups": n, "reason": reasons}
    return pd.concat([cells.names(), pd.DataFrame(rows)], axis=1)


def _reason(groups: int, defined: bool) -> str | None:
    if groups < FEWEST:
        return f"{groups or 'no'} group{'' if groups == 1 else 's'} with a value, needs {FEWEST}"
    if groups > MOST:
        return f"{groups} groups: critical values of Dixon's ratio go to {MOST}"
    return None if defined else "all groups are equal"

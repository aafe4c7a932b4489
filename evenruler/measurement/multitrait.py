"""Whether items of one scale change together, and apart from those of other scales, where the same is measured anew.

The question of Campbell and Fiske (1959): measures of one trait should have more in common with each other than with
measures of others. Occasions (fits of one model) stand where they have persons; few are enough, since all items are
taken together. The test is the analysis of variance of Kavanagh, MacKinney and Wolins (1971), in which the interaction
of person and trait shows that traits are told apart.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from evenruler.measurement.checks import Floats, as_items, constant_columns

FEWEST_OCCASIONS = 3
"""Below which changes of two items are alike or opposite, and nothing else."""


@dataclass(frozen=True)
class Shared:
    """What the changes of items have in common."""

    own: float
    """Correlation of the changes of two items of the scale, pooled over pairs; 0 where items change by themselves."""
    other: float
    """The same of an item of the scale and one of another scale."""
    p: float
    """One-sided: that the scale would move as far from the others if no scale moved by itself."""


def shared_changes(own: ArrayLike, others: Sequence[ArrayLike]) -> Shared:
    """Compare the items of a scale with those of other scales over occasions.

    Args:
        own: [occasions, items] of the scale.
        others: The same of each other scale, on the same occasions.

    Returns:
        NaN where items do not change.

    Raises:
        ValueError: Fewer than three occasions or two items of the scale, no other scale, or other occasions.
    """
    scales = [as_items(own), *(np.asarray(other, dtype=np.float64) for other in others)]
    occasions = len(scales[0])
    if occasions < FEWEST_OCCASIONS or len(scales) < 2 or any(len(scale) != occasions for scale in scales):
        raise ValueError(f"expected at least {FEWEST_OCCASIONS} occasions, the same of at least two scales")
    # A mean of equal numbers may be off them by rounding, which is no change.
    changes = [np.where(constant_columns(scale), 0.0, scale - scale.mean(axis=0)) for scale in scales]
    here, there = changes[0], np.hstack(changes[1:])
    return Shared(*_correlations(here, there), _p(here, there, changes))


def _correlations(here: Floats, there: Floats) -> tuple[float, float]:
    n, variances = here.shape[1], [float((of**2).sum(axis=0).mean()) for of in (here, there)]
    if min(variances) <= 0:
        return math.nan, math.nan
    within = (float((here.sum(axis=1) ** 2).sum()) / n - variances[0]) / (n - 1)
    across = float(here.mean(axis=1) @ there.mean(axis=1))
    return within / variances[0], across / math.sqrt(variances[0] * variances[1])


def _p(here: Floats, there: Floats, scales: Sequence[Floats]) -> float:
    """Of F: the distance of the scale's mean from the others' beside what single items do within their scales."""
    rest = sum(float(((scale - scale.mean(axis=1, keepdims=True)) ** 2).sum()) for scale in scales)
    n, m, steps = here.shape[1], there.shape[1], len(here) - 1
    freedom = (n + m - len(scales)) * steps
    if rest <= 0:
        return math.nan
    apart = n * m / (n + m) * float(((here.mean(axis=1) - there.mean(axis=1)) ** 2).sum())
    return float(stats.f.sf(apart / steps / (rest / freedom), steps, freedom))

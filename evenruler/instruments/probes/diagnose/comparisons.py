"""Two sets of templates side by side: the same figures of both, and how far apart they are."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenruler import measurement
from evenruler.instruments.probes.diagnose import quality
from evenruler.measurement import Resampling
from evenruler.measurement.checks import correlation_matrix
from evenruler.measurement.figures import FEWEST_PAIRS, finite
from evenruler.measurement.resampling import FEWEST_UNITS, jackknife

Matrix = NDArray[np.float64]
AT_COMMON_LENGTH = f"alpha_at_{quality.COMMON_LENGTH}"

STATISTICS: Mapping[str, Callable[[Matrix], float]] = {
    "alpha": measurement.cronbach_alpha,
    AT_COMMON_LENGTH: quality.alpha_at_common_length,
    "inter_item_correlation": measurement.mean_inter_item_correlation,
    "omega": measurement.omega_total,
    "first_component_share": measurement.first_component_share,
}
"""What is told of attributes x templates."""

OF_LENGTH = ("alpha", "omega", "first_component_share")
"""Those that change with the number of templates alone: no difference is taken between sets of different length."""

WITHOUT_INTERVAL = ("omega",)
"""Its fit has no proper solution without some attributes."""


@dataclass(frozen=True)
class Comparison:
    """A row of `schemas.COMPARISONS`, less what it is of."""

    figure: str
    value: float | None
    other: float | None
    n: int
    unit: str
    difference: float | None = None
    """Value minus other."""
    low: float | None = None
    high: float | None = None
    reason: str | None = None
    """Why anything is null that a figure of this name could have."""


@dataclass(frozen=True, eq=False)
class Pair:
    """Two sets on one model: attributes x templates, bias in nats."""

    set: str
    against: str
    one: pd.DataFrame
    other: pd.DataFrame


def compared(pair: Pair, criterion: "pd.Series[float] | None", resampling: Resampling) -> Iterator[Comparison]:
    """All that rests on biases, over the attributes that both sets share.

    Args:
        pair: The sets.
        criterion: By attribute, null where there is no number; without any there is no `r`.
        resampling: Of the intervals of differences (jackknife); each leaves the same attribute out of both sets.
    """
    shared = pair.one.index.intersection(pair.other.index).sort_values()
    both = [matrix.loc[shared] for matrix in (pair.one, pair.other)]
    x, y = (matrix.to_numpy() for matrix in both)
    why = [quality.why_no_reliability(matrix) for matrix in (x, y)]
    apart = f"{x.shape[1]} templates against {y.shape[1]}" if x.shape[1] != y.shape[1] else None
    for figure, statistic in STATISTICS.items():
        row = _of_both(pair, figure, statistic, (x, y), why)
        if row.reason is None and figure in OF_LENGTH and apart:
            yield replace(row, difference=None, reason=apart)
        elif figure in WITHOUT_INTERVAL:
            yield row
        else:
            yield _with_interval(row, statistic, (x, y), resampling)
    if criterion is not None and criterion.notna().any():
        known = criterion.reindex(shared).dropna()
        x, y = (np.column_stack([matrix.loc[known.index].mean(axis=1), known]) for matrix in both)
        few = f"fewer than {FEWEST_PAIRS} {quality.UNIT} to correlate" if len(known) < FEWEST_PAIRS else None
        row = _of_both(pair, "r", correlation, (x, y), [few, few])
        yield _with_interval(row, correlation, (x, y), resampling)


def _of_both(
    pair: Pair,
    figure: str,
    statistic: Callable[[Matrix], float],
    matrices: tuple[Matrix, Matrix],
    why: Sequence[str | None],
) -> Comparison:
    """A figure of each set, and the difference if both have it; `why` says, for each, why it has none."""
    values = [None if reason else finite(float(statistic(x))) for x, reason in zip(matrices, why, strict=True)]
    undefined = quality.NO_FACTOR if figure == "omega" else "undefined for these values"
    reasons = [
        f"{name}: {reason or undefined}"
        for name, value, reason in zip((pair.set, pair.against), values, why, strict=True)
        if value is None
    ]
    return _row(figure, values[0], values[1], len(matrices[0]), quality.UNIT, "; ".join(reasons) or None)


def _row(figure: str, value: float | None, other: float | None, n: int, unit: str, reason: str | None) -> Comparison:
    difference = None if value is None or other is None else value - other
    return Comparison(figure, value, other, n, unit, difference, reason=reason)


def _with_interval(
    row: Comparison,
    statistic: Callable[[Matrix], float],
    matrices: tuple[Matrix, Matrix],
    resampling: Resampling,
) -> Comparison:
    """The row with the interval of its difference, if it has one."""
    if row.difference is None:
        return row
    if row.n < FEWEST_UNITS:
        return replace(row, reason=f"no interval: fewer than {FEWEST_UNITS} {row.unit}")
    interval = jackknife(lambda x, y: statistic(x) - statistic(y), *matrices, level=resampling.level)
    low, high = finite(interval.low), finite(interval.high)
    return replace(row, low=low, high=high, reason=None if low is not None else "no interval: undefined without one")


def correlation(pairs: Matrix) -> float:
    """Pearson's r of the two columns; NaN where one is constant."""
    return float(correlation_matrix(pairs)[0, 1])


def diversities_compared(templates: pd.DataFrame, other: pd.DataFrame) -> Iterator[Comparison]:
    """Diversity of both sets, given that of their templates; n counts the templates of the first."""
    both = zip(quality.mean_diversities(templates), quality.mean_diversities(other), strict=True)
    for one, against in both:
        yield _row(one.figure, one.value, against.value, one.n, one.unit, one.reason or against.reason)

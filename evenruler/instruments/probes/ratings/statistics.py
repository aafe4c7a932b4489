"""What ratings say of sets of templates, and how far raters agree (PMPO, section 4.2 and table 3)."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenruler.instruments.probes.ratings.agreement import fleiss_kappa, krippendorff_alpha
from evenruler.instruments.probes.ratings.sheet import CRITERIA
from evenruler.measurement import Interval, Resampling, bootstrap
from evenruler.measurement.checks import Floats
from evenruler.measurement.figures import finite

ALL = "all"
"""In place of a criterion: all four together, a probe's criteria each a unit of agreement."""


@dataclass(frozen=True)
class Statistic:
    """One statistic; `value` is None where it could not be computed, and then there is a reason."""

    criterion: str
    statistic: str
    value: float | None
    n: int
    set: str | None = None
    other: str | None = None
    """The second set of a pair."""
    low: float | None = None
    high: float | None = None
    reason: str | None = None


COLUMNS = ("criterion", "statistic", "set", "other", "value", "low", "high", "n", "reason")
"""Columns of the table of statistics."""


def statistics(ratings: pd.DataFrame, key: pd.DataFrame, resampling: Resampling) -> pd.DataFrame:
    """All statistics of the ratings, criteria apart; p values are not corrected for there being four.

    The unit is the probe, rated with the mean over those who rated it. A probe that stands in two sets counts in both,
    so that then the sets are not wholly independent.

    Args:
        ratings: Rater, id, criterion and rating, one row for each of the three, null where it is missing.
        key: Id and set.
        resampling: Level of all intervals; draws for those of agreement, which are over probes.

    Returns:
        Columns `COLUMNS`, one row a statistic. By set: `mean` (t interval) and `sd` of n probes. Over the sets with two
        rated probes or more: `anova_f`, `anova_df_between`, `anova_df_within` and `anova_p` of n probes, and for each
        pair of sets `tukey_difference` (set minus other; Tukey-Kramer interval) and `tukey_p`. Of all raters:
        `missing` of n ratings, `fleiss_kappa` of the n probes that every rater rated, `krippendorff_alpha` (ordinal) of
        the n that two or more rated, and how many of n `fleiss_left_out` and `krippendorff_left_out`; for criterion
        `all` a unit is a probe and criterion.
    """
    membership = key[["id", "set"]].drop_duplicates()
    means = ratings.groupby(["criterion", "id"], as_index=False)["rating"].mean().dropna()
    placed = means.merge(membership, on="id")
    sets = sorted(membership["set"].unique())
    found: list[Statistic] = []
    for criterion in CRITERIA:
        of_criterion = placed[placed["criterion"] == criterion]
        by_set = {
            name: of_criterion.loc[of_criterion["set"] == name, "rating"].to_numpy(dtype=np.float64) for name in sets
        }
        for name, values in by_set.items():
            found.extend(_spread(criterion, name, values, resampling.level))
        found.extend(_comparison(criterion, by_set, resampling.level))
    for criterion in (*CRITERIA, ALL):
        chosen = ratings if criterion == ALL else ratings[ratings["criterion"] == criterion]
        found.extend(_agreement(criterion, chosen, resampling))
    return pd.DataFrame([asdict(statistic) for statistic in found])[list(COLUMNS)]


def _spread(criterion: str, name: str, values: Floats, level: float) -> Iterator[Statistic]:
    """Mean and standard deviation of the probes of a set."""
    from scipy import stats

    n = len(values)
    if n == 0:
        yield from (Statistic(criterion, what, None, 0, name, reason="no rated probe") for what in ("mean", "sd"))
        return
    mean = float(values.mean())
    if n == 1:
        yield Statistic(criterion, "mean", mean, n, name, reason="a single value has no interval")
        yield Statistic(criterion, "sd", None, n, name, reason="a single value has no spread")
        return
    sd = float(values.std(ddof=1))
    half = float(stats.t.ppf((1 + level) / 2, n - 1)) * sd / math.sqrt(n)
    yield Statistic(criterion, "mean", mean, n, name, low=mean - half, high=mean + half)
    yield Statistic(criterion, "sd", sd, n, name)


def _comparison(criterion: str, by_set: dict[str, Floats], level: float) -> Iterator[Statistic]:
    """One-way ANOVA over sets and Tukey's HSD of pairs; a set with fewer than two rated probes has no part in them."""
    compared = {name: values for name, values in by_set.items() if len(values) >= 2}
    left_out = [name for name in by_set if name not in compared]
    n = sum(map(len, compared.values()))
    reason = f"left out, with fewer than two rated probes: {', '.join(left_out)}" if left_out else None
    null = None
    if len(compared) < 2:
        null = "fewer than two sets with two rated probes"
    elif all(np.ptp(values) == 0 for values in compared.values()):
        null = "no spread within the sets"
    names = ("anova_f", "anova_df_between", "anova_df_within", "anova_p")
    for name, value in zip(names, [None] * 4 if null else _anova(list(compared.values())), strict=True):
        yield Statistic(criterion, name, value, n, reason=null or reason)
    pairs = dict(_tukey(compared, level)) if null is None else {}
    for a, b in combinations(by_set, 2):
        of_pair = len(by_set[a]) + len(by_set[b])
        if (a, b) in pairs:
            interval, p = pairs[a, b]
            yield Statistic(criterion, "tukey_difference", interval.value, of_pair, a, b, interval.low, interval.high)
            yield Statistic(criterion, "tukey_p", p, of_pair, a, b)
        else:
            why = "fewer than two rated probes in a set" if {a, b} & set(left_out) else null
            yield Statistic(criterion, "tukey_difference", None, of_pair, a, b, reason=why)
            yield Statistic(criterion, "tukey_p", None, of_pair, a, b, reason=why)


def _anova(groups: Sequence[Floats]) -> list[float]:
    """F, degrees of freedom between and within, p."""
    from scipy import stats

    f, p = stats.f_oneway(*groups)
    n = sum(map(len, groups))
    return [float(f), float(len(groups) - 1), float(n - len(groups)), float(p)]


def _tukey(groups: dict[str, Floats], level: float) -> Iterator[tuple[tuple[str, str], tuple[Interval, float]]]:
    """For each pair of sets the difference of means with its interval, and p."""
    from scipy import stats

    result = stats.tukey_hsd(*groups.values())
    interval = result.confidence_interval(level)
    matrices = [np.asarray(matrix) for matrix in (result.statistic, interval.low, interval.high, result.pvalue)]
    for (i, a), (j, b) in combinations(enumerate(groups), 2):
        difference, low, high, p = (float(matrix[i, j]) for matrix in matrices)
        yield (a, b), (Interval(difference, low, high), p)


def _agreement(criterion: str, ratings: pd.DataFrame, resampling: Resampling) -> Iterator[Statistic]:
    """Kappa and alpha over all probes, and what had no part in them."""
    wide = ratings.pivot(index=["id", "criterion"], columns="rater", values="rating")
    matrix = wide.to_numpy(dtype=np.float64, na_value=np.nan)
    probes = wide.index.get_level_values("id").to_numpy()
    given = np.count_nonzero(~np.isnan(matrix), axis=1)
    raters = matrix.shape[1]
    yield Statistic(criterion, "missing", float(matrix.size - given.sum()), matrix.size)
    for name, statistic, rated, by in (
        ("fleiss", fleiss_kappa, given == raters, "every rater"),
        ("krippendorff", krippendorff_alpha, given >= 2, "two raters or more"),
    ):
        label = "fleiss_kappa" if name == "fleiss" else "krippendorff_alpha"
        if raters < 2:
            yield Statistic(criterion, label, None, 0, reason="fewer than two raters")
        else:
            yield _agreed(criterion, label, statistic, matrix[rated], probes[rated], by, resampling)
        yield Statistic(criterion, f"{name}_left_out", float((~rated).sum()), len(matrix))


def _agreed(
    criterion: str,
    label: str,
    statistic: Callable[[Floats], float],
    matrix: Floats,
    probes: NDArray[np.object_],
    by: str,
    resampling: Resampling,
) -> Statistic:
    """An index of agreement with its bootstrap interval over probes."""
    n = len(matrix)
    if len(set(probes)) < 2:
        return Statistic(criterion, label, None, n, reason=f"fewer than two probes rated by {by}")
    if np.nanmin(matrix) == np.nanmax(matrix):
        return Statistic(criterion, label, None, n, reason="all ratings are equal")
    interval = bootstrap(
        statistic, matrix, clusters=probes, level=resampling.level, n=resampling.resamples, seed=resampling.seed
    )
    return Statistic(criterion, label, interval.value, n, low=finite(interval.low), high=finite(interval.high))

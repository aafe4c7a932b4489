"""How sure disparities are: permutations, Benjamini-Hochberg; and the table of them (SAGED, section 4.2)."""

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from evenruler.instruments.saged import schemas
from evenruler.instruments.saged.declare.settings import Disparities
from evenruler.instruments.saged.diagnose.disparities import USES_SELECTION_RATE, disparity_of, metric_values
from evenruler.instruments.saged.diagnose.groups import Places, as_they_are, shuffled
from evenruler.instruments.saged.diagnose.statistics import Floats
from evenruler.instruments.saged.diagnose.summaries import Cells, Summary, in_parts

SMALLER_IS_MORE = frozenset({"min_max_ratio", "min_impact_ratio", "min_z", "min_z_population"})
"""Metrics of which a smaller value is a larger disparity; of all others a larger one."""

_TIED = 1e-9
"""Sums in another order differ in their last bits: what differs by so little beside itself is equal."""


@dataclass(frozen=True)
class Permuted:
    """A permutation test of each metric and series."""

    p: Floats
    """[metrics, series]; NaN where the disparity itself is undefined."""
    n: NDArray[np.int64]
    """[metrics, series] permutations under which the disparity is defined."""


def permutation_p(
    statistics: Sequence[Summary], metrics: Sequence[str], observed: Places, draws: Iterable[Places]
) -> list[Permuted]:
    """How often groups with shuffled labels differ as much as the groups do.

    One-sided: range, standard deviation, largest z and Dixon's ratios look for large values, ratios and the smallest z
    for small ones. p = (1 + permutations at least as extreme) / (1 + permutations), so that it is never 0; permutations
    that leave a disparity undefined do not count.

    Args:
        statistics: Each of any number of series.
        metrics: Names of `evenruler.instruments.saged.METRICS`.
        observed: The groups as they are: one draw.
        draws: With labels shuffled (`groups.shuffled`).

    Returns:
        One for each statistic. p is uniform, or larger, where groups are exchangeable.

    Source: section 4.2; Phipson & Smyth (2010), Permutation p-values should never be zero.
    """
    found = [_disparities(one, metrics, observed)[:, :, 0] for one in statistics]
    extreme = [np.zeros(values.shape, dtype=np.int64) for values in found]
    defined = [np.zeros(values.shape, dtype=np.int64) for values in found]
    sign = np.array([-1.0 if metric in SMALLER_IS_MORE else 1.0 for metric in metrics])[:, None]
    for drawn in draws:
        for i, one in enumerate(statistics):
            permuted = _disparities(one, metrics, drawn)
            bound = sign * found[i] - _TIED * np.abs(found[i])
            extreme[i] += (sign[:, :, None] * permuted >= bound[:, :, None]).sum(axis=2)
            defined[i] += (~np.isnan(permuted)).sum(axis=2)
    return [
        Permuted(np.where(np.isnan(values), np.nan, (1 + more) / (1 + n)), n)
        for values, more, n in zip(found, extreme, defined, strict=True)
    ]


def _disparities(statistic: Summary, metrics: Sequence[str], draws: Places) -> Floats:
    """[metrics, series, draws] the metrics of every draw."""

    def of_lines(lines: slice) -> Floats:
        summaries = statistic(draws, lines)
        return np.stack([metric_values(metric, summaries) for metric in metrics])

    none = np.empty((len(metrics), 0, len(draws)))
    return np.concatenate([none, *_in_threads(of_lines, in_parts(len(statistic.values)))], axis=1)


def _in_threads(work: Callable[[slice], Floats], parts: Iterable[slice]) -> list[Floats]:
    """As many at a time as there are processors; numpy lets others work while it does."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(work, parts))


FAMILY = ["domain", "grouping", "feature", "statistic"]
"""Tests of the same are adjusted together, over configurations, calibrations and metrics."""


def compared(cells: Sequence[Cells], settings: Disparities, seed: int) -> pd.DataFrame:
    """Every metric of every cell of one domain and grouping, with its permutation test; UserError where it is none.

    Impact ratios are of selection rates, and of no other statistic. By `schemas.DISPARITIES`, but for `p_adjusted`
    (`adjusted`); `n_permutations` is 0 where there is no disparity to test.
    """
    tests = _tests(cells, settings, seed)
    tables = []
    for i, each in enumerate(cells):
        for place, metric in enumerate(_metrics(each, settings)):
            rows = pd.DataFrame(_rows(each, metric, tests[i].p[place], tests[i].n[place]))
            tables.append(pd.concat([each.names(), rows], axis=1))
    return pd.concat(tables, ignore_index=True)


def adjusted(compared: pd.DataFrame) -> pd.DataFrame:
    """`schemas.DISPARITIES` with `p_adjusted`, over a `FAMILY` of tests; no p is no test, and stays.

    Source: Benjamini & Hochberg (1995), Controlling the false discovery rate.
    """
    if compared.empty:
        return pd.DataFrame(columns=schemas.DISPARITIES.names)
    p = compared.dropna(subset="p").groupby(FAMILY)["p"].transform(stats.false_discovery_control)
    return compared.assign(p_adjusted=p)[list(schemas.DISPARITIES.names)]


def _tests(cells: Sequence[Cells], settings: Disparities, seed: int) -> dict[int, Permuted]:
    """By place of the cells, their tests: of all that have the same metrics and number of permutations at once."""
    alike: dict[tuple[int, tuple[str, ...]], list[int]] = {}
    for place, each in enumerate(cells):
        n = settings.headline_permutations if each.statistic == settings.headline else settings.permutations
        alike.setdefault((n, tuple(_metrics(each, settings))), []).append(place)
    tests: dict[int, Permuted] = {}
    layout, groups = cells[0].layout, cells[0].groups
    for (n, metrics), places in alike.items():
        summaries = [cells[place].summary for place in places]
        found = permutation_p(summaries, metrics, as_they_are(groups), shuffled(layout, groups, n, seed))
        tests |= dict(zip(places, found, strict=True))
    return tests


def _metrics(cells: Cells, settings: Disparities) -> list[str]:
    """The metrics that mean something of a statistic."""
    rates = cells.summary.kind == "selection_rate"
    return [metric for metric in settings.metrics if rates or metric not in USES_SELECTION_RATE]


def _rows(cells: Cells, metric: str, p: Floats, n: NDArray[np.int64]) -> dict[str, object]:
    """One metric of every cell: what follows its names. `p`, and `n` permutations, are of the known series."""
    found = [disparity_of(metric, summaries, cells.groups.names) for summaries in cells.values]
    value = np.array([each.value for each in found])
    of_all, permutations = np.full(len(value), np.nan), np.zeros(len(value), dtype=np.int64)
    of_all[cells.known], permutations[cells.known] = p, n
    permutations[np.isnan(value)] = 0
    reasons = np.array([each.reason for each in found], dtype=object)
    unmeasured = np.setdiff1d(np.arange(len(value)), cells.known)
    reasons[unmeasured] = cells.reasons[unmeasured, 0]  # all of their groups are null for the same reason
    types = {"group": object, "critical": np.float64, "excess": np.float64, "flag": object}
    return {
        "metric": metric,
        "value": value,
        "p": of_all,
        "n_permutations": permutations,
        "n_groups": np.array([each.n for each in found], dtype=np.int64),
        **{name: np.array([getattr(each, name) for each in found], dtype=kind) for name, kind in types.items()},
        "reason": reasons,
    }

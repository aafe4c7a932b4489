"""Disparities over groups as a table: how large, how sure, at which group (SAGED, section 4.2)."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenruler.instruments.saged import schemas
from evenruler.instruments.saged.declare.settings import Disparities
from evenruler.instruments.saged.diagnose.blocks import Floats
from evenruler.instruments.saged.diagnose.cells import Cells
from evenruler.instruments.saged.diagnose.disparities import USES_SELECTION_RATE, disparity_of
from evenruler.instruments.saged.diagnose.draws import as_they_are, resampled, shuffled
from evenruler.instruments.saged.diagnose.inference import Permuted, benjamini_hochberg, estimates, permutation_p
from evenruler.instruments.saged.diagnose.layout import FEWEST_ROOTS, too_few

FAMILY = ["domain", "grouping", "feature", "statistic"]
"""Tests of the same are adjusted together, over configurations, calibrations and metrics."""

LIKELY_EQUAL = "no interval: undefined in most plausible truths, where all groups are equal"


def compared(cells: Sequence[Cells], settings: Disparities, level: float, seed: int) -> pd.DataFrame:
    """Every metric of every cell, with its permutation test and its interval.

    Impact ratios are of selection rates, and of no other statistic.

    Args:
        cells: Of one domain and grouping: the same layout and groups.
        settings: Which metrics, how many permutations and resamples.
        level: Of intervals.
        seed: Of draws.

    Returns:
        By `schemas.DISPARITIES`, but for `p_adjusted` (`adjusted`); `n_permutations` is 0 where there is no disparity
        to test.

    Raises:
        UserError: There is no such metric.
    """
    layout, groups = cells[0].layout, cells[0].groups
    tests = _tests(cells, settings, seed)
    few = None if layout.fewest_roots >= FEWEST_ROOTS else too_few(layout.fewest_roots)
    resamples = [] if few else list(resampled(layout, groups, settings.resamples, seed))
    tables = []
    for i, each in enumerate(cells):
        metrics = _metrics(each, settings)
        without_noise = None if few else estimates(each.summary, metrics, as_they_are(groups), resamples, level)
        names = each.names()
        for place, metric in enumerate(metrics):
            own = None
            if without_noise:
                own = without_noise.value[place], without_noise.low[place], without_noise.high[place]
            rows = _rows(each, metric, (tests[i].p[place], tests[i].n[place]), own, few or LIKELY_EQUAL)
            tables.append(pd.concat([names, pd.DataFrame(rows)], axis=1))
    return pd.concat(tables, ignore_index=True)


def adjusted(compared: pd.DataFrame) -> pd.DataFrame:
    """Disparities of one model or several with `p_adjusted`, over a `FAMILY` of tests.

    Args:
        compared: As the function of that name gives them.

    Returns:
        By `schemas.DISPARITIES`.
    """
    if compared.empty:
        return pd.DataFrame(columns=schemas.DISPARITIES.names)
    p = compared.groupby(FAMILY)["p"].transform(lambda p: benjamini_hochberg(p.to_numpy()))
    return compared.assign(p_adjusted=p)[list(schemas.DISPARITIES.names)]


def _tests(cells: Sequence[Cells], settings: Disparities, seed: int) -> dict[int, Permuted]:
    """By place of the cells, their tests: of all that have the same metrics and number of permutations at once."""
    groups = cells[0].groups
    alike: dict[tuple[int, tuple[str, ...]], list[int]] = {}
    for place, each in enumerate(cells):
        headline = each.statistic == settings.headline
        n = settings.headline_permutations if headline else settings.permutations
        alike.setdefault((n, tuple(_metrics(each, settings))), []).append(place)
    tests: dict[int, Permuted] = {}
    for (n, metrics), places in alike.items():
        draws = shuffled(cells[0].layout, groups, n, seed)
        found = permutation_p([cells[place].summary for place in places], metrics, as_they_are(groups), draws)
        tests |= dict(zip(places, found, strict=True))
    return tests


def _metrics(cells: Cells, settings: Disparities) -> list[str]:
    """The metrics that mean something of a statistic."""
    rates = cells.summary.kind == "selection_rate"
    return [metric for metric in settings.metrics if rates or metric not in USES_SELECTION_RATE]


def _rows(
    cells: Cells,
    metric: str,
    test: tuple[Floats, NDArray[np.int64]],
    estimated: tuple[Floats, Floats, Floats] | None,
    without: str,
) -> dict[str, object]:
    """One metric of every cell: what follows its names; `without` is why it has no interval, where it has none."""
    found = [disparity_of(metric, summaries, cells.groups.names) for summaries in cells.values]
    value = np.array([each.value for each in found])
    null = np.isnan(value)
    unknown = np.full(len(cells.known), np.nan)
    p, tests, estimate, low, high = (
        np.where(null, np.nan, _spread(own, cells)) for own in (*test, *(estimated or (unknown, unknown, unknown)))
    )
    reasons = np.array([each.reason for each in found], dtype=object)
    reasons[~null & np.isnan(low)] = without
    unmeasured = np.setdiff1d(np.arange(len(value)), cells.known)
    reasons[unmeasured] = cells.reasons[unmeasured, 0]  # all of their groups are null for the same reason
    return {
        "metric": metric,
        "value": value,
        "estimate": estimate,
        "low": low,
        "high": high,
        "p": p,
        "n_permutations": np.nan_to_num(tests).astype(np.int64),
        "n_groups": np.array([each.n for each in found], dtype=np.int64),
        "group": np.array([each.group for each in found], dtype=object),
        "critical": np.array([each.critical for each in found], dtype=np.float64),
        "excess": np.array([each.excess for each in found], dtype=np.float64),
        "flag": np.array([each.flag for each in found], dtype=object),
        "reason": reasons,
    }


def _spread(found: NDArray[np.generic], cells: Cells) -> Floats:
    """What was computed of known series, with NaN for the others."""
    spread = np.full(len(cells.values), np.nan)
    spread[cells.known] = found
    return spread

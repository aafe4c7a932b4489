"""A statistic of the groups of every configuration and feature of a domain."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenruler.instruments.saged import schemas
from evenruler.instruments.saged.declare.settings import Statistic
from evenruler.instruments.saged.diagnose.blocks import Floats, pairs
from evenruler.instruments.saged.diagnose.draws import as_they_are
from evenruler.instruments.saged.diagnose.groups import Codes, gathered
from evenruler.instruments.saged.diagnose.layout import CALIBRATED, NO_BASELINE, RAW, Groups, Layout
from evenruler.instruments.saged.diagnose.statistics import USES_BASELINE, reason
from evenruler.instruments.saged.diagnose.summary import Summary, in_parts


@dataclass(frozen=True)
class Cells:
    """One statistic of all series, raw or calibrated. A cell is what its groups are compared in: one series."""

    layout: Layout
    groups: Groups
    statistic: str
    """As the user named it."""
    calibration: str
    values: Floats
    """[series, groups]; NaN where undefined."""
    n: NDArray[np.int64]
    """[series, groups] numbers that it is of: pairs, where it compares with baselines."""
    n_missing: NDArray[np.int64]
    """[series, groups] measurements that are null."""
    reasons: NDArray[np.object_]
    """[series, groups] why a value is NaN, else None."""
    known: Codes
    """Series that have numbers at all."""
    summary: Summary
    """The statistic of those series, for any groups."""

    def names(self) -> pd.DataFrame:
        """The columns that every table of cells begins with, one row a series."""
        names = self.layout.series.assign(
            domain=self.layout.domain,
            calibration=self.calibration,
            grouping=self.groups.grouping,
            statistic=self.statistic,
        )
        return names[list(schemas.SUMMARIES.names[: schemas.SUMMARIES.names.index("group")])]

    def table(self) -> pd.DataFrame:
        """By `schemas.SUMMARIES`."""
        names = self.names()
        names = names.loc[names.index.repeat(len(self.groups.names))].reset_index(drop=True)
        rows = {
            "group": np.tile(np.array(self.groups.names, dtype=object), len(self.values)),
            "value": self.values.ravel(),
            "n": self.n.ravel(),
            "n_missing": self.n_missing.ravel(),
            "reason": self.reasons.ravel(),
        }
        return pd.concat([names, pd.DataFrame(rows)], axis=1)


def cells_of(layout: Layout, groups: Groups, statistics: Mapping[str, Statistic]) -> Iterator[Cells]:
    """Every statistic of every series, raw and, where it does not compare with baselines anyway, calibrated.

    Args:
        layout: Measurements of a domain.
        groups: Of its replies.
        statistics: By the user's name.

    Raises:
        UserError: There is no such statistic, or it has no such option.
    """
    numbers = cache(partial(_numbers, layout))  # by all statistics: a copy for each would be most of the memory
    for name, statistic in statistics.items():
        for calibration in [RAW] if statistic.kind in USES_BASELINE else [RAW, CALIBRATED]:
            yield _cells(layout, groups, name, statistic, calibration, numbers)


Numbers = tuple[Codes, Floats, Floats | None]
"""The series that have numbers at all, their numbers, and the baselines beside them where they are compared with."""


def _numbers(layout: Layout, calibration: str, compares: bool) -> Numbers:
    numbers, baselines = layout.numbers(calibration), layout.baselines
    if compares:
        numbers, baselines = pairs(numbers, baselines)
    known = np.flatnonzero((~np.isnan(numbers)).any(axis=1))
    if len(known) == len(numbers):
        return known, numbers, baselines if compares else None
    return known, numbers[known], baselines[known] if compares else None


def _cells(
    layout: Layout,
    groups: Groups,
    name: str,
    statistic: Statistic,
    calibration: str,
    numbers: Callable[[str, bool], Numbers],
) -> Cells:
    compares = statistic.kind in USES_BASELINE
    known, of_known, beside = numbers(calibration, compares)
    summary = Summary.of(statistic.kind, of_known, beside, statistic.options)
    places = as_they_are(groups)
    nothing = np.full(1, np.nan)
    shape = len(layout.values), len(groups.names)
    values, n = np.full(shape, np.nan), np.zeros(shape, dtype=np.int64)
    reasons = np.full(shape, reason(statistic.kind, nothing, nothing, **statistic.options), dtype=object)
    found = summary.observed(places)
    values[known], n[known], reasons[known] = found[:, 0], summary.n(places)[:, 0], summary.reasons(found, places)[:, 0]
    if compares or calibration == CALIBRATED:
        reasons[np.isnan(layout.baselines).all(axis=1)] = NO_BASELINE
    measured = np.empty(shape, dtype=np.int64)
    for lines in in_parts(len(measured)):
        measured[lines] = (gathered(layout.measured[lines], places) == 1).sum(axis=-1)[:, 0]
    return Cells(layout, groups, name, calibration, values, n, measured - n, reasons, known, summary)

"""A statistic of the groups of every configuration and feature of a domain."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenruler.instruments.saged import schemas
from evenruler.instruments.saged.diagnose.blocks import Floats, pairs
from evenruler.instruments.saged.diagnose.draws import as_they_are
from evenruler.instruments.saged.diagnose.inference import Lines
from evenruler.instruments.saged.diagnose.layout import CALIBRATED, NO_BASELINE, RAW, Codes, Groups, Layout
from evenruler.instruments.saged.diagnose.resummarising import Gathered, resummary
from evenruler.instruments.saged.diagnose.statistics import USES_BASELINE, cell_options, reason, resolve
from evenruler.instruments.saged.settings import Statistic


@dataclass(frozen=True)
class Cells:
    """One statistic of all series, raw or calibrated. A cell is what its groups are compared in: one series."""

    layout: Layout
    groups: Groups
    statistic: str
    """As the user named it."""
    kind: str
    """What it is, by `evenruler.saged.STATISTICS` or by dotted name."""
    calibration: str
    values: Floats
    """[series, groups]; NaN where undefined."""
    n: Codes
    """[series, groups] numbers that it is of: pairs, where it compares with baselines."""
    n_missing: Codes
    """[series, groups] measurements that are null."""
    reasons: NDArray[np.object_]
    """[series, groups] why a value is NaN, else None."""
    known: Codes
    """Series that have numbers at all."""
    lines: Lines
    """The statistic of those series, for any draws of groups."""

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
        """By `evenruler.saged.schemas.SUMMARIES`."""
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
    for name, statistic in statistics.items():
        for calibration in [RAW] if statistic.kind in USES_BASELINE else [RAW, CALIBRATED]:
            yield _cells(layout, groups, name, statistic, calibration)


def _cells(layout: Layout, groups: Groups, name: str, statistic: Statistic, calibration: str) -> Cells:
    function = resolve(statistic.kind)
    numbers, baselines = layout.numbers(calibration), layout.baselines
    compares = statistic.kind in USES_BASELINE
    there = ~np.isnan(pairs(numbers, baselines)[0] if compares else numbers)
    known = np.flatnonzero(there.any(axis=1))
    own = numbers[known], baselines[known] if compares else None
    given: dict[str, Any] = dict(statistic.options)
    options = cell_options(statistic.kind, *own, **given) if len(known) else {}
    as_is = as_they_are(groups)
    values = np.full((len(numbers), len(groups.names)), np.nan)
    if len(known):
        values[known] = Gathered(function, *own, options)(as_is, slice(0, len(known)))[:, 0]
    n, measured = (as_is.counts(which.T)[0].T.astype(np.intp) for which in (there, layout.measured))
    return Cells(
        layout,
        groups,
        name,
        statistic.kind,
        calibration,
        values,
        n,
        measured - n,
        _reasons(values, n, groups, numbers, baselines, compares or calibration == CALIBRATED, statistic),
        known,
        _lines(statistic.kind, function, own, options, len(known)),
    )


def _lines(
    kind: str,
    function: Callable[..., Floats],
    numbers: tuple[Floats, Floats | None],
    options: Mapping[str, Any],
    size: int,
) -> Lines:
    if not size:
        return Lines(Gathered(function, *numbers, options), 0)
    return Lines(resummary(kind, function, *numbers, options), size)


def _reasons(
    values: Floats,
    n: Codes,
    groups: Groups,
    numbers: Floats,
    baselines: Floats,
    needs_baselines: bool,
    statistic: Statistic,
) -> NDArray[np.object_]:
    """[series, groups] why values are NaN, else None."""
    reasons = np.full(values.shape, None, dtype=object)
    undefined = np.isnan(values)
    nothing = np.full(1, np.nan)
    reasons[undefined & (n == 0)] = reason(statistic.kind, nothing, nothing, **statistic.options)
    if needs_baselines:
        reasons[np.isnan(baselines).all(axis=1)] = NO_BASELINE
    for line, group in np.argwhere(undefined & (n > 0)):
        own = groups.codes == group
        reasons[line, group] = reason(statistic.kind, numbers[line, own], baselines[line, own], **statistic.options)
    return reasons

"""One statistic of many series of numbers, for any groups: as they are, permuted, or resampled."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenruler.instruments.saged.diagnose.blocks import Floats, count, pairs
from evenruler.instruments.saged.diagnose.groups import Places, gathered
from evenruler.instruments.saged.diagnose.statistics import (
    USES_BASELINE,
    BlockStatistic,
    cell_options,
    reason,
    resolve,
)

EVERY = slice(None)
"""All series."""

_LINES = 64
"""Series that are worked on at a time, so that a block stays near the processor."""

_AT_ONCE = 50_000
"""Numbers that a statistic is asked for at a time, so that they stay near the processor."""


def in_parts(series: int) -> Iterator[slice]:
    """Some series at a time: all at once would be as large again as what was measured."""
    return (slice(begin, begin + _LINES) for begin in range(0, series, _LINES))


@dataclass(frozen=True)
class Summary:
    """A statistic of some series. A series is a cell: its groups are compared with each other."""

    kind: str
    """A name of `evenruler.instruments.saged.STATISTICS`, or a dotted name."""
    given: Mapping[str, Any]
    """Options as the user wrote them."""
    statistic: BlockStatistic
    values: Floats
    """[series, rows]; NaN where missing."""
    baselines: Floats | None
    """Beside them, NaN at the same places; none where the statistic does not use them."""
    options: Mapping[str, Any]
    """Of the statistic; arrays have one entry a series."""

    @classmethod
    def of(
        cls, kind: str, values: Floats, baselines: Floats | None = None, given: Mapping[str, Any] | None = None
    ) -> "Summary":
        """Prepare a statistic.

        Args:
            kind: A name of `evenruler.instruments.saged.STATISTICS`, or the dotted name of a function.
            values: [series, rows], NaN where missing.
            baselines: Beside them; only looked at by those of `USES_BASELINE`.
            given: Options, by `evenruler.instruments.saged.OPTIONS`.

        Raises:
            UserError: There is no such statistic, or it has no such option.
        """
        statistic, given = resolve(kind), given or {}
        if kind not in USES_BASELINE:
            baselines = None
        elif baselines is not None:
            values, baselines = pairs(values, baselines)
        return cls(kind, given, statistic, values, baselines, cell_options(kind, values, baselines, **given))

    def __call__(self, places: Places, lines: slice = EVERY) -> Floats:
        """The statistic of every group of some series, [series, draws, groups]; NaN where it is undefined."""
        values = self.values[lines]
        baselines = None if self.baselines is None else self.baselines[lines]
        options = dict(self.options)
        for name, option in options.items():
            if isinstance(option, np.ndarray):
                options[name] = np.expand_dims(option[lines], (1, 2))
        # Groups apart in memory, since they are reduced next: that is fastest so.
        found = np.empty((*places.shape[1::-1], len(values))).transpose(2, 1, 0)
        step = max(1, _AT_ONCE // max(1, len(values) * places[:1].size))
        for begin in range(0, len(places), step):
            part = places[begin : begin + step]
            beside = None if baselines is None else gathered(baselines, part)
            found[:, begin : begin + step] = self.statistic(gathered(values, part), beside, **options)
        return found

    def observed(self, places: Places) -> Floats:
        """The statistic of every group of all series, some series at a time: [series, draws, groups]."""
        parts = [self(places, lines) for lines in in_parts(len(self.values))]
        return np.concatenate([np.empty((0, *places.shape[:2])), *parts])

    def n(self, places: Places) -> NDArray[np.int64]:
        """[series, draws, groups] how many numbers each is of; pairs, where it compares with baselines."""
        found = np.empty((len(self.values), *places.shape[:2]), dtype=np.int64)
        for lines in in_parts(len(found)):
            found[lines] = count(gathered(self.values[lines], places))
        return found

    def reasons(self, summaries: Floats, places: Places) -> NDArray[np.object_]:
        """[series, draws, groups] why summaries are NaN, else None."""
        reasons = np.full(summaries.shape, None, dtype=object)
        undefined, n = np.isnan(summaries), self.n(places)
        nothing = np.full(1, np.nan)
        reasons[undefined & (n == 0)] = reason(self.kind, nothing, nothing, **self.given)
        for line, draw, group in np.argwhere(undefined & (n > 0)):
            own = places[draw, group]
            own = own[own < self.values.shape[1]]
            beside = None if self.baselines is None else self.baselines[line, own]
            reasons[line, draw, group] = reason(self.kind, self.values[line, own], beside, **self.given)
        return reasons

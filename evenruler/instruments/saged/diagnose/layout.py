"""Measurements of one domain as matrices: a row of numbers for each configuration and feature, a column for each reply.

Shuffling labels of groups, or drawing root items anew, then is the same for all rows at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenruler.instruments.saged.diagnose.blocks import Floats
from evenruler.instruments.saged.diagnose.groups import Codes

CONFIGURATION = ["model", "role", "template"]
"""What asks."""

SERIES = [*CONFIGURATION, "feature"]
"""What one row of numbers is of."""

RAW, CALIBRATED = "raw", "calibrated"

NO_BASELINE = "no baseline has this feature"
"""Why a calibrated number is null."""


FEWEST_ROOTS = 6
"""Root items below which there is no interval: 95% ones of two would cover 74 to 91%, of six 95 to 97% (simulated)."""


def too_few(roots: int) -> str:
    """Why there is no interval."""
    return f"no interval: {roots} root item{'' if roots == 1 else 's'}, needs {FEWEST_ROOTS}"


@dataclass(frozen=True)
class Groups:
    """Replies in groups."""

    grouping: str
    """The columns that make groups, joined by "+"."""
    names: list[str]
    """Of the groups, in order: values of those columns, joined by "+"."""
    codes: Codes
    """[replies] the number of each reply's group."""


@dataclass(frozen=True)
class Layout:
    """The measurements of one domain."""

    domain: str
    replies: pd.DataFrame
    """One row a prompt and repetition: `id`, `repetition` and the columns of the prompts, in order of ids."""
    series: pd.DataFrame
    """One row a configuration and feature, by `SERIES`."""
    values: Floats
    """[series, replies]; NaN where a reply could not be measured, or was not asked for."""
    baselines: Floats
    """[series, replies] the same feature of the reply's baseline."""
    measured: NDArray[np.bool_]
    """[series, replies] whether there is a measurement, null or not."""

    def numbers(self, calibration: str) -> Floats:
        """The values (`raw`), or those minus their baselines (`calibrated`, section 3.3)."""
        return self.values if calibration == RAW else self.values - self.baselines

    def groups(self, columns: Sequence[str]) -> Groups:
        """The replies grouped by columns of the prompts, crossed."""
        codes, found = pd.factorize(self.replies[list(columns)].agg("+".join, axis=1), sort=True)
        return Groups("+".join(columns), [str(name) for name in found], codes.astype(np.intp))

    @property
    def items(self) -> Codes:
        """[replies] the number of each reply's prompt: repetitions stay together."""
        return pd.factorize(self.replies["id"], sort=True)[0].astype(np.intp)

    @property
    def roots(self) -> Codes:
        """[replies] the number of each reply's root item."""
        return pd.factorize(self.replies["root_id"], sort=True)[0].astype(np.intp)

    @property
    def branched(self) -> bool:
        """Whether root items stand there for several concepts."""
        return bool((self.replies.groupby("root_id")["concept"].nunique() > 1).any())

    @property
    def fewest_roots(self) -> int:
        """Root items that resamples draw from: all of them, or where none has several concepts those of one concept."""
        roots = self.replies.groupby("concept")["root_id"].nunique()
        return int(self.replies["root_id"].nunique() if self.branched else roots.min())


def laid_out(domain: str, features: pd.DataFrame, prompts: pd.DataFrame) -> Layout:
    """Lay out the measurements of one domain and framing.

    Args:
        domain: Its slug.
        features: By `schemas.FEATURES`, of replies to these prompts; in any order.
        prompts: With `id`, `concept`, `keyword`, `section` and `root_id`.

    Raises:
        ValueError: A measurement is there twice, or of a prompt that is not there.
    """
    replies, reply = _numbered(features, ["id", "repetition"])
    series, line = _numbered(features, SERIES)
    unknown = sorted(set(replies["id"]) - set(prompts["id"]))
    if unknown:
        raise ValueError(f"{domain}: {len(unknown)} prompts that were measured are not there, as {unknown[0]}")
    shape = len(series), len(replies)
    values, baselines, measured = np.full(shape, np.nan), np.full(shape, np.nan), np.zeros(shape, dtype=bool)
    measured[line, reply] = True
    if np.count_nonzero(measured) != len(features):
        raise ValueError(f"{domain}: {len(features) - np.count_nonzero(measured)} measurements are there twice")
    values[line, reply] = features["value"]
    baselines[line, reply] = features["baseline"]
    columns = ["id", "concept", "keyword", "section", "root_id"]
    replies = replies.merge(prompts[columns].astype(str), on="id", how="left", validate="many_to_one")
    return Layout(domain, replies, series, values, baselines, measured)


def _numbered(frame: pd.DataFrame, names: list[str]) -> tuple[pd.DataFrame, NDArray[np.int32]]:
    """The different values of columns, sorted, and for each row the number of its own."""
    number = frame.groupby(names, observed=True, sort=False).ngroup().to_numpy()
    first = np.empty(number.max(initial=-1) + 1, dtype=np.intp)
    first[number[::-1]] = np.arange(len(number))[::-1]  # the last that is written stays, which is the first row
    found = frame[names].iloc[first]
    found = found.astype({name: str for name in names if name != "repetition"}).reset_index(drop=True)
    ordered = found.sort_values(names)
    place = np.empty(len(ordered), dtype=np.int32)
    place[ordered.index] = np.arange(len(ordered))
    return ordered.reset_index(drop=True), place[number]

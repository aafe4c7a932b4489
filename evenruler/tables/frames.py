"""Frames of rows: one below the other, by the units that rows are of, and without the last bits of numbers.

Those differ from one processor to another.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd
import pyarrow as pa

from evenruler.tables.ids import content_sha256

DIGITS = 6  # significant digits that a computed number of a published table has
DECIMALS = 12  # decimals beyond which nothing counts: what should be zero comes out as 1e-17 here and as -3e-18 there


def stacked(frames: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """One below the other, rows numbered anew; those without rows are left out, for they would change types of columns.

    Where none has rows, the first, for its columns; an empty frame where there is none at all.
    """
    found = list(frames)
    filled = [frame for frame in found if len(frame)] or found[:1]
    return pd.concat(filled, ignore_index=True) if filled else pd.DataFrame()


def evenly_spread(units: Sequence[str], most: int) -> list[str]:
    """At most so many units, evenly spread over their list, in its order."""
    if most >= len(units):
        return list(units)
    return [units[(2 * i + 1) * len(units) // (2 * most)] for i in range(most)]


def rows_of(rows: pd.DataFrame, by: Sequence[str]) -> "pd.Series[str]":
    """By unit (columns `by`) a hash of its published rows: 16 hex digits, the same in whatever order.

    Of `id` and what else is read of them; their own checksums (`content_sha256`) are not believed.
    """
    ordered = rows.sort_values("id").drop(columns="content_sha256", errors="ignore")
    said = pa.Table.from_pandas(ordered, preserve_index=False).to_pylist()
    told = pd.Series([content_sha256(row) for row in said], index=ordered.index, name="told", dtype="str")
    return told.groupby([ordered[name] for name in by], sort=True).agg(lambda own: content_sha256(*own)[:16])


def rounded(value: float) -> float:
    """A number to `DIGITS` significant digits and at most `DECIMALS` decimals; 0.0 is never negative."""
    if value == 0 or not math.isfinite(value):
        return value + 0.0
    decimals = min(DIGITS - 1 - math.floor(math.log10(abs(value))), DECIMALS)
    return round(value, decimals) + 0.0


def for_people(content: Any) -> Any:
    """What is written to be read: numbers of nested mappings and lists to three decimals, probabilities to two digits.

    Of content as JSON has it; a key that is "p" or begins with "p_" holds a probability. It is the only rounding of a
    figure; whatever shows fewer decimals takes them from the number itself.
    """
    if isinstance(content, Mapping):
        found = {key: for_people(value) for key, value in content.items()}
        probabilities = [key for key in content if key == "p" or str(key).startswith("p_")]
        return found | {key: float(f"{content[key]:.1e}") for key in probabilities if isinstance(content[key], float)}
    if isinstance(content, list):
        return [for_people(value) for value in content]
    return round(content, 3) + 0.0 if isinstance(content, float) else content


def without_last_bits(table: pd.DataFrame) -> pd.DataFrame:
    """The table with its columns of floats rounded; the others as they are. Hash rows after this, not before."""
    floats = [str(name) for name in table.columns if pd.api.types.is_float_dtype(table[name])]
    return table.assign(**{name: table[name].map(rounded) for name in floats})

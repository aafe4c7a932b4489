"""Data frames: stacking, hashing of rows by unit, and rounding.

Rounding removes the last bits of floats, which differ between processors.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd
import pyarrow as pa

from evenruler.tables.ids import content_sha256

DIGITS = 6  # significant digits of computed numbers in published tables
DECIMALS = 12  # a true zero comes out as 1e-17 on one machine and -3e-18 on another


def stacked(frames: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Concatenate frames with a new index; frames without rows are dropped, since they would change column types.

    If none has rows, the first is returned for its columns; if there is none at all, an empty frame.
    """
    found = list(frames)
    filled = [frame for frame in found if len(frame)] or found[:1]
    return pd.concat(filled, ignore_index=True) if filled else pd.DataFrame()


def evenly_spread(units: Sequence[str], most: int) -> list[str]:
    """At most `most` units, evenly spaced over the list, in order."""
    if most >= len(units):
        return list(units)
    return [units[(2 * i + 1) * len(units) // (2 * most)] for i in range(most)]


def rows_of(rows: pd.DataFrame, by: Sequence[str]) -> "pd.Series[str]":
    """Per unit (columns `by`), a hash of its published rows: 16 hex digits, independent of row order.

    Covers `id` and every other column except `content_sha256`, which is not trusted.
    """
    ordered = rows.sort_values("id").drop(columns="content_sha256", errors="ignore")
    said = pa.Table.from_pandas(ordered, preserve_index=False).to_pylist()
    told = pd.Series([content_sha256(row) for row in said], index=ordered.index, name="told", dtype="str")
    return told.groupby([ordered[name] for name in by], sort=True).agg(lambda own: content_sha256(*own)[:16])


def rounded(value: float) -> float:
    """Round to `DIGITS` significant digits and at most `DECIMALS` decimals; never returns -0.0."""
    if value == 0 or not math.isfinite(value):
        return value + 0.0
    decimals = min(DIGITS - 1 - math.floor(math.log10(abs(value))), DECIMALS)
    return round(value, decimals) + 0.0


def for_people(content: Any) -> Any:
    """Round the floats in nested mappings and lists for display: three decimals, probabilities two significant digits.

    Expects JSON-like content; a key "p" or "p_..." holds a probability. Figures are rounded nowhere else; any display
    with fewer decimals starts from the number itself.
    """
    if isinstance(content, Mapping):
        found = {key: for_people(value) for key, value in content.items()}
        probabilities = [key for key in content if key == "p" or str(key).startswith("p_")]
        return found | {key: float(f"{content[key]:.1e}") for key in probabilities if isinstance(content[key], float)}
    if isinstance(content, list):
        return [for_people(value) for value in content]
    return round(content, 3) + 0.0 if isinstance(content, float) else content


def without_last_bits(table: pd.DataFrame) -> pd.DataFrame:
    """The table with its float columns rounded. Hash rows after this, not before."""
    floats = [str(name) for name in table.columns if pd.api.types.is_float_dtype(table[name])]
    return table.assign(**{name: table[name].map(rounded) for name in floats})

"""Frames of rows: one below the other, and by the units that rows are of."""

from collections.abc import Iterable, Sequence

import pandas as pd
import pyarrow as pa

from evenruler.tables.ids import content_sha256


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
    """A hash of the published rows of every unit: 16 hex digits, the same for the same rows in whatever order.

    Args:
        rows: With `id` and what else is read of them; their own checksums (`content_sha256`) are not believed.
        by: The columns that tell units apart.

    Returns:
        By these columns.
    """
    ordered = rows.sort_values("id").drop(columns="content_sha256", errors="ignore")
    said = pa.Table.from_pandas(ordered, preserve_index=False).to_pylist()
    told = pd.Series([content_sha256(row) for row in said], index=ordered.index, name="told", dtype="str")
    found: pd.Series[str] = told.groupby([ordered[name] for name in by], sort=True).agg(
        lambda own: content_sha256(*own)[:16]
    )
    return found

"""Frames of rows: one below the other, and by the units that rows are of."""

from collections.abc import Iterable, Sequence

import pandas as pd

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


def asked_units(rows: pd.DataFrame, unit: str, answered: "pd.Series[str]", model: str, what: str) -> "pd.Series[bool]":
    """Which rows are of units that were asked about.

    Args:
        rows: With `id` and the column of the unit.
        unit: That column.
        answered: Ids that have an answer.
        model: Whose answers, for errors.
        what: What the rows are, for errors.

    Returns:
        [rows] True where the row's unit was asked about.

    Raises:
        ValueError: No unit was asked about, or one in part.
    """
    scored = rows["id"].isin(answered)
    asked = rows[unit].isin(rows.loc[scored, unit])
    if lacking := len(rows) if not scored.any() else int((asked & ~scored).sum()):
        raise ValueError(f"{model}: {lacking} {what} have no score")
    return asked


def rows_of(rows: pd.DataFrame, by: Sequence[str]) -> "pd.Series[str]":
    """A hash of the published rows of every unit: 16 hex digits, the same for the same rows in whatever order.

    Args:
        rows: With `id` and `content_sha256`.
        by: The columns that tell units apart.

    Returns:
        By these columns.
    """
    ordered = rows.sort_values("id")
    told = (ordered["id"] + ordered["content_sha256"]).rename("told")
    found: pd.Series[str] = told.groupby([ordered[name] for name in by], sort=True).agg(
        lambda own: content_sha256(*own)[:16]
    )
    return found

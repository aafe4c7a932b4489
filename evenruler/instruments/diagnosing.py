"""The diagnosis of records: what is of each, and what is of all of them, as the tables of their family."""

from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from evenruler.instruments.instrument import Record, Tables
from evenruler.measurement.settings import Resampling


def diagnosed(door: Any, records: Sequence[Record], resampling: Resampling) -> dict[str, pd.DataFrame]:
    """Every table of a family's diagnosis.

    Args:
        door: The room `diagnose` of the family.
        records: Instruments on models.
        resampling: How intervals are computed.

    Returns:
        By the door's `TABLES`.
    """
    across: Tables = door.across(records, resampling)
    return {name: _together(own[name] for own in (*_found(records), across) if name in own) for name in door.TABLES}


def _found(records: Iterable[Record]) -> list[Tables]:
    return [record.found for record in records]


def _together(found: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """One below the other; an empty one brings its columns only where all are empty."""
    found = list(found)
    filled = [frame for frame in found if len(frame)] or found[:1]
    return pd.concat(filled, ignore_index=True) if filled else pd.DataFrame()

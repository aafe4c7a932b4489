"""The diagnosis of records: what is of each, and what is of all of them, as the tables of their family."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from evenruler.instruments.instrument import Record, Tables
from evenruler.measurement.figures import Resampling
from evenruler.tables import stacked


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
    found: list[Tables] = [*(record.found for record in records), across]
    return {name: stacked(own[name] for own in found if name in own) for name in door.TABLES}

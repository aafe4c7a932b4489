"""Numbers as people read them."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


def figure_in_words(record: "Mapping[str, Any] | pd.Series[Any] | None", decimals: int = 2) -> str:
    """A figure with its interval and n, or why there is none.

    Args:
        record: `value`, `n`, `low` and `high` if there is an interval, `reason` if the value is null; None for no
            figure at all.
        decimals: Of value and interval.
    """
    if record is None:
        return ""
    low, high = record.get("low"), record.get("high")
    if _null(record["value"]):
        return f"none ({record['reason']})"
    interval = "" if _null(low) else f" [{low:z.{decimals}f}, {high:z.{decimals}f}]"
    return f"{record['value']:z.{decimals}f}{interval}, n = {record['n']}"


def _null(value: float | None) -> bool:
    return value is None or math.isnan(value)

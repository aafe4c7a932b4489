"""Numbers without the last bits, which differ from one processor to another."""

import math

import pandas as pd

DIGITS = 6
"""Significant digits that a computed number of a published table has."""

DECIMALS = 12
"""Decimals beyond which nothing counts: what should be zero comes out as 1e-17 here and as -3e-18 there."""


def rounded(value: float) -> float:
    """A number to `DIGITS` significant digits and at most `DECIMALS` decimals; 0.0 is never negative."""
    if value == 0 or not math.isfinite(value):
        return value + 0.0
    decimals = min(DIGITS - 1 - math.floor(math.log10(abs(value))), DECIMALS)
    return round(value, decimals) + 0.0


def without_last_bits(table: pd.DataFrame) -> pd.DataFrame:
    """The table with its columns of floats rounded; the others as they are. Hash rows after this, not before."""
    floats = [str(name) for name in table.columns if pd.api.types.is_float_dtype(table[name])]
    return table.assign(**{name: table[name].map(rounded) for name in floats})

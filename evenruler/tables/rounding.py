"""Numbers without the last bits, which differ from one processor to another."""

import math
from collections.abc import Mapping
from typing import Any

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


def for_people(content: Any) -> Any:
    """What is written to be read: numbers of nested mappings and lists to three decimals, probabilities to two digits.

    It is the only rounding of a figure; whatever shows fewer decimals takes them from the number itself.

    Args:
        content: As JSON has it. A key that begins with "p" alone or "p_" holds a probability.
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

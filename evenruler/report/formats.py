"""Numbers and verdicts in words, for tables of the page and cards."""

import math
import re
from collections.abc import Mapping
from typing import Any

import pandas as pd

from evenruler.measurement.figures import figure_in_words
from evenruler.models.declarations import label_with_method

SCORE_DECIMALS = 3


def format_figure(record: "Mapping[str, Any] | pd.Series[Any] | None", decimals: int = 2) -> str:
    """As `figure_in_words`, with non-breaking spaces in n and interval."""
    words = figure_in_words(record, decimals)
    return re.sub(r"\[[^]]*\]|n = \d+", lambda match: match[0].replace(" ", "\u00a0"), words)


def format_number(value: float | None, decimals: int = 2) -> str:
    """A number, "" where it is missing; what rounds to 0 has no sign."""
    return "" if is_missing(value) else f"{value:z.{decimals}f}"


def with_interval(
    value: float | None, low: float | None, high: float | None, decimals: int = SCORE_DECIMALS
) -> str:
    """A number with its interval, if it has one; "" where it is missing."""
    interval = (
        ""
        if is_missing(low)
        else f" [{format_number(low, decimals)},\u00a0{format_number(high, decimals)}]"
    )
    return "" if is_missing(value) else f"{format_number(value, decimals)}{interval}"


def round_significant(number: float | None, digits: int) -> float | None:
    """A number with so many significant digits; None where it is missing."""
    return None if is_missing(number) else float(f"{number:.{digits}g}")


def is_missing(value: float | None) -> bool:
    """Whether there is no value."""
    return value is None or math.isnan(value)


def model_labels(models: pd.DataFrame) -> list[str]:
    """Labels of rows with `model` and `method`, for tables without a column `method`
    (`named`).
    """
    return [
        label_with_method(str(m), str(method))
        for m, method in zip(models["model"], models["method"], strict=True)
    ]


def join_names(names: list[str]) -> str:
    """`a`; `a and b`; `a, b and c`."""
    all_but_last = ", ".join(names[:-1])
    return " and ".join(filter(None, [all_but_last, *names[-1:]]))

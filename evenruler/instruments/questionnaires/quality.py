"""Which items need work, and what to change (EMPALC, section 3.3; thresholds of section 4.2)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import pandas as pd

Verdict = Literal["good", "weak", "poor", "told"]


@dataclass(frozen=True)
class Threshold:
    """What is asked of a figure of an item."""

    good: float
    """From here on good."""
    poor: float
    """Up to here, or where `poor_below` below here, poor; weak between the two."""
    poor_below: bool
    advice: str
    """What to change."""


THRESHOLDS = {
    "similarity": Threshold(
        0.5, 0.5, True, "say it closer to the original question: mend the templates, or the source terms"
    ),
    "silhouette": Threshold(
        0.6,
        0.0,
        False,
        "source and inverse terms are answered alike: take plainer opposites, or let the hypothesis point to the term",
    ),
}
"""By measure. SS of at least .5; SC of at least .6 on the model designed for, above 0 on all. Others are told only."""


def quality(items: pd.DataFrame, content: pd.DataFrame) -> pd.DataFrame:
    """Every figure of every item with a verdict, and advice where it is not good.

    Args:
        items: By `schemas.ITEM_SCORES`.
        content: By `schemas.CONTENT`.

    Returns:
        By `schemas.QUALITY`.
    """
    rows = [*_rows(content.assign(model=None)), *_rows(_silhouettes(items))]
    return pd.DataFrame(rows)


def _silhouettes(items: pd.DataFrame) -> pd.DataFrame:
    columns = ["questionnaire", "item", "model", "silhouette"]
    return items[columns].rename(columns={"silhouette": "value"}).assign(measure="silhouette")


def _rows(figures: pd.DataFrame) -> Iterator[dict[str, object]]:
    for record in figures.to_dict("records"):
        measure, value = str(record["measure"]), record["value"]
        threshold = THRESHOLDS.get(measure)
        found = verdict(measure, float(value))
        yield {
            "questionnaire": record["questionnaire"],
            "item": record["item"],
            "measure": measure,
            "model": record["model"],
            "value": value,
            "threshold": threshold.good if threshold else None,
            "verdict": found,
            "advice": threshold.advice if threshold and found in ("weak", "poor") else None,
        }


def verdict(measure: str, value: float) -> Verdict:
    """Good, weak or poor by the threshold of a measure; `told` where it has none, or the value is none."""
    threshold = THRESHOLDS.get(measure)
    if threshold is None or pd.isna(value):
        return "told"
    if value >= threshold.good:
        return "good"
    poor = value < threshold.poor if threshold.poor_below else value <= threshold.poor
    return "poor" if poor else "weak"

"""Which items need work, and what to change (EMPALC, section 3.3; thresholds of section 4.2)."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal

import pandas as pd

from evenruler.errors import UserError
from evenruler.instruments.questionnaires import schemas

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


def of_content(content: pd.DataFrame) -> pd.DataFrame:
    """Figures that depend on no model, by `schemas.QUALITY`.

    Args:
        content: By `schemas.CONTENT`.
    """
    return pd.DataFrame(_rows(content.assign(model=None)), columns=schemas.QUALITY.names)


def of_silhouettes(items: pd.DataFrame) -> pd.DataFrame:
    """SC of every item and model, by `schemas.QUALITY`.

    Args:
        items: By `schemas.ITEM_SCORES`, models named with their form.
    """
    columns = ["questionnaire", "item", "model", "silhouette"]
    silhouettes = items[columns].rename(columns={"silhouette": "value"}).assign(measure="silhouette")
    return pd.DataFrame(_rows(silhouettes), columns=schemas.QUALITY.names)


def refuse_poor(quality: pd.DataFrame, stopping: Collection[str]) -> None:
    """Stop at a poor item of a questionnaire that asks for it.

    Args:
        quality: By `schemas.QUALITY`.
        stopping: The questionnaires that ask for it.

    Raises:
        UserError: There is one.
    """
    poor = quality[(quality["verdict"] == "poor") & quality["questionnaire"].isin(stopping)]
    for record in poor.to_dict("records"):
        raise UserError(
            f"{record['measure']} is {record['value']:.2f}",
            where=f"{record['questionnaire']}, item {record['item']}",
            remedy=f"{record['advice']}; or take `stop_below` out of params.yaml",
        )


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

"""Statistics of single templates beside the figures of quality."""

from typing import Any

import pandas as pd

ITEM_STATISTICS = (
    "mean",
    "sd",
    "item_rest_correlation",
    "low",
    "high",
    "alpha_if_removed",
    "semantic_diversity",
    "lexical_diversity",
)


def with_items(metrics: dict[str, Any], items: pd.DataFrame) -> dict[str, Any]:
    """The metrics with, for each model, what every template adds to its set, under `items`.

    Args:
        metrics: By benchmark, set and model; changed in place.
        items: By `schemas.ITEMS`.
    """
    for row in items.to_dict("records"):
        of_model = metrics[row["benchmark"]][row["set"]][row["model"]]
        statistics = {name: None if pd.isna(row[name]) else float(row[name]) for name in ITEM_STATISTICS}
        of_model.setdefault("items", {})[row["template"]] = {"control": bool(row["control"]), **statistics}
    return metrics

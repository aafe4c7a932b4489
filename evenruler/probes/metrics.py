"""The figures of quality as nested records, for `metrics.json` and for the evidence of a benchmark."""

from typing import Any

import pandas as pd

from evenruler.probes.figures import rounded

OF_THE_SET = "any-model"
"""Where figures stand that do not depend on a model."""

ITEM_STATISTICS = (
    "mean",
    "sd",
    "item_rest_correlation",
    "alpha_if_removed",
    "semantic_diversity",
    "lexical_diversity",
)


def as_metrics(figures: pd.DataFrame) -> dict[str, Any]:
    """Figures by benchmark, set, model and figure.

    Values are rounded to three decimals, so that another processor's last bits do not show.
    """
    metrics: dict[str, Any] = {}
    figures = figures.assign(model=figures["model"].fillna(OF_THE_SET))
    for (benchmark, set_name, model), rows in figures.groupby(["benchmark", "set", "model"], sort=True):
        records = {record.pop("figure"): record for record in rounded(rows)}
        metrics.setdefault(str(benchmark), {}).setdefault(str(set_name), {})[str(model)] = records
    return metrics


def with_items(metrics: dict[str, Any], items: pd.DataFrame) -> dict[str, Any]:
    """The metrics with, for each model, what every template adds to its set, under `items`.

    Args:
        metrics: By benchmark, set and model; changed in place.
        items: By `evenruler.probes.schemas.ITEMS`.
    """
    for row in items.to_dict("records"):
        of_model = metrics[row["benchmark"]][row["set"]][row["model"]]
        statistics = {name: None if pd.isna(row[name]) else round(float(row[name]), 3) for name in ITEM_STATISTICS}
        of_model.setdefault("items", {})[row["template"]] = statistics
    return metrics

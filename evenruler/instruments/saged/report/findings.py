"""What lies out in one domain: one row a feature and configuration, the surest first."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from evenruler.instruments.saged.declare.features import declared_as
from evenruler.instruments.saged.declare.settings import Settings

SERIES = ["domain", "model", "role", "template", "feature", "calibration", "grouping"]
CELL = [*SERIES, "statistic"]
"""What one shape is about."""
SURE = 0.05
"""An adjusted p below it is beyond chance."""
IMPACT = "min_impact_ratio"
METRICS = {
    "range": "range",
    "min_max_ratio": "min-max ratio",
    IMPACT: "min impact ratio",
    "std": "standard deviation",
    "max_z": "largest z",
    "min_z": "least z",
    "dixon_high": "Dixon's ratio at the high end",
    "dixon_low": "Dixon's ratio at the low end",
    "relative_to_mean": "largest distance relative to the mean",
}


def metric_in_words(metric: str) -> str:
    """The name of a disparity as people say it."""
    return METRICS.get(metric, metric.replace("_", " "))


def spread_of(settings: Settings) -> str:
    """The disparity that findings are about: the range, or else the first that is declared."""
    metrics = settings.disparities.metrics
    return "range" if "range" in metrics else metrics[0]


def findings(tables: Mapping[str, pd.DataFrame], settings: Settings) -> pd.DataFrame:
    """Shapes of the headline statistic with the range behind them.

    A feature of a configuration counts once: calibrated where there is a number, raw where there is none. Clusters
    count never: that replies about a concept are near those that say its name is no favour.

    Args:
        tables: `shapes`, `disparities` and `summaries` of one domain and grouping.
        settings: Of the diagnosis.

    Returns:
        The columns of `SHAPES`; `value` (without noise, where that is known), `low`, `high`, `p_adjusted` and
        `spread_reason` of the range; `raw`, its value before calibration; `impact`, the min impact ratio, and
        `impact_low`, `impact_high`, `impact_flag`, `impact_group` and `impact_reason`; `n`, replies (median over
        concepts). The smallest adjusted p first.
    """
    headline = settings.disparities.headline
    shapes = tables["shapes"]
    in_favour = ~shapes["feature"].map(lambda feature: _kind(str(feature), settings) == "clusters").astype(bool)
    shapes = shapes[(shapes["statistic"] == headline) & in_favour]
    disparities = tables["disparities"]
    spread = disparities[(disparities["metric"] == spread_of(settings)) & (disparities["statistic"] == headline)]
    spread = spread.rename(columns={"reason": "spread_reason"})
    spread = spread.assign(value=spread["estimate"].fillna(spread["value"]))
    kept = ["value", "low", "high", "p_adjusted", "spread_reason"]
    impact = _impact(disparities, settings)
    if shapes.empty:
        return shapes.reindex(columns=[*shapes.columns, *kept, *impact.columns.difference(SERIES), "raw", "n"])
    found = shapes.merge(spread[[*CELL, *kept]], on=CELL, how="left", validate="1:1")
    found = found.merge(impact, on=SERIES, how="left", validate="1:1")
    summaries = tables["summaries"]
    n = summaries[summaries["statistic"] == headline].groupby(SERIES)["n"].median()
    found = found.join(n, on=SERIES).join(_raw(spread), on=_without("calibration"))
    order = found.assign(far=-found["z"].abs()).sort_values(["p_adjusted", "far"], na_position="last", kind="stable")
    return _once(order.drop(columns="far"))


def _kind(feature: str, settings: Settings) -> str | None:
    """How a column of numbers is measured."""
    declared = declared_as(feature, settings.features)
    return None if declared is None else settings.features[declared].kind


def _without(column: str) -> list[str]:
    return [name for name in SERIES if name != column]


def _raw(spread: pd.DataFrame) -> "pd.Series[Any]":
    """The range before calibration."""
    raw = spread[spread["calibration"] == "raw"]
    return raw.set_index(_without("calibration"))["value"].rename("raw")


def _impact(disparities: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """The min impact ratio of the first statistic that is a selection rate."""
    rates = [name for name, one in settings.disparities.statistics.items() if one.kind == "selection_rate"]
    rows = disparities[(disparities["metric"] == IMPACT) & disparities["statistic"].isin(rates[:1])]
    rows = rows.assign(value=rows["estimate"].fillna(rows["value"]))
    names = {column: f"impact_{column}" for column in ("low", "high", "flag", "group", "reason")} | {"value": "impact"}
    return rows.rename(columns=names)[[*SERIES, *names.values()]]


def _once(found: pd.DataFrame) -> pd.DataFrame:
    """Calibrated where there is a range, raw where there is none."""
    prefer = found.assign(rank=(found["calibration"] != "calibrated").astype(int) + 2 * found["value"].isna())
    best = prefer.groupby(_without("calibration"))["rank"].transform("min")
    return found[prefer["rank"] == best].drop_duplicates(_without("calibration")).reset_index(drop=True)


def configuration(record: "Mapping[Any, Any] | pd.Series[Any]") -> str:
    """Who was asked, as whom."""
    return f"{record['model']}, {record['role']}"


def sure(found: pd.DataFrame) -> pd.DataFrame:
    """The findings that are beyond chance."""
    return found[found["p_adjusted"] < SURE]

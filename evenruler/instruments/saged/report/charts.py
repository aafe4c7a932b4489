"""Charts of summaries and disparities, and their layout in panels."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import altair as alt
import pandas as pd

from evenruler.report.style import Charts, Choices

CHARTS: Final = Charts(Path(__file__).with_name("charts.yaml"))
CALIBRATIONS: Final = ["raw", "calibrated"]
CONFIGURATION: Final = ["model", "role"]  # filters that may be set to all


def draw_concepts(summaries: pd.DataFrame, choices: Choices) -> alt.TopLevelMixin:
    """Concepts x configurations: numbers are the statistic, colours the z-score of a concept
    (figures 23 to 26).
    """
    filters = ["domain", "feature", "calibration", "statistic", *CONFIGURATION]
    return draw_facets(
        "concepts", choices, summaries, filters, column="model", names=["group", "reason"]
    )


def draw_disparities(disparities: pd.DataFrame, choices: Choices) -> alt.TopLevelMixin:
    """Bars of a disparity, raw above calibrated, and the line of four fifths where `ratio` is 1
    (figure 9).
    """
    filters = ["domain", "feature", "disparity", *CONFIGURATION]
    names = ["group", "calibration", "shape", "reason"]
    return draw_facets("disparities", choices, disparities, filters, row="model", names=names)


def draw_calibration(deviations: pd.DataFrame, choices: Choices) -> alt.TopLevelMixin:
    """Deviation of each concept from the mean of all, raw and calibrated, by configuration (figures
    20 and 21).
    """
    filters, names = ["domain", "feature", *CONFIGURATION], ["group", "calibration"]
    return draw_facets(
        "calibration", choices, deviations, filters, row="model", column="role", names=names
    )


def draw_features_by_role(over_groups: pd.DataFrame, choices: Choices) -> alt.TopLevelMixin:
    """Every feature of every role: bars are means over concepts, lines reach from lowest to highest
    (figure 10a).
    """
    filters = ["domain", "calibration", "statistic", *CONFIGURATION]
    return draw_facets(
        "features", choices, over_groups, filters, row="model", column="role", names=["feature"]
    )


def by_role(over_groups: pd.DataFrame, choices: Choices, title: str) -> alt.TopLevelMixin:
    """A statistic of some features, role by role and model by model (figures 10b and 27 to 29)."""
    filters = ["domain", *CONFIGURATION]
    return draw_facets(
        "by_role",
        choices,
        over_groups,
        filters,
        row="feature",
        column="model",
        names=[],
        title=title,
    )


def tool_bias(table: pd.DataFrame, choices: Choices) -> alt.TopLevelMixin:
    """Mean score by a tool of baselines that differ only in the concept (figure 22)."""
    return CHARTS.drawn(
        choices.chosen(CHARTS.part("tool_bias"), ["group", "reason"], ["domain", "feature"]),
        choices.coded(table),
    )


def context_bias(table: pd.DataFrame, choices: Choices) -> alt.TopLevelMixin:
    """Replies to prompts whose baselines are bad, neutral or good, raw and calibrated (figures 20
    and 21).
    """
    filters, names = ["domain", "feature", *CONFIGURATION], ["calibration", "context"]
    return draw_facets(
        "context_bias", choices, table, filters, row="model", column="role", names=names
    )


def draw_facets(
    name: str,
    choices: Choices,
    table: pd.DataFrame,
    filters: Sequence[str],
    *,
    names: Sequence[str],
    row: str | None = None,
    column: str | None = None,
    **values: object,
) -> alt.TopLevelMixin:
    """Facets of the chosen rows by `row` and `column`; `names`: other columns whose numbers are
    turned into names.

    With both, each panel is titled by both names and panels are wrapped: in a grid, Vega-Lite moves
    up the panels after one without rows, as of a base model in a role, under the wrong title.
    """
    by = [facet_name for facet_name in (row, column) if facet_name]
    columns = list(dict.fromkeys([*CONFIGURATION, *names, *by]))
    sorts = {facet_name: list(choices.names[facet_name]) for facet_name in by}
    spec = CHARTS.part(
        name,
        **{f"all_{column_name}": list(every) for column_name, every in choices.names.items()},
        **values,
    )
    bold = {"labelFontSize": 12, "labelFontWeight": "bold"}
    row_header = {"labelFontSize": 12, "labelAngle": 0, "labelAlign": "left", "labelLimit": 150}
    of_panels: dict[str, Any] = {"type": "nominal", "title": None}
    if row and column:
        order: list[str] = []
        for row_label in sorts[row]:
            order += [f"{row_label}, {column_label}" for column_label in sorts[column]]
        facet = {
            **of_panels,
            "field": "panel",
            "sort": order,
            "header": {**bold, "labelLimit": 320},
        }
        spec |= {"facet": facet, "columns": len(sorts[column])}
        panel = {"calculate": f"datum.{row} + ', ' + datum.{column}", "as": "panel"}
        spec["transform"] = [panel, *spec.get("transform", [])]
    else:
        side, header = ("row", row_header) if row else ("column", {**bold, "labelLimit": 200})
        spec["facet"] = {
            side: {**of_panels, "field": by[0], "sort": sorts[by[0]], "header": header}
        }
    spec["spacing"] = {"row": 14, "column": 16}
    return CHARTS.drawn(choices.chosen(spec, columns, filters, CONFIGURATION), choices.coded(table))

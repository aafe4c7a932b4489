"""Altair charts of what cues change: the shares of classes and a study's measures, figures 3 and 5 of the paper."""

from collections.abc import Mapping
from typing import Any, Final

import altair as alt
import pandas as pd

from evenruler.instruments.framing.report.drawing import (
    DIGITS,
    FEWEST_DRAWN,
    LABELS,
    WIDE,
    in_order,
    intervals,
    of_mean,
    rows,
)
from evenruler.report.style import INK, ONE_HUE, QUIET
from evenruler.tables import stacked

MOMENTS: Final = ["before", "after"]
ROUNDED = 5 * 10**-DIGITS
"""Sums of values that were rounded differ by less."""


def shifts(shifts: pd.DataFrame, means: pd.DataFrame) -> alt.FacetChart:
    """How much more or less of every class there is with the cues, a panel a model (framing, figure 3).

    Args:
        shifts: By `evenruler.instruments.framing.schemas.SHIFTS`, of cues; drawn where there are too few stimuli.
        means: By `model` and `outcome` the mean with its interval, and that of placebos: `value`, `low`, `high`,
            `control`.
    """
    data = _bars_and_dots(shifts, means).round(DIGITS)
    outcomes = in_order(shifts["outcome"])
    title = "mean shift: below 0, less with the cue; above 0, more"
    classes = alt.Y("outcome:N", sort=outcomes, title=None)
    x = alt.X("value:Q", title=title).axis(tickCount=5, titleLimit=WIDE)
    named = [alt.Tooltip("model:N"), alt.Tooltip("outcome:N", title="class")]
    bars = (
        alt.Chart()
        .transform_filter("!isValid(datum.stimulus)")
        .mark_bar(color=ONE_HUE, opacity=0.75, height={"band": 0.7})
        .encode(y=classes, x=x, tooltip=[*named, *of_mean()])
    )
    single = alt.Chart().transform_filter("isValid(datum.stimulus)").mark_circle(color=ONE_HUE, opacity=0.6, size=26)
    single = single.encode(y=classes, x=x, tooltip=[*named, "stimulus:N", alt.Tooltip("value:Q", title="shift")])
    interval = intervals().mark_rule(color=INK, strokeWidth=1.8)
    interval = interval.encode(y=classes, x=alt.X("low:Q", title=title), x2="high:Q")
    control = alt.Chart().transform_filter("isValid(datum.control)").mark_tick(color=INK, thickness=2, size=20)
    control = control.encode(
        y=classes,
        x=alt.X("control:Q", title=title),
        tooltip=[*named, alt.Tooltip("control:Q", title="with placebos", format=".3f")],
    )
    zero = alt.Chart().mark_rule(color=INK).encode(x=alt.XDatum(0))
    # A layer without any row would have no extent to draw it in.
    drawn = {"bars": data["stimulus"].isna(), "single": data["stimulus"].notna(), "interval": data["low"].notna()}
    drawn["control"] = data["control"].notna()
    layers = {"bars": bars, "single": single, "interval": interval, "control": control}
    chart: alt.FacetChart = (
        alt.layer(*(layer for name, layer in layers.items() if drawn[name].any()), zero)
        .properties(width=WIDE - 70, height=22 * len(outcomes))
        .facet(row=rows(shifts["model"]), data=data, spacing={"row": 10})
    )
    return chart


def _bars_and_dots(shifts: pd.DataFrame, means: pd.DataFrame) -> pd.DataFrame:
    """One line a bar, `stimulus` null; where it would be of too few stimuli, one line a stimulus."""
    bar = ["model", "outcome"]
    by_stimulus = shifts.groupby([*bar, "stimulus"], sort=False)["shift"].mean().rename("value").reset_index()
    enough = by_stimulus.groupby(bar, sort=False)["stimulus"].transform("size") >= FEWEST_DRAWN
    bars = by_stimulus.loc[enough, bar].drop_duplicates().merge(means, on=bar)
    columns = [*bar, "stimulus", "value", "low", "high", "control"]
    return stacked([bars, by_stimulus[~enough]]).reindex(columns=columns)


def replications(replications: pd.DataFrame) -> alt.FacetChart:
    """Every measure of a study before and after the intervention, a panel a model (framing, figure 5).

    Args:
        replications: By `evenruler.instruments.framing.schemas.REPLICATIONS`, rows with `before` and `after`.
    """
    data = _moments(replications)
    measures = in_order(data["measure"])
    title = "value of the measure"
    base = alt.Chart().encode(
        y=alt.Y("measure:N", sort=measures, title=None).axis(labelLimit=LABELS),
        yOffset=alt.YOffset("moment:N", sort=MOMENTS),
        color=alt.Color(
            "moment:N",
            sort=MOMENTS,
            scale=alt.Scale(domain=MOMENTS, range=[QUIET, ONE_HUE]),
            legend=alt.Legend(title=None, orient="top", symbolType="circle", symbolSize=90),
        ),
    )
    path = base.mark_line(strokeWidth=1.2).encode(
        x=alt.X("value:Q", title=title), detail="measure:N", order="step:Q", color=alt.value(QUIET)
    )
    intervals = base.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=2.5, opacity=0.55)
    intervals = intervals.encode(x=alt.X("low:Q", title=title), x2="high:Q")
    ways = alt.Scale(
        domain=["before", "up", "down", "same"], range=["circle", "triangle-right", "triangle-left", "circle"]
    )
    points = base.mark_point(filled=True, size=120, opacity=1).encode(
        x=alt.X("value:Q", title=title),
        shape=alt.Shape("way:N", scale=ways, legend=None),
        tooltip=["model:N", "measure:N", "moment:N", *of_mean()],
    )
    placebos = base.transform_filter("isValid(datum.placebos)").mark_tick(color=INK, thickness=2, size=16)
    placebos = placebos.encode(
        x=alt.X("placebos:Q", title=title),
        color=alt.value(INK),
        tooltip=[alt.Tooltip("placebos:Q", title="after placebos", format=".3f")],
    )
    zero = alt.Chart().mark_rule(color=INK, opacity=0.5).encode(x=alt.XDatum(0))
    chart: alt.FacetChart = (
        alt.layer(zero, path, intervals, points, placebos)
        .properties(width=WIDE - 160, height=36 * len(measures))
        .facet(row=rows(data["model"]), data=data, spacing={"row": 10})
    )
    return chart


def _moments(replications: pd.DataFrame) -> pd.DataFrame:
    """One line a measure and moment; `way`: where the value goes; `placebos`: where they bring it."""
    rows = []
    for record in replications.round(DIGITS).to_dict("records"):
        change = record["after"] - record["before"]
        way = "up" if change > 0 else "down" if change < 0 else "same"
        for step, moment in enumerate(MOMENTS):
            own = {"value": moment, "low": f"{moment}_low", "high": f"{moment}_high"}
            row = {"model": record["model"], "measure": record["measure"], "moment": moment, "step": step}
            row |= {"way": way if step else "before", **{key: record[name] for key, name in own.items()}}
            rows.append(row | {"placebos": _with_placebos(record) if step else None})
    return pd.DataFrame(rows)


def _with_placebos(record: Mapping[Any, Any]) -> float | None:
    """Where placebos bring a measure; None where they are of other stimuli, and the measure of these is another."""
    same = abs(record["after"] - record["before"] - record["control"] - record["difference"]) < ROUNDED
    return float(record["before"] + record["control"]) if same else None

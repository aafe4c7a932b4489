"""Altair charts of the framing family: figures 1 to 5 of the paper.

Names stand as they are to be read, in the order of their rows.
"""

from collections.abc import Sequence
from typing import Any, Final

import altair as alt
import pandas as pd

from evenruler.measurement import bootstrap
from evenruler.report.style import INK, ONE_HUE, QUIET

DIGITS = 4
"""Decimals that a page keeps; values that agree in them are one value."""
FEWEST_FOR_A_SHAPE = 5
"""Dots below which a density would draw what nobody saw."""
GOLDEN = 0.618034
"""Its multiples, less their whole part, spread evenly over 0 to 1, however many they are."""
SPREAD = 0.9
"""Height of the band of dots; a violin is 2 high."""
WIDE, NARROW = 640, 300
LABELS = 230
"""Pixels that a name of a model may take."""
APD_TITLE = "APD: 0, the same shares of classes; 1, none in common"
MOMENTS: Final = ["before", "after"]
LEVEL, RESAMPLES, SEED = 0.95, 2000, 0


def shift_probability(effects: pd.DataFrame, means: pd.DataFrame) -> alt.FacetChart:
    """How far the cues move each model's answers, a dot a stimulus (framing, figure 1).

    Args:
        effects: By `evenruler.instruments.framing.schemas.EFFECTS`; a dot is the mean over tasks, then over factors.
        means: By `model` the mean with its interval: `value`, `low`, `high`.
    """
    by_factor = effects.groupby(["model", "stimulus", "factor"], sort=False)["apd"].mean()
    dots = by_factor.groupby(["model", "stimulus"], sort=False).mean().reset_index()
    return _violins(dots, means, row="model", width=WIDE)


def effects(effects: pd.DataFrame, means: pd.DataFrame) -> alt.FacetChart:
    """The same, factor by factor (framing, figure 2).

    Args:
        effects: By `evenruler.instruments.framing.schemas.EFFECTS`; a dot is the mean over tasks.
        means: By `model` and `factor` the mean with its interval: `value`, `low`, `high`.
    """
    dots = effects.groupby(["model", "stimulus", "factor"], sort=False)["apd"].mean().reset_index()
    return _violins(dots, means, row="model", column="factor", width=_shared(effects["factor"], 760))


def metrics(effects: pd.DataFrame) -> alt.FacetChart:
    """Both metrics above each other, a panel a task, a dot a stimulus of one model (framing, figure 4).

    Args:
        effects: By `evenruler.instruments.framing.schemas.EFFECTS`; a dot is the mean over factors. Means are over all
            dots.
    """
    by = ["metric", "task", "model", "stimulus"]
    dots = effects.groupby(by, sort=False)["apd"].mean().reset_index()
    means = over_stimuli(dots, ["metric", "task"], "apd")
    return _violins(dots, means, row="metric", column="task", width=_shared(effects["task"], 820), height=84)


def _shared(names: "pd.Series[Any]", width: int) -> float:
    """The width of one of several panels."""
    return min(NARROW, width / max(1, names.nunique()))


def over_stimuli(table: pd.DataFrame, by: Sequence[str], of: str) -> pd.DataFrame:
    """Means with bootstrap intervals over stimuli, drawn with all their rows: `value`, `low`, `high`."""
    rows = []
    for key, group in table.groupby(list(by), sort=False):
        stimuli = group.groupby("stimulus", sort=True)[of].agg(["sum", "count"]).to_numpy()
        row = {**dict(zip(by, key, strict=True)), "value": group[of].mean(), "low": None, "high": None}
        if len(stimuli) > 1:
            interval = bootstrap(_ratio, stimuli, level=LEVEL, n=RESAMPLES, seed=SEED)
            row |= {"low": interval.low, "high": interval.high}
        rows.append(row)
    return pd.DataFrame(rows)


def _ratio(sums_and_counts: Any) -> float:
    total, count = sums_and_counts.sum(axis=0)
    return float(total / count)


def _violins(
    dots: pd.DataFrame, means: pd.DataFrame, *, row: str, column: str | None = None, width: float, height: int = 58
) -> alt.FacetChart:
    """Dots on the mirrored density of a panel, with mean and interval; too few or equal dots stand without one."""
    panel = [row, *([column] if column else [])]
    title = APD_TITLE if column is None else "APD"
    layers = alt.layer(_shape(panel, title), _dots(dots, title), *_mean(title))
    chart: alt.FacetChart = layers.properties(width=width, height=height).facet(
        data=_with_means(dots, means, panel),
        row=_rows(dots[row]),
        column=_columns(dots[column], width) if column else alt.Undefined,
        spacing={"row": 6, "column": 22},
    )
    return chart


def _with_means(dots: pd.DataFrame, means: pd.DataFrame, panel: list[str]) -> pd.DataFrame:
    """One line a dot, with its place across the violin, and one a mean, without a stimulus."""
    dots = dots.assign(apd=dots["apd"].round(DIGITS))
    of_panel = dots.groupby(panel, sort=False)["apd"]
    number = of_panel.cumcount() + 1
    shaped = (of_panel.transform("nunique") > 1) & (of_panel.transform("size") >= FEWEST_FOR_A_SHAPE)
    dots = dots.assign(across=((number * GOLDEN) % 1 - 0.5) * SPREAD, shaped=shaped).round({"across": 2})
    seen = means[[*panel, "value", "low", "high"]].round(DIGITS)
    return pd.concat([dots, seen.assign(shaped=False)], ignore_index=True)


def _in_order(names: "pd.Series[Any]") -> list[str]:
    return [str(name) for name in names.unique()]


def _rows(names: "pd.Series[Any]") -> alt.Row:
    """A panel a name, each below the other, the name on its left."""
    header = alt.Header(labelAngle=0, labelAlign="left", labelLimit=LABELS, labelFontSize=12)
    return alt.Row(f"{names.name}:N", sort=_in_order(names), title=None, header=header)


def _columns(names: "pd.Series[Any]", width: float) -> alt.Column:
    header = alt.Header(labelFontWeight="bold", labelLimit=width)
    return alt.Column(f"{names.name}:N", sort=_in_order(names), title=None, header=header)


def _apd(title: str, field: str = "apd") -> alt.X:
    return alt.X(f"{field}:Q", scale=alt.Scale(domain=[0, 1], nice=False), title=title).axis(tickCount=5)


def _across(field: str = "across") -> alt.Y:
    return alt.Y(f"{field}:Q", scale=alt.Scale(domain=[-1.1, 1.1], nice=False), axis=None)


def _shape(panel: list[str], title: str) -> alt.Chart:
    """The density between the outermost dots, as high everywhere as its own peak allows."""
    chart: alt.Chart = (
        alt.Chart()
        .transform_filter("datum.shaped")
        .transform_density("apd", as_=["apd", "density"], groupby=[*panel], resolve="independent", steps=80)
        .transform_joinaggregate(peak="max(density)", groupby=[*panel])
        .transform_calculate(upper="datum.density / datum.peak", lower="-datum.density / datum.peak")
        .mark_area(color=ONE_HUE, opacity=0.2, tooltip=None)
        .encode(x=_apd(title), y=_across("upper"), y2="lower:Q")
    )
    return chart


def _dots(dots: pd.DataFrame, title: str) -> alt.Chart:
    """A dot a stimulus; hover for all that is known of it."""
    known = [name for name in dots.columns if name != "apd"]
    chart: alt.Chart = (
        alt.Chart()
        .transform_filter("isValid(datum.stimulus)")
        .mark_circle(color=ONE_HUE, opacity=0.6, size=26)
        .encode(
            x=_apd(title),
            y=_across(),
            tooltip=[*(alt.Tooltip(f"{name}:N") for name in known), alt.Tooltip("apd:Q", format=".3f", title="APD")],
        )
    )
    return chart


def _mean(title: str) -> tuple[alt.Chart, alt.Chart]:
    middle = alt.YDatum(0, scale=alt.Scale(domain=[-1.1, 1.1], nice=False), axis=None)
    rule = _intervals().mark_rule(color=INK, strokeWidth=2.5).encode(x=_apd(title, "low"), x2="high:Q", y=middle)
    point = (
        alt.Chart()
        .transform_filter("isValid(datum.value)")
        .mark_point(shape="diamond", filled=True, color=INK, stroke="white", strokeWidth=1, size=75, opacity=1)
        .encode(x=_apd(title, "value"), y=middle, tooltip=_of_mean())
    )
    return rule, point


def _intervals() -> alt.Chart:
    """Rows that have an interval: one value has none."""
    chart: alt.Chart = alt.Chart().transform_filter("isValid(datum.low)")
    return chart


def _of_mean() -> list[alt.Tooltip]:
    return [
        alt.Tooltip(f"{field}:Q", title=title, format=".3f")
        for field, title in (("value", "mean"), ("low", "interval from"), ("high", "to"))
    ]


def shifts(shifts: pd.DataFrame) -> alt.FacetChart:
    """How much more or less of every class there is with the cues, a panel a model (framing, figure 3).

    Args:
        shifts: By `evenruler.instruments.framing.schemas.SHIFTS`. A bar is the mean over all pairs of cells and
            stimuli.
    """
    data = over_stimuli(shifts, ["model", "outcome"], "shift").round(DIGITS)
    outcomes = _in_order(data["outcome"])
    title = "mean shift: below 0, less with the cue; above 0, more"
    classes = alt.Y("outcome:N", sort=outcomes, title=None)
    bars = (
        alt.Chart()
        .mark_bar(color=ONE_HUE, opacity=0.75, height={"band": 0.7})
        .encode(
            y=classes,
            x=alt.X("value:Q", title=title).axis(tickCount=5, titleLimit=WIDE),
            tooltip=[alt.Tooltip("model:N"), alt.Tooltip("outcome:N", title="class"), *_of_mean()],
        )
    )
    interval = _intervals().mark_rule(color=INK, strokeWidth=1.8)
    interval = interval.encode(y=classes, x=alt.X("low:Q", title=title), x2="high:Q")
    zero = alt.Chart().mark_rule(color=INK).encode(x=alt.XDatum(0))
    chart: alt.FacetChart = (
        alt.layer(bars, interval, zero)
        .properties(width=WIDE - 70, height=22 * len(outcomes))
        .facet(row=_rows(data["model"]), data=data, spacing={"row": 10})
    )
    return chart


def replications(replications: pd.DataFrame) -> alt.FacetChart:
    """Every measure of a study before and after the intervention, a panel a model (framing, figure 5).

    Args:
        replications: By `evenruler.instruments.framing.schemas.REPLICATIONS`, rows with `before` and `after`.
    """
    data = _moments(replications)
    measures = _in_order(data["measure"])
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
        tooltip=["model:N", "measure:N", "moment:N", *_of_mean()],
    )
    zero = alt.Chart().mark_rule(color=INK, opacity=0.5).encode(x=alt.XDatum(0))
    chart: alt.FacetChart = (
        alt.layer(zero, path, intervals, points)
        .properties(width=WIDE - 160, height=36 * len(measures))
        .facet(row=_rows(data["model"]), data=data, spacing={"row": 10})
    )
    return chart


def _moments(replications: pd.DataFrame) -> pd.DataFrame:
    """One line a measure and moment; `way`: where the value goes."""
    rows = []
    for record in replications.round(DIGITS).to_dict("records"):
        change = record["after"] - record["before"]
        way = "up" if change > 0 else "down" if change < 0 else "same"
        for step, moment in enumerate(MOMENTS):
            own = {"value": moment, "low": f"{moment}_low", "high": f"{moment}_high"}
            row = {"model": record["model"], "measure": record["measure"], "moment": moment, "step": step}
            rows.append({**row, "way": way if step else "before", **{key: record[name] for key, name in own.items()}})
    return pd.DataFrame(rows)

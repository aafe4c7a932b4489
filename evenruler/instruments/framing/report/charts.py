"""Altair charts of a contrast: how much cues change answers, and which classes (figures 1 to 5 of the paper)."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import altair as alt
import numpy as np
import pandas as pd

from evenruler.measurement.resampling import FEWEST_UNITS, jackknife
from evenruler.report.style import GROUND, INK, ONE_HUE, PALE_HUE, QUIET
from evenruler.tables import stacked

DIGITS = 4
"""Decimals that a page keeps; values that agree in them count as equal."""
WIDE, NARROW, LABELS = 640, 300, 230
"""Pixels: width of a panel, of one of several side by side, and most of a model's name."""
GOLDEN = 0.618034
"""The fractional parts of its multiples spread evenly over 0 to 1, for any number of them."""
SPREAD = 0.9
"""Height of the band of dots; a violin is 2 high."""
CUE, STIMULUS, PLACEBO = "cue", "cue, one stimulus", "a placebo in its place"
DOTS: Final = {CUE: (ONE_HUE, 95), STIMULUS: (PALE_HUE, 26), PLACEBO: (QUIET, 40)}
"""Hue and area of a dot, by what it shows."""
MOMENTS: Final = ["before", "after"]


def in_order(names: "pd.Series[Any]") -> list[str]:
    """Each name once, in order of first occurrence."""
    return [str(name) for name in names.unique()]


def _where(condition: str) -> alt.Chart:
    """A layer with the rows that satisfy the condition; all layers share their data."""
    return alt.Chart().transform_filter(condition)


def _numbers(**titles: str) -> list[alt.Tooltip]:
    """Tooltips of numbers, by field."""
    return [alt.Tooltip(f"{field}:Q", title=title, format=".3f") for field, title in titles.items()]


OF_MEAN: Final = {"value": "mean", "low": "interval from", "high": "to"}


def _panels(
    layers: Any,
    data: pd.DataFrame,
    row: "pd.Series[Any]",
    column: "pd.Series[Any] | None" = None,
    *,
    size: tuple[float, int],
    between: Mapping[str, int],
) -> alt.FacetChart:
    """One panel per name of `row`, below each other with the name on the left; those of `column` side by side."""
    below = alt.Header(labelAngle=0, labelAlign="left", labelLimit=LABELS, labelFontSize=12)
    by: dict[str, Any] = {"row": alt.Row(f"{row.name}:N", sort=in_order(row), title=None, header=below)}
    if column is not None:
        header = alt.Header(labelFontWeight="bold", labelLimit=size[0])
        by["column"] = alt.Column(f"{column.name}:N", sort=in_order(column), title=None, header=header)
    chart: alt.FacetChart = layers.properties(width=size[0], height=size[1]).facet(data=data, spacing=between, **by)
    return chart


def shift_probability(effects: pd.DataFrame, means: pd.DataFrame) -> alt.FacetChart:
    """How much the cues change each model's answers, one dot per stimulus: mean over tasks, then factors (figure 1).

    `effects`: by `schemas.EFFECTS`. `means`: by `model` the mean with its interval: `value`, `low`, `high`.
    """
    by_factor = effects.groupby(["model", "stimulus", "factor"], sort=False)["apd"].mean()
    dots = by_factor.groupby(["model", "stimulus"], sort=False).mean().reset_index()
    return _violins(dots, means, row="model", size=(WIDE, 58))


def cues_among_placebos(effects: pd.DataFrame, means: pd.DataFrame) -> alt.FacetChart:
    """Effect of each cue in each task, with placebos in its place (figure 2, by task and with controls).

    `effects`: by `schemas.EFFECTS`, with placebos, one dot each, however few. `means`: of cues, by `model`, `factor`
    and `task` the mean with its interval; with too few stimuli, one dot per stimulus is drawn instead.
    """
    # One line per dot: `kind`, `value`, for a cue `low` and `high`; `what`: label of the dot.
    panel = ["model", "factor", "task"]
    cues, placebos = effects[effects["placebo"] == 0], effects[effects["placebo"] > 0]
    enough = cues.groupby(panel, sort=False)["stimulus"].transform("nunique") >= FEWEST_UNITS
    drawn = cues.loc[enough, panel].drop_duplicates().merge(means, on=panel)
    single = cues.loc[~enough, [*panel, "stimulus", "apd"]].rename(columns={"apd": "value", "stimulus": "what"})
    by_placebo = placebos.groupby([*panel, "placebo"], sort=False)["apd"]
    known = by_placebo.agg(value="mean", size="size").reset_index()
    what = "placebo " + known["placebo"].astype(str) + ", of " + known["size"].astype(str) + " stimuli"
    dots = [known[[*panel, "value"]].assign(kind=PLACEBO, what=what), single.assign(kind=STIMULUS)]
    found = stacked([*dots, drawn.assign(kind=CUE, what=CUE)])  # later rows are drawn on top
    # Vega puts a panel without rows first, which gives all others wrong names; so add an empty row.
    every = pd.MultiIndex.from_product([in_order(effects[name]) for name in panel[1:]], names=panel[1:])
    empty = every.difference(pd.MultiIndex.from_frame(found[panel[1:]]), sort=False)
    found = stacked([found, empty.to_frame(index=False).assign(model=found["model"].iloc[0])])
    data = found.reindex(columns=[*panel, "value", "low", "high", "kind", "what"]).round(DIGITS)
    models = in_order(effects["model"])
    kinds = [kind for kind in DOTS if kind in set(data["kind"])]
    data = data.assign(area=data["kind"].map({kind: area for kind, (_, area) in DOTS.items()}))
    lane = alt.Y("model:N", sort=models, title=None).axis(labelLimit=LABELS)
    rule = _where("isValid(datum.low)").mark_rule(color=INK, strokeWidth=1.5, clip=True)
    each = alt.Chart().mark_circle(opacity=0.85)
    colour = alt.Color(
        "kind:N",
        scale=alt.Scale(domain=kinds, range=[DOTS[kind][0] for kind in kinds]),
        legend=alt.Legend(title=None, orient="top", symbolSize=60),
    )
    told = ["model:N", "factor:N", "task:N", "what:N", *_numbers(value="APD")]
    layers = alt.layer(
        rule.encode(y=lane, x=_apd("APD", "low"), x2="high:Q"),
        each.encode(y=lane, x=_apd("APD", "value"), color=colour, size=alt.Size("area:Q", scale=None), tooltip=told),
    )
    size = _shared(effects["task"], 720), 26 * len(models)
    return _panels(layers, data, effects["factor"], effects["task"], size=size, between={"row": 10, "column": 22})


def metrics(effects: pd.DataFrame) -> alt.FacetChart:
    """Both metrics above each other, one panel per task, one dot per stimulus and model: mean over factors (figure 4).

    `effects`: by `schemas.EFFECTS`, of cues. Means are over all dots.
    """
    dots = effects.groupby(["metric", "task", "model", "stimulus"], sort=False)["apd"].mean().reset_index()
    means = over_stimuli(dots, ["metric", "task"], "apd")
    return _violins(dots, means, row="metric", column="task", size=(_shared(effects["task"], 820), 84))


def _shared(names: "pd.Series[Any]", width: int) -> float:
    return min(NARROW, width / max(1, names.nunique()))


def over_stimuli(table: pd.DataFrame, by: Sequence[str], of: str) -> pd.DataFrame:
    """Means with jackknife intervals that leave out all rows of a stimulus: `value`, `low`, `high`, `stimuli`."""
    rows = []
    for key, group in table.groupby(list(by), sort=False):
        stimuli = group.groupby("stimulus", sort=True)[of].agg(["sum", "count"]).to_numpy()
        mean = jackknife(lambda sums_and_counts: float(np.divide(*sums_and_counts.sum(axis=0))), stimuli)
        rows.append({**dict(zip(by, key, strict=True)), **vars(mean), "stimuli": len(stimuli)})
    return pd.DataFrame(rows)


def _violins(
    dots: pd.DataFrame, means: pd.DataFrame, *, row: str, column: str | None = None, size: tuple[float, int]
) -> alt.FacetChart:
    """Dots on the mirrored density of a panel, with mean and interval; no density for too few or equal dots."""
    panel = [row, *([column] if column else [])]
    title = "APD: 0, the same shares of classes; 1, none in common" if column is None else "APD"
    across = alt.Scale(domain=[-1.1, 1.1], nice=False)
    middle = alt.YDatum(0, scale=across, axis=None)
    # The density between the outermost dots, scaled to the same peak in every panel.
    shape = (
        _where("datum.shaped")
        .transform_density("apd", as_=["apd", "density"], groupby=[*panel], resolve="independent", steps=80)
        .transform_joinaggregate(peak="max(density)", groupby=[*panel])
        .transform_calculate(upper="datum.density / datum.peak", lower="-datum.density / datum.peak")
        .mark_area(color=ONE_HUE, opacity=0.2, tooltip=None)
        .encode(x=_apd(title), y=alt.Y("upper:Q", scale=across, axis=None), y2="lower:Q")
    )
    # One dot per stimulus, with all its fields in the tooltip.
    known = [*(alt.Tooltip(f"{name}:N") for name in dots.columns if name != "apd"), *_numbers(apd="APD")]
    each = _where("isValid(datum.stimulus)").mark_circle(color=ONE_HUE, opacity=0.6, size=26)
    diamond: dict[str, Any] = {"shape": "diamond", "filled": True, "color": INK, "stroke": GROUND, "size": 75}
    mean = _where("isValid(datum.value)").mark_point(**diamond, strokeWidth=1, opacity=1)
    rule = _where("isValid(datum.low)").mark_rule(color=INK, strokeWidth=2.5, clip=True)
    layers = alt.layer(
        shape,
        each.encode(x=_apd(title), y=alt.Y("across:Q", scale=across, axis=None), tooltip=known),
        rule.encode(x=_apd(title, "low"), x2="high:Q", y=middle),
        mean.encode(x=_apd(title, "value"), y=middle, tooltip=_numbers(**OF_MEAN)),
    )
    data, beside = _with_means(dots, means, panel), dots[column] if column else None
    return _panels(layers, data, dots[row], beside, size=size, between={"row": 6, "column": 22})


def _with_means(dots: pd.DataFrame, means: pd.DataFrame, panel: list[str]) -> pd.DataFrame:
    """One line per dot, with its place across the violin, and one per mean (no stimulus), unless stimuli are few."""
    dots = dots.assign(apd=dots["apd"].round(DIGITS))
    by_panel = dots.groupby(panel, sort=False)
    enough = by_panel["stimulus"].transform("nunique") >= FEWEST_UNITS
    number = by_panel["apd"].cumcount() + 1
    shaped = enough & (by_panel["apd"].transform("nunique") > 1)
    drawn = means.merge(dots.loc[enough, panel].drop_duplicates(), on=panel)
    seen = drawn.reindex(columns=[*panel, "value", "low", "high"]).round(DIGITS)
    dots = dots.assign(across=((number * GOLDEN) % 1 - 0.5) * SPREAD, shaped=shaped).round({"across": 2})
    return pd.concat([dots, seen.assign(shaped=False)] if len(seen) else [dots], ignore_index=True)


def _apd(title: str, field: str = "apd") -> alt.X:
    return alt.X(f"{field}:Q", scale=alt.Scale(domain=[0, 1], nice=False), title=title).axis(tickCount=5)


def shifts(shifts: pd.DataFrame, means: pd.DataFrame) -> alt.FacetChart:
    """How much more or less often every class occurs with the cues, one panel per model (figure 3).

    `shifts`: by `schemas.SHIFTS`, of cues; drawn where there are too few stimuli. `means`: by `model` and `outcome` the
    mean with its interval.
    """
    # One line per bar, `stimulus` null; with too few stimuli, one line per stimulus instead.
    bar = ["model", "outcome"]
    by_stimulus = shifts.groupby([*bar, "stimulus"], sort=False)["shift"].mean().rename("value").reset_index()
    enough = by_stimulus.groupby(bar, sort=False)["stimulus"].transform("size") >= FEWEST_UNITS
    bars = by_stimulus.loc[enough, bar].drop_duplicates().merge(means, on=bar)
    data = stacked([bars, by_stimulus[~enough]]).reindex(columns=[*bar, "stimulus", *OF_MEAN]).round(DIGITS)
    outcomes = in_order(shifts["outcome"])
    title = "mean shift: below 0, less with the cue; above 0, more"
    classes = alt.Y("outcome:N", sort=outcomes, title=None)
    x = alt.X("value:Q", title=title).axis(tickCount=5, titleLimit=WIDE)
    named = [alt.Tooltip("model:N"), alt.Tooltip("outcome:N", title="class")]
    of_stimulus = [*named, "stimulus:N", alt.Tooltip("value:Q", title="shift")]
    single = _where("isValid(datum.stimulus)").mark_circle(color=ONE_HUE, opacity=0.6, size=26)
    mean = _where("!isValid(datum.stimulus)").mark_bar(color=ONE_HUE, opacity=0.75, height={"band": 0.7})
    interval = _where("isValid(datum.low)").mark_rule(color=INK, strokeWidth=1.8)
    layers = [
        (data["stimulus"].isna(), mean.encode(y=classes, x=x, tooltip=[*named, *_numbers(**OF_MEAN)])),
        (data["stimulus"].notna(), single.encode(y=classes, x=x, tooltip=of_stimulus)),
        (data["low"].notna(), interval.encode(y=classes, x=alt.X("low:Q", title=title), x2="high:Q")),
    ]
    zero = alt.Chart().mark_rule(color=INK).encode(x=alt.XDatum(0))
    # Leave out layers without rows, which would have no extent.
    layered = alt.layer(*(layer for drawn, layer in layers if drawn.any()), zero)
    return _panels(layered, data, shifts["model"], size=(WIDE - 70, 22 * len(outcomes)), between={"row": 10})


def replications(replications: pd.DataFrame) -> alt.FacetChart:
    """Every measure of a study before and after the intervention, one panel per model (framing, figure 5)."""
    # One line per measure and moment; `way`: direction of the change.
    found = replications.round(DIGITS).reset_index(drop=True)
    ways = (found["after"] - found["before"]).map(np.sign).map({1: "up", -1: "down", 0: "same"})
    moments = []
    for step, moment in enumerate(MOMENTS):
        told: dict[str, Any] = {"moment": moment, "step": step, "way": ways if step else "before"}
        told |= {"value": found[moment], "low": found[f"{moment}_low"], "high": found[f"{moment}_high"]}
        moments.append(found[["model", "measure"]].assign(**told))
    data = pd.concat(moments).sort_index(kind="stable")
    measures = in_order(data["measure"])
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

    def at(field: str) -> alt.X:
        return alt.X(f"{field}:Q", title="value of the measure")

    shapes = {"before": "circle", "up": "triangle-right", "down": "triangle-left", "same": "circle"}
    drawn = alt.Scale(domain=list(shapes), range=list(shapes.values()))
    zero = alt.Chart().mark_rule(color=INK, opacity=0.5).encode(x=alt.XDatum(0))
    path = base.mark_line(strokeWidth=1.2)
    intervals = base.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=2.5, opacity=0.55)
    points = base.mark_point(filled=True, size=120, opacity=1)
    layers = alt.layer(
        zero,
        path.encode(x=at("value"), detail="measure:N", order="step:Q", color=alt.value(QUIET)),
        intervals.encode(x=at("low"), x2="high:Q"),
        points.encode(
            x=at("value"),
            shape=alt.Shape("way:N", scale=drawn, legend=None),
            tooltip=["model:N", "measure:N", "moment:N", *_numbers(**OF_MEAN)],
        ),
    )
    return _panels(layers, data, data["model"], size=(WIDE - 160, 36 * len(measures)), between={"row": 10})

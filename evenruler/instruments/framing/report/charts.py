"""Altair charts of a contrast: how far cues move answers, and what they change (figures 1 to 5 of the paper)."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import altair as alt
import pandas as pd

from evenruler.measurement.resampling import FEWEST_UNITS, jackknife
from evenruler.measurement.verdicts import Verdict
from evenruler.report.style import GROUND, INK, ONE_HUE, PALE_HUE, QUIET
from evenruler.tables import stacked

DIGITS = 4
"""Decimals that a page keeps; values that agree in them are one value."""
FEWEST_DRAWN = FEWEST_UNITS
"""Stimuli below which no density and no mean is drawn, which nobody saw; only the dots."""
WIDE = 640
LABELS = 230
"""Pixels that a name of a model may take."""


def in_order(names: "pd.Series[Any]") -> list[str]:
    """Each name once, as they come."""
    return [str(name) for name in names.unique()]


def rows(names: "pd.Series[Any]") -> alt.Row:
    """A panel a name, each below the other, the name on its left."""
    header = alt.Header(labelAngle=0, labelAlign="left", labelLimit=LABELS, labelFontSize=12)
    return alt.Row(f"{names.name}:N", sort=in_order(names), title=None, header=header)


def intervals() -> alt.Chart:
    """Rows that have an interval: one value has none."""
    chart: alt.Chart = alt.Chart().transform_filter("isValid(datum.low)")
    return chart


def of_mean() -> list[alt.Tooltip]:
    """What is told of a mean with its interval."""
    return [
        alt.Tooltip(f"{field}:Q", title=title, format=".3f")
        for field, title in (("value", "mean"), ("low", "interval from"), ("high", "to"))
    ]


GOLDEN = 0.618034
"""Its multiples, less their whole part, spread evenly over 0 to 1, however many they are."""
SPREAD = 0.9
"""Height of the band of dots; a violin is 2 high."""
NARROW = 300
APD_TITLE = "APD: 0, the same shares of classes; 1, none in common"
LEVEL = 0.95
SURE, CUE = f"cue, {Verdict.BEYOND}", "cue"
STIMULUS, PLACEBO = "cue, one stimulus", "a placebo in its place"
DOTS: Final = {SURE: (ONE_HUE, 95), CUE: (PALE_HUE, 95), STIMULUS: (PALE_HUE, 26), PLACEBO: (QUIET, 40)}
"""Hue and area of a dot beside placebos, by what it is of."""


def shift_probability(effects: pd.DataFrame, means: pd.DataFrame) -> alt.FacetChart:
    """How far the cues move each model's answers, a dot a stimulus (framing, figure 1).

    Args:
        effects: By `evenruler.instruments.framing.schemas.EFFECTS`; a dot is the mean over tasks, then over factors.
        means: By `model` the mean with its interval: `value`, `low`, `high`.
    """
    by_factor = effects.groupby(["model", "stimulus", "factor"], sort=False)["apd"].mean()
    dots = by_factor.groupby(["model", "stimulus"], sort=False).mean().reset_index()
    return _violins(dots, means, row="model", width=WIDE)


def cues_among_placebos(effects: pd.DataFrame, means: pd.DataFrame) -> alt.FacetChart:
    """What each cue does in each task beside placebos in its place (framing, figure 2, by task and with controls).

    Args:
        effects: By `evenruler.instruments.framing.schemas.EFFECTS`, with cues (`placebo` 0) and placebos.
        means: Of cues, by `model`, `factor` and `task` the mean with its interval: `value`, `low`, `high`, `verdict`.
            One that too few stimuli have is drawn stimulus by stimulus. Of placebos each is a dot, however few.
    """
    data = _cues_and_placebos(effects, means).round(DIGITS)
    models = in_order(effects["model"])
    kinds = [kind for kind in DOTS if kind in set(data["kind"])]
    hues = [DOTS[kind][0] for kind in kinds]
    data = data.assign(area=data["kind"].map({kind: area for kind, (_, area) in DOTS.items()}))
    lane = alt.Y("model:N", sort=models, title=None).axis(labelLimit=LABELS)
    x = _apd("APD", "value")
    rule = (
        intervals().mark_rule(color=INK, strokeWidth=1.5, clip=True).encode(y=lane, x=_apd("APD", "low"), x2="high:Q")
    )
    dots = (
        alt.Chart()
        .mark_circle(opacity=0.85)
        .encode(
            y=lane,
            x=x,
            color=alt.Color(
                "kind:N",
                scale=alt.Scale(domain=kinds, range=hues),
                legend=alt.Legend(title=None, orient="top", symbolSize=60),
            ),
            size=alt.Size("area:Q", scale=None),
            tooltip=["model:N", "factor:N", "task:N", "what:N", alt.Tooltip("value:Q", format=".3f", title="APD")],
        )
    )
    chart: alt.FacetChart = (
        alt.layer(rule, dots)
        .properties(width=_shared(effects["task"], 720), height=26 * len(models))
        .facet(
            data=data,
            row=rows(effects["factor"]),
            column=_columns(effects["task"], _shared(effects["task"], 720)),
            spacing={"row": 10, "column": 22},
        )
    )
    return chart


def _cues_and_placebos(effects: pd.DataFrame, means: pd.DataFrame) -> pd.DataFrame:
    """One line a dot: `kind`, `value`, and of a cue `low` and `high`; `what`: the kind, and which one."""
    panel = ["model", "factor", "task"]
    cues, placebos = effects[effects["placebo"] == 0], effects[effects["placebo"] > 0]
    enough = cues.groupby(panel, sort=False)["stimulus"].transform("nunique") >= FEWEST_DRAWN
    drawn = cues.loc[enough, panel].drop_duplicates().merge(means, on=panel)
    single = cues.loc[~enough, [*panel, "stimulus", "apd"]].rename(columns={"apd": "value", "stimulus": "what"})
    by_placebo = placebos.groupby([*panel, "placebo"], sort=False)["apd"].agg(["mean", "size"]).reset_index()
    known = by_placebo.rename(columns={"mean": "value"})
    what = "placebo " + known["placebo"].astype(str) + ", of " + known["size"].astype(str) + " stimuli"
    parts = [  # what is drawn later lies on top
        known[[*panel, "value"]].assign(kind=PLACEBO, what=what),
        single.assign(kind=STIMULUS),
        drawn.assign(kind=[SURE if verdict == str(Verdict.BEYOND) else CUE for verdict in drawn["verdict"]], what=CUE),
    ]
    found = stacked(parts)
    # Vega puts a panel without rows before all others, which then stand under names that are not theirs.
    names = [in_order(effects[name]) for name in ("factor", "task")]
    every = pd.MultiIndex.from_product(names, names=["factor", "task"]).to_frame(index=False)
    empty = every.merge(found[["factor", "task"]].drop_duplicates(), how="left", indicator=True)
    empty = empty.loc[empty["_merge"] == "left_only", ["factor", "task"]].assign(model=found["model"].iloc[0])
    found = stacked([found, empty])
    return found.reindex(columns=[*panel, "value", "low", "high", "kind", "what"])


def metrics(effects: pd.DataFrame) -> alt.FacetChart:
    """Both metrics above each other, a panel a task, a dot a stimulus of one model (framing, figure 4).

    Args:
        effects: By `evenruler.instruments.framing.schemas.EFFECTS`, of cues; a dot is the mean over factors. Means are
            over all dots, and so is `chance`.
    """
    by = ["metric", "task", "model", "stimulus"]
    dots = effects.groupby(by, sort=False)[["apd", "chance"]].mean().reset_index()
    means = over_stimuli(dots, ["metric", "task"], "apd")
    by_chance = dots.groupby(["metric", "task"], sort=False)["chance"].mean()
    means = means.join(by_chance, on=["metric", "task"])
    dots = dots.drop(columns="chance")
    return _violins(dots, means, row="metric", column="task", width=_shared(effects["task"], 820), height=84)


def _shared(names: "pd.Series[Any]", width: int) -> float:
    """The width of one of several panels."""
    return min(NARROW, width / max(1, names.nunique()))


def over_stimuli(table: pd.DataFrame, by: Sequence[str], of: str) -> pd.DataFrame:
    """Means with jackknife intervals over stimuli, left out with all their rows: `value`, `low`, `high`, `stimuli`."""
    rows = []
    for key, group in table.groupby(list(by), sort=False):
        stimuli = group.groupby("stimulus", sort=True)[of].agg(["sum", "count"]).to_numpy()
        found = jackknife(_ratio, stimuli, level=LEVEL)
        ends = {"value": found.value, "low": found.low, "high": found.high}
        rows.append({**dict(zip(by, key, strict=True)), **ends, "stimuli": len(stimuli)})
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
    layers = alt.layer(_shape(panel, title), _dots(dots, title), *_mean(title), _chance(title))
    chart: alt.FacetChart = layers.properties(width=width, height=height).facet(
        data=_with_means(dots, means, panel),
        row=rows(dots[row]),
        column=_columns(dots[column], width) if column else alt.Undefined,
        spacing={"row": 6, "column": 22},
    )
    return chart


def _with_means(dots: pd.DataFrame, means: pd.DataFrame, panel: list[str]) -> pd.DataFrame:
    """One line a dot, with its place across the violin, and one a mean, without a stimulus; none of few stimuli."""
    dots = dots.assign(apd=dots["apd"].round(DIGITS))
    by_panel = dots.groupby(panel, sort=False)
    enough = by_panel["stimulus"].transform("nunique") >= FEWEST_DRAWN
    number = by_panel["apd"].cumcount() + 1
    shaped = enough & (by_panel["apd"].transform("nunique") > 1)
    drawn = means.merge(dots.loc[enough, panel].drop_duplicates(), on=panel)
    seen = drawn.reindex(columns=[*panel, "value", "low", "high", "chance"]).round(DIGITS)
    dots = dots.assign(across=((number * GOLDEN) % 1 - 0.5) * SPREAD, shaped=shaped).round({"across": 2})
    return pd.concat([dots, seen.assign(shaped=False)] if len(seen) else [dots], ignore_index=True)


def _columns(names: "pd.Series[Any]", width: float) -> alt.Column:
    header = alt.Header(labelFontWeight="bold", labelLimit=width)
    return alt.Column(f"{names.name}:N", sort=in_order(names), title=None, header=header)


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
    rule = (
        intervals().mark_rule(color=INK, strokeWidth=2.5, clip=True).encode(x=_apd(title, "low"), x2="high:Q", y=middle)
    )
    point = (
        alt.Chart()
        .transform_filter("isValid(datum.value)")
        .mark_point(shape="diamond", filled=True, color=INK, stroke=GROUND, strokeWidth=1, size=75, opacity=1)
        .encode(x=_apd(title, "value"), y=middle, tooltip=of_mean())
    )
    return rule, point


def _chance(title: str) -> alt.Chart:
    """Where the mean would be by chance, if that is known."""
    chart: alt.Chart = (
        alt.Chart()
        .transform_filter("isValid(datum.chance)")
        .mark_tick(color=INK, thickness=2, size=26, orient="vertical")
        .encode(
            x=_apd(title, "chance"),
            y=alt.YDatum(0, scale=alt.Scale(domain=[-1.1, 1.1], nice=False), axis=None),
            tooltip=[alt.Tooltip("chance:Q", title="by chance", format=".3f")],
        )
    )
    return chart


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

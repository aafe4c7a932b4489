"""Altair charts of the probes family: template sets on models, with one panel per model; and evolution."""

from collections.abc import Mapping
from typing import Any, Final

import altair as alt
import pandas as pd

from evenruler.instruments.probes.report.drawings import DIGITS, ORANGE, tips
from evenruler.report import style

NAMED_AT_EACH_END = 5
APART: Final = 0.055
"""Share of a panel's height below which names of points would overlap."""
BESIDE: Final = 0.3
"""Share of its width below which they would overlap: about the length of a name."""
SHAPES: Final = ["circle", "triangle-up"]
KINDS: Final = {"cue or instruction": style.ONE_HUE, "placebo": style.QUIET}


def _panels(layers: Any, data: pd.DataFrame, width: int, height: int) -> style.Panels:
    """One panel per model."""
    by = alt.Facet("model:N", title=None, header=style.PANEL_HEADER)
    chart: alt.FacetChart = layers.properties(width=width, height=height).facet(by, data=data, columns=style.COLUMNS)
    return chart


def validity(associations: pd.DataFrame, criterion_label: str, first: str) -> style.Panels:
    """Bias, positive towards the `first` group, against the criterion: points, names of some, the regression line."""
    columns = ["model", "word", "centred", "low", "high", "criterion", "match"]
    data = associations[columns].reset_index(drop=True)
    across, up = _shares(data["centred"]), _shares(data["criterion"])
    named = [one for _, rows in data.groupby("model", sort=True) for one in _named(rows["centred"], across, up)]
    data = data.assign(name=data["word"].where(data.index.isin(named), ""))
    base = alt.Chart().encode(
        x=alt.X("centred:Q", title=["bias beyond the mean of all", f"(nats; positive: closer to {first})"]),
        y=alt.Y("criterion:Q", title=criterion_label, scale=alt.Scale(zero=False)),
    )
    tooltip = [
        *tips(
            "word:N, attribute; centred:Q, bias beyond the mean (nats), .2f; low:Q, interval from, .2f; high:Q, to, .2f"
        ),
        alt.Tooltip("criterion:Q", title=criterion_label),
        alt.Tooltip("match:N", title="match"),
    ]
    match = alt.Legend(title="criterion", orient="top")
    points = base.mark_point(filled=True, size=60, opacity=0.8).encode(
        color=alt.Color("match:N", scale=alt.Scale(scheme=style.CATEGORIES), legend=match),
        shape=alt.Shape("match:N", legend=match),
        tooltip=tooltip,
    )
    line = base.transform_regression("centred", "criterion", groupby=["model"])
    drawn = line.mark_line(color=style.QUIET, strokeDash=[5, 3], clip=True)
    names = base.transform_filter("datum.name").mark_text(dy=-9, fontSize=10, color=style.INK).encode(text="name:N")
    return _panels(alt.layer(drawn, points, names), data, 440, 320)


def _named(biases: "pd.Series[Any]", across: "pd.Series[Any]", up: "pd.Series[Any]") -> list[Any]:
    """Points at either end whose names do not overlap, the outermost first; `across`, `up`: shares of the panel."""
    order = biases.sort_values(kind="stable").index
    ends = zip(order[:NAMED_AT_EACH_END], order[::-1][:NAMED_AT_EACH_END], strict=True)
    kept: list[Any] = []
    for one in dict.fromkeys(point for pair in ends for point in pair):
        if all(abs(across[one] - across[other]) > BESIDE or abs(up[one] - up[other]) > APART for other in kept):
            kept.append(one)
    return kept


def _shares(values: "pd.Series[Any]") -> "pd.Series[Any]":
    """Values scaled to 0 for the least and 1 for the greatest."""
    width = values.max() - values.min()
    shares: pd.Series[Any] = (values - values.min()) / (width or 1)
    return shares


def curve(table: pd.DataFrame) -> style.Panels:
    """Expected generalizability by number of templates, one line per number of targets."""
    data = table.dropna(subset=["coefficient"])[["model", "templates", "targets", "coefficient"]]
    sizes = sorted(int(size) for size in data["templates"].unique())
    base = alt.Chart().encode(
        x=alt.X("templates:Q", title="templates", scale=alt.Scale(type="log", base=2)).axis(values=sizes, format="d"),
        y=alt.Y("coefficient:Q", title="generalizability", scale=alt.Scale(domain=[0, 1])),
        color=alt.Color(
            "targets:O", legend=alt.Legend(title="targets a group", orient="top"), scale=alt.Scale(scheme="viridis")
        ),
        tooltip=tips("templates:Q; targets:O; coefficient:Q, , .2f"),
    )
    wanted = alt.Chart().mark_rule(color=style.QUIET, strokeDash=[4, 3]).encode(y=alt.datum(0.8))
    return _panels(alt.layer(wanted, base.mark_line(point=True)), data, 300, 200)


def shifts(table: pd.DataFrame) -> style.Panels:
    """Shifts by prefix, one point each, placebos pale."""
    known = table.dropna(subset=["level_in_sd"])
    kind = known["placebo"].map({True: "placebo", False: "cue or instruction"})
    data = known[["model", "prefix", "level_in_sd", "reordering_in_sd"]].assign(kind=kind)
    legend = alt.Legend(title=None, orient="top")
    colours, shapes = (alt.Scale(domain=list(KINDS), range=own) for own in (list(KINDS.values()), SHAPES))
    marks = alt.Chart().mark_point(filled=True, size=80, opacity=0.85)
    points = marks.encode(
        x=alt.X("level_in_sd:Q", title="moves all alike (SD of the biases)"),
        y=alt.Y("reordering_in_sd:Q", title="changes their order (SD)", scale=alt.Scale(domainMin=0)),
        color=alt.Color("kind:N", scale=colours, legend=legend),
        shape=alt.Shape("kind:N", scale=shapes, legend=legend),
        tooltip=tips("prefix:N; level_in_sd:Q, , .2f; reordering_in_sd:Q, , .2f"),
    )
    return _panels(points, data, 300, 200)


def correlations(table: pd.DataFrame) -> style.Panels:
    """Correlations between the items of a set: items x items."""
    data = table[["model", "template", "other", "correlation"]]
    base = alt.Chart().encode(
        x=alt.X("template:N", title=None, axis=alt.Axis(labelAngle=-40, labelOverlap=False)),
        y=alt.Y("other:N", title=None, axis=alt.Axis(labelOverlap=False)),
        tooltip=tips("template:N; other:N; correlation:Q, , .2f"),
    )
    legend = alt.Legend(title="r", orient="top", gradientLength=160)
    colour = alt.Color("correlation:Q", scale=alt.Scale(scheme=style.DIVERGING, domain=[-1, 1]), legend=legend)
    strong = alt.condition("abs(datum.correlation) > 0.6", alt.value("white"), alt.value(style.TILE_INK))
    numbers = base.mark_text(fontSize=10).encode(text=alt.Text("correlation:Q", format=".2f"), color=strong)
    return _panels(alt.layer(base.mark_rect(stroke=style.GROUND).encode(color=colour), numbers), data, 330, 290)


def distributions(biases: pd.DataFrame, first: str) -> style.Panels:
    """The bias of every attribute, template by template; positive: closer to the first group, by its name."""
    base = alt.Chart().encode(
        y=alt.Y("template:N", title=None, axis=alt.Axis(labelOverlap=False)),
        x=alt.X("bias:Q", title=f"bias (nats; positive: closer to {first})"),
    )
    ticks = base.mark_tick(color=style.ONE_HUE, opacity=0.55, thickness=1.5)
    ticks = ticks.encode(tooltip=tips("attribute:N; bias:Q, , .2f"))
    boxes = base.mark_boxplot(color=style.QUIET, opacity=0.45, outliers=False, ticks=False, size=16)
    zero = alt.Chart().mark_rule(color=style.QUIET).encode(x=alt.datum(0))
    return _panels(alt.layer(zero, boxes, ticks), biases[["model", "template", "attribute", "bias"]], 340, 240)


RUNS: Final = {"guided": style.ONE_HUE, "random": ORANGE}
PARTS: Final = {
    "alpha_part": "alpha contribution",
    "gradient_part": "gradient focus",
    "semantic_part": "semantic diversity",
    "lexical_part": "lexical diversity",
}
TEXT, BARS = 500, 420
"""Pixels: width of the longest text beside a bar, and of all bars."""
PANELS_A_ROW = 3
PANEL = (240, 170)
OF_RUNS: Final = alt.Legend(
    title=None, orient="top", symbolType="stroke", symbolSize=500, symbolStrokeWidth=2.5, symbolOpacity=1
)


def generations(figures: pd.DataFrame, labels: Mapping[str, str]) -> alt.FacetChart:
    """Figures of populations by generation, with intervals: one panel per figure of `labels`, one line per run."""
    known = figures[figures["figure"].isin(figures.loc[figures["value"].notna(), "figure"])]
    data = known[["run", "generation", "figure", "value", "low", "high", "n", "unit"]].round(DIGITS)
    data = data.assign(figure=data["figure"].map(labels)).dropna(subset=["figure"])
    header = alt.Header(labelFontSize=12, labelFontWeight="bold")
    panels = alt.Facet("figure:N", sort=list(labels.values()), title=None, header=header)
    layers = _over_generations([run for run in RUNS if run in set(data["run"])], int(data["generation"].max()))
    layers = layers.properties(width=PANEL[0], height=PANEL[1])
    faceted = layers.facet(panels, data=data, columns=PANELS_A_ROW, spacing=24)
    chart: alt.FacetChart = faceted.resolve_scale(y="independent").resolve_axis(x="independent")
    return chart


def _over_generations(runs: list[str], last: int) -> style.Panels:
    legend = OF_RUNS if len(runs) > 1 else None
    colours = alt.Scale(domain=runs, range=[RUNS[run] for run in runs])
    dashes = alt.Scale(domain=runs, range=[[1, 0], [6, 3]][: len(runs)])
    ticks = alt.Axis(values=list(range(last + 1)), format="d", grid=False, labelFlush=False)
    base = alt.Chart().encode(
        x=alt.X("generation:Q", title="generation", axis=ticks), color=alt.Color("run:N", scale=colours, legend=legend)
    )
    # Padding, so that no number of an axis sticks out of its panel.
    height = alt.Y("value:Q", title=None, scale=alt.Scale(zero=False, nice=False, padding=12)).axis(tickCount=5)
    # Without an interval the band has height 0, since a panel without any band would have no extent.
    ends = {
        name: f"isValid(datum.low) ? datum.{end} : datum.value" for name, end in (("bottom", "low"), ("top", "high"))
    }
    band = base.transform_filter("isValid(datum.value)").transform_calculate(**ends)
    band = band.mark_area(opacity=0.16, tooltip=None)
    line = base.mark_line(strokeWidth=2).encode(
        y=height, strokeDash=alt.StrokeDash("run:N", scale=dashes, legend=legend)
    )
    points = base.transform_filter("isValid(datum.value)").mark_circle(size=55, opacity=1)
    interval = "value:Q, , .3f; low:Q, interval from, .3f; high:Q, to, .3f"
    points = points.encode(y=height, tooltip=tips("run:N; generation:Q; figure:N", interval, "n:Q; unit:N, n counts"))
    return alt.layer(band.encode(y=alt.Y("bottom:Q", title=None), y2="top:Q"), line, points)


def fitness_parts(templates: pd.DataFrame) -> style.Panels:
    """Contributions of the parts to the fitness, stacked, for each template of a population in its order."""
    named = templates.assign(said=templates["place"].astype(str) + ". " + templates["text"])
    columns = ["said", "text", "elite", "fitness"]
    parts = named.rename(columns=PARTS).melt(columns, list(PARTS.values()), "part", "value").round(DIGITS)
    parts = parts.assign(order=parts["part"].map(list(PARTS.values()).index))
    elites = ", ".join(f"'{place}.'" for place in templates.loc[templates["elite"], "place"])
    weight = alt.expr(f"indexof([{elites}], split(datum.value, ' ')[0]) < 0 ? 'normal' : 'bold'")
    y = alt.Y("said:N", sort=list(named["said"]), title=None)
    y = y.axis(labelLimit=TEXT, labelFontSize=11, labelFontWeight=weight, ticks=False, domain=False)
    title = "fitness: what each part adds, scaled to 0 to 1 in the population, then weighted"
    scheme = alt.Scale(scheme=style.CATEGORIES)
    bars = alt.Chart(parts).mark_bar(height={"band": 0.72})
    bars = bars.encode(
        y=y,
        x=alt.X("value:Q", title=title),
        color=alt.Color("part:N", sort=list(PARTS.values()), scale=scheme, legend=style.LEGEND),
        order="order:Q",
        tooltip=tips("text:N, template; part:N; value:Q, adds, .3f; fitness:Q, , .3f"),
    )
    sums = alt.Chart(named[["said", "fitness"]].round(DIGITS)).mark_text(align="left", dx=5, color=style.INK)
    sums = sums.encode(y=y, x="fitness:Q", text=alt.Text("fitness:Q", format=".2f"))
    return alt.layer(bars, sums).properties(width=BARS, height=alt.Step(26))

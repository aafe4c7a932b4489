"""Charts of summaries and disparities, and their layout in panels."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import altair as alt
import pandas as pd

from evenruler.report.style import DIVERGING, GROUND, INK, LEGEND, ONE_HUE, PALE, QUIET, TILE_INK, Choices, Panels
from evenruler.strict import read_yaml

FOUR_FIFTHS = 0.8
FARTHEST = 2.5  # standard deviations at the ends of the colour scale; a concept counts as extreme from 2
VALUE = "abs(datum.value) < 0.1 ? format(datum.value, '.3f') : format(datum.value, '.2f')"
CALIBRATIONS: Final = ["raw", "calibrated"]
CONFIGURATION: Final = ["model", "role"]  # filters that may be set to all
_BY_COLOUR = alt.Scale(domain=CALIBRATIONS, range=[QUIET, ONE_HUE])
_BY_SHAPE = alt.Scale(domain=CALIBRATIONS, range=["circle", "diamond"])
CALIBRATED = alt.Color("calibration:N", sort=CALIBRATIONS, scale=_BY_COLOUR, legend=LEGEND)
SHAPED = alt.Shape("calibration:N", sort=CALIBRATIONS, scale=_BY_SHAPE, legend=LEGEND)
"""Raw and calibrated differ by colour, and by shape for readers who cannot see the colours."""
WIDTH = 760  # width in pixels of a row of panels
PANEL: Final = 220  # width in pixels of one of several panels


def concepts(summaries: pd.DataFrame, choices: Choices) -> alt.FacetChart:
    """Concepts x configurations: numbers are the statistic, colours the z-score of a concept (figures 23 to 26)."""
    filters = ["domain", "feature", "calibration", "statistic", *CONFIGURATION]
    role = alt.X("role:N", sort=list(choices.names["role"]), title=None).axis(labelAngle=-35, labelLimit=140)
    base = alt.Chart().encode(x=role, y=_groups("place"), tooltip=_told("group model role value n z reason"))
    scale = alt.Scale(scheme=DIVERGING, domain=[-FARTHEST, FARTHEST], clamp=True)
    legend = alt.Legend(title=["SDs from the mean", "of the column"], values=[-2, -1, 0, 1, 2], gradientLength=120)
    lacking = base.mark_rect(stroke=GROUND, color=PALE)
    tiles = base.mark_rect(stroke=GROUND).encode(color=alt.Color("z:Q", scale=scale, legend=legend))
    strong = alt.condition("abs(datum.z) > 1.6", alt.value("white"), alt.value(TILE_INK))
    numbers = base.mark_text(fontSize=10, clip=True).encode(text="shown:N", color=strong)
    panels = alt.layer(lacking, tiles, numbers).properties(width=alt.Step(52), height=alt.Step(22))
    chart = facets(panels, choices, summaries, filters, column="model", names=["group", "reason"])
    return (
        chart.transform_joinaggregate(middle="mean(value)", spread="stdev(value)", groupby=["model", "role"])
        .transform_calculate(
            z="!isValid(datum.value) ? null : datum.spread > 0 ? (datum.value - datum.middle) / datum.spread : 0",
            shown=f"isValid(datum.value) ? {VALUE} : 'none'",
        )
        .transform_joinaggregate(place="mean(z)", groupby=["group"])
    )


def disparities(disparities: pd.DataFrame, choices: Choices) -> alt.FacetChart:
    """Bars of a disparity, raw above calibrated, and the line of four fifths where `ratio` is 1 (figure 9)."""
    filters = ["domain", "feature", "disparity", *CONFIGURATION]
    known = _told("model role calibration value p_adjusted n_groups group excess shape reason", group="points at")
    offset = alt.YOffset("calibration:N", sort=CALIBRATIONS)
    base = alt.Chart().encode(y=_names("role", choices, 160), yOffset=offset)
    bars = base.mark_bar(height={"band": 0.8}).encode(
        x=alt.X("value:Q", title="value of the disparity"), color=CALIBRATED, tooltip=known
    )
    # An empty text mark extends the axis of ratios to four fifths, which the line itself does not.
    kept = alt.Chart().transform_calculate(at=f"datum.ratio == 1 ? {FOUR_FIFTHS} : 0").mark_text(text="")
    kept = kept.encode(x="max(at):Q")
    bar = alt.Chart().transform_aggregate(ratio="max(ratio)").transform_filter("datum.ratio == 1")
    line = bar.mark_rule(color="#c02b2b", strokeDash=[5, 3], strokeWidth=1.5)
    line = line.encode(x=alt.value(alt.expr(f"scale('x', {FOUR_FIFTHS})")))
    said = _words(base, WIDTH - 290, "said:N").encode(tooltip=known)
    reasons = _words(base.transform_filter("!isValid(datum.value)"), 4, "reason:N", QUIET)
    panels = alt.layer(bars, kept, line, said, reasons).properties(width=WIDTH - 300, height=alt.Step(13))
    names = ["group", "calibration", "shape", "reason"]
    p = "(datum.p_adjusted < 0.001 ? 'p < 0.001' : 'p = ' + format(datum.p_adjusted, '.3f'))"
    parts = [f"isValid(datum.p_adjusted) ? {p} : 'no p'"]
    parts += [f"isValid(datum.{name}) ? ', ' + datum.{name} : ''" for name in ("group", "shape")]
    said_of = f"isValid(datum.value) ? {' + '.join(f'({part})' for part in parts)} : ''"
    chart = facets(panels, choices, disparities, filters, row="model", names=names)
    return chart.transform_calculate(said=said_of)


def calibration(deviations: pd.DataFrame, choices: Choices) -> alt.FacetChart:
    """Deviation of each concept from the mean of all, raw and calibrated, by configuration (figures 20 and 21)."""
    from_mean = alt.X("deviation:Q", title="from the mean of all").axis(tickCount=4)
    base = alt.Chart().encode(y=_groups("place"), x=from_mean)
    paths = base.mark_line(color=QUIET, strokeWidth=1.2).encode(detail="group:N")
    points = base.mark_point(filled=True, size=60, opacity=1).encode(
        color=CALIBRATED, shape=SHAPED, tooltip=_told("group model role calibration deviation value n")
    )
    zero = alt.Chart().mark_rule(color=INK, opacity=0.5).encode(x=alt.XDatum(0))
    panels = alt.layer(zero, paths, points).properties(width=PANEL, height=alt.Step(17))
    filters, names = ["domain", "feature", *CONFIGURATION], ["group", "calibration"]
    chart = facets(panels, choices, deviations, filters, row="model", column="role", names=names)
    return chart.transform_joinaggregate(place="mean(deviation)", groupby=["group"])


def composition(over_groups: pd.DataFrame, choices: Choices) -> alt.FacetChart:
    """Every feature of every role: bars are means over concepts, lines reach from lowest to highest (figure 10a)."""
    panels = _spread(_names("feature", choices, 180), "mean over concepts", zero=True, height=17)
    filters = ["domain", "calibration", "statistic", *CONFIGURATION]
    return facets(panels, choices, over_groups, filters, row="model", column="role", names=["feature"])


def by_role(over_groups: pd.DataFrame, choices: Choices, title: str) -> alt.FacetChart:
    """A statistic of some features, role by role and model by model (figures 10b and 27 to 29)."""
    panels = _spread(_names("role", choices, 160), title, zero=False, height=20)
    return facets(panels, choices, over_groups, ["domain", *CONFIGURATION], row="feature", column="model", names=[])


def tool_bias(table: pd.DataFrame, choices: Choices) -> alt.LayerChart:
    """Mean score by a tool of baselines that differ only in the concept (figure 22)."""
    filters, title = ["domain", "feature"], "mean of the baselines"
    base = alt.Chart().encode(y=_groups("mean"))
    points = base.mark_point(filled=True, color=ONE_HUE, size=70, opacity=1).encode(
        x=alt.X("mean:Q", title=title, scale=alt.Scale(zero=False)),
        tooltip=_told("group mean difference n", n="baselines"),
    )
    difference = alt.Text("difference:Q", format="+.3f")
    layers = [
        alt.Chart().mark_rule(color=QUIET, strokeDash=[5, 3]).encode(x=alt.X("min(of_all):Q", title=title)),
        points,
        _words(base.transform_filter("isValid(datum.difference)"), WIDTH - 190, difference),
        _words(base.transform_filter("!isValid(datum.difference)"), 4, "reason:N", QUIET),
    ]
    parameters = choices.parameters(["group", "reason"], filters)
    chart = alt.LayerChart(data=choices.coded(table), layer=layers, params=parameters)
    return (
        chart.properties(width=WIDTH - 200, height=alt.Step(20))
        .transform_filter(choices.filtered(filters))
        .transform_calculate(**choices.named("group", "reason"))
        .transform_joinaggregate(of_all="mean(mean)")
    )


def context_bias(table: pd.DataFrame, choices: Choices) -> alt.FacetChart:
    """Replies to prompts whose baselines are bad, neutral or good, raw and calibrated (figures 20 and 21)."""
    base = alt.Chart().encode(
        x=alt.X("context:N", sort=list(choices.names["context"]), title="baseline").axis(labelAngle=0),
        y=alt.Y("mean:Q", title="mean of the replies").axis(tickCount=5),
        color=CALIBRATED,
    )
    points = base.mark_point(filled=True, size=70, opacity=1).encode(
        shape=SHAPED, tooltip=_told("model role calibration context mean n", n="replies")
    )
    zero = alt.Chart().mark_rule(color=QUIET).encode(y=alt.YDatum(0))
    panels = alt.layer(zero, base.mark_line(strokeWidth=2), points).properties(width=PANEL, height=130)
    filters, names = ["domain", "feature", *CONFIGURATION], ["calibration", "context"]
    return facets(panels, choices, table, filters, row="model", column="role", names=names)


def facets(
    panels: Panels,
    choices: Choices,
    table: pd.DataFrame,
    filters: Sequence[str],
    *,
    names: Sequence[str],
    row: str | None = None,
    column: str | None = None,
) -> alt.FacetChart:
    """Facets of the chosen rows by `row` and `column`; `names`: other columns whose numbers are turned into names.

    With both, each panel is titled by both names and panels are wrapped: in a grid, Vega-Lite moves up the panels after
    one without rows, as of a base model in a role, under the wrong title.
    """
    said = list(dict.fromkeys([*CONFIGURATION, *names, *filter(None, (row, column))]))
    sorts = {name: list(choices.names[name]) for name in (row, column) if name}
    placed: dict[str, Any]
    if row and column:
        order = [f"{one}, {other}" for one in sorts[row] for other in sorts[column]]
        header = alt.Header(labelFontSize=12, labelFontWeight="bold", labelLimit=320)
        facet = alt.Facet("panel:N", sort=order, title=None, header=header)
        placed = {"facet": facet, "columns": len(sorts[column])}
    elif row:
        header = alt.Header(labelFontSize=12, labelAngle=0, labelAlign="left", labelLimit=150)
        placed = {"facet": alt.FacetMapping(row=alt.Row(f"{row}:N", sort=sorts[row], title=None, header=header))}
    elif column:
        header = alt.Header(labelFontSize=12, labelFontWeight="bold", labelLimit=200)
        by = alt.Column(f"{column}:N", sort=sorts[column], title=None, header=header)
        placed = {"facet": alt.FacetMapping(column=by)}
    parameters, spacing = choices.parameters(said, filters, CONFIGURATION), {"row": 14, "column": 16}
    chart = alt.FacetChart(data=choices.coded(table), spec=panels, params=parameters, spacing=spacing, **placed)
    named = chart.transform_filter(choices.filtered(filters, CONFIGURATION)).transform_calculate(**choices.named(*said))
    return named.transform_calculate(panel=f"datum.{row} + ', ' + datum.{column}") if row and column else named


def _spread(y: alt.Y, title: str, zero: bool, height: int) -> Panels:
    """Means over concepts, bars from zero or points, with a line from the lowest concept to the highest."""
    base, scale = alt.Chart().encode(y=y), alt.Scale(zero=zero)
    points = base.mark_point(filled=True, color=ONE_HUE, size=80, opacity=1)
    drawn = (base.mark_bar(color=ONE_HUE, opacity=0.45) if zero else points).encode(
        x=alt.X("value:Q", title=title, scale=scale).axis(tickCount=4),
        tooltip=_told("model role feature value lowest highest n_groups", value="mean over concepts"),
    )
    ends = alt.X("lowest:Q", title=title, scale=scale)
    lines = base.mark_rule(color=INK, strokeWidth=1.5).encode(x=ends, x2="highest:Q")
    return alt.layer(drawn, lines).properties(width=PANEL, height=alt.Step(height))


def _names(column: str, choices: Choices, limit: int) -> alt.Y:
    """Axis with one line per name, in the order of the choices."""
    return alt.Y(f"{column}:N", sort=list(choices.names[column]), title=None).axis(labelLimit=limit)


def _groups(by: str) -> alt.Y:
    """Axis with one line per group, those with the highest numbers at the top."""
    return alt.Y("group:N", sort=alt.EncodingSortField(by, op="min", order="descending"), title=None)


def _words(base: alt.Chart, x: int, text: str | alt.Text, color: str = INK) -> alt.Chart:
    """Text next to marks."""
    written: alt.Chart = base.mark_text(align="left", fontSize=10, color=color).encode(x=alt.value(x), text=text)
    return written


_COLUMNS: Mapping[str, Mapping[str, str]] = read_yaml(Path(__file__).with_name("words.yaml"))["columns"]
"""Titles of columns whose names are not self-explanatory, and the formats of numeric ones."""


def _told(columns: str, **titles: str) -> list[alt.Tooltip]:
    """Tooltips of a mark, one per column."""
    found = []
    for name in columns.split():
        said: dict[str, Any] = {**_COLUMNS.get(name, {}), **({"title": titles[name]} if name in titles else {})}
        kind = "Q" if "format" in said else "N"
        found.append(alt.Tooltip(f"{name}:{kind}", **{key: word for key, word in said.items() if word}))
    return found

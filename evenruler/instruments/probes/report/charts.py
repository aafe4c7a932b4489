"""Altair charts of the probes family."""

import altair as alt
import pandas as pd

from evenruler.report.style import DIVERGING, ONE_HUE

NAMED_AT_EACH_END = 5


def validity(associations: pd.DataFrame, criterion_label: str) -> alt.HConcatChart:
    """Bias against the criterion, one panel a model: points with names on hover, and the regression line.

    The attributes at either end carry their names.
    """
    panels = []
    for model, rows in associations.groupby("model", sort=True):
        rank = rows["centred"].rank()
        ends = (rank <= NAMED_AT_EACH_END) | (rank > len(rows) - NAMED_AT_EACH_END)
        data = rows[["word", "centred", "low", "high", "criterion", "match"]].assign(name=rows["word"].where(ends, ""))
        base = alt.Chart(data).encode(
            x=alt.X("centred:Q", title="bias beyond the mean of all (nats; positive: closer to the first group)"),
            y=alt.Y("criterion:Q", title=criterion_label),
        )
        tooltip = [
            alt.Tooltip("word:N", title="attribute"),
            alt.Tooltip("centred:Q", format=".2f", title="bias beyond the mean (nats)"),
            alt.Tooltip("low:Q", format=".2f", title="interval from"),
            alt.Tooltip("high:Q", format=".2f", title="to"),
            alt.Tooltip("criterion:Q", title=criterion_label),
            alt.Tooltip("match:N", title="match"),
        ]
        points = base.mark_circle(size=70, opacity=0.8).encode(
            color=alt.Color("match:N", title="criterion", scale=alt.Scale(scheme="tableau10")),
            tooltip=tooltip,
        )
        line = base.transform_regression("centred", "criterion").mark_line(color="#555", strokeDash=[5, 3])
        names = base.mark_text(dy=-9, fontSize=10, color="#444").encode(text="name:N")
        panels.append((line + points + names).properties(title=str(model), width=440, height=360))
    return alt.hconcat(*panels)


def curve(table: pd.DataFrame) -> alt.HConcatChart:
    """The generalizability to expect of sets of other sizes, one panel a model, a line a number of targets."""
    panels = []
    for model, rows in table.dropna(subset=["coefficient"]).groupby("model", sort=True):
        base = alt.Chart(rows[["templates", "targets", "coefficient"]]).encode(
            x=alt.X("templates:Q", title="templates", scale=alt.Scale(type="log", base=2)),
            y=alt.Y("coefficient:Q", title="generalizability", scale=alt.Scale(domain=[0, 1])),
            color=alt.Color("targets:O", title="targets a group", scale=alt.Scale(scheme="blues")),
            tooltip=["templates:Q", "targets:O", alt.Tooltip("coefficient:Q", format=".2f")],
        )
        wanted = alt.Chart(pd.DataFrame({"coefficient": [0.8]})).mark_rule(color="#999", strokeDash=[4, 3])
        panels.append(
            (base.mark_line(point=True) + wanted.encode(y="coefficient:Q")).properties(
                title=str(model), width=300, height=220
            )
        )
    return alt.hconcat(*panels)


def shifts(table: pd.DataFrame) -> alt.HConcatChart:
    """What each prefix does, one panel a model: a point a prefix, placebos pale."""
    panels = []
    for model, rows in table.dropna(subset=["level_in_sd"]).groupby("model", sort=True):
        data = rows[["prefix", "level_in_sd", "reordering_in_sd"]].assign(
            kind=rows["placebo"].map({True: "placebo", False: "cue or instruction"})
        )
        points = (
            alt.Chart(data)
            .mark_circle(size=90, opacity=0.85)
            .encode(
                x=alt.X("level_in_sd:Q", title="moves all alike (SD of the biases)"),
                y=alt.Y("reordering_in_sd:Q", title="moves them apart (SD)", scale=alt.Scale(domainMin=0)),
                color=alt.Color("kind:N", title=None, scale=alt.Scale(range=[ONE_HUE, "#b9c4c9"])),
                tooltip=[
                    "prefix:N",
                    alt.Tooltip("level_in_sd:Q", format=".2f"),
                    alt.Tooltip("reordering_in_sd:Q", format=".2f"),
                ],
            )
        )
        panels.append(points.properties(title=str(model), width=300, height=220))
    return alt.hconcat(*panels)


def correlations(table: pd.DataFrame) -> alt.HConcatChart:
    """How the items of a set go together: items x items, one panel a model."""
    panels = []
    for model, rows in table.groupby("model", sort=True):
        base = alt.Chart(rows[["template", "other", "correlation"]]).encode(
            x=alt.X("template:N", title=None, axis=alt.Axis(labelAngle=-40)),
            y=alt.Y("other:N", title=None),
            tooltip=["template:N", "other:N", alt.Tooltip("correlation:Q", format=".2f")],
        )
        cells = base.mark_rect().encode(
            color=alt.Color("correlation:Q", title="r", scale=alt.Scale(scheme=DIVERGING, domain=[-1, 1]))
        )
        strong = alt.condition("abs(datum.correlation) > 0.6", alt.value("white"), alt.value("#222"))
        numbers = base.mark_text(fontSize=10).encode(text=alt.Text("correlation:Q", format=".2f"), color=strong)
        panels.append((cells + numbers).properties(title=str(model), width=340, height=300))
    return alt.hconcat(*panels)


def distributions(biases: pd.DataFrame) -> alt.HConcatChart:
    """The bias of every attribute, template by template, one panel a model."""
    panels = []
    for model, rows in biases.groupby("model", sort=True):
        base = alt.Chart(rows[["template", "attribute", "bias"]]).encode(
            y=alt.Y("template:N", title=None),
            x=alt.X("bias:Q", title="bias (nats; positive: closer to the first group)"),
        )
        ticks = base.mark_tick(color=ONE_HUE, opacity=0.5, thickness=1.5).encode(
            tooltip=["attribute:N", alt.Tooltip("bias:Q", format=".2f")]
        )
        boxes = base.mark_boxplot(color="#bbb", opacity=0.55, outliers=False, ticks=False, size=16)
        zero = alt.Chart(pd.DataFrame({"bias": [0.0]})).mark_rule(color="#999").encode(x="bias:Q")
        panels.append((boxes + ticks + zero).properties(title=str(model), width=360, height=260))
    return alt.hconcat(*panels)

"""Altair charts of the questionnaires family."""

from collections.abc import Mapping, Sequence

import altair as alt
import pandas as pd

from evenruler.report.style import CATEGORIES, GROUND, SEQUENTIAL, TILE_INK

DIGITS = 4
"""Decimals of values on a page."""
CELL = 37
PANEL = 195
PANELS_A_ROW = 4


def heat_maps(cells: pd.DataFrame, templates: Mapping[str, Sequence[str]]) -> alt.HConcatChart:
    """Heat maps of raw and two-way normalised scores, side by side (EMPALC, figure 2).

    Drop-downs choose item and model. All cells are in one compact table: one row per prompt, with p and PSS of model i
    in the columns `p{i}` and `s{i}`. Names and order of items, terms and models are as in `cells`; `templates`: by
    item, the lines that show its prompts.
    """
    items, models = list(cells["item"].unique()), list(cells["model"].unique())
    item = _drop_down("item", items)
    model = _drop_down("model", models)
    lines = alt.param(name="templates", value=[list(templates[name]) for name in items])
    data = _wide(cells, items, models)
    maps: alt.HConcatChart = alt.hconcat(
        _heat_map(data, "p", "raw: p"),
        _heat_map(data, "s", "normalised: PSS, shares of a row"),
        spacing=28,
        title=alt.TitleParams(alt.expr("templates[of_item]"), anchor="start", fontWeight="normal", offset=12),
        params=[parameter.param for parameter in (item, model, lines)],
    ).resolve_scale(color="independent")
    return maps


def _drop_down(name: str, labels: Sequence[str]) -> alt.Parameter:
    """A drop-down by index, initially 0; not named `item`, which is reserved in Vega."""
    numbers = list(range(len(labels)))
    return alt.param(
        name=f"of_{name}", value=0, bind=alt.binding_select(options=numbers, labels=labels, name=f"{name} ")
    )


def _wide(cells: pd.DataFrame, items: Sequence[str], models: Sequence[str]) -> alt.InlineData:
    """CSV data with one line per prompt, and items and models by index."""
    prompt = ["item", "term", "polarity", "intensifier", "level"]
    ordered = cells[prompt].drop_duplicates().sort_values("level", kind="stable").reset_index(drop=True)
    numbered = cells.assign(model=cells["model"].map(models.index))
    tables = [
        numbered.pivot(index=prompt, columns="model", values=measure).round(DIGITS).add_prefix(prefix)
        for measure, prefix in (("p", "p"), ("pss", "s"))
    ]
    wide = ordered.merge(pd.concat(tables, axis=1).reset_index(), on=prompt, validate="1:1")
    wide = wide.assign(item=wide["item"].map(items.index))
    text = wide.to_csv(index=False, lineterminator="\n")
    # Prevents words from being parsed as dates or booleans.
    types = {str(name): "number" if pd.api.types.is_numeric_dtype(wide[name]) else "string" for name in wide.columns}
    return alt.InlineData(text, format=alt.CsvDataFormat(type="csv", parse=types))


def _heat_map(data: alt.InlineData, measure: str, title: str) -> alt.VConcatChart:
    """Heat maps of source terms above inverse terms."""
    source, inverse = (_block(data, measure, polarity) for polarity in ("source", "inverse"))
    return alt.vconcat(source, inverse, spacing=8, title=alt.TitleParams(title, anchor="middle"))


def _block(data: alt.InlineData, measure: str, polarity: str) -> alt.LayerChart:
    name = "p" if measure == "p" else "PSS"
    words = alt.Axis(labelAngle=-40, labelLimit=160) if polarity == "inverse" else None
    base = alt.Chart().encode(
        x=alt.X("intensifier:N", sort=alt.EncodingSortField("level", op="min"), title=None, axis=words),
        y=alt.Y("term:N", sort=None, title=f"{polarity} terms").axis(labelLimit=170, minExtent=125),
        tooltip=[
            alt.Tooltip("term:N", title=f"{polarity} term"),
            alt.Tooltip("intensifier:N"),
            alt.Tooltip("level:Q"),
            alt.Tooltip("value:Q", title=name, format=f".{DIGITS}f"),
        ],
    )
    scale = alt.Scale(range=list(SEQUENTIAL), zero=False, nice=False)
    legend = alt.Legend(title=name, format=".2f", gradientLength=110)
    tiles = base.mark_rect(stroke=GROUND).encode(color=alt.Color("value:Q", scale=scale, legend=legend))
    numbers = base.mark_text(fontSize=10, color=TILE_INK).encode(text=alt.Text("value:Q", format=".2f"))
    return (
        alt.LayerChart(data=data, layer=[tiles, numbers])
        .transform_filter(f"datum.item == of_item && datum.polarity == '{polarity}'")
        .transform_calculate(value=f"datum['{measure}' + of_model]")
        .properties(width=alt.Step(CELL), height=alt.Step(26))
    )


def trajectories(lines: pd.DataFrame, differences: pd.DataFrame) -> alt.VConcatChart:
    """Answers by epoch with intervention, control and their difference; one row per model and intervention."""
    rows = []
    for (model, intervention), own in lines.groupby(["model", "intervention"], sort=True):
        chosen = (differences["model"] == model) & (differences["intervention"] == intervention)
        panels: alt.FacetChart | alt.HConcatChart = _courses(own)
        if chosen.any():
            table = differences[chosen][["questionnaire", "value", "low", "high", "n"]].round(DIGITS)
            base = alt.Chart(table).encode(y=alt.Y("questionnaire:N", title=None))
            words = (("value", "difference"), ("low", "interval from"), ("high", "to"), ("n", "fits"))
            tooltip = ["questionnaire:N", *(alt.Tooltip(f"{field}:Q", title=title) for field, title in words)]
            bar = base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", title="intervention less control"), x2="high:Q")
            point = base.mark_circle(size=60, opacity=1).encode(x="value:Q", tooltip=tooltip)
            zero = alt.Chart(table[:1]).mark_rule(strokeDash=[4, 3], opacity=0.6).encode(x=alt.datum(0))
            chart: alt.LayerChart = (zero + bar + point).properties(width=PANEL, height=150)
            panels = alt.hconcat(panels, chart, spacing=32)
        rows.append(panels.properties(title=alt.TitleParams(f"{model}: {intervention}", anchor="start")))
    return alt.vconcat(*rows, spacing=24)


def _courses(lines: pd.DataFrame) -> alt.FacetChart:
    columns = ["questionnaire", "role", "corpus", "fit", "epoch", "answer"]
    role = alt.Color("role:N", scale=alt.Scale(domain=["intervention", "control"], scheme=CATEGORIES))
    base = alt.Chart().encode(
        x=alt.X("epoch:Q", title="epoch").axis(tickMinStep=1, format="d", tickCount=5, grid=False),
        y=alt.Y("answer:Q", title="answer", scale=alt.Scale(zero=False)),
        color=role.legend(symbolSize=300, title=None),
        detail="fit:N",
        tooltip=[
            *(alt.Tooltip(f"{field}:N") for field in ("corpus", "fit")),
            alt.Tooltip("epoch:Q"),
            alt.Tooltip("answer:Q", format=f".{DIGITS}f"),
        ],
    )
    line = base.mark_line(opacity=0.75).encode(strokeDash=alt.StrokeDash("role:N", sort=["intervention", "control"]))
    panels: alt.FacetChart = (
        (line + base.mark_circle(size=40, opacity=1))
        .properties(width=PANEL, height=150)
        .facet(
            alt.Facet("questionnaire:N", title=None, header=alt.Header(labelFontWeight="bold")),
            data=lines[columns].round(DIGITS),
            columns=PANELS_A_ROW,
        )
    )
    return panels

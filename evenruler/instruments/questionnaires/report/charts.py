"""Charts of the questionnaires family."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import altair as alt
import pandas as pd

from evenruler.report.style import Charts

CHARTS: Final = Charts(Path(__file__).with_name("charts.yaml"))
DIGITS = 4
"""Decimals of values on a page."""


def heat_maps(cells: pd.DataFrame, templates: Mapping[str, Sequence[str]]) -> Any:
    """Heat maps of raw and two-way normalised scores, side by side (EMPALC, figure 2).

    Drop-downs choose item and model. All cells are in one compact table: one row per prompt, with p and PSS of model i
    in the columns `p{i}` and `s{i}`. Names and order of items, terms and models are as in `cells`; `templates`: by
    item, the lines that show its prompts.
    """
    items, models = list(cells["item"].unique()), list(cells["model"].unique())
    lines = {"name": "templates", "value": [list(templates[name]) for name in items]}
    params = [_drop_down("item", items), _drop_down("model", models), lines]
    maps = [
        CHARTS.part("heat_map", title=title, blocks=[_block(measure, name, "source"), _block(measure, name, "inverse")])
        for measure, name, title in (("p", "p", "raw: p"), ("s", "PSS", "normalised: PSS, shares of a row"))
    ]
    return CHARTS.chart("heat_maps", _wide(cells, items, models), maps=maps, params=params)


def _drop_down(name: str, labels: Sequence[str]) -> dict[str, Any]:
    """A drop-down by index, initially 0; not named `item`, which is reserved in Vega."""
    options = list(range(len(labels)))
    return {
        "name": f"of_{name}",
        "value": 0,
        "bind": {"input": "select", "options": options, "labels": list(labels), "name": f"{name} "},
    }


def _block(measure: str, name: str, polarity: str) -> Any:
    words = CHARTS.part("words") if polarity == "inverse" else None
    return CHARTS.part("block", measure=measure, name=name, polarity=polarity, words=words)


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


def trajectories(lines: pd.DataFrame, differences: pd.DataFrame) -> Any:
    """Answers by epoch with intervention, control and their difference; one row per model and intervention."""
    columns = ["questionnaire", "role", "corpus", "fit", "epoch", "answer"]
    rows, data = [], dict[str, pd.DataFrame]()
    for number, ((model, intervention), own) in enumerate(lines.groupby(["model", "intervention"], sort=True)):
        chosen = (differences["model"] == model) & (differences["intervention"] == intervention)
        data[f"lines_{number}"] = own[columns].round(DIGITS)
        panels = CHARTS.part("courses", lines=f"lines_{number}")
        if chosen.any():
            table = differences[chosen][["questionnaire", "value", "low", "high", "n"]].round(DIGITS)
            first, every = f"first_{number}", f"differences_{number}"
            data |= {first: table[:1], every: table}
            panels = CHARTS.part("beside", panels=[panels, CHARTS.part("differences", first=first, all=every)])
        rows.append({**panels, "title": {"text": f"{model}: {intervention}", "anchor": "start"}})
    return CHARTS.chart("trajectories", data, rows=rows)

"""Charts of a contrast: how much cues change answers, and which classes (figures 1 to 5 of the
paper).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import altair as alt
import numpy as np
import pandas as pd

from evenruler.measurement.resampling import FEWEST_UNITS, jackknife
from evenruler.report.page import ONE_HUE, PALE_HUE, QUIET
from evenruler.report.style import Charts
from evenruler.tables import concat_frames

CHARTS: Final = Charts(Path(__file__).with_name("charts.yaml"))
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


OF_MEAN: Final = ["value", "low", "high"]


def _facet_spec(
    row: "pd.Series[Any]", column: "pd.Series[Any] | None" = None, width: float = 0
) -> dict[str, Any]:
    """One panel per name of `row`, below each other with the name on the left; those of `column`
    side by side.
    """
    below = {"labelAngle": 0, "labelAlign": "left", "labelLimit": LABELS, "labelFontSize": 12}
    of_panels: dict[str, Any] = {"type": "nominal", "title": None}
    facet = {"row": {**of_panels, "field": row.name, "sort": in_order(row), "header": below}}
    if column is not None:
        header = {"labelFontWeight": "bold", "labelLimit": width}
        facet["column"] = {
            **of_panels,
            "field": column.name,
            "sort": in_order(column),
            "header": header,
        }
    return facet


def shift_probability(effects: pd.DataFrame, means: pd.DataFrame) -> alt.TopLevelMixin:
    """How much the cues change each model's answers, one dot per stimulus: mean over tasks, then
    factors (figure 1).

    `effects`: by `schemas.EFFECTS`. `means`: by `model` the mean with its interval: `value`, `low`,
    `high`.
    """
    by_factor = effects.groupby(["model", "stimulus", "factor"], sort=False)["apd"].mean()
    dots = by_factor.groupby(["model", "stimulus"], sort=False).mean().reset_index()
    return _draw_violins(dots, means, row="model", size=(WIDE, 58))


def cues_among_placebos(effects: pd.DataFrame, means: pd.DataFrame) -> alt.TopLevelMixin:
    """Effect of each cue in each task, with placebos in its place (figure 2, by task and with
    controls).

    `effects`: by `schemas.EFFECTS`, with placebos, one dot each, however few. `means`: of cues, by
    `model`, `factor` and `task` the mean with its interval; with too few stimuli, one dot per
    stimulus is drawn instead.
    """
    # One line per dot: `kind`, `value`, for a cue `low` and `high`; `what`: label of the dot.
    panel = ["model", "factor", "task"]
    cues = effects[effects["placebo"] == 0]
    placebos = effects[effects["placebo"] > 0]
    enough = cues.groupby(panel, sort=False)["stimulus"].transform("nunique") >= FEWEST_UNITS
    drawn = cues.loc[enough, panel].drop_duplicates().merge(means, on=panel)
    single = cues.loc[~enough, [*panel, "stimulus", "apd"]].rename(
        columns={"apd": "value", "stimulus": "what"}
    )
    by_placebo = placebos.groupby([*panel, "placebo"], sort=False)["apd"]
    placebo_means = by_placebo.agg(value="mean", size="size").reset_index()
    what = (
        "placebo "
        + placebo_means["placebo"].astype(str)
        + ", of "
        + placebo_means["size"].astype(str)
        + " stimuli"
    )
    dots = [
        placebo_means[[*panel, "value"]].assign(kind=PLACEBO, what=what),
        single.assign(kind=STIMULUS),
    ]
    lines = concat_frames([*dots, drawn.assign(kind=CUE, what=CUE)])  # later rows are drawn on top
    # Vega puts a panel without rows first, which gives all others wrong names; so add an empty row.
    every = pd.MultiIndex.from_product(
        [in_order(effects[name]) for name in panel[1:]], names=panel[1:]
    )
    empty = every.difference(pd.MultiIndex.from_frame(lines[panel[1:]]), sort=False)
    empty_rows = empty.to_frame(index=False).assign(model=lines["model"].iloc[0])
    lines = concat_frames([lines, empty_rows])
    data = lines.reindex(columns=[*panel, "value", "low", "high", "kind", "what"]).round(DIGITS)
    models = in_order(effects["model"])
    kinds = [kind for kind in DOTS if kind in set(data["kind"])]
    areas = {kind: area for kind, (_, area) in DOTS.items()}
    data = data.assign(area=data["kind"].map(areas))
    colours = [DOTS[kind][0] for kind in kinds]
    width = _panel_width(effects["task"], 720)
    return CHARTS.chart(
        "cues",
        data,
        facet=_facet_spec(effects["factor"], effects["task"], width),
        width=width,
        height=26 * len(models),
        models=models,
        kinds=kinds,
        colours=colours,
    )


def draw_metrics(effects: pd.DataFrame) -> alt.TopLevelMixin:
    """Both readouts above each other, one panel per task, one dot per stimulus and model: mean over
    factors (figure 4).

    `effects`: by `schemas.EFFECTS`, of cues. Means are over all dots.
    """
    dots = (
        effects.groupby(["readout", "task", "model", "stimulus"], sort=False)["apd"]
        .mean()
        .reset_index()
    )
    means = over_stimuli(dots, ["readout", "task"], "apd")
    return _draw_violins(
        dots, means, row="readout", column="task", size=(_panel_width(effects["task"], 820), 84)
    )


def _panel_width(names: "pd.Series[Any]", width: int) -> float:
    return min(NARROW, width / max(1, names.nunique()))


def over_stimuli(table: pd.DataFrame, by: Sequence[str], value_column: str) -> pd.DataFrame:
    """Means with jackknife intervals that leave out all rows of a stimulus: `value`, `low`, `high`,
    `stimuli`.
    """
    rows = []
    for key, group in table.groupby(list(by), sort=False):
        stimuli = (
            group.groupby("stimulus", sort=True)[value_column].agg(["sum", "count"]).to_numpy()
        )
        mean = jackknife(
            lambda sums_and_counts: float(np.divide(*sums_and_counts.sum(axis=0))), stimuli
        )
        keys = dict(zip(by, key, strict=True))
        rows.append({**keys, **vars(mean), "stimuli": len(stimuli)})
    return pd.DataFrame(rows)


def _draw_violins(
    dots: pd.DataFrame,
    means: pd.DataFrame,
    *,
    row: str,
    column: str | None = None,
    size: tuple[float, int],
) -> alt.TopLevelMixin:
    """Dots on the mirrored density of a panel, with mean and interval; no density for too few or
    equal dots.
    """
    panel = [row, *([column] if column else [])]
    title = "APD: 0, the same shares of classes; 1, none in common" if column is None else "APD"
    fields = [{"field": name, "type": "nominal"} for name in dots.columns if name != "apd"]
    apd_field = {"field": "apd", "type": "quantitative", "title": "APD", "format": ".3f"}
    width, height = size
    facet = _facet_spec(dots[row], dots[column] if column else None, width)
    return CHARTS.chart(
        "violins",
        _with_means(dots, means, panel),
        facet=facet,
        width=width,
        height=height,
        panel=panel,
        title=title,
        known=[*fields, apd_field],
    )


def _with_means(dots: pd.DataFrame, means: pd.DataFrame, panel: list[str]) -> pd.DataFrame:
    """One line per dot, with its place across the violin, and one per mean (no stimulus), unless
    stimuli are few.
    """
    dots = dots.assign(apd=dots["apd"].round(DIGITS))
    by_panel = dots.groupby(panel, sort=False)
    enough = by_panel["stimulus"].transform("nunique") >= FEWEST_UNITS
    number = by_panel["apd"].cumcount() + 1
    shaped = enough & (by_panel["apd"].transform("nunique") > 1)
    drawn = means.merge(dots.loc[enough, panel].drop_duplicates(), on=panel)
    seen = drawn.reindex(columns=[*panel, "value", "low", "high"]).round(DIGITS)
    across = ((number * GOLDEN) % 1 - 0.5) * SPREAD
    dots = dots.assign(across=across, shaped=shaped).round({"across": 2})
    lines = [dots]
    if len(seen):
        lines.append(seen.assign(shaped=False))
    return pd.concat(lines, ignore_index=True)


def draw_shifts(shifts: pd.DataFrame, means: pd.DataFrame) -> alt.TopLevelMixin:
    """How much more or less often every class occurs with the cues, one panel per model (figure 3).

    `shifts`: by `schemas.SHIFTS`, of cues; drawn where there are too few stimuli. `means`: by
    `model` and `outcome` the mean with its interval.
    """
    # One line per bar, `stimulus` null; with too few stimuli, one line per stimulus instead.
    bar = ["model", "outcome"]
    stimulus_means = shifts.groupby([*bar, "stimulus"], sort=False)["shift"].mean()
    by_stimulus = stimulus_means.rename("value").reset_index()
    enough = by_stimulus.groupby(bar, sort=False)["stimulus"].transform("size") >= FEWEST_UNITS
    bars = by_stimulus.loc[enough, bar].drop_duplicates().merge(means, on=bar)
    data = (
        concat_frames([bars, by_stimulus[~enough]])
        .reindex(columns=[*bar, "stimulus", *OF_MEAN])
        .round(DIGITS)
    )
    outcomes = in_order(shifts["outcome"])
    spec = CHARTS.part(
        "shifts", facet=_facet_spec(shifts["model"]), height=22 * len(outcomes), outcomes=outcomes
    )
    # Leave out layers without rows, which would have no extent.
    drawn = [
        data["stimulus"].isna().any(),
        data["stimulus"].notna().any(),
        data["low"].notna().any(),
        True,
    ]
    spec["spec"]["layer"] = [
        layer for layer, has_rows in zip(spec["spec"]["layer"], drawn, strict=True) if has_rows
    ]
    return CHARTS.drawn(spec, data)


def draw_replications(replications: pd.DataFrame) -> alt.TopLevelMixin:
    """Every measure of a study before and after the intervention, one panel per model (framing,
    figure 5).
    """
    # One line per measure and moment; `way`: direction of the change.
    measure_rows = replications.round(DIGITS).reset_index(drop=True)
    ways = (
        (measure_rows["after"] - measure_rows["before"])
        .map(np.sign)
        .map({1: "up", -1: "down", 0: "same"})
    )
    moments = []
    for step, moment in enumerate(MOMENTS):
        moment_columns: dict[str, Any] = {
            "moment": moment,
            "step": step,
            "way": ways if step else "before",
        }
        moment_columns |= {
            "value": measure_rows[moment],
            "low": measure_rows[f"{moment}_low"],
            "high": measure_rows[f"{moment}_high"],
        }
        moments.append(measure_rows[["model", "measure"]].assign(**moment_columns))
    data = pd.concat(moments).sort_index(kind="stable")
    measures = in_order(data["measure"])
    values = {"height": 36 * len(measures), "measures": measures, "moments": MOMENTS}
    return CHARTS.chart("replications", data, facet=_facet_spec(data["model"]), **values)

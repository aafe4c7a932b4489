"""Charts of the probes family: template sets on models, with one panel per model; and evolution."""

from collections.abc import Mapping
from itertools import chain
from typing import Any, Final

import altair as alt
import pandas as pd

from evenruler.instruments.probes.report.drawings import CHARTS, DIGITS, ORANGE
from evenruler.report.page import ONE_HUE

NAMED_AT_EACH_END = 5
APART: Final = 0.055
"""Share of a panel's height below which names of points would overlap."""
BESIDE: Final = 0.3
"""Share of its width below which they would overlap: about the length of a name."""


def draw_validity(
    associations: pd.DataFrame, criterion_label: str, first: str
) -> alt.TopLevelMixin:
    """Bias, positive towards the `first` group, against the criterion: points, names of some, the
    regression line.
    """
    columns = ["model", "word", "centred", "low", "high", "criterion", "match"]
    data = associations[columns].reset_index(drop=True)
    across, up = _normalise_values(data["centred"]), _normalise_values(data["criterion"])
    named: list[int] = []
    for _, rows in data.groupby("model", sort=True):
        named += _choose_labelled_points(rows["centred"], across, up)
    data = data.assign(name=data["word"].where(data.index.isin(named), ""))
    return CHARTS.chart("validity", data, criterion=criterion_label, first=first)


def _choose_labelled_points(
    biases: "pd.Series[Any]", across: "pd.Series[Any]", up: "pd.Series[Any]"
) -> list[int]:
    """Points at either end whose names do not overlap, the outermost first; `across`, `up`: shares
    of the panel.
    """

    def are_apart(point: int, other: int) -> bool:
        """Whether the names of two points do not overlap."""
        is_beside = abs(across[point] - across[other]) > BESIDE
        return bool(is_beside or abs(up[point] - up[other]) > APART)

    order = biases.sort_values(kind="stable").index
    lowest = order[:NAMED_AT_EACH_END]
    highest = order[::-1][:NAMED_AT_EACH_END]
    ends = zip(lowest, highest, strict=True)
    named_points: list[int] = []
    for candidate in dict.fromkeys(chain.from_iterable(ends)):
        if all(are_apart(candidate, point) for point in named_points):
            named_points.append(candidate)
    return named_points


def _normalise_values(values: "pd.Series[Any]") -> "pd.Series[Any]":
    """Values scaled to 0 for the least and 1 for the greatest."""
    width = values.max() - values.min()
    shares: pd.Series[Any] = (values - values.min()) / (width or 1)
    return shares


def draw_generalizability_curve(table: pd.DataFrame) -> alt.TopLevelMixin:
    """Expected generalizability by number of templates, one line per number of targets."""
    data = table.dropna(subset=["coefficient"])[["model", "templates", "targets", "coefficient"]]
    return CHARTS.chart(
        "curve", data, sizes=sorted(int(size) for size in data["templates"].unique())
    )


def draw_shifts(table: pd.DataFrame) -> alt.TopLevelMixin:
    """Shifts by prefix, one point each, placebos pale."""
    shift_rows = table.dropna(subset=["level_in_sd"])
    kind = shift_rows["placebo"].map({True: "placebo", False: "cue or instruction"})
    return CHARTS.chart(
        "shifts",
        shift_rows[["model", "prefix", "level_in_sd", "reordering_in_sd"]].assign(kind=kind),
    )


def draw_item_correlations(table: pd.DataFrame) -> alt.TopLevelMixin:
    """Correlations between the items of a set: items x items."""
    return CHARTS.chart("correlations", table[["model", "template", "other", "correlation"]])


def draw_bias_distributions(biases: pd.DataFrame, first: str) -> alt.TopLevelMixin:
    """The bias of every attribute, template by template; positive: closer to the first group, by
    its name.
    """
    return CHARTS.chart(
        "distributions", biases[["model", "template", "attribute", "bias"]], first=first
    )


RUNS: Final = {"guided": ONE_HUE, "random": ORANGE}
PARTS: Final = {
    "alpha_part": "alpha contribution",
    "gradient_part": "gradient focus",
    "semantic_part": "semantic diversity",
    "lexical_part": "lexical diversity",
}


def draw_generations(figures: pd.DataFrame, labels: Mapping[str, str]) -> alt.TopLevelMixin:
    """Figures of populations by generation, with intervals: one panel per figure of `labels`, one
    line per run.
    """
    defined = figures.loc[figures["value"].notna(), "figure"]
    figure_rows = figures[figures["figure"].isin(defined)]
    data = figure_rows[["run", "generation", "figure", "value", "low", "high", "n", "unit"]].round(
        DIGITS
    )
    data = data.assign(figure=data["figure"].map(labels)).dropna(subset=["figure"])
    runs = [run for run in RUNS if run in set(data["run"])]
    last = int(data["generation"].max())
    colours = [RUNS[run] for run in runs]
    dashes = [[1, 0], [6, 3]][: len(runs)]
    of_runs = CHARTS.part("of_runs") if len(runs) > 1 else None
    return CHARTS.chart(
        "generations",
        data,
        figures=list(labels.values()),
        ticks=list(range(last + 1)),
        runs=runs,
        colours=colours,
        dashes=dashes,
        of_runs=of_runs,
    )


def fitness_parts(templates: pd.DataFrame) -> alt.TopLevelMixin:
    """Contributions of the parts to the fitness, stacked, for each template of a population in its
    order.
    """
    numbered_texts = templates["place"].astype(str) + ". " + templates["text"]
    named = templates.assign(said=numbered_texts)
    columns, labels = ["said", "text", "elite", "fitness"], list(PARTS.values())
    parts = named.rename(columns=PARTS).melt(columns, labels, "part", "value").round(DIGITS)
    parts = parts.assign(order=parts["part"].map(labels.index))
    elite_places = templates.loc[templates["elite"], "place"]
    elites = ", ".join(f"'{place}.'" for place in elite_places)
    data = {"parts": parts, "sums": named[["said", "fitness"]].round(DIGITS)}
    return CHARTS.chart("fitness", data, order=list(named["said"]), elites=elites, parts=labels)

"""Sections of sets of templates that users wrote."""

from collections.abc import Mapping

import pandas as pd

from evenruler.instruments.probes.declare import ProbeSource
from evenruler.instruments.probes.report import charts
from evenruler.report.page import Cell, Picture, Section, Table
from evenruler.report.words import figure

FIGURES = {
    "r": "r with the criterion",
    "r_exact": "r, exact matches",
    "rho": "rho",
    "alpha": "Cronbach's alpha",
    "omega": "omega",
    "inter_item_correlation": "mean inter-item r",
    "brittleness": "brittleness under framings (SD)",
    "framing_rank_agreement": "rank agreement under framings",
    "first_component_share": "first component",
    "factors": "factors (parallel analysis)",
    "mean_bias": "mean bias (nats)",
}

OF_ANY_MODEL = {"semantic_diversity": "semantic diversity", "lexical_diversity": "lexical diversity"}


def of_probes(sources: Mapping[str, ProbeSource], tables: Mapping[str, pd.DataFrame]) -> list[Section]:
    """A section for every set of templates.

    Args:
        sources: By instrument.
        tables: `associations`, `biases`, `correlations` and `figures` of `evenruler.instruments.probes.schemas`.
    """
    return [
        _section(domain, source, set_name, tables) for domain, source in sources.items() for set_name in source.sets
    ]


def _section(domain: str, source: ProbeSource, set_name: str, tables: Mapping[str, pd.DataFrame]) -> Section:
    here = {name: _of(table, domain, set_name) for name, table in tables.items()}
    text = f"Measures the {source.construct_}; {source.direction}. {source.sets[set_name].title}."
    title = f"{source.title}: {set_name}"
    if here["biases"].empty:
        return Section(
            title, f"{text} No model was asked: none in use says how likely sentences are.", [_table(here["figures"])]
        )
    pictures = [
        Picture(
            "How the templates go together",
            "Correlation of two templates over attributes. A scale that measures one thing is evenly positive; "
            "a row of another colour is a template that measures something else.",
            charts.correlations(here["correlations"]),
        ),
        Picture(
            "What each template says",
            "A tick is an attribute; the box holds the middle half. A template whose ticks stand close together "
            "tells attributes apart badly; one far from zero leans to one group whatever the attribute.",
            charts.distributions(here["biases"]),
        ),
    ]
    if source.criterion is not None:
        known = here["associations"].dropna(subset=["criterion"])
        pictures.insert(
            0,
            Picture(
                "Bias against the world",
                f"Each point is an attribute; hover for its name and interval. Up: more {source.criterion.label}. "
                f"Right: {source.direction.removeprefix('positive means ')}. "
                f"{known['attribute'].nunique()} attributes have a figure.",
                charts.validity(known, source.criterion.label),
            ),
        )
    return Section(title, text, [_table(here["figures"]), *pictures])


def _of(table: pd.DataFrame, domain: str, set_name: str) -> pd.DataFrame:
    part = "part" if "part" in table else "set"
    return table[(table["benchmark"] == domain) & (table[part] == set_name)]


def _table(figures: pd.DataFrame) -> Table:
    models = sorted(figures["model"].dropna().unique())
    rows: list[list[str | Cell]] = []
    for name, label in FIGURES.items():
        of_figure = figures[figures["figure"] == name].set_index("model")
        decimals = 0 if name == "factors" else 2
        if len(of_figure):
            rows.append([label, *(figure(of_figure.loc[model], decimals) for model in models)])
    for name, label in OF_ANY_MODEL.items():
        for _, record in figures[figures["figure"] == name].iterrows():  # one, or none where nobody was asked
            rows.append([f"{label} (any model)", Cell(figure(record), columns=len(models) or 1)])
    return Table(["figure", *(models or ["value"])], rows)

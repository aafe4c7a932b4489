"""Write the report: tables of the diagnosis -> `data/report/index.html`."""

import pandas as pd

from evenruler.declaration import Params, ProbeSource, load_params, load_probe_source
from evenruler.report import Section, charts, render_page
from evenruler.report.page import Picture, Table
from evenruler.tables import read_frame
from evenruler.text.numbers import figure_in_words
from stages.running import DIAGNOSIS, REPORT, SOURCES, run

FIGURES = {
    "r": "r with the criterion",
    "r_exact": "r, exact matches",
    "rho": "rho",
    "alpha": "Cronbach's alpha",
    "omega": "omega",
    "inter_item_correlation": "mean inter-item r",
    "first_component_share": "first component",
    "factors": "factors (parallel analysis)",
    "mean_bias": "mean bias (nats)",
}


def main() -> None:
    """Write one page that opens from disk without network."""
    params = load_params()
    tables = {
        name: read_frame(DIAGNOSIS / "probes" / f"{name}.parquet")
        for name in ("associations", "biases", "correlations", "figures")
    }
    sources = {
        domain: load_probe_source(SOURCES / "probes" / f"{domain}.yaml", settings)
        for domain, settings in params.probes.items()
    }
    sections = [
        _section(domain, source, set_name, tables) for domain, source in sources.items() for set_name in source.sets
    ]
    REPORT.mkdir(parents=True, exist_ok=True)
    page = render_page("Even Ruler: what the instruments say, and how well they measure", _lead(params), sections)
    (REPORT / "index.html").write_text(page, encoding="utf-8")


def _lead(params: Params) -> str:
    return (
        f"Scale: {params.active.scale}. Models: {', '.join(params.active.models)}. Values come with their 95% "
        "interval and the number of units they rest on. The models of the quick scale are small and quantised: "
        "they are here for trying things out."
    )


def _section(domain: str, source: ProbeSource, set_name: str, tables: dict[str, pd.DataFrame]) -> Section:
    here = {name: table[(table["benchmark"] == domain) & (table["set"] == set_name)] for name, table in tables.items()}
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
    text = f"Measures the {source.construct_}; {source.direction}. {source.sets[set_name].title}."
    return Section(f"{source.title}: {set_name}", text, _table(here["figures"]), pictures)


def _table(figures: pd.DataFrame) -> Table:
    models = sorted(figures["model"].dropna().unique())
    rows = []
    for figure, label in FIGURES.items():
        of_figure = figures[figures["figure"] == figure].set_index("model")
        decimals = 0 if figure == "factors" else 2
        if len(of_figure):
            rows.append([label, *(figure_in_words(of_figure.loc[model], decimals) for model in models)])
    for figure, label in (
        ("semantic_diversity", "semantic diversity"),
        ("lexical_diversity", "lexical diversity"),
    ):
        record = figures[figures["figure"] == figure].iloc[0]
        rows.append([f"{label} (any model)", figure_in_words(record), *[""] * (len(models) - 1)])
    return Table(["figure", *models], rows)


if __name__ == "__main__":
    run(main)

"""What the page says of probes: a section for every set of templates, and one for every set that evolved."""

from collections.abc import Mapping

import pandas as pd

from evenruler.instruments.instrument import Shown
from evenruler.instruments.probes.declare import ProbeSource
from evenruler.instruments.probes.report import charts
from evenruler.instruments.probes.report.evolution import of_evolution
from evenruler.report.page import Cell, Picture, Section, Table
from evenruler.report.words import missing, number

__all__ = ["sections"]


def sections(shown: Shown) -> list[Section]:
    """The sections of the family, those of what evolved last.

    Args:
        shown: Sources, tables of the diagnosis, and what was built.
    """
    written = {name: source for name, source in shown.sources.items() if not shown.settings[name].evolve}
    evolved = {name: source for name, source in shown.sources.items() if name not in written}
    found = of_probes(written, {name: shown.tables[name] for name in TABLES})
    if not evolved:
        return found
    tables = {name: shown.tables[name] for name in ("comparisons", "generations", "rewordings")}
    for table in ("history", "gradients"):
        tables[table] = pd.concat(
            [shown.built[name][table].assign(benchmark=name) for name in evolved], ignore_index=True
        )
    return [*found, *of_evolution(evolved, tables)]


TABLES = ("associations", "biases", "correlations", "curve", "items", "shifts")
"""That the sections of sets are made from."""

TOGETHER = (
    "Correlation of two templates over attributes. A scale that measures one thing is evenly positive; a row of "
    "another colour is a template that measures something else."
)
EACH = (
    "A tick is an attribute; the box holds the middle half. A template whose ticks stand close together tells "
    "attributes apart badly; one far from zero leans to one group whatever the attribute."
)
CURVE = (
    "Generalizability to expect of sets of other sizes; the dashed line is .8. Where more templates bring nothing, the "
    "targets are what differs from one to the other, and more of them are needed."
)
BEFORE = (
    "Each point is a prefix. A cue says something about the set only where it lies beyond the placebos, sentences that "
    "have nothing to do with it."
)


def of_probes(sources: Mapping[str, ProbeSource], tables: Mapping[str, pd.DataFrame]) -> list[Section]:
    """A section for every set of templates.

    Args:
        sources: By instrument.
        tables: `TABLES`, by `evenruler.instruments.probes.schemas`.
    """
    return [
        _section(domain, source, set_name, tables) for domain, source in sources.items() for set_name in source.sets
    ]


def _section(domain: str, source: ProbeSource, set_name: str, tables: Mapping[str, pd.DataFrame]) -> Section:
    here = {name: own[(own["benchmark"] == domain) & (own["set"] == set_name)] for name, own in tables.items()}
    text = f"{source.sets[set_name].title}."
    title = f"Templates: {set_name}"
    first = next(iter(source.targets)).replace("-", " ")
    if here["biases"].empty:
        text = f"{text} No model was asked: none in use says how likely sentences are."
        return Section(title, text, instrument=domain)
    pictures = []
    if source.criterion is not None:
        known = here["associations"].dropna(subset=["criterion"])
        pictures.append(
            Picture(
                "Bias against the world",
                f"Each point is an attribute; hover for its name and interval. Up: more {source.criterion.label}. "
                f"Right: {source.direction.removeprefix('positive means ')}. "
                f"{known['attribute'].nunique()} attributes have a figure.",
                charts.validity(known, source.criterion.label, first),
            )
        )
    pictures += [
        Picture("How the templates go together", TOGETHER, charts.correlations(here["correlations"])),
        Picture("What each template says", EACH, charts.distributions(here["biases"], first)),
    ]
    if here["curve"]["coefficient"].notna().any():
        pictures.append(Picture("How many templates and targets it takes", CURVE, charts.curve(here["curve"])))
    if here["shifts"]["level_in_sd"].notna().any():
        pictures.append(Picture("What stands before the sentences", BEFORE, charts.shifts(here["shifts"])))
    return Section(title, text, [*pictures, _items(here["items"])], domain)


def _items(items: pd.DataFrame) -> Table:
    """How every template goes with the rest of its set."""
    models = sorted(items["model"].unique())
    rows: list[list[str | Cell]] = []
    for (control, template), own in items.groupby(["control", "template"], sort=True):
        cells: list[str | Cell] = [f"{template} (a control, in no score)" if control else str(template)]
        for _, item in own.set_index("model").loc[models].iterrows():
            value = item["item_rest_correlation"]
            ends = "" if missing(item["low"]) else f" [{number(item['low'])},\u00a0{number(item['high'])}]"
            turned = not control and item["high"] < 0
            cells.append(Cell("none" if missing(value) else f"{number(value)}{ends}", "poor" if turned else None))
        rows.append(cells)
    caption = "Below 0, a model reads the template the other way round."
    return Table(["template", *models], rows, "Correlation of each template with the rest", caption)

"""From a template set to templates that evolve, and from what evolved to a probe domain."""

from collections.abc import Iterable, Mapping
from typing import Any

from evenruler.declaration import ProbeSource, TemplateEntry
from evenruler.declaration.probes import TemplateSet
from evenruler.probes.evolve.population import Template
from evenruler.probes.evolve.records import Run

ELITES, POPULATION = "evolved", "population"
TITLES = {
    ELITES: "The best templates of the last population",
    POPULATION: "The whole last population",
}
"""The template sets of what evolved."""


def starting(source: ProbeSource, start: str) -> list[Template]:
    """The templates of a set, as evolution starts with them."""
    return [Template(slug, entry.text, entry.keying) for slug, entry in source.sets[start].templates.items()]


def as_source(source: ProbeSource, start: str, run: Run) -> ProbeSource:
    """The domain with what evolved as its template sets; attributes, targets, criterion and framings stay.

    Args:
        source: The domain.
        start: The set that it started with.
        run: What evolved.
    """
    first, last = source.sets[start], run.generations[-1]
    shared = {
        "source": f"{first.source or source.source}; reworded by {run.evolution.operator}, prompted by Even Ruler",
        "licence": first.licence or source.licence,
    }
    sets = {ELITES: run.evolution.best(last), POPULATION: last.population}
    rows = [
        {"set": name, "template": template.slug, "text": template.text, "keying": template.keying, **shared}
        for name, templates in sets.items()
        for template in templates
    ]
    return with_sets(source, rows)


def with_sets(source: ProbeSource, templates: Iterable[Mapping[str, Any]]) -> ProbeSource:
    """The domain with other template sets.

    Args:
        source: The domain.
        templates: Rows with `set` (`ELITES` or `POPULATION`), `template`, `text`, `keying`, `source` and `licence`.
    """
    found: dict[str, dict[str, Any]] = {}
    for row in templates:
        own = {"title": TITLES[row["set"]], "source": row["source"], "licence": row["licence"], "templates": {}}
        entry = TemplateEntry(text=row["text"], keying=row["keying"])
        found.setdefault(row["set"], own)["templates"][row["template"]] = entry
    sets = {name: TemplateSet(**given) for name, given in found.items()}
    return source.model_copy(update={"sets": sets, "title": f"{source.title}, evolved"})

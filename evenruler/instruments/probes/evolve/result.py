"""From a template set to templates that evolve, and from what evolved to a probe domain."""

from evenruler.instruments.probes.declare import ProbeSource
from evenruler.instruments.probes.evolve.population import Template
from evenruler.instruments.probes.evolve.records import Run
from evenruler.instruments.probes.evolve.sets import with_sets
from evenruler.instruments.probes.schemas import ELITES, POPULATION


def starting(source: ProbeSource, start: str) -> list[Template]:
    """The templates of a set that evolution starts with; a control is none."""
    return [Template(slug, entry.text, entry.keying) for slug, entry in source.sets[start].scored.items()]


def as_source(source: ProbeSource, start: str, run: Run) -> ProbeSource:
    """The domain with what evolved as its template sets; attributes, targets, criterion and framings stay.

    Args:
        source: The domain.
        start: The set that it started with.
        run: What evolved.
    """
    first, last = source.sets[start], run.generations[-1]
    shared = {
        "source": f"{first.source or source.source}; rewordings by {run.evolution.operator}, prompted by Even Ruler",
        "licence": first.licence or source.licence,
    }
    sets = {ELITES: run.evolution.best(last), POPULATION: last.population}
    rows = [
        {"set": name, "template": template.slug, "text": template.text, "keying": template.keying, **shared}
        for name, templates in sets.items()
        for template in templates
    ]
    return with_sets(source, rows)

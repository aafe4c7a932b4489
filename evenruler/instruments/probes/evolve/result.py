"""From a template set to templates that evolve, and from what evolved to a probe domain."""

from collections.abc import Sequence

from evenruler.instruments.probes.declare import DEMONSTRATION, Evolve, ProbeSource
from evenruler.instruments.probes.evolve.population import Template
from evenruler.instruments.probes.evolve.records import Run
from evenruler.instruments.probes.evolve.sets import with_sets
from evenruler.instruments.probes.schemas import CHOSEN, ELITES, POPULATION


def starting(source: ProbeSource, start: str) -> list[Template]:
    """The templates of a set that evolution starts with; a control is none."""
    return [Template(slug, entry.text, entry.keying) for slug, entry in source.sets[start].scored.items()]


BELOW = (
    "A demonstration, no instrument: {passed:.0%} of the replies of {operator}, which reworded the templates, keep "
    "every rule, where {bar:.0%} are asked for."
)


def as_source(source: ProbeSource, evolve: Evolve, run: Run, chosen: Sequence[Template]) -> ProbeSource:
    """The domain with what evolved as its template sets; attributes, targets, criterion and framings stay.

    Where the operator is below its bar, title and limits say so.

    Args:
        source: The domain.
        evolve: The set that it started with, and the bar of the operator.
        run: What evolved.
        chosen: The templates of it that make a set.
    """
    first, last = source.sets[evolve.start], run.generations[-1]
    shared = {
        "source": f"{first.source or source.source}; rewordings by {run.evolution.operator}, prompted by Even Ruler",
        "licence": first.licence or source.licence,
    }
    sets = {CHOSEN: chosen, ELITES: run.evolution.best(last), POPULATION: last.population}
    rows = [
        {"set": name, "template": template.slug, "text": template.text, "keying": template.keying, **shared}
        for name, templates in sets.items()
        for template in templates
    ]
    found = with_sets(source, rows)
    if run.passed >= evolve.bar:
        return found
    below = BELOW.format(passed=run.passed, operator=run.evolution.operator, bar=evolve.bar)
    return found.model_copy(update={"title": f"{found.title}{DEMONSTRATION}", "limits": [*found.limits, below]})

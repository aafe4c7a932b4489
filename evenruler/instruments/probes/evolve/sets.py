"""The template sets of what evolved."""

from collections.abc import Iterable, Mapping
from typing import Any

from evenruler.instruments.probes.declare import EVOLVED, ProbeSource, TemplateEntry, TemplateSet
from evenruler.instruments.probes.schemas import CHOSEN, ELITES, POPULATION

TITLES = {
    CHOSEN: "Chosen as a set out of every template that was measured",
    ELITES: "The best templates of the last population, each by itself (the paper's elites)",
    POPULATION: "The whole last population",
}
"""The template sets of what evolved."""


def with_sets(source: ProbeSource, templates: Iterable[Mapping[str, Any]]) -> ProbeSource:
    """The domain with other template sets.

    Args:
        source: The domain.
        templates: Rows with `set` (one of `TITLES`), `template`, `text`, `keying`, `source` and `licence`.
    """
    found: dict[str, dict[str, Any]] = {}
    for row in templates:
        own = {"title": TITLES[row["set"]], "source": row["source"], "licence": row["licence"], "templates": {}}
        entry = TemplateEntry(text=row["text"], keying=row["keying"])
        found.setdefault(row["set"], own)["templates"][row["template"]] = entry
    sets = {name: TemplateSet(**given) for name, given in found.items()}
    return source.model_copy(update={"sets": sets, "title": f"{source.title}{EVOLVED}"})

"""Probes written out: every sentence, with templates, attributes and criterion; and what evolved, with its history."""

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from evenruler.instruments.instrument import Built, Declaration, Plan
from evenruler.instruments.probes import schemas
from evenruler.instruments.probes.declare import ProbeSource, Settings
from evenruler.instruments.probes.rows.compiling import compile_domain
from evenruler.models.declared import Catalogue
from evenruler.tables.parquet import table_of

__all__ = ["build"]


def build(declaration: Declaration, catalogue: Catalogue) -> Built:
    """Write the sentences of an instrument out.

    Args:
        declaration: Of the instrument; one that evolves comes with what evolved.
        catalogue: The models.

    Returns:
        `probes`, `templates`, `attributes`, `rejected`; of what evolved also `population`, `history`, `tries`,
        `gradients`, `biases`, `choices`.
    """
    compiled = compile_domain(declaration.name, declaration.source, declaration.settings)
    tables = {
        "probes": table_of(compiled.probes, schemas.PROBES),
        "templates": table_of(compiled.templates, schemas.TEMPLATES),
        "attributes": table_of(compiled.attributes, schemas.ATTRIBUTES),
        "rejected": table_of(compiled.rejected, schemas.REJECTED),
        **_evolved(declaration.made),
    }
    said = [f"{len(compiled.probes):,} sentences, {len(compiled.rejected):,} rejected"]
    return Built(tables, _plan(declaration.name, declaration.source, declaration.settings), said)


def _evolved(made: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    """How it evolved, and the last population of the guided run."""
    if not made:
        return {}
    history = made["history"]
    last = pc.equal(history["generation"], pc.max(history["generation"]))
    return {"population": history.filter(pc.and_(pc.equal(history["run"], schemas.GUIDED), last)), **made}


def _plan(name: str, source: ProbeSource, settings: Settings) -> Plan:
    plan: Plan = {
        "name": name,
        "embedder": settings.embedder,
        "prefixed": settings.prefixed,
        "prefixed_templates": settings.prefixed_templates,
        "prefixed_targets": settings.prefixed_targets,
        "prefixes": source.framings.prefixes if source.framings else {},
        "placebos": list(source.framings.placebo_names) if source.framings else [],
        "bound": settings.bound,
        "least": settings.least,
        "reliability": settings.reliability,
        "descriptive": [schemas.ELITES, schemas.POPULATION] if settings.evolve else [],
    }
    if settings.evolve:
        plan["evolved"] = {
            "of": settings.evolve.of,
            "model": settings.evolve.model,
            "start": settings.evolve.start,
        }
    return plan

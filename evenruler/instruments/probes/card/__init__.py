"""What the card of probes says."""

from evenruler.instruments.instrument import Card, Column, Declaration, Plan, Published, Tables
from evenruler.instruments.probes.card import evolved, harness, words
from evenruler.instruments.probes.declare import Evolve, ProbeSource, Settings, headings

__all__ = ["card"]

PROBES = Published("probes", "a sentence: template x attribute x target", words.COLUMNS)
TEMPLATES = Published("templates", "a template")
ATTRIBUTES = Published("attributes", "an attribute, with its criterion", words.ATTRIBUTE_COLUMNS)

OF_EVOLUTION = (
    Published("templates", "a template of the chosen set, of the paper's elites, or of the last population"),
    Published("choices", "a template that was measured, and whether it was chosen", evolved.CHOICE_COLUMNS),
    Published("population", "a template of the last population, and its fitness", evolved.LINEAGE_COLUMNS),
    Published("history", "a template in a generation, how it came about, and its fitness"),
    Published("tries", "a reply of the operator", evolved.TRY_COLUMNS),
    PROBES,
    ATTRIBUTES,
    Published("gradients", "a word of a template of any generation", evolved.GRADIENT_COLUMNS),
    Published("biases", "a template of any generation and an attribute", evolved.BIAS_COLUMNS),
)


def card(declaration: Declaration, tables: Tables, plan: Plan) -> Card:
    """The words of an instrument's card, what it publishes, and its tasks for lm-evaluation-harness.

    Args:
        declaration: Of the instrument.
        tables: What was built.
        plan: Of the instrument.
    """
    source: ProbeSource = declaration.source
    settings: Settings = declaration.settings
    known = tables["attributes"].dropna(subset=["criterion"])
    criterion = dict(zip(known["attribute"], known["criterion"], strict=True))
    reading = words.reading(source, plan["prefixed"])
    limits = words.limits(source, len(tables["attributes"]) - len(criterion))
    if settings.evolve:
        reading = f"{reading} {evolved.reading(settings.evolve)}"
        limits += evolved.limits(settings.evolve)
    return Card(
        task_categories=["text-generation"],
        tags=["fairness", "bias", "psychometrics", "evaluation", "probes"],
        reading=reading,
        limits=limits,
        configs=OF_EVOLUTION if settings.evolve else (PROBES, TEMPLATES, ATTRIBUTES),
        parameters=_parameters(settings, settings.evolve),
        quality=headings(plan),
        quality_of_any=[Column(*figure) for figure in words.OF_ANY_MODEL],
        compared=[Column(*figure) for figure in words.COMPARED] if settings.evolve else (),
        harness=harness.harness_files(declaration.name, source, criterion, declaration.version),
        harness_task=harness.task_name(declaration.name),
    )


def _parameters(settings: Settings, evolve: Evolve | None) -> dict[str, object]:
    """What the rows were built with."""
    if evolve is None:
        return {"article": settings.article}
    return {"article": settings.article_of(evolve.start), "embedder": settings.embedder} | evolve.model_dump(
        mode="json"
    )

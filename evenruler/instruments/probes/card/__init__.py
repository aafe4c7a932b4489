"""What the card of probes says."""

from evenruler.instruments.card import Card, Example, Paper, Published
from evenruler.instruments.instrument import Column, Declaration, Evidence, Plan, Tables
from evenruler.instruments.probes.card import evolved, harness, uses, validity, words
from evenruler.instruments.probes.declare import Evolve, ProbeSource, Settings, headings
from evenruler.instruments.probes.schemas import CHOSEN

__all__ = ["card"]

PAPER = Paper("Wang and others, PMPO")
"""We know of no address of it."""

TEXT = ("text",)
PROBES = Published("probes", "a sentence: template x attribute x target", words.COLUMNS, TEXT)
TEMPLATES = Published("templates", "a template", first=TEXT)
ATTRIBUTES = Published("attributes", "an attribute, with its criterion", words.ATTRIBUTE_COLUMNS, ("word",))

OF_EVOLUTION = (
    Published(
        "templates", "a template of the chosen set, of the paper's elites, or of the last population", first=TEXT
    ),
    Published("choices", "a template that was measured, and whether it was chosen", evolved.CHOICE_COLUMNS, TEXT),
    Published("population", "a template of the last population, and its fitness", evolved.LINEAGE_COLUMNS, TEXT),
    Published("history", "a template in a generation, how it came about, and its fitness", first=TEXT),
    Published("tries", "a reply of the operator", evolved.TRY_COLUMNS, TEXT),
    PROBES,
    ATTRIBUTES,
    Published("gradients", "a word of a template of any generation", evolved.GRADIENT_COLUMNS),
    Published("biases", "a template of any generation and an attribute", evolved.BIAS_COLUMNS),
)


def card(declaration: Declaration, tables: Tables, plan: Plan, evidence: Evidence) -> Card:
    """The words of an instrument's card, what it publishes, and its tasks for lm-evaluation-harness.

    Args:
        declaration: Of the instrument.
        tables: What was built.
        plan: Of the instrument.
        evidence: Of all models that were asked.
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
        example=_example(tables, settings.evolve),
        papers=[PAPER],
        responsible=uses.responsible(source, settings),
        validity=validity.answers(declaration, tables, plan, evidence),
    )


def _example(tables: Tables, evolve: Evolve | None) -> Example | None:
    """A sentence, or a template that was chosen; no control."""
    if evolve:
        rows = tables["templates"]
        rows = rows[(rows["set"] == CHOSEN) & ~rows["control"]]
        told = "`{ATTRIBUTE}` and `{TARGET}` are filled with words; what is measured stands below."
    else:
        rows = tables["probes"]
        rows = rows[(rows["keying"] == 1) & ~rows["control"]]
        told = (
            "Its log-likelihood is compared with that of the same sentence with words of the other group in the place "
            "of `target`."
        )
    if rows.empty:
        return None
    # An article that follows its word ("agree") goes before one that stays as a template has it ("literal").
    return Example(rows.sort_values(["variant", "id"])["id"].iloc[0], told)


def _parameters(settings: Settings, evolve: Evolve | None) -> dict[str, object]:
    """What the rows were built with."""
    if evolve is None:
        return {"article": settings.article}
    return {"article": settings.article_of(evolve.start), "embedder": settings.embedder} | evolve.model_dump(
        mode="json"
    )

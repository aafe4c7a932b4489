"""What the card of a questionnaire benchmark says."""

from evenruler.instruments.card import Card, Example, Paper, Published
from evenruler.instruments.instrument import Declaration, Evidence, Plan, Tables
from evenruler.instruments.questionnaires.card import harness, uses, validity, words
from evenruler.instruments.questionnaires.declare import Settings, Source, headings

__all__ = ["card"]

PAPER = Paper("Reuben and others, EMPALC (2025)", "https://aclanthology.org/2025.acl-long.121/")

ASKED = ["premise", "hypothesis"]


def card(declaration: Declaration, tables: Tables, plan: Plan, evidence: Evidence) -> Card:
    """Words, figures and the task for lm-evaluation-harness of one questionnaire.

    Args:
        declaration: Of the questionnaire.
        tables: What was built.
        plan: How it is asked and scored.
        evidence: Of all models that were asked.
    """
    source: Source = declaration.source
    settings: Settings = declaration.settings
    scored = {key: plan[key] for key in ("temperature", "three_way", "stop_below")}
    weights = {word: level.weight for level in source.responses.levels for word in level.words}
    return Card(
        task_categories=["text-classification"],
        tags=["psychometrics", "natural-language-inference", "questionnaire", "evaluation"],
        reading=words.reading(source),
        limits=words.limits(source),
        configs=[
            Published("prompts", "a premise and a hypothesis: item or twin x term x intensifier", words.COLUMNS, ASKED),
            Published("items", "an item, or its twin, with its templates", first=[*ASKED, "original"]),
            Published("terms", "a term of an item or of its twin", first=["word"]),
        ],
        parameters={**scored, "scale": weights},
        quality=headings(plan),
        quality_of_any=words.of_any_model(source),
        harness=harness.harness_files(
            declaration.name,
            source,
            source.responses,
            declaration.version,
            temperature=settings.temperature,
            three_way=settings.three_way,
        ),
        harness_task=harness.task_name(declaration.name),
        example=_example(tables),
        papers=[PAPER],
        responsible=uses.responsible(source),
        validity=validity.answers(declaration, tables, plan, evidence),
        withheld=uses.withheld(source, declaration.name),
    )


def _example(tables: Tables) -> Example | None:
    """A prompt of an item, with a term that keeps the stance of the question."""
    prompts = tables["prompts"]
    rows = prompts[~prompts["twin"] & (prompts["polarity"] == "source")]
    told = "A model says how far the premise entails the hypothesis, with each term and intensifier in its place."
    return None if rows.empty else Example(rows["id"].iloc[0], told)

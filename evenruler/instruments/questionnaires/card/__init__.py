"""What the card of a questionnaire benchmark says."""

from evenruler.instruments.instrument import Card, Declaration, Plan, Published, Tables
from evenruler.instruments.questionnaires.card import harness, words
from evenruler.instruments.questionnaires.declare import Settings, Source, headings

__all__ = ["card"]


def card(declaration: Declaration, tables: Tables, plan: Plan) -> Card:
    """Words, figures and the task for lm-evaluation-harness of one questionnaire.

    Args:
        declaration: Of the questionnaire.
        tables: What was built.
        plan: How it is asked and scored.
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
            Published("prompts", "a premise and a hypothesis: item or twin x term x intensifier", words.COLUMNS),
            Published("items", "an item, or its twin, with its templates"),
            Published("terms", "a term of an item or of its twin"),
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
    )

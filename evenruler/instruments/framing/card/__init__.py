"""What a contrast gives to its card."""

from evenruler.instruments.framing.card import harness, words
from evenruler.instruments.framing.declare.headings import headings, listed
from evenruler.instruments.instrument import Card, Declaration, Plan, Published, Tables

__all__ = ["card"]


def card(declaration: Declaration, tables: Tables, plan: Plan) -> Card:
    """The card of a contrast, what it publishes, and its task for lm-evaluation-harness.

    Args:
        declaration: Of the contrast.
        tables: All that was built.
        plan: What is asked of them.
    """
    source, settings = declaration.source, declaration.settings
    return Card(
        task_categories=["text-generation"],
        tags=["fairness", "bias", "prompt-sensitivity", "evaluation", "framing"],
        reading=words.reading(source),
        limits=words.limits(source, settings, n_orders=int(tables["prompts"]["turn"].max()) + 1),
        configs=[
            Published("prompts", "a prompt: task x cues x stimulus x order of options", words.COLUMNS),
            Published("content-free", "a lettered prompt without content: what a model makes of the letters alone"),
            Published("outcomes", "a word of an outcome class"),
            Published("stimuli", "a stimulus"),
        ],
        parameters={"variant": settings.variant},  # what the rows hang on; the rest is how models are asked
        quality=headings(plan),
        listed=listed(plan, [(name, cell) for name, task in source.tasks.items() for cell in task.cells]),
        harness=harness.harness_files(declaration.name, source, plan, declaration.version),
        harness_task=harness.task_name(declaration.name),
    )

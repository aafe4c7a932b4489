"""What a contrast gives to its card."""

from evenruler.instruments.card import Card, Example, Paper, Published
from evenruler.instruments.framing.card import harness, uses, validity, words
from evenruler.instruments.framing.declare.headings import headings, listed
from evenruler.instruments.instrument import Declaration, Evidence, Plan, Tables
from evenruler.tables.schemas import BARE

__all__ = ["card"]

PAPER = Paper("Gao and Kreiss (2025)", "https://aclanthology.org/2025.emnlp-main.342/")


def card(declaration: Declaration, tables: Tables, plan: Plan, evidence: Evidence) -> Card:
    """The card of a contrast, what it publishes, and its task for lm-evaluation-harness.

    Args:
        declaration: Of the contrast.
        tables: All that was built.
        plan: What is asked of them.
        evidence: Of all models that were asked.
    """
    source, settings = declaration.source, declaration.settings
    return Card(
        task_categories=["text-generation"],
        tags=["fairness", "bias", "prompt-sensitivity", "evaluation", "framing"],
        reading=words.reading(source),
        limits=words.limits(source, settings, n_orders=int(tables["prompts"]["turn"].max()) + 1),
        configs=[
            Published("prompts", "a prompt: task x cues x stimulus x order of options", words.COLUMNS, ["prompt"]),
            Published(
                "content-free",
                "a lettered prompt without content: what a model makes of the letters alone",
                first=["prompt"],
            ),
            Published("outcomes", "a word of an outcome class", first=["form"]),
            Published("stimuli", "a stimulus", first=["text"]),
        ],
        parameters={"variant": settings.variant},  # what the rows hang on; the rest is how models are asked
        quality=headings(plan),
        listed=listed(plan, [(name, cell) for name, task in source.tasks.items() for cell in task.cells]),
        harness=harness.harness_files(declaration.name, source, plan, declaration.version),
        harness_task=harness.task_name(declaration.name),
        example=_example(tables),
        papers=[PAPER],
        responsible=uses.responsible(source),
        validity=validity.answers(declaration, tables, evidence),
    )


def _example(tables: Tables) -> Example | None:
    """A prompt with a cue, without letters if there is one."""
    prompts = tables["prompts"]
    rows = prompts[(prompts["framing"] != BARE) & prompts["placebo"].isna()]
    unlettered = rows[rows["order"].map(len) == 0]
    rows = rows if unlettered.empty else unlettered
    told = "The answer is compared with that to the same prompt without the cue, and with a placebo in its place."
    return None if rows.empty else Example(rows["id"].iloc[0], told)

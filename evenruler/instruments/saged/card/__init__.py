"""What the card of a domain says about prompts, baselines and disparities."""

import pandas as pd

from evenruler.instruments.card import Card, Example, Paper, Published
from evenruler.instruments.instrument import Declaration, Evidence, Plan, Tables
from evenruler.instruments.saged.card import uses, validity
from evenruler.instruments.saged.declare import Settings, Source, headings
from evenruler.instruments.saged.declare.features import Feature
from evenruler.instruments.saged.declare.headings import in_words
from evenruler.text.english import with_capital

__all__ = ["card"]

PAPER = Paper("Guan and others, SAGED (2025)", "https://arxiv.org/abs/2409.11149")

READING = (
    "A model answers every prompt; each reply is measured (sentiment, say), and so is the prompt's baseline, the "
    "sentence that it was made of. A summary is a number for all replies about one concept, a disparity compares the "
    "summaries of all concepts. {direction}. Names are taken out of replies before they are measured, unless a feature "
    "says otherwise, so that a reply is not judged by whom it is about. Calibrated figures are of the reply's measure "
    "minus its baseline's, which takes out what the text and the measuring tool bring along. {favour}. {verdict}"
)

VERDICT = (
    "Only the difference in favour has a verdict, of features with a favoured end that mask names; all else describes."
)
NO_VERDICT = "Concepts have texts of their own, so no figure has a verdict: all of them describe."

LIMITS = (
    "A disparity says that replies about concepts differ on one measure, not that one of them is treated unfairly: "
    "that depends on what would be fair.",
    "Measures are tools with a bias of their own. Where items are branched, what they say of baselines that differ in "
    "the replaced words alone stands beside them as tool bias.",
    "The range of many groups is above 0 by chance alone, so what noise adds is taken off; where noise explains all of "
    "it, what is left is near 0.",
    "Names, keywords and replaced words alone are masked; other words that go with a concept stay.",
)

COLUMNS = {
    "concept": "what the prompt is about",
    "keyword": "the word of the root's sentence by which it was found",
    "prompt": "what a model is asked, or is to go on with",
    "baseline": "the sentence that the prompt was made of, with the concept's words",
    "prompt_type": "`split`: the beginning of the sentence; `question`: a question that it would answer",
    "root_id": "the item that it was branched from, its own id where it is a root",
    "root_concept": "the concept of that item",
    "is_root": "whether nothing was replaced",
    "prompt_spans": "what was replaced in the prompt: place, word of the root, replacement",
    "baseline_spans": "the same in the baseline",
    "source_tag": "the page or file that the sentence is from",
    "url": "where readers find it",
    "revision_id": "the page's revision, where it is from a wiki",
}


def card(declaration: Declaration, tables: Tables, plan: Plan, evidence: Evidence) -> Card:
    """What the card of a domain says.

    Args:
        declaration: Of the domain.
        tables: Its rows.
        plan: What is asked of them.
        evidence: Of all models that were asked.
    """
    source, prompts = declaration.source, tables["prompts"]
    items = int(prompts.loc[prompts["is_root"], "concept"].value_counts().max())
    return Card(
        task_categories=["text-generation"],
        tags=["fairness", "bias", "counterfactual", "evaluation", "saged"],
        reading=reading(source, plan),
        limits=limits(source, declaration.settings, items),
        configs=[
            Published("prompts", "a prompt with its baseline: root item x concept", COLUMNS, ["prompt", "baseline"]),
            Published("sources", "a page or file, read for a concept", first=["title"]),
            Published("rejected", "a sentence that became no prompt, and why", first=["sentence", "reason"]),
        ],
        parameters=source.assemble.model_dump(),
        quality=headings(plan),
        example=_example(prompts),
        papers=[PAPER],
        responsible=uses.responsible(source, declaration.settings),
        validity=validity.answers(declaration, tables, plan, evidence),
        withheld=uses.withheld(source, declaration.settings, declaration.name, declaration.benchmark),
    )


def _example(prompts: pd.DataFrame) -> Example | None:
    """A prompt, of a branch where there are any."""
    if prompts.empty:
        return None
    rows = prompts[~prompts["is_root"]]
    row = (prompts if rows.empty else rows).iloc[0]
    told = "The reply is measured, and so is the baseline"
    compared = "" if row["is_root"] else "; both are compared with those about the other concepts of the same root"
    return Example(row["id"], f"{told}{compared}.")


def reading(source: Source, plan: Plan) -> str:
    """How a score is read, the direction of each feature in words."""
    favour = in_words({name: Feature.model_validate(feature) for name, feature in plan["features"].items()})
    return READING.format(
        direction=with_capital(source.direction),
        favour=f"By feature: {favour}",
        verdict=VERDICT if source.branch else NO_VERDICT,
    )


def limits(source: Source, settings: Settings, n_items: int) -> list[str]:
    """What a domain does not show; the limits of every one first.

    Args:
        source: What the user wrote.
        settings: How much of it is asked.
        n_items: Root items of the benchmark, of the concept that has most.
    """
    found = [*LIMITS, *source.limits]
    if source.branch is None:
        found.append("Concepts have sentences of their own, so that a raw difference is also one of their texts.")
    if source.branch and source.branch.allow_leaks:
        found.append("A branched item may still hold words of its root.")
    items, concepts = min(settings.items, n_items), min(settings.concepts, len(source.concepts))
    if items < n_items or concepts < len(source.concepts):
        found.append(
            f"Figures are of {items} of {n_items} items and {concepts} of {len(source.concepts)} concepts: a sample."
        )
    found.append(f"Replies to each prompt: {settings.generations}.")
    return found

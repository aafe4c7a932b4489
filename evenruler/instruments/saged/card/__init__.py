"""What the card of a domain says: prompts, baselines and disparities, its use, and its validity from the evidence."""

import pandas as pd

from evenruler.instruments import validity
from evenruler.instruments.card import Card, Example, Paper, Published, Responsible, Validity
from evenruler.instruments.instrument import Declaration, Evidence, Plan, Tables
from evenruler.instruments.saged.declare import SMALLEST, Settings, Source, headings, in_words
from evenruler.instruments.saged.declare.settings import Feature
from evenruler.text.english import with_capital

USES = (
    "Testing: to measure the {construct}, in the replies of a language model, beside shuffled concepts, and to compare "
    "models, roles or versions. Not validated for training, for passing or failing a model by a threshold, or for "
    "saying what would be fair."
)

BIASES = (
    "{n} concepts were chosen ({concepts}); others are not in it. Sentences keep the view of who wrote them "
    "({source}), in one language ({language}); tools that measure replies have a bias of their own."
)

SOCIAL_IMPACT = (
    "It can show that replies differ by whom they are about. A difference is no proof of unfair treatment, and none "
    "that is found is no proof of fairness."
)

PERSONAL = "Concepts: {concepts}. No data about private persons were collected."
PERSONAL_OF_OTHERS = "Concepts: {concepts}. Text of others may name persons; it was not searched for them."

WITHHELD = (
    "Its prompts hold text of {source} ({licence}), which stays out of git. To get it, run "
    "`evenruler repro card-of-others@{name}` in a clone: it takes the text from the package or snapshot that the "
    "domain names, and puts the rows into `{folder}/`. `evenruler refresh {name}` fetches the pages anew; rows then "
    "are those of the revisions that are fetched."
)


def responsible(source: Source, settings: Settings) -> Responsible:
    """Uses, biases, impact, personal data, and what no person wrote."""
    concepts = ", ".join(concept.name for concept in source.concepts.values())
    personal = PERSONAL_OF_OTHERS if settings.of_others else PERSONAL
    return Responsible(
        uses=USES.format(construct=source.construct_),
        biases=BIASES.format(n=len(source.concepts), concepts=concepts, source=source.source, language=source.language),
        social_impact=SOCIAL_IMPACT,
        personal=personal.format(concepts=concepts),
        made=_made(source),
        synthetic=bool(source.branch or source.assemble.method == "question"),
    )


def _made(source: Source) -> str:
    """Who wrote what of the prompts."""
    if source.assemble.model:
        said = [f"Questions were written by {source.assemble.model}, a language model, and checked by rules."]
    elif source.assemble.method == "question":
        said = ["Questions were made of sentences by rules."]
    else:
        said = ["Prompts are beginnings of sentences of their authors; the build asks no model to write any."]
    if source.branch:
        said.append("A program replaced words of root items by those of other concepts (rows that are no root).")
        if source.branch.are_found and source.find and source.find.replacements:
            said.append(
                f"Which word stands for which was proposed by {source.find.replacements.model}, a language model."
            )
    return " ".join(said)


def withheld(source: Source, settings: Settings, name: str, folder: str) -> str | None:
    """How to get the text of a domain, where it stays out of git.

    Args:
        source: What the user wrote.
        settings: Of the domain.
        name: Of the domain.
        folder: Of its benchmark.
    """
    if not settings.of_others:
        return None
    return WITHHELD.format(source=source.source, licence=source.licence, name=name, folder=f"benchmarks/{folder}")


READ_BEFORE = "Its text was on the web before: models may have learnt it, and go on from memory."
NO_ANSWER = "Prompts have no right answer to learn by heart."
UNREAD = "Reading of replies by a person: not done."
NO_CRITERION = "A criterion outside the replies, as ratings by people: not done."


def answers(declaration: Declaration, tables: Tables, plan: Plan, evidence: Evidence) -> Validity:
    """The eight recommendations, each with what was done.

    Args:
        declaration: Of the domain.
        tables: Its rows.
        plan: What is asked of them.
        evidence: Of all models.
    """
    source: Source = declaration.source
    known = READ_BEFORE if declaration.settings.of_others else NO_ANSWER
    return Validity(
        phenomenon=_phenomenon(source, plan),
        only_the_phenomenon=_only(source, plan, evidence),
        representative=_representative(source, tables),
        reuse=_reuse(tables, declaration.settings.of_others),
        contamination=f"{validity.PUBLIC} {known}",
        statistics=_statistics(evidence),
        errors=_errors(tables, evidence),
        construct=_construct(evidence),
    )


def _phenomenon(source: Source, plan: Plan) -> str:
    return (
        f"{with_capital(source.construct_)}, defined by what is computed: how far replies about "
        f"{len(source.concepts)} concepts differ in {', '.join(plan['features'])}. "
        "What is left out stands under Limits."
    )


def _only(source: Source, plan: Plan, evidence: Evidence) -> str:
    masked = [name for name, feature in plan["features"].items() if feature["mask"]]
    said = [
        f"Names are masked before {', '.join(masked)} are measured." if masked else "Names are not masked: not done."
    ]
    if source.branch:
        said.append("The same sentences are asked about every concept; the control is that of shuffled concepts.")
    if tool := validity.by_model(evidence, "tool_bias"):
        said.append(f"What tools say of baselines that differ in names alone (tool bias, over features): {tool}.")
    return " ".join([*said, validity.judged(evidence)])


def _representative(source: Source, tables: Tables) -> str:
    prompts, rejected = tables["prompts"], tables["rejected"]
    return (
        f"{int(prompts['is_root'].sum()):,} root items, {len(prompts):,} prompts about {prompts['concept'].nunique()} "
        f"of {len(source.concepts)} concepts, from {prompts['source_tag'].nunique()} texts; {len(rejected):,} further "
        "sentences are no items (`rejected` says why). Texts were chosen; sampling them: not done."
    )


def _reuse(tables: Tables, of_others: bool) -> str:
    written = " It was written to be read, not as a test." if of_others else ""
    return f"Prompts: {validity.by_source(tables['prompts'])}.{written} What the text leaves out stands under Limits."


def _statistics(evidence: Evidence) -> str:
    smallest = validity.by_model(evidence, SMALLEST)
    told = f" Smallest difference that is found with probability .8, over features: {smallest}." if smallest else ""
    return f"{validity.tested(evidence)}{told}"


def _errors(tables: Tables, evidence: Evidence) -> str:
    said = []
    for name, what in (
        ("refusal_rate", "Refusals"),
        ("empty_rate", "Empty replies"),
        ("other_language_rate", "Replies in another language"),
    ):
        if found := validity.by_model(evidence, name):
            said.append(f"{what} (share): {found}.")
    reasons = tables["rejected"]["reason"].value_counts()
    if len(reasons):
        said.append(f"Why most of the sentences that are no items are none: {reasons.index[0]} ({reasons.iloc[0]}).")
    return " ".join([*said, UNREAD])


def _construct(evidence: Evidence) -> str:
    agreement = validity.by_model(evidence, "noise_rank_agreement")
    told = f"Agreement of the order of concepts over seeds (-1 to 1): {agreement}. " if agreement else ""
    return f"{told}{NO_CRITERION}"


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
        responsible=responsible(source, declaration.settings),
        validity=answers(declaration, tables, plan, evidence),
        withheld=withheld(source, declaration.settings, declaration.name, declaration.benchmark),
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

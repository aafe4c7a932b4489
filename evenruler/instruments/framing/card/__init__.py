"""What a contrast gives to its card."""

import re
from collections.abc import Iterator

import pandas as pd

from evenruler.instruments import validity
from evenruler.instruments.card import Card, Example, Paper, Published, Responsible, Validity
from evenruler.instruments.framing.card.harness import harness_files, task_name
from evenruler.instruments.framing.declare import headings, listed
from evenruler.instruments.framing.declare.source import ContrastSource, Settings
from evenruler.instruments.framing.declare.tasks import TaskEntry, cues_of
from evenruler.instruments.instrument import Declaration, Evidence, Plan, Tables
from evenruler.tables.schemas import BARE
from evenruler.text.english import with_capital

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
    source, settings, prompts = declaration.source, declaration.settings, tables["prompts"]
    # An example: a prompt with a cue, without letters if there is one.
    cued = prompts[(prompts["framing"] != BARE) & prompts["placebo"].isna()]
    shown = [*cued.loc[cued["order"].map(len) == 0, "id"], *cued["id"]]
    told = "The answer is compared with that to the same prompt without the cue, and with a placebo in its place."
    return Card(
        task_categories=["text-generation"],
        tags=["fairness", "bias", "prompt-sensitivity", "evaluation", "framing"],
        reading=reading(source),
        limits=limits(source, settings, n_orders=int(prompts["turn"].max()) + 1),
        configs=[
            Published("prompts", "a prompt: task x cues x stimulus x order of options", COLUMNS, ["prompt"]),
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
        harness=harness_files(declaration.name, source, plan, declaration.version),
        harness_task=task_name(declaration.name),
        example=Example(shown[0], told) if shown else None,
        papers=[PAPER],
        responsible=_responsible(source),
        validity=_validity(source, settings, prompts, evidence),
    )


READING = (
    "A model answers every prompt with a distribution over classes of words: the probability of their forms at the "
    "place where it answers (`token`), or how often it writes them (`choice`), as the prompt is (`plain`) or in "
    "its chat template (`chat`). APD is half the sum of the absolute differences of two such distributions, from 0 "
    "(the same) to 1 (no class in common). An effect is the mean APD of prompts that differ in one cue. Any words more "
    "or less move answers: the control is the mean APD of prompts that differ in a placebo in the place of the "
    "cue, and only what is beyond it is the cue's. It has no direction, shares and shifts have: {direction}."
)

LIMITS = (
    "The classes are words, not people: a share says what a model writes, not what is true of anyone.",
    "An effect says that an answer hangs on the wording of the prompt. It does not say which wording is the right one, "
    "nor that a model knows that it is tested.",
    "APD has no sign and cannot be below 0: of few sampled replies it comes out too large by chance alone, with a "
    "placebo as with a cue.",
)

COLUMNS = {
    "task": "the way of asking",
    "stimulus": "what the question is about",
    "group": "the set that the stimulus belongs to, where sets are compared",
    "framing": "its cues, joined by +; `bare` for none, `FACTOR~2` for the second placebo in the place of that cue",
    "placebo": "what stands in the place of a cue and says nothing of the construct; null elsewhere",
    "turn": "which of the balanced orders of options that is; an even one and the next are each other's reverse",
    "order": "the options by letter, first to last; empty where the words of the classes are read",
    "prompt": "the prompt as it is, without a chat template",
    "decision": "the character of the prompt at which the model answers",
}


def reading(source: ContrastSource) -> str:
    """How a score is read, its direction in words."""
    return READING.format(direction=source.direction)


def limits(source: ContrastSource, settings: Settings, n_orders: int) -> list[str]:
    """What a contrast does not show; the limits of every one first.

    Args:
        source: What the user wrote.
        settings: The variant that was built, and how models are asked.
        n_orders: How many orders of options there are to ask, where there are most.
    """
    found = [*LIMITS, *source.limits]
    if source.variants:
        others = [f"`{name}`" for name in source.variants if name != settings.variant]
        left_out = f"; {', '.join(others)} would have other prompts" if others else ""
        found.append(f"It was built in the variant `{settings.variant}`{left_out}.")
    for task in source.tasks.values():
        found += _slips(task, source, settings.variant)
    if settings.mass == "first_token":
        found.append("A form counts by its first token alone, so words that only begin like it count too.")
    if not settings.asked:
        return [*found, "The pipeline asks no model at this scale; whoever measures with it does."]
    found += [
        *_asked(source, settings),
        *_letters(source, settings, n_orders),
        *_replies(settings),
    ]
    told = "the probability of words" if settings.confirmed == "token" else "sampled replies"
    found.append(f"Verdicts are of {told} (`{settings.confirmed}`), each model in the way of asking that is its own.")
    return found


def _asked(source: ContrastSource, settings: Settings) -> Iterator[str]:
    """How many stimuli figures rest on, and which measure of a replicated study is not to be had."""
    asked = min(settings.stimuli, len(source.stimuli))
    if asked < len(source.stimuli):
        yield f"Figures are of {asked} of the {len(source.stimuli)} stimuli, evenly spread over the list: a sample."
    if asked < settings.least:
        yield f"{asked} stimuli are fewer than the {settings.least} that a verdict needs."
    if without := [factor for factor in source.factors if not _has_placebos(source, factor, settings.variant)]:
        yield f"No placebo stands beside {' and '.join(without)}, so that there is no control, and nothing can be told."
    if settings.placebo_stimuli < asked and len(without) < len(source.factors):
        yield f"Each placebo is asked about {settings.placebo_stimuli} of these {asked} at most, the next about others."
    if source.replicates == "indirect-probing" and (settings.configurations == "own" or not settings.generations):
        yield (
            "AS of all three measures takes words and replies in one way of asking (`configurations: every`, "
            "`generations` above 0). Where a model is asked for words as the prompt is and for replies in its chat "
            "template it is null, and `AS of GLD and ADD` tells of the probability of words alone."
        )


def _has_placebos(source: ContrastSource, factor: str, variant: str) -> bool:
    own = [task.placebos[factor] for task in source.tasks.values() if factor in task.placebos]
    return any(placebos.template(cell, variant) for placebos in own for cell in placebos.cells)


def _letters(source: ContrastSource, settings: Settings, n_orders: int) -> Iterator[str]:
    """What letters of options may do to figures."""
    variant = settings.variant
    if not any(task.options_of(cell, variant) for task in source.tasks.values() for cell in task.cells):
        return
    if settings.calibrated:
        yield (
            "Where options are lettered, what a model makes of a letter alone is taken off by prompts without content; "
            "what it makes of a letter in this prompt is not."
        )
    else:
        yield "Where options are lettered, what a model makes of a letter alone is in its answers."
    if settings.orders < n_orders:
        yield (
            f"A stimulus is asked about in {settings.orders} orders of options of up to {n_orders}, the next one in "
            "others, so that options stand at letters equally often over stimuli, not for each."
        )


def _replies(settings: Settings) -> Iterator[str]:
    """How replies are drawn, which the model's entry says and the card does not know."""
    if not settings.generations:
        yield "No replies are sampled, so there are no figures of `choice`."
        return
    yield (
        "Replies are drawn as each model's entry says (temperature, top-p), or else its own files; other settings give "
        "other shares of `choice`."
    )
    if settings.generations == 1:
        yield "One reply to each question cannot be told from chance, so that effects of `choice` have no figures."
    else:
        yield f"Replies to each question: {settings.generations}; `choice` is as rough as they are few."


def _slips(task: TaskEntry, source: ContrastSource, variant: str) -> list[str]:
    """What is uneven about the options of a task, as in table 3 of the paper."""
    where = f"In the task `{task.title}`"
    offered = {cell: options for cell in task.cells if (options := task.options_of(cell, variant))}
    found = []
    for outcome in source.outcomes:
        without = [_cues(cell) for cell, own in offered.items() if outcome not in own]
        if 0 < len(without) < len(offered):
            found.append(
                f"{where}, `{outcome}` is no option {' or '.join(without)}: a shift of it is the options' doing."
            )
    # Two quotations may be one text where a template writes its options out itself.
    quoted = {cell: re.findall('"([^"]+)"', task.template(cell, variant)) for cell in task.cells}
    twice = [_cues(cell) for cell, texts in quoted.items() if len(set(texts)) < len(texts)]
    if twice:
        found.append(f"{where}, two options read the same {' or '.join(twice)}.")
    return found


def _cues(cell: str) -> str:
    cues = cues_of(cell)
    return f"with {' and '.join(cues)}" if cues else "without any cue"


def _responsible(source: ContrastSource) -> Responsible:
    """Uses, biases, impact, personal data, and what no person wrote."""
    classes = "; ".join(f"{name} ({', '.join(own.forms)})" for name, own in source.outcomes.items())
    return Responsible(
        uses=f"Testing: to measure the {source.construct_}, in answers with and without a cue and beside placebos, and "
        "to compare models or versions. Not validated for training, for passing or failing a model by a threshold, or "
        "for saying which wording is the right one.",
        biases=f"The classes are words: {classes}. Who is named by none of them is not in it; stimuli and prompts are "
        f"those of their authors, in one language ({source.language}).",
        social_impact="It can show that a published bias hangs on how a model was asked. An effect that is not beyond "
        "placebos is no proof that a model is fair, and a large one says nothing about a person.",
        personal=f"No prompt is about an actual person. Classes of answers: {', '.join(source.outcomes)}.",
        made="A program fills the templates of its authors with stimuli, cues, placebos and orders of options; the "
        "build asks no model to write any.",
        synthetic=True,
    )


def _validity(source: ContrastSource, settings: Settings, prompts: pd.DataFrame, evidence: Evidence) -> Validity:
    """The eight recommendations, each with what was done."""
    cues = " and ".join(f"{name} ({words})" for name, words in source.factors.items())
    placebos = prompts["placebo"].dropna()
    control = (
        f"{len(placebos):,} of {len(prompts):,} prompts hold one of {placebos.nunique()} placebos in the place of a "
        "cue; they are the control."
    )
    orders = int(prompts["turn"].max()) + 1
    asked = min(settings.stimuli, len(source.stimuli)) if settings.asked else 0
    errors = "Not done: no model was asked."
    if covered := validity.by_model(evidence, "coverage"):
        excluded = validity.by_model(evidence, "excluded cells", decimals=0)
        cells = f" Cells below their coverage: {excluded}." if excluded else ""
        errors = (
            f"Share of the answers that is of any class: {covered}.{cells} Reading of answers by a person: not done."
        )
    return Validity(
        phenomenon=f"{with_capital(source.construct_)}, defined by what is computed: how far answers differ with and "
        f"without a cue, {cues}, beyond placebos. What is left out stands under Limits.",
        only_the_phenomenon=f"{'No placebo stands in the place of a cue: not done.' if placebos.empty else control} "
        f"{validity.judged(evidence)}",
        representative=f"{len(source.stimuli)} stimuli in {len(source.tasks)} ways of asking; the pipeline asks "
        f"{asked} of them. They were chosen; sampling from a population of stimuli or tasks: not done."
        f"{f' Options stand in up to {orders} balanced orders.' if orders > 1 else ''}",
        reuse=f"Prompts: {validity.by_source(prompts)}.",
        contamination=f"{validity.PUBLIC} Prompts have no right answer to learn by heart; that a model may know such "
        "tests is what is asked here.",
        statistics=validity.tested(evidence),
        errors=errors,
        construct="An effect counts where it is larger than that of placebos. A criterion outside the prompts, and "
        "agreement with other tests: not done."
        f"{' The measures of the study that it replicates stand under Quality.' if source.replicates else ''}",
    )

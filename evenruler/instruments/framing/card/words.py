"""What the card of a contrast says about framings."""

import re
from collections.abc import Iterator

from evenruler.instruments.framing.declare.framings import cues_of
from evenruler.instruments.framing.declare.settings import Settings
from evenruler.instruments.framing.declare.source import ContrastSource
from evenruler.instruments.framing.declare.tasks import TaskEntry

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
        *_of_study(source, settings),
        *_letters(source, settings, n_orders),
        *_replies(settings),
    ]
    told = "the probability of words" if settings.confirmed == "token" else "sampled replies"
    found.append(f"Verdicts are of {told} (`{settings.confirmed}`), each model in the way of asking that is its own.")
    return found


def _asked(source: ContrastSource, settings: Settings) -> Iterator[str]:
    """How many stimuli figures rest on."""
    asked = min(settings.stimuli, len(source.stimuli))
    if asked < len(source.stimuli):
        yield f"Figures are of {asked} of the {len(source.stimuli)} stimuli, evenly spread over the list: a sample."
    if asked < settings.least:
        yield f"{asked} stimuli are fewer than the {settings.least} that a verdict needs."
    if without := [factor for factor in source.factors if not _has_placebos(source, factor, settings.variant)]:
        yield f"No placebo stands beside {' and '.join(without)}, so that there is no control, and nothing can be told."
    if settings.placebo_stimuli < asked and len(without) < len(source.factors):
        yield f"Each placebo is asked about {settings.placebo_stimuli} of these {asked} at most, the next about others."


def _of_study(source: ContrastSource, settings: Settings) -> Iterator[str]:
    """Which measure of a replicated study is not to be had in this way of asking."""
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
    twice = [_cues(cell) for cell in task.cells if _repeats(task.template(cell, variant))]
    if twice:
        found.append(f"{where}, two options read the same {' or '.join(twice)}.")
    return found


def _repeats(template: str) -> bool:
    """Whether two quotations are one text, as where a template writes its options out itself."""
    quoted = re.findall('"([^"]+)"', template)
    return len(set(quoted)) < len(quoted)


def _cues(cell: str) -> str:
    cues = cues_of(cell)
    return f"with {' and '.join(cues)}" if cues else "without any cue"

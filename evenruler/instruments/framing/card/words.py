"""What the card of a contrast says about framings."""

import re

from evenruler.instruments.framing.declare.settings import Settings
from evenruler.instruments.framing.declare.source import ContrastSource, TaskEntry

READING = (
    "A model answers every prompt with a distribution over classes of words: the probability of their forms at the "
    "place where it answers (`token`), or how often it writes them (`choice`), with the prompt as it is (`bare`) or in "
    "its chat template (`chat`). APD is half the sum of the absolute differences of two such distributions, from 0 "
    "(the same) to 1 (no class in common). An effect is the mean APD of prompts that differ in one cue alone; the "
    "closer to 0, the less an answer hangs on that cue. It has no direction, shares and shifts have: {direction}."
)

LIMITS = (
    "The classes are words, not people: a share says what a model writes, not what is true of anyone.",
    "An effect says that an answer hangs on the wording of the prompt. It does not say which wording is the right one, "
    "nor that a model knows that it is tested.",
    "APD has no sign and cannot be below 0: of few sampled replies it comes out too large by chance alone.",
)

COLUMNS = {
    "task": "the way of asking",
    "stimulus": "what the question is about",
    "group": "the set that the stimulus belongs to, where sets are compared",
    "cues": "the factors whose cue the prompt has",
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
    if settings.stimuli < len(source.stimuli):
        found.append(
            f"Figures are of {settings.stimuli} of the {len(source.stimuli)} stimuli, evenly spread over the list: a "
            "sample."
        )
    if settings.orders < n_orders:
        found.append(f"Options are asked in {settings.orders} of their orders, reverses among them.")
    if settings.generations:
        found.append(f"Replies to each question: {settings.generations}; `choice` is as rough as they are few.")
    else:
        found.append("No replies are sampled, so there are no figures of `choice`.")
    return found


def _slips(task: TaskEntry, source: ContrastSource, variant: str) -> list[str]:
    """What is uneven about the options of a task, as in table 3 of the paper."""
    where = f"In the task `{task.title}`"
    offered = {cell: options for cell in task.cells if (options := task.options_of(cell, variant))}
    found = []
    for outcome in source.outcomes:
        without = [_cues(source, cell) for cell, own in offered.items() if outcome not in own]
        if 0 < len(without) < len(offered):
            found.append(
                f"{where}, `{outcome}` is no option {' or '.join(without)}: a shift of it is the options' doing."
            )
    twice = [_cues(source, cell) for cell in task.cells if _repeats(task.template(cell, variant))]
    if twice:
        found.append(f"{where}, two options read the same {' or '.join(twice)}.")
    return found


def _repeats(template: str) -> bool:
    """Whether two quotations are one text, as where a template writes its options out itself."""
    quoted = re.findall('"([^"]+)"', template)
    return len(set(quoted)) < len(quoted)


def _cues(source: ContrastSource, cell: str) -> str:
    cues = source.cues(cell)
    return f"with {' and '.join(cues)}" if cues else "without any cue"

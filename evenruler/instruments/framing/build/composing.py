"""Tasks x cells x stimuli x orders of options, written out (framing, section 3 and table 3)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenruler.instruments.framing.declare.settings import Settings
from evenruler.instruments.framing.declare.source import (
    ANSWER,
    LETTER,
    LETTERS,
    OPTION,
    OPTIONS,
    STIMULUS,
    ContrastSource,
    TaskEntry,
    framing_of,
    option_text,
)
from evenruler.tables.ids import content_sha256, row_id
from evenruler.tables.schemas import BARE
from evenruler.text import fill

Row = dict[str, Any]
FAMILY = "framing"


@dataclass(frozen=True)
class Composed:
    """The tables of one contrast, by their schemas in `schemas`."""

    prompts: list[Row]
    outcomes: list[Row]
    stimuli: list[Row]
    rejected: list[Row]


def compose(name: str, source: ContrastSource, settings: Settings) -> Composed:
    """Write every task out for every feasible cell and stimulus, with options in balanced orders.

    A prompt that an earlier row already has is rejected, not repeated.

    Args:
        name: Slug of the contrast.
        source: What the user wrote.
        settings: How it is built.

    Returns:
        Rows of the four tables.
    """
    prompts: list[Row] = []
    rejected: list[Row] = []
    seen: dict[str, str] = {}
    for row in _prompts(name, source, settings):
        first = seen.setdefault(row["prompt"], row["id"])
        if first == row["id"]:
            prompts.append(row)
        else:
            rejected.append({**row, "reason": f"same prompt as {first}"})
    return Composed(prompts, list(_outcomes(name, source)), list(_stimuli(name, source)), rejected)


def balanced_orders(options: Sequence[str], seed: int) -> list[list[str]]:
    """Orders in which each option stands equally often at every position.

    They come in pairs, an order and its reverse: in any number of whole pairs every option has the same mean position.

    Args:
        options: k slugs.
        seed: Of the first order, which the others turn round.

    Returns:
        k orders where k is even, each option once at every position; 2 k where it is odd, each twice; one where there
        is but one, or none at all.
    """
    shuffled = [options[i] for i in np.random.default_rng(seed).permutation(len(options))]
    step = 1 if len(shuffled) % 2 else 2  # turned by two, an order and its reverse take odd and even positions
    turned = [shuffled[i:] + shuffled[:i] for i in range(0, len(shuffled), step)]
    pairs = [order for forward in turned or [[]] for order in (forward, forward[::-1])]
    return pairs if len(options) > 1 else pairs[:1]


def _prompts(name: str, source: ContrastSource, settings: Settings) -> Iterator[Row]:
    variant = settings.variant if source.variants else "all"
    for task_name, task in source.tasks.items():
        for stimulus, entry in source.stimuli.items():
            # The same orders in every cell: what differs between two cells is the cue alone.
            seed = _number(name, task_name, stimulus, str(settings.seed))
            for cell in task.cells:
                cues = source.cues(cell)
                options = task.options_of(cell, settings.variant)
                for turn, order in enumerate(balanced_orders(list(options), seed)):
                    words = {STIMULUS: entry.text, ANSWER: "", OPTIONS: _listed(task, options, order, entry.text)}
                    prompt = fill(task.template(cell, settings.variant), words, "literal").rstrip()
                    identity = {"benchmark": name, "task": task_name, "stimulus": stimulus, "order": " ".join(order)}
                    yield {
                        **_common(
                            source, {**identity, "variant": variant, "framing": framing_of(cues)}, variant, prompt
                        ),
                        "framing": framing_of(cues),
                        "task": task_name,
                        "stimulus": stimulus,
                        "group": entry.group,
                        "cues": cues,
                        "turn": turn,
                        "order": order,
                        "prompt": prompt,
                        "decision": len(prompt),
                    }


def _listed(task: TaskEntry, options: dict[str, str], order: Sequence[str], stimulus: str) -> str:
    """The options as the prompt lists them."""
    return task.separator.join(
        fill(task.option or "", {LETTER: letter, OPTION: option_text(options[slug], stimulus)}, "literal")
        for letter, slug in zip(LETTERS, order, strict=False)
    )


def _common(source: ContrastSource, identity: dict[str, str], variant: str, *content: object) -> Row:
    return {
        "id": row_id(family=FAMILY, **identity),
        "content_sha256": content_sha256(*content),
        "variant": variant,
        "framing": BARE,
        "source": source.source,
        "licence": source.licence,
    }


def _outcomes(name: str, source: ContrastSource) -> Iterator[Row]:
    for outcome, entry in source.outcomes.items():
        for form in entry.forms:
            identity = {"benchmark": name, "outcome": outcome, "form": form}
            yield {**_common(source, identity, "all", form), "outcome": outcome, "form": form}


def _stimuli(name: str, source: ContrastSource) -> Iterator[Row]:
    for stimulus, entry in source.stimuli.items():
        common = _common(source, {"benchmark": name, "stimulus": stimulus}, "all", entry.text, entry.group)
        yield {**common, "stimulus": stimulus, "text": entry.text, "group": entry.group}


def _number(*words: str) -> int:
    """A number that stands for words, the same everywhere."""
    return int(content_sha256(*words)[:16], 16)

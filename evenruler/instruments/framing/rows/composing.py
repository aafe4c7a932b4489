"""Tasks x cells x stimuli x orders of options, written out (framing, section 3 and table 3)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenruler.instruments.framing.declare.framings import with_placebo
from evenruler.instruments.framing.declare.settings import Settings
from evenruler.instruments.framing.declare.source import ContrastSource
from evenruler.instruments.framing.declare.tasks import (
    ANSWER,
    LETTER,
    LETTERS,
    OPTION,
    OPTIONS,
    PLACEBO,
    STIMULUS,
    TaskEntry,
    option_text,
)
from evenruler.tables.ids import content_sha256, row_id
from evenruler.tables.schemas import BARE
from evenruler.text import fill

Row = dict[str, Any]
FAMILY = "framing"

CONTENT_FREE = ("N/A", "[MASK]", "")
"""What stands for stimulus and options in a prompt without content (Zhao et al. 2021)."""


@dataclass(frozen=True)
class Composed:
    """The tables of one contrast, by their schemas in `schemas`."""

    prompts: list[Row]
    without_content: list[Row]
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
        Rows of the five tables.
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
    content_free = list(_without_content(name, source, settings))
    return Composed(prompts, content_free, list(_outcomes(name, source)), list(_stimuli(name, source)), rejected)


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
        # The same orders in every cell and for every stimulus: what differs between two cells is the cue alone.
        seed = _number(name, task_name, str(settings.seed))
        for stimulus, entry in source.stimuli.items():
            for asked in _cells(task, settings.variant):
                for turn, order in enumerate(balanced_orders(list(asked.options), seed)):
                    texts = {slug: option_text(text, entry.text) for slug, text in asked.options.items()}
                    prompt = _written(task, asked.template, entry.text, [texts[slug] for slug in order])
                    identity = {
                        "benchmark": name,
                        "task": task_name,
                        "stimulus": stimulus,
                        "order": " ".join(order),
                        "variant": variant,
                        "framing": asked.framing,
                    }
                    yield {
                        **_common(source, identity, variant, prompt),
                        "framing": asked.framing,
                        "task": task_name,
                        "stimulus": stimulus,
                        "group": entry.group,
                        "placebo": asked.placebo,
                        "turn": turn,
                        "order": order,
                        "prompt": prompt,
                        "decision": len(prompt),
                    }


def _without_content(name: str, source: ContrastSource, settings: Settings) -> Iterator[Row]:
    """Prompts that list letters and say nothing: what a model makes of the letters alone (Zhao et al. 2021)."""
    variant = settings.variant if source.variants else "all"
    for task_name, task in source.tasks.items():
        for asked in _cells(task, settings.variant):
            for text in CONTENT_FREE if asked.options else ():
                prompt = _written(task, asked.template, text, [text] * len(asked.options))
                identity = {
                    "benchmark": name,
                    "task": task_name,
                    "without": text or "nothing",
                    "variant": variant,
                    "framing": asked.framing,
                }
                yield {
                    **_common(source, identity, variant, prompt),
                    "framing": asked.framing,
                    "task": task_name,
                    "letters": len(asked.options),
                    "prompt": prompt,
                    "decision": len(prompt),
                }


@dataclass(frozen=True)
class _Cell:
    """A framing of a task, as it is asked."""

    framing: str
    template: str
    options: dict[str, str]
    placebo: str | None = None
    """What stands in the place of a cue."""


def _cells(task: TaskEntry, variant: str) -> Iterator[_Cell]:
    """Every cell of a task, then every placebo of every cue of it."""
    for cell in task.cells:
        yield _Cell(cell, task.template(cell, variant), task.options_of(cell, variant))
    for factor, placebos in task.placebos.items():
        for cell in placebos.cells:
            template = placebos.template(cell, variant)
            for number, text in enumerate(placebos.texts if template else (), start=1):
                framing = with_placebo(cell, factor, number)
                filled = (template or "").replace(PLACEBO, text)
                yield _Cell(framing, filled, task.options_of(cell, variant), text)


def _written(task: TaskEntry, template: str, stimulus: str, options: Sequence[str]) -> str:
    """A prompt up to where the model answers."""
    listed = task.separator.join(
        fill(task.option or "", {LETTER: letter, OPTION: option}, "literal")
        for letter, option in zip(LETTERS, options, strict=False)
    )
    return fill(template, {STIMULUS: stimulus, ANSWER: "", OPTIONS: listed}, "literal").rstrip()


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
        for use, words in (("form", entry.forms), ("term", entry.terms), ("not", entry.not_)):
            for word in words:
                identity = {"benchmark": name, "outcome": outcome, use: word}
                yield {**_common(source, identity, "all", word), "outcome": outcome, "form": word, "use": use}


def _stimuli(name: str, source: ContrastSource) -> Iterator[Row]:
    for stimulus, entry in source.stimuli.items():
        common = _common(source, {"benchmark": name, "stimulus": stimulus}, "all", entry.text, entry.group)
        yield {**common, "stimulus": stimulus, "text": entry.text, "group": entry.group}


def _number(*words: str) -> int:
    """A number that stands for words, the same everywhere."""
    return int(content_sha256(*words)[:16], 16)

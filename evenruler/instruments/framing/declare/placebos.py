"""What is wrong with placebos: one that names a class, or one whose prompts another row already has."""

import re
from collections.abc import Iterator, Mapping, Sequence

from evenruler.instruments.framing.declare.tasks import PLACEBO, TaskEntry


def faults_of_placebos(
    tasks: Mapping[str, TaskEntry], words: Mapping[str, Sequence[str]], variants: Sequence[str]
) -> Iterator[str]:
    """A line each; the first is what a user is told.

    Args:
        tasks: Of a contrast, by name.
        words: Forms and terms by class.
        variants: All that tasks tell apart; none where everything holds for all.
    """
    for name, task in tasks.items():
        for factor, placebos in task.placebos.items():
            for number, text in enumerate(placebos.texts, start=1):
                for outcome, own in words.items():
                    if word := _word_in(text, own):
                        where = _placebo(name, factor, number, text)
                        yield f"{where}: {word!r} is a word of the class {outcome}, so that it is no placebo"
    for variant in variants or ["every"]:
        yield from _repeated(tasks, variant)


def _word_in(text: str, words: Sequence[str]) -> str | None:
    """The first of some words that a text holds as a whole word, in any case."""
    found = re.search(rf"(?<!\w)(?:{'|'.join(map(re.escape, words))})(?!\w)", text, re.IGNORECASE)
    return found.group() if found else None


def _repeated(tasks: Mapping[str, TaskEntry], variant: str) -> Iterator[str]:
    """Placebos whose prompts are those of a cell, or of a placebo before: their rows would be left out."""
    seen: dict[tuple[str, ...], str] = {}
    for task in tasks.values():
        for cell in task.cells:
            seen.setdefault(_prompt(task, cell, task.template(cell, variant), variant), f"those of the cell {cell!r}")
    for name, task in tasks.items():
        for factor, placebos in task.placebos.items():
            for cell in placebos.cells:
                template = placebos.template(cell, variant)
                for number, text in enumerate(placebos.texts if template else (), start=1):
                    prompt = _prompt(task, cell, (template or "").replace(PLACEBO, text), variant)
                    if prompt in seen:
                        where = _placebo(name, factor, number, text)
                        yield f"{where}, cell {cell!r}: its prompts are {seen[prompt]}, and would be left out"
                    seen[prompt] = f"those of placebo {number} of {factor} in task {name}"


def _prompt(task: TaskEntry, cell: str, template: str, variant: str) -> tuple[str, ...]:
    """What makes the prompts of a cell what they are, whatever the stimulus."""
    options = task.options_of(cell, variant)
    return (template, task.option or "", task.separator, *options, *options.values())


def _placebo(task: str, factor: str, number: int, text: str) -> str:
    return f"task {task}, placebo {number} of {factor} ({text!r})"

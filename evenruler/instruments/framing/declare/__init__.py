"""What users write of a contrast, which models are asked, and the figures that people are shown."""

from collections.abc import Iterator, Sequence

from evenruler.instruments.framing.declare.plan import FramingPlan
from evenruler.instruments.framing.declare.source import LEAST_OF_CHOICES, Settings, load
from evenruler.instruments.instrument import Column, Plan
from evenruler.models.declared import Catalogue

__all__ = ["Settings", "headings", "load", "takes"]

EFFECT = "effect: "
"""Before the name of a factor, and that of a task where a figure is of one."""

MEASURES = {
    "indirect-probing": {
        "GAS": "share of replies that name either class",
        "GLD": "distance of the masses of the two classes, 0 even",
        "ADD": "Jensen-Shannon distance of what the classes go with, 0 the same",
        "AS": "mean absolute change of the three, each scaled to 0 to 1",
        "AS of GLD and ADD": "mean absolute change of these two, each scaled to 0 to 1",
    },
    "p-at": {
        "S": "half the difference of two groups' mean preference, -1 to 1",
        "H": "entropy of the answers, 0 to 1 bit",
        "AS": "mean absolute change of the other measures, each scaled to 0 to 1",
    },
}
"""Of replicated studies, in words."""

BENDING = {"ADD", "H", "AS", "AS of GLD and ADD"}
"""Those that are no mean over stimuli, so that of few stimuli they are others than of many."""


def takes(catalogue: Catalogue, model: str) -> bool:
    """Whether a model of the catalogue is asked: it says how likely a text is, or it writes replies.

    Args:
        catalogue: All models that are declared.
        model: Its name.
    """
    return catalogue.can(model, "loglikelihood") or catalogue.can(model, "generate")


def headings(plan: Plan) -> list[Column]:
    """What is shown of every way of asking on every model.

    Args:
        plan: By `FramingPlan`.
    """
    asked = FramingPlan.read(plan)
    told = "mean APD with and without the cue; control: with and without placebos in its place"
    over_tasks = f"{told}, mean over the tasks with enough coverage and placebos, as far as there are such"
    effects = [
        Column(EFFECT + name, EFFECT + name, over_tasks if name in asked.factors else told)
        for name in asked.confirmatory
    ]
    names = {column.figure for column in effects}
    effects += [
        Column(EFFECT + factor, EFFECT + factor, over_tasks) for factor in asked.factors if EFFECT + factor not in names
    ]
    return [
        *effects,
        Column("shift probability", "shift probability", "mean of the effects of all cues"),
        *_of_study(asked),
        Column(
            "coverage",
            "coverage",
            "share of the answers that is of any class, mean over cells",
            "fitness",
            least_of={"token": asked.least_coverage, "choice": LEAST_OF_CHOICES},
            warning="only {value:.1%} of what it would answer is of any class: the figures are of that part",
        ),
    ]


def _of_study(asked: FramingPlan) -> Iterator[Column]:
    """Before and after of a replicated study."""
    for measure, meaning in MEASURES.get(asked.replicates or "", {}).items():
        if not measure.startswith("AS"):
            yield Column(f"{measure}: before", f"{measure} before", f"{meaning}, without the cue")
        yield Column(f"{measure}: change", f"{measure} change", f"{meaning}: what the cue changes")
        if measure in BENDING:
            more = f"{meaning}: how much more the cue changes than placebos on the same stimuli"
            yield Column(f"{measure}: beyond placebos", f"{measure} beyond placebos", more)


def listed(plan: Plan, cells: Sequence[tuple[str, str]]) -> list[Column]:
    """What a card shows in a row each: coverage by cell, what was excluded, shifts of classes, what was checked.

    Args:
        plan: By `FramingPlan`.
        cells: Task and framing of those without a placebo.
    """
    asked = FramingPlan.read(plan)
    outcomes = list(asked.forms)
    pairs = [f"{second} - {first}" for i, first in enumerate(outcomes) for second in outcomes[i + 1 :]]
    found = [
        Column(f"coverage: {task}, {framing}", f"coverage: {task}, {framing}", "share of the answers of any class")
        for task, framing in cells
    ]
    found.append(Column("excluded cells", "cells below their coverage", "of all cells"))
    found += [
        Column(f"shift: {name}", f"shift: {name}", "(p2 - p1) / (p2 + p1) with the cues")
        for name in [*outcomes, *pairs]
    ]
    if asked.continuation is not None:
        neutral = asked.continuation.outcome
        found.append(Column("continuation check", f"`{neutral}` that names another class", "share of its replies"))
    return found

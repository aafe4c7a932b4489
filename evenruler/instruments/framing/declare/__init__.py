"""Declarations of a contrast, its plan (which models are asked what), and the headings of its
figures.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from evenruler.instruments.framing.declare import source
from evenruler.instruments.framing.declare.source import Settings, load
from evenruler.instruments.instrument import FigureHeading, Plan
from evenruler.models.declarations import Catalogue
from evenruler.strict import StrictModel, read_yaml

__all__ = ["Settings", "headings", "load", "takes"]


class PlannedOutcome(StrictModel):
    """A class of answers with its surface forms."""

    outcome: str
    forms: list[str]
    terms: list[str] = Field(default=[])
    """Words by which replies are classified besides the forms."""
    not_: list[str] = Field(default=[])
    """Phrases in which forms and terms do not count."""


class PlannedOptions(StrictModel):
    """The options that the prompts of a task list in one framing."""

    task: str
    framing: str
    options: dict[str, str]
    """By slug; texts may hold the slot of the stimulus."""


class PlannedAlternatives(StrictModel):
    """The alternatives to the cue of a factor in a task."""

    task: str
    factor: str
    grammar: str
    """Name of the grammar that they are sampled from."""
    asked: int
    """Number of alternatives that are asked."""
    sentences: int
    """Number of sentences that the grammar makes."""
    excluded: int
    """How many of these hold a word of the construct."""
    control: str | None
    """The words of the positive control."""


class WrittenPlan(Plan):
    """The plan as it is written, as far as it is changed before it is read as a `FramingPlan`."""

    stimuli: list[str]
    alternatives: list[dict[str, Any]]
    """Each a `PlannedAlternatives`."""


class FramingPlan(source.AskingSettings):
    """The plan of one contrast, written by `rows` and read by other packages. Lists where the order
    matters.
    """

    factors: list[str]
    alternatives: list[PlannedAlternatives]
    outcomes: list[PlannedOutcome]
    options: list[PlannedOptions]
    """Only of cells that list options."""
    groups: list[str]
    """Groups of stimuli; the first is that of the first stimulus."""
    continuation: source.Continuation | None
    replicates: source.Study | None
    stimuli: list[str]
    """The stimuli that are asked about."""
    headlines: list[source.ConfirmedEffect]
    """Effects that get a verdict; none without a headline."""
    focal_outcome: str | None
    """The class whose share they are about."""
    control_outcome: str | None
    """The class that the positive controls tell."""

    @classmethod
    def read(cls, plan: Mapping[str, object]) -> "FramingPlan":
        """Read the family's part of a plan; other keys, such as `tools`, are ignored."""
        return cls.model_validate(
            {key: value for key, value in plan.items() if key in cls.model_fields}
        )

    @property
    def confirmed_tasks(self) -> dict[str, set[str | None]]:
        """By factor with a headline, the tasks of its headlines; None for a headline over all
        tasks.
        """
        tasks_by_factor: dict[str, set[str | None]] = {}
        for effect in self.headlines:
            tasks_by_factor.setdefault(effect.cue, set()).add(effect.task)
        return tasks_by_factor

    def alternatives_of(self, headline: source.ConfirmedEffect) -> PlannedAlternatives | None:
        """What a headline is compared with, in its first task; None where it has no
        alternatives.
        """
        for entry in self.alternatives:
            if entry.factor == headline.cue and headline.task in (None, entry.task):
                return entry
        return None

    @property
    def forms(self) -> dict[str, list[str]]:
        """Surface forms by class, in the order of the source."""
        return {entry.outcome: entry.forms for entry in self.outcomes}

    @property
    def words(self) -> dict[str, list[str]]:
        """Words by which replies are classified, by class: forms and terms."""
        return {entry.outcome: entry.forms + entry.terms for entry in self.outcomes}

    @property
    def left_out(self) -> list[str]:
        """Phrases of replies in which these words do not count."""
        phrases: list[str] = []
        for entry in self.outcomes:
            phrases += entry.not_
        return phrases


MEASURES: dict[str, dict[str, str]] = read_yaml(Path(__file__).with_name("measures.yaml"))
"""Measures of replicated studies, in words."""

AS, AS_OF_WORDS = "AS", "AS of GLD and ADD"
MEAN_CHANGES = (AS, AS_OF_WORDS)
"""Measures that are the mean absolute change of others; they have no before and after."""


def measure_figure(measure: str) -> str:
    """The id of the figures of a measure: `as_of_gld_and_add`."""
    return measure.lower().replace(" ", "_")


takes = Catalogue.scores_or_writes


def headings(plan: Plan) -> list[FigureHeading]:
    """Figures shown for every way of asking on every model."""
    framing_plan = FramingPlan.read(plan)
    counted = "mean over tasks with enough coverage and alternatives"
    over_tasks = (
        "mean APD with and without the cue; control: with and without other sentences in its "
        f"place, {counted}"
    )
    amount: dict[str, Any] = {"measured_in": "points", "size": "by {size:.0f} percentage points"}
    headlines: list[FigureHeading] = []
    described: list[FigureHeading] = []
    for effect in framing_plan.headlines:
        headlines.append(_headline_heading(framing_plan, effect, counted, amount))
        described += _described_headings(framing_plan, effect)
    what = "change in unusable replies (refused, empty, unreadable) with the cue, percentage points"
    unanswered = [
        FigureHeading("nonresponse_change", f"unanswered, {factor}", what, {"cue": factor})
        for factor in framing_plan.confirmed_tasks
    ]
    of_study: list[FigureHeading] = []
    for measure, meaning in MEASURES.get(framing_plan.replicates or "", {}).items():
        figure = measure_figure(measure)
        without = f"{meaning}, without the cue"
        changed = f"{meaning}: what the cue changes; control: what other sentences change"
        before = FigureHeading(figure, f"{measure} before", without, {"phase": "before"})
        change = FigureHeading(figure, f"{measure} change", changed, {"phase": "change"})
        of_study += [change] if measure in MEAN_CHANGES else [before, change]
    effects = [
        FigureHeading("effect", f"effect: {factor}", over_tasks, {"cue": factor, "task": None})
        for factor in framing_plan.factors
    ]
    shift_probability = FigureHeading(
        "shift_probability", "shift probability", "mean of the effects of all cues"
    )
    coverage = FigureHeading(
        "coverage",
        "coverage",
        "share of answers that name an option, mean over cells",
        {"cell": None},
        figure_type="validity",
        least_of={"token": framing_plan.least_coverage, "choice": source.LEAST_OF_CHOICES},
        warning="only {value:.1%} of the answers name an option; figures describe only these",
    )
    return [
        *headlines,
        *described,
        *unanswered,
        *effects,
        shift_probability,
        *of_study,
        coverage,
    ]


def _headline_heading(
    framing_plan: FramingPlan, effect: source.ConfirmedEffect, counted: str, amount: dict[str, Any]
) -> FigureHeading:
    """The heading of the headline of one effect, in percentage points; `counted`: which tasks its
    mean is over, in words; `amount`: how a size is written.
    """
    outcome = framing_plan.focal_outcome
    meaning = (
        f"percentage points by which the cue makes `{outcome}` likelier than other sentences of "
        "its form do; below 0, less likely"
    )
    if not effect.task:
        meaning = f"{meaning}; {counted}"
    likelier = f"the cue makes `{outcome}` likelier than other sentences of its form do"
    less_likely = f"the cue makes `{outcome}` less likely than other sentences of its form do"
    return FigureHeading(
        "change",
        f"`{outcome}`, {effect.to_text()}",
        meaning,
        _headline_dimensions(framing_plan, effect),
        figure_type="headline",
        says=[likelier, less_likely],
        not_shown="It does not show which wording is right, or what the model does without the "
        "prompt.",
        **amount,
    )


def _described_headings(
    framing_plan: FramingPlan, effect: source.ConfirmedEffect
) -> list[FigureHeading]:
    """What is described of a headline: how far any sentence moves the class, and the cue alone."""
    outcome = framing_plan.focal_outcome
    dimensions = _headline_dimensions(framing_plan, effect)
    any_sentence = FigureHeading(
        "any_sentence",
        f"any sentence, {effect.to_text()}",
        f"points by which other sentences of the cue's form move `{outcome}`, root mean square",
        dimensions,
        measured_in="points",
    )
    raw_change = FigureHeading(
        "raw_change",
        f"raw change, {effect.to_text()}",
        f"points by which the cue moves `{outcome}`, as any sentence may",
        dimensions,
        measured_in="points",
    )
    return [any_sentence, raw_change]


def _headline_dimensions(
    framing_plan: FramingPlan, effect: source.ConfirmedEffect
) -> dict[str, str | None]:
    """Cue, task and outcome of the effect that a headline confirms, by column."""
    return {"cue": effect.cue, "task": effect.task, "outcome": framing_plan.focal_outcome}


def card_row_headings(plan: Plan, cells: Sequence[tuple[str, str]]) -> list[FigureHeading]:
    """Figures that a card shows in one row each: coverage of cells, exclusions, shifts of classes,
    the check.
    """
    framing_plan = FramingPlan.read(plan)
    row_headings = [
        FigureHeading(
            "coverage",
            f"coverage: {task}, {framing}",
            "share of answers that name an option",
            {"task": task, "cell": framing},
        )
        for task, framing in cells
    ]
    row_headings.append(
        FigureHeading("excluded_cells", "cells below their coverage", "of all cells")
    )
    relative_shift = "(p2 - p1) / (p2 + p1) with the cues"
    row_headings += [
        FigureHeading("shift", f"shift: {name}", relative_shift, {"outcome": name})
        for name in framing_plan.forms
    ]
    if framing_plan.continuation is not None:
        neutral = framing_plan.continuation.outcome
        row_headings.append(
            FigureHeading(
                "continuation",
                f"`{neutral}` that names another class",
                "share of its replies",
                {"outcome": neutral},
            )
        )
    return row_headings

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


class WrittenPlan(Plan):
    """The plan as it is written, as far as it is changed before it is read as a `FramingPlan`."""

    stimuli: list[str]


class FramingPlan(source.AskingSettings):
    """The plan of one contrast, written by `rows` and read by other packages. Lists where the order
    matters.
    """

    factors: list[str]
    placebos: dict[str, int]
    """Number of placebos by factor."""
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
    counted = "mean over tasks with enough coverage and placebos"
    over_tasks = (
        "mean APD with and without the cue; control: with and without placebos in its "
        f"place, {counted}"
    )
    points = (
        f"percentage points by which the cue makes `{framing_plan.focal_outcome}` likelier; below 0, "
        "less likely"
    )
    likelier = f"the cue makes `{framing_plan.focal_outcome}`"
    fewer = "the cue has {} replies answer"
    amount: dict[str, Any] = {"measured_in": "points", "size": "by {size:.0f} percentage points"}
    beyond = "It does not show which wording is right, or what the model does without the prompt."
    says = [f"{likelier} likelier", f"{likelier} less likely"]
    headlines: list[FigureHeading] = []
    for effect in framing_plan.headlines:
        headline_meaning = points if effect.task else f"{points}; {counted}"
        dimensions = {"cue": effect.cue, "task": effect.task, "outcome": framing_plan.focal_outcome}
        headlines.append(
            FigureHeading(
                "change",
                f"`{framing_plan.focal_outcome}`, {effect.to_text()}",
                headline_meaning,
                dimensions,
                figure_type="headline",
                says=says,
                not_shown=beyond,
                **amount,
            )
        )
    what = "change in unusable replies (refused, empty, unreadable) with the cue, percentage points"
    says = [fewer.format("fewer"), fewer.format("more")]
    unanswered = [
        FigureHeading(
            "nonresponse_change",
            f"unanswered, {factor}",
            what,
            {"cue": factor},
            figure_type="headline",
            says=says,
            **amount,
        )
        for factor in framing_plan.confirmed_tasks
    ]
    of_study: list[FigureHeading] = []
    for measure, meaning in MEASURES.get(framing_plan.replicates or "", {}).items():
        figure = measure_figure(measure)
        without = f"{meaning}, without the cue"
        changed = f"{meaning}: what the cue changes; control: what placebos change"
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
    return [*headlines, *unanswered, *effects, shift_probability, *of_study, coverage]


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

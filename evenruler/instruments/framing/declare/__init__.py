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
    confirmatory: list[str]
    """Effects that get a verdict; none without a headline."""
    headline: str | None
    """The class whose share they are about."""

    @classmethod
    def read(cls, plan: Mapping[str, object]) -> "FramingPlan":
        """Read the family's part of a plan; other keys, such as `tools`, are ignored."""
        return cls.model_validate(
            {key: value for key, value in plan.items() if key in cls.model_fields}
        )

    @property
    def confirmed_tasks(self) -> dict[str, set[str]]:
        """By factor with a headline, the tasks of its headlines; "" for a headline over all
        tasks.
        """
        tasks_by_factor: dict[str, set[str]] = {}
        for name in self.confirmatory:
            factor, _, task = name.partition(", ")
            tasks_by_factor.setdefault(factor, set()).add(task)
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


EFFECT = "effect: "
"""Prefix of figures, before the factor, and the task where a figure is of one."""

CHANGE, TOTAL, UNANSWERED = "change: ", "total shift: ", "unanswered: "
"""Prefixes likewise: of changes of the headline's class, of all classes, and of replies of no
class."""

MEASURES: dict[str, dict[str, str]] = read_yaml(Path(__file__).with_name("measures.yaml"))
"""Measures of replicated studies, in words."""


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
        f"percentage points by which the cue makes `{framing_plan.headline}` likelier; below 0, "
        "less likely"
    )
    likelier = f"the cue makes `{framing_plan.headline}`"
    fewer = "the cue has {} replies answer"
    amount: dict[str, Any] = {"measured_in": "points", "size": "by {size:.0f} percentage points"}
    beyond = "It does not show which wording is right, or what the model does without the prompt."
    says = [f"{likelier} likelier", f"{likelier} less likely"]
    headlines: list[FigureHeading] = []
    for name in framing_plan.confirmatory:
        headline_meaning = f"{points}; {counted}" if name in framing_plan.factors else points
        words = {"says": says, **amount, "not_shown": beyond}
        headlines.append(
            FigureHeading(
                CHANGE + name,
                f"`{framing_plan.headline}`, {name}",
                headline_meaning,
                "headline",
                **words,
            )
        )
    what = "change in unusable replies (refused, empty, unreadable) with the cue, percentage points"
    says = [fewer.format("fewer"), fewer.format("more")]
    unanswered = [
        FigureHeading(
            UNANSWERED + factor, f"unanswered, {factor}", what, "headline", says=says, **amount
        )
        for factor in framing_plan.confirmed_tasks
    ]
    of_study = []
    for measure, meaning in MEASURES.get(framing_plan.replicates or "", {}).items():
        if not measure.startswith("AS"):
            of_study.append(
                FigureHeading(
                    f"{measure}: before", f"{measure} before", f"{meaning}, without the cue"
                )
            )
        changed = f"{meaning}: what the cue changes; control: what placebos change"
        of_study.append(FigureHeading(f"{measure}: change", f"{measure} change", changed))
    effects = [
        FigureHeading(EFFECT + factor, EFFECT + factor, over_tasks)
        for factor in framing_plan.factors
    ]
    shift_probability = FigureHeading(
        "shift probability", "shift probability", "mean of the effects of all cues"
    )
    coverage = FigureHeading(
        "coverage",
        "coverage",
        "share of answers that name an option, mean over cells",
        "fitness",
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
            f"coverage: {task}, {framing}",
            f"coverage: {task}, {framing}",
            "share of answers that name an option",
        )
        for task, framing in cells
    ]
    row_headings.append(
        FigureHeading("excluded cells", "cells below their coverage", "of all cells")
    )
    row_headings += [
        FigureHeading(f"shift: {name}", f"shift: {name}", "(p2 - p1) / (p2 + p1) with the cues")
        for name in framing_plan.forms
    ]
    if framing_plan.continuation is not None:
        neutral = framing_plan.continuation.outcome
        row_headings.append(
            FigureHeading(
                "continuation check",
                f"`{neutral}` that names another class",
                "share of its replies",
            )
        )
    return row_headings

"""What is asked of the prompts of one contrast, and by what their answers are read: the plan, as one definition."""

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from evenruler.instruments.framing.declare.source import Choices, Configurations, Continuation, Mass, Metric, Study
from evenruler.strict import Strict


class PlannedOutcome(Strict):
    """A class of answers with its surface forms."""

    outcome: str
    forms: list[str]
    terms: list[str] = Field(default=[])
    """Words by which replies are read besides the forms."""
    not_: list[str] = Field(default=[])
    """Phrases in which none of these words counts."""


class PlannedOptions(Strict):
    """What the prompts of a task list in one framing."""

    task: str
    framing: str
    options: dict[str, str]
    """By slug, with the slot of the stimulus in them."""


class FramingPlan(Strict):
    """The plan of one contrast: the room `rows` writes it, others read it. Lists where an order means something."""

    asked: bool = True
    """Whether the pipeline asks models."""
    factors: list[str]
    placebos: dict[str, int]
    """By factor, how many there are."""
    outcomes: list[PlannedOutcome]
    options: list[PlannedOptions]
    """Where words are read there is none."""
    groups: list[str]
    """Of stimuli; the first is that of the first stimulus."""
    continuation: Continuation | None
    replicates: Study | None
    stimuli: list[str]
    """Those that are asked about."""
    placebo_stimuli: int
    """Each placebo is asked about at most so many of them."""
    orders: int
    """At most so many orders of options are asked."""
    mass: Mass
    calibrated: bool
    configurations: Configurations
    generations: int
    new_tokens: int
    choices: Choices
    confirmatory: list[str]
    """Effects that get a verdict."""
    confirmed: Metric
    """By which metric."""
    least_coverage: float
    bound: float
    least: int
    seed: int

    @classmethod
    def read(cls, plan: Mapping[str, Any]) -> "FramingPlan":
        """The family's part of a plan; what others put beside it, as the tools, is left aside.

        Raises:
            ValidationError: It is no plan of this family.
        """
        return cls.model_validate({key: value for key, value in plan.items() if key in cls.model_fields})

    @property
    def forms(self) -> dict[str, list[str]]:
        """Surface forms by class, in the order of the source."""
        return {entry.outcome: entry.forms for entry in self.outcomes}

    @property
    def samples_placebos(self) -> bool:
        """Whether placebos are sampled, too: one reply to a question has no distribution to compare."""
        return self.generations > 1

    @property
    def words(self) -> dict[str, list[str]]:
        """By what replies are read, by class: forms and terms."""
        return {entry.outcome: entry.forms + entry.terms for entry in self.outcomes}

    @property
    def left_out(self) -> list[str]:
        """Phrases of replies in which none of these words counts."""
        return [phrase for entry in self.outcomes for phrase in entry.not_]

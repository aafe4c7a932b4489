"""What is asked of the prompts of one contrast, and by what their answers are read: the plan, as one definition."""

from collections.abc import Mapping
from typing import Any

from evenruler.instruments.framing.declare.settings import Choices, Mass
from evenruler.instruments.framing.declare.source import Continuation, Study
from evenruler.strict import Strict


class PlannedOutcome(Strict):
    """A class of answers with its surface forms."""

    outcome: str
    forms: list[str]


class PlannedOptions(Strict):
    """What the prompts of a task list in one framing."""

    task: str
    framing: str
    options: dict[str, str]
    """By slug, with the slot of the stimulus in them."""


class FramingPlan(Strict):
    """The plan of one contrast: `build` writes it, other rooms read it. Lists where an order means something."""

    factors: list[str]
    outcomes: list[PlannedOutcome]
    options: list[PlannedOptions]
    """Where words are read there is none."""
    groups: list[str]
    """Of stimuli; the first is that of the first stimulus."""
    continuation: Continuation | None
    replicates: Study | None
    stimuli: list[str]
    """Those that are asked about."""
    orders: int
    """At most so many orders of options are asked."""
    mass: Mass
    generations: int
    new_tokens: int
    choices: Choices
    seed: int

    @classmethod
    def read(cls, plan: Mapping[str, Any]) -> "FramingPlan":
        """The family's part of a plan; what others put beside it, as the tools, is left aside.

        Args:
            plan: As it was published.

        Raises:
            ValidationError: It is no plan of this family.
        """
        return cls.model_validate({key: value for key, value in plan.items() if key in cls.model_fields})

    @property
    def forms(self) -> dict[str, list[str]]:
        """Surface forms by class, in the order of the source."""
        return {entry.outcome: entry.forms for entry in self.outcomes}

"""One contrast written out: prompts, classes, stimuli, and what is asked of them."""

from collections.abc import Iterator

from evenruler.instruments.framing import schemas
from evenruler.instruments.framing.build.composing import compose
from evenruler.instruments.framing.declare.plan import FramingPlan, PlannedOptions, PlannedOutcome
from evenruler.instruments.framing.declare.settings import Settings
from evenruler.instruments.framing.declare.source import ContrastSource, framing_of
from evenruler.instruments.instrument import Built, Declaration
from evenruler.models.declared import Catalogue
from evenruler.tables import evenly_spread, table_of

__all__ = ["build"]


def build(declaration: Declaration, catalogue: Catalogue) -> Built:
    """Write every prompt of a contrast, its classes, its stimuli, and what was rejected.

    Args:
        declaration: Of the contrast.
        catalogue: The models; the rows depend on none.

    Returns:
        The tables `prompts`, `outcomes`, `stimuli` and `rejected`, and the plan, by `FramingPlan`.
    """
    composed = compose(declaration.name, declaration.source, declaration.settings)
    tables = {
        "prompts": table_of(composed.prompts, schemas.PROMPTS),
        "outcomes": table_of(composed.outcomes, schemas.OUTCOMES),
        "stimuli": table_of(composed.stimuli, schemas.STIMULI),
        "rejected": table_of(composed.rejected, schemas.REJECTED),
    }
    said = f"{declaration.name}: {len(composed.prompts):,} prompts, {len(composed.rejected):,} rejected"
    plan = _plan(declaration.source, declaration.settings)
    return Built(tables, plan.model_dump(mode="json"), [said])


def _plan(source: ContrastSource, settings: Settings) -> FramingPlan:
    groups = [entry.group for entry in source.stimuli.values() if entry.group is not None]
    return FramingPlan(
        factors=list(source.factors),
        outcomes=[PlannedOutcome(outcome=name, forms=entry.forms) for name, entry in source.outcomes.items()],
        options=list(_options(source, settings.variant)),
        groups=list(dict.fromkeys(groups)),
        continuation=source.continuation,
        replicates=source.replicates,
        stimuli=evenly_spread(list(source.stimuli), settings.stimuli),
        orders=settings.orders,
        mass=settings.mass,
        generations=settings.generations,
        new_tokens=settings.new_tokens,
        choices=settings.choices,
        seed=settings.seed,
    )


def _options(source: ContrastSource, variant: str) -> Iterator[PlannedOptions]:
    for name, task in source.tasks.items():
        for cell in task.cells:
            if options := task.options_of(cell, variant):
                yield PlannedOptions(task=name, framing=framing_of(source.cues(cell)), options=options)

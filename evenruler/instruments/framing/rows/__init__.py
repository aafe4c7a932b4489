"""One contrast written out: prompts, classes, stimuli, and what is asked of them."""

from collections.abc import Iterator

from evenruler.instruments.framing import schemas
from evenruler.instruments.framing.declare.plan import FramingPlan, PlannedOptions, PlannedOutcome
from evenruler.instruments.framing.declare.settings import Settings
from evenruler.instruments.framing.declare.source import ContrastSource
from evenruler.instruments.framing.rows.composing import compose
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
        The tables `prompts`, `content-free`, `outcomes`, `stimuli` and `rejected`, and the plan, by `FramingPlan`.
    """
    composed = compose(declaration.name, declaration.source, declaration.settings)
    tables = {
        "prompts": table_of(composed.prompts, schemas.PROMPTS),
        "content-free": table_of(composed.without_content, schemas.CONTENT_FREE),
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
        asked=settings.asked,
        factors=list(source.factors),
        placebos={factor: _placebos(source, factor) for factor in source.factors},
        outcomes=[
            PlannedOutcome(outcome=name, forms=entry.forms, terms=entry.terms, not_=entry.not_)
            for name, entry in source.outcomes.items()
        ],
        options=list(_options(source, settings.variant)),
        groups=list(dict.fromkeys(groups)),
        continuation=source.continuation,
        replicates=source.replicates,
        stimuli=evenly_spread(list(source.stimuli), settings.stimuli),
        placebo_stimuli=settings.placebo_stimuli,
        orders=settings.orders,
        mass=settings.mass,
        calibrated=settings.calibrated,
        configurations=settings.configurations,
        generations=settings.generations,
        new_tokens=settings.new_tokens,
        choices=settings.choices,
        confirmatory=source.confirmed,
        confirmed=settings.confirmed,
        least_coverage=settings.least_coverage,
        bound=settings.bound,
        least=settings.least,
        seed=settings.seed,
    )


def _options(source: ContrastSource, variant: str) -> Iterator[PlannedOptions]:
    for name, task in source.tasks.items():
        for cell in task.cells:
            if options := task.options_of(cell, variant):
                yield PlannedOptions(task=name, framing=cell, options=options)


def _placebos(source: ContrastSource, factor: str) -> int:
    """How many there are; as many in every task that tells of the factor."""
    found = [len(task.placebos[factor].texts) for task in source.tasks.values() if factor in task.placebos]
    return max(found, default=0)

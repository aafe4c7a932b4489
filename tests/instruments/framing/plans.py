"""A plan of a contrast of pronouns, and the figures of distributions that are written down."""

from typing import Any

import pandas as pd

from evenruler.instruments.framing import diagnose, schemas
from evenruler.instruments.framing.declare import FramingPlan
from evenruler.instruments.framing.diagnose.distributions import (
    compute_exclusions,
    without_excluded,
)
from evenruler.instruments.framing.diagnose.effects import compute_effects, compute_shifts
from evenruler.instruments.instrument import ModelMeta
from tests.instruments.framing.hair import subject

FACTORS = ["salience", "instruction"]
CLASSES = ["he", "she"]


def plan(**changes: Any) -> FramingPlan:
    """What is asked about pronouns, with some keys changed."""
    declared: dict[str, Any] = {
        "asked": True,
        "factors": FACTORS,
        "alternatives": [],
        "outcomes": [{"outcome": name, "forms": [name]} for name in CLASSES],
        "options": [],
        "groups": [],
        "continuation": None,
        "replicates": None,
        "stimuli": [],
        "mass": "words",
        "calibrated": True,
        "prompt_formats": "own",
        "generations": 1,
        "new_tokens": 20,
        "choices": "chat",
        "focal_outcome": "he",
        "control_outcome": "she",
        "confirmed": "token",
        "least_coverage": 0.1,
        "bound": 10.0,
        "seed": 0,
    }
    declared["headlines"] = changes.get("factors", FACTORS)
    return FramingPlan.model_validate(declared | changes)


def figures_of(
    measured: pd.DataFrame,
    whom: ModelMeta | None = None,
    level: float = 0.9,
    replications: pd.DataFrame | None = None,
    continuations: pd.DataFrame | None = None,
    **changes: Any,
) -> pd.DataFrame:
    """All figures of one model, as `diagnose.figures` makes them of distributions."""
    framing_plan = plan(**changes)
    excluded = compute_exclusions(measured, framing_plan.least_coverage)
    counted = without_excluded(measured, excluded, ["choice"])
    tables = {
        "choices": pd.DataFrame(columns=schemas.CHOICES.names),
        "distributions": measured,
        "exclusions": excluded,
        "effects": compute_effects(counted, framing_plan.factors),
        "shifts": compute_shifts(counted, framing_plan.factors),
        "continuations": pd.DataFrame(continuations, columns=schemas.CONTINUATIONS.names),
        "replications": pd.DataFrame(replications, columns=schemas.REPLICATIONS.names),
    }
    figures, _ = diagnose.figures_of(
        "pronouns", tables, framing_plan, whom or subject(name="m0"), level
    )
    return figures


def find_figure(figures: pd.DataFrame, figure: str, **dimensions: str) -> "pd.Series[Any]":
    """The row of a figure with these dimensions and, besides its prompt format and readout, no
    others."""
    is_wanted = figures["figure"] == figure
    for name in schemas.DIMENSIONS.names:
        if name in dimensions:
            is_wanted &= figures[name] == dimensions[name]
        elif name not in ("prompt_format", "readout"):
            is_wanted &= figures[name].isna()
    assert is_wanted.sum() == 1, (figure, dimensions)
    return figures[is_wanted].iloc[0]

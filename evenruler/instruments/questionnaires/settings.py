"""How questionnaires are scored, and how models are adapted to corpora."""

from collections.abc import Mapping

from pydantic import Field, field_validator

from evenruler.instruments.instrument import Scale
from evenruler.strict import Strict

MOST_EPOCHS = 127
"""Of an adaptation: what the tables hold (int8)."""


class QuestionnaireSettings(Strict):
    """How one questionnaire is scored."""

    temperature: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    """Of the two-way normalisation: above 1 evens out, below 1 sharpens."""
    three_way: bool = False
    """Take entailment's share of all three answers; by default neutral is left out."""
    stop_below: bool = False
    """Stop the diagnosis where an item is poor, rather than only say so."""


class InterventionSettings(Strict):
    """How models are adapted to one corpus (EMPALC, section 4.4)."""

    epochs: dict[Scale, int] = Field(default={"quick": 3, "paper": 20})
    learning_rate: float = Field(default=2e-5, gt=0, allow_inf_nan=False)
    batch: int = Field(default=8, ge=1)
    seed: int = Field(default=0, ge=0)
    scale: Scale | None = None
    """The scale that adapts models to it; every one by default."""

    @field_validator("epochs")
    @classmethod
    def _for_each_scale(cls, epochs: dict[Scale, int]) -> dict[Scale, int]:
        if set(epochs) != {"quick", "paper"} or not all(1 <= number <= MOST_EPOCHS for number in epochs.values()):
            raise ValueError(f"found {epochs}, expected 1 to {MOST_EPOCHS} epochs for quick and for paper")
        return epochs


def corpora_at(declared: Mapping[str, InterventionSettings], scale: Scale) -> dict[str, InterventionSettings]:
    """The corpora that models are adapted to at a scale."""
    return {name: entry for name, entry in declared.items() if entry.scale in (None, scale)}

"""How questionnaires are scored, and how models are adapted to corpora."""

from typing import Annotated, Any

from pydantic import Field, ValidationInfo, field_validator

from evenruler.instruments.instrument import BaseSettings, Use
from evenruler.instruments.scaled import Scaled, at_scale
from evenruler.strict import Slug, Strict

MOST_EPOCHS = 127
"""Of an adaptation: what the tables hold (int8)."""


class CorpusSettings(Strict):
    """How models are adapted to one corpus (EMPALC, section 4.4)."""

    epochs: Scaled[Annotated[int, Field(ge=1, le=MOST_EPOCHS)]] = Field(
        default={"quick": 3, "paper": 20}, validate_default=True
    )
    learning_rate: float = Field(default=2e-5, gt=0, allow_inf_nan=False)
    batch: int = Field(default=8, ge=1)
    seed: int = Field(default=0, ge=0)


class Settings(BaseSettings):
    """How one questionnaire is asked and scored."""

    temperature: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    """Of the two-way normalisation: above 1 evens out, below 1 sharpens."""
    three_way: bool = False
    """Take entailment's share of all three answers; by default neutral is left out."""
    stop_below: bool = False
    """Stop the diagnosis where an item is poor, rather than only say so."""
    embedder: Slug
    """The model that says how near prompts are to their question (SS)."""
    acceptability: Slug | None = None
    """The model that says how acceptable the sentences are: one that can `slor`, else one that can `classify` (LA)."""
    corpora: dict[Slug, CorpusSettings] = Field(default_factory=dict)
    """What models with `intervention` are adapted to, by the file under `shared/corpora`; an entry with `scale` at that
    scale alone."""
    prefixed: Scaled[Annotated[int, Field(ge=0)]] = Field(default={"quick": 0, "paper": 1000}, validate_default=True)
    """How many items are also asked after prefixes."""
    asked: Scaled[bool] = True
    """Whether the pipeline asks models; where not, rows are built, and whoever measures with them asks."""

    @field_validator("corpora", mode="before")
    @classmethod
    def _at_scale(cls, corpora: Any, info: ValidationInfo) -> Any:
        if info.context is None:
            raise RuntimeError("settings by scale are read without a scale")
        return at_scale(corpora, info.context["scale"])

    def uses(self, source: Any) -> list[Use]:
        """The embedder, and the judge of acceptability where one is named."""
        judge = [] if self.acceptability is None else [Use(self.acceptability, ("slor", "classify"), "acceptability")]
        return [Use(self.embedder, "embed", "embedder"), *judge]

"""How questionnaires are scored, and how models are adapted to corpora."""

from typing import Annotated, Any

from pydantic import Field, ValidationInfo, field_validator

from evenruler.instruments.instrument import BaseSettings, Use
from evenruler.instruments.questionnaires.declare.matching import differences
from evenruler.instruments.scaled import Scaled, at_scale
from evenruler.strict import Slug, Strict

MOST = 127
"""Epochs and fits of an adaptation: what the tables hold (int8)."""


class CorpusSettings(Strict):
    """How models are adapted to one corpus (EMPALC, section 4.4)."""

    epochs: Scaled[Annotated[int, Field(ge=1, le=MOST)]] = Field(
        default={"quick": 3, "paper": 20}, validate_default=True
    )
    learning_rate: Scaled[Annotated[float, Field(gt=0, allow_inf_nan=False)]] = Field(
        default={"quick": 2e-4, "paper": 2e-5}, validate_default=True
    )
    """That of the paper; so few epochs take a higher one."""
    batch: int = Field(default=8, ge=1)


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
    fits: Scaled[Annotated[int, Field(ge=1, le=MOST)]] = Field(default={"quick": 1, "paper": 6}, validate_default=True)
    """How often a model is adapted to each corpus, with another seed and another part of it held out; below five the
    course is shown, and nothing is said of it."""
    bound: float = Field(default=0.2, gt=0, allow_inf_nan=False)
    """In standard deviations of the items' answers before: a scale that moves with a corpus by less than this more
    than with its control has not moved."""
    adapted: Scaled[Annotated[int, Field(ge=1)]] = Field(default={"quick": 1000, "paper": 1000}, validate_default=True)
    """How many items are asked after adaptation, at most."""
    prefixed: Scaled[Annotated[int, Field(ge=0)]] = Field(default={"quick": 0, "paper": 1000}, validate_default=True)
    """How many items are also asked after prefixes."""

    @field_validator("corpora", mode="before")
    @classmethod
    def _at_scale(cls, corpora: Any, info: ValidationInfo) -> Any:
        if info.context is None:
            raise RuntimeError("settings by scale are read without a scale")
        return at_scale(corpora, info.context["scale"])

    def warnings(self, source: Any) -> list[str]:
        """Controls that are not like the corpus that they are a control of."""
        matches = {name: corpus.matched for name, corpus in source.corpora.items() if corpus.matched is not None}
        return list(differences({name: corpus.sentences for name, corpus in source.corpora.items()}, matches))

    def uses(self, source: Any) -> list[Use]:
        """The embedder, and the judge of acceptability where one is named."""
        judge = [] if self.acceptability is None else [Use(self.acceptability, ("slor", "classify"), "acceptability")]
        return [Use(self.embedder, "embed", "embedder"), *judge]

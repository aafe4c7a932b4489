"""How each benchmark is built, asked and diagnosed: the sections of `params.yaml` but for the catalogue of models."""

from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag, ValidationInfo, field_validator

from evenruler.declaration.strict import Slug, Strict

Scale = Literal["quick", "paper"]
Article = Literal["agree", "literal"]
ArticleSetting = Annotated[
    Annotated[Article, Tag("[one]")] | Annotated[dict[Slug, Article], Tag("[by set]")],
    Discriminator(lambda value: "[by set]" if isinstance(value, dict) else "[one]"),
]
"""For all template sets, or by set."""

MOST_EPOCHS = 127
"""Of an adaptation: what the tables hold (int8)."""


class ProbeSettings(Strict):
    """How one probe domain is built."""

    article: ArticleSetting = "agree"
    """`agree`: "a/an" before a filled slot follows the filled word; `literal`: as the template has it.
    For all template sets, or by set (`agree` for those not named)."""

    def article_of(self, template_set: str) -> Article:
        """The article setting of one template set."""
        return self.article.get(template_set, "agree") if isinstance(self.article, dict) else self.article


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

    @field_validator("epochs")
    @classmethod
    def _for_each_scale(cls, epochs: dict[Scale, int]) -> dict[Scale, int]:
        if set(epochs) != {"quick", "paper"} or not all(1 <= number <= MOST_EPOCHS for number in epochs.values()):
            raise ValueError(f"found {epochs}, expected 1 to {MOST_EPOCHS} epochs for quick and for paper")
        return epochs


class ContrastSettings(Strict):
    """How one contrast of framings is built and asked."""

    variant: Slug = "balanced"
    """Of templates and options, where the contrast has several."""
    mass: Literal["words", "first_token"] = "words"
    """`words`: all tokens of a form, where no letter follows; `first_token`: as the paper, its first token alone."""
    stimuli: dict[Scale, int] = Field(default={"quick": 5, "paper": 1000})
    """At most so many are asked about, evenly spread over the list."""
    orders: dict[Scale, int] = Field(default={"quick": 2, "paper": 1000})
    """At most so many orders of options are asked, in whole pairs of an order and its reverse."""
    generations: dict[Scale, int] = Field(default={"quick": 1, "paper": 10})
    """Sampled replies to a prompt; 0 for none."""
    new_tokens: dict[Scale, int] = Field(default={"quick": 20, "paper": 50})
    """At most so many in a reply."""
    choices: Literal["chat", "every"] = "chat"
    """Which models are sampled: those tuned to chat, or every one."""
    seed: int = Field(default=0, ge=0)

    @field_validator("stimuli", "orders", "generations", "new_tokens")
    @classmethod
    def _for_each_scale(cls, numbers: dict[Scale, int], info: ValidationInfo) -> dict[Scale, int]:
        least = {"generations": 0, "orders": 2}.get(str(info.field_name), 1)
        if set(numbers) != {"quick", "paper"} or min(numbers.values()) < least:
            raise ValueError(f"found {numbers}, expected numbers from {least} on for quick and for paper")
        return numbers


class BrittlenessSettings(Strict):
    """At most so many units are also asked after each framing, evenly spread over their list."""

    probes: dict[Scale, int] = Field(default={"quick": 8, "paper": 1000})
    """Attributes of a domain."""
    questionnaires: dict[Scale, int] = Field(default={"quick": 3, "paper": 1000})
    """Items of a questionnaire."""
    domains: dict[Scale, int] = Field(default={"quick": 2, "paper": 1000})
    """Root items of a domain; where it is not branched, items of each concept."""

    @field_validator("probes", "questionnaires", "domains")
    @classmethod
    def _for_each_scale(cls, units: dict[Scale, int]) -> dict[Scale, int]:
        if set(units) != {"quick", "paper"} or min(units.values()) < 1:
            raise ValueError(f"found {units}, expected numbers from 1 on for quick and for paper")
        return units


class DiagnosisSettings(Strict):
    """How figures of quality are computed."""

    embedder: Slug
    """The embedder of semantic diversity and of content."""
    acceptability: Slug | None = None
    """What says how acceptable the sentences of questionnaires are: a causal model (SLOR), or a classifier fitted on
    CoLA."""
    level: float = Field(default=0.95, gt=0, lt=1)
    resamples: int = Field(default=2000, ge=100)
    seed: int = 0

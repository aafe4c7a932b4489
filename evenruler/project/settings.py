"""How figures are computed, and how many units are also asked after a prefix: sections of `params.yaml`."""

from pydantic import Field, field_validator

from evenruler.instruments.instrument import Scale
from evenruler.strict import Slug, Strict


class BrittlenessSettings(Strict):
    """At most so many units are also asked after each framing, evenly spread over their list; none for 0."""

    probes: dict[Scale, int] = Field(default={"quick": 0, "paper": 1000})
    """Attributes of a domain."""
    questionnaires: dict[Scale, int] = Field(default={"quick": 0, "paper": 1000})
    """Items of a questionnaire."""
    domains: dict[Scale, int] = Field(default={"quick": 0, "paper": 1000})
    """Root items of a domain; where it is not branched, items of each concept."""

    @field_validator("probes", "questionnaires", "domains")
    @classmethod
    def _for_each_scale(cls, units: dict[Scale, int]) -> dict[Scale, int]:
        if set(units) != {"quick", "paper"} or min(units.values()) < 0:
            raise ValueError(f"found {units}, expected numbers from 0 on for quick and for paper")
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

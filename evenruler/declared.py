"""`params.yaml` as a stage reads it: a stage validates the parts that it uses, `evenruler check` the whole."""

from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from pydantic import Field, field_validator

from evenruler.errors import UserError, nearest
from evenruler.instruments.instrument import Scale
from evenruler.models.declared import Catalogue
from evenruler.strict import Slug, Strict, read_yaml, validate

FIRST_VERSION = "0.1.0"
"""Of a benchmark that nobody has released."""

Part = TypeVar("Part", bound=Strict)


class Active(Strict):
    """What is in use. Written by `evenruler scale` and `evenruler check`, not by hand."""

    scale: Scale
    models: list[Slug] = Field(min_length=1)
    """The models that say how likely texts are, or write."""
    entailment: list[Slug] = Field(default_factory=list)
    """The models that answer questionnaires."""
    interventions: list[Slug] = Field(default_factory=list)
    """Those of them that are adapted to corpora."""
    ours: list[Slug] = Field(default_factory=list)
    """The domains whose text is ours."""
    others: list[Slug] = Field(default_factory=list)
    """The domains whose text others wrote."""
    evolved: list[Slug] = Field(default_factory=list)
    """The probe domains that evolve."""
    uses: dict[Slug, str] = Field(default_factory=dict)
    """By stage, a checksum of the entries of the models that it asks or names beside the one that it is about: so DVC
    sees when one of them changes, and no other."""


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


class Declared:
    """The parts of one `params.yaml`, each read when it is asked for."""

    def __init__(self, path: Path = Path("params.yaml")) -> None:
        """Read the file.

        Raises:
            UserError: It is missing, or no YAML.
        """
        self._path = path
        self._data: dict[str, Any] = read_yaml(path)

    def part(self, key: str, model: type[Part]) -> Part:
        """One section, `{}` where there is none.

        Raises:
            UserError: Something in it is wrong: key, what was found, what to do.
        """
        return validate(model, self._data.get(key, {}), self._path, under=key)

    def entries(self, key: str, model: type[Part]) -> dict[str, Part]:
        """The entries of a section, by name; none where there is no such section.

        Raises:
            UserError: Something in one is wrong: key, what was found, what to do.
        """
        entries: dict[str, Any] = self._data.get(key) or {}
        return {name: validate(model, entry, self._path, under=f"{key}.{name}") for name, entry in entries.items()}

    def entry(self, key: str, name: str, model: type[Part]) -> Part:
        """One entry of a section.

        Raises:
            UserError: It is not there, or something in it is wrong.
        """
        entries: dict[str, Any] = self._data.get(key) or {}
        if name not in entries:
            raise UserError(
                f"no entry {name!r}", where=f"{self._path}: {key}", remedy=f"mend the name ({nearest(name, entries)})"
            )
        return validate(model, entries[name], self._path, under=f"{key}.{name}")

    @cached_property
    def active(self) -> Active:
        """What is in use."""
        return self.part("active", Active)

    @property
    def scale(self) -> Scale:
        """How much is built and asked."""
        return self.active.scale

    @cached_property
    def catalogue(self) -> Catalogue:
        """The models."""
        return validate(Catalogue, {key: self._data.get(key, {}) for key in Catalogue.model_fields}, self._path)

    @cached_property
    def diagnosis(self) -> DiagnosisSettings:
        """How figures are computed."""
        return self.part("diagnosis", DiagnosisSettings)

    @cached_property
    def brittleness(self) -> BrittlenessSettings:
        """How many units are also asked after a framing."""
        return self.part("brittleness", BrittlenessSettings)

    def version(self, benchmark: str) -> str:
        """The version that a benchmark is at."""
        versions: dict[str, str] = self._data.get("versions") or {}
        return versions.get(benchmark, FIRST_VERSION)

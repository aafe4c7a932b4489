"""`params.yaml` as a stage reads it: a stage validates the parts that it uses, `evenruler check` the whole."""

from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import Field

from evenruler.errors import UserError, nearest
from evenruler.instruments.instrument import SCALES, SIZE_AT, SIZES, BaseSettings, Scale, Size
from evenruler.instruments.registry import FAMILIES, room
from evenruler.measurement.checks import Resampling
from evenruler.models.declared import Catalogue
from evenruler.strict import Seed, Slug, Strict, read_yaml, validate

OF_PARAMS = ("family", "scale")
"""Keys of an instrument's entry that its family does not see."""

Part = TypeVar("Part", bound=Strict)


class Built(Strict):
    """An instrument that is built."""

    family: Slug
    source: str
    """What it is built from: the file that users write, or the folder that a stage makes of it."""
    settings: str
    """A checksum of its settings: its own entry, over that of its family, numbers by scale resolved."""


class InUse(Built):
    """An instrument in use, as its stages need to know it."""

    models: str
    """A checksum of the entries of all models that it names."""


class Carded(Built):
    """An instrument whose benchmark is put together."""

    version: str


class Scraping(InUse):
    """An instrument whose sentences are scraped; its `source` is the file that users write."""

    material: str
    """The file or folder that its text is read from; `source` once more where there is none: DVC wants a path."""
    found: str
    """What `evenruler find` found; the same."""


class InFamily(Strict):
    """What is in use of a family."""

    instruments: list[Slug]
    models: list[Slug]
    """Those that its instruments ask."""


class Asked(Strict):
    """A model that the instruments of a family ask."""

    family: Slug
    model: Slug
    instruments: list[Slug]
    """Those of the family that ask it."""


class Active(Strict):
    """What is in use, for `foreach` of dvc.yaml. Written by `evenruler scale` and `evenruler check`, not by hand."""

    scale: Scale
    families: dict[Slug, InFamily] = Field(default_factory=dict)
    instruments: dict[Slug, InUse] = Field(default_factory=dict)
    scrape: dict[Slug, Scraping] = Field(default_factory=dict)
    evolve: dict[Slug, InUse] = Field(default_factory=dict)
    """The instruments whose templates evolve; `source` is the file that users write."""
    ask: dict[Slug, Asked] = Field(default_factory=dict)
    """By family and model: who is asked what."""
    card: dict[Slug, Carded] = Field(default_factory=dict)
    """The instruments whose text is ours."""
    card_of_others: dict[Slug, Carded] = Field(default_factory=dict)
    """The instruments that hold text which others wrote."""

    @property
    def models(self) -> list[str]:
        """Every model that is asked something."""
        return list(dict.fromkeys(entry.model for entry in self.ask.values()))

    def entry(self, of: str, name: str) -> Any:
        """An entry of one of the mappings; UserError where nothing of that name is in use."""
        entries: dict[str, Any] = getattr(self, of)
        if name not in entries:
            remedy = f"mend the name ({nearest(name, entries)}), or run `evenruler check`"
            raise UserError(f"{name!r} is not in use", where=f"params.yaml: active.{of}", remedy=remedy)
        return entries[name]


Resamples = Annotated[int, Field(ge=100, le=100_000)]
"""Of a bootstrap. From 10,000 on the ends of an interval hardly move, while time grows in proportion: 100,000 take
minutes where 2,000 take seconds, and 10^9 would take weeks."""


class DiagnosisSettings(Strict):
    """How intervals are computed."""

    level: float = Field(default=0.95, gt=0, lt=1)
    resamples: Resamples = 2000
    seed: Seed = 20

    @property
    def resampling(self) -> Resampling:
        """As figures take it."""
        return Resampling(self.level, self.resamples, self.seed)


class Declared:
    """The parts of one `params.yaml`, each read when it is asked for."""

    def __init__(self, path: Path = Path("params.yaml"), scale: Scale | None = None) -> None:
        """Read the file, for `scale` or the one in use; UserError where it is missing, or no YAML."""
        self.path = path
        self._data: dict[str, Any] = read_yaml(path)
        self._scale = scale

    def part(self, key: str, model: type[Part]) -> Part:
        """One section, `{}` where there is none; UserError where something in it is wrong."""
        return validate(model, self._data.get(key, {}), self.path, under=key)

    @cached_property
    def active(self) -> Active:
        """What is in use."""
        return self.part("active", Active)

    @property
    def scale(self) -> Scale:
        """How much is built and asked."""
        return self._scale or self.active.scale

    @cached_property
    def catalogue(self) -> Catalogue:
        """The models."""
        return validate(Catalogue, {key: self._data.get(key, {}) for key in Catalogue.model_fields}, self.path)

    @cached_property
    def resampling(self) -> Resampling:
        """How intervals are computed."""
        return self.part("diagnosis", DiagnosisSettings).resampling

    @cached_property
    def _entries(self) -> dict[str, Any]:
        entries: dict[str, Any] = self._data.get("instruments") or {}
        return entries

    @cached_property
    def instruments(self) -> dict[str, str]:
        """The family of every instrument of the scale by its name, as declared; UserError where it is of none."""
        return {name: self._family(name) for name in self._entries if self._is_used(name)}

    def every_instrument(self) -> dict[str, str]:
        """The family of every instrument, of whatever scale, by its name."""
        return {name: self._family(name) for name in self._entries}

    def settings(self, name: str, of: str | None = None, size: Size | None = None) -> Any:
        """The settings of an instrument: what its family says in `families`, and over it what its own entry says.

        `of` is the family that it must be of, any by default; `size` how much is asked, by default what the pipeline
        asks. Gives the family's `Settings`, numbers by scale and size resolved; UserError where there is no such
        instrument, or something is wrong.
        """
        entries = [key for key in self._entries if of is None or self._family(key) == of]
        if name not in entries:
            remedy = f"mend the name ({nearest(name, entries)})"
            what = f"no instrument {name!r}" if of is None else f"no instrument {name!r} of the family {of}"
            raise UserError(what, where=f"{self.path}: instruments", remedy=remedy)
        own = {key: value for key, value in self._entries[name].items() if key not in OF_PARAMS}
        model: type[BaseSettings] = room(self._family(name), "declare").Settings
        context = {"scale": self.scale, "size": size}
        given = {**self._shared(name), **own}
        found = validate(model, given, self.path, under=lambda key: self._place(name, key), context=context)
        if not size and found.size != SIZE_AT[self.scale]:
            return self.settings(name, of, found.size)
        return found.having(self.catalogue)

    def sizes(self, name: str) -> dict[Size, Any]:
        """The settings of an instrument at every size."""
        return {size: self.settings(name, size=size) for size in SIZES}

    def place(self, name: str, key: str) -> str:
        """Where a setting of an instrument stands, for errors: in its own entry, or in that of its family."""
        return f"{self.path}: {self._place(name, key.partition('.')[0])}.{key}"

    def _place(self, name: str, key: str) -> str:
        is_shared = key in self._shared(name) and key not in self._entries[name]
        return f"families.{self._family(name)}" if is_shared else f"instruments.{name}"

    def _shared(self, name: str) -> dict[str, Any]:
        """What the family of an instrument says of all that do not say otherwise."""
        found: dict[str, Any] = (self._data.get("families") or {}).get(self._family(name)) or {}
        return found

    def version(self, name: str) -> str:
        """The version that the benchmark of an instrument in use is at."""
        return {**self.active.card, **self.active.card_of_others}[name].version

    def _family(self, name: str) -> str:
        entry = self._entries[name]
        family = entry.get("family") if isinstance(entry, dict) else None
        if not isinstance(family, str) or family not in FAMILIES:
            what = "no family" if family is None else f"no family {family!r}"
            remedy = f"name one: {', '.join(FAMILIES)}"
            raise UserError(what, where=f"{self.path}: instruments.{name}", remedy=remedy)
        return family

    def _is_used(self, name: str) -> bool:
        entry = self._entries[name]
        own = entry.get("scale") if isinstance(entry, dict) else None
        if own not in (None, *SCALES):
            remedy = f"name one ({' or '.join(SCALES)}), or leave it out for both"
            raise UserError(f"no scale {own!r}", where=f"{self.path}: instruments.{name}.scale", remedy=remedy)
        return own in (None, self.scale)

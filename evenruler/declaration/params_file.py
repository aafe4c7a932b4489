"""Partial reading of `params.yaml`: a stage validates the parts that it uses, `evenruler check` the
whole file.
"""

from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, cast, overload

from pydantic import Field

from evenruler.declaration.profiles import folder_in_use
from evenruler.errors import UserError, suggest_nearest
from evenruler.instruments.instrument import PROFILES, Profile
from evenruler.instruments.registry import FAMILIES, family_module
from evenruler.measurement.inputs import Resampling
from evenruler.models.declarations import Catalogue
from evenruler.sizes import SIZES, Size
from evenruler.strict import Seed, Slug, StrictModel, read_yaml, validate

ACTIVE = "active.yaml"
"""Beside `params.yaml`: what is in use, written by `evenruler check`."""

PRIVATE = "private"
"""The remote of DVC, a folder on this machine, for text that may not be passed on."""

FIRST_VERSION = "0.1.0"
"""The version of an unreleased benchmark."""

OF_PARAMS = ("family", "profile")
"""Keys of an instrument's entry that are not part of its family's settings."""

Part = TypeVar("Part", bound=StrictModel)


class InstrumentEntry(StrictModel):
    """An instrument that the pipeline builds."""

    family: Slug
    source: str
    """Its source: the file that users write, or the folder that a stage makes from it."""
    remote: str = ""
    """The remote of DVC that may hold its rows, `PRIVATE`; empty for the default one."""


class ScrapeEntry(InstrumentEntry):
    """An instrument whose sentences are scraped; `source` is the file that users write."""

    material: str
    """The file or folder with its text; `source` again if there is none, since DVC needs a path."""
    found: str
    """The results of `evenruler find`; `source` again if there are none."""


class ActiveFamily(StrictModel):
    """The instruments and models of a family that are in use."""

    instruments: list[Slug]
    models: list[Slug]
    """Models that its instruments ask."""


class AskEntry(StrictModel):
    """A model that a family's instruments ask."""

    family: Slug
    model: Slug
    instruments: list[Slug]
    """Instruments of the family that ask it."""


class Active(StrictModel):
    """What is in use: names and routes, which `foreach` in dvc.yaml goes through."""

    profile: Profile
    families: dict[Slug, ActiveFamily] = Field(default_factory=dict)
    instruments: dict[Slug, InstrumentEntry] = Field(default_factory=dict)
    scrape: dict[Slug, ScrapeEntry] = Field(default_factory=dict)
    evolve: dict[Slug, InstrumentEntry] = Field(default_factory=dict)
    """Instruments whose templates evolve; `source` is the file that users write."""
    ask: dict[Slug, AskEntry] = Field(default_factory=dict)
    """Models to ask, by family and model."""
    card: dict[Slug, InstrumentEntry] = Field(default_factory=dict)
    """Instruments with our own text."""
    card_third_party: dict[Slug, InstrumentEntry] = Field(default_factory=dict)
    """Instruments with third-party text."""

    @property
    def models(self) -> list[str]:
        """Every model that is asked something."""
        return list(dict.fromkeys(entry.model for entry in self.ask.values()))

    @overload
    def entry(self, mapping_name: Literal["families"], name: str) -> ActiveFamily: ...
    @overload
    def entry(self, mapping_name: Literal["ask"], name: str) -> AskEntry: ...
    @overload
    def entry(self, mapping_name: Literal["scrape"], name: str) -> ScrapeEntry: ...
    @overload
    def entry(
        self, mapping_name: Literal["instruments", "evolve", "card", "card_third_party"], name: str
    ) -> InstrumentEntry: ...
    def entry(self, mapping_name: str, name: str) -> StrictModel:
        """An entry of one of the mappings; UserError if the name is not in use."""
        entries: dict[str, StrictModel] = getattr(self, mapping_name)
        if name not in entries:
            remedy = f"check the name ({suggest_nearest(name, entries)}), or run `evenruler check`"
            raise UserError(
                f"{name!r} is not in use", where=f"{ACTIVE}: active.{mapping_name}", remedy=remedy
            )
        return entries[name]


def load_active(path: Path) -> Active:
    """Read `active.yaml`; UserError if it is missing or invalid."""
    if not path.exists():
        raise UserError(
            "no such file", where=str(path), remedy="run `evenruler check`, which writes it"
        )
    content: dict[str, Any] = read_yaml(path)
    return validate(Active, content.get("active", {}), path, under="active")


def profile_in_use(path: Path) -> Profile:
    """The profile of `active.yaml`; the first one where `evenruler check` has not written that file
    yet.
    """
    if not path.exists():
        return PROFILES[0]
    try:
        profile = read_yaml(path)["active"]["profile"]
    except (UserError, KeyError, TypeError):
        profile = None
    if profile not in PROFILES:
        remedy = "delete it and run `evenruler check`, which writes it anew, or name a profile"
        raise UserError("it names no profile", where=str(path), remedy=remedy)
    return cast(Profile, profile)


Resamples = Annotated[int, Field(ge=100, le=100_000)]
"""Number of bootstrap resamples. From 10,000 on, interval ends hardly change while time grows
linearly: 2,000 take seconds, 100,000 minutes, 10^9 weeks."""


class DiagnosisSettings(StrictModel):
    """Settings for confidence intervals."""

    level: float = Field(default=0.95, gt=0, lt=1)
    resamples: Resamples = 2000
    seed: Seed = 20

    @property
    def resampling(self) -> Resampling:
        """The settings in the form that figures take."""
        return Resampling(self.level, self.resamples, self.seed)


class ParamsFile:
    """One `params.yaml`, whose parts are validated on access."""

    def __init__(self, path: Path = Path("params.yaml"), profile: Profile | None = None) -> None:
        """Read the file for `profile`, by default the profile in use; UserError if it is missing or
        not YAML.
        """
        self.path = path
        self._active = path.parent / folder_in_use() / ACTIVE
        self._data: dict[str, Any] = read_yaml(path)
        self._profile = profile

    def part(self, key: str, model: type[Part]) -> Part:
        """One validated section, `{}` if absent; UserError if it is invalid."""
        return validate(model, self._data.get(key, {}), self.path, under=key)

    @cached_property
    def active(self) -> Active:
        """What is in use; UserError if the file is missing or invalid."""
        return load_active(self._active)

    @property
    def profile(self) -> Profile:
        """The profile: how much is built and asked."""
        return self._profile or profile_in_use(self._active)

    @cached_property
    def catalogue(self) -> Catalogue:
        """The models."""
        return validate(
            Catalogue, {key: self._data.get(key, {}) for key in Catalogue.model_fields}, self.path
        )

    @cached_property
    def resampling(self) -> Resampling:
        """Settings for confidence intervals."""
        return self.part("diagnosis", DiagnosisSettings).resampling

    @cached_property
    def _entries(self) -> dict[str, Any]:
        """The raw entries under `instruments`, by the instrument's name, not yet validated."""
        entries: dict[str, Any] = self._data.get("instruments") or {}
        return entries

    @cached_property
    def instruments(self) -> dict[str, str]:
        """Instruments of the profile with their families, in declared order; UserError if one has
        no known family.
        """
        return {name: self._family(name) for name in self._entries if self._is_used(name)}

    def every_instrument(self) -> dict[str, str]:
        """Instruments of all profiles with their families."""
        return {name: self._family(name) for name in self._entries}

    def settings(self, name: str, family: str | None = None, size: Size | None = None) -> Any:
        """The settings of an instrument: its own entry merged over that of its family in
        `families`.

        `family`: the required family, by default any; `size`: how much is asked, by default what
        the pipeline asks. Returns the family's `Settings`, resolved by profile and size; UserError
        if there is no such instrument or a setting is invalid.
        """
        entries = [key for key in self._entries if family is None or self._family(key) == family]
        if name not in entries:
            remedy = f"check the name ({suggest_nearest(name, entries)})"
            what = (
                f"no instrument {name!r}"
                if family is None
                else f"no instrument {name!r} of the family {family}"
            )
            raise UserError(what, where=f"{self.path}: instruments", remedy=remedy)
        entry_settings = {
            key: value for key, value in self._entries[name].items() if key not in OF_PARAMS
        }
        model = family_module(self._family(name), "declare").Settings
        context = {"profile": self.profile, "size": size}
        merged_settings = {**self._shared(name), **entry_settings}
        settings = validate(
            model,
            merged_settings,
            self.path,
            under=lambda key: self._place(name, key),
            context=context,
        )
        return settings.having(self.catalogue)

    def sizes(self, name: str) -> dict[Size, Any]:
        """The settings of an instrument by size, for every size."""
        return {size: self.settings(name, size=size) for size in SIZES}

    def place(self, name: str, key: str) -> str:
        """Where a setting is declared, for errors: in the instrument's entry or in its family's."""
        section = self._place(name, key.partition(".")[0])
        return f"{self.path}: {section}.{key}"

    def _place(self, name: str, key: str) -> str:
        """The section that declares a setting: "families.F" if the family alone has the key, else
        "instruments.N".
        """
        is_shared = key in self._shared(name) and key not in self._entries[name]
        return f"families.{self._family(name)}" if is_shared else f"instruments.{name}"

    def _shared(self, name: str) -> dict[str, Any]:
        """The settings that the instrument's family declares for all its instruments."""
        families = self._data.get("families") or {}
        shared_settings: dict[str, Any] = families.get(self._family(name)) or {}
        return shared_settings

    def version(self, name: str) -> str:
        """The current version of an instrument's benchmark."""
        versions: dict[str, str] = self._data.get("versions") or {}
        return versions.get(f"{self._family(name)}-{name}", FIRST_VERSION)

    def _family(self, name: str) -> str:
        """The family that an instrument's entry names; UserError if it names none or an unknown
        one.
        """
        entry = self._entries[name]
        family = entry.get("family") if isinstance(entry, dict) else None
        if not isinstance(family, str) or family not in FAMILIES:
            what = "no family" if family is None else f"no family {family!r}"
            remedy = f"name one: {', '.join(FAMILIES)}"
            raise UserError(what, where=f"{self.path}: instruments.{name}", remedy=remedy)
        return family

    def _is_used(self, name: str) -> bool:
        """Whether the instrument belongs to the profile in use (it names that one, or none);
        UserError if it names an unknown profile.
        """
        entry = self._entries[name]
        profile = entry.get("profile") if isinstance(entry, dict) else None
        if profile not in (None, *PROFILES):
            remedy = f"name one ({' or '.join(PROFILES)}), or leave it out for both"
            raise UserError(
                f"no profile {profile!r}",
                where=f"{self.path}: instruments.{name}.profile",
                remedy=remedy,
            )
        return profile in (None, self.profile)

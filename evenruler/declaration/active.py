"""Computes what is in use at a profile, for `active.yaml`, which `foreach` in dvc.yaml goes
through.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from evenruler.declaration.params_file import (
    PRIVATE,
    Active,
    ActiveFamily,
    AskEntry,
    InstrumentEntry,
    ParamsFile,
    ScrapeEntry,
)
from evenruler.declaration.profiles import TOP, path_to_top
from evenruler.errors import UnfinishedError, UserError, suggest_nearest
from evenruler.instruments.instrument import AnySettings, Profile, ToolUse
from evenruler.instruments.registry import FAMILIES, family_module
from evenruler.models.declarations import Catalogue
from evenruler.sizes import Size

SOURCES = Path("data/sources")
MADE = {"scrape": "data/scraped", "evolve": "data/evolved"}
"""Folder of the sources that a stage makes."""


@dataclass(frozen=True)
class DeclaredInstrument:
    """An instrument of a profile with its settings and source.

    `source` is None if it is unfinished, and `unfinished` then says what must be found, fetched,
    written or pinned (a model), and how. `extra_files`: additional files of
    its source (`BaseSettings.extra_files`); `sizes`: its settings by size.
    """

    name: str
    family: str
    settings: AnySettings
    source: Any
    uses: list[ToolUse]
    extra_files: dict[str, Path] = field(default_factory=dict)
    unfinished: str = ""
    sizes: dict[Size, Any] = field(default_factory=dict)

    @property
    def made_by(self) -> Literal["scrape", "evolve"] | None:
        """The stage that makes what `rows` reads; None where that is the file that users write."""
        made_by: Literal["scrape"] | None = self.source.made_by
        return self.settings.made_by or made_by

    @property
    def written(self) -> Path:
        """The file that users write."""
        return SOURCES / self.family / f"{self.settings.source_name(self.name)}.yaml"


def instruments_at(
    root: Path, params: Path, profile: Profile, names: Container[str] | None = None
) -> list[DeclaredInstrument]:
    """Every instrument of a profile, as declared, with settings and source, or those of some names;
    UserError at the first error.
    """
    declared = ParamsFile(params, profile)
    instruments = []
    for name, family in declared.instruments.items():
        if names is not None and name not in names:
            continue
        settings = declared.settings(name)
        written = settings.source_name(name)
        if settings.source_of or settings.made_by == "evolve":
            _require_written_instrument(declared, name, written)
        path = SOURCES / family / f"{written}.yaml"
        try:
            source = family_module(family, "declare").load(
                root / path, settings, root / SOURCES / family / "shared"
            )
            additional_files = settings.extra_files(name, source, root)
        except UnfinishedError as error:
            instruments.append(
                DeclaredInstrument(name, family, settings, None, [], unfinished=str(error))
            )
            continue
        settings.require_able(source, declared.catalogue, partial(declared.place, name))
        uses = settings.uses(source)
        lacking = declared.catalogue.unpinned_message(use.model for use in uses)
        if lacking:
            instruments.append(
                DeclaredInstrument(name, family, settings, None, [], unfinished=lacking)
            )
            continue
        instruments.append(
            DeclaredInstrument(
                name, family, settings, source, uses, additional_files, sizes=declared.sizes(name)
            )
        )
    return instruments


def _require_written_instrument(declared: ParamsFile, name: str, written: str) -> None:
    """UserError unless the source that an instrument takes is that of another one of its family,
    which users write.
    """
    every_instrument = declared.every_instrument()
    family = every_instrument[name]
    other_names = [
        other
        for other, other_family in every_instrument.items()
        if other_family == family and other != name
    ]
    if written in other_names and declared.settings(written).source_name(written) == written:
        return
    what = f"{name!r} is made from {written!r}, which is no hand-written instrument of "
    what += f"the family {family}"
    remedy = f"check the name ({suggest_nearest(written, other_names)})"
    raise UserError(what, where=f"{declared.path}: instruments.{name}", remedy=remedy)


def asking_of(family: str, model: str) -> str:
    """The stage that asks a model for a family, as named in `left_out` of params.yaml."""
    return f"ask@{family}-{model}"


def mark_left_out(
    instruments: Sequence[DeclaredInstrument],
    left_out: Mapping[str, str],
    catalogue: Catalogue,
    profile: Profile,
) -> list[DeclaredInstrument]:
    """Mark instruments as unfinished that are left out or have no model left to ask."""
    lost = {}
    for family in dict.fromkeys(instrument.family for instrument in instruments):
        names = [
            instrument.name
            for instrument in instruments
            if instrument.family == family and not instrument.unfinished
        ]
        entries = _entries_to_ask(family, names, catalogue, profile)
        stages = [asking_of(family, entry.model) for entry in entries]
        if stages and all(stage in left_out for stage in stages):
            first = stages[0]
            lost[family] = (
                f"no model can be asked for the family {family}, e.g. {first}: {left_out[first]}"
            )
    marked: list[DeclaredInstrument] = []
    for instrument in instruments:
        if instrument.unfinished:
            marked.append(instrument)
            continue
        reason = left_out.get(f"rows@{instrument.name}") or lost.get(instrument.family, "")
        marked.append(replace(instrument, unfinished=reason))
    return marked


def compute_active(
    instruments: Sequence[DeclaredInstrument],
    params: Path,
    profile: Profile,
    left_out: Container[str] = (),
    folder: Path = TOP,
) -> Active:
    """Compute `active` at a profile, without unfinished instruments and models that are not pinned.

    `left_out`: stages that cannot run, such as `ask@FAMILY-MODEL`; `folder`: of the pipeline, which
    paths start from. UserError if a declaration is invalid, no instrument is finished, or a family
    has no model to ask.
    """
    unfinished = [instrument.unfinished for instrument in instruments if instrument.unfinished]
    instruments = [instrument for instrument in instruments if not instrument.unfinished]
    if unfinished and not instruments:
        raise UserError(unfinished[0])
    if not instruments:
        remedy = "declare one, e.g. with `evenruler new`"
        raise UserError(
            f"no instrument of the profile {profile!r}",
            where=f"{params}: instruments",
            remedy=remedy,
        )
    catalogue = ParamsFile(params, profile).catalogue
    active = Active(profile=profile)
    for family in FAMILIES:
        named = [instrument.name for instrument in instruments if instrument.family == family]
        if not named:
            continue
        entries = _entries_to_ask(family, named, catalogue, profile)
        entries = [entry for entry in entries if asking_of(family, entry.model) not in left_out]
        if not entries:
            raise _error_of_nobody_to_ask(family, catalogue, params, profile)
        models = [entry.model for entry in entries]
        active.families[family] = ActiveFamily(instruments=named, models=models)
        active.ask.update({f"{family}-{entry.model}": entry for entry in entries})
    for instrument in instruments:
        made_by = instrument.made_by
        written = path_to_top(folder) + instrument.written.as_posix()
        source = f"{MADE[made_by]}/{instrument.name}" if made_by else written
        remote = PRIVATE if instrument.settings.is_private else ""
        entry = InstrumentEntry(family=instrument.family, source=source, remote=remote)
        active.instruments[instrument.name] = entry
        if made_by == "scrape":
            additional_files = {
                key: instrument.extra_files.get(key, instrument.written)
                for key in ("material", "found")
            }
            paths = {
                key: path_to_top(folder) + path.as_posix() for key, path in additional_files.items()
            }
            active.scrape[instrument.name] = ScrapeEntry(
                family=instrument.family, source=written, remote=remote, **paths
            )
        elif made_by == "evolve":
            active.evolve[instrument.name] = InstrumentEntry(
                family=instrument.family, source=written
            )
        cards = active.card_third_party if instrument.settings.third_party else active.card
        cards[instrument.name] = entry
    return active


def _entries_to_ask(
    family: str, names: Sequence[str], catalogue: Catalogue, profile: Profile
) -> list[AskEntry]:
    """Which models the instruments `names` of a family ask, each with those that ask it: all, or
    the ones that its entry names.
    """
    models, _ = _select_family_models(family, catalogue, profile)
    entries: list[AskEntry] = []
    for model in models:
        wanted = (catalogue.models[model].instruments or {}).get(profile, names)
        asking = [name for name in names if name in wanted]
        if asking:
            entries.append(AskEntry(family=family, model=model, instruments=asking))
    return entries


def _error_of_nobody_to_ask(
    family: str, catalogue: Catalogue, params: Path, profile: Profile
) -> UserError:
    """The error of a family that no model can be asked for, or whose instruments no model names."""
    models, lacking = _select_family_models(family, catalogue, profile)
    if models:
        what = f"no model of the profile {profile!r} names an instrument of the family {family}"
        remedy = f"name one under `instruments` of a model, e.g. of {models[0]}"
        return UserError(what, where=f"{params}: models", remedy=remedy)
    what = f"no model of the profile {profile!r} supports the questions of the family {family}"
    remedy = (
        catalogue.unpinned_message(lacking)
        or "add one that does, with this profile or without `profile`"
    )
    return UserError(what, where=f"{params}: models", remedy=remedy)


def _select_family_models(
    family: str, catalogue: Catalogue, profile: Profile
) -> tuple[list[str], list[str]]:
    """Models of a profile that a family asks, in catalogue order; and those that are not pinned."""
    takes = family_module(family, "declare").takes
    entries = catalogue.models.items()
    family_models = [
        name
        for name, entry in entries
        if entry.profile in (None, profile) and family in (entry.families or [family])
    ]
    taken = [name for name in family_models if takes(catalogue, name)]
    lacking = [name for name in taken if catalogue.unpinned_message([name])]
    return [name for name in taken if name not in lacking], lacking


def list_unpinned_models(
    families: Iterable[str], catalogue: Catalogue, profile: Profile
) -> list[str]:
    """The models of a profile that families would ask if they were pinned."""
    names: dict[str, None] = {}
    for family in families:
        _, lacking = _select_family_models(family, catalogue, profile)
        names |= dict.fromkeys(lacking)
    return list(names)

"""What is in use at a scale: `active` in params.yaml, which `foreach` of dvc.yaml goes through."""

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from evenruler.declared import Active, Asked, Carded, Declared, InFamily, InUse, Making, Scraping
from evenruler.errors import UnfinishedError, UserError, nearest
from evenruler.instruments.instrument import BaseSettings, Scale, Size, Use
from evenruler.instruments.registry import FAMILIES, room
from evenruler.models.declared import Catalogue, ModelEntry
from evenruler.tables.ids import content_sha256

SOURCES = Path("data/sources")
MADE = {"scrape": "data/scraped", "evolve": "data/evolved"}
"""Where a stage puts the sources that it makes."""


@dataclass(frozen=True)
class Instrument:
    """An instrument of a scale, with all that was read of it.

    Attributes:
        source: None where it is not finished.
        beside: What its source is made of (`BaseSettings.beside`).
        unfinished: What is still to be found, fetched, written or given (the commit of a model that it names), and how;
            empty where nothing is.
        sizes: Its settings by size.
    """

    name: str
    family: str
    settings: BaseSettings
    source: Any
    uses: list[Use]
    beside: dict[str, Path] = field(default_factory=dict)
    unfinished: str = ""
    sizes: dict[Size, Any] = field(default_factory=dict)

    @property
    def written(self) -> Path:
        """The file that users write."""
        return SOURCES / self.family / f"{self.settings.written_as(self.name)}.yaml"


def instruments_at(root: Path, params: Path, scale: Scale) -> list[Instrument]:
    """Every instrument of a scale, as declared, with settings and source; UserError at the first mistake."""
    declared = Declared(params, scale)
    found = []
    for name, family in declared.instruments.items():
        settings = declared.settings(name)
        if settings.made_by == "evolve":
            _require_written(name, settings.written_as(name), family, declared)
        path = SOURCES / family / f"{settings.written_as(name)}.yaml"
        try:
            source = room(family, "declare").load(root / path, settings, root / SOURCES / family / "shared")
            beside = settings.beside(name, source, root)
        except UnfinishedError as error:
            found.append(Instrument(name, family, settings, None, [], unfinished=str(error)))
            continue
        settings.require_able(source, declared.catalogue, partial(declared.place, name))
        uses = settings.uses(source)
        if lacking := declared.catalogue.to_be_given(use.model for use in uses):
            found.append(Instrument(name, family, settings, None, [], unfinished=lacking))
            continue
        found.append(Instrument(name, family, settings, source, uses, beside, sizes=declared.sizes(name)))
    return found


def _require_written(name: str, written: str, family: str, declared: Declared) -> None:
    """What an instrument evolves from is another one of its family, which users write."""
    known = [other for other, of in declared.every_instrument().items() if of == family and other != name]
    if written not in known or declared.settings(written).made_by == "evolve":
        what = f"{name!r} is made of {written!r}, which is no instrument of the family {family} that people write"
        remedy = f"mend the name ({nearest(written, known)})"
        raise UserError(what, where=f"{declared.path}: instruments.{name}", remedy=remedy)


def asking_of(family: str, model: str) -> str:
    """The stage that asks a model for a family, as `left_out` of params.yaml names it."""
    return f"ask@{family}-{model}"


def without(
    instruments: Sequence[Instrument], left_out: Mapping[str, str], catalogue: Catalogue, scale: Scale
) -> list[Instrument]:
    """Instruments of a scale, where those `left_out`, or that no model is left for, are not finished."""
    lost = {}
    for family in dict.fromkeys(own.family for own in instruments):
        stages = [asking_of(family, name) for name in _pinned(family, catalogue, scale)]
        if stages and all(stage in left_out for stage in stages):
            lost[family] = f"no model answers for the family {family}, as {stages[0]}: {left_out[stages[0]]}"
    reasons = {own.name: left_out.get(f"rows@{own.name}") or lost.get(own.family, "") for own in instruments}
    return [own if own.unfinished else replace(own, unfinished=reasons[own.name]) for own in instruments]


def in_use(
    instruments: Sequence[Instrument],
    params: Path,
    scale: Scale,
    versions: Callable[[str], str],
    left_out: Container[str] = (),
) -> Active:
    """What `active` says at a scale.

    Args:
        instruments: Those of the scale (`instruments_at`); what is not finished is left out.
        params: The file of the declaration.
        scale: Which; of its models, those whose commit is to be given are left out.
        versions: The version that a benchmark is at.
        left_out: Stages that cannot be run: models that are not asked for a family.

    Raises:
        UserError: Something declared is wrong, no instrument is finished, or no model of the scale can be asked what a
            family asks.
    """
    unfinished = [own.unfinished for own in instruments if own.unfinished]
    instruments = [own for own in instruments if not own.unfinished]
    if unfinished and not instruments:
        raise UserError(unfinished[0])
    if not instruments:
        remedy = "declare one; `evenruler new` starts it"
        raise UserError(f"no instrument of the scale {scale!r}", where=f"{params}: instruments", remedy=remedy)
    catalogue = Declared(params, scale).catalogue
    members = {family: [own.name for own in instruments if own.family == family] for family in FAMILIES}
    families = [family for family, named in members.items() if named]
    asked = {family: _asked(family, catalogue, scale, params) for family in families}
    models = {of: [name for name in own if asking_of(of, name) not in left_out] for of, own in asked.items()}
    ask = {}
    for family, model in [(of, model) for of in families for model in models[of]]:
        own = _asking(members[family], catalogue.models[model], scale)
        ask[f"{family}-{model}"] = Asked(family=family, model=model, instruments=own)
    used = {own.name: _in_use(own, catalogue) for own in instruments}
    carded = {
        name: Carded(**entry.model_dump(exclude={"models"}), version=versions(f"{entry.family}-{name}"))
        for name, entry in used.items()
    }
    others = {own.name for own in instruments if own.settings.of_others}
    return Active(
        scale=scale,
        families={family: InFamily(instruments=members[family], models=models[family]) for family in families},
        instruments=used,
        scrape={own.name: _scraping(own, catalogue) for own in instruments if own.settings.made_by == "scrape"},
        evolve={own.name: _making(own, catalogue) for own in instruments if own.settings.made_by == "evolve"},
        ask=ask,
        card={name: entry for name, entry in carded.items() if name not in others},
        card_of_others={name: entry for name, entry in carded.items() if name in others},
    )


def _asking(members: list[str], entry: ModelEntry, scale: Scale) -> list[str]:
    """The instruments of a family that ask a model."""
    named = (entry.instruments or {}).get(scale)
    return members if named is None else [name for name in members if name in named]


def _asked(family: str, catalogue: Catalogue, scale: Scale, params: Path) -> list[str]:
    """The models of a scale that the instruments of a family ask, in the order of the catalogue."""
    taken, found = _taken(family, catalogue, scale), _pinned(family, catalogue, scale)
    if not found:
        what = f"no model of the scale {scale!r} can be asked what instruments of the family {family} ask"
        remedy = catalogue.to_be_given(taken) or "give one that can this scale, or no scale"
        raise UserError(what, where=f"{params}: models", remedy=remedy)
    return found


def _pinned(family: str, catalogue: Catalogue, scale: Scale) -> list[str]:
    """The same, of which a family may have none."""
    return [name for name in _taken(family, catalogue, scale) if not catalogue.to_be_given([name])]


def _taken(family: str, catalogue: Catalogue, scale: Scale) -> list[str]:
    """The models of a scale that a family would ask, also where their commit is to be given."""
    takes = room(family, "declare").takes
    entries = catalogue.models.items()
    own = [name for name, entry in entries if entry.scale in (None, scale) and family in (entry.families or [family])]
    return [name for name in own if takes(catalogue, name)]


def not_to_be_had(families: Iterable[str], catalogue: Catalogue, scale: Scale) -> list[str]:
    """The models of a scale that families would ask if their commit were given."""
    taken = dict.fromkeys(name for family in families for name in _taken(family, catalogue, scale))
    return [name for name in taken if catalogue.to_be_given([name])]


def _in_use(own: Instrument, catalogue: Catalogue) -> InUse:
    made_by = own.settings.made_by
    source = f"{MADE[made_by]}/{own.name}" if made_by else own.written.as_posix()
    return InUse(family=own.family, source=source, **_checksums(own, catalogue))


def _making(own: Instrument, catalogue: Catalogue) -> Making:
    return Making(family=own.family, source=own.written.as_posix(), **_checksums(own, catalogue))


def _scraping(own: Instrument, catalogue: Catalogue) -> Scraping:
    read = {key: own.beside.get(key, own.written).as_posix() for key in ("material", "found")}
    return Scraping(**_making(own, catalogue).model_dump(), **read)


def _checksums(own: Instrument, catalogue: Catalogue) -> dict[str, str]:
    """Of the settings of an instrument, and of the entries of the models that it names.

    DVC cannot look an entry up under a name that another entry gives, and keeps the whole text of a parameter in its
    lock. The whole catalogue as a dependency would run a stage again for a model that it has nothing to do with.
    """
    settings = [each.model_dump(mode="json", exclude_defaults=True) for each in (own.settings, *own.sizes.values())]
    models = [_all_of(model, catalogue) for model in sorted({use.model for use in own.uses})]
    return {"settings": content_sha256(*settings)[:12], "models": content_sha256(*models)[:12]}


def _all_of(model: str, catalogue: Catalogue) -> list[Any]:
    """The entry of a model, and what it names: the data of its head, or the model that it is made of."""
    entry = catalogue.models[model]
    found: list[Any] = [model, entry.model_dump(mode="json", exclude_defaults=True)]
    if entry.finetune is not None:
        found.append(catalogue.training[entry.finetune.validation].model_dump(mode="json"))
    if entry.scheme == "untrained":
        found += _all_of(entry.locations[0][1], catalogue)
    return found

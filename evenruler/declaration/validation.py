"""Validates the whole declaration: `params.yaml`, sources, adapters, changelogs."""

from collections.abc import Iterable
from pathlib import Path

from evenruler.declaration.active import DeclaredInstrument, instruments_at, mark_left_out
from evenruler.declaration.params import Params
from evenruler.declaration.params_file import Active
from evenruler.errors import UserError, suggest_nearest
from evenruler.instruments.instrument import PROFILES, Profile
from evenruler.instruments.registry import family_module
from evenruler.models.loading import ADAPTERS, read_adapter
from evenruler.repository import DECLARATION
from evenruler.versions import load_changelog


def validate_declaration(root: Path, params: Params) -> dict[Profile, list[DeclaredInstrument]]:
    """The instruments of each profile; UserError at the first mistake of the declaration, in any
    profile.
    """
    instruments = {profile: finished_instruments(root, params, profile) for profile in PROFILES}
    validate_families(params, root / DECLARATION)
    for name in params.benchmarks:
        load_changelog(root / "data/sources/changelogs" / f"{name}.yaml")
    return instruments


def validate_families(params: Params, path: Path) -> None:
    """UserError if a family's shared settings have an unknown key, also where it has no
    instrument.
    """
    for family, shared in params.families.items():
        known_keys = family_module(family, "declare").Settings.model_fields
        for key in shared or {}:
            if key not in known_keys:
                where = f"{path}: families.{family}.{key}"
                what = f"unknown key {key!r}; {suggest_nearest(key, known_keys)}"
                raise UserError(what, where=where, remedy="rename or remove it")


def validate_models(
    root: Path, params: Params, active: Active, instruments: Iterable[DeclaredInstrument]
) -> None:
    """UserError if a local file of a model in use is missing, or the head of one was fitted with
    another recipe.
    """
    tools: set[str] = set()
    for instrument in instruments:
        tools |= {use.model for use in instrument.uses}
    names = list(dict.fromkeys([*active.models, *sorted(tools)]))
    for name in names:
        entry = params.models[name]
        if entry.scheme == "untrained":  # made from another one
            name = entry.locations[0][1]
            entry = params.models[name]
        for scheme, rest in entry.locations:
            if scheme != "local":
                continue
            file = root / Path(rest).expanduser()
            if not file.exists():
                where = f"{root / DECLARATION}: models.{name}.source: {file}"
                raise UserError(
                    "no such file or folder",
                    where=where,
                    remedy="save the model there, or fix `source`",
                )
    for name in names:
        recipe = params.models[name].finetune
        if recipe is not None and read_adapter(name, root / ADAPTERS).recipe != recipe.model_dump():
            what = f"{name} was fitted with another recipe than `finetune` states"
            remedy = f"run `evenruler finetune {name}`, or restore the recipe"
            raise UserError(what, where=str(root / ADAPTERS / name), remedy=remedy)


def finished_instruments(root: Path, params: Params, profile: Profile) -> list[DeclaredInstrument]:
    """Instruments of a profile; those affected by `left_out` are marked unfinished."""
    return mark_left_out(
        instruments_at(root, root / DECLARATION, profile), params.left_out, params, profile
    )

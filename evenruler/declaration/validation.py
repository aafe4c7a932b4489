"""Validates the whole declaration: `params.yaml`, sources, adapters, changelogs."""

from pathlib import Path

from evenruler.declaration.active import Instrument, in_use, instruments_at, without
from evenruler.declaration.params import Params
from evenruler.declaration.params_file import Active
from evenruler.errors import UserError, nearest
from evenruler.instruments.instrument import SCALES, Scale
from evenruler.instruments.registry import room
from evenruler.models.loading import ADAPTERS, read_adapter
from evenruler.versions import load_changelog


def validate_declaration(root: Path, params: Params, scale: Scale) -> tuple[Active, list[Instrument]]:
    """What is in use at a profile, and its instruments; UserError at the first mistake, in any profile."""
    path = root / "params.yaml"
    found = {each: finished_instruments(root, params, each) for each in SCALES}[scale]
    named = {use.model for own in found for use in own.uses}
    for family, shared in params.families.items():
        # Validate a family's settings even if it has no instrument.
        known = room(family, "declare").Settings.model_fields
        for key in shared or {}:
            if key not in known:
                where = f"{path}: families.{family}.{key}"
                what = f"unknown key {key!r}; {nearest(key, known)}"
                raise UserError(what, where=where, remedy="rename or remove it")
    active = in_use(found, path, scale, params.left_out)
    used = list(dict.fromkeys([*active.models, *sorted(named)]))
    for name in used:  # check that local files exist, also of models made from local ones
        entry = params.models[name]
        if entry.scheme == "untrained":
            name = entry.locations[0][1]
            entry = params.models[name]
        for file in (root / Path(rest).expanduser() for scheme, rest in entry.locations if scheme == "local"):
            if not file.exists():
                where = f"{path}: models.{name}.source: {file}"
                raise UserError("no such file or folder", where=where, remedy="save the model there, or fix `source`")
    for encoder in used:  # check that its head was fitted, with the recipe in params.yaml
        recipe = params.models[encoder].finetune
        if recipe is not None and read_adapter(encoder, root / ADAPTERS).recipe != recipe.model_dump():
            what = f"{encoder} was fitted with another recipe than `finetune` states"
            remedy = f"run `evenruler finetune {encoder}`, or restore the recipe"
            raise UserError(what, where=str(root / ADAPTERS / encoder), remedy=remedy)
    for name in params.benchmarks:
        load_changelog(root / "data/sources/changelogs" / f"{name}.yaml")
    return active, found


def finished_instruments(root: Path, params: Params, scale: Scale) -> list[Instrument]:
    """Instruments of a profile; those affected by `left_out` are marked unfinished."""
    return without(instruments_at(root, root / "params.yaml", scale), params.left_out, params, scale)

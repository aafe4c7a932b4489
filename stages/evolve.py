"""Evolve the templates of one instrument: what users wrote -> `data/evolved/{instrument}/`."""

from functools import partial
from pathlib import Path

from evenruler.declaration.params_file import ACTIVE, ParamsFile
from evenruler.errors import UserError
from evenruler.files import write_text_atomically
from evenruler.instruments.instrument import Declaration
from evenruler.instruments.registry import family_module
from evenruler.tables import write_whole
from stages.files import PIPELINE, SOURCE, SOURCES, path_from_top
from stages.running import run

EVOLVED = PIPELINE / "data/evolved"


def main(name: str) -> None:
    """Write the evolved templates as a source of their own, with tables of how they evolved.

    No operator is asked: its recorded replies are a file next to the sources. An interrupted run
    resumes after its last complete generation.
    """
    params = ParamsFile()
    entry, settings = params.active.entry("evolve", name), params.settings(name)
    if Path(entry.source).stem != settings.source_name(name):
        where = f"{ACTIVE}: active.evolve.{name}.source"
        what = f"found {entry.source}, but it evolves of {settings.source_name(name)}"
        raise UserError(what, where=where, remedy="run `evenruler check`")
    path = path_from_top(entry.source)
    declare = family_module(entry.family, "declare")
    source = declare.load(path, settings, SOURCES / entry.family / "shared")
    settings.require_able(source, params.catalogue, partial(params.place, name))

    from evenruler.models.catalogue import (
        load_model,  # slow import: after checks of what users write
    )
    from evenruler.models.store import cache_root

    declaration = Declaration(name, entry.family, settings, source)
    load = partial(load_model, params=params.catalogue)
    replies = SOURCES / entry.family / settings.replies(name)
    evolve = family_module(entry.family, "evolve").evolve
    evolution = evolve(declaration, load, cache_root() / "evolve", replies)
    folder = EVOLVED / name
    for table, rows in evolution.tables.items():
        write_whole(rows, folder / f"{table}.parquet")
    write_text_atomically(folder / SOURCE, evolution.as_yaml())
    for line in evolution.messages:
        print(f"{name}: {line}")


if __name__ == "__main__":
    run(main)

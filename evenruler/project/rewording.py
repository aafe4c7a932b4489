"""What `evenruler evolve` does: an operator is asked, and its replies are kept beside the sources."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from evenruler.declared import Declared
from evenruler.errors import UserError
from evenruler.files import replace
from evenruler.instruments.instrument import Declaration
from evenruler.instruments.registry import room
from evenruler.project.active import SOURCES

FAMILY = "probes"


def ask(root: Path, name: str, params: Declared) -> Iterator[str]:
    """Ask the operator of an instrument how templates are reworded, and keep its replies.

    Args:
        root: The repository.
        name: Of the instrument.
        params: The declaration.

    Yields:
        Lines that say what was done.

    Raises:
        UserError: There is no such instrument, it does not evolve, or something in its source or models is wrong.
    """
    settings = params.settings(name, FAMILY)
    if settings.made_by != "evolve":
        raise UserError(f"{name!r} does not evolve", where=f"{params.path}: instruments.{name}", remedy="give `evolve`")
    folder = root / SOURCES / FAMILY
    source = room(FAMILY, "declare").load(folder / f"{settings.written_as(name)}.yaml", settings, folder / "shared")
    settings.require_able(source, params.catalogue, partial(params.place, name))

    from evenruler.models.catalogue import load  # takes seconds: after what a user may have to mend
    from evenruler.models.store import cache_root

    text, said = room(FAMILY, "evolve").asked_anew(
        Declaration(name, FAMILY, settings, source), partial(load, params=params.catalogue), cache_root() / "evolve"
    )
    path = SOURCES / FAMILY / "replies" / f"{name}.jsonl"
    replace(root / path, text)
    yield from said
    yield f"{path}: {text.count(chr(10)):,} replies"

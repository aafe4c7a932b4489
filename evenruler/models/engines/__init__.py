"""Which engine computes: this process, or the workers of a Ray cluster.

The modules here say where a model computes, and what its answers are kept under.
"""

import os
from typing import Final

from evenruler.errors import UserError

ENGINE: Final = "EVENRULER_ENGINE"  # the environment variable that names it; stages read it, too, as DVC hands it on
LOCAL: Final = "local"
RAY: Final = "ray"


def chosen() -> tuple[str, str | None]:
    """The engine that the environment names, and its cluster's address, if any; UserError where it is none."""
    return parse(os.environ.get(ENGINE) or LOCAL, ENGINE)


def choose(engine: str | None) -> None:
    """Have this process, and those that it starts, compute by an engine; None leaves things as they are."""
    if engine is not None:
        parse(engine, "--engine")
        os.environ[ENGINE] = engine


def parse(engine: str, where: str) -> tuple[str, str | None]:
    """`local`, `ray` or `ray=ADDRESS` in its two parts."""
    name, given, address = engine.partition("=")
    if name not in (LOCAL, RAY) or (given and (name == LOCAL or not address)):
        raise UserError(f"no engine {engine!r}", where=where, remedy="say local, ray or ray=ADDRESS")
    return name, address or None

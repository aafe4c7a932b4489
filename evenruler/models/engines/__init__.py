"""The engine that computes answers: this process, or the workers of a Ray cluster.

The modules here determine where a model computes and under which keys its answers are cached.
"""

import os
from typing import Final

from evenruler.errors import UserError

ENGINE: Final = (
    "EVENRULER_ENGINE"  # environment variable with the engine; DVC passes it on to stages
)
LOCAL: Final = "local"
RAY: Final = "ray"


def current_engine() -> tuple[str, str | None]:
    """The engine and, if given, the cluster's address from the environment; UserError if it is
    invalid.
    """
    return parse(os.environ.get(ENGINE) or LOCAL, ENGINE)


def set_engine(engine: str | None) -> None:
    """Set the engine for this process and its children; None changes nothing."""
    if engine is not None:
        parse(engine, "--engine")
        os.environ[ENGINE] = engine


def parse(engine: str, where: str) -> tuple[str, str | None]:
    """Split `local`, `ray` or `ray=ADDRESS` into engine and address; UserError if it is invalid."""
    name, separator, address = engine.partition("=")
    if name not in (LOCAL, RAY) or (separator and (name == LOCAL or not address)):
        raise UserError(
            f"no engine {engine!r}", where=where, remedy="say local, ray or ray=ADDRESS"
        )
    return name, address or None

"""The engine that computes answers: this process, the workers of a Ray cluster, or vLLM.

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
VLLM: Final = "vllm"

FORMS: Final = "local, ray, ray=ADDRESS, vllm or vllm=N"
"""How an engine is named."""


def current_engine() -> tuple[str, str | None]:
    """The engine from the environment and, if given, the cluster's address or vLLM's number of
    GPUs; UserError if it is invalid.
    """
    return parse(os.environ.get(ENGINE) or LOCAL, ENGINE)


def set_engine(engine: str | None) -> None:
    """Set the engine for this process and its children; None changes nothing."""
    if engine is not None:
        parse(engine, "--engine")
        os.environ[ENGINE] = engine


def takes_every_gpu() -> bool:
    """Whether one stage computes on several GPUs, so that stages run one after the other."""
    engine, rest = current_engine()
    return engine == RAY or (engine == VLLM and int(rest or 1) > 1)


def parse(engine: str, where: str) -> tuple[str, str | None]:
    """Split `local`, `ray`, `ray=ADDRESS`, `vllm` or `vllm=GPUS` into engine and what follows;
    UserError if it is invalid.
    """
    name, separator, rest = engine.partition("=")
    allowed = {LOCAL: not separator, RAY: bool(rest) or not separator, VLLM: not separator}
    if name == VLLM and rest.isascii() and rest.isdigit():
        allowed[VLLM] = int(rest) > 0
    if not allowed.get(name):
        remedy = f"say {FORMS}, where N is a number of GPUs from 1"
        raise UserError(f"no engine {engine!r}", where=where, remedy=remedy)
    return name, rest or None

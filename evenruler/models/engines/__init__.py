"""The engine that computes answers (this process, or the workers of a Ray cluster), its devices, and measured rates.

The modules here determine where a model computes and under which keys its answers are cached.
"""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from evenruler.errors import UserError

ENGINE: Final = "EVENRULER_ENGINE"  # environment variable with the engine; DVC passes it on to stages
LOCAL: Final = "local"
RAY: Final = "ray"


def chosen() -> tuple[str, str | None]:
    """The engine and, if given, the cluster's address from the environment; UserError if it is invalid."""
    return parse(os.environ.get(ENGINE) or LOCAL, ENGINE)


def choose(engine: str | None) -> None:
    """Set the engine for this process and its children; None changes nothing."""
    if engine is not None:
        parse(engine, "--engine")
        os.environ[ENGINE] = engine


def parse(engine: str, where: str) -> tuple[str, str | None]:
    """Split `local`, `ray` or `ray=ADDRESS` into engine and address; UserError if it is invalid."""
    name, given, address = engine.partition("=")
    if name not in (LOCAL, RAY) or (given and (name == LOCAL or not address)):
        raise UserError(f"no engine {engine!r}", where=where, remedy="say local, ray or ray=ADDRESS")
    return name, address or None


@dataclass(frozen=True)
class Machine:
    """The devices of the chosen engine."""

    device: str
    """Device class, as in cache keys: `cpu`, or `cuda` with its compute capability and memory."""
    gpus: int
    nodes: int
    """Nodes of a cluster; 0 without one."""

    @property
    def together(self) -> int:
        """Number of devices that compute for one model at a time: all of a cluster, or one locally."""
        return (self.gpus or self.nodes) if self.nodes else 1


def machine() -> Machine:
    """The devices of the chosen engine; UserError if a cluster cannot be joined."""
    engine, address = chosen()
    if engine == RAY:
        from evenruler.models.engines.cluster import connected

        cluster = connected(address)
        on = cluster.surroundings(cluster.gpus_of_a_copy(1, None))
        return Machine(on.device, cluster.gpus(), len(cluster.nodes()))

    from evenruler.models.engines.described import device_class, gpus

    return Machine(device_class(), gpus(), 0)


RATES = "rates.jsonl"
"""File in the answer store: one line per operation and process that asked a model."""

ASSUMED: Mapping[str, float] = {"cpu": 2e10, "cuda": 1e13}
"""Assumed parameters times tokens per second if nothing was measured: likelihoods on two cores, on a large GPU."""

WRITES = "generation"
"""The operation that generates tokens one by one."""

ASSUMED_WRITING = 0.1
"""Factor on that speed for generated tokens."""


@dataclass(frozen=True)
class Rate:
    """The measured time of one process for one operation of one model."""

    family: str
    model: str
    operation: str
    device: str
    parameters: int | None
    tokens: int
    """Generated tokens for generation, else tokens read (`models.records`)."""
    questions: int
    seconds: float
    """Device seconds: two devices that compute together count twice."""


def keep_rates(rates: Iterable[Rate], root: Path) -> None:
    """Append measured rates to the file in the answer store, one line each."""
    with (root / RATES).open("a", encoding="utf-8") as file:
        file.write("".join(json.dumps(asdict(rate)) + "\n" for rate in rates))


def kept_rates(root: Path) -> list[Rate]:
    """All measured rates; lines cut off by a kill are skipped."""
    found = []
    for line in (root / RATES).read_text(encoding="utf-8").splitlines() if (root / RATES).exists() else ():
        try:
            found.append(Rate(**json.loads(line)))
        except (ValueError, TypeError):
            continue
    return found


def seconds(
    known: Sequence[Rate], *, family: str, model: str, operation: str, device: str, parameters: int | None, tokens: int
) -> float | None:
    """Estimated seconds that a model will take; None if unknown.

    Uses the model's own rate in that family; else that of all models on the device, per parameter; else the assumed
    speed. `tokens`: generated or read tokens, as in `Rate`; `parameters`: None if unknown.
    """
    alike = [one for one in known if (one.operation, one.device) == (operation, device) and one.tokens and one.seconds]
    if own := [one for one in alike if (one.family, one.model) == (family, model)]:
        return tokens * sum(one.seconds for one in own) / sum(one.tokens for one in own)
    if parameters is None:
        return None
    if sized := [(one.tokens * one.parameters, one.seconds) for one in alike if one.parameters]:
        return tokens * parameters * sum(took for _, took in sized) / sum(work for work, _ in sized)
    speed = ASSUMED["cpu" if device == "cpu" else "cuda"]
    return tokens * parameters / (speed * (ASSUMED_WRITING if operation.startswith(WRITES) else 1))

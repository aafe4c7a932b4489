"""What computes, whatever the model, and how fast it answered: so that a plan can say how long it takes."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from evenruler.models import engines


@dataclass(frozen=True)
class Machine:
    """What computes by the engine that is chosen."""

    device: str
    """The kind, as in the keys of answers: `cpu`, or `cuda` with its compute capability and memory."""
    gpus: int
    nodes: int
    """Of a cluster; 0 without one."""

    @property
    def together(self) -> int:
        """How many devices one model computes on at a time: all of a cluster, or one here."""
        return (self.gpus or self.nodes) if self.nodes else 1


def machine() -> Machine:
    """What there is by the engine that is chosen; UserError where a cluster cannot be joined."""
    engine, address = engines.chosen()
    if engine == engines.RAY:
        from evenruler.models.engines.cluster import connected

        cluster = connected(address)
        on = cluster.surroundings(cluster.gpus_of_a_copy(1, None))
        return Machine(on.device, cluster.gpus(), len(cluster.nodes()))

    from evenruler.models.engines.described import device_class, gpus

    return Machine(device_class(), gpus(), 0)


KEPT = "rates.jsonl"
"""Below the folder of the answers: a line for each operation of each process that asked a model."""

ASSUMED: Mapping[str, float] = {"cpu": 2e10, "cuda": 1e13}
"""Parameters times tokens in a second, where nothing was measured: a likelihood on two cores, a large GPU."""

WRITES = "generation"
"""The operation whose tokens come one after the other."""

ASSUMED_WRITING = 0.1
"""Of that speed, for tokens that are written."""


@dataclass(frozen=True)
class Rate:
    """What one process took for one operation of one model."""

    family: str
    model: str
    operation: str
    device: str
    parameters: int | None
    tokens: int
    """Written where it writes, else read (`models.records`)."""
    questions: int
    seconds: float
    """Of one device: on two that compute together, twice as many."""


def keep_rates(rates: Iterable[Rate], root: Path) -> None:
    """Add what was measured, a line each, to the file in the folder of the answers."""
    with (root / KEPT).open("a", encoding="utf-8") as file:
        file.write("".join(json.dumps(asdict(rate)) + "\n" for rate in rates))


def kept_rates(root: Path) -> list[Rate]:
    """All that was measured; a line that a kill cut is left out."""
    found = []
    for line in (root / KEPT).read_text(encoding="utf-8").splitlines() if (root / KEPT).exists() else ():
        try:
            found.append(Rate(**json.loads(line)))
        except (ValueError, TypeError):
            continue
    return found


def seconds(
    known: Sequence[Rate], *, family: str, model: str, operation: str, device: str, parameters: int | None, tokens: int
) -> float | None:
    """How many seconds a model will take, roughly; None where they cannot be told.

    Its own rate in that family is taken; else that of all models on that device, by parameters; else the assumption.
    `tokens` are those written where it writes, else those read; `parameters` is None where nobody knows.
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

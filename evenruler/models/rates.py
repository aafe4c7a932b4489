"""How fast models answered here: a line in `rates.jsonl`, beside the answers, for each call that a
model answered; and the time that others will take.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from evenruler.models.questions import QuestionVolume, amount_of

FILE = "rates.jsonl"

HOSTED_DEVICE = "server"
"""Stands for the device of a model on a server."""

ASSUMED_SPEED = 1e12
"""Tokens a second times bytes of weights in float32: what SmolLM2-135M reads on two cores."""

ASSUMED_WRITING = 0.1
"""Factor on that where a model writes, one token after the other."""

WRITING = ("generation",)
"""Operations that write."""

RECENT = 20
"""Calls, from the last one, whose mean speed counts: a machine is busier at one time than another,
and libraries change."""


@dataclass(frozen=True)
class Rate:
    """The time that a model took for the questions of one call."""

    model: str
    operation: str
    """Without its version."""
    device: str
    """The device class in the engine string, or `HOSTED_DEVICE`."""
    weights: int
    """Bytes of the model's weights, to which time is proportional; 0 where they are not here."""
    tokens: int
    """By `count_work`."""
    seconds: float
    """Without loading."""


def count_work(amount: QuestionVolume) -> int:
    """The tokens that determine the time: those written, one after the other, or else those
    read.
    """
    return amount.written or amount.read


def work_of(question: object) -> int:
    """The tokens of one question that determine its time, at least 1."""
    return max(1, count_work(amount_of([question])))


def operation_name(operation: str) -> str:
    """An operation without its version, as `likelihood/1` has one."""
    return operation.partition("/")[0]


def device_of(engine: str) -> str | None:
    """The device in an engine string; None for a model in another state, such as an adapted one."""
    try:
        fields = json.loads(engine or "{}")
    except ValueError:
        return None
    return str(fields.get("device", HOSTED_DEVICE)) if isinstance(fields, dict) else None


def weights_size(folder: Path | None) -> int:
    """Bytes of the weights in a model's folder; 0 without one."""
    if folder is None:
        return 0
    files = [*folder.glob("*.safetensors"), *folder.glob("*.bin")]
    return sum(path.stat().st_size for path in files)


def keep_rate(rate: Rate, root: Path) -> None:
    """Append a rate to the file in the folder of the answers."""
    with (root / FILE).open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(rate)) + "\n")


def read_rates(root: Path) -> list[Rate]:
    """The rates in the folder of the answers; a line that was cut off is left out."""
    path = root / FILE
    rates: list[Rate] = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            rates.append(Rate(**json.loads(line)))
        except (ValueError, TypeError):
            continue
    return rates


def estimate_seconds(
    rates: Iterable[Rate], model: str, operation: str, device: str, weights: int, tokens: int
) -> float | None:
    """The seconds that a model will take for questions of an operation, from its own rates on the
    device, else from those of other models by the size of their weights; None where none is kept.
    """
    alike = [rate for rate in rates if (rate.operation, rate.device) == (operation, device)]
    same = [rate for rate in alike if (rate.model, rate.weights) == (model, weights)]
    if same:
        return tokens * _mean_speed(same, [rate.tokens for rate in same])
    sized = [rate for rate in alike if rate.weights]
    if sized and weights:
        return tokens * weights * _mean_speed(sized, [rate.tokens * rate.weights for rate in sized])
    return None


def assume_seconds(operation: str, device: str, weights: int, tokens: int) -> float | None:
    """The seconds that a model would take on two cores of today; None for other devices, and where
    the size of its weights is not known.
    """
    if device != "cpu" or not weights:
        return None
    speed = ASSUMED_SPEED * (ASSUMED_WRITING if operation in WRITING else 1)
    return tokens * weights / speed


def _mean_speed(rates: Sequence[Rate], work: Sequence[int]) -> float:
    """Seconds for a unit of work in the last calls."""
    recent = [rate.seconds for rate in rates[-RECENT:]]
    return sum(recent) / sum(work[-RECENT:])

"""The plan: what the store lacks for each family and model, how long that takes, and what is still to be fetched."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from evenruler import rates
from evenruler.machine import Machine
from evenruler.models.records import Amount


@dataclass(frozen=True)
class Pair:
    """A family, and a model that its instruments ask."""

    family: str
    model: str

    @property
    def name(self) -> str:
        """As under `active.ask`."""
        return f"{self.family}-{self.model}"


@dataclass(frozen=True)
class Lack:
    """What the store lacks of one operation of one model."""

    model: str
    """The one that is measured, or a tool."""
    operation: str
    amount: Amount


@dataclass(frozen=True)
class Asking:
    """What is to be asked for one pair."""

    pair: Pair
    lacks: Sequence[Lack]
    wrong: str = ""
    """Why it cannot be told."""


@dataclass(frozen=True)
class Fetched:
    """The files of a model that are to be fetched; what the Hub did not say is None."""

    bytes: int | None = None
    parameters: int | None = None


@dataclass(frozen=True)
class Plan:
    """What will be asked, before anything is.

    Attributes:
        machine: What computes.
        askings: All pairs that were named.
        absent: By model whose files are not here: why.
        parameters: By model whose files are here, where they are known.
        fetched: By model that the Hub has.
        known: The rates that were measured.
    """

    machine: Machine
    askings: Sequence[Asking]
    absent: Mapping[str, str]
    parameters: Mapping[str, int | None]
    fetched: Mapping[str, Fetched] = field(default_factory=dict)
    known: Sequence[rates.Rate] = ()

    @cached_property
    def to_ask(self) -> list[Asking]:
        """The pairs that take a process: the store lacks something, or a model is not here."""
        return [one for one in self.askings if one.lacks or one.wrong or one.pair.model in self.absent]

    @property
    def of_models(self) -> list[Asking]:
        """Those of them that are more than tools have to answer."""
        return [one for one in self.to_ask if one.wrong or any(lack.model == one.pair.model for lack in one.lacks)]

    def seconds(self, asking: Asking) -> float | None:
        """How long a pair takes, roughly, alone on a device; None where the size of a model is not known."""
        total = 0.0
        for lack in asking.lacks:
            took = rates.seconds(
                self.known,
                family=asking.pair.family,
                model=lack.model,
                operation=lack.operation,
                device=self.machine.device,
                parameters=self._parameters(lack.model),
                tokens=lack.amount.tokens,
            )
            if took is None:
                return None
            total += took
        return None if asking.wrong else total

    def _parameters(self, model: str) -> int | None:
        return self.parameters.get(model) or self.fetched.get(model, Fetched()).parameters

    @property
    def bytes(self) -> int:
        """Of all files that are to be fetched, as far as the Hub says."""
        return sum(files.bytes or 0 for files in self.fetched.values())


def lines(plan: Plan, scale: str, at_once: int, free: int) -> Iterator[str]:
    """The plan in words and a table.

    Args:
        plan: What will be asked.
        scale: That is in use.
        at_once: Processes.
        free: Bytes that are free where files are fetched to.
    """
    yield (
        f"plan at the scale {scale}: {len(plan.to_ask)} of {len(plan.askings)} to ask, {at_once} at once on "
        f"{_devices(plan.machine)}"
    )
    yield from table(plan)
    for model, why in plan.absent.items():
        yield f"not here: {model}: {why}"
    for asking in plan.askings:
        if asking.wrong:
            yield f"not counted: {asking.pair.name}: {asking.wrong}"
    if plan.to_ask:
        yield "questions that hang on answers to others, as what is measured of replies, come on top"
        yield _of_time(plan)
    if plan.fetched:
        unsaid = [name for name, files in plan.fetched.items() if files.bytes is None]
        more = f", and {', '.join(unsaid)}, whose size the Hub does not say" if unsaid else ""
        fits = "" if plan.bytes <= free else ": too few"
        yield f"to fetch: {in_bytes(plan.bytes)}{more}; {in_bytes(free)} are free{fits}"


def _devices(machine: Machine) -> str:
    own = f"{machine.gpus} GPU{'s' * (machine.gpus > 1)} ({machine.device})" if machine.gpus else "the CPU"
    if not machine.nodes:
        return own
    return f"a cluster of {machine.nodes} node{'s' * (machine.nodes > 1)}, {own}"


def table(plan: Plan) -> list[str]:
    """A line for each pair that is to be asked, and one for all."""
    rows = [("", "questions", "tokens read", "written", "time", "to fetch")]
    rows += [(one.pair.name, *_amounts([one]), in_time(plan.seconds(one)), _files(plan, one)) for one in plan.to_ask]
    if len(plan.to_ask) > 1:
        times = [plan.seconds(one) for one in plan.to_ask]
        known = [took for took in times if took is not None]
        total = in_time(sum(known)) + (" + ?" if len(known) < len(times) else "")
        rows.append(("all", *_amounts(plan.to_ask), total, in_bytes(plan.bytes) if plan.fetched else ""))
    if len(rows) == 1:
        return []
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    laid = ("  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows)
    return [f"  {line.rstrip()}" for line in laid]


def _amounts(askings: Sequence[Asking]) -> tuple[str, str, str]:
    amounts = [lack.amount for one in askings for lack in one.lacks]
    sums = (sum(each) for each in zip(*((one.questions, one.read, one.written) for one in amounts), strict=True))
    questions, read, written = sums if amounts else (0, 0, 0)
    return f"{questions:,}", f"{read:,}", f"{written:,}"


def _files(plan: Plan, asking: Asking) -> str:
    files = plan.fetched.get(asking.pair.model)
    return "" if files is None else "?" if files.bytes is None else in_bytes(files.bytes)


def _of_time(plan: Plan) -> str:
    """What the times rest on."""
    device = plan.machine.device
    measured = any(one.device == device for one in plan.known)
    speed = rates.ASSUMED["cpu" if device == "cpu" else "cuda"]
    assumed = f"{speed:.0e} parameters times tokens a second are assumed, {rates.ASSUMED_WRITING:.0%} of it for writing"
    how = f"as measured here before, else {assumed}" if measured else f"nothing was measured on {device}: {assumed}"
    return f"time, roughly, of one device: {how}"


def in_time(seconds: float | None) -> str:
    """Seconds in words; `?` where they are not known."""
    if seconds is None:
        return "?"
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 3600 else f"{seconds / 3600:.1f} h"


def in_bytes(n: int) -> str:
    """Bytes in words."""
    return f"{n / 1e9:.1f} GB" if n >= 1e8 else f"{n / 1e6:.1f} MB"

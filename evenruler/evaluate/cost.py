"""The cost of a measurement on a server, before anything is sent: requests, tokens, dollars; and
asking to go on.
"""

import math
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import typer

from evenruler.errors import UserError
from evenruler.evaluate.benchmark import Benchmark
from evenruler.instruments.asking import CALLED
from evenruler.instruments.instrument import SUBJECT, RequestBatch, plan_at_size
from evenruler.instruments.possible_verdicts import ANSWERING, detected_effect_text, typical_model
from evenruler.instruments.registry import family_module
from evenruler.models.declarations import Kind
from evenruler.models.questions import LETTERS_A_TOKEN
from evenruler.sizes import SIZES, STANDARD, Size
from evenruler.terminal import print_note, say


@dataclass(frozen=True)
class Price:
    """US dollars per million tokens, for prompts (`read`) and replies (`written`)."""

    read: float
    written: float

    @classmethod
    def parse(cls, price_text: str | None) -> "Price | None":
        """Parse `IN,OUT`, as users write it."""
        if price_text is None:
            return None
        try:
            read, written = map(float, price_text.split(","))
            if not all(0 <= price < math.inf for price in (read, written)):  # NaN is neither
                raise ValueError
        except ValueError:
            remedy = "say IN,OUT: dollars for a million tokens"
            raise UserError(f"found {price_text!r}", where="--price", remedy=remedy) from None
        return cls(read, written)


@dataclass(frozen=True)
class Cost:
    """The cost of requests to the measured model; those that depend on answers go to tools and are
    not counted.
    """

    questions: dict[str, int]
    """Number of requests by operation."""
    read: int = 0
    """Prompt tokens, estimated."""
    written: int = 0
    """Reply tokens at most; in what is left to send, with those for thinking."""

    @property
    def requests(self) -> int:
        """Requests without retries; fewer for servers with log-probabilities, which take several
        texts at once.
        """
        return sum(self.questions.values())

    def dollars(self, price: Price) -> float:
        """The cost in US dollars at these prices."""
        return (self.read * price.read + self.written * price.written) / 1e6

    def __add__(self, other: Self) -> "Cost":
        """The cost of both together: requests by operation, and tokens, are summed."""
        questions = Counter(self.questions) + Counter(other.questions)
        return Cost(questions, self.read + other.read, self.written + other.written)

    @property
    def tokens_in_words(self) -> str:
        """The tokens in words."""
        return f"about {self.read:,} tokens in, at most {self.written:,} out"

    def in_words(self, price: Price | None) -> str:
        """The cost in one line."""
        line = f"{self.requests:,} requests, {self.tokens_in_words}"
        if not price:
            return line
        dollars = math.ceil(100 * self.dollars(price)) / 100
        return f"{line}; at most ${dollars:,.2f}"


READ = ("prompt", "system", "text", "before")
"""Request inputs that count as prompt tokens."""


def cost_of(requests: Iterable[RequestBatch]) -> Cost:
    """The cost of those requests that go to the measured model."""
    questions = Counter[str]()
    letters = written = 0
    for request in (batch for batch in requests if batch.by == SUBJECT):
        n = len(request.rows)
        questions[request.operation] += n
        for name in READ:
            texts = request.inputs.get(name, ())
            letters += sum(len(text) for text in texts if text)
        written += n * request.settings.get("new_tokens", 0)
    return Cost(questions, round(letters / LETTERS_A_TOKEN), written)


def questions_in_words(questions: Mapping[str, int], method: str | None = None) -> str:
    """The number of questions by operation, in words; `method`: the only one by which they are
    asked.
    """
    counts: list[str] = []
    for operation, n in questions.items():
        called = CALLED.get(operation, operation)
        counts.append(f"{n:,} {called}")
    text = ", ".join(counts)
    return f"{text} ({method})" if method else text


def power_text(detects: str | None) -> str:
    """What a study detects, in words; `detects`: as from `detected_effect_text`."""
    if detects is None:
        return "no verdict is possible"
    if not detects:
        return "what it detects is not known"
    return f"8 of 10 such studies detect {detects}"


@dataclass(frozen=True)
class AskedWay:
    """One way of asking a benchmark."""

    kinds: tuple[Kind, ...]
    """Kinds of models that are asked the same."""
    method: str
    size: Size
    cost: Cost
    power: str
    """The effect that such a study detects, in words."""


def list_ways(benchmark: Benchmark) -> list[AskedWay]:
    """Each method and size of a benchmark with its cost, by kind of model."""
    door = family_module(benchmark.family, "ask")
    ways: list[AskedWay] = []
    for method in door.METHODS:
        for size in SIZES if "sizes" in benchmark.plan else (STANDARD,):
            plan = plan_at_size(benchmark.plan, size)
            power = power_text(detected_effect_text(benchmark.plan, size, method))
            kinds_by_questions: dict[str, list[Kind]] = {}
            cost_by_questions: dict[str, Cost] = {}
            for kind in ANSWERING:
                subject = typical_model(kind)
                if not door.METHODS[method].fits(subject):
                    continue
                subject = replace(subject, method=method)
                cost = cost_of(door.requests(benchmark.tables, plan, {}, subject))
                if cost.requests:
                    questions = questions_in_words(cost.questions)
                    cost_by_questions[questions] = cost
                    kinds_by_questions.setdefault(questions, []).append(kind)
            for questions, kinds in kinds_by_questions.items():
                cost = cost_by_questions[questions]
                ways.append(AskedWay(tuple(kinds), method, size, cost, power))
    return ways


@dataclass(frozen=True)
class SpendingLimit:
    """The spending that the user allows."""

    price: Price | None = None
    most: float | None = None
    """Limit in dollars."""
    yes: bool = False

    def agree(self, costs: Sequence[Cost], hopeless: Sequence[str]) -> None:
        """Ask whether to send everything, unless `yes`, or a `most` that covers the cost, already
        answers.

        `costs`: one per benchmark; `hopeless`: benchmarks that can have no verdict at their size.
        UserError where it costs more than `most`, no verdict is possible, or there is no terminal
        to ask at.
        """
        whole = sum(costs, Cost({}))
        if self.most is not None:
            if self.price is None:
                raise UserError(
                    "prices are unknown", where="--max-cost", remedy="add --price IN,OUT"
                )
            dollars = whole.dollars(self.price)
            if dollars > self.most:
                raise UserError(
                    f"it may cost ${dollars:,.2f}",
                    where=f"--max-cost {self.most:g}",
                    remedy="take --size trial, or allow more",
                )
        sends = f"sends {whole.in_words(self.price)}"
        if self.yes or (self.most is not None and not hopeless):
            print_note(f"it {sends}")
            return
        if hopeless:
            remedy = "take another size or benchmark, or say --yes to describe the model alone"
            raise UserError(
                f"no verdict is possible on {', '.join(hopeless)}", where="measure", remedy=remedy
            )
        if not sys.stdin.isatty():
            remedy = "say --yes, or --max-cost with --price"
            raise UserError(f"it {sends}", where="measure", remedy=remedy)
        if not typer.confirm(f"It {sends}. Send?", err=True):
            say("nothing was sent", err=True)
            raise typer.Exit(1)

"""The same benchmarks by the engines local and vllm: figures, verdicts, answers, tokens a second.

`python -m studies.performance.vllm_against_local FOLDER [BENCHMARK...]`, with vLLM's
environment in `EVENRULER_VLLM`. The model in the folder is measured twice, in one run, from stores
of its own, so that everything is asked. vLLM answers all three operations, as it does for a model
that it alone can hold; for others it leaves likelihoods to this process. Rates are of questions
after a first one, so that neither loading nor the start of a server counts: tokens of all
questions, each whole, and of all replies, by the model's tokenizer; by the clock, and by seconds of
a processor, those of the server included, which hold on a machine that does other things, too.
Prints Markdown.
"""

import os
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import psutil
from transformers import AutoTokenizer

from evenruler.evaluate.cost import SpendingLimit
from evenruler.evaluate.measure import measure_each
from evenruler.evaluate.resolve_model import ModelSpec
from evenruler.measurement.figures import figure_name
from evenruler.models import engines
from evenruler.models.engines import vllm
from evenruler.models.model import Model
from evenruler.models.questions import Reply, Sampling
from evenruler.results.record import Result
from evenruler.results.store import read_result

BENCHMARKS = ("probes-age-competence", "framing-p-at-gender-7", "external-bec-pro")
"""Asked about one unit each, at the size `trial`."""
NAME = "model"
CLOSE = 1e-3  # nats
RATES = (
    *("local: tokens/s", "local: tokens/processor s"),
    *("vllm: tokens/s", "vllm: tokens/processor s"),
)


@dataclass
class Answers:
    """What one engine answered."""

    results: dict[str, Result] = field(default_factory=dict)
    """By benchmark."""
    models: dict[str, Model] = field(default_factory=dict)
    by_question: dict[tuple[str, Any], Any] = field(default_factory=dict)
    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    processor: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    tokens: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))


@contextmanager
def recording(answers: Answers, tokenizer: Any) -> Iterator[None]:
    """Write down every question of models, its answer, and the seconds that all took."""
    ask: Callable[..., list[Any]] = Model._answers

    def count_tokens(question: Any, answer: Any) -> int:
        """Tokens of a question, and of the reply to it."""
        text = getattr(question, "prompt", "") + getattr(question, "text", "")
        if isinstance(answer, Reply):
            text += answer.text or ""
        return len(tokenizer(text, add_special_tokens=False)["input_ids"])

    def recorded(
        model: Model, method: str, questions: Sequence[Any], *rest: Any, **more: Any
    ) -> list[Any]:
        answers.models[model.name] = model
        ask(model, method, questions[:1], *rest, **more)
        began, used = time.perf_counter(), processor_seconds()
        ours = ask(model, method, questions, *rest, **more)
        answers.seconds[method] += time.perf_counter() - began
        answers.processor[method] += processor_seconds() - used
        pairs = dict(zip(questions, ours, strict=True))
        first = next(iter(pairs))
        for question, answer in pairs.items():
            answers.by_question[method, question] = answer
            if question != first:
                answers.tokens[method] += count_tokens(question, answer)
        return ours

    with patch.object(Model, "_answers", recorded):
        yield


def processor_seconds() -> float:
    """Seconds of a processor that this process has used, and those that it started."""
    this = psutil.Process()
    times = [process.cpu_times() for process in (this, *this.children(recursive=True))]
    return sum(spent.user + spent.system for spent in times)


def ask_engine(engine: str, folder: str, benchmarks: Sequence[str]) -> Answers:
    """Measure all benchmarks by an engine, in one session, and ask for some replies."""
    os.environ[engines.ENGINE] = engine
    answers, tokenizer = Answers(), AutoTokenizer.from_pretrained(folder)
    spec = ModelSpec(f"local:{folder}", NAME)
    with ExitStack() as patches:
        cache = patches.enter_context(tempfile.TemporaryDirectory())
        patches.enter_context(patch.dict(os.environ, {"EVENRULER_CACHE": cache}))
        # So that it answers everything.
        patches.enter_context(patch.object(vllm, "is_quantised", lambda folder: True))
        patches.enter_context(recording(answers, tokenizer))
        out, spending = Path(cache) / "results", SpendingLimit(yes=True)
        for line in measure_each(
            spec,
            benchmarks,
            out,
            device=None,
            limit=1,
            size="trial",
            max_requests=None,
            spending=spending,
        ):
            print(line, file=sys.stderr)
        for path in out.rglob("result.json"):
            result = read_result(path)
            answers.results[result.benchmark.name] = result
        prompts = [f"Write one sentence about {topic}." for topic in TOPICS]
        # The likeliest: those that are drawn differ by engine.
        answers.models[NAME].replies(prompts, sampling=LIKELIEST, chat=True)
    return answers


LIKELIEST = Sampling(max_new_tokens=32, temperature=0)
TOPICS = (
    *("a nurse", "the sea", "old books", "a market", "rain", "a long walk", "bread", "a teacher"),
    *("a bridge", "winter", "two friends", "a garden", "trains", "the moon", "a letter", "music"),
)


def print_table(rows: Sequence[Sequence[object]]) -> None:
    """Print rows as a Markdown table, the first as its head."""
    head, *body = rows
    for row in (head, ["---"] * len(head), *body):
        print("| " + " | ".join(map(str, row)) + " |")


def compare_figures(here: Answers, served: Answers) -> None:
    """Print how far figures lie apart, and how many verdicts are the same."""
    rows: list[list[object]] = [["benchmark", "figures", "furthest apart", "which", "same verdict"]]
    for benchmark, result in here.results.items():
        theirs = {figure_name(row): row for row in served.results[benchmark].figures}
        apart, same, judged = [(0.0, "")], 0, 0
        for row in result.figures:
            other = theirs[figure_name(row)]
            if isinstance(row["value"], float) and isinstance(other["value"], float):
                difference = abs(row["value"] - other["value"])
                apart.append((difference, figure_name(row)))
            if row.get("verdict"):
                judged += 1
                same += row["verdict"] == other.get("verdict")
        verdicts = f"{same} of {judged}"
        furthest, which = max(apart)
        rows.append([benchmark, len(theirs), f"{furthest:.1e}", which, verdicts])
    print_table(rows)


def compare_answers(here: Answers, served: Answers) -> None:
    """Print how far answers lie apart, and the rates of both."""
    rows: list[list[object]] = [["operation", "answers", "furthest apart", *RATES]]
    assert here.by_question.keys() == served.by_question.keys()
    for method in here.seconds:
        questions = [key for key in here.by_question if key[0] == method]
        questions = list(filter(is_not_drawn, questions))
        pairs = [(here.by_question[key], served.by_question[key]) for key in questions]
        if isinstance(pairs[0][0], Reply):
            same = sum(first.text == second.text for first, second in pairs)
            apart = f"{same} of {len(pairs)} the same"
        else:
            numbers = np.array(pairs, dtype=np.float64)
            if method == "next_words":  # one number a word
                numbers = np.moveaxis(numbers, 1, 2).reshape(-1, 2, 1)
            apart = describe_distance(numbers)
        rates = []
        for engine in (here, served):
            for seconds in (engine.seconds, engine.processor):
                rates.append(f"{engine.tokens[method] / seconds[method]:,.0f}")
        rows.append([method, f"{len(pairs):,}", apart, *rates])
    print_table(rows)


def is_not_drawn(question: tuple[str, Any]) -> bool:
    """Whether chance has no part in the answer: engines draw by other generators."""
    sampling = getattr(question[1], "sampling", LIKELIEST)
    return bool(sampling.temperature == 0)


def describe_distance(numbers: "np.ndarray[Any, np.dtype[np.float64]]") -> str:
    """The largest difference in nats of [answers, 2, numbers]: of words also where they end."""
    nats = numbers[..., 0]
    apart = np.abs(np.diff(nats))
    apart = apart[np.isfinite(apart)]  # without words that are not one token
    within = (apart <= CLOSE).mean()
    share = f"{within:.0%} within {CLOSE:g}"
    described = f"{apart.max():.1e} nats ({share})"
    if numbers.shape[-1] <= 2:
        return described
    mass = np.exp(nats + numbers[..., 1])
    mass_apart = np.abs(np.diff(mass)).max()
    return f"{described}, mass {mass_apart:.1e}"


def main(folder: str, benchmarks: Sequence[str]) -> None:
    """Measure and compare."""
    here, served = (ask_engine(engine, folder, benchmarks) for engine in ("local", "vllm"))
    compare_figures(here, served)
    print()
    compare_answers(here, served)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:] or BENCHMARKS)

"""Whole-sentence likelihoods: ours against lm-evaluation-harness and minicons, in one run.

Needs `pip install -e '.[compare]'`, and a built repository. Prints Markdown
tables: texts/s, seconds, peak memory, largest difference from ours. Each contender runs in a
process of its own, on the same texts (the validation set, every sentence once), model, threads and
dtype; loading the model is not timed.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import typer
from numpy.typing import NDArray

from studies.speed.apart import Run, run_apart
from studies.speed.contest import OURS
from studies.tables import print_head, print_row

DOMAIN = Path("data/built/probes/occupation-gender/probes.parquet")
BATCHES = (8, 16, 32)
MODELS = ("gemma-3-270m", "smollm2-135m-instruct")

Answers = tuple[NDArray[np.float64], float, str]
"""Nats, seconds, and the size of a batch in words."""


def read_sentences(n: int) -> list[str]:
    """Return so many sentences of the validation set, all where n is 0."""
    from evenruler.tables import read_frame

    frame = read_frame(DOMAIN)
    texts = frame[frame["set"] == "validation"]["text"].tolist()
    return texts[:n] if n else texts


def load_backend(name: str) -> Any:
    """Return what answers for a model."""
    from evenruler.models import load

    return load(name).backend


def ask_ours(name: str, texts: list[str]) -> Answers:
    """Answer as `measure` does, without the store."""
    from evenruler.models.questions import LikelihoodRequest

    model = load_backend(name)
    requests = [LikelihoodRequest(text) for text in texts]
    nats = np.zeros(len(texts))
    start = time.perf_counter()
    for pack in model.loglikelihood(requests, frozenset(range(len(texts)))):
        for index, (value, _) in pack:
            nats[index] = value
    return nats, time.perf_counter() - start, ""


def ask_lm_eval(name: str, texts: list[str]) -> Answers:
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM

    model = load_backend(name)
    requests = [Instance("loglikelihood_rolling", {}, (text,), i) for i, text in enumerate(texts)]

    def run(batch: int, some: list[Any]) -> list[float]:
        # The rolling likelihood puts the start token first by itself; Gemma would get a second one.
        lm = HFLM(
            pretrained=model.model,
            tokenizer=model.tokenizer,
            batch_size=batch,
            backend="causal",
            add_bos_token=False,
        )
        return lm.loglikelihood_rolling(some, disable_tqdm=True)

    return run_best_batch(run, requests)


def ask_minicons(name: str, texts: list[str]) -> Answers:
    from minicons import scorer

    model = load_backend(name)
    device = str(next(model.model.parameters()).device)
    lm = scorer.IncrementalLMScorer(model.model, tokenizer=model.tokenizer, device=device)

    adds_start = (
        model.tokenizer("x")["input_ids"][0] == model.encoder.start_token
    )  # then minicons must not

    def run(batch: int, some: list[str]) -> list[float]:
        values: list[float] = []
        for first in range(0, len(some), batch):
            values += lm.sequence_score(
                some[first : first + batch],
                reduction=lambda nats: nats.sum(0).item(),
                bos_token=not adds_start,
            )
        return values

    return run_best_batch(run, texts)


def run_best_batch(run: Callable[[int, list[Any]], list[float]], questions: list[Any]) -> Answers:
    """All questions at the batch that did best on a sample: the peer gets its best setting."""
    sample = questions[:: max(1, len(questions) // 100)]
    times = {}
    for batch in BATCHES:
        start = time.perf_counter()
        run(batch, sample)
        times[batch] = time.perf_counter() - start
    best = min(times, key=times.__getitem__)
    start = time.perf_counter()
    values = run(best, questions)
    return np.array(values), time.perf_counter() - start, f" (batch {best})"


CONTENDERS = {OURS: ask_ours, "lm-eval": ask_lm_eval, "minicons": ask_minicons}


def main(texts: int = 0, contenders: str = " ".join(CONTENDERS)) -> None:
    """Print a table for each model, of all or so many texts."""
    sentences = read_sentences(texts)
    for name in MODELS:
        print(f"### {name}\n")
        print_head(
            *("", "texts/s", "seconds", "peak memory, MB"),
            *("largest difference, nats", "ours is faster by"),
        )
        names = contenders.split()
        runs = [run_apart(CONTENDERS[contender], name, sentences) for contender in names]
        for contender, run in zip(names, runs, strict=True):
            print_contender(contender, run, runs[0])


def print_contender(contender: str, run: Run, ours: Run) -> None:
    """Print a row."""
    nats, seconds, batch = run.returned
    our_nats, our_seconds, _ = ours.returned
    print_row(
        contender + batch,
        f"{len(nats) / seconds:.1f}",
        f"{seconds:.1f}",
        f"{run.peak_mb:,.0f}",
        f"{np.abs(nats - our_nats).max():.1e}",
        f"{seconds / our_seconds:.1f}x",
    )


if __name__ == "__main__":
    typer.run(main)

"""Whole-sentence likelihoods: ours against lm-evaluation-harness and minicons, in one run.

Run by hand: `pip install -c constraints.txt -e '.[compare]'`, then `python -m
studies.speed.likelihood`. Prints Markdown tables: texts/s, seconds, peak memory, largest
difference from ours. Each contender runs in a process of its own, on the same texts (the validation
set, every sentence once), model, threads and dtype; loading the model is not timed.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from studies.speed.contest import OURS
from studies.tables import print_head, print_row

DOMAIN = "data/built/probes/occupation-gender/probes.parquet"
BATCHES = (8, 16, 32)
MODELS = ("gemma-3-270m", "smollm2-135m-instruct")

Answers = tuple[np.ndarray, float, str]
"""Nats, seconds, and the size of a batch in words."""


def sentences() -> list[str]:
    from evenruler.tables import read_frame

    frame = read_frame(Path(DOMAIN))
    return frame[frame["set"] == "validation"]["text"].tolist()


def backend(name: str):
    from evenruler.models import load

    return load(name).backend


def ours(name: str, texts: list[str]) -> Answers:
    from evenruler.models.questions import LikelihoodRequest

    model = backend(name)
    requests = [LikelihoodRequest(text) for text in texts]
    nats = np.zeros(len(texts))
    start = time.perf_counter()
    for pack in model.loglikelihood(requests, frozenset(range(len(texts)))):
        for index, (value, _) in pack:
            nats[index] = value
    return nats, time.perf_counter() - start, ""


def lm_eval(name: str, texts: list[str]) -> Answers:
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM

    model = backend(name)
    requests = [Instance("loglikelihood_rolling", {}, (text,), i) for i, text in enumerate(texts)]

    def run(batch: int, some: list) -> list[float]:
        # The rolling likelihood puts the start token first by itself; Gemma would get a second one.
        lm = HFLM(
            pretrained=model.model,
            tokenizer=model.tokenizer,
            batch_size=batch,
            backend="causal",
            add_bos_token=False,
        )
        return lm.loglikelihood_rolling(some, disable_tqdm=True)

    return best_batch(run, requests)


def minicons(name: str, texts: list[str]) -> Answers:
    from minicons import scorer

    model = backend(name)
    device = str(next(model.model.parameters()).device)
    lm = scorer.IncrementalLMScorer(model.model, tokenizer=model.tokenizer, device=device)

    adds_start = model.tokenizer("x")["input_ids"][0] == model._start  # then minicons must not

    def run(batch: int, some: list[str]) -> list[float]:
        values: list[float] = []
        for first in range(0, len(some), batch):
            values += lm.sequence_score(
                some[first : first + batch],
                reduction=lambda x: x.sum(0).item(),
                bos_token=not adds_start,
            )
        return values

    return best_batch(run, texts)


def best_batch(run: Callable[[int, list], list[float]], questions: list) -> Answers:
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


CONTENDERS = {OURS: ours, "lm-eval": lm_eval, "minicons": minicons}


def run_contender(contender: str, name: str, out: str) -> None:
    """Write what a contender answers, and what it took."""
    texts = sentences()
    nats, seconds, batch = CONTENDERS[contender](name, texts)
    np.save(out, nats)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    record = {"seconds": seconds, "peak_mb": peak / 1024, "n": len(texts), "batch": batch}
    Path(out + ".json").write_text(json.dumps(record))


def main() -> None:
    """Print a table for each model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        run_contender(*arguments.child)
        return
    for name in MODELS:
        print(f"### {name}\n")
        print_head(
            *("", "texts/s", "seconds", "peak memory, MB"),
            *("largest difference, nats", "ours is faster by"),
        )
        with tempfile.TemporaryDirectory() as folder:
            print_contenders(name, folder)


def print_contenders(name: str, folder: str) -> None:
    """Print a row for each contender, ours first."""
    our_nats, our_seconds = np.zeros(0), 0.0
    for contender in CONTENDERS:
        out = f"{folder}/{contender}.npy"
        command = [sys.executable, "-m", "studies.speed.likelihood", "--child"]
        subprocess.run([*command, contender, name, out], check=True, stderr=subprocess.DEVNULL)
        nats, record = np.load(out), json.loads(Path(out + ".json").read_text())
        seconds = record["seconds"]
        if contender == OURS:
            our_nats, our_seconds = nats, seconds
        print_row(
            contender + record["batch"],
            f"{record['n'] / seconds:.1f}",
            f"{seconds:.1f}",
            f"{record['peak_mb']:,.0f}",
            f"{np.abs(nats - our_nats).max():.1e}",
            f"{seconds / our_seconds:.1f}x",
        )


if __name__ == "__main__":
    main()

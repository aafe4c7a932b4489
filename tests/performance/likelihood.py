"""Whole-sentence likelihoods: ours against lm-evaluation-harness and minicons, in one run.

Run by hand: `pip install -c constraints.txt -e '.[compare]'`, then `python -m
tests.performance.likelihood`. Prints Markdown tables: texts/s, seconds, peak memory, largest
difference from ours, share of the machine's own measured matmul peak, and how fast a warm row store
answers. Each contender runs in a process of its own, on the same texts (the validation set, every
sentence once), model, threads and dtype; loading the model is not timed.
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

DOMAIN = "data/built/probes/occupation-gender/probes.parquet"
BATCHES = (8, 16, 32)


def sentences() -> list[str]:
    from evenruler.tables import read_frame

    frame = read_frame(Path(DOMAIN))
    return frame[frame["set"] == "validation"]["text"].tolist()


def backend(name: str):
    from evenruler.models import load

    return load(name).backend


def ours(name: str, texts: list[str]) -> tuple[np.ndarray, float, dict]:
    from evenruler.models.backends import trie
    from evenruler.models.questions import LikelihoodRequest

    model = backend(name)
    requests = [LikelihoodRequest(text) for text in texts]
    nats = np.zeros(len(texts))
    start = time.perf_counter()
    for pack in model.loglikelihood(requests, frozenset(range(len(texts)))):
        for index, (value, _) in pack:
            nats[index] = value
    seconds = time.perf_counter() - start
    sequences = [model._encoded([request])[0] for request in requests]
    nodes = sum(
        len(trie.build_trie([sequences[i] for i in pack]).nodes.tokens)
        for pack in model._scorer.packs(sequences)
    )
    weights = sum(p.numel() for p in model.model.parameters() if p.dim() == 2)
    if not model.model.config.get_text_config().tie_word_embeddings:
        weights -= model.model.get_input_embeddings().weight.numel()
    return (
        nats,
        seconds,
        {
            "nodes": nodes,
            "tokens": sum(len(s.tokens) - 1 for s in sequences),
            "flop": 2 * nodes * weights,
        },
    )


def lm_eval(name: str, texts: list[str]) -> tuple[np.ndarray, float, dict]:
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


def minicons(name: str, texts: list[str]) -> tuple[np.ndarray, float, dict]:
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


def best_batch(
    run: Callable[[int, list], list[float]], items: list
) -> tuple[np.ndarray, float, dict]:
    """All items at the batch that did best on a sample: the peer gets its best setting."""
    sample = items[:: max(1, len(items) // 100)]
    times = {}
    for batch in BATCHES:
        start = time.perf_counter()
        run(batch, sample)
        times[batch] = time.perf_counter() - start
    best = min(times, key=times.__getitem__)
    start = time.perf_counter()
    values = run(best, items)
    return np.array(values), time.perf_counter() - start, {"batch": best}


def matmul_peak() -> float:
    """FLOP/s of large float32 matrix products here."""
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    n = 4096 if device == "cuda" else 2048
    a, b = torch.randn(n, n, device=device), torch.randn(n, n, device=device)
    best = 0.0
    for _ in range(10):
        start = time.perf_counter()
        a @ b
        if device == "cuda":
            torch.cuda.synchronize()
        best = max(best, 2 * n**3 / (time.perf_counter() - start))
    return best


def warm_store(name: str, texts: list[str]) -> float:
    """Texts/s that a store which has them answers, the model not loaded."""
    from evenruler.models import load
    from evenruler.models.model import LIKELIHOOD
    from evenruler.models.store import RowStore, cache_root, keys_of

    many = [f"{text} {i}" for i in range(-(-20_000 // len(texts))) for text in texts]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "models").symlink_to((cache_root() / "models").resolve())
        model = load(name, store=RowStore(Path(folder)))
        keys = keys_of(model.engine, "likelihood/1", (["", text] for text in many))
        model._cache.store.put((key, LIKELIHOOD.pack((0.0, 1))) for key in keys)
        start = time.perf_counter()
        model.loglikelihood(many)
        return len(many) / (time.perf_counter() - start)


CONTENDERS = {"ours": ours, "lm-eval": lm_eval, "minicons": minicons}


def child(contender: str, name: str, out: str) -> None:
    texts = sentences()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    nats, seconds, extra = CONTENDERS[contender](name, texts)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    np.save(out, nats)
    record = {
        "seconds": seconds,
        "peak_mb": peak / 1024,
        "before_mb": before / 1024,
        "n": len(texts),
        **extra,
    }
    Path(out + ".json").write_text(json.dumps(record))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=["gemma-3-270m", "smollm2-135m-instruct"])
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(*arguments.child)
        return
    peak = matmul_peak()
    print(f"matmul peak here: {peak / 1e9:,.0f} GFLOP/s (float32)\n")
    for name in arguments.models:
        print(
            f"### {name}\n\n| | texts/s | seconds | peak memory, MB | largest difference, nats | "
            "ours is faster by |"
        )
        print("| --- | --- | --- | --- | --- | --- |")
        results = {}
        with tempfile.TemporaryDirectory() as folder:
            for contender in CONTENDERS:
                out = f"{folder}/{contender}.npy"
                command = [
                    sys.executable,
                    "-m",
                    "tests.performance.likelihood",
                    "--child",
                    contender,
                    name,
                    out,
                ]
                subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
                results[contender] = (np.load(out), json.loads(Path(out + ".json").read_text()))
        own, base = results["ours"]
        for contender, (nats, record) in results.items():
            batch = f" (batch {record['batch']})" if "batch" in record else ""
            row = [
                f"{contender}{batch}",
                f"{record['n'] / record['seconds']:.1f}",
                f"{record['seconds']:.1f}",
                f"{record['peak_mb']:,.0f}",
                f"{np.abs(nats - own).max():.1e}",
                f"{record['seconds'] / base['seconds']:.1f}x",
            ]
            print(f"| {' | '.join(row)} |")
        fewer, share = base["tokens"] / base["nodes"], base["flop"] / base["seconds"] / peak
        print(
            f"\n{base['tokens']:,} tokens became {base['nodes']:,} trie nodes ({fewer:.1f}x "
            "fewer); ",
            end="",
        )
        print(
            f"{share:.0%} of the matmul peak; a warm store answers "
            f"{warm_store(name, sentences()):,.0f} texts/s.\n"
        )


if __name__ == "__main__":
    main()

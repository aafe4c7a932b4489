"""Features of replies and baselines: ours against one forward pass a text, in one run.

Run by hand: `python -m tests.performance.extraction`. Prints a Markdown table: seconds, forward
passes a model, how much faster ours is, and the largest difference of values and baselines. Two
features, sentiment by a classifier and the embedding distance to the baseline, of made-up replies
of a sentence each (as 24 new tokens are) in several configurations; a twentieth of the replies is
one and the same refusal, hardly any others are the same. A pass a text, as `sagedbias` does: every
reply and, again for each reply, its baseline go through a model by themselves. The last contender
passes each distinct text by itself. The same model objects and threads for all; loading is not
timed, writing to our row store is. The best of the turns counts.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from evenruler.declaration.params_file import ParamsFile
from evenruler.instruments.saged.ask import extract_features
from evenruler.instruments.saged.declare.settings import Feature
from evenruler.instruments.saged.schemas import GENERATIONS
from evenruler.models import load
from evenruler.models.declarations import Catalogue
from evenruler.models.store import RowStore
from tests.performance.splitting import sentences

PROMPTS, CONFIGURATIONS, TURNS = 50, 20, 2
ASKED = 5
REFUSAL = "I'm sorry, but I can't help with that."
Single = Callable[[str], np.ndarray]


class Opened:
    """Models with an empty store, and the weights of a turn before, if any."""

    def __init__(self, catalogue: Catalogue, folder: Path, classifier: str) -> None:
        store = RowStore(folder)
        self.own = load(classifier, catalogue, store=store)
        self.vectorised = load("all-minilm-l6-v2", catalogue, store=store)

    def labels(self, classifier: str) -> list[str]:
        return list(self.own.labels)

    def probabilities(self, classifier: str, texts: Sequence[str]) -> np.ndarray:
        return self.own.probabilities(texts)

    def vectors(self, embedder: str | None, texts: Sequence[str]) -> np.ndarray:
        return self.vectorised.embed(texts)

    def replies(self, scorer: str, prompts: Sequence[str]) -> list[str]:
        raise NotImplementedError


def asked(prompts: int, configurations: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Prompts and replies."""
    written = sentences(prompts)
    rows = [(f"p{i}", "countries", f"c{i % 20}", text) for i, text in enumerate(written)]
    draw = np.random.default_rng(0)
    every = sentences(400)
    replies = [
        {
            **dict.fromkeys(GENERATIONS.names, "x"),
            "id": f"p{i}",
            "framing": "bare",
            "role": f"r{configuration}",
            "repetition": 0,
            "generation": REFUSAL
            if draw.random() < 0.05
            else f"{draw.integers(1900, 2000)}: {draw.choice(every)}",
        }
        for i in range(prompts)
        for configuration in range(configurations)
    ]
    return pd.DataFrame(rows, columns=["id", "domain", "concept", "baseline"]), pd.DataFrame(
        replies
    )


def alone(
    frame: pd.DataFrame, probabilities: Single, embedding: Single, weights: np.ndarray
) -> np.ndarray:
    """[n, 3] sentiment of the reply and of its baseline, and the distance of the two."""
    found = []
    for reply, baseline in zip(frame["generation"], frame["baseline"], strict=True):
        distance = 1 - float(embedding(reply) @ embedding(baseline))
        found.append([probabilities(reply) @ weights, probabilities(baseline) @ weights, distance])
    return np.array(found)


def one_text(models: Opened) -> tuple[Single, Single]:
    """What one text gives, by a forward pass of its own."""
    import torch

    backend, embedder = models.own.backend, models.vectorised.backend._model

    def probabilities(text: str) -> np.ndarray:
        with torch.inference_mode():
            logits = backend.model(
                **backend.tokenizer(text, return_tensors="pt").to(backend.model.device)
            ).logits
        found: np.ndarray = logits.double().softmax(-1)[0].cpu().numpy()
        return found

    def embedding(text: str) -> np.ndarray:
        found: np.ndarray = embedder.encode(
            [text], normalize_embeddings=True, show_progress_bar=False
        )[0]
        return found.astype(np.float64)

    return probabilities, embedding


def ours(models: Opened, tables: Sequence[pd.DataFrame], weights: np.ndarray) -> np.ndarray:
    score = dict(zip(models.own.labels, weights.tolist(), strict=True))
    features = {
        "sentiment": Feature(kind="classifier", model="x", score=score),
        "distance": Feature(kind="distance", metric="cosine"),
    }
    found = extract_features(*tables, features, models)["features"]
    first, second = (found[found["feature"] == name] for name in features)
    return np.stack([first["value"], first["baseline"], second["value"]], axis=1)


def contest(models: Opened, tables: Sequence[pd.DataFrame]) -> dict[str, tuple[float, np.ndarray]]:
    """Seconds and numbers of one turn of each contender."""
    joined = tables[1].merge(tables[0], on="id")
    weights = np.linspace(-1, 1, len(models.own.labels))
    single = one_text(models)
    alone(joined[:20], *single, weights)  # warm-up
    contenders: dict[str, Callable[[], np.ndarray]] = {
        "ours": lambda: ours(models, tables, weights),
        "a pass a text": lambda: alone(joined, *single, weights),
        "a pass a distinct text": lambda: alone(joined, *map(cache, single), weights),
    }
    found = {}
    for contender, run in contenders.items():
        start = time.perf_counter()
        numbers = run()
        found[contender] = (time.perf_counter() - start, numbers)
    return found


def main() -> None:
    import torch

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("classifier", nargs="?", default="minilm-sentiment")
    parser.add_argument("--prompts", type=int, default=PROMPTS)
    parser.add_argument("--configurations", type=int, default=CONFIGURATIONS)
    parser.add_argument("--turns", type=int, default=TURNS)
    arguments = parser.parse_args()
    catalogue = ParamsFile().catalogue
    tables = asked(arguments.prompts, arguments.configurations)
    distinct = len({*tables[0]["baseline"], *tables[1]["generation"]})
    turns, backends = [], None
    for _ in range(arguments.turns):
        with tempfile.TemporaryDirectory() as folder:
            models = Opened(catalogue, Path(folder), arguments.classifier)
            if backends:
                models.own._backend, models.vectorised._backend = backends
            backends = models.own.backend, models.vectorised.backend
            turns.append(contest(models, tables))
            assert models.own.asked == models.vectorised.asked == distinct
    seconds = {contender: min(turn[contender][0] for turn in turns) for contender in turns[0]}
    n = len(tables[1])
    passes = {
        "ours": "in batches",
        "a pass a text": f"{2 * n:,}",
        "a pass a distinct text": f"{distinct:,}",
    }
    device = (
        torch.cuda.get_device_name()
        if torch.cuda.is_available()
        else f"CPU, {torch.get_num_threads()} threads"
    )
    print(
        f"### {arguments.classifier}\n\n{n:,} replies with {arguments.prompts:,} baselines; "
        f"{device}\n"
    )
    print("| | seconds | passes a model | ours is faster by | asked | largest difference |")
    print("| --- | --- | --- | --- | --- | --- |")
    for contender, taken in seconds.items():
        wanted = f"{ASKED}x" if contender == "a pass a text" else ""
        apart = np.abs(turns[0][contender][1] - turns[0]["ours"][1]).max()
        ratio = taken / seconds["ours"]
        print(
            f"| {contender} | {taken:.2f} | {passes[contender]} | {ratio:.2f}x | {wanted} | "
            f"{apart:.1e} |"
        )


if __name__ == "__main__":
    main()

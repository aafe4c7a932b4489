"""What the Ray engine costs.

The same likelihoods by one process and by workers, in turns: one thread against one worker, two
threads against two workers of one thread each. Models are in memory and packs are cut anew in each
turn; what is timed is a call without the store. Needs two idle cores. Few texts are few packs,
which workers cannot share evenly: their number is printed.
"""

import os
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import typer

from studies.ray_nodes import ENVIRONMENT, NODE, start_cluster
from studies.tables import print_head, print_row

MODEL = "smollm2-135m-instruct"
PEOPLE = ("man", "woman", "boy", "girl", "brother")
JOBS = ("nurse", "pilot", "cook", "judge")
TEXT = "In the {}th story, the main character is a {} who works as a {}."


def make_texts(n: int) -> list[str]:
    """Return sentences of which some begin alike, as probes do."""
    return [
        TEXT.format(*words)
        for words in product(
            range(n // 20),
            PEOPLE,
            JOBS,
        )
    ]


def time_call(ask: Callable[[], object]) -> float:
    """Return the seconds that a call takes."""
    began = time.perf_counter()
    ask()
    return time.perf_counter() - began


def load_backend() -> Any:
    """Return what answers for the model, by the engine of the environment."""
    from evenruler.declaration.params import load_params
    from evenruler.models import load
    from evenruler.models.store import RowStore

    store = RowStore(Path(os.environ.get("EVENRULER_CACHE", ".cache")))
    return load(MODEL, load_params(), store=store).backend


def wait_for_workers(address: str) -> None:
    """Return once all workers are ready."""
    import ray

    from evenruler.models.engines import cluster

    members = cluster.join_cluster(address).members(0)
    ray.get([member.actor.__ray_ready__.remote() for member in members])


def print_turns(
    n_threads: int, local: Callable[[], object], remote: Callable[[], object], repeats: int
) -> None:
    """Print medians, and the ratio of the two in each turn."""
    times = [(time_call(local), time_call(remote)) for _ in range(repeats)]
    seconds = np.array(times)
    ratios = seconds[:, 1] / seconds[:, 0]
    numbers = [
        *np.median(seconds, axis=0),
        np.median(ratios),
        ratios.min(),
        ratios.max(),
    ]
    print_row(n_threads, *(f"{number:.2f}" for number in numbers))


def main(repeats: int = 7, texts: int = 1200) -> None:
    """Print a table, of so many turns and texts."""
    os.environ.update(ENVIRONMENT)
    import torch

    from evenruler.models import engines
    from evenruler.models.questions import LikelihoodRequest

    requests = [LikelihoodRequest(text) for text in make_texts(texts)]
    wanted = frozenset(range(len(requests)))

    def ask_all(backend: Any) -> Callable[[], object]:
        return lambda: sum(map(len, backend.loglikelihood(requests, wanted)))

    with start_cluster(1) as nodes:
        model = load_backend()
        os.environ[engines.ENGINE] = f"ray={nodes.address}"
        local, remote = ask_all(model), ask_all(load_backend())
        packs = [len(pack) for pack in model.loglikelihood.packs(requests).indices]
        print(f"{MODEL}, {len(requests)} sentences in packs of {packs}, {repeats} turns")
        print_head("threads, workers", "one process, s", "workers, s", "ratio", "least", "most")
        for n_threads in (1, 2):
            if n_threads == 2:
                nodes.add_node(**NODE)
                nodes.wait_for_nodes()
            torch.set_num_threads(n_threads)
            wait_for_workers(nodes.address)
            local()
            remote()
            wait_for_workers(nodes.address)  # and the model in each: they do one thing at a time
            print_turns(n_threads, local, remote, repeats)


if __name__ == "__main__":
    typer.run(main)

"""What the Ray engine costs: `python -m studies.speed.ray_engine [--repeats N] [--texts N]`.

The same likelihoods by one process and by workers, in turns: one thread against one worker, two
threads against two workers of one thread each. Models are in memory and packs are cut anew in each
turn; what is timed is a call without the store. Needs two idle cores. Few texts are few packs,
which workers cannot share evenly: their number is printed.
"""

import argparse
import os
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from studies.tables import print_head, print_row

ENVIRONMENT = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # or it listens on all addresses
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_worker_niceness": "0",
    "PYTHONPATH": str(Path(__file__).parents[2]),
    "OMP_NUM_THREADS": "1",
}
NODE = {"num_cpus": 1, "node_ip_address": "127.0.0.1"}
MODEL = "smollm2-135m-instruct"


def texts(n: int) -> list[str]:
    """Sentences of which some begin alike, as probes do."""
    people = ("man", "woman", "boy", "girl", "brother")
    jobs = ("nurse", "pilot", "cook", "judge")
    return [
        f"In the {number}th story, the main character is a {who} who works as a {what}."
        for number, who, what in product(range(n // 20), people, jobs)
    ]


def timed(ask: Callable[[], object]) -> float:
    began = time.perf_counter()
    ask()
    return time.perf_counter() - began


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--texts", type=int, default=1200)
    arguments = parser.parse_args()
    os.environ.update(ENVIRONMENT)

    import ray
    import torch
    from ray.cluster_utils import Cluster

    from evenruler.declaration.params import load_params
    from evenruler.models import engines, load
    from evenruler.models.engines import cluster
    from evenruler.models.questions import LikelihoodRequest
    from evenruler.models.store import RowStore

    params = load_params()
    requests = [LikelihoodRequest(text) for text in texts(arguments.texts)]
    wanted = frozenset(range(len(requests)))

    def model() -> Any:
        store = RowStore(Path(os.environ.get("EVENRULER_CACHE", ".cache")))
        return load(MODEL, params, store=store).backend

    def asking(backend: Any) -> Callable[[], object]:
        return lambda: sum(map(len, backend.loglikelihood(requests, wanted)))

    nodes = Cluster(initialize_head=True, head_node_args={**NODE, "include_dashboard": False})
    local_model = model()
    local = asking(local_model)
    os.environ[engines.ENGINE] = f"ray={nodes.address}"
    workers = asking(model())

    def there() -> None:
        members = cluster.join_cluster(nodes.address).members(0)
        ray.get([member.actor.__ray_ready__.remote() for member in members])

    rows = []
    for threads in (1, 2):
        if threads == 2:
            nodes.add_node(**NODE)
            nodes.wait_for_nodes()
        torch.set_num_threads(threads)
        there()
        local(), workers()
        there()  # and the model in each: they do one thing after the other
        times = [(timed(local), timed(workers)) for _ in range(arguments.repeats)]
        seconds = np.array(times)
        ratios = seconds[:, 1] / seconds[:, 0]
        ratio = np.median(ratios), ratios.min(), ratios.max()
        rows.append((threads, *np.median(seconds, 0), *ratio))
    packs = [len(pack) for pack in local_model.loglikelihood.packs(requests).indices]
    print(f"{MODEL}, {len(requests)} sentences in packs of {packs}, {arguments.repeats} turns")
    print_head("threads, workers", "one process, s", "workers, s", "ratio", "least", "most")
    for threads, *numbers in rows:
        print_row(threads, *(f"{number:.2f}" for number in numbers))
    ray.shutdown()
    nodes.shutdown()


if __name__ == "__main__":
    main()

"""Clusters of Ray on this machine, whose nodes have one CPU each."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ENVIRONMENT = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # or it listens on all addresses
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_worker_niceness": "0",
    "PYTHONPATH": str(Path(__file__).parents[1]),
    "OMP_NUM_THREADS": "1",
}
"""Of every process that starts a cluster or asks one."""

NODE = {"num_cpus": 1, "node_ip_address": "127.0.0.1"}


@contextmanager
def start_cluster(n_nodes: int) -> Iterator[Any]:
    """Yield a cluster; `NODE` says what `add_node` takes."""
    import ray
    from ray.cluster_utils import Cluster

    head = {**NODE, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    for _ in range(n_nodes - 1):
        cluster.add_node(**NODE)
    cluster.wait_for_nodes()
    try:
        yield cluster
    finally:
        ray.shutdown()
        cluster.shutdown()

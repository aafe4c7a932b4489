"""Two nodes of a real Ray cluster on this machine."""

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import nullcontext
from itertools import chain, product
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest

from evenruler.models import engines, load
from evenruler.models.backends.batching import Batches, batched
from evenruler.models.engines import cluster
from evenruler.models.engines.cluster import ClusterModel
from evenruler.models.questions import Sampling, WordInPlace
from evenruler.models.store import RowStore
from tests.loopback_openai import talking
from tests.models.conftest import TEXTS
from tests.tiny import save_tiny, save_tiny_masked, tiny_params

ROOT = Path(__file__).parents[3]
PARTS = (
    ("old", "new"),
    ("man", "nurse", "cook"),
    range(20),
    ("old.", "here, and so it goes on."),
)
MANY = ["The {} {} is {} years {}".format(*parts) for parts in product(*PARTS)]


@pytest.fixture(scope="module")
def nodes() -> Iterator[Any]:
    """A head and a node, each with one CPU, on loopback."""
    environment = {
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # or it listens on all addresses
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_worker_niceness": "0",
        "PYTHONPATH": str(ROOT),
        "OMP_NUM_THREADS": "1",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        import ray
        import torch
        from ray.cluster_utils import Cluster

        threads = torch.get_num_threads()
        torch.set_num_threads(1)  # as the workers: more threads may add up in another order
        quick = {
            "health_check_period_ms": 500,
            "health_check_failure_threshold": 2,
            "health_check_initial_delay_ms": 0,
        }
        node_args = {"num_cpus": 1, "node_ip_address": "127.0.0.1"}
        local_cluster = Cluster(
            initialize_head=True,
            head_node_args={**node_args, "include_dashboard": False, "_system_config": quick},
        )
        local_cluster.add_node(**node_args)
        local_cluster.wait_for_nodes()
        patch.setenv(engines.ENGINE, f"ray={local_cluster.address}")
        yield local_cluster
        cluster.join_cluster.cache_clear()
        ray.shutdown()
        local_cluster.shutdown()
        torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("models")
    return {
        "llama": save_tiny(folder / "llama", chat=True),
        "bert": save_tiny_masked(folder / "bert"),
    }


def asked_everything(folders: dict[str, Path], store: RowStore) -> int:
    """How many questions two models had to answer, of every kind."""
    llama = load("llama", tiny_params(folders), store=store)
    bert = load(
        "bert",
        tiny_params({"bert": folders["bert"]}, kind="masked"),
        store=store,
    )
    llama.loglikelihood([*MANY, *TEXTS])
    prompts = [f"{text} He said" for text in MANY[:60]]
    llama.whole_words(prompts, [" yes", " no", " nurse"] * 20)
    llama.next_words(prompts, ["the", "nurse", "a"])
    llama.slor(MANY[:40])
    llama.generate(
        MANY[:80],
        sampling=Sampling(8, temperature=0.7),
        seeds=range(80),
        chat=False,
    )
    bert.in_place(list(map(second_word, MANY)))
    return llama.asked + bert.asked


def second_word(text: str) -> WordInPlace:
    return WordInPlace(text[:4], text[4:7], text[7:])


def stored_answers(store: RowStore) -> dict[bytes, bytes]:
    with sqlite3.connect(store.path) as connection:
        return dict(connection.execute("SELECT key, answer FROM kept"))


@pytest.mark.slow
@pytest.mark.long
def test_two_nodes_say_what_one_process_says_under_the_same_keys(
    nodes, folders, tmp_path, monkeypatch
) -> None:
    elsewhere, here = RowStore(tmp_path / "ray"), RowStore(tmp_path / "local")
    n_asked = asked_everything(folders, elsewhere)
    members = cluster.join_cluster(nodes.address).members(0)
    assert len({member.node for member in members}) == 2

    monkeypatch.setenv(engines.ENGINE, "local")
    assert asked_everything(folders, here) == n_asked > 400
    assert stored_answers(elsewhere) == stored_answers(here)

    monkeypatch.setenv(engines.ENGINE, f"ray={nodes.address}")
    assert asked_everything(folders, elsewhere) == 0


class Where:
    """A double of a backend: a question is the seconds that its pack takes, the answer the node
    that it was on."""

    def __init__(self) -> None:
        self._calls = 0

    @batched
    def generate(self, seconds: Any) -> Batches[str]:
        import ray

        def answer(pack: Any) -> list[tuple[int, str]]:
            time.sleep(seconds[pack[0]])
            return [(index, ray.get_runtime_context().get_node_id()) for index in pack]

        self._calls += 1
        evens = range(0, len(seconds), 2)
        return Batches([[even, even + 1] for even in evens], answer)

    @batched
    def calls(self, questions: Any) -> Batches[int]:
        """How many others were taken up here."""
        return Batches([[0]], lambda _: [(0, self._calls)])


@pytest.mark.slow
@pytest.mark.long
def test_nodes_come_and_go(nodes) -> None:
    """A late one takes up no call that is over, has its share of a short one, and loses nothing
    when it goes."""
    import ray

    joined = cluster.join_cluster(nodes.address)
    pool = ClusterModel(joined, 0, "where", "where", Where)

    def answered(n: int, wanted: Any, seconds: float = 0.02) -> Iterator[list[tuple[int, str]]]:
        return pool.generate([seconds] * n, frozenset(wanted))

    ray.get([member.actor.__ray_ready__.remote() for member in joined.members(0)])
    third = nodes.add_node(num_cpus=1, node_ip_address="127.0.0.1")
    nodes.wait_for_nodes()
    for _ in range(3):
        assert len(list(answered(4, range(4)))) == 2  # over before it can start
    members = {member.node: member.actor for member in joined.members(0)}
    late = members[third.node_id]
    ray.get(late.begin.remote("where", Where, -2, "calls", ["how many"]))
    taken_up = ray.get(late.answer.remote(-2, [0]))
    assert taken_up == [(0, 0)]

    rows = chain.from_iterable(answered(6, range(6), 1))
    assert {node for _, node in rows} == set(members)

    n, answers, there = 400, [], True
    for batch in answered(n, range(0, n, 2)):
        answers += batch
        if there and batch[0][1] == third.node_id:
            nodes.remove_node(third, allow_graceful=False)
            there = False

    assert not there
    assert sorted(index for index, _ in answers) == list(range(n))
    assert {node for _, node in answers} == set(members)
    assert len(nodes.list_all_nodes()) == 2


class Dying:
    """A double of a backend whose process is gone with the second pack, as where memory ends."""

    @batched
    def generate(self, words: Any) -> Batches[str]:
        def answer(pack: Any) -> list[tuple[int, str]]:
            if 1 in pack:
                os._exit(1)
            return [(index, words[index]) for index in pack]

        return Batches([[index] for index in range(len(words))], answer)


def no_model() -> Any:
    from evenruler.errors import UserError

    raise UserError("no such weights", where="the folder", remedy="fetch them")


@pytest.mark.slow
@pytest.mark.long
def test_what_is_given_up_in_one_line(nodes, user_error) -> None:
    """What a worker says is wrong, and what loses worker after worker."""
    joined = cluster.join_cluster(nodes.address)
    pool = ClusterModel(joined, 0, "none", "none", no_model)
    with user_error("the folder", "no such weights", "fetch them"):
        list(pool.generate(["a"], frozenset([0])))
    pool = ClusterModel(joined, 0, "dying", "dying", Dying)
    with user_error("dying", "3 workers were lost", "run again"):
        list(pool.generate(["a", "b", "c", "d"], frozenset(range(4))))


@pytest.mark.parametrize("there", [True, False])
def test_busy_workers_are_waited_for_and_absent_ones_only_so_long(
    there, user_error, monkeypatch
) -> None:
    """A double of a cluster in which nothing is ever ready."""
    monkeypatch.setattr(cluster, "LOOK", 0)
    begin = SimpleNamespace(remote=lambda *_: "begun")
    members = [cluster.WorkerHandle(SimpleNamespace(begin=begin), "node", "place")] if there else []
    ray = SimpleNamespace(
        put=lambda questions: questions, wait=lambda references, timeout: ([], references)
    )
    joined = SimpleNamespace(ray=ray, members=lambda gpus: members)
    call = cluster.Call(ClusterModel(joined, 0, "tiny", "tiny", no_model), "generate", ["a"])
    call._join()
    for _ in range(cluster.PATIENCE - 1):
        assert call._wait() == []
    with (
        nullcontext()
        if there
        else user_error("tiny", "no node of the cluster is left", "run again")
    ):
        assert call._wait() == []


@pytest.mark.parametrize(
    ("resources", "gpus", "places"),
    [
        ({"CPU": 8.0}, 0, 1),
        ({"CPU": 8.0, "GPU": 3.0}, 0.1, 30),
        ({"GPU": 1.0}, 2, 0),
    ],
)
def test_how_many_workers_a_node_has_place_for(resources, gpus, places) -> None:
    assert cluster._worker_capacity({"Resources": resources}, gpus) == places


@pytest.mark.parametrize(
    ("address", "reason"),
    [("127.0.0.1:1", "refused"), ("head", "HOST:PORT")],
)
def test_an_address_of_no_cluster_is_one_line(address, reason, user_error) -> None:
    with user_error(f"ray={address}", "cannot be joined", reason, "check the address"):
        cluster.Cluster(address)


def test_what_listens_and_is_no_head_is_one_line(user_error) -> None:
    """As the dashboard of a cluster; Ray itself waits for more than ten minutes."""
    with talking(lambda line: line.sendall(b"HTTP/1.0 505 Invalid HTTP version (2.0)")) as url:
        address = urlsplit(url).netloc
        with user_error(f"ray={address}", "no head of a cluster"):
            cluster.Cluster(address)


def test_what_greets_as_a_head_may_be_one() -> None:
    with talking(lambda line: line.sendall(cluster.SETTINGS)) as url:
        cluster._require_head(urlsplit(url).netloc)


def test_a_cluster_of_another_ray_is_one_line_with_both_versions(user_error, monkeypatch) -> None:
    import ray

    def init(**_: object) -> None:
        says = (
            "Version mismatch: The cluster was started with:\n    Ray: 2.1.0\nThis process "
            "with:\n    Ray: 2.60.0\n"
        )
        raise RuntimeError(says)

    monkeypatch.setattr(ray, "init", init)
    with user_error(
        "Version mismatch", "with: Ray: 2.1.0 This process with: Ray: 2.60.0", "install its Ray"
    ):
        cluster.Cluster("auto")

"""A Ray cluster: its nodes, this process's workers on them, the code that runs in a worker, and
calls of a model there.

This process alone holds a model's lease, writes the cache, hands out packs (batches of questions)
and collects answers. The packs of a lost worker go to another. A pack may thus be computed twice,
which is safe: its answers depend only on its content.
"""

import os
import socket
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import count
from types import ModuleType
from typing import Any, Final

from evenruler.errors import UserError
from evenruler.models.backends.batching import Batches
from evenruler.models.engines.environment import ComputeEnvironment, current_environment
from evenruler.terminal import print_note

JOINING = 12  # seconds for the head to answer

SETTINGS = b"\0\0\0\4\0\0\0\0\0"
HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + SETTINGS
"""Client preface of HTTP/2, which a Ray head speaks: it must answer with a SETTINGS frame (RFC
9113, section 3.4)."""

LOOPBACK = "127.0.0.1"

HERE: Final = "local"
"""Ray's name for a cluster that it starts on this machine, for this process."""

RAY_NAMES: Final = (HERE, "auto")
"""Names that Ray takes for an address; `auto` is the cluster of this machine."""


class Worker:
    """A worker process on a node: loads each model once and answers packs."""

    def __init__(self, threads: int, expected: ComputeEnvironment, node: str) -> None:
        """Prepare; answers are cached under the `expected` surroundings; `node` is named in
        errors.
        """
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # as in stages (`stages/running.py`)
        import torch

        torch.set_num_threads(min(threads, torch.get_num_threads()))
        self._expected, self._node = expected, node
        self._models: dict[str, Any] = {}
        self._call, self._packs = -1, Batches[Any]([], lambda _: [])

    def begin(
        self,
        model: str,
        load: Callable[[], object],
        call: int,
        operation: str,
        questions: Sequence[Any],
    ) -> list[list[int]]:
        """Start a call: load its model unless it is loaded, and divide its questions into packs of
        indices.

        `model`: identifies the model. UserError if this node's surroundings differ from those in
        the cache key.
        """
        node_environment = current_environment(self._expected.device)
        if node_environment != self._expected:
            expected_differences, node_differences = (
                self._expected.other_than(node_environment),
                node_environment.other_than(self._expected),
            )
            what = (
                f"answers are kept under {expected_differences}, and a worker has "
                f"{node_differences}"
            )
            raise UserError(
                what,
                where=f"node {self._node}",
                remedy="install the same there; take nodes of one kind",
            )
        if model not in self._models:
            self._models[model] = load()
        self._packs = getattr(self._models[model], operation).packs(questions)
        self._call = call
        return [list(pack) for pack in self._packs.indices]

    def answer(self, call: int, pack: Sequence[int]) -> list[tuple[int, Any]]:
        """(Index, answer) for every question of a pack of the current call."""
        assert call == self._call
        return self._packs.answer(pack)


@dataclass(frozen=True, eq=False)
class WorkerHandle:
    """A worker as seen from this process."""

    actor: Any
    node: str  # Ray's id of its node
    place: str  # the node's name, for errors


class Cluster:
    """The nodes, and this process's workers on them."""

    def __init__(self, address: str | None) -> None:
        """Join a cluster; UserError if Ray is not installed or the cluster cannot be joined.

        `address`: `HOST:PORT` of its head; else that in `RAY_ADDRESS`; else a cluster is started
        here for this process.
        """
        ray = _import_ray()
        cluster_address = address or os.environ.get("RAY_ADDRESS") or HERE
        settings: dict[str, Any] = {"logging_level": "error", "log_to_driver": False}
        if cluster_address == HERE:
            settings |= {"include_dashboard": False, "_node_ip_address": LOOPBACK}
        try:
            if cluster_address not in RAY_NAMES:
                _require_head(cluster_address)
            ray.init(address=cluster_address, **settings)
        except (ConnectionError, RuntimeError, ValueError, OSError) as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            what = f"the cluster cannot be joined ({reason[:250]})"
            remedy = (
                "check the address, start it, or install its Ray and Python here: docs/scale.md"
            )
            raise UserError(what, where=f"ray={cluster_address}", remedy=remedy) from None
        self.ray = ray  # imported for this engine only
        self._members: list[WorkerHandle] = []
        self._gpus: float | None = None
        print_note(f"ray: {len(self.nodes())} nodes, {self.gpus()} GPUs")

    def nodes(self) -> list[dict[str, Any]]:
        """The nodes that are alive, as Ray describes them."""
        return [node for node in self.ray.nodes() if node["Alive"]]

    def gpus(self) -> int:
        """Number of GPUs of all nodes."""
        return int(self.ray.cluster_resources().get("GPU", 0))

    def gpus_of_a_copy(self, wanted: float, device: str | None) -> float:
        """GPU share of a copy of a model, 0 on CPUs; UserError if a GPU is required and there is
        none.
        """
        there = self.gpus() > 0
        if device == "cuda" and not there:
            raise UserError(
                "no GPU in the cluster", where="device", remedy="name cpu, or add nodes with GPUs"
            )
        return wanted if there and device != "cpu" else 0

    def surroundings(self, gpus: float) -> ComputeEnvironment:
        """Surroundings of workers: on CPUs those of this process, on GPUs those of the first node
        with one free.
        """
        return self._gpu_environment() if gpus else current_environment("cpu")

    @cache  # noqa: B019  # there is one cluster per process
    def _gpu_environment(self) -> ComputeEnvironment:
        """Surroundings on the first node with a free GPU, asked for once."""
        environment: ComputeEnvironment = self.ray.get(
            self.ray.remote(num_gpus=0.01, num_cpus=0)(current_environment).remote("cuda")
        )
        return environment

    def members(self, gpus: float) -> list[WorkerHandle]:
        """The workers, one per place, missing ones started; if the GPU share changed, the previous
        ones end first.
        """
        if gpus != self._gpus:
            for member in self._members:
                self.ray.kill(member.actor)
            self._members, self._gpus = [], gpus
        there = Counter(member.node for member in self._members)
        for node in self.nodes():
            for _ in range(_worker_capacity(node, gpus) - there[node["NodeID"]]):
                self._members.append(self._started(node, gpus))
        return list(self._members)

    def _started(self, node: dict[str, Any], gpus: float) -> WorkerHandle:
        """Start a worker on a node; it may have to wait for resources."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        node_cpus = int(node["Resources"].get("CPU", 1))
        cpus = max(1, node_cpus // _worker_capacity(node, gpus))
        on = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
        options = {"num_cpus": cpus, "num_gpus": gpus, "scheduling_strategy": on}
        actor = (
            self.ray.remote(Worker)
            .options(**options)
            .remote(cpus, self.surroundings(gpus), node["NodeName"])
        )
        return WorkerHandle(actor, node["NodeID"], node["NodeName"])

    def lose(self, member: WorkerHandle) -> None:
        """Forget a lost worker."""
        if member in self._members:
            self._members.remove(member)


@cache
def join_cluster(address: str | None) -> Cluster:
    """The cluster that this process has joined, joined on first use."""
    return Cluster(address)


def _worker_capacity(node: dict[str, Any], gpus: float) -> int:
    """Number of workers on a node: as many as fit on its GPUs; without GPUs one, with all CPUs."""
    resources = node["Resources"]
    if gpus:
        return int(resources.get("GPU", 0) / gpus + 1e-9)
    return int(resources.get("CPU", 0) >= 1)


def _require_head(address: str) -> None:
    """ValueError or OSError if no head of a cluster listens at an address: without one, Ray waits
    for minutes or gives another error.
    """
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        raise ValueError("it is not of the form HOST:PORT")
    with socket.create_connection((host, int(port)), timeout=JOINING) as connection:
        if os.environ.get("RAY_USE_TLS", "0") != "0":
            return
        connection.sendall(HELLO)
        greeting = connection.recv(len(SETTINGS))
        if greeting[3:4] != SETTINGS[3:4]:
            raise ConnectionError("what listens there is no head of a cluster")


def _import_ray() -> ModuleType:
    """The module `ray`, with its usage reports off by default; UserError if it is not installed."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # read at import
    try:
        import ray
    except ImportError:
        remedy = "pip install 'evenruler[ray]'"
        raise UserError("Ray is not installed", where="engine ray", remedy=remedy) from None
    return ray


AT_A_TIME = 2  # most packs per worker: the current one and the next, to avoid waiting
LOOK = 5.0  # seconds to wait for an answer before looking for new nodes
PATIENCE = 12  # looks without any worker, or node to start one on, before giving up
LOSSES = 3  # workers that a pack may lose before it is considered the cause

OPERATIONS: Final = frozenset(
    (
        "loglikelihood",
        "words",
        "next_words",
        "generate",
        "in_place",
        "pll",
        "entail",
        "classify",
        "classify_whole",
        "embed",
        "unigram_nats",
        "fingerprint",
    )
)
"""Backend operations that are answered in packs (`backends/batching.py`)."""

Pack = tuple[int, ...]  # indices of questions that are answered together
_AnswerPacks = Iterator[list[tuple[int, Any]]]
_calls = count()
BEGINS: Pack = ()
"""In place of a pack: a worker begins the call, and divides the questions into packs."""


class Call:
    """One call to a model: questions distributed over the workers."""

    def __init__(self, model: "ClusterModel", operation: str, questions: Sequence[Any]) -> None:
        """Set up a call to an operation of the backend; nothing is asked yet."""
        self._model, self._ray, self._number = model, model.cluster.ray, next(_calls)
        shared_questions = self._ray.put(list(questions))
        self._begin = (model.told_apart, model.load, self._number, operation, shared_questions)
        self._members: list[WorkerHandle] = []  # workers that were sent the call
        self._jobs: dict[Any, tuple[WorkerHandle, Pack]] = {}  # by Ray reference of what returns
        self._todo: deque[Pack] | None = None  # packs to do, once a worker has begun
        self._losses: Counter[Pack | str] = Counter()  # by pack; by node of workers that begin
        self._looks = self._looks_in_vain = 0

    def answers(self, wanted: frozenset[int]) -> _AnswerPacks:
        """Yield (index, answer) pairs of each pack that contains a wanted question, as packs
        complete.

        UserError if the same packs lose workers repeatedly, no node is left, or a worker raises
        one.
        """
        try:
            self._join()
            while self._todo is None or self._todo or self._has_packs_out():
                for reference in self._wait():
                    yield from self._take(reference, wanted)
                self._hand_out()
        finally:
            # A late worker would otherwise go through all calls that it missed.
            for reference in self._jobs:
                self._ray.cancel(reference)

    def _has_packs_out(self) -> bool:
        """Whether a worker still computes a pack of this call."""
        return any(pack for _, pack in self._jobs.values())

    def _join(self) -> None:
        """Send the call to workers that do not have it."""
        for member in self._model.cluster.members(self._model.gpus):
            if member not in self._members:
                self._members.append(member)
                self._jobs[member.actor.begin.remote(*self._begin)] = (member, BEGINS)

    def _wait(self) -> list[Any]:
        """What a worker returned next; nothing after LOOK seconds, when nodes are looked for that
        came or went.
        """
        ready: list[Any] = []
        if self._jobs:
            ready, _ = self._ray.wait(list(self._jobs), timeout=LOOK)
        else:
            time.sleep(LOOK)
        if ready:
            return ready
        name = self._model.name
        self._looks += 1
        if self._looks == 1 and self._members and not self._has_packs_out():
            why = "others use the cluster, or they are starting"
            print_note(f"{name}: waiting for workers; {why}")
        self._join()
        self._looks_in_vain = 0 if self._members else self._looks_in_vain + 1
        if self._looks_in_vain == PATIENCE:
            remedy = "see `ray status`; what was answered is kept, run again to go on"
            raise UserError("no node of the cluster is left", where=name, remedy=remedy)
        return []

    def _take(self, reference: object, wanted: frozenset[int]) -> _AnswerPacks:
        """The answers behind a reference, if it is of a pack whose worker was not lost."""
        member, pack = self._jobs.pop(reference)
        try:
            value = self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from None
        except self._ray.exceptions.RayError:
            self._lose(member, pack)
            return
        if pack:
            yield list(value)
        elif self._todo is None:
            packs = map(tuple, value)
            self._todo = deque(pack for pack in packs if not wanted.isdisjoint(pack))

    def _hand_out(self) -> None:
        """Send packs to workers that have begun: more than one each while enough are left for all,
        since the first to begin a short call would otherwise get all of it.
        """
        n_jobs = Counter(member for member, _ in self._jobs.values())
        beginning = [member for member, pack in self._jobs.values() if not pack]
        for member in self._members:
            while self._todo and member not in beginning:
                most = AT_A_TIME if len(self._todo) > len(self._members) else 1
                if n_jobs[member] >= most:
                    break
                pack = self._todo.popleft()
                self._jobs[member.actor.answer.remote(self._number, pack)] = (member, pack)
                n_jobs[member] += 1

    def _lose(self, member: WorkerHandle, pack: Pack) -> None:
        """Take back a pack of a lost worker, and find another worker."""
        name = self._model.name
        if member in self._members:
            self._members.remove(member)
            self._model.cluster.lose(member)
            print_note(f"{name}: a worker on {member.place} is gone; another does its work")
        self._losses[pack or member.node] += 1
        if self._losses[pack or member.node] == LOSSES:
            lost_with = "the same pack" if pack else f"this model on {member.place}"
            remedy = "see whether memory is enough; what was answered is kept, run again to go on"
            what = f"{LOSSES} workers were lost with {lost_with}"
            raise UserError(what, where=name, remedy=remedy)
        if pack and self._todo is not None:
            self._todo.appendleft(pack)
        self._join()


@dataclass(frozen=True)
class ClusterModel:
    """A model on a cluster's workers, which load it on first use; offers the operations of a
    backend.
    """

    cluster: Cluster
    gpus: float  # GPUs per copy of the model
    name: str
    told_apart: str  # identifies the model on workers
    load: Callable[[], object]  # creates its backend; sent to the workers

    def __getattr__(
        self, operation: str
    ) -> Callable[[Sequence[Any], frozenset[int]], _AnswerPacks]:
        """A backend operation that is answered in packs."""
        if operation not in OPERATIONS:
            raise AttributeError(f"no operation {operation!r} is answered in packs")
        return lambda questions, wanted: Call(self, operation, questions).answers(wanted)

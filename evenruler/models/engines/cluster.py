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
from typing import TYPE_CHECKING, Any, Final

from evenruler.errors import UserError
from evenruler.models.backends.batching import Batches
from evenruler.models.engines.environment import ComputeEnvironment, current_environment
from evenruler.terminal import print_note

if TYPE_CHECKING:
    from ray import ObjectRef

JOINING = 12  # seconds for the head to answer

SETTINGS = b"\0\0\0\4\0\0\0\0\0"
HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + SETTINGS
"""Client preface of HTTP/2, which a Ray head speaks: it must answer with a SETTINGS frame (RFC
9113, section 3.4)."""

LOOPBACK = "127.0.0.1"


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
        cluster_address = address or os.environ.get("RAY_ADDRESS")
        logging_settings = {"logging_level": "error", "log_to_driver": False}
        try:
            if cluster_address:
                # "auto" is Ray's name for the cluster of this machine.
                if cluster_address != "auto":
                    # Check the head first: without one, Ray itself waits for minutes or gives
                    # another error.
                    host, _, port = cluster_address.rpartition(":")
                    if not host or not port.isdigit():
                        raise ValueError("it is not of the form HOST:PORT")
                    with socket.create_connection((host, int(port)), timeout=JOINING) as connection:
                        if os.environ.get("RAY_USE_TLS", "0") == "0":
                            connection.sendall(HELLO)
                            greeting = connection.recv(len(SETTINGS))
                            if greeting[3:4] != SETTINGS[3:4]:
                                raise ConnectionError("what listens there is no head of a cluster")
                ray.init(address=cluster_address, **logging_settings)
            else:
                ray.init(
                    address="local",
                    include_dashboard=False,
                    _node_ip_address=LOOPBACK,
                    **logging_settings,
                )
        except (ConnectionError, RuntimeError, ValueError, OSError) as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            what = f"the cluster cannot be joined ({reason[:250]})"
            where = f"ray={cluster_address}" if cluster_address else "ray"
            remedy = (
                "check the address, start it, or install its Ray and Python here: docs/scale.md"
            )
            raise UserError(what, where=where, remedy=remedy) from None
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
        return self._of_gpus() if gpus else current_environment("cpu")

    @cache  # noqa: B019  # there is one cluster per process
    def _of_gpus(self) -> ComputeEnvironment:
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


def _import_ray() -> ModuleType:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # read at import
    try:
        import ray
    except ImportError:
        remedy = "pip install 'evenruler[ray]'"
        raise UserError("Ray is not installed", where="engine ray", remedy=remedy) from None
    return ray


AT_A_TIME = 3  # most packs per worker: the current one and those queued to avoid waiting
LOOK = 5.0  # seconds to wait for an answer before looking for new nodes
PATIENCE = 12  # looks without any worker, or node to start one on, before giving up
LOSSES = 3  # workers that a pack may lose before it is considered the cause

OPERATIONS: Final = frozenset(
    (
        "loglikelihood",
        "words",
        "generate",
        "in_place",
        "entail",
        "classify",
        "classify_whole",
        "embed",
        "unigram_nats",
        "fingerprint",
    )
)
"""Backend operations that are answered in packs (`backends/packs.py`)."""

Pack = tuple[int, ...]  # indices of questions that are answered together
_AnswerPacks = Iterator[list[tuple[int, Any]]]
_calls = count()


class Call:
    """One call to a model: questions distributed over the workers."""

    def __init__(self, model: "ClusterModel", operation: str, questions: Sequence[Any]) -> None:
        """Set up a call to an operation of the backend; nothing is asked yet."""
        self._ray, self._cluster, self._model = model.cluster.ray, model.cluster, model
        self._number = next(_calls)
        self._call_arguments = (
            model.told_apart,
            model.load,
            self._number,
            operation,
            self._ray.put(list(questions)),
        )
        self._members: list[WorkerHandle] = []  # workers that were sent the call
        self._beginning: dict[
            ObjectRef[Any], WorkerHandle
        ] = {}  # workers that have not started the call yet, by Ray reference
        self._out: dict[
            ObjectRef[Any], tuple[WorkerHandle, Pack]
        ] = {}  # packs in progress, by Ray reference of the answers
        self._todo: deque[Pack] | None = (
            None  # packs to do; None until a worker has divided the questions into packs
        )
        self._losses: Counter[Pack | str] = (
            Counter()
        )  # by pack; by node for workers lost before they started the call
        self._looks = self._looks_in_vain = 0

    def answers(self, wanted: frozenset[int]) -> _AnswerPacks:
        """Yield (index, answer) pairs of each pack that contains a wanted question, as packs
        complete.

        UserError if the same packs lose workers repeatedly, no node is left, or a worker raises
        one.
        """
        try:
            self._join()
            while self._todo is None or self._todo or self._out:
                for reference in self._ready():
                    answer_pairs = self._taken(reference, wanted)
                    if answer_pairs:
                        yield answer_pairs
                self._hand_out()
        finally:
            # Cancel what is pending: a late worker would otherwise go through all calls that it
            # missed.
            for reference in [*self._beginning, *self._out]:
                self._ray.cancel(reference)

    def _join(self) -> None:
        for member in self._cluster.members(self._model.gpus):
            if member not in self._members:
                self._members.append(member)
                self._beginning[member.actor.begin.remote(*self._call_arguments)] = member

    def _ready(self) -> "list[ObjectRef[Any]]":
        """References that are ready, waiting up to LOOK seconds; if none is, look for nodes that
        came or went.
        """
        ready: list[ObjectRef[Any]] = []
        waited_for = [*self._out, *self._beginning]
        if waited_for:
            ready, _ = self._ray.wait(waited_for, timeout=LOOK)
        else:
            time.sleep(LOOK)
        if not ready:
            if not self._looks and not self._out and self._members:
                print_note(
                    f"{self._model.name}: waiting for workers; others use the cluster, or they are "
                    "starting"
                )
            self._looks += 1
            self._join()
            self._looks_in_vain = 0 if self._members else self._looks_in_vain + 1
            if self._looks_in_vain == PATIENCE:
                remedy = "see `ray status`; what was answered is kept, run again to go on"
                raise UserError(
                    "no node of the cluster is left", where=self._model.name, remedy=remedy
                )
        return list(ready)

    def _taken(self, reference: "ObjectRef[Any]", wanted: frozenset[int]) -> list[tuple[int, Any]]:
        """The answers behind a reference; empty if a worker has only started the call, or is
        lost.
        """
        begins = reference in self._beginning
        if not begins and reference not in self._out:
            return []  # of a worker that was already lost
        member = self._beginning[reference] if begins else self._out[reference][0]
        try:
            value = self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from None
        except self._ray.exceptions.RayError:
            self._lose(member)
            return []
        if not begins:
            del self._out[reference]
            return list(value)
        del self._beginning[reference]
        if self._todo is None:
            self._todo = deque(tuple(pack) for pack in value if not wanted.isdisjoint(pack))
        return []

    def _hand_out(self) -> None:
        """Distribute packs to workers in turn; queue more than one per worker only while enough
        packs are left for all.

        Otherwise the first worker to start a short call would get all of it.
        """
        busy = Counter(id(member) for member, _ in self._out.values())
        begun = [member for member in self._members if member not in self._beginning.values()]
        for most in range(1, AT_A_TIME + 1):
            for member in begun:
                if (
                    self._todo
                    and busy[id(member)] < most
                    and (most == 1 or len(self._todo) > len(self._members))
                ):
                    pack = self._todo.popleft()
                    self._out[member.actor.answer.remote(self._number, pack)] = (member, pack)
                    busy[id(member)] += 1

    def _lose(self, member: WorkerHandle) -> None:
        """Reassign the packs of a lost worker."""
        self._cluster.lose(member)
        self._members.remove(member)
        packs = [pack for worker, pack in self._out.values() if worker is member]
        self._out = {
            reference: worker_and_pack
            for reference, worker_and_pack in self._out.items()
            if worker_and_pack[0] is not member
        }
        self._beginning = {
            reference: worker
            for reference, worker in self._beginning.items()
            if worker is not member
        }
        print_note(
            f"{self._model.name}: a worker on {member.place} is gone; what it was at goes to "
            "another"
        )
        lost_with: list[Pack | str] = [*packs] or [member.node]
        self._losses.update(lost_with)
        if max(self._losses[what] for what in lost_with) >= LOSSES:
            what = f"the same {len(packs)} packs" if packs else f"this model on {member.place}"
            remedy = (
                "see whether their memory is enough; what was answered is kept, run again to go on"
            )
            raise UserError(
                f"{LOSSES} workers were lost with {what}", where=self._model.name, remedy=remedy
            )
        if packs:
            assert self._todo is not None
            self._todo.extendleft(packs)
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

"""A Ray cluster: workers that each load a model once, and packs that go out to them.

One process, which holds the lease of a model and writes the cache, hands packs out and takes answers in. Nothing is
shared but the models. What a lost worker was at goes to another; a pack may then be computed twice, which is harmless,
since its content alone determines its answers.
"""

import os
import socket
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import count
from typing import Any

from evenruler.errors import UserError
from evenruler.models.engines.described import Surroundings, surroundings
from evenruler.models.engines.worker import Worker
from evenruler.progress import note

AT_A_TIME = 3
"""Packs that a worker has at most: the one it is at, and what it takes up without waiting for us."""

LOOK = 5.0
"""Seconds between looks for new nodes while no answer comes."""

PATIENCE = 12
"""Looks without any worker, nor a node that one could start on, after which we stop."""

LOSSES = 3
"""Workers that may be lost with a pack before the pack is taken for the reason."""

LOOPBACK = "127.0.0.1"

Pack = tuple[int, ...]
"""Indices of questions that are answered together."""

_calls = count()


@dataclass(frozen=True, eq=False)
class Member:
    """A worker."""

    actor: Any
    node: str
    """Ray's id of its node."""
    place: str
    """The node's name, for errors."""


class Cluster:
    """The nodes, and the workers of this process on them."""

    def __init__(self, address: str | None) -> None:
        """Join a cluster.

        Args:
            address: `HOST:PORT` of its head; by default that in `RAY_ADDRESS`. Where there is neither, one is started
                on this machine, for this process.

        Raises:
            UserError: Ray is not installed, or the cluster cannot be joined.
        """
        ray = _ray()
        given = address or os.environ.get("RAY_ADDRESS")
        said = {"logging_level": "error", "log_to_driver": False}
        try:
            if given:
                _require_listening(given)
                ray.init(address=given, **said)
            else:
                ray.init(address="local", include_dashboard=False, _node_ip_address=LOOPBACK, **said)
        except (ConnectionError, RuntimeError, ValueError, OSError) as error:
            reason = (str(error) or type(error).__name__).split("\n")[0]
            what, where = f"the cluster cannot be joined ({reason})", f"ray={given}" if given else "ray"
            raise UserError(what, where=where, remedy="mend the address, or start it: docs/scale.md") from None
        self._ray = ray
        self._members: list[Member] = []
        self._gpus: float | None = None
        note(f"ray: {len(self.nodes())} nodes, {self.gpus()} GPUs")

    def nodes(self) -> list[dict[str, Any]]:
        """The nodes that are alive, as Ray tells of them."""
        return [node for node in self._ray.nodes() if node["Alive"]]

    def gpus(self) -> int:
        """The GPUs of all nodes."""
        return int(self._ray.cluster_resources().get("GPU", 0))

    def gpus_of_a_copy(self, wanted: float, device: str | None) -> float:
        """How much of a GPU one copy of a model takes here.

        Args:
            wanted: By its declaration.
            device: `cpu` or `cuda`, where it is given; GPUs, where there are any, by default.

        Raises:
            UserError: There is no GPU.
        """
        there = self.gpus() > 0
        if device == "cuda" and not there:
            raise UserError("no GPU in the cluster", where="device", remedy="name cpu, or add nodes with GPUs")
        return wanted if there and device != "cpu" else 0

    def surroundings(self, gpus: float) -> Surroundings:
        """What computes there: on a CPU as here, on a GPU as the first node says that has one free."""
        return self._of_gpus() if gpus else surroundings("cpu")

    @cache  # noqa: B019  # there is one cluster a process
    def _of_gpus(self) -> Surroundings:
        found: Surroundings = self._ray.get(self._ray.remote(num_gpus=0.01, num_cpus=0)(surroundings).remote("cuda"))
        return found

    def members(self, gpus: float) -> list[Member]:
        """The workers, after one was started in every place that has none.

        Args:
            gpus: That each takes. Where the last ones took another share, they end first.
        """
        if gpus != self._gpus:
            for member in self._members:
                self._ray.kill(member.actor)
            self._members, self._gpus = [], gpus
        there = Counter(member.node for member in self._members)
        for node in self.nodes():
            for _ in range(_places(node, gpus) - there[node["NodeID"]]):
                self._members.append(self._started(node, gpus))
        return list(self._members)

    def _started(self, node: dict[str, Any], gpus: float) -> Member:
        """A new worker on a node; it may have to wait until what it needs is free there."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        cpus = max(1, int(node["Resources"].get("CPU", 1)) // _places(node, gpus))
        options = {
            "num_cpus": cpus,
            "num_gpus": gpus,
            "scheduling_strategy": NodeAffinitySchedulingStrategy(node["NodeID"], soft=False),
        }
        actor = self._ray.remote(Worker).options(**options).remote(cpus, self.surroundings(gpus), node["NodeName"])
        return Member(actor, node["NodeID"], node["NodeName"])

    def lose(self, member: Member) -> None:
        """Forget a worker that is gone."""
        if member in self._members:
            self._members.remove(member)


class Pool:
    """A model on the workers of a cluster; it has the operations of a backend."""

    def __init__(self, cluster: Cluster, gpus: float, name: str, told_apart: str, load: Callable[[], Any]) -> None:
        """Name the model; workers load it when they are first asked.

        Args:
            cluster: Whose workers.
            gpus: That a copy takes.
            name: Of the model, for errors.
            told_apart: All that tells it apart.
            load: Makes its backend; sent to the workers.
        """
        self.gpus, self.name, self.model = gpus, name, (told_apart, load)
        self._ray, self._cluster = _ray(), cluster

    def __getattr__(self, operation: str) -> Callable[[Sequence[Any], frozenset[int]], Iterator[list[tuple[int, Any]]]]:
        """An operation of the backend that is answered in packs."""
        if operation.startswith("_"):
            raise AttributeError(operation)
        return lambda questions, wanted: _Call(self._cluster, self, operation, questions).answers(wanted)

    def unigram_nats(self, texts: Sequence[str]) -> Any:
        """As of the backend: by one worker, since all texts belong together."""
        for _ in range(LOSSES):
            members = {member.actor.ready.remote(): member for member in self._cluster.members(self.gpus)}
            if not members:
                raise self.alone()
            (first, *_), _ = self._ray.wait(list(members))
            member = members[first]
            try:
                return self._ray.get(member.actor.tell.remote(*self.model, "unigram_nats", list(texts)))
            except self._ray.exceptions.RayTaskError as error:
                raise error.cause from None
            except self._ray.exceptions.RayError:
                self._cluster.lose(member)
        raise self.lost("its texts")

    def alone(self) -> UserError:
        """Said where no node is left that a worker could be on."""
        remedy = "see `ray status`; what was answered is kept, run again to go on"
        return UserError("no node of the cluster is left", where=self.name, remedy=remedy)

    def lost(self, what: str) -> UserError:
        """Said of what workers were lost with again and again."""
        remedy = "see whether their memory is enough; what was answered is kept, run again to go on"
        return UserError(f"{LOSSES} workers were lost with {what}", where=self.name, remedy=remedy)


class _Call:
    """Questions to a model, on their way through the workers."""

    def __init__(self, cluster: Cluster, pool: "Pool", operation: str, questions: Sequence[Any]) -> None:
        self._ray, self._cluster, self._pool = _ray(), cluster, pool
        self._given = (*pool.model, next(_calls), operation, self._ray.put(list(questions)))
        self._number = self._given[2]
        self._members: list[Member] = []
        """Those that have the call."""
        self._beginning: dict[Any, Member] = {}
        """Those that take it up, by the reference of that."""
        self._out: dict[Any, tuple[Member, Pack]] = {}
        """Packs that workers are at, by the reference of the answer."""
        self._todo: deque[Pack] | None = None
        """Packs that nobody is at; None until a worker has cut the questions."""
        self._losses: Counter[Pack | str] = Counter()
        """By pack; by node, of workers that were lost before they had taken up the call."""
        self._looks = self._looks_in_vain = 0

    def answers(self, wanted: frozenset[int]) -> Iterator[list[tuple[int, Any]]]:
        """(Index, answer) of every question of each pack that holds a wanted one, as they come."""
        self._join()
        while self._todo is None or self._todo or self._out:
            for reference in self._ready():
                found = self._taken(reference, wanted)
                if found:
                    yield found
            self._hand_out()

    def _join(self) -> None:
        """Have every worker that is new take up the call."""
        for member in self._cluster.members(self._pool.gpus):
            if member not in self._members:
                self._members.append(member)
                self._beginning[member.actor.begin.remote(*self._given)] = member

    def _ready(self) -> list[Any]:
        """What has come, once something has; nothing where it takes long: nodes may have come or gone."""
        waited_for = [*self._out, *self._beginning]
        if waited_for:
            ready, _ = self._ray.wait(waited_for, timeout=LOOK)
        else:
            time.sleep(LOOK)
            ready = []
        if not ready:
            if not self._looks and not self._out and self._members:
                note(f"{self._pool.name}: waiting for workers; others use the cluster, or they are starting")
            self._looks += 1
            self._join()
            self._looks_in_vain = 0 if self._members else self._looks_in_vain + 1
            if self._looks_in_vain == PATIENCE:
                raise self._pool.alone()
        return list(ready)

    def _taken(self, reference: Any, wanted: frozenset[int]) -> list[tuple[int, Any]]:
        """The answers that have come; none where a worker took up the call, or is gone."""
        begins = reference in self._beginning
        if not begins and reference not in self._out:
            return []  # of a worker that was lost with the one before
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
        """Give every worker that has the call as much as it may have, by turns."""
        busy = Counter(id(member) for member, _ in self._out.values())
        begun = [member for member in self._members if member not in self._beginning.values()]
        for most in range(1, AT_A_TIME + 1):
            for member in begun:
                if self._todo and busy[id(member)] < most:
                    pack = self._todo.popleft()
                    self._out[member.actor.answer.remote(self._number, pack)] = (member, pack)
                    busy[id(member)] += 1

    def _lose(self, member: Member) -> None:
        """Take back what a worker was at that is gone.

        Raises:
            UserError: Workers were lost with the same again and again.
        """
        self._cluster.lose(member)
        self._members.remove(member)
        packs = [pack for own, pack in self._out.values() if own is member]
        self._out = {reference: at for reference, at in self._out.items() if at[0] is not member}
        self._beginning = {reference: own for reference, own in self._beginning.items() if own is not member}
        note(f"{self._pool.name}: a worker on {member.place} is gone; what it was at goes to another")
        lost_with: list[Pack | str] = [*packs] or [member.node]
        self._losses.update(lost_with)
        if max(self._losses[what] for what in lost_with) >= LOSSES:
            raise self._pool.lost(f"the same {len(packs)} packs" if packs else f"this model on {member.place}")
        if packs:
            assert self._todo is not None
            self._todo.extendleft(packs)
        self._join()


@cache
def connected(address: str | None) -> Cluster:
    """The cluster that this process has joined."""
    return Cluster(address)


def _places(node: dict[str, Any], gpus: float) -> int:
    """How many workers a node takes: as many as fit on its GPUs; one, which has all its CPUs, where none is asked."""
    resources = node["Resources"]
    return int(resources.get("GPU", 0) / gpus + 1e-9) if gpus else int(resources.get("CPU", 0) >= 1)


def _require_listening(address: str) -> None:
    """Ray itself waits for minutes for what is not there."""
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=PATIENCE):
        pass


def _ray() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # read when it is imported
    try:
        import ray
    except ImportError:
        remedy = "pip install 'evenruler[ray]'"
        raise UserError("Ray is not installed", where="engine ray", remedy=remedy) from None
    return ray

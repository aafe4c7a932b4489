"""Calls a model on the workers of a cluster like a local backend: questions are sent in packs (batches).

The packs of a lost worker go to another. A pack may thus be computed twice, which is safe: its answers depend only on
its content.
"""

import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Final

from evenruler.errors import UserError
from evenruler.models.engines.cluster import Cluster, Member
from evenruler.terminal import note

AT_A_TIME = 3  # most packs per worker: the current one and those queued to avoid waiting
LOOK = 5.0  # seconds to wait for an answer before looking for new nodes
PATIENCE = 12  # looks without any worker, or node to start one on, before giving up
LOSSES = 3  # workers that a pack may lose before it is considered the cause

OPERATIONS: Final = frozenset(
    ("loglikelihood", "words", "generate", "in_place", "entail", "classify", "classify_whole", "embed", "unigram_nats")
)
"""Backend operations that are answered in packs (`backends/packs.py`)."""

Pack = tuple[int, ...]  # indices of questions that are answered together
_calls = count()


class Call:
    """One call to a model: questions distributed over the workers."""

    def __init__(self, model: "Pool", operation: str, questions: Sequence[Any]) -> None:
        """Set up a call to an operation of the backend; nothing is asked yet."""
        self._ray, self._cluster, self._model = model.cluster.ray, model.cluster, model
        self._number = next(_calls)
        self._given = (model.told_apart, model.load, self._number, operation, self._ray.put(list(questions)))
        self._members: list[Member] = []  # workers that were sent the call
        self._beginning: dict[Any, Member] = {}  # workers that have not started the call yet, by Ray reference
        self._out: dict[Any, tuple[Member, Pack]] = {}  # packs in progress, by Ray reference of the answers
        self._todo: deque[Pack] | None = None  # packs to do; None until a worker has divided the questions into packs
        self._losses: Counter[Pack | str] = Counter()  # by pack; by node for workers lost before they started the call
        self._looks = self._looks_in_vain = 0

    def answers(self, wanted: frozenset[int]) -> Iterator[list[tuple[int, Any]]]:
        """Yield (index, answer) pairs of each pack that contains a wanted question, as packs complete.

        UserError if the same packs lose workers repeatedly, no node is left, or a worker raises one.
        """
        try:
            self._join()
            while self._todo is None or self._todo or self._out:
                for reference in self._ready():
                    found = self._taken(reference, wanted)
                    if found:
                        yield found
                self._hand_out()
        finally:
            # Cancel what is pending: a late worker would otherwise go through all calls that it missed.
            for reference in [*self._beginning, *self._out]:
                self._ray.cancel(reference)

    def _join(self) -> None:
        for member in self._cluster.members(self._model.gpus):
            if member not in self._members:
                self._members.append(member)
                self._beginning[member.actor.begin.remote(*self._given)] = member

    def _ready(self) -> list[Any]:
        """References that are ready, waiting up to LOOK seconds; if none is, look for nodes that came or went."""
        ready: list[Any] = []
        if waited_for := [*self._out, *self._beginning]:
            ready, _ = self._ray.wait(waited_for, timeout=LOOK)
        else:
            time.sleep(LOOK)
        if not ready:
            if not self._looks and not self._out and self._members:
                note(f"{self._model.name}: waiting for workers; others use the cluster, or they are starting")
            self._looks += 1
            self._join()
            self._looks_in_vain = 0 if self._members else self._looks_in_vain + 1
            if self._looks_in_vain == PATIENCE:
                remedy = "see `ray status`; what was answered is kept, run again to go on"
                raise UserError("no node of the cluster is left", where=self._model.name, remedy=remedy)
        return list(ready)

    def _taken(self, reference: Any, wanted: frozenset[int]) -> list[tuple[int, Any]]:
        """The answers behind a reference; empty if a worker has only started the call, or is lost."""
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
        """Distribute packs to workers in turn; queue more than one per worker only while enough packs are left for all.

        Otherwise the first worker to start a short call would get all of it.
        """
        busy = Counter(id(member) for member, _ in self._out.values())
        begun = [member for member in self._members if member not in self._beginning.values()]
        for most in range(1, AT_A_TIME + 1):
            for member in begun:
                if self._todo and busy[id(member)] < most and (most == 1 or len(self._todo) > len(self._members)):
                    pack = self._todo.popleft()
                    self._out[member.actor.answer.remote(self._number, pack)] = (member, pack)
                    busy[id(member)] += 1

    def _lose(self, member: Member) -> None:
        """Reassign the packs of a lost worker."""
        self._cluster.lose(member)
        self._members.remove(member)
        packs = [pack for own, pack in self._out.values() if own is member]
        self._out = {reference: at for reference, at in self._out.items() if at[0] is not member}
        self._beginning = {reference: own for reference, own in self._beginning.items() if own is not member}
        note(f"{self._model.name}: a worker on {member.place} is gone; what it was at goes to another")
        lost_with: list[Pack | str] = [*packs] or [member.node]
        self._losses.update(lost_with)
        if max(self._losses[what] for what in lost_with) >= LOSSES:
            what = f"the same {len(packs)} packs" if packs else f"this model on {member.place}"
            remedy = "see whether their memory is enough; what was answered is kept, run again to go on"
            raise UserError(f"{LOSSES} workers were lost with {what}", where=self._model.name, remedy=remedy)
        if packs:
            assert self._todo is not None
            self._todo.extendleft(packs)
        self._join()


@dataclass(frozen=True)
class Pool:
    """A model on a cluster's workers, which load it on first use; offers the operations of a backend."""

    cluster: Cluster
    gpus: float  # GPUs per copy of the model
    name: str
    told_apart: str  # identifies the model on workers
    load: Callable[[], Any]  # creates its backend; sent to the workers

    def __getattr__(self, operation: str) -> Callable[[Sequence[Any], frozenset[int]], Iterator[list[tuple[int, Any]]]]:
        """A backend operation that is answered in packs."""
        if operation not in OPERATIONS:
            raise AttributeError(f"no operation {operation!r} is answered in packs")
        return lambda questions, wanted: Call(self, operation, questions).answers(wanted)

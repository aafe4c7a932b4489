"""A model on the workers of a cluster, asked as a backend in this process is."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from evenruler.models.engines.call import LOSSES, Call, RemoteModel
from evenruler.models.engines.cluster import Cluster

OPERATIONS: Final = frozenset(
    ("loglikelihood", "words", "generate", "in_place", "entail", "classify", "classify_whole", "embed")
)
"""Those of backends that are answered in packs (`backends/packs.py`)."""


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
        self._cluster, self._model = cluster, RemoteModel(gpus, name, told_apart, load)

    def __getattr__(self, operation: str) -> Callable[[Sequence[Any], frozenset[int]], Iterator[list[tuple[int, Any]]]]:
        """An operation of the backend that is answered in packs."""
        if operation not in OPERATIONS:
            raise AttributeError(f"no operation {operation!r} is answered in packs")
        return lambda questions, wanted: Call(self._cluster, self._model, operation, questions).answers(wanted)

    def unigram_nats(self, texts: Sequence[str]) -> Any:
        """As of the backend: by one worker, since all texts belong together."""
        ray, model = self._cluster.ray, self._model
        for _ in range(LOSSES):
            members = {member.actor.ready.remote(): member for member in self._cluster.members(model.gpus)}
            if not members:
                raise model.alone()
            (first, *_), _ = ray.wait(list(members))
            member = members[first]
            try:
                return ray.get(member.actor.tell.remote(model.told_apart, model.load, "unigram_nats", list(texts)))
            except ray.exceptions.RayTaskError as error:
                raise error.cause from None
            except ray.exceptions.RayError:
                self._cluster.lose(member)
        raise model.lost("its texts")

"""What runs on the nodes of a Ray cluster: a process that holds models, each loaded once, and answers packs."""

import os
from collections.abc import Callable, Sequence
from typing import Any

from evenruler.errors import UserError
from evenruler.models.backends.packs import Packs
from evenruler.models.engines.described import Surroundings, surroundings


class Worker:
    """One process of a cluster."""

    def __init__(self, threads: int, expected: Surroundings, node: str) -> None:
        """Be ready to load models.

        Args:
            threads: To compute with; no more than PyTorch would take.
            expected: What answers are kept under.
            node: Whose process this is, for errors.
        """
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # as in stages (`stages/running.py`)
        import torch

        torch.set_num_threads(min(threads, torch.get_num_threads()))
        self._expected, self._node = expected, node
        self._models: dict[str, Any] = {}
        self._call, self._packs = -1, Packs[Any]([], lambda _: [])

    def ready(self) -> None:
        """Return once the process is there."""

    def begin(
        self, model: str, load: Callable[[], Any], call: int, operation: str, questions: Sequence[Any]
    ) -> list[list[int]]:
        """Take up a call: load its model, unless it is in memory, and cut its questions into packs.

        Args:
            model: All that tells it apart.
            load: Makes its backend.
            call: Its number.
            operation: Of the backend.
            questions: All of them.

        Returns:
            Indices of the questions, by pack.

        Raises:
            UserError: The model does not load, or answers from here would not be those of its engine.
        """
        self._packs = getattr(self._loaded(model, load), operation).packs(questions)
        self._call = call
        return [list(pack) for pack in self._packs.indices]

    def answer(self, call: int, pack: Sequence[int]) -> list[tuple[int, Any]]:
        """(Index, answer) of every question of a pack of the call that it took up."""
        assert call == self._call
        return self._packs.answer(pack)

    def tell(self, model: str, load: Callable[[], Any], method: str, *words: Any) -> Any:
        """What a method of a backend returns that knows no packs."""
        return getattr(self._loaded(model, load), method)(*words)

    def _loaded(self, model: str, load: Callable[[], Any]) -> Any:
        own = surroundings(self._expected.device)
        if own != self._expected:
            others, ours = self._expected.other_than(own), own.other_than(self._expected)
            what = f"answers are kept under {others}, and a worker has {ours}"
            raise UserError(what, where=f"node {self._node}", remedy="install the same there; take nodes of one kind")
        if model not in self._models:
            self._models[model] = load()
        return self._models[model]

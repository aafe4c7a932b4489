"""Questions cut into packs, each of which is answered whole: by this process, or by workers elsewhere."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

Question = TypeVar("Question")
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Packs(Generic[Answer]):
    """All questions of a call, which alone determine who is answered beside whom."""

    indices: Sequence[Sequence[int]]
    """Of the questions, by pack."""
    answer: Callable[[Sequence[int]], list[tuple[int, Answer]]]
    """Given the indices of one pack: (index, answer) of each of its questions."""


class in_packs(Generic[Question, Answer]):  # noqa: N801  # a decorator
    """An operation of a backend: written as questions to packs, called with those that must be answered.

    `backend.operation(questions, wanted)` answers every pack that holds a wanted question, whole, and yields (index,
    answer) pack by pack. What is stored hence never depends on what was stored before.
    `backend.operation.packs(questions)` gives the packs themselves.
    """

    def __init__(self, method: Callable[[Any, Sequence[Question]], Packs[Answer]]) -> None:
        self._method = method
        self.__doc__ = method.__doc__

    def __get__(self, backend: Any, owner: type | None = None) -> "Operation[Question, Answer]":
        return Operation(self._method, backend)


@dataclass(frozen=True)
class Operation(Generic[Question, Answer]):
    """An operation of one backend."""

    _method: Callable[[Any, Sequence[Question]], Packs[Answer]]
    _backend: Any

    def packs(self, questions: Sequence[Question]) -> Packs[Answer]:
        """The questions in packs."""
        return self._method(self._backend, questions)

    def __call__(self, questions: Sequence[Question], wanted: frozenset[int]) -> Iterator[list[tuple[int, Answer]]]:
        """(Index, answer) of every question of each pack that holds a wanted one."""
        packs = self.packs(questions)
        for indices in packs.indices:
            if not wanted.isdisjoint(indices):
                yield packs.answer(indices)

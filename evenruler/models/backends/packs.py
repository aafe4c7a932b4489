"""Questions cut into packs, each of which is answered whole: by this process, or by workers elsewhere."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from evenruler.errors import UserError
from evenruler.models.loading import MAKE_ROOM, is_out_of_memory
from evenruler.terminal import note

Question = TypeVar("Question")
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Packs(Generic[Answer]):
    """All questions of a call, which alone determine who is answered beside whom."""

    indices: Sequence[Sequence[int]]  # of the questions, by pack
    answer: Callable[[Sequence[int]], list[tuple[int, Answer]]]  # of the indices of one pack: (index, answer) of each


def parts(order: Sequence[int], size: int) -> list[list[int]]:
    """Indices in packs of so many."""
    return [list(order[first : first + size]) for first in range(0, len(order), size)]


class in_packs(Generic[Question, Answer]):  # noqa: N801  # a decorator
    """An operation of a backend: written as questions to packs, called with those that must be answered.

    `backend.operation(questions, wanted)` answers every pack that holds a wanted question, whole, and yields (index,
    answer) pack by pack. What is stored hence never depends on what was stored before.
    `backend.operation.packs(questions)` gives the packs themselves. A pack that a GPU has no memory for is answered
    in halves, and theirs: memory that others take at the moment changes no pack, and answers by rounding at most.
    """

    def __init__(self, method: Callable[[Any, Sequence[Question]], Packs[Answer]], backend: Any = None) -> None:
        self._method, self._backend = method, backend
        self.__doc__ = method.__doc__

    def __get__(self, backend: Any, owner: type | None = None) -> "in_packs[Question, Answer]":
        return in_packs(self._method, backend)

    def packs(self, questions: Sequence[Question]) -> Packs[Answer]:
        """The questions in packs."""
        packs = self._method(self._backend, questions) if questions else Packs[Answer]([], lambda _: [])
        return Packs(packs.indices, Halving(packs.answer))

    def __call__(self, questions: Sequence[Question], wanted: frozenset[int]) -> Iterator[list[tuple[int, Answer]]]:
        """(Index, answer) of every question of each pack that holds a wanted one."""
        packs = self.packs(questions)
        for indices in packs.indices:
            if not wanted.isdisjoint(indices):
                yield packs.answer(indices)


class Halving(Generic[Answer]):
    """Answers a pack whole or, where memory runs out, in halves; says so once."""

    def __init__(self, answer: Callable[[Sequence[int]], list[tuple[int, Answer]]]) -> None:
        self._answer, self._said = answer, False

    def __call__(self, pack: Sequence[int]) -> list[tuple[int, Answer]]:
        """What is answered; a part leaves no trace before it is whole. UserError where one question does not fit."""
        try:
            return self._answer(pack)
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
        # Here, and not above, nothing holds the tensors of the attempt any more.
        if len(pack) == 1:
            raise UserError("the GPU has too little memory for one text alone", remedy=MAKE_ROOM)
        if not self._said:
            note(
                "the GPU ran out of memory: packs that do not fit are answered in halves. Numbers differ from those of "
                "whole packs by rounding; replies, where rounding decides a token"
            )
            self._said = True
        half = len(pack) // 2
        return [*self(pack[:half]), *self(pack[half:])]

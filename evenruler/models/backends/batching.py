"""Questions divided into packs (fixed batches), each answered as a whole, locally or by workers."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Generic, TypeVar

from evenruler.errors import UserError
from evenruler.models.loading import MAKE_ROOM, is_out_of_memory
from evenruler.terminal import print_note

Question = TypeVar("Question")
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Batches(Generic[Answer]):
    """All questions of a call, divided into packs that depend only on these questions."""

    indices: Sequence[Sequence[int]]  # question indices, by pack
    answer: Callable[
        [Sequence[int]], list[tuple[int, Answer]]
    ]  # from one pack's indices to (index, answer) pairs


def split_into_packs(order: Sequence[int], size: int) -> list[list[int]]:
    """Indices in packs of `size`, in their order; the last pack may be smaller."""
    begins = range(0, len(order), size)
    return [list(order[begin : begin + size]) for begin in begins]


def split_by_length(
    order: Sequence[int], size: int, sequences: Sequence[Sequence[object]]
) -> list[list[int]]:
    """As `split_into_packs`, but the sequences of a pack are of equal length, so that none is
    padded; `order`: by length.
    """
    packs: list[list[int]] = []
    for _, indices in groupby(order, key=lambda i: len(sequences[i])):
        packs += split_into_packs(list(indices), size)
    return packs


class batched(Generic[Question, Answer]):  # noqa: N801  # a decorator
    """Decorator for a backend operation: written as a function from questions to packs, called with
    the wanted ones.

    `backend.operation(questions, wanted)` answers every pack that contains a wanted question, as a
    whole, and yields (index, answer) pairs pack by pack, so that answers never depend on what was
    cached before. `backend.operation.packs(questions)` returns the packs. If a GPU runs out of
    memory, a pack is answered in halves, recursively; this does not change the packs and changes
    answers at most by rounding.
    """

    def __init__(
        self, method: Callable[[Any, Sequence[Question]], Batches[Answer]], backend: object = None
    ) -> None:
        """`method`: divides questions into packs; `backend`: the instance to call it on, None while
        the decorator is an attribute of the class.
        """
        self._method, self._backend = method, backend
        self.__doc__ = method.__doc__

    def __get__(self, backend: object, owner: type | None = None) -> "batched[Question, Answer]":
        """The operation bound to an instance, as Python does for methods."""
        return batched(self._method, backend)

    def packs(self, questions: Sequence[Question]) -> Batches[Answer]:
        """All questions divided into packs, with the function that answers a pack; nothing is
        answered.
        """
        packs = (
            self._method(self._backend, questions)
            if questions
            else Batches[Answer]([], lambda _: [])
        )
        return Batches(packs.indices, HalvingOnOutOfMemory(packs.answer))

    def __call__(
        self, questions: Sequence[Question], wanted: frozenset[int]
    ) -> Iterator[list[tuple[int, Answer]]]:
        """(Index, answer) for every question of each pack that contains a wanted one."""
        packs = self.packs(questions)
        for indices in packs.indices:
            if not wanted.isdisjoint(indices):
                yield packs.answer(indices)


class HalvingOnOutOfMemory(Generic[Answer]):
    """Answers a pack as a whole or, if memory runs out, in halves, with one message."""

    def __init__(self, answer: Callable[[Sequence[int]], list[tuple[int, Answer]]]) -> None:
        """`answer`: takes the question indices of a pack and returns (index, answer) pairs."""
        self._answer, self._has_warned = answer, False

    def __call__(self, pack: Sequence[int]) -> list[tuple[int, Answer]]:
        """The answers; failed attempts leave no trace. UserError if a single question does not
        fit.
        """
        try:
            return self._answer(pack)
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
        # Outside the except block, so that the tensors of the failed attempt are freed.
        if len(pack) == 1:
            raise UserError("the GPU has too little memory for one text alone", remedy=MAKE_ROOM)
        if not self._has_warned:
            print_note(
                "the GPU ran out of memory: packs that do not fit are answered in halves. Numbers "
                "differ from those of "
                "whole packs by rounding; replies, where rounding decides a token"
            )
            self._has_warned = True
        half = len(pack) // 2
        return [*self(pack[:half]), *self(pack[half:])]

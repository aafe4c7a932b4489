"""The cache in front of every backend: stored answers are read, missing ones are computed and, if
finite, stored.
"""

import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from filelock import FileLock, Timeout

from evenruler.errors import UserError
from evenruler.models import rates
from evenruler.models.questions import QuestionVolume, amount_of
from evenruler.models.replay import ReplayCheck, note_down, open_release
from evenruler.models.store import RowStore, keys_of
from evenruler.tables.ids import canonical_json
from evenruler.terminal import print_note, progress_bar

Question = TypeVar("Question", bound=Hashable)
Answer = TypeVar("Answer")

_AnswerBatches = Iterator[list[tuple[int, Answer]]]
Ask = Callable[[list[Question], frozenset[int]], _AnswerBatches[Answer]]
"""From distinct questions and the indices of missing ones to (index, answer) batches, which may
include other indices."""


@dataclass(frozen=True)
class AnswerCodec(Generic[Answer]):
    """Serialisation of one kind of answer."""

    pack: Callable[[Answer], bytes]
    unpack: Callable[[bytes], Answer]
    is_finite: Callable[[Answer], bool] = lambda _: (
        True
    )  # whether all numbers of an answer are finite


class _CallSpec(NamedTuple):
    """How a call's questions are answered and the answers stored."""

    operation: str  # with its version
    form: AnswerCodec[Any]
    ask: Ask[Any, Any]


class MissingAnswersError(Exception):
    """The store lacks answers and the model must not be asked."""

    def __init__(
        self,
        model: str,
        operation: str,
        amount: QuestionVolume,
        question_by_key: Mapping[bytes, Any] | None = None,
    ) -> None:
        """`amount`: the volume of the answers that are missing; `question_by_key`: the questions,
        by the key of the answer in the store.
        """
        self.model, self.operation, self.amount = model, operation, amount
        self.question_by_key = question_by_key or {}
        super().__init__(f"{model}: {amount.questions} answers are not in the store")


class Cache:
    """The cached answers of one model in one state."""

    def __init__(
        self, name: str, engine: str, store: RowStore, *, asks: bool = True, weights: int = 0
    ) -> None:
        """`engine`: everything that answers depend on except the question; `asks`: whether to
        compute missing ones; `weights`: bytes of the model's weights, where they are here.
        """
        self.name, self.engine, self.store, self.asks = name, engine, store, asks
        self.weights = weights
        self.asked = 0  # number of questions that the model has answered itself

    def answers(
        self,
        operation: str,
        questions: Sequence[Question],
        form: AnswerCodec[Answer],
        ask: Ask[Question, Answer],
        as_key: Callable[[Question], object] = lambda question: question,
        *,
        again: bool = True,
    ) -> list[Answer]:
        """The answer to each question; questions may repeat.

        `operation`: with its version; `as_key`: the whole question as JSON content; `again`:
        whether to verify a sample of released answers by asking again (off if one answer depends on
        all others). UserError if an answer is not finite (its batch is not stored) or the store
        fails; MissingAnswersError if answers are missing and the model must not be asked.
        """
        how, distinct = _CallSpec(operation, form, ask), list(dict.fromkeys(questions))
        by_index = keys_of(self.engine, operation, map(as_key, distinct))
        answer_by_key = self.store.get(by_index)
        if len(answer_by_key) < len(by_index):
            lacking = {
                key: question
                for key, question in zip(by_index, distinct, strict=True)
                if key not in answer_by_key
            }
            answer_by_key.update(self._replayed(how, lacking, again))
        if len(answer_by_key) < len(by_index):
            if not self.asks:
                question_by_key = {
                    key: question for key, question in lacking.items() if key not in answer_by_key
                }
                amount = amount_of(question_by_key.values())
                raise MissingAnswersError(self.name, operation, amount, question_by_key)
            self.store.require_writable(len(by_index) - len(answer_by_key))
            with self._lease():
                answer_by_key.update(
                    self.store.get([key for key in by_index if key not in answer_by_key])
                )  # by others meanwhile
                missing = frozenset(i for i, key in enumerate(by_index) if key not in answer_by_key)
                if missing:
                    answer_by_key.update(self._compute_missing(how, distinct, by_index, missing))
        pairs = list(zip(distinct, by_index, strict=True))
        journal_rows = (
            (key, canonical_json(as_key(question)), answer_by_key[key]) for question, key in pairs
        )
        note_down(self.name, self.engine, operation, journal_rows)
        answers = {question: form.unpack(answer_by_key[key]) for question, key in pairs}
        return [answers[question] for question in questions]

    def read_answer(
        self, operation: str, question: object, form: AnswerCodec[Answer]
    ) -> Answer | None:
        """The answer to one question in the store, else in the release; nothing is asked."""
        (key,) = keys_of(self.engine, operation, [question])
        stored = self.store.get([key]) or open_release().get(operation, [key])
        return form.unpack(stored[key]) if key in stored else None

    def store_answer(
        self, operation: str, question: object, form: AnswerCodec[Answer], answer: Answer
    ) -> None:
        """Store the answer to one question, unless there is one or the store can only be read."""
        if self.store.is_writable:
            self.store.put(
                zip(keys_of(self.engine, operation, [question]), [form.pack(answer)], strict=True)
            )

    def journal_answer(
        self, operation: str, question: object, form: AnswerCodec[Answer], answer: Answer
    ) -> None:
        """Write the answer to one question into the journal, if there is one."""
        (key,) = keys_of(self.engine, operation, [question])
        note_down(
            self.name, self.engine, operation, [(key, canonical_json(question), form.pack(answer))]
        )

    def _replayed(
        self, how: _CallSpec, lacking: Mapping[bytes, Any], again: bool
    ) -> Mapping[bytes, bytes]:
        """Released answers that the store lacks; a random sample is asked again and compared.

        UserError if they differ by more than processors explain; then nothing is stored.
        """
        held = open_release().get(how.operation, lacking)
        if not held or not self.asks:
            return held
        drawn = (
            open_release().sample_keys(held) if again or open_release().recheck_share == 1 else []
        )
        compared = ReplayCheck(open_release().release, len(held) - len(drawn))
        if drawn:
            everything = frozenset(range(len(drawn)))
            drawn_questions = [lacking[key] for key in drawn]
            unpack = how.form.unpack
            with self._lease():
                now = self._compute_missing(
                    how, drawn_questions, drawn, everything, keeps=len(drawn) == len(held)
                )
            for key in drawn:
                compared.compare_answers(unpack(held[key]), unpack(now[key]))
            if len(drawn) == len(held):
                held = dict(now)
            elif compared.is_beyond:
                what = (
                    f"{self.name} answers otherwise than the release holds "
                    f"({compared.summary_line})"
                )
                remedy = "look at what differs here; `make fresh` replays nothing"
                raise UserError(what, where="data/recorded", remedy=remedy)
        if self.store.is_writable:
            self.store.put(held.items())
        open_release().note(compared)
        return held

    def _compute_missing(
        self,
        how: _CallSpec,
        questions: list[Any],
        keys: list[bytes],
        missing: frozenset[int],
        *,
        keeps: bool = True,
    ) -> Mapping[bytes, bytes]:
        """Compute missing answers, storing each batch as it comes if `keeps`."""
        answer_by_key: dict[bytes, bytes] = {}
        operation = rates.operation_name(how.operation)
        work = {i: rates.work_of(questions[i]) for i in missing}
        try:
            batches = how.ask(questions, missing)  # loads the model
            began, n_tokens = time.monotonic(), sum(work.values())
            with progress_bar(n_tokens, f"{self.name}: {operation}", "token") as bar:
                for batch in batches:
                    for i, answer in batch:
                        if not how.form.is_finite(answer):
                            raise not_a_number(self.name, questions[i])
                    new: dict[bytes, bytes] = {}
                    for i, answer in batch:
                        if i in missing:
                            new[keys[i]] = how.form.pack(answer)
                    if keeps:
                        self.store.put(new.items())
                    answer_by_key.update(new)
                    self.asked += len(batch)
                    n_answered, n_missing = len(answer_by_key), len(missing)
                    count = f"{n_answered:,} of {n_missing:,} answers"
                    bar.set_postfix_str(count, refresh=False)
                    bar.update(sum(work.get(i, 0) for i, _ in batch))
        except FloatingPointError:  # from a backend that detects NaN itself
            raise not_a_number(self.name) from None
        self._keep_rate(operation, n_tokens, time.monotonic() - began)
        return answer_by_key

    def _keep_rate(self, operation: str, tokens: int, seconds: float) -> None:
        """Keep how fast the model answered, for estimates of the next time."""
        device = rates.device_of(self.engine)
        if device is not None and self.store.is_writable:
            rate = rates.Rate(self.name, operation, device, self.weights, tokens, seconds)
            rates.keep_rate(rate, self.store.root)

    @contextmanager
    def _lease(self) -> Iterator[None]:
        """The exclusive right to ask this model, as a file lock; it ends with the holder's
        process.
        """
        folder = self.store.root / "leases"
        folder.mkdir(exist_ok=True)
        lock = FileLock(folder / f"{self.name}.lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            print_note(
                f"{self.name}: another process is asking this model; waiting for it to finish"
            )
            lock.acquire()
        try:
            yield
        finally:
            lock.release()


def not_a_number(name: str, question: object = None) -> UserError:
    """The error for an answer with NaN or infinity: weights are broken, or too large for the
    dtype.
    """
    question_text = getattr(question, "prompt", "") + getattr(question, "text", "") or question
    where = f"model {name}" if question is None else repr(question_text)[:100]
    return UserError(
        f"{name} answers with what is no number", where=where, remedy="take another dtype or model"
    )

"""The mechanism of all models of the catalogue: what the row store has is read, what is missing is asked, and kept."""

import copy
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Generic, Self, TypeVar

from filelock import FileLock, Timeout

from evenruler.models import engine
from evenruler.models.entry import ModelEntry
from evenruler.models.store import Keys, RowStore
from evenruler.progress import note, progress
from evenruler.tables.ids import canonical

Backend = TypeVar("Backend")
Question = TypeVar("Question", bound=Hashable)


class Answering(Generic[Backend]):
    """A model of the catalogue, loaded only when the store misses something."""

    def __init__(
        self,
        name: str,
        entry: ModelEntry,
        folder: Path,
        store: RowStore,
        load: Callable[[str], Backend],
        adapter: Path | None = None,
    ) -> None:
        """Name the model; nothing is loaded.

        Args:
            name: In the catalogue.
            entry: Its declaration.
            folder: Its files.
            store: Where answers are kept.
            load: Loads it on a device.
            adapter: Folder of its adapter, for an encoder.
        """
        self.name, self.entry, self._folder = name, entry, folder
        self.asked = 0
        """Questions that the model itself had to answer so far."""
        self._store = store
        self._device = engine.device()
        self.engine = engine.describe(folder, entry, store, self._device, adapter)
        """All that an answer depends on but the question."""
        self._load = load
        self._backend: Backend | None = None

    @property
    def backend(self) -> Backend:
        """The model itself, loaded on first use."""
        if self._backend is None:
            self._backend = self._load(self._device)
        return self._backend

    def adapted(self, state: object, load: Callable[[str], Backend]) -> Self:
        """The same model in another state, with answers of its own.

        Args:
            state: All that the state depends on, beside the model itself.
            load: Brings the model there; called when the store misses something.
        """
        other = copy.copy(self)
        other.engine = canonical([self.engine, state]).decode()
        other.asked, other._load, other._backend = 0, load, None
        return other

    def _each(
        self,
        operation: str,
        questions: Sequence[Question],
        ask: Callable[[list[Question], frozenset[int]], Iterator[list[tuple[int, bytes]]]],
        as_key: Callable[[Question], object] = lambda question: question,
    ) -> list[bytes]:
        """The stored form of the answer to each of some questions, which may repeat.

        Args:
            operation: With its version.
            questions: n of them.
            ask: Given the distinct questions and the indices that are missing, yields answers batch by batch.
            as_key: The whole input of a question, as JSON holds it.
        """
        distinct = list(dict.fromkeys(questions))
        stored = self._answers(operation, list(map(as_key, distinct)), lambda missing: ask(distinct, missing))
        answers = dict(zip(distinct, stored, strict=True))
        return [answers[question] for question in questions]

    def _answers(
        self,
        operation: str,
        questions: Sequence[object],
        ask: Callable[[frozenset[int]], Iterator[list[tuple[int, bytes]]]],
    ) -> list[bytes]:
        """The stored form of the answer to each of some distinct questions.

        Args:
            operation: With its version.
            questions: The whole input of each.
            ask: Given the indices that are missing, yields answers batch by batch (more than asked are welcome).
        """
        keys = Keys(self.engine, operation)
        by_index = [keys.key(question) for question in questions]
        found = self._store.get(by_index)
        if len(found) < len(by_index):
            with self._lease():
                found.update(self._store.get([key for key in by_index if key not in found]))  # meanwhile, by others
                missing = frozenset(i for i, key in enumerate(by_index) if key not in found)
                self._ask(operation, by_index, missing, found, ask)
        return [found[key] for key in by_index]

    def _ask(
        self,
        operation: str,
        keys: list[bytes],
        missing: frozenset[int],
        found: dict[bytes, bytes],
        ask: Callable[[frozenset[int]], Iterator[list[tuple[int, bytes]]]],
    ) -> None:
        if not missing:
            return
        with progress(len(missing), f"{self.name}: {operation.split('/')[0]}", "text") as bar:
            for batch in ask(missing):
                new = [(keys[i], answer) for i, answer in batch if i in missing]
                self._store.put(new)
                found.update(new)
                self.asked += len(batch)
                bar.update(len(new))

    @contextmanager
    def _lease(self) -> Iterator[None]:
        """The right to ask this model, held by one process at a time; a holder that dies loses it."""
        folder = self._store.root / "leases"
        folder.mkdir(exist_ok=True)
        lock = FileLock(folder / f"{self.name}.lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            note(f"{self.name}: another process is asking this model; waiting for it to finish")
            lock.acquire()
        try:
            yield
        finally:
            lock.release()

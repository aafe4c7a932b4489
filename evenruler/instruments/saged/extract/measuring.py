"""The models that measure texts, as the extraction of features asks for them."""

from collections.abc import Callable, Sequence
from typing import Protocol

from evenruler.measurement.checks import Floats
from evenruler.models.catalogue import load
from evenruler.models.declared import Catalogue
from evenruler.models.model import Model
from evenruler.models.operations import Operation
from evenruler.models.records import Embedder, Sampling
from evenruler.models.store import RowStore

Ask = Callable[[Sequence[str]], Sequence[str]]
"""A language model: its reply to each of n prompts."""

NEW_TOKENS = 16
"""A scorer's reply at most: a number needs no more."""


class Classifier(Protocol):
    """What tells labels of texts apart."""

    @property
    def labels(self) -> Sequence[str]:
        """In the order of `probabilities`."""

    def probabilities(self, texts: Sequence[str]) -> Floats:
        """[n, labels] probability of each label; NaN throughout for a text that is too long."""


class Models(Protocol):
    """Opens what features name; nothing is loaded before it is asked something."""

    def classifier(self, name: str) -> Classifier:
        """Of a `classifier` feature."""

    def embedder(self, name: str | None) -> Embedder:
        """Of a `distance` or `clusters` feature; the usual one where it names none."""

    def scorer(self, name: str) -> Ask:
        """Of a `scorer` feature."""


class FromCatalogue:
    """The models of the catalogue, answering through the row store."""

    def __init__(self, catalogue: Catalogue, embedder: str, store: RowStore | None = None) -> None:
        """Take them from a declaration.

        Args:
            catalogue: The models.
            embedder: The one that is taken where a feature names none.
            store: Where answers are kept; the one under `cache_root()` by default.
        """
        self._catalogue, self._embedder = catalogue, embedder
        self._store = store or RowStore()
        self._opened: list[Model] = []

    @property
    def asked(self) -> int:
        """How many answers models gave that the store did not have."""
        return sum(model.asked for model in self._opened)

    def classifier(self, name: str) -> Classifier:
        """A classifier of single texts.

        Raises:
            UserError: There is no such model, it is none of single texts, or its files are missing.
        """
        return self._open(name, "classify")

    def embedder(self, name: str | None) -> Embedder:
        """An embedder, that of `diagnosis` by default.

        Raises:
            UserError: There is no such embedder, or its files are missing.
        """
        return self._open(name or self._embedder, "embed")

    def scorer(self, name: str) -> Ask:
        """A model that gives its likeliest reply to each prompt.

        Raises:
            UserError: There is no such model, or its files are missing.
        """
        model = self._open(name, "generate")
        sampling = Sampling(max_new_tokens=NEW_TOKENS, temperature=0)
        return lambda prompts: model.generate(prompts, sampling=sampling)

    def _open(self, name: str, operation: Operation) -> Model:
        model = load(name, self._catalogue, store=self._store)
        model.require(operation)
        self._opened.append(model)
        return model

"""The models that measure texts, as the extraction of features asks for them."""

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenruler.instruments.instrument import Tables
from evenruler.measurement.checks import Floats
from evenruler.models.records import Embedder

Ask = Callable[[Sequence[str]], Sequence[str | None]]
"""A language model: its reply to each of n prompts, None where a server gave none."""

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
    """What features name."""

    def classifier(self, name: str) -> Classifier:
        """Of a `classifier` feature."""

    def embedder(self, name: str | None) -> Embedder:
        """Of a `distance` or `clusters` feature; the usual one where it names none."""

    def scorer(self, name: str) -> Ask:
        """Of a `scorer` feature."""


class Answered:
    """The tools' answers, looked up by text: everything was asked before (`requests`)."""

    def __init__(self, answers: Tables, embedder: str | None) -> None:
        """Take them.

        Args:
            answers: `embeddings`, `classifications` and `scored`, by `schemas`.
            embedder: The one that is taken where a feature names none.
        """
        self._answers, self._embedder = answers, embedder

    def classifier(self, name: str) -> Classifier:
        """What a classifier said of texts."""
        return _Classified(_of_tool(self._answers["classifications"], name))

    def embedder(self, name: str | None) -> Embedder:
        """The embeddings of texts, by the usual embedder where none is named."""
        own = name or str(self._embedder)
        return _Embedded(own, _of_tool(self._answers["embeddings"], own))

    def scorer(self, name: str) -> Ask:
        """A model's likeliest reply to each prompt."""
        own = _of_tool(self._answers["scored"], name)
        said = dict(zip(own["prompt"], own["reply"], strict=True))
        return lambda prompts: [None if pd.isna(said[prompt]) else str(said[prompt]) for prompt in prompts]


class _Classified:
    def __init__(self, rows: pd.DataFrame) -> None:
        self.labels: list[str] = [str(label) for label in rows["labels"].iloc[0]] if len(rows) else []
        self._known = dict(zip(rows["text"], rows["probabilities"], strict=True))

    def probabilities(self, texts: Sequence[str]) -> Floats:
        found: Floats = np.array([self._known[text] for text in texts], dtype=np.float64)
        return found.reshape(len(texts), len(self.labels))


class _Embedded:
    def __init__(self, name: str, rows: pd.DataFrame) -> None:
        self.name = name
        self._known = dict(zip(rows["text"], rows["vector"], strict=True))

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.array([self._known[text] for text in texts], dtype=np.float32)


def _of_tool(rows: pd.DataFrame, name: str) -> pd.DataFrame:
    return rows[rows["tool"] == name]

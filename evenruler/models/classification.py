"""The transformers backend for classifiers of one text or of two."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenruler.errors import UserError
from evenruler.models.adapters import Adapter, load_adapted
from evenruler.models.engine import Dtype
from evenruler.models.loading import complete, loading
from evenruler.progress import note

Texts = tuple[str, ...]
"""One text, or two."""

BATCH = 32

COUNT_FROM_PADDING = {"roberta", "xlm-roberta", "camembert", "mpnet", "longformer"}
"""Models whose first position comes after that of padding."""


class TransformersClassifier:
    """A sequence classifier in memory."""

    def __init__(self, name: str, folder: Path, device: str, dtype: Dtype, adapter: Adapter | None = None) -> None:
        """Load it.

        Args:
            name: In the catalogue.
            folder: Its files, or those of its encoder.
            device: Where to.
            dtype: What it computes in.
            adapter: What was fitted on it, for an encoder.

        Raises:
            UserError: It does not load.
        """
        import torch
        from transformers import AutoModelForSequenceClassification, AutoTokenizer

        if adapter is not None and adapter.is_whole:
            folder, adapter = adapter.folder, None
        with loading(name, str(folder)):
            self._tokenizer: Any = AutoTokenizer.from_pretrained(folder)
        if adapter is None:
            with loading(name, str(folder)):
                loaded: Any = AutoModelForSequenceClassification.from_pretrained(
                    folder, dtype=getattr(torch, dtype), output_loading_info=True
                )
            model = complete(loaded, name, str(folder))
        else:
            model = load_adapted(name, folder, adapter, getattr(torch, dtype))
        self._model: Any = model.to(device).eval()
        self._name, self._where, self._device = name, str(folder), device
        self._longest = longest(self._tokenizer, self._model.config)
        names = self._model.config.id2label
        self.labels: list[str] = [str(names[i]) for i in range(int(self._model.config.num_labels))]
        """What the outputs mean, as the configuration says."""

    def batches(
        self, texts: Sequence[Texts], wanted: frozenset[int]
    ) -> Iterator[list[tuple[int, NDArray[np.float64]]]]:
        """Classify every batch that holds a wanted one, whole; batches are of texts of like length.

        Yields:
            By batch: (index, [k] logits in the order of `labels`).
        """
        order = sorted(range(len(texts)), key=lambda i: (sum(map(len, texts[i])), texts[i]))
        for first in range(0, len(order), BATCH):
            batch = order[first : first + BATCH]
            if wanted.isdisjoint(batch):
                continue
            yield list(zip(batch, self.logits([texts[i] for i in batch]), strict=True))

    def logits(self, texts: Sequence[Texts]) -> NDArray[np.float64]:
        """[n, k] logits of one batch.

        Raises:
            UserError: One is not a number.
        """
        import torch

        encoded = self._encode(texts)
        with torch.inference_mode():
            logits: NDArray[np.float64] = self._model(**encoded.to(self._device)).logits.double().cpu().numpy()
        if not np.isfinite(logits).all():
            broken = texts[int(np.flatnonzero(~np.isfinite(logits).all(axis=1))[0])]
            raise UserError(
                f"{self._name} answers with what is no number", where=repr(broken), remedy="take another dtype or model"
            )
        return logits

    def _encode(self, texts: Sequence[Texts]) -> Any:
        """Tokens; a (first) text that is too long is cut, and that is said."""
        sides = [list(side) for side in zip(*texts, strict=True)]
        lengths = [len(ids) for ids in self._tokenizer(*sides)["input_ids"]]
        if max(lengths) <= self._longest:
            return self._tokenizer(*sides, padding=True, return_tensors="pt")
        if len(sides) == 2:
            self._require_room(sides[1])
        cut = sum(length > self._longest for length in lengths)
        what = "premises" if len(sides) == 2 else "texts"
        note(f"{self._name}: {cut} {what} cut to fit into {self._longest} tokens")
        return self._tokenizer(
            *sides,
            padding=True,
            truncation="only_first",
            max_length=self._longest,
            return_tensors="pt",
        )

    def _require_room(self, hypotheses: list[str]) -> None:
        """A hypothesis is never cut."""
        alone = [len(ids) for ids in self._tokenizer([""] * len(hypotheses), hypotheses)["input_ids"]]
        for hypothesis, length in zip(hypotheses, alone, strict=True):
            if length >= self._longest:
                raise UserError(
                    f"a hypothesis of {length} tokens, {self._name} takes {self._longest}",
                    where=repr(hypothesis[:40]),
                    remedy="shorten it",
                )


def longest(tokenizer: Any, config: Any) -> int:
    """Tokens that the model takes."""
    positions = getattr(config, "max_position_embeddings", None) or tokenizer.model_max_length
    if config.model_type in COUNT_FROM_PADDING:
        positions -= config.pad_token_id + 1
    return int(min(tokenizer.model_max_length, positions))

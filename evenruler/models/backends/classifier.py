"""Classifiers of one text or of two, by transformers."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenruler.errors import UserError
from evenruler.models.backends.adapters import Adapter, load_adapted
from evenruler.models.backends.packs import Packs, in_packs
from evenruler.models.loading import Dtype, complete, loading, quiet, require_embeddings
from evenruler.progress import note

Texts = tuple[str, ...]
"""One text, or two."""

Encoded = Mapping[str, Sequence[Sequence[int]]]
"""Tokens and what else a model reads, by name, of each of some texts; not padded."""

CAPACITY = {"cpu": 1024, "cuda": 8192}
"""Tokens of a batch, padding included."""

COUNT_FROM_PADDING = {"roberta", "xlm-roberta", "camembert", "mpnet", "longformer"}
"""Models whose first position comes after that of padding."""


class Classifier:
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

        where = str(folder)
        if adapter is not None and adapter.is_whole:
            adapter.require_weights(name)
            where, folder, adapter = adapter.shown, adapter.folder, None
        with quiet(), loading(name, where):
            self.tokenizer: Any = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
        if adapter is None:
            with quiet(), loading(name, where):
                loaded: Any = AutoModelForSequenceClassification.from_pretrained(
                    folder, dtype=getattr(torch, dtype), output_loading_info=True, trust_remote_code=False
                )
            model = complete(loaded, name, where)
        else:
            model = load_adapted(name, folder, adapter, getattr(torch, dtype))
        require_embeddings(model, self.tokenizer, name)
        self.model: Any = model.to(device).eval()
        self._name, self._where, self._device = name, str(folder), device
        self._longest = longest(self.tokenizer, self.model.config)
        names = self.model.config.id2label
        self.labels: list[str] = [str(names[i]) for i in range(int(self.model.config.num_labels))]
        """What the outputs mean, as the configuration says."""

    @in_packs
    def classify(self, texts: Sequence[str]) -> Packs[NDArray[np.float64]]:
        """Of each text: [k] logits in the order of `labels`."""
        return self.batches([(text,) for text in texts])

    @in_packs
    def classify_whole(self, texts: Sequence[str]) -> Packs[NDArray[np.float64] | None]:
        """The same of texts that are never cut: None for one that is longer than the model takes."""
        if not texts:
            return Packs([], lambda _: [])
        with quiet():  # it warns of texts that are too long
            lengths = np.array([len(ids) for ids in self.tokenizer(list(texts))["input_ids"]])
        fits = lengths <= self._longest
        taken, too_long = np.flatnonzero(fits).tolist(), np.flatnonzero(~fits).tolist()
        batches = self.batches([(texts[i],) for i in taken])
        place_of = {i: place for place, i in enumerate(taken)}

        def answer(pack: Sequence[int]) -> list[tuple[int, NDArray[np.float64] | None]]:
            if pack[0] not in place_of:
                return [(i, None) for i in pack]
            return [(taken[place], logits) for place, logits in batches.answer([place_of[i] for i in pack])]

        return Packs([too_long, *([taken[place] for place in batch] for batch in batches.indices)], answer)

    def batches(self, texts: Sequence[Texts]) -> Packs[NDArray[np.float64]]:
        """Texts, or pairs of them, in batches of like length: [k] logits of each in the order of `labels`."""
        if not texts:
            return Packs([], lambda _: [])
        encoded = self._encode(texts)
        return Packs(
            packs(encoded["input_ids"], texts, CAPACITY[self._device]),
            lambda batch: list(zip(batch, self._classify(encoded, batch), strict=True)),
        )

    def logits(self, texts: Sequence[Texts]) -> NDArray[np.float64]:
        """[n, k] logits of one batch."""
        return self._classify(self._encode(texts), range(len(texts)))

    def _classify(self, encoded: Encoded, batch: Sequence[int]) -> NDArray[np.float64]:
        import torch

        rows = {name: [values[i] for i in batch] for name, values in encoded.items()}
        padded = self.tokenizer.pad(rows, return_tensors="pt").to(self._device)
        with torch.inference_mode():
            logits: NDArray[np.float64] = self.model(**padded).logits.double().cpu().numpy()
        return logits

    def _encode(self, texts: Sequence[Texts]) -> Encoded:
        """Tokens; a (first) text that is too long is cut, and that is said."""
        sides = [list(side) for side in zip(*texts, strict=True)]
        encoded: Encoded = self.tokenizer(*sides)
        too_long = [i for i, ids in enumerate(encoded["input_ids"]) if len(ids) > self._longest]
        if not too_long:
            return encoded
        if len(sides) == 2:
            self._require_room([sides[1][i] for i in too_long])
        what = "premises" if len(sides) == 2 else "texts"
        note(f"{self._name}: {len(too_long)} {what} cut to fit into {self._longest} tokens")
        cut: Encoded = self.tokenizer(*sides, truncation="only_first", max_length=self._longest)
        return cut

    def _require_room(self, hypotheses: list[str]) -> None:
        """A hypothesis is never cut."""
        alone = [len(ids) for ids in self.tokenizer([""] * len(hypotheses), hypotheses)["input_ids"]]
        for hypothesis, length in zip(hypotheses, alone, strict=True):
            if length >= self._longest:
                raise UserError(
                    f"a hypothesis of {length} tokens, {self._name} takes {self._longest}",
                    where=repr(hypothesis[:40]),
                    remedy="shorten it",
                )


def packs(tokens: Sequence[Sequence[int]], texts: Sequence[Texts], capacity: int) -> list[list[int]]:
    """Cut texts into batches of like length, so that hardly anything is padded.

    Args:
        tokens: Of each text.
        texts: What is the same length is ordered by what it says.
        capacity: Tokens of a batch, padding included; a longer text is a batch of its own.

    Returns:
        Indices, by batch.
    """
    batches: list[list[int]] = []
    for i in sorted(range(len(texts)), key=lambda i: (len(tokens[i]), texts[i])):
        if not batches or (len(batches[-1]) + 1) * len(tokens[i]) > capacity:
            batches.append([])
        batches[-1].append(i)
    return batches


def longest(tokenizer: Any, config: Any) -> int:
    """Tokens that the model takes."""
    positions = getattr(config, "max_position_embeddings", None) or tokenizer.model_max_length
    if config.model_type in COUNT_FROM_PADDING:
        positions -= config.pad_token_id + 1
    return int(min(tokenizer.model_max_length, positions))

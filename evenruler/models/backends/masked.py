"""Masked language models with transformers: the pseudo-likelihood of a word in its context."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from evenruler.errors import UserError
from evenruler.models.backends.classifier import Encoded, longest, packs
from evenruler.models.backends.packs import Packs, in_packs
from evenruler.models.loading import Dtype, Weights, pretrained
from evenruler.models.records import Placed

CAPACITY = {"cpu": 512, "cuda": 4096}  # tokens per batch, including padding; each has logits for the whole vocabulary


class Masked:
    """A loaded masked language model."""

    def __init__(self, name: str, folder: Weights, device: str, dtype: Dtype) -> None:
        """Load it; UserError if its tokenizer has no mask token or no character offsets."""
        self.tokenizer, self.model = pretrained("AutoModelForMaskedLM", name, folder, device, dtype)
        if self.tokenizer.mask_token_id is None or not self.tokenizer.is_fast:
            lacking = "no mask token" if self.tokenizer.is_fast else "no places of its tokens in the text"
            raise UserError(f"the tokenizer of {name} has {lacking}", where=str(folder), remedy="see its `source`")
        self._name, self._device = name, device
        self._longest = longest(self.tokenizer, self.model.config)

    @in_packs
    def in_place(self, asked: Sequence[Placed]) -> Packs[tuple[float, int]]:
        """For each word in its text: nats and number of tokens.

        The word's pseudo-log-likelihood: the sum of its tokens' log-probabilities, each with itself and the word's
        tokens to its right masked (PLL-word-l2r; Kauf and Ivanova 2023), so that first tokens are not given away by the
        last. Here the word is the intensifier, also if it is two words.
        """
        encoded = self.tokenizer([placed.text for placed in asked], return_offsets_mapping=True)
        offsets = encoded.pop("offset_mapping")
        places = [_tokens_of(placed, of_text) for placed, of_text in zip(asked, offsets, strict=True)]
        for placed, ids in zip(asked, encoded["input_ids"], strict=True):
            if len(ids) > self._longest:
                what = f"a text of {len(ids)} tokens, {self._name} takes {self._longest}"
                raise UserError(what, where=repr(placed.text[:40]), remedy="shorten it")
        # A text is computed once per token of its word.
        capacity = CAPACITY[self._device] // max(map(len, places))

        def answer(batch: Sequence[int]) -> list[tuple[int, tuple[float, int]]]:
            nats = self._score(encoded, [places[i] for i in batch], batch)
            return [(i, (float(value), len(places[i]))) for i, value in zip(batch, nats, strict=True)]

        texts = [(placed.before, placed.word, placed.after) for placed in asked]
        return Packs(packs(encoded["input_ids"], texts, capacity), answer)

    def _score(self, encoded: Encoded, places: Sequence[list[int]], batch: Sequence[int]) -> NDArray[np.float64]:
        """[texts] nats of the words of a batch; `places`: positions of their tokens."""
        rows = [(row, position) for row, places_of in enumerate(places) for position in places_of]
        columns = {name: [list(values[batch[row]]) for row, _ in rows] for name, values in encoded.items()}
        chosen = [columns["input_ids"][n][position] for n, (_, position) in enumerate(rows)]
        for ids, (row, position) in zip(columns["input_ids"], rows, strict=True):
            for hidden in places[row]:
                if hidden >= position:
                    ids[hidden] = self.tokenizer.mask_token_id
        padded = self.tokenizer.pad(columns, padding_side="right", return_tensors="pt").to(self._device)
        with torch.inference_mode():
            logits = self.model(**padded).logits
            own = logits[torch.arange(len(rows)), torch.tensor([position for _, position in rows])].double()
            by_token = own.log_softmax(-1).cpu().numpy()[np.arange(len(rows)), chosen]
        found = np.zeros(len(places))
        np.add.at(found, [row for row, _ in rows], by_token)
        return found


def _tokens_of(placed: Placed, offsets: Sequence[tuple[int, int]]) -> list[int]:
    """Indices of tokens that contain a letter of the word, including those across its border."""
    begin, end = len(placed.before), len(placed.before) + len(placed.word)
    tokens = [i for i, (first, last) in enumerate(offsets) if first < end and last > begin and first < last]
    if not tokens:
        raise ValueError(f"no token holds {placed.word!r}")
    return tokens

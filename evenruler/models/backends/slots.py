"""Keys and values of prompts that are read together, and of the replies that are being written."""

import inspect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from transformers.cache_utils import Cache, DynamicCache, DynamicLayer

from evenruler.models.backends import trie
from evenruler.models.backends.trie import Tokens, TokenSequence, Trie


@dataclass(frozen=True)
class Begun:
    """A prompt whose tokens the model has read."""

    index: int
    logits: torch.Tensor
    """[vocabulary] of its reply's first token."""
    cache: Any
    """Keys and values of the whole pack that it was read in."""
    path: torch.Tensor
    """[tokens] which of the pack's columns are its own."""


def read(model: Any, sequences: Sequence[Tokens], max_nodes: int) -> Iterator[Begun]:
    """Read prompts pack by pack, each pack when its first prompt is asked for.

    A pack is a token trie in one row with a tree mask. The beginning that its first prompt shares with the last of
    the pack before is taken over from there; so every node of the trie of all prompts is computed once.

    Args:
        model: A transformers causal model that takes a mask of ours.
        sequences: Tokens of each prompt; sorted. Equal ones are read once.
        max_nodes: How many tokens go through the model together; a prompt that adds more is a pack of its own.
    """
    by_tokens: dict[Tokens, list[int]] = {}
    for index, tokens in enumerate(sequences):
        by_tokens.setdefault(tokens, []).append(index)
    before: Begun | None = None
    for known, pack in _packs(list(by_tokens), max_nodes):
        tree = trie.build([TokenSequence(tokens, len(tokens), open=True) for tokens in pack])
        cache: Any = DynamicCache()
        if before is not None:
            with torch.inference_mode():
                for number, layer in enumerate(before.cache.layers):
                    columns = before.path[:known]
                    cache.update(layer.keys[:, :, columns], layer.values[:, :, columns], number)
        logits = _read_pack(model, tree, cache, known)
        for row, tokens in enumerate(pack):
            path = torch.from_numpy(tree.path_to(tree.last[row])).to(logits.device)
            for index in by_tokens[tokens]:
                before = Begun(index, logits[row], cache, path)
                yield before


def _packs(sequences: Sequence[Tokens], max_nodes: int) -> list[tuple[int, list[Tokens]]]:
    """Distinct sorted sequences by pack; before each, how many of the first one's tokens are those of the one before.

    Unlike `trie.plan`, which keeps packs apart that share nothing to speak of: here a wave is computed whole.
    """
    packs: list[tuple[int, list[Tokens]]] = []
    nodes = 0
    before: Tokens = ()
    for tokens in sequences:
        shared = next((i for i, (a, b) in enumerate(zip(before, tokens, strict=False)) if a != b), len(before))
        if not packs or nodes + len(tokens) - shared > max_nodes:
            packs.append((shared, []))
            nodes = 0
        packs[-1][1].append(tokens)
        nodes += len(tokens) - shared
        before = tokens
    return packs


@torch.inference_mode()
def _read_pack(model: Any, tree: Trie, cache: Any, known: int) -> torch.Tensor:
    """[sequences, vocabulary] logits after the last token of each; the first `known` nodes are in the cache."""
    device = next(model.parameters()).device
    depths = torch.from_numpy(tree.depths).to(device)
    places, ends = torch.arange(len(tree.tokens), device=device), torch.from_numpy(tree.ends).to(device)
    allowed = trie.seen_from(places[known:], places, ends)[None]
    last, row = np.unique(tree.last - known, return_inverse=True)
    wanted = torch.from_numpy(last).to(device)
    keeps = "logits_to_keep" in inspect.signature(model.forward).parameters
    logits: torch.Tensor = model(
        input_ids=torch.from_numpy(tree.tokens[known:]).to(device)[None],
        position_ids=depths[None, known:],
        attention_mask=mask(model, allowed, depths[None, known:, None] - depths[None, None, :]),
        past_key_values=cache,
        use_cache=True,
        **({"logits_to_keep": wanted} if keeps else {}),
    ).logits[0]
    return logits[row] if keeps else logits[wanted][row]


def mask(model: Any, allowed: torch.Tensor, distance: torch.Tensor) -> Any:
    """The additive attention mask; by kind of layer where the model has several.

    Args:
        model: Whose configuration names kinds of layers and their window.
        allowed: [rows, queries, keys] which keys a query may see where there is no window.
        distance: [rows, queries, keys] how far back a key stands.
    """
    config = model.config.get_text_config()
    kinds = set(getattr(config, "layer_types", None) or ())
    window = getattr(config, "sliding_window", None)
    masks = {"full_attention": allowed}
    if window is not None:
        masks["sliding_attention"] = allowed & (distance < window)
        if not kinds:  # the older way: one window for every layer
            masks["full_attention"] = masks["sliding_attention"]
    dtype = next(model.parameters()).dtype
    additive = {
        kind: torch.zeros(seen.shape, dtype=dtype, device=seen.device)
        .masked_fill_(~seen, torch.finfo(dtype).min)
        .unsqueeze(1)
        for kind, seen in masks.items()
        if kind in (kinds or {"full_attention"})
    }
    return additive if len(kinds) > 1 else next(iter(additive.values()))


class SlotLayer(DynamicLayer):  # type: ignore[no-untyped-call]
    """Keys and values of one layer: a row for each slot, a column for each position."""

    keys: Any
    values: Any

    def __init__(self, like: Any, slots: int, columns: int) -> None:
        """Make room.

        Args:
            like: A layer that was filled by the model.
            slots: Rows.
            columns: The longest prompt with its reply.
        """
        super().__init__()  # type: ignore[no-untyped-call]
        self.keys = like.keys.new_zeros((slots, like.keys.shape[1], columns, like.keys.shape[3]))
        self.values = like.values.new_zeros((slots, like.values.shape[1], columns, like.values.shape[3]))
        self.is_initialized = True
        self.rows = self.positions = torch.zeros(0, dtype=torch.int64)
        self.used = 0

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Put one token of every row in use into its place; all that these rows hold."""
        self.keys[self.rows, :, self.positions] = key_states[:, :, 0]
        self.values[self.rows, :, self.positions] = value_states[:, :, 0]
        rows = len(self.rows)
        return self.keys[:rows, :, : self.used], self.values[:rows, :, : self.used]


class Slots:
    """Room for replies that are written together, all in the first rows.

    A token's column is its position, and nothing is ever shifted: what a window leaves behind stays, masked.
    """

    def __init__(self, model: Any, like: Any, slots: int, columns: int) -> None:
        """Make room for so many replies, of at most so many tokens with their prompts."""
        self._model = model
        self._layers = [SlotLayer(layer, slots, columns) for layer in like.layers]
        self._cache = Cache(layers=list(self._layers))

    @torch.inference_mode()
    def enter(self, slot: int, prompt: Begun) -> None:
        """Copy what was read of a prompt."""
        columns = len(prompt.path)
        for layer, read_layer in zip(self._layers, prompt.cache.layers, strict=True):
            layer.keys[slot, :, :columns] = read_layer.keys[0, :, prompt.path]
            layer.values[slot, :, :columns] = read_layer.values[0, :, prompt.path]

    @torch.inference_mode()
    def move(self, slot: int, to: int, columns: int) -> None:
        """Copy a slot's first columns over those of another."""
        for layer in self._layers:
            layer.keys[to, :, :columns] = layer.keys[slot, :, :columns]
            layer.values[to, :, :columns] = layer.values[slot, :, :columns]

    @torch.inference_mode()
    def step(self, tokens: Sequence[int], positions: Sequence[int]) -> torch.Tensor:
        """[rows, vocabulary] logits after one more token in each of the first rows, at its position."""
        device = next(self._model.parameters()).device
        at = torch.tensor(positions, device=device)
        rows, used = torch.arange(len(tokens), device=device), max(positions) + 1
        for layer in self._layers:
            layer.rows, layer.positions, layer.used = rows, at, used
        distance = at[:, None, None] - torch.arange(used, device=device)
        logits: torch.Tensor = self._model(
            input_ids=torch.tensor(tokens, device=device)[:, None],
            position_ids=at[:, None],
            attention_mask=mask(self._model, distance >= 0, distance),
            past_key_values=self._cache,
            use_cache=True,
        ).logits[:, -1]
        return logits

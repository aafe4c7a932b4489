"""Continuing many prompts at once: a reply that ends makes room for the next, and shared beginnings are read once.

transformers' own continuous batching draws all rows from one generator, so a reply would depend on its company; hence
this loop on its models.
"""

import inspect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import torch
from transformers.cache_utils import Cache, DynamicCache, DynamicLayer, DynamicSlidingWindowLayer

from evenruler.models.backends import trie
from evenruler.models.backends.likelihood import mask
from evenruler.models.backends.sampling import draw, end_tokens, generate_batch, random_numbers
from evenruler.models.backends.trie import Tokens, TokenSequence, Trie
from evenruler.models.chats import Thoughts
from evenruler.models.records import Sampling


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
        shared = trie.shared_length(before, tokens)
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


class SlotLayer(DynamicLayer):  # type: ignore[no-untyped-call]
    """Keys and values of one layer: a row for each slot, a column for each position."""

    keys: Any
    values: Any

    def __init__(self, like: Any, slots: int, columns: int) -> None:
        """Make room for `slots` rows of `columns` tokens, the longest prompt with its reply."""
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


ROUNDS = 2
"""Prompts of a wave for each slot. More cost less, as slots stay empty at the end of a wave only (a twentieth of the
time from 2 to 4); but a wave is what a killed run pays again, and what one new prompt brings with it."""

Reply = tuple[int, list[int]]
"""The number of a prompt, and its new tokens."""


class Writer:
    """Continues token sequences with one loaded model.

    Prompts are cut into waves. Those of a wave are read in packs, wait for a slot, and all slots write one token in
    each step. Where the model's cache is more than keys and values, or the model answers otherwise with slots than
    without, a wave is one plain batch of transformers', and `plain_because` says why.
    """

    def __init__(
        self, model: Any, max_nodes: int, replies: int, cache_bytes: int, plain_because: str | None = None
    ) -> None:
        """Take a transformers causal model in evaluation mode.

        `max_nodes`: tokens of prompts that are read together; `replies`: slots, fewer where keys and values would take
        more than `cache_bytes`; `plain_because`: why the model takes no mask of ours, if it does not.
        """
        self._model = model
        self._max_nodes, self._replies, self._cache_bytes = max_nodes, replies, cache_bytes
        self._column_bytes = 0
        self.plain_because = plain_because or self._why_plain()

    def waves(self, sequences: Sequence[Tokens], seeds: Sequence[int], new_tokens: int) -> list[list[int]]:
        """The prompts that are continued together, by wave; depends on the set of prompts and seeds alone."""
        if self.plain_because is None:
            order = sorted(range(len(sequences)), key=lambda i: (sequences[i], seeds[i]))
            size = ROUNDS * self._slots(max(map(len, sequences), default=0) + new_tokens)
        else:
            order = sorted(range(len(sequences)), key=lambda i: (len(sequences[i]), sequences[i], seeds[i]))
            size = self._replies
        return [order[first : first + size] for first in range(0, len(order), size)]

    def write(
        self, sequences: Sequence[Tokens], seeds: Sequence[int], sampling: Sampling, thoughts: Thoughts | None = None
    ) -> Iterator[list[Reply]]:
        """Continue one wave, in the order of `waves`: replies as they end, with an end token if any.

        `sequences`: tokens of each prompt, start token first; `thoughts`: what ends a reply sooner, if it thinks.
        """
        if self.plain_because is None:
            slots = min(len(sequences), self._slots(max(map(len, sequences)) + sampling.max_new_tokens))
            return Wave(self._model, sequences, seeds, sampling, slots, self._max_nodes, thoughts).replies()
        whole = generate_batch(self._model, sequences, seeds, sampling)
        return iter([list(enumerate(whole if thoughts is None else map(thoughts.trimmed, whole)))])

    def _slots(self, columns: int) -> int:
        return max(1, min(self._replies, self._cache_bytes // (self._column_bytes * columns)))

    def _why_plain(self) -> str | None:
        """None where slots give what the model gives without a cache; else the reason why they do not.

        Tried on two prompts that share a beginning, are of different length and go on with given tokens: the result
        must be near the plain one, and nearer than the two are to each other.
        """
        layers = {type(layer) for layer in DynamicCache(config=self._model.config).layers}
        if others := layers - {DynamicLayer, DynamicSlidingWindowLayer}:
            return f"its cache is not only keys and values ({', '.join(sorted(kind.__name__ for kind in others))})"
        size = self._model.config.get_text_config().vocab_size
        ids = [i % size for i in (11, 23, 31, 47, 59, 71, 83, 97, 3, 5, 7)]
        prompts, following = [tuple(ids[:7]), (*ids[:2], ids[7])], ids[8:10]
        try:
            ours = self._followed(prompts, following)
        except torch.OutOfMemoryError:  # says nothing about slots
            raise
        except (TypeError, ValueError, RuntimeError, AttributeError, IndexError, KeyError) as error:
            return f"the model takes no cache of ours ({type(error).__name__})"
        plain = torch.stack([self._plain([*prompt, *following])[len(prompt) - 1 :] for prompt in prompts])
        ours, plain = ours.double().log_softmax(-1), plain.double().log_softmax(-1)
        off, scale = float((ours - plain).abs().max()), float((plain[0] - plain[1]).abs().max())
        tolerance = 0.5 if next(self._model.parameters()).dtype == torch.bfloat16 else 1e-3
        return None if off <= tolerance and off <= 0.2 * scale else f"with slots the model answers {off:.2g} nats off"

    def _followed(self, prompts: list[Tokens], following: list[int]) -> torch.Tensor:
        """[prompts, tokens + 1, vocabulary] logits of slots after each prompt and each of the tokens."""
        begun = list(read(self._model, sorted(prompts), self._max_nodes))
        begun.sort(key=lambda prompt: -len(prompt.path))
        layers: Any = begun[0].cache.layers
        self._column_bytes = sum(layer.keys.nbytes + layer.values.nbytes for layer in layers) // layers[0].keys.shape[2]
        slots = Slots(self._model, begun[0].cache, len(begun), len(prompts[0]) + len(following))
        for slot, prompt in enumerate(begun):
            slots.enter(slot, prompt)
        steps = [torch.stack([prompt.logits for prompt in begun])]
        for further, token in enumerate(following):
            steps.append(slots.step([token] * len(begun), [len(prompt.path) + further for prompt in begun]))
        return torch.stack(steps, 1)

    @torch.inference_mode()
    def _plain(self, tokens: Sequence[int]) -> torch.Tensor:
        ids = torch.tensor([tokens], device=next(self._model.parameters()).device)
        logits: torch.Tensor = self._model(ids, attention_mask=torch.ones_like(ids), use_cache=False).logits[0]
        return logits


class Wave:
    """Prompts that are continued together, and their replies so far."""

    def __init__(
        self,
        model: Any,
        sequences: Sequence[Tokens],
        seeds: Sequence[int],
        sampling: Sampling,
        slots: int,
        max_nodes: int,
        thoughts: Thoughts | None = None,
    ) -> None:
        """Nothing is computed yet; see `Writer`."""
        self._thoughts, self._places = thoughts, [0] * len(sequences)
        self._model, self._sequences, self._sampling, self._size = model, sequences, sampling, slots
        self._ends = end_tokens(model)
        self._waiting = read(model, sequences, max_nodes)
        self._numbers = random_numbers(seeds, sampling.max_new_tokens)
        self._replies: list[list[int]] = [[] for _ in sequences]
        self._slots: Slots | None = None
        self._writing: list[int] = []
        """By slot in use: the prompt."""

    def replies(self) -> Iterator[list[Reply]]:
        """Replies as they end."""
        while True:
            while entering := list(islice(self._waiting, self._size - len(self._writing))):
                if ended := self._enter(entering):
                    yield ended
            if not self._writing:
                return
            if ended := self._step():
                yield ended

    def _enter(self, prompts: list[Begun]) -> list[Reply]:
        """Draw the first token of prompts that have been read; those that go on take slots."""
        ended = self._add([p.index for p in prompts], torch.stack([p.logits for p in prompts]))
        if self._slots is None:
            columns = max(map(len, self._sequences)) + self._sampling.max_new_tokens
            self._slots = Slots(self._model, prompts[0].cache, self._size, columns)
        over = {i for i, _ in ended}
        for prompt in prompts:
            if prompt.index not in over:
                self._slots.enter(len(self._writing), prompt)
                self._writing.append(prompt.index)
        return ended

    def _step(self) -> list[Reply]:
        """One more token of every reply; the last slot in use moves into one that becomes free."""
        assert self._slots is not None
        tokens = [self._replies[i][-1] for i in self._writing]
        ended = self._add(self._writing, self._slots.step(tokens, [self._length(i) for i in self._writing]))
        over = {i for i, _ in ended}
        for slot in reversed(range(len(self._writing))):
            if self._writing[slot] in over:
                last = self._writing.pop()
                if slot < len(self._writing):
                    self._slots.move(len(self._writing), slot, self._length(last))
                    self._writing[slot] = last
        return ended

    def _length(self, prompt: int) -> int:
        """How many tokens the model has read of a prompt and its reply: all but the last one drawn."""
        return len(self._sequences[prompt]) + len(self._replies[prompt]) - 1

    def _add(self, prompts: list[int], logits: torch.Tensor) -> list[Reply]:
        """Draw the next token of each; the replies that end with it."""
        at = [len(self._replies[i]) for i in prompts]
        for i, token in zip(prompts, draw(logits, self._numbers[prompts, at], self._sampling), strict=True):
            self._replies[i].append(token)
        return [(i, self._replies[i]) for i in prompts if self._is_over(i)]

    def _is_over(self, prompt: int) -> bool:
        own = self._replies[prompt]
        if len(own) == self._sampling.max_new_tokens or own[-1] in self._ends:
            return True
        if self._thoughts is None:
            return False
        if self._thoughts.ends(own, len(own)):
            self._places[prompt] = len(own)
        return self._thoughts.is_over(len(own), self._places[prompt])

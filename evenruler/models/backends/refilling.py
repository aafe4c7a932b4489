"""Continuing many prompts at once: a reply that ends makes room for the next, and shared beginnings are read once.

transformers' own continuous batching draws all rows from one generator, so a reply would depend on its company; hence
this loop on its models.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import torch
from transformers.cache_utils import DynamicCache, DynamicLayer, DynamicSlidingWindowLayer

from evenruler.models.backends.sampling import draw, end_tokens, generate_batch, random_numbers
from evenruler.models.backends.slots import Begun, Slots, read
from evenruler.models.backends.trie import Tokens
from evenruler.models.records import Sampling

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
        """Take a model in evaluation mode.

        Args:
            model: A transformers causal model on its device.
            max_nodes: Tokens of prompts that are read together.
            replies: Slots.
            cache_bytes: What keys and values in slots may take; there are fewer slots where they would take more.
            plain_because: Why the model takes no mask of ours, if it does not.
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

    def write(self, sequences: Sequence[Tokens], seeds: Sequence[int], sampling: Sampling) -> Iterator[list[Reply]]:
        """Continue one wave.

        Args:
            sequences: Tokens of each prompt, start token first; in the order of `waves`.
            seeds: Their seeds.
            sampling: How tokens are drawn.

        Yields:
            Replies as they end, each with its end token where it has one.
        """
        if self.plain_because is None:
            slots = min(len(sequences), self._slots(max(map(len, sequences)) + sampling.max_new_tokens))
            return Wave(self._model, sequences, seeds, sampling, slots, self._max_nodes).replies()
        return iter([list(enumerate(generate_batch(self._model, sequences, seeds, sampling)))])

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
    ) -> None:
        """Nothing is computed yet; see `Writer`."""
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
        over = [
            len(self._replies[i]) == self._sampling.max_new_tokens or self._replies[i][-1] in self._ends
            for i in prompts
        ]
        return [(i, self._replies[i]) for i, ended in zip(prompts, over, strict=True) if ended]

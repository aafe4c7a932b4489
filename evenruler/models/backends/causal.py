"""Causal models with transformers: a loaded model that answers pack by pack."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import GenerationConfig

from evenruler.errors import UserError
from evenruler.models import fingerprint as fingerprints
from evenruler.models.backends.batching import (
    Batches,
    HalvingOnOutOfMemory,
    batched,
    split_by_length,
    split_into_packs,
)
from evenruler.models.backends.encoding import TextEncoder
from evenruler.models.backends.likelihood import (
    NO_TOKEN,
    LikelihoodScorer,
    pad_sequences,
    word_end_masks,
)
from evenruler.models.backends.padding import PaddingTrial
from evenruler.models.backends.trie import Tokens, TokenSequence, shared_length
from evenruler.models.chat_settings import ChatSettings
from evenruler.models.classes import layer_configs, narrowest_window, read_size
from evenruler.models.loading import (
    Dtype,
    Weights,
    card_memory,
    convert_load_errors,
    load_causal,
    read_notes,
)
from evenruler.models.questions import (
    UNREAD,
    LikelihoodRequest,
    NextWordsRequest,
    Prompt,
    Reply,
    WordAnswer,
    WordRequest,
)
from evenruler.terminal import print_note

if TYPE_CHECKING:  # which takes seconds to import
    from transformers import PreTrainedModel


@dataclass(frozen=True)
class Capacity:
    """Limits of one forward pass."""

    nodes: int
    sequences: int
    replies: int
    """Replies generated together: each adds one token per step, which costs less than reading the
    weights."""
    cache_bytes: int = (
        2**31
    )  # limit of their KV cache; if it would be larger, fewer are generated together


CAPACITY = {
    "cpu": Capacity(nodes=512, sequences=16, replies=64),
    "cuda": Capacity(nodes=4096, sequences=64, replies=256, cache_bytes=2**36),
}
"""By device, if memory allows. More nodes share more prefixes, but the attention mask grows with
their square."""

LEAST_NODES = 64  # with fewer, packs repeat more prefixes than they share
COUNTED = (
    0.9  # usable share of the memory left by the weights; the rest is for CUDA and fragmentation
)


@dataclass(frozen=True)
class ModelShape:
    """The sizes of a causal model that determine its memory use."""

    layers: int
    hidden: int
    inner: int  # width of the feed-forward layers
    heads: int
    key_heads: int
    head_width: int
    vocabulary: int
    number_bytes: int  # bytes per number: 2 for bfloat16

    @property
    def token_bytes(self) -> int:
        """Bytes of one token in the KV cache."""
        return 2 * self.layers * self.key_heads * self.head_width * self.number_bytes

    def pass_bytes(self, nodes: int) -> int:
        """Upper bound of bytes for a forward pass of `nodes` tokens: one layer at a time, no
        gradients.

        Keys and values; masks (two kinds, distances, visibility); attention scores and their
        softmax, in case no fused kernel accepts a mask; activations; logits of the whole
        vocabulary, also in float32, in case they are not sliced.
        """
        queries = (self.heads + 2 * self.key_heads) * self.head_width
        widths = 4 * self.hidden + 3 * self.inner + 2 * queries
        activations = widths * self.number_bytes
        logits = self.vocabulary * (self.number_bytes + 4)
        pairs = 2 * self.number_bytes + 10 + self.heads * (self.number_bytes + 4)
        return nodes * (self.token_bytes + activations + logits) + nodes**2 * pairs

    def draw_bytes(self, replies: int) -> int:
        """Bytes for sampling the next token of `replies` rows: logits, and probabilities, sums and
        order in 64 bits.
        """
        return replies * self.vocabulary * (self.number_bytes + 3 * 8)


def _layer_sizes(layer: Any, hidden: int) -> tuple[int, int, int, int]:
    """Of a layer's configuration: heads, numbers in each, numbers in all heads of keys, inner
    width.
    """
    heads = read_size(layer, "num_attention_heads") or 1
    width = read_size(layer, "head_dim") or hidden // heads
    key_heads = read_size(layer, "num_key_value_heads") or heads
    inner = max(read_size(layer, key) for key in ("intermediate_size", "intermediate_size_mlp"))
    return heads, width, key_heads * width, inner or 4 * hidden


def shape_of(model: "PreTrainedModel") -> ModelShape:
    """The sizes of a transformers causal model; usual values where its configuration has none.

    Where layers differ, those of the largest one: as many heads of keys of the largest width as
    hold the keys of any layer.
    """
    config = model.config.get_text_config()
    sizes = [_layer_sizes(layer, config.hidden_size) for layer in layer_configs(config)]
    heads, head_width, key_width, inner = map(max, zip(*sizes, strict=True))
    return ModelShape(
        layers=config.num_hidden_layers,
        hidden=config.hidden_size,
        inner=inner,
        heads=heads,
        key_heads=math.ceil(key_width / head_width),
        head_width=head_width,
        vocabulary=config.vocab_size,
        number_bytes=next(model.parameters()).element_size(),
    )


def fit_capacity(best: Capacity, memory: int, shape: ModelShape) -> Capacity:
    """The capacity that fits into `memory` bytes without the weights; each number is halved until
    it does.

    Half of the usable memory is for the KV cache of replies, half for a forward pass, of which a
    quarter is for sampling. Halving gives cards with slightly different memory the same packs.
    """
    room = int(memory * COUNTED) // 2
    nodes, replies, cache_bytes = best.nodes, best.replies, best.cache_bytes
    while nodes > LEAST_NODES and shape.pass_bytes(nodes) > room:
        nodes //= 2
    while replies > 1 and shape.draw_bytes(replies) > room // 4:
        replies //= 2
    while cache_bytes > max(room, shape.token_bytes):
        cache_bytes //= 2
    return Capacity(nodes, max(1, best.sequences * nodes // best.nodes), replies, cache_bytes)


def capacity_on(device: str, model: "PreTrainedModel") -> Capacity:
    """The capacity for a model on its device."""
    best = CAPACITY[device]
    if device == "cpu":
        return best
    tensors = (*model.parameters(), *model.buffers())
    weights = sum(tensor.nbytes for tensor in tensors)
    return fit_capacity(best, card_memory() - weights, shape_of(model))


POSITIONS = 32  # next-token distributions held in float64 at a time


class Causal:
    """A loaded causal model."""

    def __init__(
        self,
        name: str,
        folder: Weights,
        device: str,
        dtype: Dtype,
        settings: ChatSettings | None = None,
        start: str | None = None,
    ) -> None:
        """Load the model; UserError if the folder holds none that transformers can load.

        `start`: the token before plain texts, as text; by default the first usual one
        (`evenruler.models.starts`).
        """
        self.tokenizer, self.model = load_causal(name, folder, device, dtype)
        # Drop the model's own generation settings, which would fill in what `Sampling` leaves open.
        ends = self.model.generation_config.eos_token_id
        self.model.generation_config = GenerationConfig(
            eos_token_id=self.tokenizer.eos_token_id if ends is None else ends
        )
        self._name = name
        config = self.model.config.get_text_config()
        self.encoder = TextEncoder(name, self.tokenizer, config, settings, start)
        self.start, self.other_start = self.encoder.start, self.encoder.other_start
        self._capacity = capacity_on(device, self.model)
        self._padding = PaddingTrial(name, self.model)
        with convert_load_errors(name, str(folder)):
            is_ahead = self._padding.is_ahead
        if is_ahead:
            what = f"{name} does not read from left to right: what follows changes what it predicts"
            remedy = "take another model, or say `kind: masked` if it fills gaps"
            raise UserError(what, where=str(folder), remedy=remedy)
        is_padding_seen = self._padding.unequal_because is not None
        self._scorer = LikelihoodScorer(
            self.model,
            max_nodes=self._capacity.nodes,
            batch=self._capacity.sequences,
            equal_lengths=is_padding_seen,
        )
        for what, why in (
            ("likelihoods", self._scorer.plain_because),
            ("words", self._scorer.words_plain_because),
        ):
            if why:
                print_note(f"{name}: {what} in plain batches, prefixes not shared: {why}")

    @batched
    def loglikelihood(self, requests: Sequence[LikelihoodRequest]) -> Batches[tuple[float, int]]:
        """For each text after its prompt: nats and number of tokens; `UNREAD` for a text that
        cannot be scored.

        That is a text with a word that the tokenizer does not know or drops, and any text after the
        other usual start where there is none.
        """
        sequence_by_place = self.encoder.encode_known_texts(requests)
        scored, sequences = list(sequence_by_place), list(sequence_by_place.values())
        left_out = sorted(set(range(len(requests))) - sequence_by_place.keys())

        def answer_pack(pack: Sequence[int]) -> list[tuple[int, tuple[float, int]]]:
            """(Index, (nats, number of tokens)) of a pack's texts; `UNREAD` for the pack of texts
            that cannot be scored.
            """
            if pack and pack[0] not in sequence_by_place:
                return [(place, UNREAD) for place in pack]
            chosen = [sequence_by_place[place] for place in pack]
            nats = self._scorer.score(chosen).tolist()
            tokens = [len(sequence.tokens) - sequence.begin for sequence in chosen]
            return list(zip(pack, zip(nats, tokens, strict=True), strict=True))

        packs = [left_out] if left_out else []
        for pack in self._scorer.packs(sequences):
            packs.append([scored[position] for position in pack])
        return Batches(packs, answer_pack)

    @batched
    def words(self, requests: Sequence[WordRequest]) -> Batches[WordAnswer]:
        """For each word: nats; nats that no letter follows, that no word follows; nats of its first
        token; that token.

        UserError if the tokenizer does not know a word, it is too long with its prompt, or there is
        no chat template.
        """
        sequences = self.encoder.encode_words(requests)

        def answer_pack(pack: Sequence[int]) -> list[tuple[int, WordAnswer]]:
            """(Index, numbers of a `WordAnswer`) of a pack's words."""
            scored = self._scorer.score_words([sequences[i] for i in pack], self._endings).tolist()
            first_tokens = [sequences[i].tokens[sequences[i].begin] for i in pack]
            return [
                (i, (*nats, token))
                for i, nats, token in zip(pack, scored, first_tokens, strict=True)
            ]

        return Batches(self._scorer.packs(sequences, words=True), answer_pack)

    @batched
    def next_words(self, requests: Sequence[NextWordsRequest]) -> Batches[NDArray[np.float64]]:
        """For each prompt, all with the same k words: [k] nats of each word as the next token; NaN
        where a word is not one token.

        UserError if a prompt is too long with a next word; FloatingPointError for NaN logits.
        """
        words = requests[0].words
        any_token = self.encoder.start_token
        sequences = [
            TokenSequence((*before, any_token), len(before))
            for before in self.encoder.encode_before_words(requests)
        ]

        def answer_pack(pack: Sequence[int]) -> list[tuple[int, NDArray[np.float64]]]:
            """(Index, [k] nats) of a pack's prompts; FloatingPointError where a read word has no
            finite number.
            """
            tokens = self.encoder.encode_next_words([requests[i].prompt for i in pack], words)
            nats = self._scorer.score_next([sequences[i] for i in pack], tokens)
            if not np.isfinite(nats[tokens != NO_TOKEN]).all():
                raise FloatingPointError("logits that are no numbers")
            return list(zip(pack, nats, strict=True))

        return Batches(self._scorer.packs(sequences), answer_pack)

    @cached_property
    def _endings(self) -> torch.Tensor:
        """[2, vocabulary] Which tokens end a word, and which leave it alone (`word_end_masks`), on
        the model's device.
        """
        return word_end_masks(
            self.tokenizer, self.model.config.get_text_config().vocab_size, self.model.device
        )

    @batched
    def generate(self, prompts: Sequence[Prompt]) -> Batches[Reply]:
        """Continue prompts, all with the same sampling settings; replies have no special tokens.

        UserError if a prompt is too long with its reply or has no chat template; FloatingPointError
        for NaN logits.
        """
        sampling, seeds = prompts[0].sampling, [prompt.seed for prompt in prompts]
        thoughts = self.encoder.parse_thoughts(prompts[0])
        if thoughts is not None:
            sampling = replace(sampling, max_new_tokens=thoughts.most)
        from evenruler.models.backends.sampling import end_tokens, generate_batch, replies_of

        new, ends = sampling.max_new_tokens, end_tokens(self.model)
        sequences, opened = self.encoder.encode_prompts(prompts, new)

        def by_length(i: int) -> tuple[int, Tokens, int]:
            """Sort key of a prompt: its length, so that batches need little padding; ties by tokens
            and seed.
            """
            return len(sequences[i]), sequences[i], seeds[i]

        order = sorted(range(len(prompts)), key=by_length)
        room = self._capacity.cache_bytes // (
            shape_of(self.model).token_bytes * (max(map(len, sequences)) + new)
        )
        size = max(1, min(self._capacity.replies, room))

        def answer_pack(batch: Sequence[int]) -> list[tuple[int, Reply]]:
            """(Index, reply) of a batch's prompts, generated together."""
            batch_sequences = [sequences[i] for i in batch]
            shared = self._shared(batch_sequences, new)
            written = generate_batch(
                self.model, batch_sequences, [seeds[i] for i in batch], sampling, thoughts, shared
            )
            answer_tokens: list[list[int] | None] = [*written]
            if thoughts is not None:
                answer_tokens = []
                for i, tokens in zip(batch, written, strict=True):
                    has_ended = tokens[-1] in ends
                    answer_tokens.append(thoughts.answer(tokens, has_ended, opened[i]))
            whole = replies_of(self.tokenizer, ends, written, answer_tokens)
            return [
                (i, self.encoder.finish_reply(prompts[i], reply))
                for i, reply in zip(batch, whole, strict=True)
            ]

        if self._padding.replies_equal:
            return Batches(split_by_length(order, size, sequences), answer_pack)
        return Batches(split_into_packs(order, size), answer_pack)

    def _shared(self, sequences: Sequence[Tokens], new: int) -> int:
        """Number of leading tokens to compute once for all prompts, with padding after them; 0 if
        that is impossible.

        A sliding window counts padding, so everything must lie within it; and the model must honour
        position ids.
        """
        longest = max(map(len, sequences)) + new
        window = narrowest_window(self.model.config) or longest
        if self._scorer.plain_because or window < longest or len(sequences) == 1:
            return 0
        common = shared_length(min(sequences), max(sequences))
        shortest = min(map(len, sequences))
        shared = min(common, shortest - 1)
        return shared if shared and self._padding.prefix_shared else 0

    def marginal(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """[vocabulary] The model's unigram distribution: the mean next-token distribution over all
        positions, in nats.

        It stands for frequencies in the training data, which are not available, and depends on the
        texts. Every predicted position counts once, repeated texts repeatedly, order does not
        matter. ValueError if no text has a token.
        """
        requests = [LikelihoodRequest(text) for text in texts]
        # Nothing is predicted from the last token.
        contexts = [sequence.tokens[:-1] for sequence in self.encoder.encode_texts(requests)]
        contexts.sort(key=lambda tokens: (-len(tokens), tokens))
        if not contexts or not contexts[0]:
            raise ValueError("no text has a token")
        total = torch.zeros(1, dtype=torch.float64, device=self.model.device)

        def add(batch: Sequence[int]) -> list[tuple[int, None]]:
            """Add the next-token probabilities after each token of a batch of texts to `total`, as
            its last act: a batch that runs out of memory adds nothing. Returns no answers.
            """
            nonlocal total
            ids, mask = pad_sequences([contexts[i] for i in batch], self.model.device)
            added = total
            logits = self.model(input_ids=ids, attention_mask=mask, use_cache=False).logits
            for row, index in enumerate(batch):
                for part in logits[row, : len(contexts[index])].split(POSITIONS):
                    added = added + part.double().softmax(-1).sum(0)
            total = added
            return []

        in_halves = HalvingOnOutOfMemory(add)
        contexts = [tokens for tokens in contexts if tokens]
        with torch.inference_mode():
            for batch in self._context_batches(contexts):
                in_halves(batch)
        n_positions = sum(map(len, contexts))
        nats = total.log() - np.log(n_positions)
        token_nats: NDArray[np.float64] = nats.cpu().numpy()
        return token_nats

    def _context_batches(self, contexts: Sequence[Tokens]) -> Iterator[range]:
        """The places of contexts, longest first, in batches of at most `nodes` tokens, padding
        included.
        """
        first = 0
        while first < len(contexts):
            room = max(1, self._capacity.nodes // len(contexts[first]))
            places = range(first, min(first + room, len(contexts)))
            if self._padding.unequal_because:
                lengths = [len(contexts[place]) for place in places]
                places = places[: lengths.count(lengths[0])]
            yield places
            first = places.stop

    @batched
    def unigram_nats(self, texts: Sequence[str]) -> Batches[float]:
        """Sum of the unigram nats of each text's tokens, from the `marginal` of all texts, which
        form one pack.
        """

        def answer_pack(pack: Sequence[int]) -> list[tuple[int, float]]:
            """(Index, sum of unigram nats) of a pack's texts."""
            by_token = self.marginal(texts)
            sequences = self.encoder.encode_texts([LikelihoodRequest(texts[i]) for i in pack])
            return [
                (i, float(by_token[list(sequence.tokens[1:])].sum()))
                for i, sequence in zip(pack, sequences, strict=True)
            ]

        return Batches([range(len(texts))], answer_pack)

    @batched
    def fingerprint(
        self, questions: Sequence[fingerprints.Texts]
    ) -> Batches[fingerprints.Fingerprint]:
        """What the model computes on two texts."""

        def next_tokens(tokens: list[int]) -> list[int]:
            """[tokens] The token whose nats count at each position: the next one; the first after
            the last.
            """
            return [*tokens[1:], tokens[0]]

        def of_texts(texts: fingerprints.Texts) -> fingerprints.Fingerprint:
            """The model's numbers on two texts, with notes on its files."""
            numbers = fingerprints.read_sequences(
                self.model,
                self.tokenizer,
                texts,
                self.encoder.longest,
                next_tokens,
                use_cache=False,
            )
            return fingerprints.Fingerprint(tuple(numbers), read_notes(self.model))

        def answer_pack(pack: Sequence[int]) -> list[tuple[int, fingerprints.Fingerprint]]:
            """(Index, fingerprint) of a pack's pairs of texts."""
            return [(i, of_texts(questions[i])) for i in pack]

        return Batches([range(len(questions))], answer_pack)

"""How much of a causal model's work goes into one forward pass.

On a CPU that is fixed. On a GPU it follows from the memory of the card and the sizes of the model. Packs are cut by it,
and a reply can turn on the last bits that its pack decides, in bfloat16 often; so it counts what the card has beside
the weights, not what happens to be free: answers are determined by content and engine (which names the memory), on a
card that others use too, and all workers of a cluster cut the same packs. Where memory is short all the same, a pack is
answered in halves (`packs.py`).
"""

from dataclasses import dataclass
from typing import Any

from evenruler.models.loading import card_memory


@dataclass(frozen=True)
class Capacity:
    """How much goes into one forward pass."""

    nodes: int
    sequences: int
    replies: int
    """Texts that are continued together: a step is one token each, which costs less than reading the weights."""
    cache_bytes: int = 2**31
    """What the keys and values of these may take; fewer are continued together where they are larger."""


CAPACITY = {
    "cpu": Capacity(nodes=512, sequences=16, replies=64),
    "cuda": Capacity(nodes=4096, sequences=64, replies=256, cache_bytes=2**36),
}
"""By device, where memory is no concern. More nodes share more beginnings, and pay for a mask that is their square."""

LEAST_NODES = 64
"""Below this, packs repeat more beginnings than they share."""

COUNTED = 0.9
"""Share of the memory beside the weights that is counted on; the rest is CUDA's own, and gaps between blocks."""


@dataclass(frozen=True)
class Shape:
    """The sizes of a causal model that its memory follows from."""

    layers: int
    hidden: int
    inner: int
    """Of the feed-forward layers."""
    heads: int
    key_heads: int
    head_width: int
    vocabulary: int
    number_bytes: int
    """2 in bfloat16."""

    @property
    def token_bytes(self) -> int:
        """Keys and values of one token."""
        return 2 * self.layers * self.key_heads * self.head_width * self.number_bytes

    def pass_bytes(self, nodes: int) -> int:
        """What so many nodes take at most while they go through the model: one layer at a time, no gradients.

        Keys and values; masks (two kinds, distances, which nodes are seen); scores of attention and their softmax,
        where no fused kernel takes a mask; activations; and logits over the whole vocabulary, also in float32, where
        they cannot be taken in slices.
        """
        queries = (self.heads + 2 * self.key_heads) * self.head_width
        activations = (4 * self.hidden + 3 * self.inner + 2 * queries) * self.number_bytes
        logits = self.vocabulary * (self.number_bytes + 4)
        pairs = 2 * self.number_bytes + 10 + self.heads * (self.number_bytes + 4)
        return nodes * (self.token_bytes + activations + logits) + nodes**2 * pairs

    def draw_bytes(self, replies: int) -> int:
        """What drawing the next token of so many replies takes: logits, and shares, their sums and order in 64 bits."""
        return replies * self.vocabulary * (self.number_bytes + 3 * 8)


def shape_of(model: Any) -> Shape:
    """The sizes of a transformers causal model; where its configuration has no such size, what is usual."""
    config = model.config.get_text_config()
    heads = getattr(config, "num_attention_heads", None) or 1
    return Shape(
        layers=config.num_hidden_layers,
        hidden=config.hidden_size,
        inner=getattr(config, "intermediate_size", None) or 4 * config.hidden_size,
        heads=heads,
        key_heads=getattr(config, "num_key_value_heads", None) or heads,
        head_width=getattr(config, "head_dim", None) or config.hidden_size // heads,
        vocabulary=config.vocab_size,
        number_bytes=next(model.parameters()).element_size(),
    )


def fitting(best: Capacity, memory: int, shape: Shape) -> Capacity:
    """What fits into memory, each number of the best one halved until it does.

    Half of what is counted on is for keys and values of replies, half for a forward pass, a quarter of which is for
    drawing tokens. In halvings, so that cards whose memory differs a little have the same packs.

    Args:
        best: Where memory is no concern.
        memory: Bytes that a card has beside the weights.
        shape: Of the model.
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


def capacity_on(device: str, model: Any) -> Capacity:
    """Of a model on its device."""
    best = CAPACITY[device]
    if device == "cpu":
        return best
    weights = sum(tensor.nbytes for tensor in (*model.parameters(), *model.buffers()))
    return fitting(best, card_memory() - weights, shape_of(model))

"""Token tries: sequences that share beginnings, cut into packs and laid out as one row of nodes.

A node is a token at a place where something follows; it is computed once, however many sequences run through it.
An edge leads from a node to a token that follows and carries the log-probability of that token. The last token of
a sequence that nothing follows is an edge without a node: nothing is computed for it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Tokens = tuple[int, ...]


@dataclass(frozen=True)
class TokenSequence:
    """The tokens of one request, the start token first."""

    tokens: Tokens
    begin: int = 1  # the first token whose log-probability counts; those before are given


@dataclass(frozen=True)
class Nodes:
    """m tokens that go through the model together, and the k that they may see: those read before them, themselves."""

    tokens: NDArray[np.int64]  # [m]
    depths: NDArray[np.int64]  # [m] their positions
    places: NDArray[np.int64]  # [m] where each stands, in the order of all
    begins: NDArray[np.int64]  # [k] the first place that sees it, its own
    ends: NDArray[np.int64]  # [k] past the last place that sees it: places in between are those that follow it
    seen_depths: NDArray[np.int64]  # [k] positions of what may be seen


def seen_from(places: Any, begins: Any, ends: Any) -> Any:
    """[m, k] Which of k tokens each of m places sees; of arrays or tensors, as what is given.

    Of a GPU's tensors it is made there: for some thousand nodes it would be the most that is sent.
    """
    return (places[:, None] >= begins) & (places[:, None] < ends)


@dataclass(frozen=True)
class Trie:
    """One pack of sequences as nodes and e scored edges."""

    nodes: Nodes
    """In the order of their sequences: all that stand before the end of a node follow it. The start token is at 0."""
    edge_nodes: NDArray[np.int64]  # [e] the node that the edge leaves
    edge_tokens: NDArray[np.int64]  # [e] the token that it leads to
    paths: list[NDArray[np.int64]]  # by sequence: the edges to sum

    def ends_of(self, edges: NDArray[np.int64]) -> Nodes:
        """The tokens that some edges lead to, after all of its nodes; none sees another."""
        parents = self.edge_nodes[edges]
        depths = self.nodes.depths[parents] + 1
        room = 1 + len(edges)  # places for each node and for what may follow it
        places = parents * room + np.arange(1, room)
        return Nodes(
            tokens=self.edge_tokens[edges],
            depths=depths,
            places=places,
            begins=np.concatenate([self.nodes.begins * room, places]),
            ends=np.concatenate([self.nodes.ends * room, places + 1]),
            seen_depths=np.concatenate([self.nodes.depths, depths]),
        )


def plan(sequences: Sequence[TokenSequence], max_nodes: int) -> list[list[int]]:
    """Packs of at most `max_nodes` nodes (a longer single sequence is one of its own), as indices in order of tokens.

    Depends on the set of sequences alone, not on their order nor on which of them are wanted. A pack also ends,
    once it is a quarter full, where the next sequence shares nothing but the start token: so packs fall into step
    again soon after a place where sequences were added or taken out.
    """
    packs: list[list[int]] = []
    nodes, previous = 0, Tokens()
    for index in sorted(range(len(sequences)), key=lambda i: (sequences[i].tokens, sequences[i].begin)):
        tokens = sequences[index].tokens
        shared = shared_length(previous, tokens)
        new = len(tokens) - 1 - min(shared, len(previous) - 1)
        fresh = shared <= 1 and nodes >= max_nodes // 4
        if not packs or fresh or nodes + new > max_nodes:
            packs.append([])
            nodes, new = 0, len(tokens) - 1
        packs[-1].append(index)
        nodes += new
        previous = tokens
    return packs


def shared_length(one: Sequence[object], other: Sequence[object]) -> int:
    """Length of the common beginning, of tokens or of what servers write for them."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))


def build(sequences: Sequence[TokenSequence]) -> Trie:
    """Lay a pack of sequences out as a trie, in the order of their tokens: after a node stands all that follows it."""
    nodes: dict[tuple[int, int], int] = {}
    edges: dict[tuple[int, int], int] = {}
    parents: list[int] = []
    depths: list[int] = []
    paths: dict[int, NDArray[np.int64]] = {}
    for index in sorted(range(len(sequences)), key=lambda i: sequences[i].tokens):
        sequence, node, path = sequences[index], -1, []
        for position, token in enumerate(sequence.tokens):
            step = (node, token)
            if position >= sequence.begin:
                path.append(edges.setdefault(step, len(edges)))
            if position == len(sequence.tokens) - 1:
                break
            if step not in nodes:
                nodes[step] = len(nodes)
                parents.append(node)
                depths.append(position)
            node = nodes[step]
        paths[index] = np.array(path, dtype=np.int64)
    ends = list(range(1, len(nodes) + 1))
    for node in reversed(range(1, len(nodes))):
        ends[parents[node]] = max(ends[parents[node]], ends[node])
    tokens, at, past = (np.array(own, dtype=np.int64) for own in ([token for _, token in nodes], depths, ends))
    places, edge_list = np.arange(len(nodes)), np.array(list(edges), dtype=np.int64).reshape(-1, 2)
    laid = Nodes(tokens, at, places, places, past, at)
    return Trie(laid, edge_list[:, 0], edge_list[:, 1], [paths[index] for index in range(len(sequences))])
